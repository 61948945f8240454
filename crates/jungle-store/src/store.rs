//! An open folder.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jungle_db::{CommitRecord, Durability, Journal, JournalError, Jungle, Revision};
use jungle_tree::ArenaOptions;

use crate::checkpoint::{Background, CheckpointError, CheckpointReport, Checkpoints, Waker};
use crate::disk::Disk;
use crate::error::{IoError, LogError, OpenError, doing};
use crate::log::Log;
use crate::log::writer::LogStats;
use crate::open::{Ahead, OpenOptions, OpenReport};
use crate::progress::Progress;
use crate::usage::{DiskUsage, disk_usage};

/// Closing writes a checkpoint when the log has grown by this part of that.
const CLOSE_PART: u64 = 16;

/// A Jungle that is kept in a folder. It can be used as the [`Jungle`] it holds.
///
/// When it and all handles from it are dropped, it is closed: what waited in memory is written,
/// and the log is marked as complete. [`close`](Store::close) does that at once, and tells if it
/// failed.
///
/// ```
/// use jungle_store::Store;
/// # let dir = std::env::temp_dir().join(format!("jungle-store-doc-{}", std::process::id()));
/// let store = Store::open(&dir)?;
/// let posted = store.create_tree("board")?.update(|tx| tx.append(&[]))?;
/// store.close()?;
///
/// let store = Store::open(&dir)?;
/// assert!(store.report().was_closed);
/// assert_eq!(store.open_tree("board")?.at(posted.revision)?.root().child_count(), 1);
/// # drop(store);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    /// Unless it is only read.
    pub(crate) keeping: Option<Keeping>,
    pub(crate) checkpoints: Arc<Checkpoints>,
    pub(crate) jungle: Jungle,
    pub(crate) log: Arc<OpenLog>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) report: OpenReport,
    /// The folder that its trees spill into, if they do.
    pub(crate) spill: Option<PathBuf>,
    /// So long a backup waits for those who read the copy.
    pub(crate) readers_waited_for: Duration,
}

impl Store {
    /// Opens a folder with everything as usual; makes it when it is not there.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    ///
    /// ```
    /// use jungle_store::{OpenError, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-open-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// // One at a time.
    /// assert!(matches!(Store::open(&dir), Err(OpenError::Locked { .. })));
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(folder: impl AsRef<Path>) -> Result<Store, OpenError> {
        OpenOptions::new().open(folder)
    }

    /// The Jungle in it.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-inner-{}", std::process::id()));
    /// fn count(jungle: &Jungle) -> usize {
    ///     jungle.list_trees().len()
    /// }
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// assert_eq!(count(store.jungle()), 1);
    /// // It can be kept; what is committed to it after the store was closed is refused.
    /// let jungle = store.jungle().clone();
    /// store.close()?;
    /// assert!(jungle.create_tree("another").is_err());
    /// # drop(jungle);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn jungle(&self) -> &Jungle {
        &self.jungle
    }

    /// What was found as it was opened.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-found-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// store.close()?;
    /// let store = Store::open(&dir)?;
    /// let report = store.report();
    /// assert!(report.was_closed && report.cut.is_none());
    /// assert_eq!((report.revision.number(), report.segments), (1, 1));
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// What the log has written since it was opened.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-stats-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// let before = store.log_stats();
    /// tree.update(|tx| tx.append(&[]))?;
    /// let after = store.log_stats();
    /// assert_eq!((after.groups - before.groups, after.syncs - before.syncs), (1, 1));
    /// assert!(after.bytes > before.bytes);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn log_stats(&self) -> LogStats {
        self.log.log.get().map(Log::stats).unwrap_or_default()
    }

    /// The newest revision that is in a checkpoint; 0 without one.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-new-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// store.checkpoint()?;
    /// let checkpointed = store.checkpointed();
    /// store.create_tree("another")?;
    /// assert!(store.checkpointed() == checkpointed && store.revision() > checkpointed);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checkpointed(&self) -> Revision {
        self.checkpoints.revision()
    }

    /// Why no checkpoint could be written in the background, if none was since. Nothing is lost by
    /// that, the log has everything, but opening the folder takes the longer the longer this lasts.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-error-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// if let Some(error) = store.checkpoint_error() {
    ///     eprintln!("no checkpoint since {}: {error}", store.checkpointed());
    /// }
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checkpoint_error(&self) -> Option<Arc<CheckpointError>> {
        self.checkpoints.error()
    }

    /// As [`checkpointed`](Store::checkpointed) and [`checkpoint_error`](Store::checkpoint_error)
    /// tell it, for somebody who watches a store that is another's.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = std::env::temp_dir().join(format!("jungle-status-{}", std::process::id()));
    /// let store = jungle_store::Store::open(&dir)?;
    /// let checkpoints = store.checkpoints();
    /// store.create_tree("notes")?;
    /// store.checkpoint()?;
    /// assert_eq!(checkpoints.newest(), store.revision());
    /// assert!(checkpoints.error().is_none());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn checkpoints(&self) -> CheckpointStatus {
        CheckpointStatus { of: Arc::clone(&self.checkpoints) }
    }

    /// How an arena is made for something beside this that is as large: it spills where this does
    /// ([`OpenOptions::spill`]), and may have as many bytes as usual.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_store::{OpenOptions, Spill};
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-aside-{}", std::process::id()));
    /// let store = OpenOptions::new().spill(Spill::Always).open(&dir)?;
    /// assert_eq!(store.arena_beside().spill.as_ref(), Some(&dir));
    /// let another = Jungle::builder().arena(store.arena_beside()).build()?;
    /// assert!(another.list_trees().is_empty());
    /// # drop((another, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn arena_beside(&self) -> ArenaOptions {
        ArenaOptions { spill: self.spill.clone(), ..ArenaOptions::default() }
    }

    /// Refuses what reads the folder anew where somebody else writes to it: what is there now is
    /// not what was seen.
    pub(crate) fn must_stand_still(&self) -> Result<(), OpenError> {
        match self.report.is_written_elsewhere {
            true => Err(OpenError::Locked { folder: self.disk.place().into() }),
            false => Ok(()),
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.keeping.is_none()
    }

    pub(crate) fn log(&self) -> &Log {
        self.log.get()
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Writes a checkpoint now, if there is anything new; readers and writers go on meanwhile. In
    /// the background it is done as [`OpenOptions::checkpoint_every`] says, and on closing.
    ///
    /// # Errors
    /// When it cannot be written. Nothing is lost by that.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-checkpoint-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// assert_eq!(store.checkpointed().number(), 0);
    /// store.checkpoint()?;
    /// assert_eq!(store.checkpointed(), store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkpoint(&self) -> Result<CheckpointReport, CheckpointError> {
        self.checkpoint_telling(&Progress::default())
    }

    /// As [`checkpoint`](Store::checkpoint), and tells how many slabs were written; of how many is
    /// not known. If it is given up, the checkpoint before stays the newest. One that is being
    /// written in the background is waited for in any case.
    ///
    /// # Errors
    /// As [`checkpoint`](Store::checkpoint), and when it was
    /// [given up](CheckpointError::is_given_up).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use jungle_store::{Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-told-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let given_up = Arc::new(AtomicBool::new(true));
    /// let progress = Progress::default().until(Arc::clone(&given_up));
    /// assert!(store.checkpoint_telling(&progress).unwrap_err().is_given_up());
    /// assert_eq!(store.checkpointed().number(), 0);
    /// given_up.store(false, Ordering::SeqCst);
    /// assert_eq!(store.checkpoint_telling(&progress)?.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkpoint_telling(
        &self,
        progress: &Progress,
    ) -> Result<CheckpointReport, CheckpointError> {
        if self.is_read_only() {
            return Err(LogError::ReadOnly.into());
        }
        self.checkpoints.write_own(&self.jungle, self.log.get(), progress)
    }

    /// Makes the file of the newest checkpoint as small as it can be: the place of what is in no
    /// checkpoint any more is used again by later ones, and given back by this only. Readers and
    /// writers go on meanwhile. It takes the time to read and write what is there, and room for
    /// that until it is done.
    ///
    /// # Errors
    /// When it cannot be written. Nothing is lost by that.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-compact-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// tree.update(|tx| tx.put_attribute(&[], "text", &*"long ".repeat(1_000_000)))?;
    /// store.checkpoint()?;
    /// // Whoever has a handle of a tree that was deleted can read on.
    /// drop(tree);
    /// store.delete_tree("board")?;
    /// store.collect()?;
    /// store.checkpoint()?;
    /// let before = store.disk_usage()?.pages_bytes;
    /// store.compact()?;
    /// assert!(store.disk_usage()?.pages_bytes <= before);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(&self) -> Result<(), CheckpointError> {
        self.compact_telling(&Progress::default())
    }

    /// As [`compact`](Store::compact), and tells how many values of the checkpoint were copied. If
    /// it is given up, the file is what it was, and the copy is removed.
    ///
    /// # Errors
    /// As [`compact`](Store::compact), and when it was
    /// [given up](CheckpointError::is_given_up).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    /// use jungle_store::{Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-small-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// store.checkpoint()?;
    /// let progress = Progress::default().until(Arc::new(AtomicBool::new(true)));
    /// assert!(store.compact_telling(&progress).unwrap_err().is_given_up());
    /// store.compact_telling(&Progress::new(|done, of| println!("{done} of {of}")))?;
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact_telling(&self, progress: &Progress) -> Result<(), CheckpointError> {
        if self.is_read_only() {
            return Err(LogError::ReadOnly.into());
        }
        self.checkpoints.compact(progress)
    }

    /// How many bytes its files have.
    ///
    /// # Errors
    /// When the system does not tell.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-store-bytes-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// // Room in the log is made ahead.
    /// assert!(store.disk_bytes()? > store.log_stats().bytes);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn disk_bytes(&self) -> Result<u64, IoError> {
        self.disk_usage().map(|usage| usage.total())
    }

    /// How many bytes which of its files have.
    ///
    /// # Errors
    /// When the system does not tell.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-usage-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let usage = store.disk_usage()?;
    /// assert!(usage.segments == 1 && usage.log_bytes > 0);
    /// assert_eq!(usage.total(), store.disk_bytes()?);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn disk_usage(&self) -> Result<DiskUsage, IoError> {
        disk_usage(&*self.disk)
    }

    /// Writes what waits in memory, and a checkpoint if much is new; notes that the log is
    /// complete, and gives the folder free. Handles that are still there can read on; what they
    /// commit is refused.
    ///
    /// # Errors
    /// When something cannot be written, or could not be before. That there is no checkpoint is
    /// none: the log has everything.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-close-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// store.close()?;
    /// assert!(tree.update(|tx| tx.append(&[])).is_err());
    /// assert_eq!(tree.read().root().child_count(), 0);
    /// assert!(Store::open(&dir)?.report().was_closed);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(mut self) -> Result<(), LogError> {
        self.stop();
        self.log.log.get().map_or(Ok(()), Log::close)
    }

    fn stop(&mut self) {
        if let Some(keeping) = self.keeping.take() {
            keeping.stop(&self.checkpoints, &self.jungle, self.log.get());
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How the checkpoints of a [`Store`] are, now and later: [`Store::checkpoints`] has an example.
#[derive(Clone)]
pub struct CheckpointStatus {
    of: Arc<Checkpoints>,
}

impl CheckpointStatus {
    /// The newest revision that is in a checkpoint; 0 without one.
    #[must_use]
    pub fn newest(&self) -> Revision {
        self.of.revision()
    }

    /// Why no checkpoint could be written in the background, if none was since.
    #[must_use]
    pub fn error(&self) -> Option<Arc<CheckpointError>> {
        self.of.error()
    }
}

impl fmt::Debug for CheckpointStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckpointStatus({}, {:?})", self.newest(), self.error())
    }
}

/// Who writes checkpoints.
pub(crate) struct Keeping {
    background: Option<Background>,
    every: u64,
}

impl Keeping {
    pub(crate) fn start(
        jungle: &Jungle,
        log: &Arc<OpenLog>,
        checkpoints: &Arc<Checkpoints>,
        every: u64,
        mut ahead: Option<Ahead>,
    ) -> Result<Keeping, OpenError> {
        if every == u64::MAX {
            return Ok(Keeping { background: None, every });
        }
        let written = log.get().bytes() - checkpoints.log_bytes_since(log.get());
        let work = {
            let (jungle, log) = (jungle.clone(), Arc::clone(log));
            let checkpoints = Arc::clone(checkpoints);
            move || {
                // If it fails in a read, so does whoever writes with the same engine.
                drop(ahead.take());
                checkpoints.write_unasked(&jungle, log.get());
                log.get().bytes()
            }
        };
        let background = Background::start(every, written, work);
        let background = background.map_err(doing("start", "a thread for checkpoints"))?;
        log.waker.get_or_init(|| background.waker());
        Ok(Keeping { background: Some(background), every })
    }

    fn stop(self, checkpoints: &Checkpoints, jungle: &Jungle, log: &Log) {
        let Some(background) = self.background else { return };
        drop(background);
        if checkpoints.log_bytes_since(log) >= self.every / CLOSE_PART {
            checkpoints.write_unasked(jungle, log);
        }
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
pub(crate) struct OpenLog {
    pub(crate) log: OnceLock<Log>,
    pub(crate) waker: OnceLock<Waker>,
}

impl OpenLog {
    pub(crate) fn get(&self) -> &Log {
        self.log.get().expect("nothing commits before the log was read")
    }
}

impl Journal for OpenLog {
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
        self.get().append(record).map_err(JournalError::new)
    }

    fn wait(&self, revision: Revision, durability: Durability) -> Result<(), JournalError> {
        let log = self.get();
        let waited = log.wait(revision.number(), durability).map_err(JournalError::new);
        if let Some(waker) = self.waker.get() {
            waker.tell(log.bytes());
        }
        waited
    }
}
