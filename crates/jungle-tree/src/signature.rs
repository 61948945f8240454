//! Signatures: what makes a position the drawing of one writer, and of one time.

/// The most digits that one of the two numbers has.
const NUMBER_DIGITS_MAX: usize = 8;

/// The greatest number that is taken for one of a tree. So many children no node has seen taken
/// away: a greater one was put there by hand, and to count on from the last that there is was to
/// give that again and again.
const NUMBER_OF_TREE_MAX: u32 = u32::MAX >> 1;

/// The end of a fraction that one writer puts behind one position only, so that writers who do not
/// see each other never give two nodes the same one.
///
/// It has the digits of the writer's number, those of the number of the drawing, and one that says
/// how many of each there are. So it can be read from its end, and two positions of different
/// signatures differ, whatever stands in front of these.
///
/// ```
/// use jungle_tree::{Arena, Editor, Place, Signature, Tree};
/// let tree = Tree::new(&Arena::new()?);
/// let mut ours = Editor::new(tree.snapshot());
/// let mut theirs = Editor::new(tree.snapshot());
/// let key = ours.add(&[], Place::Last, Some(&Signature::new(1, 0)))?;
/// assert_eq!(key.to_string(), "0.010011");
/// assert_ne!(theirs.add(&[], Place::Last, Some(&Signature::new(2, 0)))?, key);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    digits: [u8; 2 * NUMBER_DIGITS_MAX + 1],
    len: u8,
}

impl Signature {
    /// The signature of a drawing. Each writer has a number of its own, and uses none for a second
    /// drawing.
    ///
    /// ```
    /// use jungle_tree::{Position, Signature};
    /// let first = Position::signed_between(None, None, &Signature::new(7, 0))?;
    /// let next = Position::signed_between(None, None, &Signature::new(7, 1))?;
    /// assert_eq!((first.to_string(), next.to_string()), ("0.070011".into(), "0.070111".into()));
    /// # Ok::<(), jungle_tree::KeyError>(())
    /// ```
    #[must_use]
    pub fn new(writer: u64, drawing: u64) -> Signature {
        let mut signature = Signature { digits: [0; 2 * NUMBER_DIGITS_MAX + 1], len: 0 };
        let lengths = [writer, drawing].map(|number| {
            let digits = number.to_be_bytes();
            let zeros = number.leading_zeros() as usize / 8;
            // Zero has a digit, too.
            let digits = &digits[zeros.min(NUMBER_DIGITS_MAX - 1)..];
            digits.iter().for_each(|&digit| signature.push(digit));
            digits.len() as u8
        });
        signature.push(lengths[0] << 4 | lengths[1]);
        signature
    }

    /// What the tree puts behind a fraction among children of which so many with a fraction were
    /// taken away: it is longer than none, and another after each, so no such position is given
    /// a second time. It is no writer's, and drawn by all who see the same version.
    pub(crate) fn of_tree(taken: u32) -> Signature {
        let mut signature = Signature::new(0, u64::from(taken));
        signature.digits.copy_within(1.., 0);
        signature.len -= 1;
        signature.digits[usize::from(signature.len) - 1] &= 15;
        signature
    }

    /// The number of taken fractions with which the tree would give this one, if it ever did: none
    /// where that is more than any tree gets to.
    pub(crate) fn number_of_tree(fraction: &[u8]) -> Option<u32> {
        let (&len, digits) = fraction.split_last()?;
        let at = digits.len().checked_sub(usize::from(len))?;
        let number = &digits[at..];
        let is_number = number.len() == 1 || number.first().is_some_and(|&first| first != 0);
        (is_number && number.len() <= size_of::<u32>())
            .then(|| number.iter().fold(0, |number, &digit| number << 8 | u32::from(digit)))
            .filter(|&number| number <= NUMBER_OF_TREE_MAX)
    }

    /// Do these digits end with a signature?
    pub(crate) fn ends(digits: &[u8]) -> bool {
        let Some((&lengths, digits)) = digits.split_last() else { return false };
        let (writer, drawing) = (usize::from(lengths >> 4), usize::from(lengths & 15));
        // Only a zero begins with one.
        let is_number = |number: &[u8]| number.len() == 1 || number[0] != 0;
        (1..=NUMBER_DIGITS_MAX).contains(&writer)
            && (1..=NUMBER_DIGITS_MAX).contains(&drawing)
            && digits.len().checked_sub(writer + drawing).is_some_and(|at| {
                let (writer, drawing) = digits[at..].split_at(writer);
                is_number(writer) && is_number(drawing)
            })
    }

    /// The digits, of which the last is not zero.
    pub(crate) fn digits(&self) -> &[u8] {
        &self.digits[..usize::from(self.len)]
    }

    fn push(&mut self, digit: u8) {
        self.digits[usize::from(self.len)] = digit;
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Position;
    use crate::{Arena, Key, Tree};

    #[test]
    fn no_two_are_alike_and_none_ends_as_another() {
        let numbers = [0, 1, 7, 0xff, 0x100, 0x1234, 0x0101, 1 << 56, u64::MAX];
        let mut all = Vec::new();
        for writer in numbers {
            all.extend(numbers.map(|drawing| Signature::new(writer, drawing)));
        }
        for (at, one) in all.iter().enumerate() {
            assert_ne!(one.digits().last(), Some(&0));
            assert!(Signature::ends(one.digits()));
            for other in &all[..at] {
                assert!(!one.digits().ends_with(other.digits()), "{one:?} {other:?}");
                assert!(!other.digits().ends_with(one.digits()), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn those_of_a_tree_are_nobodys_and_none_is_like_another() {
        assert_eq!(Signature::of_tree(0x102).digits(), [1, 2, 2]);
        let all = [1, 2, 0xff, 0x100, 0x1234, NUMBER_OF_TREE_MAX].map(Signature::of_tree);
        for (at, one) in all.iter().enumerate() {
            assert!(one.digits().last().is_some_and(|&last| last != 0));
            assert!(!Signature::ends(one.digits()));
            assert_eq!(Signature::of_tree(Signature::number_of_tree(one.digits()).unwrap()), *one);
            assert!(all[..at].iter().all(|other| !one.digits().ends_with(other.digits())));
        }
    }

    #[test]
    fn what_no_tree_gives_has_no_number() {
        for digits in
            [&[][..], &[1], &[0x80], &[1, 2], &[0, 1, 2], &[1, 2, 3, 4, 5, 5], &[1, 7, 0x11]]
        {
            assert_eq!(Signature::number_of_tree(digits), None, "{digits:?}");
        }
        for number in [NUMBER_OF_TREE_MAX + 1, u32::MAX] {
            let one = Signature::of_tree(number);
            assert_eq!(Signature::number_of_tree(one.digits()), None, "{number}");
        }
    }

    #[test]
    fn one_that_was_put_there_by_hand_leaves_others_to_be_given() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        (0..2).for_each(|_| drop(tree.add_child(&[]).unwrap()));
        let by_hand = crate::key::position(0, &[1, 0xff, 0xff, 0xff, 0xff, 4]).unwrap();
        let by_hand = Key::Position(by_hand);
        tree.insert_child(&[], &by_hand).unwrap();
        tree.remove(&[by_hand]).unwrap();
        let mut given = Vec::new();
        for taken in 1..4 {
            assert_eq!(tree.read().root().fractions_taken(), taken);
            let key = tree.insert_after(&[], &Position::new(0).unwrap()).unwrap();
            assert!(!given.contains(&key), "{key} was given before");
            tree.remove(std::slice::from_ref(&key)).unwrap();
            given.push(key);
        }
    }

    #[test]
    fn other_digits_are_no_signature() {
        for digits in [&[][..], &[0x11], &[7, 0x11], &[0, 1, 7, 0x22], &[1, 7, 0x10], &[1, 7, 0x91]]
        {
            assert!(!Signature::ends(digits), "{digits:?}");
        }
    }

    #[test]
    fn signed_positions_lie_between_and_apart() {
        let texts = [&[][..], &[1], &[0x80], &[0x80, 1], &[0x80, 0, 1], &[0x80, 0x80], &[0xff]];
        let place = |index, digits| crate::key::position(index, digits).unwrap();
        let mut drawn = Vec::new();
        for (left, right) in texts.iter().flat_map(|left| texts.map(|right| (*left, right))) {
            for (left, right) in
                [(place(3, left), place(3, right)), (place(3, left), place(4, right))]
            {
                for writer in 0..3 {
                    let signature = Signature::new(writer, drawn.len() as u64 / 3);
                    let found = Position::signed_between(Some(&left), Some(&right), &signature);
                    let Ok(found) = found else {
                        assert!(left >= right, "{left:?} {right:?}");
                        continue;
                    };
                    assert!(left < found && found < right, "{left:?} {found:?} {right:?}");
                    assert!(!drawn.contains(&found), "{found:?}");
                    drawn.push(found);
                }
            }
        }
        assert!(drawn.len() > 100);
    }
}
