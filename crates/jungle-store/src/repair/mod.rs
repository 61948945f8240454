//! Saving what can be saved of a damaged folder, into a new one.
//!
//! There are two who know something: the log, from its first record up to where it is damaged, and
//! the checkpoint, with what the log says since. Whoever gets further is believed.
//! - *The log*: its records are written once more, as they are, so the new folder has all of it.
//! - *The checkpoint*: all its versions are copied that can be read, each of them as a whole (what
//!   cannot be loaded of it may be known to the log); what cannot be read is named
//!   ([`Salvage`](jungle_db::Salvage)). The log of the new folder begins behind that.
//!
//! What is behind a hole in the log is not made again, even where its own bytes are whole: nobody
//! knows what it was made on top of.

mod mended;
mod patched;
mod repairing;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jungle_db::{CopyError, Lost, Revision};

use self::mended::Mended;
use self::patched::{PatchedDisk, Patches};
use self::repairing::Repairing;
use crate::checkpoint::CheckpointError;
use crate::disk::{Disk, FolderDisk};
use crate::erase;
use crate::error::{IoError, LogError, OpenError, doing};
use crate::open::OpenOptions;
use crate::progress::{GivenUp, Progress};
use crate::survey::{Survey, Surveyor};
use crate::verify::VerifyError;

/// What was saved of a folder, and what was not.
#[derive(Debug)]
#[non_exhaustive]
pub struct RepairReport {
    /// What is damaged.
    pub survey: Survey,
    /// The newest revision of what was saved. Those of parts that were saved of others come
    /// after it.
    pub revision: Revision,
    /// From where it is.
    pub source: RepairSource,
    /// The commits behind it that are lost, if there are any.
    pub lost_commits: Option<LostCommits>,
    /// What else is lost.
    pub lost: Vec<Lost>,
}

impl RepairReport {
    /// Was everything saved?
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.lost.is_empty() && self.lost_commits.is_none()
    }
}

/// From where something was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairSource {
    /// From the log, from its beginning on.
    Log,
    /// From the checkpoint, and what the log says since.
    Checkpoint,
}

/// Commits that were lost, all behind one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostCommits {
    /// The first one.
    pub first: Revision,
    /// The last one that is known to have been there, if any is.
    pub last: Option<Revision>,
}

/// Who is told how far a repair is, in revisions.
#[derive(Clone, Debug, Default)]
pub struct RepairProgress {
    /// How many were read.
    pub reading: Progress,
    /// How many were copied.
    pub saving: Progress,
    /// How many were read back.
    pub checking: Progress,
}

impl RepairProgress {
    /// Has it given up when somebody says so, see [`Progress::until`].
    #[must_use]
    pub fn until(self, given_up: &Arc<AtomicBool>) -> RepairProgress {
        let until = |progress: Progress| progress.until(Arc::clone(given_up));
        RepairProgress {
            reading: until(self.reading),
            saving: until(self.saving),
            checking: until(self.checking),
        }
    }
}

/// Why nothing was saved.
///
/// ```
/// use jungle_store::{OpenOptions, RepairError, RepairProgress, Store};
/// # let dir = std::env::temp_dir().join(format!("jungle-not-repaired-{}", std::process::id()));
/// let store = Store::open(dir.join("old"))?;
/// store.create_tree("board")?;
/// store.close()?;
/// let first = dir.join("old/log/00000000000000000001.log");
/// let mut bytes = std::fs::read(&first)?;
/// bytes[70] ^= 1;
/// std::fs::write(&first, bytes)?;
/// let progress = RepairProgress::default();
/// let refused = OpenOptions::new().repair(dir.join("old"), dir.join("new"), &progress);
/// assert!(matches!(refused, Err(RepairError::Nothing { .. })));
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The folder cannot be looked at.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nothing of it can be read.
    #[error("nothing of {folder} can be read")]
    Nothing {
        /// The folder.
        folder: Box<str>,
        /// What is damaged.
        survey: Box<Survey>,
    },
    /// The new folder cannot be made.
    #[error("the new folder: {0}")]
    Target(#[source] OpenError),
    /// What was read cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The new log cannot be written.
    #[error(transparent)]
    NotWritten(#[from] LogError),
    /// Nor its checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// What was made is not whole.
    #[error("what was made is not whole: {0}")]
    Verify(#[from] VerifyError),
    /// What was made is something else: a bug of this program, or of the disk.
    #[error("what was made is not what was read, at revision {revision}")]
    Wrong {
        /// The newest revision.
        revision: Revision,
    },
}

impl RepairError {
    /// Whether nothing is wrong, but whoever wanted it does not any more.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        match self {
            RepairError::Open(error) | RepairError::Target(error) => {
                matches!(error, OpenError::GivenUp)
            }
            RepairError::Verify(error) => error.is_given_up(),
            RepairError::Checkpoint(error) => error.is_given_up(),
            _ => false,
        }
    }
}

impl From<GivenUp> for RepairError {
    fn from(given_up: GivenUp) -> RepairError {
        RepairError::Open(given_up.into())
    }
}

impl From<IoError> for RepairError {
    fn from(error: IoError) -> RepairError {
        RepairError::Open(error.into())
    }
}

fn target(error: IoError) -> RepairError {
    RepairError::Target(error.into())
}

impl OpenOptions {
    /// Saves into a new folder what can be read of another one, which may be so damaged that it
    /// cannot be opened, and is not changed. Trees, branches, revisions and tags have the names,
    /// numbers, authors, messages and times they had, and revisions have just the content they had;
    /// what cannot be read as a whole is not there, and named. It takes memory for all there is,
    /// unless it [spills](OpenOptions::spill).
    ///
    /// # Errors
    /// When nothing can be read, somebody has the folder open to write, the new one is not empty,
    /// or the system refuses something. What is in the new folder then is of no use.
    ///
    /// ```
    /// use jungle_store::{OpenOptions, RepairProgress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-repair-doc-{}", std::process::id()));
    /// let store = Store::open(dir.join("old"))?;
    /// let made = store.create_tree("board")?.update(|tx| tx.append(&[]))?.revision;
    /// store.checkpoint()?;
    /// store.close()?;
    /// // The head of the log is not there any more.
    /// let first = dir.join("old/log/00000000000000000001.log");
    /// let mut bytes = std::fs::read(&first)?;
    /// bytes[..36].fill(0);
    /// std::fs::write(&first, bytes)?;
    /// assert!(Store::open(dir.join("old")).is_err());
    ///
    /// let progress = RepairProgress::default();
    /// let report = OpenOptions::new().repair(dir.join("old"), dir.join("new"), &progress)?;
    /// assert!(report.is_all());
    /// let board = Store::open(dir.join("new"))?.open_tree("board")?;
    /// assert_eq!(board.at(made)?.root().child_count(), 1);
    /// # drop(board);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair(
        self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        progress: &RepairProgress,
    ) -> Result<RepairReport, RepairError> {
        let to = to.as_ref();
        let disk = FolderDisk::create(to);
        let disk = disk.map_err(doing("create", &to.to_string_lossy())).map_err(target)?;
        let options = self.spilling_in(to);
        options.repair_on(Arc::new(FolderDisk::new(from.as_ref())), Arc::new(disk), progress)
    }

    /// As [`repair`](OpenOptions::repair), on disks.
    ///
    /// # Errors
    /// As there.
    pub fn repair_on(
        self,
        from: Arc<dyn Disk>,
        to: Arc<dyn Disk>,
        progress: &RepairProgress,
    ) -> Result<RepairReport, RepairError> {
        let patches = Patches::default();
        let from: Arc<dyn Disk> = Arc::new(PatchedDisk { disk: from, patches: patches.clone() });
        let looking: Arc<dyn Disk> = Arc::new(Mended::new(Arc::clone(&from))?);
        let _lock = self.clone().read_only().lock(&*looking)?;
        if erase::is_unfinished(&*looking)? {
            return Err(OpenError::Erasing { folder: from.place().into() }.into());
        }
        if !to.list("").map_err(doing("list", "the folder")).map_err(target)?.is_empty() {
            return Err(RepairError::Target(OpenError::NotAJungle { folder: to.place().into() }));
        }
        let options = self.with_arena_for(&looking);
        let reading = options.clone().read_only();
        let surveyor = Surveyor::new(&looking, None, reading, &progress.reading);
        let survey = surveyor.look(None)?;
        let mended = Mended::new(from)?.mended()?;
        let (mark, is_cut) = (mended.mark()?, mended.is_cut);
        let from: Arc<dyn Disk> = Arc::new(mended);
        Repairing { options, from, to, mark, is_cut, patches, progress }.run(survey)
    }
}
