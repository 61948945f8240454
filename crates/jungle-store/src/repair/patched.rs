//! A disk of which some places cannot be read: it says that zeros are there, and leaves it to the
//! checksums of what is around them to say what that is worth. Where zeros are the end of the log
//! nothing says so: hence it is noted where they were put.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::{Disk, DiskFile, Lock, Mode, refused};
use crate::log::LogPosition;
use crate::log::segment::{LOG, name};

/// Who cannot read a byte cannot read any of so many, beginning at a multiple of it: a sector, or
/// the page of it that the system keeps.
const PIECE: u64 = 4096;

/// By the files in which zeros were put, where the last of them end.
#[derive(Clone, Default)]
pub(crate) struct Patches(Arc<Mutex<BTreeMap<String, u64>>>);

impl Patches {
    fn note(&self, file: &str, end: u64) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ends.entry(file.to_owned()).or_default();
        *known = end.max(*known);
    }

    /// Is there one in the log behind this place?
    pub(crate) fn are_behind(&self, place: &LogPosition) -> bool {
        let (segment, offset) = (name(place.segment), place.offset);
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = ends.range(segment.clone()..).filter(|(file, _)| file.starts_with(LOG));
        behind.into_iter().any(|(file, &end)| *file != segment || end > offset)
    }
}

pub(crate) struct PatchedDisk {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) patches: Patches,
}

impl Disk for PatchedDisk {
    fn place(&self) -> String {
        self.disk.place()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        match mode {
            Mode::Read => {
                let (file, patches) = (self.disk.open(name, mode)?, self.patches.clone());
                Ok(Box::new(PatchedFile { file, name: name.to_owned(), patches }))
            }
            _ => refused(),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }
}

struct PatchedFile {
    file: Box<dyn DiskFile>,
    name: String,
    patches: Patches,
}

impl DiskFile for PatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let is_refused = |read: &io::Result<usize>| {
            read.as_ref().is_err_and(|error| error.kind() != ErrorKind::Interrupted)
        };
        let read = self.file.read_at(bytes, offset);
        if !is_refused(&read) {
            return read;
        }
        let len = bytes.len().min((PIECE - offset % PIECE) as usize);
        let piece = &mut bytes[..len];
        // What is behind it may have been the reason.
        let read = self.file.read_at(piece, offset);
        if !is_refused(&read) {
            return read;
        }
        let left = self.file.len()?.saturating_sub(offset);
        let zeros = left.min(len as u64) as usize;
        piece[..zeros].fill(0);
        self.patches.note(&self.name, offset + zeros as u64);
        Ok(zeros)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.try_lock(lock)
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
        let patches = Patches::default();
        let file = PatchedFile { file: Box::new(Torn), name: name(7), patches: patches.clone() };
        let at = |segment, offset| LogPosition { segment, offset, ..LogPosition::default() };
        assert!(!patches.are_behind(&at(1, 0)));
        for offset in [0, 1, PIECE, BAD.start - 1, BAD.start, BAD.end - 1, BAD.end, LEN - 1, LEN] {
            let mut bytes = vec![9; 6 * PIECE as usize];
            let read = read_full(&file, &mut bytes, offset).unwrap();
            assert_eq!(read as u64, LEN - offset);
            let ought = |at| if BAD.contains(&at) { 0 } else { 1 + (at / PIECE) as u8 };
            assert!(bytes[..read].iter().zip(offset..).all(|(&byte, at)| byte == ought(at)));
            assert!(bytes[read..].iter().all(|&byte| byte == 9));
        }
        let behind = [(1, BAD.end), (7, BAD.start), (7, BAD.end - 1)];
        assert!(behind.iter().all(|&(segment, offset)| patches.are_behind(&at(segment, offset))));
        let before = [(7, BAD.end), (8, 0)];
        assert!(!before.iter().any(|&(segment, offset)| patches.are_behind(&at(segment, offset))));
    }
}
