//! Opening a folder.

use std::fmt;
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use jungle_db::{
    Builder, Clock, CommitRecord, Durability, Journal, JournalError, Jungle, Retention, Revision,
};
use jungle_tree::ArenaOptions;

use crate::disk::{Disk, DiskFile, FolderDisk, Lock, Mode, write_full};
use crate::error::{LogError, OpenError, doing};
use crate::log::Log;
use crate::mark::{LOCK, Mark};
use crate::planted::{Bug, is_awake};
use crate::recover::{Cut, End, recover};
use crate::segment::{LOG, NEXT};
use crate::writer::{LogStats, Start, Writer};

/// The bytes that a segment of the log has unless something else is set: 16 MiB.
pub const SEGMENT_BYTES: u64 = 16 << 20;

/// How a folder is opened.
///
/// ```
/// use jungle_store::{Durability, OpenOptions};
/// # let dir = std::env::temp_dir().join(format!("jungle-store-doc-{}", std::process::id()));
/// let store = OpenOptions::new().durability(Durability::Buffered).open(&dir)?;
/// store.create_tree("board")?;
/// store.close()?;
/// assert!(OpenOptions::new().read_only().open(&dir)?.report().was_closed);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct OpenOptions {
    jungle: Builder,
    segment_bytes: u64,
    read_only: bool,
}

/// A Jungle that is kept in a folder. It can be used as the [`Jungle`] it holds.
///
/// When it and all handles from it are dropped, it is closed: what waited in memory is written,
/// and the log is marked as complete. [`close`](Store::close) does that at once, and tells if it
/// failed.
pub struct Store {
    jungle: Jungle,
    log: Arc<OpenLog>,
    disk: Arc<dyn Disk>,
    report: OpenReport,
}

/// What was found as a folder was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The newest revision.
    pub revision: Revision,
    /// How many segments the log has.
    pub segments: u64,
    /// How many bytes its commits take.
    pub log_bytes: u64,
    /// Whether it was closed, so that its end is known; true of a new one.
    pub was_closed: bool,
    /// What was cut off at its end (what would be, if it is only read).
    pub cut: Option<Cut>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// Everything as usual: [`Durability::Sync`], no clock, all revisions kept.
    pub fn new() -> OpenOptions {
        let jungle = Jungle::builder();
        OpenOptions { jungle, segment_bytes: SEGMENT_BYTES, read_only: false }
    }

    /// What commits survive that do not say it themselves.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.jungle = self.jungle.durability(durability);
        self
    }

    /// Where the times of commits come from.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.jungle = self.jungle.clock(clock);
        self
    }

    /// How much memory it may take.
    pub fn arena(mut self, options: ArenaOptions) -> Self {
        self.jungle = self.jungle.arena(options);
        self
    }

    /// What new trees and branches keep of their history in memory.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.jungle = self.jungle.retention(retention);
        self
    }

    /// How long a segment of the log may become, in bytes: from 256 to 1 GiB, else the nearer of
    /// the two. A commit that is longer gets a segment of its own.
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes.clamp(256, 1 << 30);
        self
    }

    /// Changes nothing in the folder, which must be there. Others may read it at the same time,
    /// but nobody may have it open to write.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Opens a folder; makes it when it is not there.
    ///
    /// # Errors
    /// When somebody has it open, when it is damaged or not a Jungle's, or the system refuses
    /// something.
    pub fn open(self, folder: impl AsRef<Path>) -> Result<Store, OpenError> {
        let folder = folder.as_ref();
        let disk = if self.read_only {
            FolderDisk::new(folder)
        } else {
            FolderDisk::create(folder).map_err(doing("create", &folder.to_string_lossy()))?
        };
        self.open_on(Arc::new(disk))
    }

    /// Opens what is on a disk.
    ///
    /// # Errors
    /// As [`open`](OpenOptions::open).
    pub fn open_on(self, disk: Arc<dyn Disk>) -> Result<Store, OpenError> {
        let lock = self.lock(&*disk)?;
        let mark = Mark::read(&*lock)?;
        if !self.read_only {
            disk.create_folder(LOG).map_err(doing("create", LOG))?;
            disk.sync_folder("").map_err(doing("sync", "the folder"))?;
            remove_next(&*disk)?;
        }
        let log = Arc::new(OpenLog::default());
        let jungle = self.jungle.journal(Arc::clone(&log)).build()?;
        let end = recover(&*disk, mark, &jungle)?;
        let report = OpenReport::new(end.as_ref());
        let writer = match end {
            _ if self.read_only => None,
            Some(end) => Some(go_on(&disk, end, self.segment_bytes)?),
            None => Some(Writer::first(Arc::clone(&disk), self.segment_bytes)?),
        };
        if writer.is_some() && !(is_awake(Bug::MarkStays) && mark.is_some()) {
            Mark::InUse.write(&*lock)?;
        }
        let newest = report.revision.number();
        let ready = log.0.set(Log::new(Arc::clone(&disk), lock, writer, newest));
        assert!(ready.is_ok(), "set once, here");
        Ok(Store { jungle, log, disk, report })
    }

    /// Makes sure that this is, or becomes, a Jungle's folder, and that nobody else has it.
    pub(crate) fn lock(&self, disk: &dyn Disk) -> Result<Box<dyn DiskFile>, OpenError> {
        let folder = || disk.place().into();
        let there = match disk.list("") {
            Ok(there) => there,
            Err(error) if self.read_only && error.kind() == ErrorKind::NotFound => {
                return Err(OpenError::Nothing { folder: folder() });
            }
            Err(error) => return Err(doing("list", "the folder")(error).into()),
        };
        let has = |name: &str| there.iter().any(|file| file == name);
        let (mode, lock) = match self.read_only {
            true if !has(LOCK) || !has(LOG) => {
                return Err(OpenError::Nothing { folder: folder() });
            }
            true => (Mode::Read, Lock::Shared),
            false if !there.is_empty() && !has(LOCK) && !has(LOG) => {
                return Err(OpenError::NotAJungle { folder: folder() });
            }
            false => (Mode::Create, Lock::Exclusive),
        };
        let file = disk.open(LOCK, mode).map_err(doing("open", LOCK))?;
        if !file.try_lock(lock).map_err(doing("lock", LOCK))? {
            return Err(OpenError::Locked { folder: folder() });
        }
        Ok(file)
    }
}

/// Puts the end of a log in order, and goes on behind it.
///
/// What nobody knows to be synced is written once more: after a failed sync the system shows bytes
/// that are not on the disk, and calls them clean.
fn go_on(disk: &Arc<dyn Disk>, end: End, bytes_max: u64) -> Result<Writer, OpenError> {
    let name = end.name.as_str();
    let file = disk.open(name, Mode::Write).map_err(doing("open", name))?;
    if !end.closed {
        disk.sync_folder(LOG).map_err(doing("sync", LOG))?;
    }
    let (mut from, to) = (end.doubtful.min(end.offset), end.offset);
    if is_awake(Bug::DoubtfulNotRewritten) {
        from = to;
    }
    write_full(&*file, &end.bytes[from..to], from as u64).map_err(doing("write", name))?;
    if let Some(cut) = &end.cut {
        let torn = is_awake(Bug::CutTooMuch);
        let from = if torn { end.last_frame as u64 } else { cut.offset };
        let zeros = vec![0; (cut.offset + cut.bytes - from) as usize];
        write_full(&*file, &zeros, from).map_err(doing("write", name))?;
    }
    if !end.closed || end.cut.is_some() {
        file.sync_data().map_err(doing("sync", name))?;
    }
    let (offset, bytes) = (end.offset as u64, end.bytes.len() as u64);
    let start = Start { file, name: end.name, offset, check: end.check, bytes };
    Ok(Writer::new(Arc::clone(disk), start, bytes_max))
}

/// Removes what was to become a segment; its name is needed again.
pub(crate) fn remove_next(disk: &dyn Disk) -> Result<(), OpenError> {
    match disk.remove(NEXT) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(doing("remove", NEXT)(error).into())
        }
        _ => Ok(()),
    }
}

impl OpenReport {
    fn new(end: Option<&End>) -> OpenReport {
        let Some(end) = end else {
            let (revision, cut) = (Revision::default(), None);
            return OpenReport { revision, segments: 0, log_bytes: 0, was_closed: true, cut };
        };
        OpenReport {
            revision: Revision::new(end.revision),
            segments: end.segments,
            log_bytes: end.log_bytes,
            was_closed: end.closed,
            cut: end.cut.clone(),
        }
    }
}

impl Store {
    /// Opens a folder with everything as usual; makes it when it is not there.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Store, OpenError> {
        OpenOptions::new().open(folder)
    }

    /// The Jungle in it.
    #[must_use]
    pub fn jungle(&self) -> &Jungle {
        &self.jungle
    }

    /// What was found as it was opened.
    #[must_use]
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// What the log has written since it was opened.
    #[must_use]
    pub fn log_stats(&self) -> LogStats {
        self.log.0.get().map(Log::stats).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> &Log {
        self.log.get()
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Writes what waits in memory, notes that the log is complete, and gives the folder free.
    /// Handles that are still there can read on; what they commit is refused.
    ///
    /// # Errors
    /// When something cannot be written, or could not be before.
    pub fn close(self) -> Result<(), LogError> {
        self.log.0.get().map_or(Ok(()), Log::close)
    }
}

impl Deref for Store {
    type Target = Jungle;

    fn deref(&self) -> &Jungle {
        &self.jungle
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("jungle", &self.jungle)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

/// The log, from when it was read: the Jungle that it is read into needs a journal before.
#[derive(Default)]
struct OpenLog(OnceLock<Log>);

impl OpenLog {
    fn get(&self) -> &Log {
        self.0.get().expect("nothing commits before the log was read")
    }
}

impl Journal for OpenLog {
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
        self.get().append(record).map_err(JournalError::new)
    }

    fn wait(&self, revision: Revision, durability: Durability) -> Result<(), JournalError> {
        self.get().wait(revision.number(), durability).map_err(JournalError::new)
    }
}
