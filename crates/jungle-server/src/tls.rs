//! Encryption, where it is asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error, ServerConfig, crypto};

use crate::app::Stopping;
use crate::reload::reload;

/// With what a server says who it is, as PEM files; they are read again when they change.
///
/// ```
/// use jungle_server::{Options, Tls};
/// let tls = Tls { cert: "server.pem".into(), key: "server.key".into() };
/// let options = Options { tls: Some(tls), ..Options::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate, with those between it and one that clients know behind it.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{Data, Options, Server, StartError, Tls, TlsError};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tls = Tls { cert: "/no/such/server.pem".into(), key: "/no/such/server.key".into() };
/// let options = Options { tls: Some(tls), ..Options::default() };
/// let refused = Server::start(Data::Memory(Jungle::memory()?), options);
/// assert!(matches!(refused, Err(StartError::Tls(TlsError::Read { .. }))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: pem::Error,
    },
    /// A certificate of the server's own making cannot be made.
    #[error("no certificate can be made: {0}")]
    Make(String),
    /// It cannot be kept.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is another one where the server's own would be.
    #[error("{} is not of the server's own making, and is not replaced", path.display())]
    NotOwn {
        /// The file.
        path: PathBuf,
    },
    /// The key is not that of the certificate, or the like.
    #[error("{} and {} cannot be used", cert.display(), key.display())]
    Use {
        /// The certificate.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        source: Error,
    },
}

/// What encrypts from now on.
pub(crate) type Acceptor = watch::Sender<TlsAcceptor>;

/// Takes the files in whenever they have changed, until the server stops: a certificate is renewed
/// without a restart. Those that cannot be used, such as a key before its certificate, change
/// nothing.
pub(crate) async fn keep(tls: &Tls, acceptor: &Acceptor, stopping: Stopping) {
    let read = || match self::acceptor(tls) {
        Ok(new) => _ = acceptor.send_replace(new),
        Err(error) => tracing::error!(%error, "the certificate stays as it was"),
    };
    reload(vec![tls.cert.clone(), tls.key.clone()], stopping, read).await;
}

/// TLS 1.2 and 1.3, with the ciphers that rustls holds for safe, and HTTP/1.1 in it.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, TlsError> {
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Read { path, source }
    };
    let certs = CertificateDer::pem_file_iter(&tls.cert).and_then(Iterator::collect);
    let certs: Vec<CertificateDer<'static>> = certs.map_err(unread(&tls.cert))?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(unread(&tls.key))?;
    let unused = |source| TlsError::Use { cert: tls.cert.clone(), key: tls.key.clone(), source };
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().map_err(unused)?;
    let config = config.with_no_client_auth().with_single_cert(certs, key);
    let mut config = config.map_err(unused)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
