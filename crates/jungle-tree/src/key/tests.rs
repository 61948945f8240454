use super::*;
use crate::fraction;

/// Random keys for the tests of this crate, the same ones for the same seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`, by xorshift.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Short keys out of few parts, so that they share prefixes and collide.
    pub(crate) fn key(&mut self) -> Key {
        const INDEXES: [i64; 9] = [POSITION_MIN, -256, -1, 0, 1, 3, 255, 256, POSITION_MAX];
        const DIGITS: [u8; 5] = [0x00, 0x01, 0x02, 0x80, 0xff];
        const CHARS: [char; 25] = [
            '\0',
            '\u{1}',
            '\u{7f}',
            '\u{85}',
            '\n',
            '\t',
            ' ',
            '/',
            '"',
            '\\',
            '-',
            '.',
            '0',
            '3',
            '8',
            'a',
            'f',
            'u',
            'é',
            '\u{2028}',
            '\u{fffd}',
            '\u{ffff}',
            '𝄞',
            '\u{10ffff}',
            '🌴',
        ];
        if self.below(2) == 0 {
            return Key::from((0..self.below(5)).map(|_| self.pick(&CHARS)).collect::<String>());
        }
        let digits: Vec<u8> = (0..self.below(4)).map(|_| self.pick(&DIGITS)).collect();
        let fraction = Fraction::from_bytes(fraction::without_trailing_zeros(&digits)).unwrap();
        Key::from(Position::with_fraction(self.pick(&INDEXES), fraction).unwrap())
    }
}

fn at(index: i64, digits: &[u8]) -> Position {
    position(index, digits).unwrap()
}

#[test]
fn keys_are_ordered_as_their_borrowed_forms() {
    for seed in 0..20_000 {
        let mut chance = Chance::new(seed);
        let (a, b) = (chance.key(), chance.key());
        assert_eq!(a.as_ref().cmp(&b.as_ref()), a.cmp(&b), "seed {seed}: {a} and {b}");
    }
}

#[test]
fn between_stays_between() {
    let check = |left: Option<Position>, right: Option<Position>, expected: &str| {
        let new = Position::between(left.as_ref(), right.as_ref()).unwrap();
        assert_eq!(new.to_string(), expected);
        assert!(left.is_none_or(|left| left < new) && right.is_none_or(|right| new < right));
    };
    check(None, None, "0");
    check(Some(at(4, &[])), None, "5");
    check(Some(at(4, &[0x80])), None, "5");
    check(Some(at(POSITION_MAX, &[])), None, &format!("{POSITION_MAX}.80"));
    check(None, Some(at(0, &[])), "-1");
    check(None, Some(at(-7, &[])), "-8");
    check(None, Some(at(5, &[])), "-1");
    check(None, Some(at(0, &[0x80])), "-1");
    check(None, Some(at(POSITION_MIN, &[0x80])), &format!("{POSITION_MIN}.40"));
    check(Some(at(3, &[])), Some(at(4, &[])), "3.80");
    check(Some(at(3, &[])), Some(at(7, &[])), "3.80");
    check(Some(at(3, &[])), Some(at(3, &[0x80])), "3.40");
    check(Some(at(3, &[0xff])), Some(at(4, &[0x80])), "3.ff80");
    check(Some(at(-1, &[])), Some(at(0, &[])), "-1.80");
}

#[test]
fn random_inserts_keep_their_order() {
    let mut chance = Chance::new(7);
    let mut positions = Vec::new();
    for _ in 0..3_000 {
        let place = chance.below(positions.len() + 1);
        let left = place.checked_sub(1).and_then(|left| positions.get(left));
        let new = Position::between(left, positions.get(place)).unwrap();
        positions.insert(place, new);
    }
    assert!(positions.is_sorted_by(|a, b| a < b));
    assert!(positions.iter().all(|position| position.fraction().as_bytes().len() < 16));
}

#[test]
fn what_cannot_be_is_an_error() {
    let (first, second) = (at(1, &[]), at(1, &[0x80]));
    let between = Position::between(Some(&second), Some(&first));
    assert_eq!(between, Err(KeyError::NotOrdered));
    assert_eq!(Position::between(Some(&first), Some(&first)), Err(KeyError::NotOrdered));
    let lowest = at(POSITION_MIN, &[]);
    assert_eq!(Position::between(None, Some(&lowest)), Err(KeyError::NothingBefore));
    let full = at(0, &[0xff; KEY_BYTES_MAX]);
    let too_long = FractionError::TooLong { bytes: KEY_BYTES_MAX + 1 };
    assert_eq!(Position::between(Some(&full), Some(&first)), Err(KeyError::Fraction(too_long)),);
    for index in [i64::MIN, POSITION_MIN - 1, POSITION_MAX + 1, i64::MAX] {
        assert_eq!(Key::try_position(index), Err(KeyError::IndexOutOfRange { index }));
    }
    let bytes = KEY_BYTES_MAX + 1;
    assert_eq!(Key::from("é".repeat(bytes / 2)).check(), Ok(()));
    assert_eq!(Key::from("a".repeat(bytes)).check(), Err(KeyError::NameTooLong { bytes }));
    let ends_in_zero = KeyError::Fraction(FractionError::TrailingZero);
    assert_eq!(KeyRef::Position(0, &[1, 0]).check(), Err(ends_in_zero));
}
