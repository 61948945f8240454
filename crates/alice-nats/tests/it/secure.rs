//! Encryption, passwords and keys, which the client's own options bring; servers of old.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use alice::{Key, Node};
use alice_nats::{ConnectError, ConnectOptions, Engine, Options};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jungle_testkit::NatsServers;
use serde_json::{Value, json};

const A: Key<u32> = Key::new("a");

/// The certificate of `localhost` that the server's tests have.
fn file(name: &str) -> std::path::PathBuf {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jungle-server/tests/tls");
    server.canonicalize().unwrap().join(name)
}

#[test]
fn encryption_and_passwords_are_the_clients_options() {
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let settings = format!(
        "tls {{ cert_file: {cert:?}, key_file: {key:?} }}\n\
         authorization {{ user: alice, password: looking-glass }}\n"
    );
    let servers = NatsServers::start_with(1, &settings);
    let addresses = servers.addresses().replace("nats://127.0.0.1", "tls://localhost");
    let connect = |client: ConnectOptions| {
        Engine::connect(&addresses, Options { client, ..Options::default() })
    };
    let password =
        |password: &str| ConnectOptions::new().user_and_password("alice".into(), password.into());
    let engine = connect(password("looking-glass").add_root_certificates(cert.clone())).unwrap();
    let node = Node::new();
    let member = engine.join("n", &node).unwrap();
    member.serve(&A).unwrap();
    engine.peer("n").put(&A, 7).unwrap();
    assert_eq!(*node.take(&A).unwrap(), 7);

    let unknown = connect(password("looking-glass")).unwrap_err();
    assert!(matches!(unknown, ConnectError::Connect { .. }));
    let wrong = connect(password("wrong").add_root_certificates(cert)).unwrap_err();
    assert!(!format!("{wrong:?}").contains("wrong"), "{wrong:?}");
}

#[test]
fn user_may_be_known_by_a_key() {
    let (ours, other) = (nkeys::KeyPair::new_user(), nkeys::KeyPair::new_user());
    let settings = format!("authorization {{ users: [ {{ nkey: {} }} ] }}\n", ours.public_key());
    let servers = NatsServers::start_with(1, &settings);
    let connect = |client: ConnectOptions| {
        Engine::connect(&servers.addresses(), Options { client, ..Options::default() })
    };
    let with_key =
        |key: &nkeys::KeyPair| ConnectOptions::with_nkey(key.seed().expect("it was just made"));
    let engine = connect(with_key(&ours)).unwrap();
    let queue = engine.peer("n").durable(&A);
    queue.put(7).unwrap();
    assert_eq!(*queue.take().unwrap().open().unwrap(), 7);
    for stranger in [with_key(&other), ConnectOptions::new()] {
        let refused = connect(stranger).unwrap_err();
        assert!(matches!(refused, ConnectError::Connect { .. }) && !refused.is_away());
    }
}

/// A statement about one key, signed by another: a JSON web token as the engine has them.
fn signed(by: &nkeys::KeyPair, about: &nkeys::KeyPair, what: &Value) -> String {
    let head = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let claims = json!({
        "jti": "ALICE", "iat": 0, "name": "alice",
        "iss": by.public_key(), "sub": about.public_key(), "nats": what,
    });
    let text = [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let signature = by.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// An operator, who vouches for accounts, which vouch for users: none of it is known to the server
/// but the operator's own key and the accounts.
#[test]
fn user_may_be_known_by_a_file_of_credentials() {
    let operator = nkeys::KeyPair::new_operator();
    let [of_system, account, other] = [(); 3].map(|()| nkeys::KeyPair::new_account());
    let user = nkeys::KeyPair::new_user();
    let all = ["subs", "data", "payload", "imports", "exports", "conn", "leaf", "streams"];
    let stored = ["mem_storage", "disk_storage", "consumer"];
    let limits = |names: &[&str]| -> Value {
        let limits = names.iter().map(|&name| (name.to_owned(), json!(-1)));
        json!({"type": "account", "version": 2, "limits": Value::Object(limits.collect())})
    };
    let of_operator = json!({"type": "operator", "version": 2});
    let settings = format!(
        "operator: {:?}\nsystem_account: {of_system}\nresolver: MEMORY\n\
         resolver_preload: {{ {of_system}: {:?}, {account}: {:?} }}\n",
        signed(&operator, &operator, &of_operator),
        signed(&operator, &of_system, &limits(&all)),
        signed(&operator, &account, &limits(&[&all[..], &stored[..]].concat())),
        of_system = of_system.public_key(),
        account = account.public_key(),
    );
    let servers = NatsServers::start_with(1, &settings);
    let connect = |vouched: &nkeys::KeyPair| {
        let of_user = json!({
            "type": "user", "version": 2, "pub": {}, "sub": {},
            "subs": -1, "data": -1, "payload": -1,
        });
        let credentials = format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            signed(vouched, &user, &of_user),
            user.seed().unwrap(),
        );
        let client = ConnectOptions::with_credentials(&credentials).unwrap();
        Engine::connect(&servers.addresses(), Options { client, ..Options::default() })
    };
    let engine = connect(&account).unwrap();
    let queue = engine.peer("n").durable(&A);
    queue.put(7).unwrap();
    assert_eq!(*queue.take().unwrap().open().unwrap(), 7);
    assert!(matches!(connect(&other).unwrap_err(), ConnectError::Connect { .. }));
}

/// As much of a server as a client needs to connect.
#[test]
fn server_that_is_too_old_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let info = r#"INFO {"server_id":"S","server_name":"n","version":"2.14.9","go":"go",
            "host":"127.0.0.1","port":1,"headers":true,"max_payload":1048576,"proto":1}"#;
        let info = info.replace(char::is_whitespace, "").replacen("INFO", "INFO ", 1);
        write!(stream, "{info}\r\n").unwrap();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            if line.is_ok_and(|line| line == "PING") {
                write!(stream, "PONG\r\n").unwrap();
            }
        }
    });
    let old = Engine::connect(&address, Options::default()).unwrap_err();
    assert!(matches!(old, ConnectError::TooOld { version } if version == "2.14.9"));
    server.join().unwrap();
}
