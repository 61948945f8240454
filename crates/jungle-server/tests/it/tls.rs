//! Encrypted connections. The certificate is `localhost`'s, made for these tests and trusted by
//! nobody, with `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes`.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jungle::{Jungle, Memory};
use jungle_server::{Certificate, Data, Options, Role, Server, StartError, Tls, TlsError};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto, version,
};

use crate::people::{Guarded, grant};
use crate::support::{Folder, Served, limits};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

pub(crate) fn tls() -> Option<Certificate> {
    Some(Certificate::Files(Tls { cert: file("cert.pem"), key: file("key.pem") }))
}

/// Sends a request, encrypted, and gives the answer.
fn ask(served: &Served, request: &str) -> String {
    ask_of(served, "cert.pem", request).unwrap()
}

/// The same of somebody who has this certificate, if it is that.
fn ask_of(served: &Served, cert: &str, request: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file(cert)).unwrap()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, served.connect());
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(String::from_utf8(answer).unwrap()),
    }
}

#[test]
fn requests_are_answered_encrypted_and_only_so() {
    let served = Served::with(|options| options.tls = tls());
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = ask(&served, get);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"ok\""), "{answer}");
    let plain = served.raw(get.as_bytes());
    assert!(!plain.contains("HTTP"), "{plain}");
}

#[test]
fn cookie_is_for_encrypted_connections_only() {
    let guarded = Guarded::with("tls-cookie", &[], |access, options| {
        access.add_user("ana", Some("correct horse")).unwrap();
        access.grant(grant("ana", "*", "/", Role::Read)).unwrap();
        options.tls = tls();
    });
    let form = "name=ana&password=correct+horse";
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: localhost\r\nOrigin: https://localhost\r\n\
         Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let answer = ask(&guarded.served, &request);
    assert!(answer.contains("HttpOnly; SameSite=Strict; Secure\r\n"), "{answer}");
}

#[test]
fn client_that_never_says_hello_is_not_waited_for() {
    let served = Served::with(|options| {
        options.tls = tls();
        let soon = Duration::from_millis(100);
        options.limits = limits(|limits| limits.head_time = soon);
    });
    assert_eq!(served.connect().read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn key_and_certificate_must_fit() {
    let start = |cert: &str, key: &str| {
        let tls = Some(Certificate::Files(Tls { cert: file(cert), key: file(key) }));
        let options = Options { tls, ..Options::default() };
        match Server::start(Data::Memory(Jungle::memory().unwrap()), options) {
            Err(StartError::Tls(error)) => error,
            other => panic!("{cert} {key}: {other:?}"),
        }
    };
    assert!(matches!(start("nothing.pem", "key.pem"), TlsError::Read { .. }));
    assert!(matches!(start("cert.pem", "cert.pem"), TlsError::Read { .. }));
    assert!(matches!(start("key.pem", "key.pem"), TlsError::Use { .. }));
}

#[test]
fn renewed_certificate_is_taken_without_a_restart() {
    let folder = Folder::new("tls-renewed");
    fs::create_dir_all(&folder.0).unwrap();
    let (cert, key) = (folder.0.join("cert.pem"), folder.0.join("key.pem"));
    let put = |from: &str, to: &PathBuf| _ = fs::copy(file(from), to).unwrap();
    put("cert.pem", &cert);
    put("key.pem", &key);
    let tls = Tls { cert: cert.clone(), key: key.clone() };
    let served = Served::with(|options| options.tls = Some(Certificate::Files(tls)));
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let is_of = |cert: &str| ask_of(&served, cert, get).is_ok();
    assert!(is_of("cert.pem") && !is_of("other-cert.pem"));
    // Between the two they do not fit, and nothing changes.
    put("other-key.pem", &key);
    assert!(is_of("cert.pem"));
    put("other-cert.pem", &cert);
    let began = Instant::now();
    while !is_of("other-cert.pem") {
        assert!(began.elapsed() < Duration::from_secs(30), "the old one is still there");
    }
    assert!(!is_of("cert.pem"));
}

/// A certificate of the server's own for these names.
fn own(folder: &Folder, names: &[&str]) -> Result<(Vec<u8>, Vec<u8>), TlsError> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let tls = Tls::of_own(&folder.0, &names)?;
    Ok((fs::read(tls.cert).unwrap(), fs::read(tls.key).unwrap()))
}

#[test]
fn own_certificate_is_made_again_where_it_is_of_no_use() {
    let folder = Folder::new("tls_own");
    fs::create_dir_all(&folder.0).unwrap();
    let (cert, key) = (folder.0.join("certificate.pem"), folder.0.join("certificate.key"));
    let first = own(&folder, &["a.example", "[2001:db8::1]"]).unwrap();
    let again = own(&folder, &["2001:db8::1", "A.example", "a.example"]).unwrap();
    assert_eq!(again, first, "names have no order");
    assert_ne!(own(&folder, &["b.example"]).unwrap(), first);

    // A start that was interrupted, or half of a backup.
    let names = ["a.example"];
    fs::remove_file(&key).unwrap();
    let second = own(&folder, &names).unwrap();
    fs::write(&key, &first.1).unwrap();
    let third = own(&folder, &names).unwrap();
    assert_ne!(third, second);
    assert_eq!(own(&folder, &names).unwrap(), third);

    // Whatever the times of the files say.
    let text = String::from_utf8(third.0.clone()).unwrap();
    let (made, rest) = text.split_once(", for ").unwrap();
    let (said, made) = made.rsplit_once(' ').unwrap();
    let made: u64 = made.parse().unwrap();
    for (days, is_kept) in [(364, true), (366, false)] {
        let older = format!("{said} {}, for {rest}", made - days * 24 * 60 * 60);
        fs::write(&cert, &older).unwrap();
        fs::write(&key, &third.1).unwrap();
        assert_eq!(own(&folder, &names).unwrap().0 == older.as_bytes(), is_kept, "{days}");
    }
}

#[test]
fn somebody_elses_certificate_is_not_replaced() {
    let folder = Folder::new("tls_not_own");
    fs::create_dir_all(&folder.0).unwrap();
    let theirs = fs::read(file("key.pem")).unwrap();
    for name in ["certificate.pem", "certificate.key"] {
        let path = folder.0.join(name);
        fs::write(&path, &theirs).unwrap();
        let refused = own(&folder, &["a.example"]).unwrap_err();
        assert!(matches!(&refused, TlsError::NotOwn { path: of } if *of == path), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), theirs);
        fs::remove_file(&path).unwrap();
    }
}
