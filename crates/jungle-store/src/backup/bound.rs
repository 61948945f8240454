//! What a stream may unpack to. It says itself how long the files are that are to be made of it:
//! without a limit, a few bytes of somebody who means harm take all of a disk.

use crate::checkpoint::StreamError;

/// So many zeros at the ends of segments may be said rather than sent, and [`ZEROS_OF_A_BYTE`] more
/// for each byte of a segment that came. There is next to nothing in the last segment at times, and
/// in one that was begun for a commit which a crash took away; a long commit behind a short one
/// leaves about as many as it has bytes.
///
/// Nobody needs to lift it: a segment has at most 1 GiB of zeros, and fewer than the frame that did
/// not fit and began the next one has bytes. So a log that was written has no more than came, and
/// 1 GiB in the last segment, unless crashes took away frames of several GiB.
const ZEROS_MAX: u64 = 4 << 30;

/// See [`ZEROS_MAX`].
const ZEROS_OF_A_BYTE: u64 = 4;

/// What a stream may unpack to, and has so far.
pub(super) struct Bound {
    bytes_max: u64,
    bytes: u64,
    /// Of segments: what came, and the zeros that did not.
    came: u64,
    zeros: u64,
}

impl Bound {
    pub(super) fn new(bytes_max: u64) -> Bound {
        Bound { bytes_max, bytes: 0, came: 0, zeros: 0 }
    }

    /// Is there room for so many bytes more?
    pub(super) fn check(&self, bytes: u64) -> Result<(), StreamError> {
        if bytes > self.bytes_max - self.bytes {
            return Err(StreamError::TooMuch { bytes_max: self.bytes_max });
        }
        Ok(())
    }

    /// Counts something before it is unpacked.
    pub(super) fn add(&mut self, bytes: u64) -> Result<(), StreamError> {
        self.check(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Counts a segment whose file is so long, before that is made.
    pub(super) fn add_segment(&mut self, came: u64, len: u64) -> Result<(), StreamError> {
        self.add(len)?;
        self.came += came;
        self.zeros += len.saturating_sub(came);
        if self.zeros > ZEROS_MAX.saturating_add(self.came.saturating_mul(ZEROS_OF_A_BYTE)) {
            return Err(StreamError::Zeros { zeros: self.zeros, came: self.came });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn all_up_to_the_limit_is_taken_and_a_byte_more_is_not() {
        let mut bound = Bound::new(100);
        bound.check(100).unwrap();
        bound.add(60).unwrap();
        bound.add_segment(40, 40).unwrap();
        bound.add(0).unwrap();
        let refused = bound.add(1).unwrap_err();
        assert!(matches!(refused, StreamError::TooMuch { bytes_max: 100 }), "{refused}");
        // It does not wrap.
        assert!(bound.add_segment(1, u64::MAX).is_err());
        let mut most = Bound::new(u64::MAX);
        most.add(u64::MAX).unwrap();
        assert!(most.add(1).is_err());
    }

    #[test]
    fn segments_that_are_nothing_but_zeros_are_refused_whatever_the_limit() {
        let mut bound = Bound::new(u64::MAX);
        // One that has nothing yet, and what a long commit behind a short one leaves.
        bound.add_segment(36, GIB).unwrap();
        for _ in 0..1_000 {
            bound.add_segment(1 << 10, GIB).and_then(|()| bound.add_segment(GIB, GIB)).unwrap();
        }
        let mut bound = Bound::new(u64::MAX);
        let refused = (1..).find(|_| bound.add_segment(100, 3 * GIB).is_err());
        assert_eq!(refused, Some(2));
        assert!(matches!(bound.add_segment(100, 100), Err(StreamError::Zeros { .. })));
    }
}
