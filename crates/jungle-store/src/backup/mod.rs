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
mod error;
mod progress;
mod source;
mod stream;
mod target;

use std::path::Path;
use std::sync::Arc;

use jungle_db::Revision;

pub use self::error::BackupError;
pub use self::progress::BackupProgress;
use self::progress::Done;
use self::source::{begins_late, bytes_total};
use self::target::{Target, locked, read_back_pages};
use crate::disk::{Disk, FolderDisk};
use crate::error::doing;
use crate::log::recover::segments;
use crate::log::walk::Came;
use crate::open::OpenOptions;
use crate::pages::{self, EnginePages, Pages as _, PagesOptions};
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

impl Store {
    /// Copies all that is committed so far into another folder, which is made when it is not there.
    /// If that is a backup of this Jungle already, only what is new is read and written, from its
    /// last segment on. Others may commit meanwhile. What was written is read back and checked, and
    /// a first copy is opened, too, as is one that was interrupted. What an older copy had is not
    /// read again: for that there is [`verify`](Store::verify) of the copy.
    ///
    /// # Errors
    /// When the folder has something else in it, has lost its log
    /// ([`OpenError::Missing`](crate::OpenError::Missing)) or is open elsewhere, when it has a copy
    /// that ends where the log does not go back to any more ([`BackupError::Trimmed`]), when this
    /// one is [written to by somebody else](OpenOptions::beside_a_writer), or the system refuses
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
        let mut done = Done::new(tell, bytes_total(from, &segments)?);
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
}
