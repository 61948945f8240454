//! The one who writes to the log: at any time one thread has it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::frame::{FRAME_HEADER, Header};
use super::segment::{Blank, NEXT, SEGMENT_HEADER, name};
use crate::disk::{Disk, DiskFile, write_full};
use crate::error::{IoError, doing};
use crate::planted::{Bug, is_awake};

/// The first segment is no longer than this, each later one twice the one before, up to the limit
/// that was set: a small Jungle has a small folder.
const FIRST_SEGMENT_BYTES: u64 = 256 << 10;

/// What the log has written since it was opened: [`Store::log_stats`](crate::Store::log_stats) has
/// an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogStats {
    /// Groups of commits, each written at once.
    pub groups: u64,
    /// Bytes of these groups.
    pub bytes: u64,
    /// How often a group, or several, were made to last. Not those of a new segment.
    pub syncs: u64,
    /// Did the disk have no room for the next segment when it was last filled ahead? The log ends
    /// when the one that is written to is full, unless there is room again by then.
    pub has_no_room_ahead: bool,
}

/// A place in the log, between two frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// The first revision of its segment.
    pub(crate) segment: u64,
    /// Where in that, in bytes.
    pub(crate) offset: u64,
    /// The checksum of the frame before, or of the segment's header.
    pub(crate) check: u32,
    /// The revision of the next record.
    pub(crate) next: u64,
    /// Bytes of the log before it, zeros ahead not counted.
    pub(crate) bytes: u64,
}

/// The newest segment, and the place behind its last frame.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    name: String,
    /// Where the next frame goes.
    at: LogPosition,
    /// Up to where all of the segment is synced.
    synced: u64,
    /// How long the segment is to become, and how long any may.
    bytes: u64,
    bytes_max: u64,
    pub(crate) stats: LogStats,
}

/// Where a writer begins.
pub(crate) struct Start {
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) at: LogPosition,
    /// How long it was made.
    pub(crate) bytes: u64,
}

/// The file that becomes the next segment, while it is being filled.
#[derive(Default)]
pub(crate) struct Next(Mutex<Filling>);

#[derive(Default)]
enum Filling {
    #[default]
    NotBegun,
    Begun(Blank),
    /// The log is closed: the file's name is another's now.
    Over,
}

impl LogPosition {
    /// The beginning of a segment, behind its header.
    pub(crate) fn first(segment: u64, check: u32, before: u64) -> LogPosition {
        let offset = SEGMENT_HEADER as u64;
        LogPosition { segment, offset, check, next: segment, bytes: before + offset }
    }
}

impl Writer {
    /// Goes on at the end of a log all of which is synced.
    pub(crate) fn new(disk: Arc<dyn Disk>, start: Start, bytes_max: u64) -> Writer {
        let Start { file, at, bytes } = start;
        let (name, stats) = (name(at.segment), LogStats::default());
        Writer { disk, file, name, at, synced: at.offset, bytes, bytes_max, stats }
    }

    /// Begins a log that has no segment yet, with this revision.
    pub(crate) fn first(
        disk: Arc<dyn Disk>,
        first: u64,
        bytes_max: u64,
    ) -> Result<Writer, IoError> {
        let blank = Blank::create(&*disk, FIRST_SEGMENT_BYTES.min(bytes_max))?;
        let (file, bytes, check) = blank.into_segment(&*disk, first, 0)?;
        let at = LogPosition::first(first, check, 0);
        Ok(Writer::new(disk, Start { file, at, bytes }, bytes_max))
    }

    /// Where the next frame goes.
    pub(crate) fn position(&self) -> LogPosition {
        self.at
    }

    /// Bytes of the log that it has synced.
    pub(crate) fn synced_bytes(&self) -> u64 {
        self.at.bytes - (self.at.offset - self.synced)
    }

    /// Does this group go into a new segment?
    pub(crate) fn is_full_before(&self, frame: &[u8]) -> bool {
        let offset = self.at.offset;
        offset + frame.len() as u64 > self.bytes && offset > SEGMENT_HEADER as u64
    }

    /// Writes a group: records with room for a header in front.
    pub(crate) fn write(
        &mut self,
        frame: &mut [u8],
        (first, last): (u64, u64),
        next: &Next,
    ) -> Result<(), IoError> {
        if self.is_full_before(frame) {
            self.roll(first, next)?;
        }
        self.put(frame, first)?;
        self.at.next = last + 1;
        self.stats.groups += 1;
        self.stats.bytes += frame.len() as u64;
        Ok(())
    }

    fn put(&mut self, frame: &mut [u8], first: u64) -> Result<(), IoError> {
        // A segment that is over its limit takes nothing more, so this fits.
        let at = &mut self.at;
        let unsynced = u32::try_from(at.offset - self.synced).expect("of one segment");
        let check = Header { previous: at.check, unsynced, first }.put(frame);
        write_full(&*self.file, frame, at.offset).map_err(doing("write", &self.name))?;
        at.offset += frame.len() as u64;
        at.bytes += frame.len() as u64;
        at.check = check;
        Ok(())
    }

    /// Makes all that was written last.
    pub(crate) fn sync(&mut self) -> Result<(), IoError> {
        if self.synced == self.at.offset {
            return Ok(());
        }
        self.stats.syncs += 1;
        if !(is_awake(Bug::SyncSkipped) && self.stats.syncs.is_multiple_of(8)) {
            let synced = match self.file.sync_data() {
                Err(_) if is_awake(Bug::SyncRetried) => self.file.sync_data(),
                other => other,
            };
            synced.map_err(doing("sync", &self.name))?;
        }
        self.synced = self.at.offset;
        Ok(())
    }

    /// Goes on in a new segment.
    ///
    /// The new one is there for good before the old one is sealed: a log that ends with a seal has
    /// lost its last segment.
    fn roll(&mut self, first: u64, next: &Next) -> Result<(), IoError> {
        self.sync()?;
        // Held until the file has its name: until then nobody may begin another one.
        let mut filling = next.lock();
        let blank = match std::mem::take(&mut *filling) {
            Filling::Begun(blank) => blank,
            _ => Blank::create(&*self.disk, self.next_bytes())?,
        };
        let (file, bytes, check) = blank.into_segment(&*self.disk, first, self.at.check)?;
        drop(filling);
        self.put(&mut [0; FRAME_HEADER], first)?;
        self.file.sync_data().map_err(doing("sync", &self.name))?;
        (self.file, self.name, self.bytes) = (file, name(first), bytes);
        self.at = LogPosition::first(first, check, self.at.bytes);
        self.synced = self.at.offset;
        Ok(())
    }

    fn next_bytes(&self) -> u64 {
        (2 * self.bytes).min(self.bytes_max)
    }

    /// How far the next segment should be filled by now, and how long it is to be: it is begun
    /// when this one is half full, and done when it is three quarters full.
    pub(crate) fn next_wanted(&self) -> Option<(u64, u64)> {
        let over = self.at.offset.checked_sub(self.bytes / 2)?;
        let bytes = self.next_bytes();
        let quarter = (self.bytes / 4).max(1);
        let part = u128::from(bytes) * u128::from(over.min(quarter)) / u128::from(quarter);
        Some((part as u64, bytes))
    }
}

impl Next {
    fn lock(&self) -> MutexGuard<'_, Filling> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills a piece of the next segment, unless it is filled up to here or somebody else is at it.
    /// One at a time: who fills it is one whose commit was just written, and waits meanwhile. A
    /// piece that could not be filled, as the disk is full, is filled anew the next time.
    pub(crate) fn prepare(
        &self,
        disk: &dyn Disk,
        (up_to, bytes): (u64, u64),
    ) -> Result<(), IoError> {
        let Ok(mut next) = self.0.try_lock() else {
            return Ok(());
        };
        if let Filling::NotBegun = *next {
            *next = Filling::Begun(Blank::create(disk, bytes)?);
        }
        match &mut *next {
            Filling::Begun(blank) => blank.fill_piece(up_to),
            _ => Ok(()),
        }
    }

    /// Waits until nobody is filling it, lets nobody begin, and removes what there is of it.
    pub(crate) fn close(&self, disk: &dyn Disk) {
        if let Filling::Begun(_) = std::mem::replace(&mut *self.lock(), Filling::Over) {
            // Whoever opens the folder removes it, too.
            let _ = disk.remove(NEXT);
        }
    }
}
