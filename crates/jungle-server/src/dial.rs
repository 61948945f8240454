//! Connections to other servers, and by what these are known.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// How long one address of several may take: the next may be reached where it is not.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// How long it may take to agree on keys: whoever is there may say nothing at all.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// To servers that are known by these certificates.
pub(crate) fn connector(roots: RootCertStore) -> TlsConnector {
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has ciphers for both versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// Those that the system trusts, or that `SSL_CERT_FILE` names in their place.
pub(crate) fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // Some of the many that there are may be of no use.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

pub(crate) async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other("it has no address");
    for address in lookup_host((host, port)).await? {
        match timeout(CONNECT_TIME, TcpStream::connect(address)).await.map_err(late).flatten() {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What nobody between can read, with the server that has this name.
pub(crate) async fn encrypt(
    tls: &TlsConnector,
    name: ServerName<'static>,
    stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    timeout(HANDSHAKE_TIME, tls.connect(name, stream)).await.map_err(late).flatten()
}

fn late(_: Elapsed) -> io::Error {
    io::ErrorKind::TimedOut.into()
}
