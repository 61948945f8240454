//! Reading the log, from its beginning or from where a checkpoint says.
//!
//! Each frame carries the checksum of the one before, each segment that of the last frame of the
//! segment before, so nothing can be missing, old or in another place without being noticed. What
//! is at stake is the end. A log that was closed is held to the mark that says where
//! ([`super::mark`]). One that was not ends with the last frame that is whole and in its place;
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

use std::cell::LazyCell;
use std::io;

use jungle_db::{CommitRecord, Jungle, NotWritten, ReplayError, Revision};
use jungle_tree::{EditError, loading};

use crate::checkpoint::LoadError;

use super::LogPosition;
use super::frame::{Checks, FRAME_HEADER, Frame, declared};
use super::mark::Mark;
use super::segment::{LOG, SEGMENT_FILE_BYTES_MAX, SEGMENT_HEADER, SegmentHeader, first_of, name};
use crate::disk::{Disk, DiskFile, Mode, read_full};
use crate::error::{Damage, IoError, OpenError, doing};
use crate::planted::{Bug, is_awake};
use crate::progress::Progress;
use crate::record::{self, DecodeReason};
use crate::wire::Input;

/// So much of a segment is read at a time when it is known where it ends.
const CHUNK: usize = 64 << 10;

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
    /// Behind the last frame that counts.
    pub(crate) at: LogPosition,
    /// How long the last segment was made; one with a long commit is longer.
    pub(crate) segment_bytes: u64,
    /// What nobody knows to be synced, and what comes behind it up to the end.
    pub(crate) doubtful: Vec<u8>,
    /// Where the last frame begins, if there is one.
    pub(crate) last_frame: u64,
    pub(crate) cut: Option<Cut>,
    /// Was it closed?
    pub(crate) closed: bool,
    pub(crate) segments: u64,
}

/// The first revisions of all segments, in order.
pub(crate) fn segments(disk: &dyn Disk) -> Result<Vec<u64>, IoError> {
    let files = disk.list(LOG).map_err(doing("list", LOG))?;
    let mut firsts: Vec<u64> = files.iter().filter_map(|file| first_of(file)).collect();
    firsts.sort_unstable();
    Ok(firsts)
}

/// Reads the log into a Jungle: all of it into one that is empty so far, or what came after a
/// checkpoint, which was taken behind this place; tells how far it is. `None` when there is none
/// yet.
pub(crate) fn recover(
    disk: &dyn Disk,
    mark: Option<Mark>,
    jungle: &Jungle,
    from: Option<LogPosition>,
    redo: Redo,
    progress: &Progress,
) -> Result<Option<End>, OpenError> {
    let total = match mark {
        Some(Mark::Closed { revision, .. }) => revision,
        _ => 0,
    };
    recover_telling(disk, mark, jungle, from, redo, (progress, total))
}

/// As [`recover`], where it is known how many revisions there are.
pub(crate) fn recover_telling(
    disk: &dyn Disk,
    mark: Option<Mark>,
    jungle: &Jungle,
    from: Option<LogPosition>,
    redo: Redo,
    (progress, total): (&Progress, u64),
) -> Result<Option<End>, OpenError> {
    let mut given_up = Ok(());
    let end = recover_by(disk, mark, jungle, from, &mut |record| {
        given_up = progress.go_on();
        if given_up.is_err() {
            // Only to end it.
            return Err(ReplayError::NotWritten(NotWritten::Stopped));
        }
        progress.tell(record.revision.number(), total);
        redo(jungle, record)
    });
    given_up?;
    end
}

/// As [`recover`]; `each` does the records again, in that Jungle and whatever else it likes.
pub(crate) fn recover_by(
    disk: &dyn Disk,
    mark: Option<Mark>,
    jungle: &Jungle,
    from: Option<LogPosition>,
    each: Each<'_>,
) -> Result<Option<End>, OpenError> {
    let at = from.unwrap_or(LogPosition { next: 1, ..LogPosition::default() });
    let closed = matches!(mark, Some(Mark::Closed { .. }));
    let mut scan = Scan { jungle, each, at, closed };
    let mut before: Option<Segment> = None;
    let (mut firsts, mut next) = (segments(disk)?, at.segment);
    loop {
        let was = next;
        for &first in firsts.iter().filter(|&&first| first >= was) {
            before = Some(scan.segment(disk, first, before)?);
            next = first + 1;
        }
        if next == was || before.as_ref().is_some_and(|last| !last.sealed) {
            break;
        }
        // Somebody who writes to it meanwhile may have begun another one.
        firsts = segments(disk)?;
    }
    match before {
        None if mark.is_some() || from.is_some() => {
            Err(OpenError::Missing { revision: Revision::new(at.next) })
        }
        None => Ok(None),
        Some(last) => {
            let end = scan.end(last, mark, firsts.len() as u64)?;
            loading(|| jungle.end_replay()).map_err(LoadError::Slab)?;
            Ok(Some(end))
        }
    }
}

/// How a record is done again.
pub(crate) type Redo = fn(&Jungle, &CommitRecord) -> Result<(), ReplayError>;

/// Does a record again.
pub(crate) type Each<'e> = &'e mut dyn FnMut(&CommitRecord) -> Result<(), ReplayError>;

/// What is known of the log so far.
struct Scan<'j> {
    jungle: &'j Jungle,
    each: Each<'j>,
    /// Behind the last frame, or header, that is whole and in its place; segment 0 at the very
    /// beginning.
    at: LogPosition,
    /// Is it known where the log ends?
    closed: bool,
}

/// A segment that was read: what of it is behind some place.
struct Segment {
    name: String,
    /// How long it was made.
    made: u64,
    /// Where the bytes begin.
    base: u64,
    bytes: Vec<u8>,
    /// In the bytes: behind the last frame that is whole and in its place.
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
        let file = disk.open(&name, Mode::Read).map_err(doing("open", &name))?;
        let len = file.len().map_err(doing("read", &name))?;
        if len > SEGMENT_FILE_BYTES_MAX {
            return Err(self.damaged(&name, len, Damage::TooLong));
        }
        let mut bytes = vec![0; SEGMENT_HEADER];
        let read = read_full(&*file, &mut bytes, 0).map_err(doing("read", &name))?;
        let (header, check) = SegmentHeader::read(&name, &bytes[..read])?;
        if header.first != first {
            return Err(self.damaged(&name, 0, Damage::Header));
        }
        let goes_on = first == self.at.segment;
        if header.bytes > len || goes_on && self.at.offset > len {
            return Err(self.damaged(&name, len, Damage::TooShort));
        }
        if !goes_on {
            let follows = (first, header.previous) == (self.at.next, self.at.check);
            if !follows && !is_awake(Bug::ChainIgnored) {
                return Err(match before {
                    // It ends before the place where this one begins.
                    Some(before) if !before.sealed => before.damaged(self),
                    _ if first != self.at.next => {
                        OpenError::Missing { revision: self.next_revision() }
                    }
                    _ => self.damaged(&name, 0, Damage::Chain),
                });
            }
            self.at = LogPosition::first(first, check, self.at.bytes);
        }
        let base = self.at.offset;
        let bytes = if self.closed { frames(&*file, base, len) } else { rest(&*file, base, len) };
        let bytes = bytes.map_err(doing("read", &name))?;
        let (offset, doubtful, last_frame) = (0, 0, 0);
        let (made, sealed) = (header.bytes, false);
        let mut segment = Segment { name, made, base, bytes, offset, doubtful, last_frame, sealed };
        self.frames(&mut segment)?;
        Ok(segment)
    }

    fn next_revision(&self) -> Revision {
        Revision::new(self.at.next)
    }

    fn damaged(&self, file: &str, offset: u64, what: Damage) -> OpenError {
        let newest = self.at.next.checked_sub(1).filter(|&newest| newest > 0).map(Revision::new);
        OpenError::damaged(file, offset, newest, what)
    }

    /// Does again what is in the frames, up to the first that is not whole or not in its place.
    fn frames(&mut self, segment: &mut Segment) -> Result<(), OpenError> {
        while let Some(frame) = Frame::read(&segment.bytes[segment.offset..]) {
            let follows = (frame.previous, frame.first) == (self.at.check, self.at.next);
            if !follows && !is_awake(Bug::ChainIgnored) {
                break;
            }
            if frame.records.is_empty() {
                segment.sealed = true;
                segment.offset += frame.len;
                self.at.bytes += frame.len as u64;
                break;
            }
            self.records(frame.records, (&segment.name, self.at.offset))?;
            segment.last_frame = segment.offset;
            segment.doubtful = segment.offset.saturating_sub(frame.unsynced as usize);
            segment.offset += frame.len;
            self.at.check = frame.check;
            self.at.offset += frame.len as u64;
            self.at.bytes += frame.len as u64;
        }
        Ok(())
    }

    fn records(&mut self, records: &[u8], (file, offset): (&str, u64)) -> Result<(), OpenError> {
        let mut input = Input::new(records);
        while !input.is_empty() {
            let revision = Revision::new(self.at.next);
            let unreadable = |source| {
                let file = file.into();
                OpenError::Record { file, offset, revision, source }
            };
            let bytes = input.bytes().map_err(unreadable)?;
            self.at.next += 1;
            // What a checkpoint has besides.
            if revision <= self.jungle.revision() {
                continue;
            }
            let record = record::decode(bytes, revision, self.jungle.arena());
            let record = record.map_err(|source| match &source.reason {
                DecodeReason::Subtree(error) => {
                    no_room(error).unwrap_or_else(|| unreadable(source))
                }
                _ => unreadable(source),
            })?;
            let done = loading(|| (self.each)(&record)).map_err(LoadError::Slab)?;
            done.map_err(|source| {
                let full = match &source {
                    ReplayError::Apply(apply) => no_room(&apply.source),
                    _ => None,
                };
                let file = file.into();
                full.unwrap_or(OpenError::Replay { file, offset, revision, source })
            })?;
        }
        Ok(())
    }

    /// Finds out what is behind the last frame.
    fn end(self, last: Segment, mark: Option<Mark>, segments: u64) -> Result<End, OpenError> {
        let LogPosition { next, check, .. } = self.at;
        if last.sealed {
            return Err(OpenError::Missing { revision: self.next_revision() });
        }
        if next <= self.jungle.revision().number() {
            // The log had all of the checkpoint for good before that was written. A copy that is
            // begun has no mark yet, and of its other segments nothing.
            return Err(match (mark, last.damage()) {
                (None, Damage::EndsEarly) => OpenError::Missing { revision: self.next_revision() },
                _ => self.damaged(&last.name, self.at.offset, Damage::EndsEarly),
            });
        }
        if let Some(Mark::Closed { revision, check: closed }) = mark {
            let found = next - 1;
            if (found, check) != (revision, closed) {
                let ends = if found >= revision { Damage::GoesOn } else { last.damage() };
                return Err(self.damaged(&last.name, self.at.offset, ends));
            }
        } else if last.is_damaged(next) {
            return Err(last.damaged(&self));
        }
        let rest = &last.bytes[last.offset..];
        let torn = rest.iter().rposition(|&byte| byte != 0).map(|last| last as u64 + 1);
        let offset = self.at.offset;
        let cut = torn.map(|bytes| Cut { file: last.name.as_str().into(), offset, bytes });
        let doubtful = if self.closed { last.offset } else { last.doubtful };
        Ok(End {
            at: self.at,
            segment_bytes: last.made,
            doubtful: last.bytes[doubtful..last.offset].to_vec(),
            last_frame: last.base + last.last_frame as u64,
            cut,
            closed: self.closed,
            segments,
        })
    }
}

/// Is nothing wrong with what is done again, but there is no room for it?
fn no_room(error: &EditError) -> Option<OpenError> {
    matches!(error, EditError::ArenaFull).then(|| OpenError::NoRoom(error.clone().into()))
}

/// What is in a file behind some place.
fn rest(file: &dyn DiskFile, base: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (len - base) as usize];
    let read = read_full(file, &mut bytes, base)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// The frames behind some place, as far as each says how long it is, and something behind them.
fn frames(file: &dyn DiskFile, base: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut end = 0;
    loop {
        let missing = (end + FRAME_HEADER).max(bytes.len() + 1) - bytes.len();
        let room = (len - base) as usize - bytes.len();
        let more = missing.next_multiple_of(CHUNK).min(room);
        let from = bytes.len();
        bytes.resize(from + more, 0);
        let read = read_full(file, &mut bytes[from..], base + from as u64)?;
        bytes.truncate(from + read);
        while let Some(frame) = bytes.get(end..).and_then(declared) {
            end += frame;
        }
        if read == 0 || end + FRAME_HEADER <= bytes.len() {
            return Ok(bytes);
        }
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
        scan.damaged(&self.name, self.base + self.offset as u64, self.damage())
    }

    /// Was there something behind the last frame, the next revision's, that had to last?
    fn is_damaged(&self, next: u64) -> bool {
        let is_of_buffered = self.doubtful < self.last_frame;
        if is_awake(Bug::DamageTakenForTear)
            || is_awake(Bug::UnsyncedTakenForTear) && is_of_buffered
        {
            return false;
        }
        let rest = &self.bytes[self.offset..];
        if Frame::read(rest).is_some() {
            // Whole, but not in its place: no tear makes that.
            return true;
        }
        search(rest, |behind, frame| shows_damage(frame, behind, Some(next))).is_some()
    }
}

/// Does this frame say that what begins so far in front of it, with the next revision if that is
/// known, was synced?
pub(crate) fn shows_damage(frame: Frame<'_>, behind: usize, next: Option<u64>) -> bool {
    (frame.unsynced as usize) < behind && is_later(frame, behind, next)
}

/// Can this frame be of the log in which so far in front of it the next revision was to begin, if
/// that is known? What a commit has may be frames of another log.
pub(crate) fn is_later(frame: Frame<'_>, behind: usize, next: Option<u64>) -> bool {
    // A record takes a byte at least.
    let is_later = |next| frame.first.checked_sub(next).is_some_and(|by| by <= behind as u64);
    next.is_none_or(is_later)
}

/// Looks behind the beginning of these bytes for the first whole frame that counts, which may
/// depend on where it begins, too; tells where.
///
/// What a commit has may be anything, such as many beginnings of frames, or frames of another log:
/// each of them costs about as much, however long it says it is.
pub(crate) fn search(rest: &[u8], counts: impl Fn(usize, Frame<'_>) -> bool) -> Option<usize> {
    let checks = LazyCell::new(|| Checks::new(rest));
    (1..rest.len()).find(|&at| {
        let frame = Frame::claimed(&rest[at..]).filter(|&frame| counts(at, frame));
        frame.is_some_and(|frame| checks.is_whole(at, frame))
    })
}
