//! What `LOCK` says: that the folder is a Jungle's, and whether its log was closed, and where.
//!
//! ```text
//! 0   8     "JUNGLE\r\n"
//! 8   u32   the version of the format: 1
//! 12  u32   0: in use, 1: closed
//! 16  u64   closed: the newest revision
//! 24  u32   closed: the CRC of the log's last frame
//! 28  u32   CRC-32C of the bytes before
//! ```
//! The mark of a clean end lies apart from the end of the log, so that losing one block cannot
//! take both: a log that was closed is held to its last byte. It is smaller than a sector, so that
//! it is written wholly or not at all; one that is broken all the same says as much as none: the
//! log is then read as one that was not closed, and loses nothing by that.

use super::frame::{u32_at, u64_at};
use super::segment::FORMAT;
use crate::disk::{DiskFile, read_full, write_full};
use crate::error::{Damage, IoError, OpenError, doing};

/// The file that the owner of the folder keeps locked.
pub(crate) const LOCK: &str = "LOCK";

const MARK_BYTES: usize = 32;

const MAGIC: &[u8; 8] = b"JUNGLE\r\n";

/// What is known about the end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Somebody writes to it, or did and did not close it.
    InUse,
    /// It was closed.
    Closed {
        /// The newest revision.
        revision: u64,
        /// The checksum of the last frame.
        check: u32,
    },
}

impl Mark {
    fn bytes(self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        if let Mark::Closed { revision, check } = self {
            bytes[12..16].copy_from_slice(&1u32.to_le_bytes());
            bytes[16..24].copy_from_slice(&revision.to_le_bytes());
            bytes[24..28].copy_from_slice(&check.to_le_bytes());
        }
        let check = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Writes it down, for good.
    pub(crate) fn write(self, file: &dyn DiskFile) -> Result<(), IoError> {
        write_full(file, &self.bytes(), 0).map_err(doing("write", LOCK))?;
        file.sync_data().map_err(doing("sync", LOCK))
    }

    /// What is written there; `None` when that is nothing yet, or was not written to its end.
    pub(crate) fn read(file: &dyn DiskFile) -> Result<Option<Mark>, OpenError> {
        let mut bytes = [0; MARK_BYTES];
        read_full(file, &mut bytes, 0).map_err(doing("read", LOCK))?;
        let first = Mark::InUse.bytes();
        let begun = bytes.iter().zip(&first).take_while(|(is, ought)| is == ought).count();
        if begun < MARK_BYTES && bytes[begun..].iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        if bytes[..8] != *MAGIC {
            return Err(OpenError::damaged(LOCK, 0, None, Damage::Header));
        }
        let found = u32_at(&bytes, 8);
        if found != FORMAT {
            return Err(OpenError::UnknownFormat { file: LOCK.into(), found });
        }
        let is_whole = u32_at(&bytes, 28) == crc32c::crc32c(&bytes[..28]);
        if is_whole && u32_at(&bytes, 12) == 1 {
            let (revision, check) = (u64_at(&bytes, 16), u32_at(&bytes, 24));
            return Ok(Some(Mark::Closed { revision, check }));
        }
        Ok(Some(Mark::InUse))
    }
}
