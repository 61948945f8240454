//! Fractions: what makes room between two positions.
//!
//! Behind the integer of a [`Position`](crate::Position) may stand a fraction, the number
//! `0.f₁f₂f₃…` in base 256. Between any two different fractions there is another one, so a child
//! can be inserted anywhere without moving its siblings.

use std::fmt;

use crate::key::KEY_BYTES_MAX;

/// A number from 0 (included) to 1 (excluded), as digits in base 256.
///
/// It never ends in a zero digit, so each number has exactly one form and the order of the bytes
/// is the order of the numbers. No digits at all is zero, [`Fraction::WHOLE`]: the position is a
/// whole number. At most [`KEY_BYTES_MAX`] digits.
///
/// ```
/// use jungle_tree::Fraction;
///
/// let half = Fraction::from_bytes(&[0x80])?;
/// let a_bit_more = Fraction::from_bytes(&[0x80, 0x01])?;
/// assert!(Fraction::WHOLE < half && half < a_bit_more);
/// assert_eq!(a_bit_more.to_string(), "8001");
/// # Ok::<(), jungle_tree::FractionError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fraction(Option<Box<[u8]>>);

/// Why bytes are no fraction, or why there is none between two others.
///
/// ```
/// use jungle_tree::{Fraction, FractionError, fraction};
///
/// assert_eq!(Fraction::from_bytes(&[1; 5000]), Err(FractionError::TooLong { bytes: 5000 }));
/// let error = fraction::between(&[0x80], Some(&[0x80])).unwrap_err();
/// assert_eq!(error, FractionError::NotOrdered);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FractionError {
    /// The last digit is zero, so the same number has a shorter form.
    TrailingZero,
    /// More than [`KEY_BYTES_MAX`] digits.
    TooLong {
        /// How many digits there are.
        bytes: usize,
    },
    /// The lower bound is not below the upper bound.
    NotOrdered,
}

impl Fraction {
    /// Zero: nothing stands behind the integer.
    pub const WHOLE: Fraction = Fraction(None);

    /// The fraction with these digits, the most significant one first.
    ///
    /// # Errors
    ///
    /// [`FractionError::TrailingZero`] and [`FractionError::TooLong`].
    ///
    /// ```
    /// use jungle_tree::{Fraction, FractionError};
    ///
    /// assert_eq!(Fraction::from_bytes(&[0x80])?.to_string(), "80");
    /// assert_eq!(Fraction::from_bytes(&[0x80, 0]), Err(FractionError::TrailingZero));
    /// assert!(Fraction::from_bytes(&[])?.is_whole());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(digits: &[u8]) -> Result<Fraction, FractionError> {
        Fraction::check(digits)?;
        Ok(Fraction((!digits.is_empty()).then(|| digits.into())))
    }

    /// The digits, the most significant one first; empty for a whole position.
    ///
    /// ```
    /// use jungle_tree::Fraction;
    ///
    /// assert_eq!(Fraction::from_bytes(&[0x80, 0x01])?.as_bytes(), [0x80, 0x01]);
    /// assert!(Fraction::WHOLE.as_bytes().is_empty() && Fraction::WHOLE.is_whole());
    /// # Ok::<(), jungle_tree::FractionError>(())
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether this is zero.
    #[must_use]
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    /// Whether [`Fraction::from_bytes`] would accept these digits.
    pub(crate) fn check(digits: &[u8]) -> Result<(), FractionError> {
        if digits.len() > KEY_BYTES_MAX {
            return Err(FractionError::TooLong { bytes: digits.len() });
        }
        if digits.last() == Some(&0) {
            return Err(FractionError::TrailingZero);
        }
        Ok(())
    }
}

/// A fraction strictly between the digits `low` and `high`; no `high` stands for 1.
///
/// The same bounds always give the same fraction. It is kept short: inserting again and again
/// behind what was inserted last, as typing does, costs one digit per hundred inserts; always in
/// front of it, one per eight; and no pattern of inserts costs more than one digit per six.
///
/// ```
/// use jungle_tree::fraction::between;
///
/// let middle = between(&[], None)?;
/// assert_eq!(middle.as_bytes(), [0x80]);
/// assert_eq!(between(&[], Some(middle.as_bytes()))?.as_bytes(), [0x40]);
/// assert_eq!(between(&[0x80], Some(&[0x81]))?.as_bytes(), [0x80, 0x80]);
/// # Ok::<(), jungle_tree::FractionError>(())
/// ```
///
/// # Errors
///
/// [`FractionError::NotOrdered`] unless `low` is below `high`, [`FractionError::TooLong`] if the
/// result would have more than [`KEY_BYTES_MAX`] digits.
pub fn between(low: &[u8], high: Option<&[u8]>) -> Result<Fraction, FractionError> {
    let mut high = high.map(without_trailing_zeros);
    let mut digits = Vec::new();
    loop {
        let at = digits.len();
        let floor = low.get(at).copied().unwrap_or(0);
        let Some(bound) = high else {
            // Everything up to the next larger digit of the prefix is free.
            if floor < u8::MAX {
                digits.push(digit_after(floor));
                break;
            }
            digits.push(floor);
            continue;
        };
        let ceiling = *bound.get(at).ok_or(FractionError::NotOrdered)?;
        let gap = ceiling.checked_sub(floor).ok_or(FractionError::NotOrdered)?;
        match gap {
            0 => digits.push(floor),
            // The upper bound goes on, so its own prefix is below it and above `low`.
            1 if at + 1 < bound.len() => {
                digits.push(ceiling);
                break;
            }
            // Under the smaller digit, the upper bound no longer matters.
            1 => {
                digits.push(floor);
                high = None;
            }
            _ => {
                digits.push(floor + gap / 2);
                break;
            }
        }
    }
    Fraction::from_bytes(&digits)
}

/// The digit to take behind `floor` when nothing bounds it from above.
///
/// Counting by ones suits typing, but leaves no room between neighbours; halving leaves room, but
/// uses up a digit in eight steps. So the first steps of a digit are halved, from 0x80 to 0xa0:
/// whoever arrives there has already made enough inserts to pay for the digit.
fn digit_after(floor: u8) -> u8 {
    const FIRST: u8 = 0x80;
    const COUNTED: u8 = 0xa0;
    match floor {
        0..FIRST => FIRST,
        FIRST..COUNTED => floor + (COUNTED - floor).div_ceil(2),
        COUNTED.. => floor + 1,
    }
}

pub(crate) fn without_trailing_zeros(digits: &[u8]) -> &[u8] {
    let len = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
    &digits[..len]
}

/// Two hexadecimal digits per digit, without the point; nothing for a whole position.
impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|digit| write!(f, "{digit:02x}"))
    }
}

impl fmt::Debug for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0.{self}")
    }
}

impl fmt::Display for FractionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FractionError::TrailingZero => write!(f, "fraction ends in a zero digit"),
            FractionError::TooLong { bytes } => {
                write!(f, "fraction has {bytes} digits, at most {KEY_BYTES_MAX} are allowed")
            }
            FractionError::NotOrdered => {
                write!(f, "no fraction lies between: the lower bound is not below the upper bound")
            }
        }
    }
}

impl std::error::Error for FractionError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts `count` times, at the side of the last insert that `goes_right` tells, and returns
    /// how many digits the longest fraction has.
    fn digits_after(count: usize, mut goes_right: impl FnMut(usize) -> bool) -> usize {
        let (mut low, mut high) = (Fraction::WHOLE, None::<Fraction>);
        let mut longest = 0;
        for turn in 0..count {
            let upper = high.as_ref().map(Fraction::as_bytes);
            let new = between(low.as_bytes(), upper).expect("there is room");
            assert!(low < new, "{low:?} < {new:?}");
            assert!(high.as_ref().is_none_or(|high| new < *high), "{new:?} < {high:?}");
            longest = longest.max(new.as_bytes().len());
            if goes_right(turn) {
                low = new;
            } else {
                high = Some(new);
            }
        }
        longest
    }

    #[test]
    fn typing_costs_a_digit_per_hundred_inserts() {
        assert!(digits_after(10_000, |_| true) <= 100);
        // The same in a gap that is bounded from above.
        assert!(digits_after(10_000, |turn| turn > 0) <= 101);
    }

    #[test]
    fn inserting_in_front_costs_a_digit_per_eight_inserts() {
        assert!(digits_after(8_000, |_| false) <= 1_000);
    }

    #[test]
    fn no_pattern_costs_more_than_a_digit_per_six_inserts() {
        for pattern in 0..1_u32 << 18 {
            let digits = digits_after(18, |turn| pattern >> turn & 1 == 1);
            assert!(digits <= 3, "pattern {pattern:018b}: {digits} digits");
        }
        for repeated in 0..1_u32 << 8 {
            let digits = digits_after(600, |turn| repeated >> (turn % 8) & 1 == 1);
            assert!(digits <= 100, "pattern {repeated:08b}: {digits} digits");
        }
    }

    #[test]
    fn whatever_is_ordered_has_something_between() {
        let digits = [0x00, 0x01, 0x7f, 0xfe, 0xff];
        let mut all = vec![Vec::new()];
        for _ in 0..3 {
            let longer = all
                .iter()
                .flat_map(|prefix| digits.map(|digit| [prefix.as_slice(), &[digit]].concat()));
            all = longer.chain([Vec::new()]).collect();
        }
        for low in &all {
            for high in &all {
                let (low, high) = (low.as_slice(), high.as_slice());
                let ordered = without_trailing_zeros(low) < without_trailing_zeros(high);
                match between(low, Some(high)) {
                    Ok(new) => {
                        assert!(without_trailing_zeros(low) < new.as_bytes());
                        assert!(new.as_bytes() < high);
                    }
                    Err(error) => {
                        assert_eq!((error, ordered), (FractionError::NotOrdered, false));
                    }
                }
            }
        }
    }

    #[test]
    fn limits_are_errors() {
        let longest = [0xff; KEY_BYTES_MAX];
        assert!(Fraction::from_bytes(&longest).is_ok());
        let too_long = FractionError::TooLong { bytes: KEY_BYTES_MAX + 1 };
        assert_eq!(Fraction::from_bytes(&[1; KEY_BYTES_MAX + 1]), Err(too_long));
        assert_eq!(between(&longest, None), Err(too_long));
        assert_eq!(Fraction::from_bytes(&[1, 0]), Err(FractionError::TrailingZero));
        assert_eq!(size_of::<Fraction>(), 16);
    }
}
