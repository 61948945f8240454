//! A disk of which some places cannot be read: it says that zeros are there, and leaves it to the
//! checksums of what is around them to say what that is worth.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, Lock, Mode, refused};

/// Who cannot read a byte cannot read any of so many, beginning at a multiple of it: a sector, or
/// the page of it that the system keeps.
const PIECE: u64 = 4096;

pub(crate) struct PatchedDisk(pub(crate) Arc<dyn Disk>);

impl Disk for PatchedDisk {
    fn place(&self) -> String {
        self.0.place()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        match mode {
            Mode::Read => Ok(Box::new(PatchedFile(self.0.open(name, mode)?))),
            _ => refused(),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.0.list(folder)
    }
}

struct PatchedFile(Box<dyn DiskFile>);

impl DiskFile for PatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let is_refused = |read: &io::Result<usize>| {
            read.as_ref().is_err_and(|error| error.kind() != ErrorKind::Interrupted)
        };
        let read = self.0.read_at(bytes, offset);
        if !is_refused(&read) {
            return read;
        }
        let len = bytes.len().min((PIECE - offset % PIECE) as usize);
        let piece = &mut bytes[..len];
        // What is behind it may have been the reason.
        let read = self.0.read_at(piece, offset);
        if !is_refused(&read) {
            return read;
        }
        let left = self.0.len()?.saturating_sub(offset);
        let zeros = left.min(len as u64) as usize;
        piece[..zeros].fill(0);
        Ok(zeros)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.0.try_lock(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::read_full;

    /// Has the numbers of its pieces as bytes, and cannot read the third.
    struct Torn;

    const LEN: u64 = 5 * PIECE + 7;
    const BAD: std::ops::Range<u64> = 2 * PIECE..3 * PIECE;

    impl DiskFile for Torn {
        fn len(&self) -> io::Result<u64> {
            Ok(LEN)
        }

        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
            let end = LEN.min(offset + bytes.len() as u64);
            if offset < BAD.end && end > BAD.start {
                return Err(io::Error::other("no such luck"));
            }
            let len = end.saturating_sub(offset) as usize;
            for (byte, at) in bytes[..len].iter_mut().zip(offset..) {
                *byte = 1 + (at / PIECE) as u8;
            }
            Ok(len)
        }

        fn try_lock(&self, _: Lock) -> io::Result<bool> {
            Ok(true)
        }
    }

    #[test]
    fn only_what_cannot_be_read_is_zeros() {
        let file = PatchedFile(Box::new(Torn));
        for offset in [0, 1, PIECE, BAD.start - 1, BAD.start, BAD.end - 1, BAD.end, LEN - 1, LEN] {
            let mut bytes = vec![9; 6 * PIECE as usize];
            let read = read_full(&file, &mut bytes, offset).unwrap();
            assert_eq!(read as u64, LEN - offset);
            let ought = |at| if BAD.contains(&at) { 0 } else { 1 + (at / PIECE) as u8 };
            assert!(bytes[..read].iter().zip(offset..).all(|(&byte, at)| byte == ought(at)));
            assert!(bytes[read..].iter().all(|&byte| byte == 9));
        }
    }
}
