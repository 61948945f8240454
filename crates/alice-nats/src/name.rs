//! Labels and keys as the engine's subjects have them.

use std::fmt::Write as _;

/// The longest label, key or space, as the engine has it: each byte that is not a letter, a digit,
/// `-` or `_` of ASCII counts as three.
pub const NAME_BYTES_MAX: usize = 100;

/// A label, key or space that cannot be used.
///
/// ```
/// use alice_nats::{Graph, GraphError, NameError};
///
/// let named = |name: &str| Graph::new([name.to_owned()], []).err();
/// assert_eq!(named(""), Some(GraphError::Name(NameError::Empty)));
/// // Each dot takes three bytes in a subject.
/// let long = named(&".".repeat(34));
/// assert!(matches!(long, Some(GraphError::Name(NameError::TooLong { bytes: 102, .. }))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// There is nothing in it.
    #[error("a label, key or space must not be empty")]
    Empty,
    /// It is longer than [`NAME_BYTES_MAX`].
    #[error("`{name}` takes {bytes} bytes in a subject, of at most {NAME_BYTES_MAX}")]
    TooLong {
        /// The beginning of it.
        name: String,
        /// How many it takes.
        bytes: usize,
    },
}

/// The same name as one token of a subject, where dots, stars and spaces mean something: `=2E` is
/// a dot. It never has two `=` beside each other, so `==` can stand between two names.
pub(crate) fn token(name: &str) -> Result<String, NameError> {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => token.push(byte.into()),
            other => write!(token, "={other:02X}").expect("a string takes everything"),
        }
    }
    match token.len() {
        0 => Err(NameError::Empty),
        1..=NAME_BYTES_MAX => Ok(token),
        bytes => Err(NameError::TooLong { name: name.chars().take(20).collect(), bytes }),
    }
}

/// The name that a token was made from; `None` when it was not made by [`token`].
pub(crate) fn name(token: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first == b'=' {
            let (digits, behind) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = behind;
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_one_and_gives_the_name_back() {
        for text in ["left", "block 7", "a.b.*.>", "Fluß", "==", "a=2Eb"] {
            let token = token(text).unwrap();
            assert!(!token.contains([' ', '.', '*', '>', '/']) && !token.contains("=="));
            assert_eq!(name(&token).as_deref(), Some(text));
        }
        assert_eq!(token("block 7").unwrap(), "block=207");
    }

    #[test]
    fn tokens_of_others_are_no_names() {
        assert_eq!([name("=2"), name("=ZZ"), name("=FF")], [None, None, None]);
    }

    #[test]
    fn names_have_limits() {
        assert_eq!(token(""), Err(NameError::Empty));
        assert!(token(&"x".repeat(NAME_BYTES_MAX)).is_ok());
        let long = token(&".".repeat(40)).unwrap_err();
        assert_eq!(long, NameError::TooLong { name: ".".repeat(20), bytes: 120 });
    }
}
