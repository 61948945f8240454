//! Keys: how a child is addressed under its parent.
//!
//! A key is a [`Position`], given by the tree, or a name, given by the caller. It never changes
//! while the child lives: removing or inserting a sibling moves nobody. How keys are written and
//! read as text is told in [`Path`](crate::Path).

mod position;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;

pub(crate) use self::position::position;
pub use self::position::{POSITION_MAX, POSITION_MIN, Position};
use self::position::{Place, check_index};
use crate::fraction::{Fraction, FractionError};

/// The most bytes a name may have, and the most digits a fraction.
pub const KEY_BYTES_MAX: usize = 4096;

/// The address of a child under its parent.
///
/// Positions come before names; names are ordered by their bytes.
///
/// ```
/// use jungle_tree::Key;
///
/// let mut keys = [Key::from("b"), Key::from("a"), Key::from(12), Key::from(-1)];
/// keys.sort();
/// assert_eq!(keys, [Key::from(-1), Key::from(12), Key::from("a"), Key::from("b")]);
/// ```
///
/// # A name made of digits is not a position
///
/// ```
/// use jungle_tree::Key;
///
/// assert_ne!(Key::from("3"), Key::from(3));
/// assert_eq!(Key::from("3").to_string(), r#""3""#);
/// assert_eq!(Key::from(3).to_string(), "3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A place among the siblings, given by the tree.
    Position(Position),
    /// A name given by the caller, of at most [`KEY_BYTES_MAX`] bytes.
    Name(Box<str>),
}

/// A borrowed [`Key`], with the same order.
///
/// ```
/// use jungle_tree::{Key, KeyRef};
///
/// let key = Key::from("features");
/// assert_eq!(key.as_ref(), KeyRef::Name("features"));
/// assert!(KeyRef::Position(7, &[]) < key.as_ref());
/// assert_eq!(key.as_ref().to_key(), key);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyRef<'a> {
    /// The integer of a position and the digits of its fraction.
    Position(i64, &'a [u8]),
    /// A name.
    Name(&'a str),
}

/// Why a key cannot be.
///
/// ```
/// use jungle_tree::{KeyError, POSITION_MIN, Position};
///
/// let first = Position::new(POSITION_MIN)?;
/// assert_eq!(Position::between(None, Some(&first)), Err(KeyError::NothingBefore));
/// assert_eq!(Position::between(Some(&first), Some(&first)), Err(KeyError::NotOrdered));
/// let error = Position::new(1 << 50).unwrap_err();
/// assert!(error.to_string().starts_with("position 1125899906842624 is not between "));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The integer is below [`POSITION_MIN`] or above [`POSITION_MAX`].
    IndexOutOfRange {
        /// The integer, or the nearest one that fits here.
        index: i64,
    },
    /// The name has more than [`KEY_BYTES_MAX`] bytes.
    NameTooLong {
        /// How many bytes it has.
        bytes: usize,
    },
    /// The fraction cannot be.
    Fraction(FractionError),
    /// The left position is not in front of the right one.
    NotOrdered,
    /// The position is the first one there can be: nothing goes in front of it.
    NothingBefore,
}

impl Key {
    /// The whole position `index`.
    ///
    /// # Panics
    ///
    /// If `index` is below [`POSITION_MIN`] or above [`POSITION_MAX`]. For numbers from elsewhere
    /// there is [`Key::try_position`].
    ///
    /// ```
    /// use jungle_tree::{Key, Position};
    ///
    /// assert_eq!(Key::position(3), Key::from(Position::new(3)?));
    /// assert_eq!(Key::position(-1).to_string(), "-1");
    /// # Ok::<(), jungle_tree::KeyError>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn position(index: i64) -> Key {
        match Key::try_position(index) {
            Ok(key) => key,
            Err(error) => panic!("{error}"),
        }
    }

    /// The whole position `index`.
    ///
    /// # Errors
    ///
    /// [`KeyError::IndexOutOfRange`].
    ///
    /// ```
    /// use jungle_tree::{Key, KeyError};
    ///
    /// assert_eq!(Key::try_position(3)?, Key::from(3));
    /// assert_eq!(Key::try_position(1 << 50), Err(KeyError::IndexOutOfRange { index: 1 << 50 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_position(index: i64) -> Result<Key, KeyError> {
        Position::new(index).map(Key::Position)
    }

    /// As `==`, quickest for whole positions.
    #[inline(always)]
    pub(crate) fn is_same(&self, other: &Key) -> bool {
        match (self.whole_position(), other.whole_position()) {
            (Some(a), Some(b)) => a == b,
            _ => self.is_equal(other),
        }
    }

    /// Apart, so that the usual case stays short.
    #[inline(never)]
    fn is_equal(&self, other: &Key) -> bool {
        self == other
    }

    /// The whole position that this is, if it is one of the first 16.
    #[inline(always)]
    pub(crate) fn small_position(&self) -> Option<u32> {
        let index = self.whole_position()?;
        (0..16).contains(&index).then_some(index as u32)
    }

    #[inline(always)]
    fn whole_position(&self) -> Option<i64> {
        match self {
            Key::Position(Position(Place::Whole(index))) => Some(*index),
            _ => None,
        }
    }

    /// This key, borrowed.
    #[must_use]
    #[inline(always)]
    pub fn as_ref(&self) -> KeyRef<'_> {
        match self {
            Key::Position(Position(Place::Whole(index))) => KeyRef::Position(*index, &[]),
            Key::Position(position) => {
                KeyRef::Position(position.index(), position.fraction().as_bytes())
            }
            Key::Name(name) => KeyRef::Name(name),
        }
    }

    /// Whether the key keeps to the limits. Positions always do; names are checked here, because
    /// anyone can make one.
    ///
    /// # Errors
    ///
    /// [`KeyError::NameTooLong`].
    ///
    /// ```
    /// use jungle_tree::{KEY_BYTES_MAX, Key, KeyError};
    ///
    /// let name = Key::from("x".repeat(KEY_BYTES_MAX + 1));
    /// assert_eq!(name.check(), Err(KeyError::NameTooLong { bytes: KEY_BYTES_MAX + 1 }));
    /// ```
    pub fn check(&self) -> Result<(), KeyError> {
        self.as_ref().check()
    }
}

impl KeyRef<'_> {
    /// An owned copy.
    ///
    /// # Panics
    ///
    /// If this is a position made by hand that [`KeyRef::check`] refuses. What a [`Key`] or a tree
    /// lends is always fine.
    #[must_use]
    #[track_caller]
    pub fn to_key(self) -> Key {
        match self {
            KeyRef::Name(name) => Key::Name(name.into()),
            KeyRef::Position(index, digits) => match position(index, digits) {
                Ok(position) => Key::Position(position),
                Err(error) => panic!("{error}"),
            },
        }
    }

    /// Whether the key keeps to the limits.
    ///
    /// # Errors
    ///
    /// [`KeyError::NameTooLong`], [`KeyError::IndexOutOfRange`] and [`KeyError::Fraction`].
    ///
    /// ```
    /// use jungle_tree::{FractionError, KeyError, KeyRef};
    ///
    /// assert_eq!(KeyRef::Position(3, &[0x80]).check(), Ok(()));
    /// let refused = KeyRef::Position(3, &[0x80, 0]).check();
    /// assert_eq!(refused, Err(KeyError::Fraction(FractionError::TrailingZero)));
    /// ```
    pub fn check(self) -> Result<(), KeyError> {
        match self {
            KeyRef::Name(name) if name.len() > KEY_BYTES_MAX => {
                Err(KeyError::NameTooLong { bytes: name.len() })
            }
            KeyRef::Name(_) => Ok(()),
            KeyRef::Position(index, digits) => {
                check_index(index)?;
                Ok(Fraction::check(digits)?)
            }
        }
    }
}

impl From<Position> for Key {
    fn from(position: Position) -> Key {
        Key::Position(position)
    }
}

impl From<i32> for Key {
    fn from(index: i32) -> Key {
        Key::position(index.into())
    }
}

impl From<u32> for Key {
    fn from(index: u32) -> Key {
        Key::position(index.into())
    }
}

/// Panics beyond the limits, see [`Key::position`].
impl From<i64> for Key {
    #[track_caller]
    fn from(index: i64) -> Key {
        Key::position(index)
    }
}

/// Panics beyond the limits, see [`Key::position`].
impl From<u64> for Key {
    #[track_caller]
    fn from(index: u64) -> Key {
        // What an i64 cannot hold is far beyond the limit, and so is the largest i64.
        Key::position(i64::try_from(index).unwrap_or(i64::MAX))
    }
}

/// Panics beyond the limits, see [`Key::position`].
impl From<usize> for Key {
    #[track_caller]
    fn from(index: usize) -> Key {
        Key::position(i64::try_from(index).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Key {
        Key::Name(name.into())
    }
}

impl From<String> for Key {
    fn from(name: String) -> Key {
        Key::Name(name.into())
    }
}

impl From<KeyRef<'_>> for Key {
    #[track_caller]
    fn from(key: KeyRef<'_>) -> Key {
        key.to_key()
    }
}

impl From<i64> for KeyRef<'_> {
    fn from(index: i64) -> Self {
        KeyRef::Position(index, &[])
    }
}

impl From<i32> for KeyRef<'_> {
    fn from(index: i32) -> Self {
        KeyRef::Position(index.into(), &[])
    }
}

impl<'a> From<&'a str> for KeyRef<'a> {
    fn from(name: &'a str) -> Self {
        KeyRef::Name(name)
    }
}

impl<'a> From<&'a Key> for KeyRef<'a> {
    fn from(key: &'a Key) -> KeyRef<'a> {
        key.as_ref()
    }
}

impl From<FractionError> for KeyError {
    fn from(error: FractionError) -> KeyError {
        KeyError::Fraction(error)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::IndexOutOfRange { index } => {
                write!(f, "position {index} is not between {POSITION_MIN} and {POSITION_MAX}")
            }
            KeyError::NameTooLong { bytes } => {
                write!(f, "name has {bytes} bytes, at most {KEY_BYTES_MAX} are allowed")
            }
            KeyError::Fraction(error) => error.fmt(f),
            KeyError::NotOrdered => write!(f, "the left position is not in front of the right one"),
            KeyError::NothingBefore => {
                write!(f, "nothing goes in front of position {POSITION_MIN}")
            }
        }
    }
}

impl std::error::Error for KeyError {}
