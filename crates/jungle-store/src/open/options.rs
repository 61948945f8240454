//! How a folder is opened.

use std::path::PathBuf;
use std::time::Duration;

use jungle_db::{Builder, Clock, Durability, Jungle, Retention};
use jungle_tree::ArenaOptions;

use super::Spill;
use crate::progress::Progress;

/// The bytes that a segment of the log has unless something else is set: 16 MiB.
pub const SEGMENT_BYTES: u64 = 16 << 20;

/// By how many bytes the log grows between checkpoints unless something else is set: 1 MiB, which
/// take about 50 ms to read again.
pub const CHECKPOINT_EVERY: u64 = 1 << 20;

/// How many bytes a stream may unpack to that a backup is taken from, unless something else is set:
/// 1 TiB.
pub const STREAM_BYTES_MAX: u64 = 1 << 40;

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
#[derive(Clone)]
pub struct OpenOptions {
    pub(crate) jungle: Builder,
    pub(crate) arena: ArenaOptions,
    pub(super) spill: Spill,
    /// Where to, if there is a folder.
    pub(super) spill_folder: Option<PathBuf>,
    pub(crate) segment_bytes: u64,
    pub(super) checkpoint_every: u64,
    pub(super) without_checkpoint: bool,
    pub(super) read_only: bool,
    pub(super) beside_a_writer: bool,
    pub(super) checked: bool,
    pub(crate) readers_waited_for: Duration,
    pub(crate) stream_bytes_max: u64,
    pub(crate) progress: Progress,
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("OpenOptions");
        shown.field("jungle", &self.jungle);
        shown.field("spill", &self.spill);
        shown.field("segment_bytes", &self.segment_bytes);
        shown.field("checkpoint_every", &self.checkpoint_every);
        shown.field("read_only", &self.read_only);
        shown.field("checked", &self.checked);
        shown.finish_non_exhaustive()
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// Everything as usual: [`Durability::Sync`], no clock, all revisions kept.
    ///
    /// ```
    /// use jungle_store::{Durability, OpenOptions};
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-new-{}", std::process::id()));
    /// let store = OpenOptions::new().open(&dir)?;
    /// assert_eq!(store.durability(), Durability::Sync);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> OpenOptions {
        OpenOptions {
            jungle: Jungle::builder(),
            arena: ArenaOptions::default(),
            spill: Spill::default(),
            spill_folder: None,
            segment_bytes: SEGMENT_BYTES,
            checkpoint_every: CHECKPOINT_EVERY,
            without_checkpoint: false,
            read_only: false,
            beside_a_writer: false,
            checked: false,
            readers_waited_for: Duration::ZERO,
            stream_bytes_max: STREAM_BYTES_MAX,
            progress: Progress::default(),
        }
    }

    /// What commits survive that do not say it themselves.
    ///
    /// ```
    /// use jungle_db::CommitOptions;
    /// use jungle_store::{Durability, OpenOptions};
    /// # let dir = std::env::temp_dir().join(format!("jungle-durability-{}", std::process::id()));
    /// let store = OpenOptions::new().durability(Durability::Memory).open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// assert_eq!(store.log_stats().syncs, 0);
    /// let important = CommitOptions { durability: Some(Durability::Sync), ..Default::default() };
    /// tree.update_with(&important, |tx| tx.append(&[]))?;
    /// assert_eq!(store.log_stats().syncs, 1);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durability(mut self, durability: Durability) -> Self {
        self.jungle = self.jungle.durability(durability);
        self
    }

    /// Where the times of commits come from.
    ///
    /// ```
    /// use jungle_db::{Clock, Timestamp};
    /// use jungle_store::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-clock-{}", std::process::id()));
    /// /// It is always one second after the beginning of 1970.
    /// struct Stopped;
    /// impl Clock for Stopped {
    ///     fn now(&self) -> Timestamp {
    ///         Timestamp::from_micros(1_000_000)
    ///     }
    /// }
    /// let tree = OpenOptions::new().clock(Stopped).open(&dir)?.create_tree("board")?;
    /// let made = tree.history(..).next().unwrap()?;
    /// assert_eq!(made.time.as_micros(), 1_000_000);
    /// # drop(tree);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.jungle = self.jungle.clock(clock);
        self
    }

    /// How much memory it may take.
    ///
    /// ```
    /// use jungle_store::OpenOptions;
    /// use jungle_tree::ArenaOptions;
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-arena-{}", std::process::id()));
    /// let (structure_bytes, payload_bytes) = (1 << 24, 1 << 24);
    /// let small = ArenaOptions { structure_bytes, payload_bytes, ..ArenaOptions::default() };
    /// let store = OpenOptions::new().arena(small).open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// tree.update(|tx| tx.put_attribute(&[], "text", &*"x".repeat(1 << 20)))?;
    /// let too_much = tree.update(|tx| tx.put_attribute(&[], "text", &*"x".repeat(1 << 25)));
    /// assert!(too_much.is_err());
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arena(mut self, options: ArenaOptions) -> Self {
        self.arena = options;
        self
    }

    /// For trees larger than memory: what is not in use may be in a file without a name in the
    /// folder, where the system puts it when it needs the memory for something else, as it does for
    /// a process with a limit (see [`ArenaOptions::spill`]). Nothing is written to a folder that is
    /// only read: what is read there is in the system's folder for temporary files, which should be
    /// on a disk, and not in memory itself. The usual is [`Spill::Auto`];
    /// [`OpenReport::spilling`](crate::OpenReport::spilling) tells what came of it.
    ///
    /// ```
    /// use jungle_store::{OpenOptions, Spill};
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-spill-{}", std::process::id()));
    /// let store = OpenOptions::new().spill(Spill::Always).open(&dir)?;
    /// assert!(store.report().spilling.spills);
    /// let tree = store.create_tree("board")?;
    /// tree.update(|tx| tx.cursor(&[])?.add_children(100_000).map(drop))?;
    /// assert_eq!(tree.read().root().child_count(), 100_000);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spill(mut self, spill: Spill) -> Self {
        self.spill = spill;
        self
    }

    /// What new trees and branches keep of their history, until
    /// [`set_retention`](jungle_db::TreeHandle::set_retention) says otherwise. Those that are there
    /// keep what they were told to keep when they were made.
    ///
    /// ```
    /// use jungle_db::Retention;
    /// use jungle_store::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-kept-{}", std::process::id()));
    /// let store = OpenOptions::new().retention(Retention::Last(2)).open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// (0..5).try_for_each(|n| tree.update(|tx| tx.put_attribute(&[], "n", n)).map(drop))?;
    /// assert_eq!(tree.history(..).count(), 2);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retention(mut self, retention: Retention) -> Self {
        self.jungle = self.jungle.retention(retention);
        self
    }

    /// How long a segment of the log may become, in bytes: from 256 to 1 GiB, else the nearer of
    /// the two. A commit that is longer gets a segment of its own.
    ///
    /// ```
    /// use jungle_store::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-short-{}", std::process::id()));
    /// let store = OpenOptions::new().segment_bytes(256).open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// let long = "x".repeat(200);
    /// (0..5).try_for_each(|_| tree.update(|tx| tx.put_attribute(&[], "n", &*long)).map(drop))?;
    /// assert!(store.disk_usage()?.segments > 1);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes.clamp(256, 1 << 30);
        self
    }

    /// How much longer the log is to become, in bytes, before a checkpoint is written beside the
    /// writers; [`u64::MAX`] is never, unless
    /// [`Store::checkpoint`](crate::Store::checkpoint) is called.
    ///
    /// ```
    /// use jungle_store::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("jungle-every-{}", std::process::id()));
    /// let store = OpenOptions::new().checkpoint_every(u64::MAX).open(&dir)?;
    /// store.create_tree("board")?;
    /// assert_eq!(store.checkpoint()?.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkpoint_every(mut self, log_bytes: u64) -> Self {
        self.checkpoint_every = log_bytes;
        self
    }

    /// Reads the whole log, and leaves the checkpoint out that is there: the next one will be a new
    /// one.
    ///
    /// ```
    /// use jungle_store::{OpenOptions, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-log-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let checkpoint = store.checkpoint()?.revision;
    /// drop(store);
    /// assert_eq!(Store::open(&dir)?.report().checkpoint, checkpoint);
    /// let read_anew = OpenOptions::new().without_checkpoint().open(&dir)?;
    /// assert_eq!((read_anew.report().checkpoint.number(), read_anew.revision()), (0, checkpoint));
    /// # drop(read_anew);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn without_checkpoint(mut self) -> Self {
        self.without_checkpoint = true;
        self
    }

    /// Who is told how much of the log was read, where there is much of it, and may have that
    /// [given up](Progress::until).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use jungle_store::{Durability, OpenOptions, Progress};
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-told-{}", std::process::id()));
    /// let store = OpenOptions::new().durability(Durability::Memory).open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// (0..3_000).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// drop((tree, store));
    /// let seen = Arc::new(AtomicU64::new(0));
    /// let told = Arc::clone(&seen);
    /// let progress = Progress::new(move |done, _| told.store(done, Ordering::Relaxed));
    /// let store = OpenOptions::new().without_checkpoint().progress(progress).open(&dir)?;
    /// assert!(seen.load(Ordering::Relaxed) > 1_000);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// How many bytes a stream may unpack to that [`take_backup`](OpenOptions::take_backup) takes:
    /// the values of its checkpoint, and the files of its log, with the zeros at their ends. The
    /// stream says how long these are, so without a limit a few bytes could take all of a disk.
    /// [`STREAM_BYTES_MAX`] is the usual. Whatever the limit is, segments of which next to nothing
    /// came but how long they are, are [refused](crate::StreamError::Zeros) early.
    ///
    /// ```
    /// use jungle_db::Revision;
    /// use jungle_store::{BackupError, BackupProgress, OpenOptions, Progress, Store, StreamError};
    /// # let dir = std::env::temp_dir().join(format!("jungle-stream-most-{}", std::process::id()));
    /// let store = Store::open(dir.join("data"))?;
    /// store.create_tree("board")?;
    /// let mut stream = Vec::new();
    /// store.write_backup(Revision::new(0), &mut stream, Progress::default())?;
    /// let take = |options: OpenOptions| {
    ///     let progress = BackupProgress::default();
    ///     options.take_backup(dir.join("copy"), progress, |_| Ok(stream.as_slice()))
    /// };
    /// // The log has more than a hundred thousand zeros ahead.
    /// let refused = take(OpenOptions::new().stream_bytes_max(100_000));
    /// assert!(matches!(refused, Err(BackupError::Stream(StreamError::TooMuch { .. }))));
    /// assert_eq!(take(OpenOptions::new())?.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream_bytes_max(mut self, bytes: u64) -> Self {
        self.stream_bytes_max = bytes;
        self
    }

    /// Changes nothing in the folder, which must be there. Others may read it at the same time,
    /// but nobody may have it open to write.
    ///
    /// ```
    /// use jungle_store::{OpenError, OpenOptions, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-read-only-{}", std::process::id()));
    /// let read_only = || OpenOptions::new().read_only();
    /// assert!(matches!(read_only().open(&dir), Err(OpenError::Nothing { .. })));
    /// Store::open(&dir)?.create_tree("board")?;
    /// let (one, another) = (read_only().open(&dir)?, read_only().open(&dir)?);
    /// assert_eq!(one.list_trees(), another.list_trees());
    /// assert!(one.create_tree("another").is_err());
    /// # drop((one, another));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// How long whoever opens it to write waits for others that only read it, before that is
    /// [refused](crate::OpenError::Locked): not at all unless this says otherwise. Nobody waits for
    /// somebody else who writes to it. A [backup](crate::Store::backup) of it, or one that is
    /// [taken](OpenOptions::take_backup), waits as long for those who read the copy.
    ///
    /// ```
    /// use std::time::Duration;
    /// use jungle_store::{OpenError, OpenOptions, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-waiting-{}", std::process::id()));
    /// Store::open(&dir)?.close()?;
    /// let patient = || OpenOptions::new().wait_for_readers(Duration::from_millis(50));
    /// let reader = OpenOptions::new().read_only().open(&dir)?;
    /// assert!(matches!(patient().open(&dir), Err(OpenError::Locked { .. })));
    /// let writer = std::thread::scope(|scope| {
    ///     let waiting = scope.spawn(|| patient().wait_for_readers(Duration::MAX).open(&dir));
    ///     drop(reader);
    ///     waiting.join().expect("it does not panic")
    /// });
    /// writer?.create_tree("board")?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for_readers(mut self, at_most: Duration) -> Self {
        self.readers_waited_for = at_most;
        self
    }

    /// As [`read_only`](OpenOptions::read_only), even while somebody else has it open to write.
    /// Then what is seen is how it was at one moment: all that was acknowledged before as
    /// [`Sync`](Durability::Sync) or [`Buffered`](Durability::Buffered), nothing in part, nothing
    /// that is committed later. (Where the log of a cluster makes commits last, they are in the
    /// folder a second later.) The writer does not notice. The checkpoint is copied into a file
    /// without a name in the system's folder for temporary files.
    ///
    /// ```
    /// use jungle_store::{OpenOptions, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-beside-{}", std::process::id()));
    /// let writer = Store::open(&dir)?;
    /// writer.create_tree("board")?;
    /// let seen = OpenOptions::new().beside_a_writer().open(&dir)?;
    /// writer.create_tree("another")?;
    /// assert_eq!((seen.list_trees().len(), writer.list_trees().len()), (1, 2));
    /// assert!(seen.report().is_written_elsewhere);
    /// # drop((seen, writer));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn beside_a_writer(mut self) -> Self {
        self.read_only = true;
        self.beside_a_writer = true;
        self
    }

    /// Checks the form of each tree in the checkpoint before the log behind it is done again, and
    /// of each older version that a branch goes on from. For a folder that others may have changed:
    /// checksums tell damage, not forgery, and an edit of what is badly formed may panic, or not
    /// end. Badly formed trees are a checkpoint that cannot be used: it is left out where the log
    /// is complete, as the [report](crate::OpenReport::ignored) says. All trees are loaded for it.
    ///
    /// The other older versions are not checked: reading those of a forged folder may not end.
    ///
    /// ```
    /// use jungle_store::{OpenOptions, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-checked-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// store.checkpoint()?;
    /// store.close()?;
    /// // It comes from somewhere else.
    /// let store = OpenOptions::new().read_only().checked().open(&dir)?;
    /// assert_eq!(store.verify()?.trees, 1);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked(mut self) -> Self {
        self.checked = true;
        self
    }
}
