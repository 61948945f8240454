//! Opening a folder.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jungle_db::{Builder, Clock, Durability, Jungle, Retention, Revision};
use jungle_tree::ArenaOptions;

use crate::checkpoint::{Checkpoints, LoadError, load};
use crate::disk::{Disk, DiskFile, FolderDisk, Lock, Mode, StillDisk, write_full};
use crate::erase;
use crate::error::{OpenError, doing};
use crate::form::{check_trees, replay_checked};
use crate::log::{Log, LogPosition};
use crate::mark::{LOCK, Mark};
use crate::pages::{self, EnginePages, Pages, PagesOptions};
use crate::planted::{Bug, is_awake};
use crate::progress::Progress;
use crate::recover::{Cut, End, Redo, recover, segments};
use crate::segment::{LOG, NEXT, first_of, name};
use crate::store::{Keeping, OpenLog, Store};
use crate::writer::Writer;

/// The bytes that a segment of the log has unless something else is set: 16 MiB.
pub const SEGMENT_BYTES: u64 = 16 << 20;

/// By how many bytes the log grows between checkpoints unless something else is set: 1 MiB, which
/// take about 50 ms to read again.
pub const CHECKPOINT_EVERY: u64 = 1 << 20;

/// How often a folder is looked at that somebody else writes to, until what is wrong with it is
/// believed.
const LOOKS: u32 = 5;

/// How long until the second look; one more of these until each further one.
const PAUSE: Duration = Duration::from_millis(20);

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
    spills: bool,
    pub(crate) segment_bytes: u64,
    checkpoint_every: u64,
    without_checkpoint: bool,
    read_only: bool,
    beside_a_writer: bool,
    checked: bool,
    pub(crate) progress: Progress,
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("OpenOptions");
        shown.field("jungle", &self.jungle);
        shown.field("segment_bytes", &self.segment_bytes);
        shown.field("checkpoint_every", &self.checkpoint_every);
        shown.field("read_only", &self.read_only);
        shown.field("checked", &self.checked);
        shown.finish_non_exhaustive()
    }
}

/// What was found as a folder was opened: [`Store::report`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The newest revision.
    pub revision: Revision,
    /// The newest revision that was in the checkpoint; 0 without one. What came since was read from
    /// the log.
    pub checkpoint: Revision,
    /// Why a checkpoint that is there was left out: the whole log was read instead, and the next
    /// checkpoint will be a new one.
    pub ignored: Option<Box<str>>,
    /// What its file is called now, in place of such a one of before, if the folder is opened to
    /// write. Nothing needs it but somebody who looks for the cause; it goes with the part of the
    /// log that is not kept.
    pub kept_as: Option<&'static str>,
    /// How many segments the log has.
    pub segments: u64,
    /// How many bytes its commits take.
    pub log_bytes: u64,
    /// Whether it was closed, so that its end is known; true of a new one.
    pub was_closed: bool,
    /// What was cut off at its end (what would be, if it is only read).
    pub cut: Option<Cut>,
    /// Whether somebody else writes to it, see [`OpenOptions::beside_a_writer`].
    pub is_written_elsewhere: bool,
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
            spills: false,
            segment_bytes: SEGMENT_BYTES,
            checkpoint_every: CHECKPOINT_EVERY,
            without_checkpoint: false,
            read_only: false,
            beside_a_writer: false,
            checked: false,
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
    /// a process with a limit (see [`ArenaOptions::spill`]). A folder that is only read stays in
    /// memory.
    ///
    /// ```
    /// use jungle_store::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-spill-{}", std::process::id()));
    /// let store = OpenOptions::new().spill().open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// tree.update(|tx| tx.cursor(&[])?.add_children(100_000).map(drop))?;
    /// assert_eq!(tree.read().root().child_count(), 100_000);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spill(mut self) -> Self {
        self.spills = true;
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
    /// writers; [`u64::MAX`] is never, unless [`Store::checkpoint`] is called.
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

    /// Who is told how much of the log was read, where there is much of it.
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
    /// is complete, as the [report](OpenReport::ignored) says. All trees are loaded for it.
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

    /// Opens a folder; makes it when it is not there.
    ///
    /// # Errors
    /// When somebody has it open, when it is damaged or not a Jungle's, or the system refuses
    /// something. Beside a writer also [`OpenError::Restless`].
    ///
    /// ```
    /// use jungle_store::{Durability, OpenOptions};
    /// # let dir = std::env::temp_dir().join(format!("jungle-open-{}", std::process::id()));
    /// let store = OpenOptions::new().durability(Durability::Buffered).open(&dir)?;
    /// store.create_tree("board")?;
    /// drop(store);
    /// assert_eq!(&*OpenOptions::new().open(&dir)?.list_trees()[0], "board");
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(mut self, folder: impl AsRef<Path>) -> Result<Store, OpenError> {
        let folder = folder.as_ref();
        if self.spills && !self.read_only {
            self.arena.spill = Some(folder.into());
        }
        if self.beside_a_writer {
            return self.look(folder);
        }
        let disk = if self.read_only {
            FolderDisk::new(folder)
        } else {
            FolderDisk::create(folder).map_err(doing("create", &folder.to_string_lossy()))?
        };
        self.open_on(Arc::new(disk))
    }

    /// Opens a folder that somebody else may have open to write.
    fn look(self, folder: &Path) -> Result<Store, OpenError> {
        let mut looks = 1;
        loop {
            let alone = self.clone().open_on(Arc::new(FolderDisk::new(folder)));
            if !matches!(alone, Err(OpenError::Locked { .. })) {
                return alone;
            }
            let still = Arc::new(StillDisk::new(folder, &self.progress)?);
            let opened = self.clone().open_on(Arc::clone(&still) as Arc<dyn Disk>);
            // Asked for in this order: who began afterwards is in nobody's way.
            let is_whole = erase::is_unfinished(&*still).is_ok_and(|unfinished| !unfinished);
            let is_of_one = is_whole && still.is_of_one();
            match opened {
                Ok(mut store) if is_of_one => {
                    still.let_go();
                    store.report.is_written_elsewhere = true;
                    return Ok(store);
                }
                // Whoever does that goes on with it.
                Ok(_) | Err(OpenError::Erasing { .. }) if looks >= LOOKS => {
                    return Err(OpenError::Restless { folder: folder.to_string_lossy().into() });
                }
                // It may be that the writer went on, and took away what was to be read.
                Err(error) if looks >= LOOKS || is_final(&error) => return Err(error),
                _ => {}
            }
            std::thread::sleep(looks * PAUSE);
            looks += 1;
        }
    }

    /// Opens what is on a disk.
    ///
    /// # Errors
    /// As [`open`](OpenOptions::open).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_store::OpenOptions;
    /// use jungle_store::disk::FolderDisk;
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-disk-{}", std::process::id()));
    /// let store = OpenOptions::new().open_on(Arc::new(FolderDisk::create(&dir)?))?;
    /// store.create_tree("board")?;
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_on(self, disk: Arc<dyn Disk>) -> Result<Store, OpenError> {
        let lock = self.lock(&*disk)?;
        if !self.read_only {
            erase::finish(&*disk, &*lock)?;
        } else if erase::is_unfinished(&*disk)? {
            return Err(OpenError::Erasing { folder: disk.place().into() });
        }
        let mark = Mark::read(&*lock)?;
        if !self.read_only {
            make_log(&*disk, mark)?;
            remove_next(&*disk)?;
        }
        let (Read { log, start, end }, ignored) = self.read_best(&disk, mark)?;
        if ignored.is_some() && !self.read_only {
            pages::keep_damaged(&*disk)?;
        }
        let kept_as = (ignored.is_some() && !self.read_only).then_some(pages::DAMAGED);
        let checkpoint = start.checkpoints.revision();
        let report = OpenReport { ignored, kept_as, ..OpenReport::new(end.as_ref(), checkpoint) };
        let writer = match end {
            _ if self.read_only => None,
            Some(end) => Some(go_on(&disk, end, self.segment_bytes)?),
            None => Some(Writer::first(Arc::clone(&disk), 1, self.segment_bytes)?),
        };
        if writer.is_some() && !(is_awake(Bug::MarkStays) && mark.is_some()) {
            Mark::InUse.write(&*lock)?;
        }
        let newest = report.revision.number();
        let ready = log.log.set(Log::new(Arc::clone(&disk), lock, writer, newest));
        assert!(ready.is_ok(), "set once, here");
        let Start { jungle, checkpoints, .. } = start;
        let checkpoints = Arc::new(checkpoints);
        let keeping = match self.read_only {
            true => None,
            false => Some(Keeping::start(&jungle, &log, &checkpoints, self.checkpoint_every)?),
        };
        Ok(Store { keeping, checkpoints, jungle, log, disk, report })
    }

    /// Reads what is there, without the checkpoint if that is damaged and not needed; tells why.
    pub(crate) fn read_best(
        &self,
        disk: &Arc<dyn Disk>,
        mark: Option<Mark>,
    ) -> Result<(Read, Option<Box<str>>), OpenError> {
        match self.read(disk, mark, !self.without_checkpoint) {
            Err(OpenError::Checkpoint(error)) if segments(&**disk)?.first() == Some(&1) => {
                Ok((self.read(disk, mark, false)?, Some(error.to_string().into())))
            }
            read => Ok((read?, None)),
        }
    }

    /// Reads what is there: the newest checkpoint, if it is asked for, and the log from there on.
    fn read(
        &self,
        disk: &Arc<dyn Disk>,
        mark: Option<Mark>,
        with_checkpoint: bool,
    ) -> Result<Read, OpenError> {
        let log = Arc::new(OpenLog::default());
        let builder = self.jungle.clone().arena(self.arena.clone()).journal(Arc::clone(&log));
        let found = match with_checkpoint {
            true => self.start_from_checkpoint(disk, builder.clone())?,
            false => None,
        };
        let start = match found {
            Some(start) => start,
            None => {
                let checkpoints = Checkpoints::none(Arc::clone(disk));
                Start { jungle: builder.build()?, checkpoints, from: None }
            }
        };
        let redo: Redo = if self.checked { replay_checked } else { Jungle::replay };
        let end = recover(&**disk, mark, &start.jungle, start.from, redo, &self.progress)?;
        Ok(Read { log, start, end })
    }

    fn start_from_checkpoint(
        &self,
        disk: &Arc<dyn Disk>,
        builder: Builder,
    ) -> Result<Option<Start>, OpenError> {
        let options = PagesOptions { read_only: self.read_only, ..PagesOptions::default() };
        let Some(pages) =
            EnginePages::open_if_there(Arc::clone(disk), options).map_err(LoadError::from)?
        else {
            return Ok(None);
        };
        let pages: Arc<dyn Pages> = Arc::new(pages);
        let Some(loaded) = load(&*pages)? else {
            return Ok(None);
        };
        let jungle = loaded.restore(builder, &self.arena, &pages)?;
        if self.checked {
            check_trees::<OpenError>(&jungle, &self.progress)?;
        }
        let from = Some(loaded.log);
        let checkpoints = Checkpoints::loaded(Arc::clone(disk), pages, loaded);
        Ok(Some(Start { jungle, checkpoints, from }))
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
        let not_ours = || Err(OpenError::NotAJungle { folder: folder() });
        let (mode, lock) = match self.read_only {
            true if !has(LOCK) || !has(LOG) => {
                return Err(OpenError::Nothing { folder: folder() });
            }
            true => (Mode::Read, Lock::Shared),
            false if there.is_empty() || has(LOCK) => (Mode::Create, Lock::Exclusive),
            false if !has(LOG) || !may_be_ours(disk, &there)? => return not_ours(),
            false => (Mode::Create, Lock::Exclusive),
        };
        let file = disk.open(LOCK, mode).map_err(doing("open", LOCK))?;
        if !file.try_lock(lock).map_err(doing("lock", LOCK))? {
            return Err(OpenError::Locked { folder: folder() });
        }
        let is_marked = match Mark::read(&*file) {
            Ok(mark) => mark.is_some(),
            Err(error @ OpenError::Io(_)) => return Err(error),
            // Told by whoever goes by the mark.
            Err(OpenError::UnknownFormat { .. }) => true,
            // Damaged, where there is what else a Jungle has; else something of another program's.
            Err(_) => false,
        };
        if !self.read_only && !is_marked && !may_be_ours(disk, &there)? {
            return not_ours();
        }
        Ok(file)
    }
}

/// May this be a Jungle's folder that has no mark, or one that was being made when that ended?
/// Other programs have files `LOCK` and folders `log`, too.
fn may_be_ours(disk: &dyn Disk, there: &[String]) -> Result<bool, OpenError> {
    let log = match disk.list(LOG) {
        Ok(log) => log,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(false),
        Err(error) => return Err(doing("list", LOG)(error).into()),
    };
    if log.iter().any(|file| first_of(file).is_some()) {
        return Ok(true);
    }
    // `CLUSTER` is a server's; an arena spills into files that lose their names at once.
    let is_own = |name: &str| {
        [LOCK, LOG, NEXT].contains(&name)
            || pages::FILES.contains(&name)
            || name.ends_with(erase::SUFFIX)
            || ["spill-", "CLUSTER"].iter().any(|begin| name.starts_with(begin))
    };
    let in_log = |file: &String| is_own(&format!("{LOG}/{file}"));
    Ok(there.iter().all(|name| is_own(name)) && log.iter().all(in_log))
}

/// Will the same come out again, whatever a writer does meanwhile?
fn is_final(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::Nothing { .. }
            | OpenError::NotAJungle { .. }
            | OpenError::UnknownFormat { .. }
            | OpenError::Arena(_)
            | OpenError::GivenUp
    )
}

/// What was read.
pub(crate) struct Read {
    log: Arc<OpenLog>,
    pub(crate) start: Start,
    end: Option<End>,
}

/// What a Jungle begins with before its log is read.
pub(crate) struct Start {
    pub(crate) jungle: Jungle,
    checkpoints: Checkpoints,
    /// Where in the log what it has not begins.
    from: Option<LogPosition>,
}

/// Makes the folder of the log, if it is not there. Whoever wrote the mark in `LOCK` has made its
/// name, and that of `LOCK`, last before.
pub(crate) fn make_log(disk: &dyn Disk, mark: Option<Mark>) -> Result<(), OpenError> {
    let is_new = match disk.list(LOG) {
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(doing("list", LOG)(error).into()),
    };
    if is_new {
        disk.create_folder(LOG).map_err(doing("create", LOG))?;
    }
    if is_new || mark.is_none() {
        disk.sync_folder("").map_err(doing("sync", "the folder"))?;
    }
    Ok(())
}

/// Puts the end of a log in order, and goes on behind it.
///
/// What nobody knows to be synced is written once more: after a failed sync the system shows bytes
/// that are not on the disk, and calls them clean.
fn go_on(disk: &Arc<dyn Disk>, end: End, bytes_max: u64) -> Result<Writer, OpenError> {
    let name = &*name(end.at.segment);
    let file = disk.open(name, Mode::Write).map_err(doing("open", name))?;
    if !end.closed {
        disk.sync_folder(LOG).map_err(doing("sync", LOG))?;
    }
    let doubtful: &[u8] = if is_awake(Bug::DoubtfulNotRewritten) { &[] } else { &end.doubtful };
    let from = end.at.offset - doubtful.len() as u64;
    write_full(&*file, doubtful, from).map_err(doing("write", name))?;
    if let Some(cut) = &end.cut {
        let from = if is_awake(Bug::CutTooMuch) { end.last_frame } else { cut.offset };
        let zeros = vec![0; (cut.offset + cut.bytes - from) as usize];
        write_full(&*file, &zeros, from).map_err(doing("write", name))?;
    }
    if !end.closed || end.cut.is_some() {
        file.sync_data().map_err(doing("sync", name))?;
    }
    let start = crate::writer::Start { file, at: end.at, bytes: end.segment_bytes };
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
    fn new(end: Option<&End>, checkpoint: Revision) -> OpenReport {
        let Some(end) = end else {
            let (segments, log_bytes, was_closed) = (0, 0, true);
            return OpenReport {
                revision: Revision::default(),
                checkpoint,
                ignored: None,
                kept_as: None,
                segments,
                log_bytes,
                was_closed,
                cut: None,
                is_written_elsewhere: false,
            };
        };
        OpenReport {
            revision: Revision::new(end.at.next - 1),
            checkpoint,
            ignored: None,
            kept_as: None,
            segments: end.segments,
            log_bytes: end.at.bytes,
            was_closed: end.closed,
            cut: end.cut.clone(),
            is_written_elsewhere: false,
        }
    }
}
