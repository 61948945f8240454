//! Copying a log into another folder, and what is new of it into a copy that is there. Where the
//! log does not go back to the first revision, a copy begins with the checkpoint.
//!
//! The copy is a Jungle's folder like any other. It is whole at every moment: a segment appears in
//! it all at once, under its name, and a longer version of the last segment takes the place of the
//! shorter one. So a backup that is interrupted has an older revision than was asked for, and the
//! next one goes on from there. Only a first one that begins with the checkpoint may be refused
//! when it is opened, as lacking a part of the log, until the next one has gone on.
//!
//! Only what lasts is copied: groups that are written while a backup is made may be lost with the
//! power, and others come in their place. A copy that had them could not be gone on with. What was
//! left by somebody who was killed is synced before.
//!
//! Each frame has the checksum of the one before. So the end of a copy is found in the log only if
//! all of the copy is the beginning of that log, and neither is read from its beginning again: what
//! goes on costs what is new, and the segment in which that begins.
//!
//! What is copied goes to the folder itself, or through a stream of bytes (`stream.rs`).

mod bound;
mod stream;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jungle_db::{Durability, Revision};

use crate::checkpoint::{LoadError, StreamError};
use crate::disk::{Disk, DiskFile, FolderDisk, Mode, read_full, synced_if_it_can, write_full};
use crate::erase;
use crate::error::{Damage, IoError, LogError, OpenError, doing};
use crate::log::frame::Frame;
use crate::log::mark::Mark;
use crate::log::recover::segments;
use crate::log::segment::{LOG, NEXT, SEGMENT_HEADER, SegmentHeader, fill, name, read_file};
use crate::open::{OpenOptions, remove_next};
use crate::pages::{self, EnginePages, Pages as _, PagesError, PagesOptions, Table};
use crate::planted::{Bug, is_awake};
use crate::progress::Progress;
use crate::store::Store;

/// What a backup did.
///
/// The example of [`Store::backup`] has one of a backup that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The newest revision that it has now.
    pub revision: Revision,
    /// The newest revision that it had before; 0 when it had none.
    pub before: Revision,
    /// How many bytes of commits it got.
    pub bytes: u64,
}

/// Whom a backup tells how far it is.
#[derive(Clone, Debug, Default)]
pub struct BackupProgress {
    /// Is told how many bytes of files were copied or passed over, of how many, from the segment on
    /// in which the copy ended; dropped when that is done.
    pub copying: Progress,
    /// Is told how many revisions were done again of a copy that is opened: see [`Store::backup`].
    pub checking: Progress,
}

impl BackupProgress {
    /// Has the backup given up when somebody says so: see [`Progress::until`]. What it has copied
    /// is whole, and the next one goes on from there.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use jungle_store::{BackupProgress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-copy-until-{}", std::process::id()));
    /// let store = Store::open(dir.join("data"))?;
    /// store.create_tree("board")?;
    /// let given_up = Arc::new(AtomicBool::new(true));
    /// let progress = || BackupProgress::default().until(Arc::clone(&given_up));
    /// assert!(store.backup_telling(dir.join("copy"), progress()).unwrap_err().is_given_up());
    /// given_up.store(false, Ordering::SeqCst);
    /// let report = store.backup_telling(dir.join("copy"), progress())?;
    /// assert_eq!(report.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(self, given_up: Arc<AtomicBool>) -> BackupProgress {
        let BackupProgress { copying, checking } = self;
        let copying = copying.until(Arc::clone(&given_up));
        BackupProgress { copying, checking: checking.until(given_up) }
    }
}

/// Why there is no backup, or not of all.
///
/// ```
/// use jungle_store::{BackupError, Store};
/// # let dir = std::env::temp_dir().join(format!("jungle-other-doc-{}", std::process::id()));
/// let (store, other) = (Store::open(dir.join("one"))?, Store::open(dir.join("other"))?);
/// store.create_tree("board")?;
/// other.create_tree("notes")?;
/// store.backup(dir.join("copy"))?;
/// let refused = other.backup(dir.join("copy"));
/// assert!(matches!(refused, Err(BackupError::Other { .. })));
/// # drop((store, other));
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// What was committed cannot be made to last, so it cannot be copied.
    #[error(transparent)]
    NotWritten(#[from] LogError),
    /// The folder it goes to cannot be used, or what came out cannot be read.
    #[error("the backup: {0}")]
    Target(#[source] OpenError),
    /// The log is not what it was when it was opened.
    #[error("what is to be backed up: {0}")]
    Source(#[source] OpenError),
    /// The folder it goes to has a history that this Jungle does not have.
    #[error("{folder} has revision {revision} of another Jungle, or one that is not here any more")]
    Other {
        /// The folder.
        folder: Box<str>,
        /// The newest revision in it.
        revision: Revision,
    },
    /// The log does not go back any more to where the copy ends, so that is not gone on with: a new
    /// one has to be made.
    #[error(
        "{folder} ends with revision {revision}, and the log has what is from {oldest} on: \
         retention has let go what was before"
    )]
    Trimmed {
        /// The folder.
        folder: Box<str>,
        /// The newest revision in it.
        revision: Revision,
        /// The first of the log.
        oldest: Revision,
    },
    /// The log does not go back to where a copy is to go on, or never came so far.
    #[error("a copy of revision {revision} cannot be completed: the log has {oldest} to {newest}")]
    OutOfReach {
        /// The newest revision that the copy is said to have.
        revision: Revision,
        /// The first of the log.
        oldest: Revision,
        /// The newest one.
        newest: Revision,
    },
    /// What came through a stream is not all of a backup, or what was sent was not taken.
    #[error("the backup did not come through: {0}")]
    Stream(#[from] StreamError),
    /// The checkpoint cannot be read, or not be written.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl BackupError {
    /// Whether nothing is wrong, but whoever wanted it does not any more.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        matches!(
            self,
            BackupError::Source(OpenError::GivenUp) | BackupError::Target(OpenError::GivenUp)
        )
    }
}

impl Store {
    /// Copies all that is committed so far into another folder, which is made when it is not there.
    /// If that is a backup of this Jungle already, only what is new is read and written, from its
    /// last segment on. Others may commit meanwhile. What was written is read back and checked, and
    /// a first copy is opened, too, as is one that was interrupted. What an older copy had is not
    /// read again: for that there is [`verify`](Store::verify) of the copy.
    ///
    /// # Errors
    /// When the folder has something else in it, has lost its log ([`OpenError::Missing`]) or is
    /// open elsewhere, when it has a copy that ends where the log does not go back to any more
    /// ([`BackupError::Trimmed`]), when this one is
    /// [written to by somebody else](OpenOptions::beside_a_writer), or the system refuses
    /// something. What an older backup had stays readable at every moment.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-backup-{}", std::process::id()));
    /// let store = Store::open(dir.join("data"))?;
    /// store.create_tree("board")?;
    /// assert_eq!(store.backup(dir.join("copy"))?.revision, store.revision());
    ///
    /// store.create_tree("another")?;
    /// let report = store.backup(dir.join("copy"))?;
    /// assert_eq!((report.before.number(), report.revision.number()), (1, 2));
    /// assert_eq!(Store::open(dir.join("copy"))?.list_trees().len(), 2);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport, BackupError> {
        self.backup_telling(to, BackupProgress::default())
    }

    /// As [`backup`](Store::backup), and tells how far it is.
    ///
    /// # Errors
    /// As [`backup`](Store::backup), and when it was [given up](BackupError::is_given_up).
    ///
    /// ```
    /// use jungle_store::{BackupProgress, Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-copy-told-{}", std::process::id()));
    /// let store = Store::open(dir.join("data"))?;
    /// store.create_tree("board")?;
    /// let copying = Progress::new(|bytes, of| println!("{bytes} of {of} bytes"));
    /// let progress = BackupProgress { copying, ..BackupProgress::default() };
    /// assert_eq!(store.backup_telling(dir.join("copy"), progress)?.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_telling(
        &self,
        to: impl AsRef<Path>,
        progress: BackupProgress,
    ) -> Result<BackupReport, BackupError> {
        let to = to.as_ref();
        let disk = FolderDisk::create(to).map_err(doing("create", &to.to_string_lossy()))?;
        self.backup_on_telling(Arc::new(disk), progress)
    }

    /// As [`backup`](Store::backup), onto a disk.
    ///
    /// # Errors
    /// As [`backup`](Store::backup).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_store::Store;
    /// use jungle_store::disk::FolderDisk;
    /// # let dir = std::env::temp_dir().join(format!("jungle-copy-on-{}", std::process::id()));
    /// let store = Store::open(dir.join("data"))?;
    /// store.create_tree("board")?;
    /// let copy = Arc::new(FolderDisk::create(dir.join("copy"))?);
    /// assert_eq!(store.backup_on(copy)?.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_on(&self, to: Arc<dyn Disk>) -> Result<BackupReport, BackupError> {
        self.backup_on_telling(to, BackupProgress::default())
    }

    /// As [`backup_telling`](Store::backup_telling), onto a disk.
    ///
    /// # Errors
    /// As [`backup_telling`](Store::backup_telling).
    pub fn backup_on_telling(
        &self,
        to: Arc<dyn Disk>,
        progress: BackupProgress,
    ) -> Result<BackupReport, BackupError> {
        self.must_stand_still().map_err(BackupError::Source)?;
        let BackupProgress { copying: tell, checking } = progress;
        let lock = locked(&*to, self.readers_waited_for, &tell)?;
        let _still = self.checkpoints.still();
        // Asked for only now: the checkpoint that is copied, and a copy that somebody else made
        // until it was locked here, have nothing newer.
        let newest = self.made_last()?;
        let (from, target) = (&**self.disk(), Target::begin(&*to, lock)?);
        let segments = target.wanted(segments(from)?, newest)?;
        let mut done = Done { tell, bytes: 0, total: bytes_total(from, &segments)? };
        if target.had.is_none() {
            pages::remove(&*to)?;
            if begins_late(&segments) {
                let copy = EnginePages::open(Arc::clone(&to), PagesOptions::default())?;
                let mut writing = copy.begin()?;
                self.each_value(
                    &mut done,
                    |table, key, bytes| Ok(writing.put(table, key, bytes)?),
                )?;
                writing.commit()?;
                drop(copy);
                read_back_pages(&to, &done.tell)?;
            }
        }
        let read = |&first: &u64| Came::in_file(from, first).map_err(BackupError::Source);
        let copied = target.copy(segments.iter().map(read), newest.number(), &mut done)?;
        drop(done);
        let options = OpenOptions::new().arena(self.arena_beside()).progress(checking);
        target.end(&to, copied, newest, options)
    }

    /// Makes all that is committed so far last, and gives the newest revision of that.
    fn made_last(&self) -> Result<Revision, BackupError> {
        let newest = self.revision();
        self.log().wait(newest.number(), Durability::Sync)?;
        // Whoever opens to write has done it then.
        if self.is_read_only() && !self.report().was_closed {
            sync_end(&**self.disk())?;
        }
        Ok(newest)
    }

    /// Gives all that the checkpoint has. Behind it the log is not cut off.
    fn each_value(
        &self,
        done: &mut Done,
        mut give: impl FnMut(Table, u64, &[u8]) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        let missing = OpenError::Missing { revision: Revision::new(1) };
        let from = self.checkpoints.opened().ok_or(BackupError::Source(missing))?;
        let mut values = Vec::new();
        for table in Table::ALL {
            values.extend(from.keys(table, 0..=u64::MAX)?.into_iter().map(|key| (table, key)));
        }
        // What the values take up in the file is not known one by one.
        let bytes = self.disk_usage()?.pages_bytes;
        let each = bytes / (values.len() as u64).max(1);
        done.total += each * values.len() as u64;
        for (table, key) in values {
            done.go_on()?;
            if let Some(bytes) = from.get(table, key)? {
                give(table, key, &bytes)?;
            }
            done.add(each);
        }
        Ok(())
    }
}

/// Makes the end of a log last that somebody wrote who was killed then: it may be in the memory of
/// the system only, and a copy that had it would be ahead of this one once the power is lost.
fn sync_end(disk: &dyn Disk) -> Result<(), IoError> {
    let Some(last) = segments(disk)?.pop() else { return Ok(()) };
    let name = name(last);
    let file = disk.open(&name, Mode::Read).map_err(doing("open", &name))?;
    synced_if_it_can(file.sync_data()).map_err(doing("sync", &name))?;
    synced_if_it_can(disk.sync_folder(LOG)).map_err(doing("sync", LOG))?;
    synced_if_it_can(disk.sync_folder("")).map_err(doing("sync", "the folder"))
}

/// Locks a folder that a copy is made in, if need be once those have gone who only read it.
fn locked(
    to: &dyn Disk,
    wait: Duration,
    tell: &Progress,
) -> Result<Box<dyn DiskFile>, BackupError> {
    let options = OpenOptions::new().wait_for_readers(wait).progress(tell.untold());
    let lock = options.lock(to).map_err(BackupError::Target)?;
    erase::finish(to, &*lock).map_err(BackupError::Target)?;
    Ok(lock)
}

/// Reads all of a checkpoint that was copied, by an engine of its own: the one that wrote it has
/// some of it in memory.
fn read_back_pages(to: &Arc<dyn Disk>, tell: &Progress) -> Result<(), BackupError> {
    let options = PagesOptions { read_only: true, ..PagesOptions::default() };
    let copied = EnginePages::open(Arc::clone(to), options);
    match copied.and_then(|copied| copied.check(tell)) {
        Ok(_) => Ok(()),
        Err(PagesError::GivenUp) => Err(BackupError::Target(OpenError::GivenUp)),
        Err(error) => Err(BackupError::Target(LoadError::from(error).into())),
    }
}

/// Is the log no longer there from its first revision on? Then the checkpoint is needed, too.
fn begins_late(segments: &[u64]) -> bool {
    segments.first().is_some_and(|&first| first > 1)
}

/// Leaves those of the segments that have what is known to last.
fn keep_lasting(segments: &mut Vec<u64>, newest: Revision) {
    // The first of them may have nothing yet.
    let lasting = segments.partition_point(|&first| first <= newest.number()).max(1);
    segments.truncate(lasting);
}

/// How long the files of these segments are.
fn bytes_total(disk: &dyn Disk, segments: &[u64]) -> Result<u64, IoError> {
    let len = |&first: &u64| {
        let name = name(first);
        let file = disk.open(&name, Mode::Read).map_err(doing("open", &name))?;
        file.len().map_err(doing("ask the length of", &name))
    };
    segments.iter().map(len).sum()
}

/// How much of the files was gone through.
struct Done {
    tell: Progress,
    bytes: u64,
    total: u64,
}

impl Done {
    fn go_on(&self) -> Result<(), BackupError> {
        self.tell.go_on().map_err(|given_up| BackupError::Source(given_up.into()))
    }

    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        // Somebody may commit meanwhile.
        self.total = self.total.max(self.bytes);
        self.tell.tell_each(self.bytes, self.total);
    }
}

/// The end of a log, or any place in it between two frames.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// The first revision of the segment.
    segment: u64,
    offset: usize,
    /// The checksum of the frame before.
    check: u32,
    /// The next revision.
    next: u64,
}

/// A segment as it comes.
struct Came {
    first: u64,
    /// Its bytes, but perhaps not the zeros at its end.
    bytes: Vec<u8>,
    /// How long its file is.
    len: u64,
}

impl Came {
    fn in_file(disk: &dyn Disk, first: u64) -> Result<Came, OpenError> {
        let bytes = read_file(disk, &name(first))?;
        let len = bytes.len() as u64;
        Ok(Came { first, bytes, len })
    }
}

/// A segment that was looked through, as far as it is whole.
struct Segment {
    bytes: Vec<u8>,
    /// How long its file is.
    len: u64,
    end: Place,
    /// Where the frame ends that says that another segment follows.
    seal: Option<usize>,
    /// Was the place that was looked for in it?
    found: bool,
}

/// The folder that a copy is made in.
struct Target<'d> {
    to: &'d dyn Disk,
    lock: Box<dyn DiskFile>,
    /// What the copy's mark says.
    mark_before: Option<Mark>,
    /// The segments that it has.
    there: Vec<u64>,
    /// Where the copy ends so far.
    had: Option<Place>,
}

/// What was copied.
struct Copied {
    report: BackupReport,
    /// What the mark of the copy is to say.
    mark: Mark,
}

impl<'d> Target<'d> {
    /// Finds out what the copy has.
    fn begin(to: &'d dyn Disk, lock: Box<dyn DiskFile>) -> Result<Target<'d>, BackupError> {
        to.create_folder(LOG).map_err(doing("create", LOG))?;
        to.sync_folder("").map_err(doing("sync", "the folder"))?;
        remove_next(to).map_err(BackupError::Target)?;
        // Read for its format: what another version wrote is not touched.
        let mark_before = Mark::read(&*lock).map_err(BackupError::Target)?;
        let there = segments(to)?;
        if there.is_empty() && mark_before.is_some() {
            // A copy that is begun has no mark. So this had a log, and its checkpoint may be all
            // that is left of it.
            let revision = Revision::new(1);
            return Err(BackupError::Target(OpenError::Missing { revision }));
        }
        let last = there.last().map(|&last| read(to, last, None, None, u64::MAX));
        let had = last.transpose().map_err(BackupError::Target)?.map(|last| last.end);
        Ok(Target { to, lock, mark_before, there, had })
    }

    /// The newest revision that the copy has.
    fn before(&self) -> Revision {
        Revision::new(self.had.as_ref().map_or(0, |had| had.next - 1))
    }

    /// Those of the log's segments that are read: from the one on in which the copy ends.
    fn wanted(&self, mut segments: Vec<u64>, newest: Revision) -> Result<Vec<u64>, BackupError> {
        if let (Some(had), Some(&oldest)) = (&self.had, segments.first())
            && oldest >= had.next
        {
            let (folder, revision) = (self.to.place().into(), self.before());
            let oldest = Revision::new(oldest);
            return Err(BackupError::Trimmed { folder, revision, oldest });
        }
        if let (Some(&first), Some(&last)) = (self.there.first(), self.there.last()) {
            let is_missing =
                |of: &&u64| (first..last).contains(*of) && self.there.binary_search(of).is_err();
            if let Some(&missing) = segments.iter().find(is_missing) {
                let revision = Revision::new(missing);
                return Err(BackupError::Target(OpenError::Missing { revision }));
            }
            segments.retain(|&first| first >= last);
        }
        keep_lasting(&mut segments, newest);
        Ok(segments)
    }

    /// Copies segments, in order, from the one on in which the copy ends. What is behind the frame
    /// with the revision `up_to` is not copied.
    fn copy(
        &self,
        segments: impl Iterator<Item = Result<Came, BackupError>>,
        up_to: u64,
        done: &mut Done,
    ) -> Result<Copied, BackupError> {
        let mut marked = false;
        let mut bytes = 0;
        let mut last: Option<Segment> = None;
        let mut found = self.had.is_none();
        for came in segments {
            done.go_on()?;
            let came = came?;
            let first = came.first;
            let at = last.as_ref().map(|last| &last.end);
            let segment = look(came, at, self.had.as_ref(), up_to).map_err(BackupError::Source)?;
            let was_found = found;
            found |= segment.found;
            let have = match &self.had {
                Some(had) if had.segment == first => had.offset,
                _ => SEGMENT_HEADER,
            };
            if found && (segment.end.offset > have || was_found) {
                if !marked && self.had.is_some() {
                    Mark::InUse.write(&*self.lock)?;
                    marked = true;
                }
                self.write(&segment)?;
                self.read_back(&segment).map_err(BackupError::Target)?;
                bytes += (segment.end.offset - have) as u64;
                // Only now does another segment follow.
                last.as_ref().map_or(Ok(()), |before| self.seal(before))?;
            }
            done.add(segment.len);
            last = Some(segment);
        }
        let (Some(last), true) = (last, found) else {
            return Err(self.of_another());
        };
        let revision = last.end.next - 1;
        let mark = Mark::Closed { revision, check: last.end.check };
        let revision = Revision::new(revision);
        Ok(Copied { report: BackupReport { revision, before: self.before(), bytes }, mark })
    }

    /// Removes all that has come, unless something was there before: that stays, with what came
    /// behind it. What is newest goes first: what is left at any moment is an interrupted copy.
    fn clear(&self) -> Result<(), IoError> {
        if self.had.is_some() {
            return Ok(());
        }
        for first in segments(self.to)?.into_iter().rev() {
            let name = name(first);
            self.to.remove(&name).map_err(doing("remove", &name))?;
        }
        self.to.sync_folder(LOG).map_err(doing("sync", LOG))?;
        pages::remove(self.to)?;
        self.to.sync_folder("").map_err(doing("sync", "the folder"))
    }

    /// What is to be copied does not go on from what is there.
    fn of_another(&self) -> BackupError {
        BackupError::Other { folder: self.to.place().into(), revision: self.before() }
    }

    /// Opens the copy, unless that was done before, and marks it as whole.
    fn end(
        self,
        to: &Arc<dyn Disk>,
        copied: Copied,
        newest: Revision,
        options: OpenOptions,
    ) -> Result<BackupReport, BackupError> {
        let Copied { report, mark } = copied;
        if report.revision < newest && !is_awake(Bug::BackupEndsEarly) {
            // All of it had its place in the log, and was synced.
            let damaged = OpenError::damaged(LOG, 0, Some(report.revision), Damage::EndsEarly);
            return Err(BackupError::Source(damaged));
        }
        // One that was interrupted was not opened, perhaps.
        if !matches!(self.mark_before, Some(Mark::Closed { .. })) {
            // What was there of it may be of a stream that broke off before its hash.
            let has_checkpoint = self.had.is_some() && begins_late(&self.there);
            let options = if has_checkpoint { options.checked() } else { options };
            options.read_only().read_best(to, Some(mark)).map_err(BackupError::Target)?;
        }
        mark.write(&*self.lock)?;
        Ok(report)
    }

    /// Puts a segment there, all at once, as far as it is whole.
    fn write(&self, segment: &Segment) -> Result<(), IoError> {
        let file = self.to.open(NEXT, Mode::CreateNew).map_err(doing("create", NEXT))?;
        let end = segment.end.offset;
        write_full(&*file, &segment.bytes[..end], 0).map_err(doing("write", NEXT))?;
        fill(&*file, end as u64, segment.len).map_err(doing("fill", NEXT))?;
        file.sync_data().map_err(doing("sync", NEXT))?;
        let name = name(segment.end.segment);
        self.to.rename(NEXT, &name).map_err(doing("name", &name))?;
        self.to.sync_folder(LOG).map_err(doing("sync", LOG))
    }

    /// Is a segment there, as far as it is whole?
    fn read_back(&self, segment: &Segment) -> Result<(), OpenError> {
        let Place { offset, next, .. } = segment.end;
        let name = name(segment.end.segment);
        let file = self.to.open(&name, Mode::Read).map_err(doing("open", &name))?;
        let len = file.len().map_err(doing("ask the length of", &name))?;
        let mut bytes = vec![0; offset];
        let read = read_full(&*file, &mut bytes, 0).map_err(doing("read", &name))?;
        if len != segment.len || bytes[..read] != segment.bytes[..offset] {
            let newest = Some(Revision::new(next - 1));
            return Err(OpenError::damaged(&name, offset as u64, newest, Damage::Checksum));
        }
        Ok(())
    }

    /// Says that another segment follows.
    fn seal(&self, segment: &Segment) -> Result<(), IoError> {
        let Some(seal) = segment.seal else { return Ok(()) };
        let name = name(segment.end.segment);
        let file = self.to.open(&name, Mode::Write).map_err(doing("open", &name))?;
        let end = segment.end.offset;
        let bytes = &segment.bytes[end..seal];
        write_full(&*file, bytes, end as u64).map_err(doing("write", &name))?;
        file.sync_data().map_err(doing("sync", &name))
    }
}

/// Reads a segment that follows `before`, up to the frame with the revision `up_to`, and looks for
/// a place in it.
fn read(
    disk: &dyn Disk,
    first: u64,
    before: Option<&Place>,
    wanted: Option<&Place>,
    up_to: u64,
) -> Result<Segment, OpenError> {
    look(Came::in_file(disk, first)?, before, wanted, up_to)
}

/// The same, of one that came.
fn look(
    came: Came,
    before: Option<&Place>,
    wanted: Option<&Place>,
    up_to: u64,
) -> Result<Segment, OpenError> {
    let Came { first, bytes, len } = came;
    let file = name(first);
    let name = &*file;
    let (header, check) = SegmentHeader::read(name, &bytes)?;
    // Where a log begins that is not complete, the checkpoint says; opening the copy finds out.
    let (previous, next) = match before {
        Some(before) => (before.check, before.next),
        None if first > 1 => (header.previous, header.first),
        None => (0, 1),
    };
    let newest = || Some(Revision::new(next - 1));
    if header.first != first || (header.first, header.previous) != (next, previous) {
        return Err(OpenError::damaged(name, 0, newest(), Damage::Chain));
    }
    if header.bytes > len {
        return Err(OpenError::damaged(name, len, newest(), Damage::TooShort));
    }
    let mut end = Place { segment: first, offset: SEGMENT_HEADER, check, next };
    let (mut seal, mut found) = (None, wanted == Some(&end));
    while end.next <= up_to
        && let Some(frame) = Frame::read(&bytes[end.offset..])
    {
        if (frame.previous, frame.first) != (end.check, end.next) {
            break;
        }
        if is_awake(Bug::BackupEndsEarly) && Frame::read(&bytes[end.offset + frame.len..]).is_none()
        {
            break;
        }
        if frame.records.is_empty() {
            seal = Some(end.offset + frame.len);
            break;
        }
        end.offset += frame.len;
        end.check = frame.check;
        let following = records(frame.records).and_then(|records| end.next.checked_add(records));
        end.next = following.ok_or_else(|| {
            OpenError::damaged(name, end.offset as u64, newest(), Damage::Checksum)
        })?;
        found |= wanted == Some(&end);
    }
    Ok(Segment { bytes, len, end, seal, found })
}

/// How many records a frame has.
fn records(bytes: &[u8]) -> Option<u64> {
    let mut input = crate::wire::Input::new(bytes);
    let mut records = 0;
    while !input.is_empty() {
        input.bytes().ok()?;
        records += 1;
    }
    Some(records)
}
