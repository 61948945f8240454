//! Names of trees, branches and tags.

use std::sync::Arc;

/// The most bytes that a name of a tree, a branch or a tag may have.
pub const NAME_BYTES_MAX: usize = 255;

/// What is wrong with a name.
///
/// ```
/// use jungle_db::{CreateTreeError, Jungle, NAME_BYTES_MAX, NameError};
/// let jungle = Jungle::new()?;
/// let made = |name: &str| match jungle.create_tree(name) {
///     Err(CreateTreeError::Name(error)) => Some(error),
///     _ => None,
/// };
/// assert_eq!(made(""), Some(NameError::Empty));
/// assert_eq!(made(&"x".repeat(256)), Some(NameError::TooLong { bytes: NAME_BYTES_MAX + 1 }));
/// assert_eq!(made("with spaces / and slashes"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It is empty.
    #[error("a name is not empty")]
    Empty,
    /// It is too long.
    #[error("a name of {bytes} bytes is longer than the limit of {NAME_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It has a control character in it.
    #[error("a name has no control characters, and {name:?} has one")]
    ControlCharacter {
        /// The name.
        name: Box<str>,
    },
}

/// The name, if it may be one.
pub(crate) fn check(name: &str) -> Result<Arc<str>, NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong { bytes: name.len() });
    }
    if name.chars().any(char::is_control) {
        return Err(NameError::ControlCharacter { name: name.into() });
    }
    Ok(name.into())
}
