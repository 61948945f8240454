//! A damaged folder, as it is read to save what is in it: nothing is written, and what can be known
//! again of what is missing is there.
//!
//! - The mark and the folder of the log may be missing: then there is nothing in them.
//! - A segment that was cut off goes on with zeros, as if nothing had been written there yet.
//! - The header of a segment is made again from what it has to say, if that has just the checksum
//!   that the first frame says its header had.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, Lock, Mode, read_full, refused};
use crate::error::{OpenError, doing};
use crate::log::frame::Frame;
use crate::log::mark::{LOCK, Mark};
use crate::log::recover::segments;
use crate::log::segment::{
    FORMAT, LOG, SEGMENT_FILE_BYTES_MAX, SEGMENT_HEADER, SegmentHeader, name, read_file,
};
use crate::pages::PAGES;

/// Lengths that segments are made with: this, and twice the one before.
const FIRST_BYTES: u64 = 1 << 8;
const LAST_BYTES: u64 = 1 << 30;

pub(crate) struct Mended {
    disk: Arc<dyn Disk>,
    /// By the names of segments, of those that are not as they were.
    segments: HashMap<String, Head>,
    /// Was the last segment cut off?
    pub(crate) is_cut: bool,
}

/// How a segment begins, and how long it is.
#[derive(Clone, Copy)]
struct Head {
    header: [u8; SEGMENT_HEADER],
    bytes: u64,
}

impl Mended {
    /// A folder in which nothing is mended but that files are missing.
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Result<Mended, OpenError> {
        let there = match disk.list("") {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            there => there.map_err(doing("list", "the folder"))?,
        };
        let mended = Mended { disk, segments: HashMap::new(), is_cut: false };
        let is_there = |name: &str| there.iter().any(|file| file == name);
        if !is_there(LOCK) && !is_there(PAGES) && segments(&mended)?.is_empty() {
            return Err(OpenError::Nothing { folder: mended.place().into() });
        }
        Ok(mended)
    }

    /// What the mark says, if that can be read.
    pub(crate) fn mark(&self) -> Result<Option<Mark>, OpenError> {
        let lock = self.open(LOCK, Mode::Read).map_err(doing("open", LOCK))?;
        match Mark::read(&*lock) {
            Err(error @ OpenError::UnknownFormat { .. }) => {
                let mut bytes = [0; 32];
                let is_whole = read_full(&*lock, &mut bytes, 0).is_ok() && has_check(&bytes);
                if is_whole { Err(error) } else { Ok(None) }
            }
            read => Ok(read.unwrap_or(None)),
        }
    }

    /// The same folder, with segments as they were.
    pub(crate) fn mended(mut self) -> Result<Mended, OpenError> {
        let firsts = segments(&self)?;
        for (at, &first) in firsts.iter().enumerate() {
            let name = name(first);
            let Ok(file) = self.disk.open(&name, Mode::Read) else { continue };
            let Ok(len) = file.len() else { continue };
            let mut bytes = [0; SEGMENT_HEADER];
            let read = read_full(&*file, &mut bytes, 0).unwrap_or(0);
            let before = at.checked_sub(1).map(|before| firsts[before]);
            let head = match SegmentHeader::read(&name, &bytes[..read]) {
                Ok((header, _)) if header.first == first => {
                    Head { header: bytes, bytes: header.bytes }
                }
                Err(error @ OpenError::UnknownFormat { .. }) if has_check(&bytes) => {
                    return Err(error);
                }
                _ => self.made_again(first, before),
            };
            let is_cut = head.bytes > len;
            self.is_cut = is_cut;
            if (is_cut || head.header != bytes) && head.bytes <= SEGMENT_FILE_BYTES_MAX {
                self.segments.insert(name, head);
            }
        }
        Ok(self)
    }

    /// The header of a segment whose own is damaged. What is behind it counts only where the chain
    /// says so: the first frame by the checksum of this header, a later one if a checkpoint goes on
    /// from there.
    fn made_again(&self, first: u64, before: Option<u64>) -> Head {
        let bytes = read_file(&*self.disk, &name(first)).unwrap_or_default();
        let wanted = bytes.get(SEGMENT_HEADER..).and_then(Frame::read);
        let wanted = wanted.filter(|frame| frame.first == first).map(|frame| frame.previous);
        let previous = match before {
            Some(before) => self.last_check(before),
            None => 0,
        };
        let len = (bytes.len() as u64).max(SEGMENT_HEADER as u64);
        let doubled = std::iter::successors(Some(FIRST_BYTES), |&bytes| Some(bytes * 2));
        let lengths = doubled.take_while(|&bytes| bytes <= LAST_BYTES);
        let headers = std::iter::once(len).chain(lengths).map(|bytes| {
            let (header, check) = SegmentHeader { first, bytes, previous }.bytes();
            (Head { header, bytes }, check)
        });
        let mut headers = headers.filter(|&(_, check)| Some(check) == wanted);
        let unknown =
            || Head { header: SegmentHeader { first, bytes: len, previous }.bytes().0, bytes: len };
        headers.next().map_or_else(unknown, |(head, _)| head)
    }

    /// The checksum of the last frame of a segment, or of its header.
    fn last_check(&self, first: u64) -> u32 {
        let name = name(first);
        let Ok(mut bytes) = read_file(&*self.disk, &name) else { return 0 };
        if let Some(head) = self.segments.get(&name) {
            let header = bytes.len().min(SEGMENT_HEADER);
            bytes[..header].copy_from_slice(&head.header[..header]);
        }
        let Ok((_, mut check)) = SegmentHeader::read(&name, &bytes) else { return 0 };
        let mut at = SEGMENT_HEADER;
        while let Some(frame) = bytes.get(at..).and_then(Frame::read) {
            if frame.records.is_empty() {
                break;
            }
            check = frame.check;
            at += frame.len;
        }
        check
    }
}

/// Is it what was written, in whatever format? The last four bytes are a checksum of the others.
fn has_check(bytes: &[u8]) -> bool {
    let Some((said, check)) = bytes.split_last_chunk::<4>() else { return false };
    debug_assert_eq!(FORMAT, 1, "another format may have its checksum elsewhere");
    u32::from_le_bytes(*check) == crc32c::crc32c(said)
}

impl Disk for Mended {
    fn place(&self) -> String {
        self.disk.place()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        if mode != Mode::Read {
            return refused();
        }
        let file = match self.disk.open(name, mode) {
            Err(error) if error.kind() == ErrorKind::NotFound && name == LOCK => {
                return Ok(Box::new(Nothing));
            }
            file => file?,
        };
        Ok(match self.segments.get(name) {
            Some(&head) => Box::new(MendedFile { file, head }),
            None => file,
        })
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = match self.disk.list(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound && folder == LOG => Vec::new(),
            names => names?,
        };
        if folder.is_empty() {
            for own in [LOCK, LOG] {
                if !names.iter().any(|name| name == own) {
                    names.push(own.to_owned());
                }
            }
        }
        Ok(names)
    }
}

/// A segment that is not as it was.
struct MendedFile {
    file: Box<dyn DiskFile>,
    head: Head,
}

impl DiskFile for MendedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.len()?.max(self.head.bytes))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        if let Some(header) = self.head.header.get(offset as usize..).filter(|it| !it.is_empty()) {
            let len = bytes.len().min(header.len());
            bytes[..len].copy_from_slice(&header[..len]);
            return Ok(len);
        }
        let read = self.file.read_at(bytes, offset)?;
        if read > 0 || offset >= self.head.bytes {
            return Ok(read);
        }
        let zeros = (self.head.bytes - offset).min(bytes.len() as u64) as usize;
        bytes[..zeros].fill(0);
        Ok(zeros)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.try_lock(lock)
    }
}

/// A file that is not there.
struct Nothing;

impl DiskFile for Nothing {
    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    /// Nobody else can have it.
    fn try_lock(&self, _: Lock) -> io::Result<bool> {
        Ok(true)
    }
}
