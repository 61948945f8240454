//! What is shown and served to whom, where an authority gives the certificate. That it does is
//! tested with a real one beside the command (`jungle-cli`).

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use jungle_server::{Acme, Certificate};
use rcgen::{CertificateParams, KeyPair};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto};

use crate::support::{Folder, Served};

const NAME: &str = "tree.example";

/// An authority that nobody reaches, and where it keeps what it got.
const DIRECTORY: &str = "https://127.0.0.1:1/dir";
const KEPT: &str = "127.0.0.1%3A1%2Fdir";

/// A server with a certificate that it got before, or without.
fn served(folder: &Folder, is_kept: bool) -> (Served, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([NAME.to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    if is_kept {
        let kept = folder.0.join(KEPT);
        fs::create_dir_all(&kept).unwrap();
        let text = format!("{certificate}{}", key.serialize_pem());
        fs::write(kept.join("certificate.pem"), text).unwrap();
    }
    let acme = Acme {
        names: vec![NAME.to_owned()],
        contact: None,
        directory: DIRECTORY.to_owned(),
        root: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/cert.pem").into()),
        folder: folder.0.clone(),
    };
    let served = Served::with(|options| options.tls = Some(Certificate::Acme(acme)));
    (served, certificate)
}

/// What is answered to somebody who speaks these; an error without a handshake.
fn ask(served: &Served, certificate: &str, spoken: &[&str]) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = spoken.iter().map(|name| name.as_bytes().to_vec()).collect();
    let client = ClientConnection::new(Arc::new(config), NAME.try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, served.connect());
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    let get = format!("GET /health HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n");
    // It may be closed already.
    let _ = stream.write_all(get.as_bytes());
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error)
            if !matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) =>
        {
            Err(error)
        }
        _ => Ok(String::from_utf8(answer).unwrap()),
    }
}

#[test]
fn whoever_speaks_as_an_authority_does_is_served_nothing() {
    let folder = Folder::new("acme-spoken");
    let (served, certificate) = served(&folder, true);
    let ask = |spoken: &[&str]| ask(&served, &certificate, spoken);
    for spoken in [&[] as &[&str], &["http/1.1"], &["acme-tls/1", "http/1.1"]] {
        let answer = ask(spoken).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{spoken:?}: {answer}");
    }
    assert_eq!(ask(&["acme-tls/1", "h2"]).unwrap(), "");
    // There is no proof to be seen while none is asked for.
    ask(&["acme-tls/1"]).unwrap_err();
    ask(&["h2"]).unwrap_err();
}

#[test]
fn nobody_is_answered_before_there_is_a_certificate() {
    let folder = Folder::new("acme-without");
    fs::create_dir_all(&folder.0).unwrap();
    let (served, certificate) = served(&folder, false);
    for spoken in [&[] as &[&str], &["http/1.1"], &["acme-tls/1"]] {
        ask(&served, &certificate, spoken).unwrap_err();
    }
}
