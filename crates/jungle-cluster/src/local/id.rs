//! What an entry of an outbox is called.

use std::fmt;
use std::str::FromStr;

/// The name of an entry of an outbox: which server made it, and its number there. In text, `3-17`.
///
/// ```
/// use jungle_cluster::LocalId;
/// let id = LocalId { writer: 3, number: 17 };
/// assert_eq!((id.to_string().as_str(), "3-17".parse()), ("3-17", Ok(id)));
/// assert!("3".parse::<LocalId>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalId {
    /// The number of the server.
    pub writer: u64,
    /// The number of the entry: later ones have larger ones.
    pub number: u64,
}

impl fmt::Display for LocalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.writer, self.number)
    }
}

/// A text is no [`LocalId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of a local commit is two numbers with a hyphen between")]
pub struct LocalIdError;

impl FromStr for LocalId {
    type Err = LocalIdError;

    fn from_str(text: &str) -> Result<LocalId, LocalIdError> {
        let (writer, number) = text.split_once('-').ok_or(LocalIdError)?;
        let number_of = |digits: &str| digits.parse().map_err(|_| LocalIdError);
        Ok(LocalId { writer: number_of(writer)?, number: number_of(number)? })
    }
}
