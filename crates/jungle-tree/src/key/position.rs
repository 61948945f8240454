//! Positions: the keys that the tree gives, each between its neighbours.

use std::cmp::Ordering;
use std::fmt;

use super::{KeyError, KeyRef};
use crate::fraction::{self, Fraction};
use crate::signature::Signature;

/// The smallest integer of a position.
pub const POSITION_MIN: i64 = -(1 << 44);

/// The largest integer of a position.
pub const POSITION_MAX: i64 = (1 << 44) - 1;

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
pub struct Position(pub(super) Place);

/// Nearly all positions are whole: those are kept in place, and are dropped for nothing; the others
/// lie apart, so that a [`Key`](super::Key) is three words long. There is one way only to keep a
/// position.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Whole(i64),
    Behind(Box<(i64, Fraction)>),
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
    /// the fraction would be longer than [`KEY_BYTES_MAX`](super::KEY_BYTES_MAX), which takes at
    /// least six times as many inserts in one place; [`KeyError::NothingBefore`] in front of
    /// [`POSITION_MIN`].
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

/// The position with these parts.
pub(crate) fn position(index: i64, digits: &[u8]) -> Result<Position, KeyError> {
    Position::with_fraction(index, Fraction::from_bytes(digits)?)
}

pub(super) fn check_index(index: i64) -> Result<(), KeyError> {
    if (POSITION_MIN..=POSITION_MAX).contains(&index) {
        Ok(())
    } else {
        Err(KeyError::IndexOutOfRange { index })
    }
}
