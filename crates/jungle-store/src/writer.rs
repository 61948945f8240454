//! The one who writes to the log: at any time one thread has it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, DiskFile, write_full};
use crate::error::{IoError, doing};
use crate::frame::{FRAME_HEADER, Header};
use crate::planted::{Bug, is_awake};
use crate::segment::{Blank, SEGMENT_HEADER, name};

/// The first segment is no longer than this, each later one twice the one before, up to the limit
/// that was set: a small Jungle has a small folder.
const FIRST_SEGMENT_BYTES: u64 = 256 << 10;

/// What the log has written since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogStats {
    /// Groups of commits, each written at once.
    pub groups: u64,
    /// Bytes of these groups.
    pub bytes: u64,
    /// How often a group, or several, were made to last. Not those of a new segment.
    pub syncs: u64,
}

/// The newest segment, and the place behind its last frame.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    name: String,
    /// Where the next frame goes, and up to where all is synced.
    offset: u64,
    synced: u64,
    /// The checksum of the last frame.
    check: u32,
    /// How long the segment is to become, and how long any may.
    bytes: u64,
    bytes_max: u64,
    pub(crate) stats: LogStats,
}

/// Where a writer begins.
pub(crate) struct Start {
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) check: u32,
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

impl Writer {
    /// Goes on at the end of a log all of which is synced.
    pub(crate) fn new(disk: Arc<dyn Disk>, start: Start, bytes_max: u64) -> Writer {
        let Start { file, name, offset, check, bytes } = start;
        let stats = LogStats::default();
        Writer { disk, file, name, offset, synced: offset, check, bytes, bytes_max, stats }
    }

    /// Begins a log that has no segment yet.
    pub(crate) fn first(disk: Arc<dyn Disk>, bytes_max: u64) -> Result<Writer, IoError> {
        let blank = Blank::create(&*disk, FIRST_SEGMENT_BYTES.min(bytes_max))?;
        let (file, bytes, check) = blank.into_segment(&*disk, 1, 0)?;
        let offset = SEGMENT_HEADER as u64;
        let start = Start { file, name: name(1), offset, check, bytes };
        Ok(Writer::new(disk, start, bytes_max))
    }

    /// The checksum of the last frame.
    pub(crate) fn check(&self) -> u32 {
        self.check
    }

    /// Writes a group: records with room for a header in front.
    pub(crate) fn write(
        &mut self,
        frame: &mut [u8],
        first: u64,
        next: &Next,
    ) -> Result<(), IoError> {
        if self.offset + frame.len() as u64 > self.bytes && self.offset > SEGMENT_HEADER as u64 {
            self.roll(first, next)?;
        }
        self.put(frame, first)?;
        self.stats.groups += 1;
        self.stats.bytes += frame.len() as u64;
        Ok(())
    }

    fn put(&mut self, frame: &mut [u8], first: u64) -> Result<(), IoError> {
        // A segment that is over its limit takes nothing more, so this fits.
        let unsynced = u32::try_from(self.offset - self.synced).expect("of one segment");
        let check = Header { previous: self.check, unsynced, first }.put(frame);
        write_full(&*self.file, frame, self.offset).map_err(doing("write", &self.name))?;
        self.offset += frame.len() as u64;
        self.check = check;
        Ok(())
    }

    /// Makes all that was written last.
    pub(crate) fn sync(&mut self) -> Result<(), IoError> {
        if self.synced == self.offset {
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
        self.synced = self.offset;
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
        let (file, bytes, check) = blank.into_segment(&*self.disk, first, self.check)?;
        drop(filling);
        self.put(&mut [0; FRAME_HEADER], first)?;
        self.file.sync_data().map_err(doing("sync", &self.name))?;
        (self.file, self.name, self.bytes, self.check) = (file, name(first), bytes, check);
        self.offset = SEGMENT_HEADER as u64;
        self.synced = self.offset;
        Ok(())
    }

    fn next_bytes(&self) -> u64 {
        (2 * self.bytes).min(self.bytes_max)
    }

    /// How far the next segment should be filled by now, and how long it is to be: it is begun
    /// when this one is half full, and done when it is three quarters full.
    pub(crate) fn next_wanted(&self) -> Option<(u64, u64)> {
        let over = self.offset.checked_sub(self.bytes / 2)?;
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

    /// Fills the next segment up to here, if nobody else is at it.
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
            Filling::Begun(blank) => blank.fill(up_to),
            _ => Ok(()),
        }
    }

    /// Waits until nobody is filling it, and lets nobody begin.
    pub(crate) fn close(&self) {
        *self.lock() = Filling::Over;
    }
}
