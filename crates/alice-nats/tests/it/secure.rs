//! Encryption, passwords and keys, which the client's own options bring; servers of old.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use alice::{Key, Node};
use alice_nats::{ConnectError, ConnectOptions, Engine, Options};
use jungle_testkit::NatsServers;

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
        assert!(matches!(connect(stranger).unwrap_err(), ConnectError::Connect { .. }));
    }
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
