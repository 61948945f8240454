//! Certificates of an authority, got and renewed by the server itself (ACME, RFC 8555). The
//! authority looks whether a name is ours by a handshake on the server's own port (TLS-ALPN-01,
//! RFC 8737), so no other port is needed.

mod backoff;
mod challenge;
mod keeper;
mod kept;
mod order;
mod transport;

use std::path::PathBuf;

use axum::http::Uri;
use tokio_rustls::rustls::pki_types::{ServerName, pem};

pub(crate) use challenge::is_challenge;
pub(crate) use keeper::Keeper;

/// A certificate that the server gets from an authority, and renews when a third of its life is
/// left. Who has a server ask for one agrees to the terms of service of that authority.
///
/// The authority must reach the server at port 443 of each name. Until there is a first
/// certificate, nobody is answered; it is asked for until it is there. Where it cannot be renewed,
/// the one that is there stays.
///
/// ```
/// use jungle_server::{Acme, Certificate, Options};
/// let acme = Acme {
///     names: vec!["trees.example".into()],
///     contact: None,
///     directory: Acme::LETS_ENCRYPT.into(),
///     root: None,
///     folder: "data/acme".into(),
/// };
/// let options = Options { tls: Some(Certificate::Acme(acme)), ..Options::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Acme {
    /// The names it is for; no addresses. The server may be asked for by them.
    pub names: Vec<String>,
    /// An address for mail, at which the authority may reach whoever runs the server.
    pub contact: Option<String>,
    /// The address of the authority.
    pub directory: String,
    /// The certificate, as a PEM file, by which the authority itself is known, where it is not one
    /// that the system knows.
    pub root: Option<PathBuf>,
    /// Where the account and the certificate are kept, apart for each authority; it is made if it
    /// is not there.
    pub folder: PathBuf,
}

impl Acme {
    /// Let's Encrypt.
    pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
}

/// Why no certificate can ever be got so.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{Acme, AcmeError, Certificate, Data, Options, Server, StartError, TlsError};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let acme = Acme {
///     names: vec!["192.0.2.1".into()],
///     contact: None,
///     directory: Acme::LETS_ENCRYPT.into(),
///     root: None,
///     folder: "/no/such/folder".into(),
/// };
/// let options = Options { tls: Some(Certificate::Acme(acme)), ..Options::default() };
/// let refused = Server::start(Data::Memory(Jungle::memory()?), options);
/// let Err(StartError::Tls(TlsError::Acme(error))) = refused else { panic!("it started") };
/// assert!(matches!(error, AcmeError::Name(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcmeError {
    /// It is for no name.
    #[error("the certificate is for no name")]
    NoName,
    /// Something is not the name of a host.
    #[error("{0:?} is no name that an authority looks at")]
    Name(String),
    /// The authority is not at an encrypted address.
    #[error("{0:?} is not like {LETS_ENCRYPT}", LETS_ENCRYPT = Acme::LETS_ENCRYPT)]
    Directory(String),
    /// By what the authority is known cannot be read.
    #[error("cannot read {}", path.display())]
    Root {
        /// The file.
        path: PathBuf,
        /// Why.
        source: pem::Error,
    },
    /// Nothing is there by which the authority could be known.
    #[error("{0} has no certificate by which the authority could be known")]
    NoRoot(String),
    /// The folder cannot be made, or what is in it cannot be read.
    #[error("cannot use {}", path.display())]
    Folder {
        /// The folder, or the file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The names, each once, as they are compared.
fn names(acme: &Acme) -> Result<Vec<String>, AcmeError> {
    let mut names: Vec<String> = Vec::new();
    for name in &acme.names {
        let name = name.to_ascii_lowercase();
        match ServerName::try_from(&*name) {
            // Authorities refuse it, and nobody compares with it.
            Ok(ServerName::DnsName(_)) if name.ends_with('.') => return Err(AcmeError::Name(name)),
            Ok(ServerName::DnsName(_)) if !names.contains(&name) => names.push(name),
            Ok(ServerName::DnsName(_)) => {}
            _ => return Err(AcmeError::Name(name)),
        }
    }
    if names.is_empty() { Err(AcmeError::NoName) } else { Ok(names) }
}

/// The account's key signs what is asked, but what is answered could be anybody's without
/// encryption.
fn check_directory(directory: &str) -> Result<(), AcmeError> {
    let uri = directory.parse::<Uri>().ok();
    let is_good = uri.is_some_and(|uri| uri.scheme_str() == Some("https") && uri.host().is_some());
    if is_good { Ok(()) } else { Err(AcmeError::Directory(directory.to_owned())) }
}
