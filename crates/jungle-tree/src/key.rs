//! Keys: how a child is addressed under its parent.
//!
//! A key is a [`Position`], given by the tree, or a name, given by the caller. It never changes
//! while the child lives: removing or inserting a sibling moves nobody. How keys are written and
//! read as text is told in [`Path`](crate::Path).

use std::cmp::Ordering;
use std::fmt;

use crate::fraction::{self, Fraction, FractionError};
use crate::signature::Signature;

/// The smallest integer of a position.
pub const POSITION_MIN: i64 = -(1 << 44);

/// The largest integer of a position.
pub const POSITION_MAX: i64 = (1 << 44) - 1;

/// The most bytes a name may have, and the most digits a fraction.
pub const KEY_BYTES_MAX: usize = 4096;

/// A place in the order of siblings: an integer and, if it was inserted later, a [`Fraction`].
///
/// The tree counts up from 0. A child inserted in front of all others gets a negative integer,
/// one inserted between two others a fraction behind the integer of the left one. The order is
/// that of the numbers: -1, 0, 3, 3.80, 4 (fractions are written in hexadecimal).
///
/// ```
/// use jungle_tree::Position;
///
/// let (three, seven) = (Position::new(3)?, Position::new(7)?);
/// let new = Position::between(Some(&three), Some(&seven))?;
/// assert_eq!(new.to_string(), "3.80");
/// assert!(three < new && new < seven);
/// # Ok::<(), jungle_tree::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Position(Place);

/// Nearly all positions are whole: those are kept in place, and are dropped for nothing; the others
/// lie apart, so that a [`Key`] is three words long. There is one way only to keep a position.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    Whole(i64),
    Behind(Box<(i64, Fraction)>),
}

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

impl Position {
    /// The whole position `index`.
    ///
    /// # Errors
    ///
    /// [`KeyError::IndexOutOfRange`].
    ///
    /// ```
    /// use jungle_tree::{POSITION_MAX, Position};
    ///
    /// assert!(Position::new(-1)? < Position::new(POSITION_MAX)?);
    /// assert!(Position::new(POSITION_MAX + 1).is_err());
    /// # Ok::<(), jungle_tree::KeyError>(())
    /// ```
    pub fn new(index: i64) -> Result<Position, KeyError> {
        check_index(index)?;
        Ok(Position(Place::Whole(index)))
    }

    /// The position `fraction` behind `index`.
    ///
    /// # Errors
    ///
    /// [`KeyError::IndexOutOfRange`].
    ///
    /// ```
    /// use jungle_tree::{Fraction, Position};
    ///
    /// let place = Position::with_fraction(3, Fraction::from_bytes(&[0x80])?)?;
    /// assert_eq!(place.to_string(), "3.80");
    /// assert_eq!((place.index(), place.is_whole()), (3, false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_fraction(index: i64, fraction: Fraction) -> Result<Position, KeyError> {
        check_index(index)?;
        Ok(Position::behind_index(index, fraction))
    }

    fn behind_index(index: i64, fraction: Fraction) -> Position {
        if fraction.is_whole() {
            return Position(Place::Whole(index));
        }
        Position(Place::Behind(Box::new((index, fraction))))
    }

    /// The integer.
    #[must_use]
    #[inline]
    pub fn index(&self) -> i64 {
        match &self.0 {
            Place::Whole(index) => *index,
            Place::Behind(place) => place.0,
        }
    }

    /// What stands behind the integer.
    ///
    /// ```
    /// use jungle_tree::{Fraction, Position};
    ///
    /// let three = Position::new(3)?;
    /// assert_eq!((three.index(), three.fraction()), (3, &Fraction::WHOLE));
    /// let behind = Position::between(Some(&three), Some(&Position::new(4)?))?;
    /// assert_eq!((behind.index(), behind.fraction().as_bytes()), (3, [0x80].as_slice()));
    /// # Ok::<(), jungle_tree::KeyError>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn fraction(&self) -> &Fraction {
        match &self.0 {
            Place::Whole(_) => &Fraction::WHOLE,
            Place::Behind(place) => &place.1,
        }
    }

    /// Whether nothing stands behind the integer.
    #[must_use]
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        matches!(self.0, Place::Whole(_))
    }

    /// Whether it ends as those do that have a [`Signature`].
    ///
    /// ```
    /// use jungle_tree::{Position, Signature};
    ///
    /// let signed = Position::signed_between(None, None, &Signature::new(1, 7))?;
    /// assert!(signed.is_signed() && !Position::new(0)?.is_signed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_signed(&self) -> bool {
        Signature::ends(self.fraction().as_bytes())
    }

    /// A position strictly between two others; `None` is the open end on that side.
    ///
    /// - Between two positions it is a fraction behind the integer of the left one, even if there
    ///   are integers between: those may have been used before and are never used again.
    /// - In front of everything it is the next lower negative integer.
    /// - Behind everything it is the next integer, and 0 if there is nothing on either side.
    ///
    /// The same neighbours always give the same position. This knows only the neighbours, not
    /// who lived between them or beyond them and was removed; who must not use a position twice
    /// keeps track, or gives the removed one as a neighbour.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotOrdered`] unless `left` is in front of `right`; [`KeyError::Fraction`] if
    /// the fraction would be longer than [`KEY_BYTES_MAX`], which takes at least six times as
    /// many inserts in one place; [`KeyError::NothingBefore`] in front of [`POSITION_MIN`].
    ///
    /// # At the ends
    ///
    /// ```
    /// use jungle_tree::Position;
    ///
    /// let zero = Position::between(None, None)?;
    /// assert_eq!(zero, Position::new(0)?);
    /// assert_eq!(Position::between(None, Some(&zero))?, Position::new(-1)?);
    /// assert_eq!(Position::between(Some(&zero), None)?, Position::new(1)?);
    /// # Ok::<(), jungle_tree::KeyError>(())
    /// ```
    pub fn between(
        left: Option<&Position>,
        right: Option<&Position>,
    ) -> Result<Position, KeyError> {
        match (left, right) {
            (None, None) => Position::new(0),
            (None, Some(right)) => right.before(),
            (Some(left), None) if left.index() < POSITION_MAX => Position::new(left.index() + 1),
            (Some(left), None) => left.behind(None),
            (Some(left), Some(right)) if left >= right => Err(KeyError::NotOrdered),
            (Some(left), Some(right)) if left.index() < right.index() => left.behind(None),
            (Some(left), Some(right)) => left.behind(Some(right.fraction())),
        }
    }

    /// As [`between`](Position::between), with a [`Signature`]: a position that nobody else draws
    /// there, whatever they draw, and whether or not they know of this one.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// use jungle_tree::{Position, Signature};
    ///
    /// let last = Position::new(3)?;
    /// let ours = Position::signed_between(Some(&last), None, &Signature::new(1, 7))?;
    /// let theirs = Position::signed_between(Some(&last), None, &Signature::new(2, 7))?;
    /// assert_eq!((ours.to_string(), theirs.to_string()), ("4.010711".into(), "4.020711".into()));
    /// # Ok::<(), jungle_tree::KeyError>(())
    /// ```
    pub fn signed_between(
        left: Option<&Position>,
        right: Option<&Position>,
        signature: &Signature,
    ) -> Result<Position, KeyError> {
        let mut place = Position::between(left, right)?;
        // What is the beginning of the right one may be behind it when it is longer.
        let begins_right = |place: &Position| {
            right.is_some_and(|right| {
                let digits = right.fraction().as_bytes();
                right.index() == place.index() && digits.starts_with(place.fraction().as_bytes())
            })
        };
        while begins_right(&place) {
            place = Position::between(Some(&place), right)?;
        }
        place.signed(signature)
    }

    pub(crate) fn as_ref(&self) -> KeyRef<'_> {
        KeyRef::Position(self.index(), self.fraction().as_bytes())
    }

    /// This position with a signature behind it.
    pub(crate) fn signed(&self, signature: &Signature) -> Result<Position, KeyError> {
        let digits = [self.fraction().as_bytes(), signature.digits()].concat();
        Position::with_fraction(self.index(), Fraction::from_bytes(&digits)?)
    }

    /// A negative whole position in front of this one: the others belong to the tree's count.
    fn before(&self) -> Result<Position, KeyError> {
        if self.index() > POSITION_MIN {
            return Position::new(self.index().min(0) - 1);
        }
        if self.is_whole() {
            return Err(KeyError::NothingBefore);
        }
        Position(Place::Whole(self.index())).behind(Some(self.fraction()))
    }

    /// A larger fraction behind the same integer, below `limit`.
    fn behind(&self, limit: Option<&Fraction>) -> Result<Position, KeyError> {
        let from = self.fraction().as_bytes();
        let fraction = fraction::between(from, limit.map(Fraction::as_bytes))?;
        Ok(Position::behind_index(self.index(), fraction))
    }
}

impl Ord for Position {
    fn cmp(&self, other: &Position) -> Ordering {
        (self.index(), self.fraction()).cmp(&(other.index(), other.fraction()))
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Position) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        KeyRef::Position(self.index(), self.fraction().as_bytes()).fmt(f)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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

/// The position with these parts.
pub(crate) fn position(index: i64, digits: &[u8]) -> Result<Position, KeyError> {
    Position::with_fraction(index, Fraction::from_bytes(digits)?)
}

fn check_index(index: i64) -> Result<(), KeyError> {
    if (POSITION_MIN..=POSITION_MAX).contains(&index) {
        Ok(())
    } else {
        Err(KeyError::IndexOutOfRange { index })
    }
}

#[cfg(test)]
pub(crate) mod tests;
