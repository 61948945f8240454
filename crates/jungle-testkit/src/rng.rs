//! A small deterministic generator (xoshiro256**, seeded by splitmix64).

use std::ops::Range;

/// A deterministic source of random numbers for tests: equal seeds give equal sequences, on every
/// machine and in every version of this crate.
///
/// Dropped during a panic, it prints its seed, so that a failure can be run again. It is neither
/// secret nor unbiased to the last bit; do not use it outside tests and benchmarks.
///
/// # Examples
/// ```
/// use jungle_testkit::Rng;
///
/// let mut rng = Rng::new(7);
/// assert!(rng.below(10) < 10);
/// assert_eq!(Rng::new(7).next_u64(), Rng::new(7).next_u64());
/// ```
#[derive(Debug)]
pub struct Rng {
    seed: u64,
    state: [u64; 4],
}

impl Rng {
    /// Starts the sequence that belongs to `seed`. Every seed is good, zero too.
    pub fn new(seed: u64) -> Self {
        let mut mixer = seed;
        let state = std::array::from_fn(|_| splitmix(&mut mixer));
        Self { seed, state }
    }

    /// The seed this sequence started from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A number from `0` to `limit - 1`.
    ///
    /// # Panics
    /// If `limit` is 0: there is no such number.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "no number is below 0");
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// An index into something of `len` elements.
    ///
    /// # Panics
    /// If `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number in `range`, its end left out.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "range {range:?} is empty");
        range.start + self.below(range.end - range.start)
    }

    /// True in `part` of `whole` cases.
    ///
    /// # Panics
    /// If `whole` is 0.
    pub fn chance(&mut self, part: u64, whole: u64) -> bool {
        self.below(whole) < part
    }

    /// One of `items`.
    ///
    /// # Panics
    /// If `items` is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// Puts `items` in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.index(end + 1));
        }
    }

    /// A generator of its own for a part of the test (a thread, a replica), so that the parts do
    /// not depend on the order in which they run.
    pub fn fork(&mut self) -> Self {
        Self::new(self.next_u64())
    }
}

impl Drop for Rng {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("random numbers came from seed {}", self.seed);
        }
    }
}

/// Runs `case` with `count` seeds, always the same ones, or with the single seed named by
/// `JUNGLE_SEED` in the environment.
///
/// # Panics
/// If `case` does (the seed is then printed), or if `JUNGLE_SEED` is not a number.
pub fn for_each_seed(count: u64, mut case: impl FnMut(&mut Rng)) {
    if let Ok(text) = std::env::var("JUNGLE_SEED") {
        let seed = text.parse().expect("JUNGLE_SEED must be a whole number");
        return case(&mut Rng::new(seed));
    }
    for seed in 0..count {
        case(&mut Rng::new(seed));
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_sequence() {
        let mut state = 1_234_567;
        let numbers: Vec<u64> = (0..3).map(|_| splitmix(&mut state)).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn equal_seeds_give_equal_sequences_and_other_seeds_others() {
        let sequence = |seed| {
            let mut rng = Rng::new(seed);
            (0..8).map(|_| rng.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(sequence(3), sequence(3));
        assert_ne!(sequence(3), sequence(4));
    }

    #[test]
    fn below_reaches_every_number_about_equally_often() {
        let mut rng = Rng::new(0);
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            seen[rng.index(10)] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
    }

    #[test]
    fn shuffle_keeps_every_item() {
        for_each_seed(20, |rng| {
            let mut items: Vec<u64> = (0..50).collect();
            rng.shuffle(&mut items);
            items.sort_unstable();
            assert_eq!(items, (0..50).collect::<Vec<_>>());
        });
    }
}
