//! Encryption, where it is asked for.

pub(crate) mod acme;
pub(crate) mod reload;
mod self_made;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WantsServerCert;
use tokio_rustls::rustls::{ConfigBuilder, Error, ServerConfig, crypto};

use crate::app::Stopping;
use crate::tls::acme::{Acme, AcmeError, Keeper};
use crate::tls::reload::reload;

/// With what a server says who it is.
///
/// ```
/// use jungle_server::{Certificate, Options, Tls};
/// let tls = Tls { cert: "server.pem".into(), key: "server.key".into() };
/// let options = Options { tls: Some(Certificate::Files(tls)), ..Options::default() };
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Certificate {
    /// It is there already, or made by the server itself.
    Files(Tls),
    /// An authority gives it.
    Acme(Acme),
}

/// A certificate and its key, as PEM files; they are read again when they change.
///
/// ```
/// let tls = jungle_server::Tls { cert: "server.pem".into(), key: "server.key".into() };
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
/// use jungle_server::{Certificate, Data, Options, Server, StartError, Tls, TlsError};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tls = Tls { cert: "/no/such/server.pem".into(), key: "/no/such/server.key".into() };
/// let options = Options { tls: Some(Certificate::Files(tls)), ..Options::default() };
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
    /// No authority can be asked for one.
    #[error("no certificate can be got from an authority")]
    Acme(#[from] AcmeError),
}

/// What a connection speaks that is one of ours.
pub(crate) const HTTP: &[u8] = b"http/1.1";

/// What encrypts.
pub(crate) enum Encryption {
    /// What does so from now on, as the files say.
    Files(Tls, watch::Sender<TlsAcceptor>),
    Acme(Keeper, TlsAcceptor),
}

impl Encryption {
    pub(crate) fn new(certificate: &Certificate) -> Result<Encryption, TlsError> {
        match certificate {
            Certificate::Files(tls) => {
                Ok(Encryption::Files(tls.clone(), watch::Sender::new(acceptor(tls)?)))
            }
            Certificate::Acme(acme) => {
                let keeper = Keeper::open(acme)?;
                let acceptor = keeper.acceptor();
                Ok(Encryption::Acme(keeper, acceptor))
            }
        }
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        match self {
            Encryption::Files(_, acceptor) => acceptor.borrow().clone(),
            Encryption::Acme(_, acceptor) => acceptor.clone(),
        }
    }

    /// Who asks an authority.
    pub(crate) fn keeper(&self) -> Option<&Keeper> {
        match self {
            Encryption::Files(..) => None,
            Encryption::Acme(keeper, _) => Some(keeper),
        }
    }

    /// Sees to it that the certificate is renewed without a restart, until the server stops: files
    /// are taken in whenever they have changed. Those that cannot be used, such as a key before its
    /// certificate, change nothing.
    pub(crate) async fn keep(&self, stopping: Stopping) {
        match self {
            Encryption::Files(tls, now) => {
                let read = || acceptor(tls).map(|new| drop(now.send_replace(new)));
                let files = vec![tls.cert.clone(), tls.key.clone()];
                reload(files, "the certificate stays as it was", stopping, read).await;
            }
            Encryption::Acme(keeper, _) => keeper.keep(stopping).await,
        }
    }
}

/// TLS 1.2 and 1.3, with the ciphers that rustls holds for safe.
pub(crate) fn builder() -> ConfigBuilder<ServerConfig, WantsServerCert> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.expect("ring has ciphers for both versions").with_no_client_auth()
}

/// With a certificate, and HTTP/1.1 in it.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, TlsError> {
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Read { path, source }
    };
    let certs = CertificateDer::pem_file_iter(&tls.cert).and_then(Iterator::collect);
    let certs: Vec<CertificateDer<'static>> = certs.map_err(unread(&tls.cert))?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(unread(&tls.key))?;
    let unused = |source| TlsError::Use { cert: tls.cert.clone(), key: tls.key.clone(), source };
    let mut config = builder().with_single_cert(certs, key).map_err(unused)?;
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
