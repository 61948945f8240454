//! Frames: what the log is made of. One write is one frame, with all the records of a group.
//!
//! ```text
//! 0   u32   length of the frame, this header included
//! 4   u32   CRC-32C of all other bytes of the frame
//! 8   u32   the CRC of the frame before, or of the segment's header: the chain
//! 12  u32   how far in front of this frame the synced part of the segment ended
//! 16  u64   the revision of the first record
//! 24        the records, each behind its length; none in the frame that seals a segment
//! ```
//! All numbers are little-endian. A length of 0 is where the log ends: segments are filled with
//! zeros ahead.

use std::ops::Range;

use crate::planted::{Bug, is_awake};

/// Bytes of a frame in front of its records.
pub(crate) const FRAME_HEADER: usize = 24;

/// A frame's length is a u32; what gathers beyond this is refused.
pub(crate) const FRAME_BYTES_MAX: usize = 2 << 30;

/// A frame that is whole in itself; whether it is in its place, the chain says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Its length in bytes.
    pub(crate) len: usize,
    pub(crate) check: u32,
    pub(crate) previous: u32,
    /// How far in front of it the synced part of the segment ended as it was written.
    pub(crate) unsynced: u32,
    /// The revision of its first record.
    pub(crate) first: u64,
    pub(crate) records: &'a [u8],
}

/// What a frame's header says besides its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) previous: u32,
    pub(crate) unsynced: u32,
    pub(crate) first: u64,
}

impl Header {
    /// Writes the header in front of the records that follow it in `frame`; gives the checksum.
    pub(crate) fn put(self, frame: &mut [u8]) -> u32 {
        let len = u32::try_from(frame.len()).expect("kept below FRAME_BYTES_MAX");
        frame[..4].copy_from_slice(&len.to_le_bytes());
        frame[8..12].copy_from_slice(&self.previous.to_le_bytes());
        frame[12..16].copy_from_slice(&self.unsynced.to_le_bytes());
        frame[16..24].copy_from_slice(&self.first.to_le_bytes());
        let check = check(frame);
        frame[4..8].copy_from_slice(&check.to_le_bytes());
        check
    }
}

impl<'a> Frame<'a> {
    /// The frame at the beginning of these bytes, if a whole one is there.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Frame<'a>> {
        let frame = Frame::claimed(bytes)?;
        let is_whole = || frame.check == check(&bytes[..frame.len]);
        (is_awake(Bug::ChecksumIgnored) || is_whole()).then_some(frame)
    }

    /// What would be the frame at the beginning of these bytes, whatever its checksum is.
    pub(crate) fn claimed(bytes: &'a [u8]) -> Option<Frame<'a>> {
        let len = declared(bytes)?;
        let bytes = bytes.get(..len)?;
        Some(Frame {
            len,
            check: u32_at(bytes, 4),
            previous: u32_at(bytes, 8),
            unsynced: u32_at(bytes, 12),
            first: u64_at(bytes, 16),
            records: &bytes[FRAME_HEADER..],
        })
    }
}

/// The length that a frame at the beginning of these bytes declares, if one can begin there.
pub(crate) fn declared(bytes: &[u8]) -> Option<usize> {
    let len = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    (FRAME_HEADER..=FRAME_BYTES_MAX).contains(&len).then_some(len)
}

fn check(frame: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..])
}

/// Checksums of any piece of some bytes, each in about the same time however long it is: a CRC is
/// linear, so that of a piece follows from those of what ends at its two ends.
pub(crate) struct Checks<'a> {
    bytes: &'a [u8],
    /// The CRC of what is in front of each multiple of [`CHECKED`].
    upto: Vec<u32>,
}

/// Each so many bytes a checksum is kept.
const CHECKED: usize = 256;

impl<'a> Checks<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Checks<'a> {
        let upto = bytes.chunks(CHECKED).scan(0, |crc, chunk| {
            let before = *crc;
            *crc = crc32c::crc32c_append(before, chunk);
            Some(before)
        });
        Checks { bytes, upto: upto.collect() }
    }

    /// Is this frame, which begins there, whole?
    pub(crate) fn is_whole(&self, at: usize, frame: Frame<'_>) -> bool {
        let behind = self.of(at + 8..at + frame.len);
        let head = crc32c::crc32c(&self.bytes[at..at + 4]);
        frame.check == crc32c::crc32c_combine(head, behind, frame.len - 8)
    }

    fn of(&self, piece: Range<usize>) -> u32 {
        let (before, all) = (self.in_front(piece.start), self.in_front(piece.end));
        all ^ crc32c::crc32c_combine(before, 0, piece.len())
    }

    fn in_front(&self, end: usize) -> u32 {
        let whole = (end / CHECKED).min(self.upto.len().saturating_sub(1));
        let kept = self.upto.get(whole).copied().unwrap_or(0);
        crc32c::crc32c_append(kept, &self.bytes[whole * CHECKED..end])
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_is_noticed() {
        let mut bytes = vec![0; FRAME_HEADER];
        bytes.extend_from_slice(b"records");
        let header = Header { previous: 7, unsynced: 0, first: 1 };
        let check = header.put(&mut bytes);
        let frame = Frame::read(&bytes).unwrap();
        assert_eq!((frame.check, frame.previous, frame.records), (check, 7, &b"records"[..]));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            damaged.extend_from_slice(&[0; 64]);
            assert!(Frame::read(&damaged).is_none(), "bit {bit}");
        }
        assert!(Frame::read(&bytes[..bytes.len() - 1]).is_none());
    }
    #[test]
    fn any_piece_has_its_checksum() {
        let bytes: Vec<u8> = (0..2_000_u32).map(|n| (n * n / 7) as u8).collect();
        let checks = Checks::new(&bytes);
        for start in [0, 1, 255, 256, 257, 1_000, 1_791, 1_792] {
            for end in [start, start + 1, start + 200, 1_792, 1_999, 2_000] {
                if (start..=2_000).contains(&end) {
                    assert_eq!(checks.of(start..end), crc32c::crc32c(&bytes[start..end]));
                }
            }
        }
        assert_eq!(Checks::new(&[]).of(0..0), 0);
        let mut frame = vec![3; 700];
        Header { previous: 7, unsynced: 0, first: 1 }.put(&mut frame[100..600]);
        let claimed = Frame::claimed(&frame[100..]).unwrap();
        assert!(Checks::new(&frame).is_whole(100, claimed));
        frame[500] ^= 1;
        let claimed = Frame::claimed(&frame[100..]).unwrap();
        assert!(!Checks::new(&frame).is_whole(100, claimed));
    }
}
