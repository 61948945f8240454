//! SplitMix64: the same numbers as in the peers.

/// A sequence of random numbers; equal seeds give equal sequences.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    /// A number from 0 to `limit - 1`; `limit` is below 2³².
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((self.bits() >> 32) * limit) >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn it_is_splitmix64() {
        let mut random = Random(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }
}
