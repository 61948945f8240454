//! Connections to other servers, and by what these are known.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
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

/// When it is asked whether a machine that says nothing is there, and how long after each time.
const SILENCE: Duration = Duration::from_secs(15);

/// How often that is asked before the machine is known to be gone.
const SILENCES: u32 = 3;

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
        let stream = timeout(CONNECT_TIME, TcpStream::connect(address)).await;
        match stream.map_err(late).flatten().and_then(while_there) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A connection that ends when the machine at its other end has vanished, which says nothing: a
/// minute later, however long an answer of one that is there may take.
fn while_there(stream: TcpStream) -> io::Result<TcpStream> {
    let asking = TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE);
    let socket = SockRef::from(&stream);
    socket.set_tcp_keepalive(&asking.with_retries(SILENCES))?;
    // It is not asked while something that was sent is on its way.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SILENCE * (SILENCES + 1)))?;
    Ok(stream)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// No test can have a machine vanish; that the system is told of it can be seen.
    #[tokio::test]
    async fn who_has_vanished_is_not_waited_for_without_end() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = connect("127.0.0.1", port).await.unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(60)));
    }
}
