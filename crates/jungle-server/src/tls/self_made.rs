//! A certificate of a server's own making, for where there is nobody to give it one.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, date_time_ymd};

use crate::private;
use crate::tls::{self, Tls, TlsError};

/// The certificate: what clients have to be given.
const CERTIFICATE: &str = "certificate.pem";

/// Its private key.
const KEY: &str = "certificate.key";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long one holds: some systems take none that hold for longer, whoever made them.
const HOLDS: Duration = Duration::from_secs(820 * DAY.as_secs());

/// After how long a start makes another one.
const RENEWED_AFTER: Duration = Duration::from_secs(365 * DAY.as_secs());

/// What begins the line that says when it was made, in seconds since 1970, and for which names;
/// what is in front of a certificate, or of a key, is nothing to those who read it.
const OWN: &str = "A Jungle's own, made at ";

impl Tls {
    /// A certificate of the server's own making, in a folder: `certificate.pem` and
    /// `certificate.key`. It is made when there is none that can be used, or one for other names,
    /// or when it is a year old; it holds for 820 days. Nobody trusts it who was not given
    /// `certificate.pem`. `names` are what the server is asked for by: names or addresses.
    ///
    /// # Errors
    /// When a name is none, the files cannot be read or written, or are somebody else's: these are
    /// left as they are.
    ///
    /// ```
    /// use jungle_server::Tls;
    /// # let dir = std::env::temp_dir().join(format!("jungle-own-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir)?;
    /// let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    /// let tls = Tls::of_own(&dir, &names)?;
    /// let made = std::fs::read(&tls.cert)?;
    /// assert_eq!(std::fs::read(Tls::of_own(&dir, &names)?.cert)?, made);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_own(folder: &Path, names: &[String]) -> Result<Tls, TlsError> {
        let tls = Tls { cert: folder.join(CERTIFICATE), key: folder.join(KEY) };
        let mut names: Vec<String> = names.iter().map(|name| plain(name).to_lowercase()).collect();
        names.sort();
        names.dedup();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let was_there = tls.cert.exists();
        if !is_good(&tls, &names, now)? {
            make(&tls, &names, now)?;
            if was_there {
                let file = tls.cert.display();
                tracing::warn!(%file, "made anew: clients have to be given it again");
            }
        }
        Ok(tls)
    }
}

/// An address as a certificate has it, without the brackets that it has in a URL.
fn plain(name: &str) -> &str {
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

/// Is there one, for these names, that can be used for long enough?
fn is_good(tls: &Tls, names: &[String], now: Duration) -> Result<bool, TlsError> {
    let certificate = own(&tls.cert)?;
    own(&tls.key)?;
    let Some((made, of)) = certificate.as_deref().and_then(said) else { return Ok(false) };
    let is_new = made <= now.as_secs() && now.as_secs() - made < RENEWED_AFTER.as_secs();
    Ok(is_new && of == names.join(", ") && tls::acceptor(tls).is_ok())
}

/// What is in a file of the server's own, if it is there.
fn own(path: &Path) -> Result<Option<String>, TlsError> {
    let not_own = || TlsError::NotOwn { path: path.to_owned() };
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Ok(text) if text.starts_with(OWN) => Ok(Some(text)),
        _ => Err(not_own()),
    }
}

/// When it was made, and for which names.
fn said(text: &str) -> Option<(u64, &str)> {
    let (made, names) = text.lines().next()?.strip_prefix(OWN)?.split_once(", for ")?;
    Some((made.parse().ok()?, names))
}

fn make(tls: &Tls, names: &[String], now: Duration) -> Result<(), TlsError> {
    let unmade = |error: rcgen::Error| TlsError::Make(error.to_string());
    let mut params = CertificateParams::new(names).map_err(unmade)?;
    let today = date_time_ymd(1970, 1, 1) + now;
    // Clocks of clients may be behind.
    (params.not_before, params.not_after) = (today - DAY, today + HOLDS);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Jungle");
    let key = KeyPair::generate().map_err(unmade)?;
    let certificate = params.self_signed(&key).map_err(unmade)?;
    let said = format!("{OWN}{}, for {}", now.as_secs(), names.join(", "));
    // With only one of the two written, they do not fit, and are made again.
    for (path, pem) in [(&tls.key, key.serialize_pem()), (&tls.cert, certificate.pem())] {
        let unwritten = |source| TlsError::Write { path: path.clone(), source };
        private::write(path, &format!("{said}\n{pem}")).map_err(unwritten)?;
    }
    Ok(())
}
