//! What the server shows in handshakes: its certificate, or to an authority that asks, a proof.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use tokio_rustls::rustls::ServerConnection;
use tokio_rustls::rustls::crypto::ring::sign::any_supported_type;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::order::Refusal;

/// What an authority says that it speaks when it looks whether a name is ours.
pub(crate) const PROTOCOL: &[u8] = b"acme-tls/1";

/// Is it an authority that looks? There is nothing to be told to it after the handshake.
pub(crate) fn is_challenge(connection: &ServerConnection) -> bool {
    connection.alpn_protocol() == Some(PROTOCOL)
}

/// What is shown from now on.
#[derive(Default)]
pub(super) struct Shown {
    /// None until there is a first certificate: whoever comes is refused then. One of the server's
    /// own making would teach people to go on behind a warning, and so give away their passwords.
    certificate: RwLock<Option<Arc<CertifiedKey>>>,
    /// Proofs, by name, while an authority looks for them.
    proofs: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

/// A proof that is shown until this is dropped.
pub(super) struct Proof<'s> {
    shown: &'s Shown,
    name: String,
}

impl Drop for Proof<'_> {
    fn drop(&mut self) {
        let proofs = self.shown.proofs.lock();
        proofs.unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}

impl Shown {
    pub(super) fn replace(&self, certificate: CertifiedKey) {
        let mut now = self.certificate.write().unwrap_or_else(PoisonError::into_inner);
        *now = Some(Arc::new(certificate));
    }

    /// Shows what proves that a name is ours: a certificate for it, with what only the holder of
    /// the account's key can know.
    pub(super) fn prove(&self, name: &str, digest: &[u8]) -> Result<Proof<'_>, Refusal> {
        let unmade = |error: rcgen::Error| Refusal::Unmade(error.to_string());
        let mut params = CertificateParams::new([name.to_owned()]).map_err(unmade)?;
        params.distinguished_name = DistinguishedName::new();
        params.custom_extensions.push(CustomExtension::new_acme_identifier(digest));
        let key = KeyPair::generate().map_err(unmade)?;
        let certificate = params.self_signed(&key).map_err(unmade)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        // Not with a look whether they fit: what reads certificates for that knows no such proof.
        let key = any_supported_type(&key).map_err(|error| Refusal::Unmade(error.to_string()))?;
        let proof = CertifiedKey::new(vec![certificate.der().clone()], key);
        let mut proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        proofs.insert(name.to_owned(), Arc::new(proof));
        Ok(Proof { shown: self, name: name.to_owned() })
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // An authority speaks nothing else; who does is not to see a proof.
        let is_asked = hello.alpn().is_some_and(|spoken| spoken.eq([PROTOCOL]));
        if !is_asked {
            return self.certificate.read().unwrap_or_else(PoisonError::into_inner).clone();
        }
        let name = hello.server_name()?.to_ascii_lowercase();
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned()
    }
}
