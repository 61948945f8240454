//! What outlasts a restart: the account, and the certificate with its key.

use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Decode, Reader, Tag, Tagged};
use instant_acme::AccountCredentials;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::sign::CertifiedKey;

use super::{Acme, AcmeError};
use crate::private;

/// The account, with its key.
const ACCOUNT: &str = "account.json";

/// The certificate with those above it, and its key, in one file: so they always fit.
const CERTIFICATE: &str = "certificate.pem";

/// What is left as it is in the name of a folder.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// More than any of our files has: what is larger is not ours.
const BYTES_MAX: u64 = 1 << 20;

/// An account, and what the authority was told of who has it.
#[derive(Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) contact: Option<String>,
    pub(super) credentials: AccountCredentials,
}

impl Account {
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("texts are JSON")
    }
}

/// The folder for one authority: one for tries must not take the place of the real one's.
#[derive(Debug)]
pub(super) struct Kept(PathBuf);

impl Kept {
    pub(super) fn open(acme: &Acme) -> Result<Kept, AcmeError> {
        let address = acme.directory.trim_start_matches("https://");
        let folder = acme.folder.join(utf8_percent_encode(address, PLAIN).to_string());
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Ok(()) => Ok(Kept(folder)),
            Err(source) => Err(AcmeError::Folder { path: folder, source }),
        }
    }

    fn account_file(&self) -> PathBuf {
        self.0.join(ACCOUNT)
    }

    fn certificate_file(&self) -> PathBuf {
        self.0.join(CERTIFICATE)
    }

    /// The account, if there is one that can be read. One that cannot is a loss of little: another
    /// is made.
    pub(super) fn account(&self) -> Option<Account> {
        let file = self.account_file();
        let text = read(&file).unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "cannot be read: a new account is made");
            None
        })?;
        match serde_json::from_str(&text) {
            Ok(account) => Some(account),
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "is none: a new account is made");
                None
            }
        }
    }

    pub(super) fn put_account(&self, account: &str) -> io::Result<()> {
        private::write(&self.account_file(), account)
    }

    /// The certificate, if there is one that can be used for any of these names: it need not be
    /// for all, if some were added.
    pub(super) fn certificate(&self, names: &[String]) -> Result<Option<Usable>, AcmeError> {
        let file = self.certificate_file();
        let text = read(&file);
        let text = text.map_err(|source| AcmeError::Folder { path: file.clone(), source })?;
        let Some(text) = text else { return Ok(None) };
        let usable = Usable::read(&text).and_then(|usable| match usable.is_for_any(names) {
            true => Ok(usable),
            false => Err(format!("it is not for {}", names.join(", "))),
        });
        match usable {
            Ok(usable) => Ok(Some(usable)),
            Err(why) => {
                tracing::warn!(file = %file.display(), why, "is not used: a new one is asked for");
                Ok(None)
            }
        }
    }

    pub(super) fn put_certificate(&self, text: &str) -> io::Result<()> {
        private::write(&self.certificate_file(), text)
    }
}

/// What is in a file, if it is there.
fn read(file: &Path) -> io::Result<Option<String>> {
    match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(metadata) if metadata.len() > BYTES_MAX => {
            return Err(io::Error::other("it is too large"));
        }
        Ok(_) => {}
    }
    fs::read_to_string(file).map(Some)
}

/// A certificate that can be shown.
pub(super) struct Usable {
    pub(super) key: CertifiedKey,
    /// For how long.
    pub(super) holds: Range<SystemTime>,
}

impl Usable {
    /// Reads a certificate, those above it, and its key, or says why they are of no use.
    pub(super) fn read(text: &str) -> Result<Usable, String> {
        let said = |error: &dyn std::error::Error| error.to_string();
        let certificates = CertificateDer::pem_slice_iter(text.as_bytes());
        let certificates: Vec<CertificateDer<'static>> =
            certificates.collect::<Result<_, _>>().map_err(|error| said(&error))?;
        let first = certificates.first().ok_or("there is no certificate in it")?;
        ParsedCertificate::try_from(first).map_err(|error| said(&error))?;
        let holds = validity(first).map_err(|error| said(&error))?;
        if holds.is_empty() {
            return Err("it never holds".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| said(&error))?;
        let key = CertifiedKey::from_der(certificates, key, &default_provider());
        Ok(Usable { key: key.map_err(|error| said(&error))?, holds })
    }

    /// One of these names that it is not for.
    pub(super) fn lacks<'n>(&self, names: &'n [String]) -> Option<&'n str> {
        names.iter().find(|name| !self.is_for(name)).map(|name| &**name)
    }

    fn is_for_any(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.is_for(name))
    }

    fn is_for(&self, name: &str) -> bool {
        let parsed = self.key.end_entity_cert().ok().map(ParsedCertificate::try_from);
        match (parsed, ServerName::try_from(name)) {
            (Some(Ok(parsed)), Ok(name)) => verify_server_name(&parsed, &name).is_ok(),
            _ => false,
        }
    }
}

/// In how long a certificate is to be renewed: when a third of its life is left.
pub(super) fn renewed_in(holds: &Range<SystemTime>, now: SystemTime) -> Duration {
    let life = holds.end.duration_since(holds.start).unwrap_or_default();
    let at = holds.end.checked_sub(life / 3).unwrap_or(holds.start);
    at.duration_since(now).unwrap_or_default()
}

/// From when until when a certificate holds (RFC 5280, 4.1).
fn validity(certificate: &[u8]) -> der::Result<Range<SystemTime>> {
    let missing = || Tag::Sequence.length_error();
    let [signed, ..] = parts(AnyRef::from_der(certificate)?)?[..] else { return Err(missing()) };
    let fields = parts(signed)?;
    // What version it is of lies in front of the rest, but for the first one.
    let has_version = fields.first().is_some_and(|field| field.tag().is_context_specific());
    let [_serial, _algorithm, _issuer, validity, ..] = fields[usize::from(has_version)..] else {
        return Err(missing());
    };
    let [from, until] = parts(validity)?[..] else { return Err(missing()) };
    Ok(time(from)?..time(until)?)
}

fn parts(whole: AnyRef<'_>) -> der::Result<Vec<AnyRef<'_>>> {
    whole.sequence(|reader| {
        let mut parts = Vec::new();
        while !reader.is_finished() {
            parts.push(AnyRef::decode(reader)?);
        }
        Ok(parts)
    })
}

/// Before 2050 it is written in two digits.
fn time(time: AnyRef<'_>) -> der::Result<SystemTime> {
    match time.tag() {
        Tag::UtcTime => Ok(time.decode_as::<UtcTime>()?.to_system_time()),
        _ => Ok(time.decode_as::<GeneralizedTime>()?.to_system_time()),
    }
}

#[cfg(test)]
mod tests;
