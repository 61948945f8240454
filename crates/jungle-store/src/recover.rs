//! Reading the log from its beginning.
//!
//! Each frame carries the checksum of the one before, each segment that of the last frame of the
//! segment before, so nothing can be missing, old or in another place without being noticed. What
//! is at stake is the end. A log that was closed is held to the mark that says where
//! ([`crate::mark`]). One that was not ends with the last frame that is whole and in its place;
//! what is behind it may be
//! - nothing: zeros;
//! - the *torn* rest of a group that was being written, never synced and so never acknowledged (as
//!   `sync`). It is cut off, and the report says so;
//! - *damage* of something that had to last. That is an error.
//!
//! A frame says how far the segment was synced when it was written. So if a whole frame lies
//! further on that says that this place was synced before, the place was not torn by the end of
//! the process or of power: it is damaged. Without such a frame it was in the last group, or among
//! the groups since the last sync. Whether such a group was synced (and the process ended before
//! anything further was written) nobody can tell from the log: in a log that was not closed,
//! damage of exactly the last synced group looks like a tear. The report tells its place and size.

use jungle_db::{Jungle, Revision};

use crate::disk::Disk;
use crate::error::{Damage, OpenError, doing};
use crate::frame::{Frame, declared};
use crate::mark::Mark;
use crate::planted::{Bug, is_awake};
use crate::record;
use crate::segment::{LOG, SEGMENT_HEADER, SegmentHeader, first_of, name, read_file};
use crate::wire::Input;

/// What a search behind the end may spend on checksums, in times the bytes searched.
const SEARCH_FACTOR: usize = 64;

/// What was cut off at the end of a log that was not closed: part of a group that was never
/// acknowledged as [`Sync`](jungle_db::Durability::Sync), unless the disk damaged exactly that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment, relative to the folder.
    pub file: Box<str>,
    /// Where in it, in bytes.
    pub offset: u64,
    /// How many bytes, up to the last one that was not zero.
    pub bytes: u64,
}

/// Where the log ends.
pub(crate) struct End {
    /// The last segment, and all of its bytes.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// Behind the last frame that counts.
    pub(crate) offset: usize,
    /// From here on nobody knows whether it was synced.
    pub(crate) doubtful: usize,
    /// Where the last frame begins, if there is one.
    pub(crate) last_frame: usize,
    /// The checksum of that frame.
    pub(crate) check: u32,
    pub(crate) cut: Option<Cut>,
    pub(crate) revision: u64,
    /// Was it closed?
    pub(crate) closed: bool,
    pub(crate) segments: u64,
    pub(crate) log_bytes: u64,
}

/// Reads the log into a Jungle that is empty so far. `None` when there is none yet.
pub(crate) fn recover(
    disk: &dyn Disk,
    mark: Option<Mark>,
    jungle: &Jungle,
) -> Result<Option<End>, OpenError> {
    let files = disk.list(LOG).map_err(doing("list", LOG))?;
    let mut firsts: Vec<u64> = files.iter().filter_map(|file| first_of(file)).collect();
    firsts.sort_unstable();
    let mut scan = Scan { jungle, check: 0, next: 1, log_bytes: 0 };
    let mut before: Option<Segment> = None;
    for &first in &firsts {
        before = Some(scan.segment(disk, first, before)?);
    }
    match before {
        None if mark.is_some() => Err(OpenError::Missing { revision: Revision::new(1) }),
        None => Ok(None),
        Some(last) => scan.end(last, mark, firsts.len() as u64).map(Some),
    }
}

/// What is known of the log so far.
struct Scan<'j> {
    jungle: &'j Jungle,
    /// The checksum of the frame or header before.
    check: u32,
    /// The next revision.
    next: u64,
    log_bytes: u64,
}

/// A segment that was read.
struct Segment {
    name: String,
    bytes: Vec<u8>,
    /// Behind the last frame that is whole and in its place.
    offset: usize,
    doubtful: usize,
    last_frame: usize,
    /// Does it say that another one follows?
    sealed: bool,
}

impl Scan<'_> {
    fn segment(
        &mut self,
        disk: &dyn Disk,
        first: u64,
        before: Option<Segment>,
    ) -> Result<Segment, OpenError> {
        let name = name(first);
        let bytes = read_file(disk, &name)?;
        let (header, check) = SegmentHeader::read(&name, &bytes)?;
        if header.first != first {
            return Err(self.damaged(&name, 0, Damage::Header));
        }
        if header.bytes > bytes.len() as u64 {
            return Err(self.damaged(&name, bytes.len(), Damage::TooShort));
        }
        if (first, header.previous) != (self.next, self.check) && !is_awake(Bug::ChainIgnored) {
            return Err(match before {
                // It ends before the place where this one begins.
                Some(before) if !before.sealed => before.damaged(self),
                _ if first != self.next => OpenError::Missing { revision: self.next_revision() },
                _ => self.damaged(&name, 0, Damage::Chain),
            });
        }
        self.check = check;
        let offset = SEGMENT_HEADER;
        let mut segment =
            Segment { name, bytes, offset, doubtful: offset, last_frame: offset, sealed: false };
        self.frames(&mut segment)?;
        self.log_bytes += segment.offset as u64;
        Ok(segment)
    }

    fn next_revision(&self) -> Revision {
        Revision::new(self.next)
    }

    fn damaged(&self, file: &str, offset: usize, what: Damage) -> OpenError {
        let newest = self.next.checked_sub(1).filter(|&newest| newest > 0).map(Revision::new);
        OpenError::damaged(file, offset as u64, newest, what)
    }

    /// Does again what is in the frames, up to the first that is not whole or not in its place.
    fn frames(&mut self, segment: &mut Segment) -> Result<(), OpenError> {
        while let Some(frame) = Frame::read(&segment.bytes[segment.offset..]) {
            let follows = (frame.previous, frame.first) == (self.check, self.next);
            if !follows && !is_awake(Bug::ChainIgnored) {
                break;
            }
            if frame.records.is_empty() {
                segment.sealed = true;
                segment.offset += frame.len;
                break;
            }
            let at = (segment.name.as_str(), segment.offset as u64);
            self.records(frame.records, at)?;
            self.check = frame.check;
            segment.last_frame = segment.offset;
            segment.doubtful = segment.offset.saturating_sub(frame.unsynced as usize);
            segment.offset += frame.len;
        }
        Ok(())
    }

    fn records(&mut self, records: &[u8], (file, offset): (&str, u64)) -> Result<(), OpenError> {
        let mut input = Input::new(records);
        while !input.is_empty() {
            let revision = Revision::new(self.next);
            let record = input
                .bytes()
                .and_then(|bytes| record::decode(bytes, revision, self.jungle.arena()))
                .map_err(|source| {
                    let file = file.into();
                    OpenError::Record { file, offset, revision, source }
                })?;
            self.jungle.replay(&record).map_err(|source| {
                let file = file.into();
                OpenError::Replay { file, offset, revision, source }
            })?;
            self.next += 1;
        }
        Ok(())
    }

    /// Finds out what is behind the last frame.
    fn end(self, last: Segment, mark: Option<Mark>, segments: u64) -> Result<End, OpenError> {
        if last.sealed {
            return Err(OpenError::Missing { revision: self.next_revision() });
        }
        let closed = match mark {
            Some(Mark::Closed { revision, check }) => {
                let found = (self.next - 1, self.check);
                if found != (revision, check) {
                    let goes_on = found.0 >= revision;
                    let ends = if goes_on { Damage::GoesOn } else { last.damage() };
                    return Err(self.damaged(&last.name, last.offset, ends));
                }
                true
            }
            Some(Mark::InUse) | None => false,
        };
        if !closed && last.is_damaged() {
            return Err(last.damaged(&self));
        }
        let rest = &last.bytes[last.offset..];
        let torn = rest.iter().rposition(|&byte| byte != 0).map(|last| last as u64 + 1);
        let cut = torn.map(|bytes| Cut {
            file: last.name.as_str().into(),
            offset: last.offset as u64,
            bytes,
        });
        let Segment { name, bytes, offset, doubtful, last_frame, .. } = last;
        Ok(End {
            name,
            bytes,
            offset,
            doubtful: if closed { offset } else { doubtful },
            last_frame,
            check: self.check,
            cut,
            revision: self.next - 1,
            closed,
            segments,
            log_bytes: self.log_bytes,
        })
    }
}

impl Segment {
    /// What is wrong behind its last frame, which is not all.
    fn damage(&self) -> Damage {
        let rest = &self.bytes[self.offset..];
        match Frame::read(rest) {
            Some(_) => Damage::Chain,
            None if rest.iter().all(|&byte| byte == 0) => Damage::EndsEarly,
            None => Damage::Checksum,
        }
    }

    fn damaged(&self, scan: &Scan<'_>) -> OpenError {
        scan.damaged(&self.name, self.offset, self.damage())
    }

    /// Was there something behind the last frame that had to last? Says yes when in doubt.
    fn is_damaged(&self) -> bool {
        if is_awake(Bug::DamageTakenForTear) {
            return false;
        }
        let rest = &self.bytes[self.offset..];
        if Frame::read(rest).is_some() {
            // Whole, but not in its place: no tear makes that.
            return true;
        }
        let mut budget = rest.len().saturating_mul(SEARCH_FACTOR);
        for at in 1..rest.len() {
            let Some(len) = declared(&rest[at..]).filter(|len| *len <= rest.len() - at) else {
                continue;
            };
            let Some(left) = budget.checked_sub(len) else {
                return true;
            };
            budget = left;
            let says_so = |frame: Frame<'_>| (frame.unsynced as usize) < at;
            if Frame::read(&rest[at..]).is_some_and(says_so) {
                return true;
            }
        }
        false
    }
}
