//! What decides in a suite: chance, or the bytes of an input, which a fuzzer may change one by one.

use jungle_testkit::Rng;

/// Draws numbers; what is named as in [`Rng`] draws as that does.
pub trait Decide {
    /// One that is not drawn again.
    fn next_u64(&mut self) -> u64;

    /// One from 0 to `limit - 1`.
    fn below(&mut self, limit: u64) -> u64;

    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    fn chance(&mut self, part: u64, whole: u64) -> bool {
        self.below(whole) < part
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }
}

impl Decide for Rng {
    fn next_u64(&mut self) -> u64 {
        Rng::next_u64(self)
    }

    fn below(&mut self, limit: u64) -> u64 {
        Rng::below(self, limit)
    }
}

/// Takes each number from the next byte; behind the last one, from zeros. So equal bytes decide the
/// same, and few of them little.
pub struct ByBytes<'i> {
    left: &'i [u8],
    drawn: u64,
}

impl<'i> ByBytes<'i> {
    pub fn new(input: &'i [u8]) -> ByBytes<'i> {
        ByBytes { left: input, drawn: 0 }
    }
}

impl Decide for ByBytes<'_> {
    fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        (self.below(256) << 56) | self.drawn
    }

    fn below(&mut self, limit: u64) -> u64 {
        let Some((next, left)) = self.left.split_first() else { return 0 };
        self.left = left;
        u64::from(*next) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_decide_one_by_one_and_zeros_behind_them() {
        let mut bytes = ByBytes::new(&[7, 3, 9]);
        assert_eq!([bytes.below(5), bytes.below(2)], [2, 1]);
        let [first, second] = [(); 2].map(|()| bytes.next_u64());
        assert_eq!([first >> 56, second >> 56], [9, 0]);
        assert!(first != second && bytes.next_u64() != second);
        assert_eq!(*bytes.pick(&["a", "b"]), "a");
    }
}
