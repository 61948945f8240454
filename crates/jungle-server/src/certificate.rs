//! A certificate of a server's own making, for where there is nobody to give it one.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, date_time_ymd};

use crate::private;
use crate::tls::{Tls, TlsError};

/// The certificate: what clients have to be given.
const CERTIFICATE: &str = "certificate.pem";

/// Its private key.
const KEY: &str = "certificate.key";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long one holds: some systems take none that hold for longer, whoever made them.
const HOLDS: Duration = Duration::from_secs(820 * DAY.as_secs());

/// After how long a start makes another one.
const RENEWED_AFTER: Duration = Duration::from_secs(365 * DAY.as_secs());

/// What begins the line that says for which names it is; what is in front of a certificate is
/// nothing to those who read it.
const NAMES: &str = "A Jungle's own certificate, for ";

impl Tls {
    /// A certificate of the server's own making, in a folder: `certificate.pem` and
    /// `certificate.key`. It is made when there is none, or one for other names, or when it is a
    /// year old; it holds for 820 days. Nobody trusts it who was not given `certificate.pem`.
    /// `names` are what the server is asked for by: names or addresses.
    ///
    /// # Errors
    /// When a name is none, or the files cannot be read or written.
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
        if !is_good(&tls, names) {
            make(&tls, names)?;
        }
        Ok(tls)
    }
}

/// Is there one, for these names, that holds for long enough?
fn is_good(tls: &Tls, names: &[String]) -> bool {
    let made = fs::metadata(&tls.cert).and_then(|file| file.modified());
    let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok());
    let text = fs::read_to_string(&tls.cert).unwrap_or_default();
    age.is_some_and(|age| age < RENEWED_AFTER)
        && text.starts_with(&first_line(names))
        && tls.key.exists()
}

fn first_line(names: &[String]) -> String {
    format!("{NAMES}{}\n", names.join(", "))
}

fn make(tls: &Tls, names: &[String]) -> Result<(), TlsError> {
    let unmade = |error: rcgen::Error| TlsError::Make(error.to_string());
    let mut params = CertificateParams::new(names).map_err(unmade)?;
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = date_time_ymd(1970, 1, 1) + since_1970;
    // Clocks of clients may be behind.
    (params.not_before, params.not_after) = (now - DAY, now + HOLDS);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Jungle");
    let key = KeyPair::generate().map_err(unmade)?;
    let certificate = params.self_signed(&key).map_err(unmade)?;
    let written = |path: &Path, text: &str| {
        let unwritten = |source| TlsError::Write { path: path.to_owned(), source };
        private::write(path, text).map_err(unwritten)
    };
    // Without the certificate, which comes last, both are made again.
    written(&tls.key, &key.serialize_pem())?;
    written(&tls.cert, &format!("{}{}", first_line(names), certificate.pem()))
}
