//! Secrets: made by chance, kept as hashes only.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use blake3::Hash;

use super::file::AccessError;

/// What every token begins with, so that one that leaked is known for what it is.
const TOKEN: &str = "jungle_";

/// Bytes of salt.
const SALT_BYTES: usize = 16;

/// Bytes of a password.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 8..=1024;

/// The hash of a password that nobody has: with it, asking for a user that is not there takes as
/// long as asking for one that is.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGhhcyBpdCEh\
$dGhpcyBpcyB0aGUgaGFzaCBvZiBubyBwYXNzd29yZCE";

fn random<const BYTES: usize>() -> Result<[u8; BYTES], AccessError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| AccessError::Random(error.to_string()))?;
    Ok(bytes)
}

/// 256 random bits, as text.
pub(super) fn secret() -> Result<String, AccessError> {
    Ok(Hash::from_bytes(random()?).to_hex().to_string())
}

pub(super) fn token() -> Result<String, AccessError> {
    Ok(format!("{TOKEN}{}", secret()?))
}

/// A password for those who want none of their own: 96 bits.
pub(super) fn password() -> Result<String, AccessError> {
    let mut password = secret()?;
    password.truncate(24);
    Ok(password)
}

/// What is kept of a secret that was made by chance. A quick hash will do: there is nothing that
/// could be guessed. Comparing two takes the same time whatever they are.
pub(super) fn hash(secret: &str) -> Hash {
    blake3::hash(secret.as_bytes())
}

/// What is kept of a password: argon2id, which takes 19 MiB and a while.
pub(super) fn hash_password(password: &str) -> Result<String, AccessError> {
    if !PASSWORD_BYTES.contains(&password.len()) {
        let (least, most) = PASSWORD_BYTES.into_inner();
        return Err(AccessError::Wrong(format!("a password has {least} to {most} bytes")));
    }
    let salt = random::<SALT_BYTES>()?;
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    let hash: PasswordHash = hash.map_err(|error| AccessError::Wrong(error.to_string()))?;
    Ok(hash.to_string())
}

/// Is it a hash of a password, made as we make them?
pub(super) fn is_password_hash(text: &str) -> bool {
    let hash = PasswordHash::new(text);
    hash.is_ok_and(|hash| hash.algorithm.as_str() == "argon2id" && hash.hash.is_some())
}

/// Is it the password? Of a user that is not there, `hash` is `None`. It takes a while: do it off
/// the threads that serve.
pub(super) fn is_password(password: &str, hash: Option<&str>) -> bool {
    let Ok(parsed) = PasswordHash::new(hash.unwrap_or(NOBODY)) else {
        return false;
    };
    let is_right = Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok();
    is_right && hash.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_known_by_its_hash() {
        let hash = hash_password("correct horse").unwrap();
        assert!(is_password_hash(&hash) && !hash.contains("horse"), "{hash}");
        assert!(is_password("correct horse", Some(&hash)));
        assert!(!is_password("correct hors", Some(&hash)));
        assert!(!is_password("", Some(&hash)));
        assert!(!is_password("correct horse", None));
        assert_ne!(hash_password("correct horse").unwrap(), hash);
        assert!(hash_password("short").is_err());
        assert!(hash_password(&"x".repeat(1025)).is_err());
    }

    #[test]
    fn nobody_is_as_slow_as_anybody() {
        let ours = hash_password("correct horse").unwrap();
        let parameters =
            |hash: &str| hash.split('$').take(4).map(str::to_owned).collect::<Vec<_>>();
        assert!(is_password_hash(NOBODY));
        assert_eq!(parameters(NOBODY), parameters(&ours));
    }

    #[test]
    fn secrets_differ() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert!(one.starts_with(TOKEN) && one.len() == TOKEN.len() + 64, "{one}");
        assert_ne!(one, other);
        assert_ne!(password().unwrap(), password().unwrap());
        for wrong in ["", "x", "$argon2i$v=19$m=8,t=1,p=1$bm9ib2R5$bm9ib2R5", "$argon2id$v=19$"] {
            assert!(!is_password_hash(wrong), "{wrong}");
        }
    }
}
