//! Segments: the files that the log is written to, one after the other.
//!
//! A segment is named by its first revision and begins with a header:
//!
//! ```text
//! 0   8     "JUNGLOG\n"
//! 8   u32   the version of the format: 1
//! 12  u64   the first revision
//! 20  u64   the length that the file has at least
//! 28  u32   the CRC of the last frame of the segment before; 0 in the first segment
//! 32  u32   CRC-32C of the bytes before
//! ```
//! The file was filled to its length, and synced, before it got its name: a shorter one was cut.

use std::io;

use super::frame::{FRAME_BYTES_MAX, u32_at, u64_at};
use crate::disk::{Disk, DiskFile, Mode, read_full, write_full};
use crate::error::{Damage, IoError, OpenError, doing};
use crate::planted::{Bug, is_awake};

/// The version of the format that this program writes; it reads no other yet.
pub(crate) const FORMAT: u32 = 1;

/// The folder with the segments.
pub(crate) const LOG: &str = "log";

/// A segment that is not one yet: zeros, filled in ahead.
pub(crate) const NEXT: &str = "log/next";

/// Bytes of a segment in front of its frames.
pub(crate) const SEGMENT_HEADER: usize = 36;

/// No segment is longer: one frame of the greatest length, or what was set.
pub(crate) const SEGMENT_FILE_BYTES_MAX: u64 = FRAME_BYTES_MAX as u64 + (1 << 30);

/// All bytes of a segment.
pub(crate) fn read_file(disk: &dyn Disk, name: &str) -> Result<Vec<u8>, OpenError> {
    let file = disk.open(name, Mode::Read).map_err(doing("open", name))?;
    let len = file.len().map_err(doing("read", name))?;
    if len > SEGMENT_FILE_BYTES_MAX {
        return Err(OpenError::damaged(name, len, None, Damage::TooLong));
    }
    let mut bytes = vec![0; len as usize];
    let read = read_full(&*file, &mut bytes, 0).map_err(doing("read", name))?;
    bytes.truncate(read);
    Ok(bytes)
}

const MAGIC: &[u8; 8] = b"JUNGLOG\n";

/// So many zeros are written at a time.
const CHUNK: u64 = 1 << 20;

/// What a segment's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) first: u64,
    /// How long the file is at least.
    pub(crate) bytes: u64,
    /// The checksum that the chain comes with.
    pub(crate) previous: u32,
}

impl SegmentHeader {
    /// The header, and its checksum, from which the chain goes on.
    pub(crate) fn bytes(self) -> ([u8; SEGMENT_HEADER], u32) {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.first.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.previous.to_le_bytes());
        let check = crc32c::crc32c(&bytes[..32]);
        bytes[32..].copy_from_slice(&check.to_le_bytes());
        (bytes, check)
    }

    /// Reads the header at the beginning of a segment.
    pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<(SegmentHeader, u32), OpenError> {
        let damaged = |what| OpenError::damaged(name, 0, None, what);
        let bytes = bytes.get(..SEGMENT_HEADER).ok_or_else(|| damaged(Damage::TooShort))?;
        if bytes[..8] != *MAGIC {
            return Err(damaged(Damage::Header));
        }
        let found = u32_at(bytes, 8);
        if found != FORMAT {
            return Err(OpenError::UnknownFormat { file: name.into(), found });
        }
        let check = u32_at(bytes, 32);
        if check != crc32c::crc32c(&bytes[..32]) {
            return Err(damaged(Damage::Header));
        }
        let (first, bytes, previous) = (u64_at(bytes, 12), u64_at(bytes, 20), u32_at(bytes, 28));
        Ok((SegmentHeader { first, bytes, previous }, check))
    }
}

/// The file of the segment with this first revision.
pub(crate) fn name(first: u64) -> String {
    format!("{LOG}/{first:020}.log")
}

/// The first revision of the segment in this file of the folder, if it is one.
pub(crate) fn first_of(file: &str) -> Option<u64> {
    let digits = file.strip_suffix(".log")?;
    let is_name = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_name.then(|| digits.parse().ok())?
}

/// Writes zeros from one place of a file up to another.
pub(crate) fn fill(file: &dyn DiskFile, from: u64, up_to: u64) -> io::Result<()> {
    let zeros = vec![0; CHUNK.min(up_to - from) as usize];
    let mut filled = from;
    while filled < up_to {
        let chunk = CHUNK.min(up_to - filled);
        write_full(file, &zeros[..chunk as usize], filled)?;
        filled += chunk;
    }
    Ok(())
}

/// A file of zeros that will become a segment.
pub(crate) struct Blank {
    pub(crate) file: Box<dyn DiskFile>,
    /// How long it is to be, and is so far.
    bytes: u64,
    filled: u64,
}

impl Blank {
    pub(crate) fn create(disk: &dyn Disk, bytes: u64) -> Result<Blank, IoError> {
        let file = disk.open(NEXT, Mode::CreateNew).map_err(doing("create", NEXT))?;
        Ok(Blank { file, bytes, filled: 0 })
    }

    /// Fills a piece more if it is not filled up to here, and makes that last: a sync of what is
    /// written over it later need not write the file's length and place as well.
    pub(crate) fn fill_piece(&mut self, up_to: u64) -> Result<(), IoError> {
        if self.filled < up_to.min(self.bytes) {
            let filled = self.bytes.min(self.filled + CHUNK);
            fill(&*self.file, self.filled, filled).map_err(doing("fill", NEXT))?;
            self.file.sync_data().map_err(doing("sync", NEXT))?;
            self.filled = filled;
        }
        Ok(())
    }

    /// Makes it a segment with this first revision, behind this checksum, for good. Gives the file,
    /// its length, and its own checksum.
    pub(crate) fn into_segment(
        mut self,
        disk: &dyn Disk,
        first: u64,
        previous: u32,
    ) -> Result<(Box<dyn DiskFile>, u64, u32), IoError> {
        while self.filled < self.bytes {
            self.fill_piece(self.bytes)?;
        }
        let header = SegmentHeader { first, bytes: self.bytes, previous };
        let (bytes, check) = header.bytes();
        write_full(&*self.file, &bytes, 0).map_err(doing("write", NEXT))?;
        self.file.sync_data().map_err(doing("sync", NEXT))?;
        let name = name(first);
        disk.rename(NEXT, &name).map_err(doing("name", &name))?;
        if !is_awake(Bug::FolderNotSynced) {
            disk.sync_folder(LOG).map_err(doing("sync", LOG))?;
        }
        Ok((self.file, self.bytes, check))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_first_revision() {
        assert_eq!(name(42), "log/00000000000000000042.log");
        assert_eq!(first_of("00000000000000000042.log"), Some(42));
        for other in ["42.log", "next", "0000000000000000004x.log", "99999999999999999999.log"] {
            assert_eq!(first_of(other), None, "{other}");
        }
    }

    #[test]
    fn damaged_header_is_told_and_a_future_one_refused_by_name() {
        let header = SegmentHeader { first: 7, bytes: 300, previous: 9 };
        let (bytes, check) = header.bytes();
        assert_eq!(SegmentHeader::read("s", &bytes).unwrap(), (header, check));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = SegmentHeader::read("s", &damaged).unwrap_err();
            let is_version = matches!(error, OpenError::UnknownFormat { .. });
            assert_eq!(is_version, (64..96).contains(&bit), "{error}");
        }
    }
}
