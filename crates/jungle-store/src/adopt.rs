//! Putting a whole Jungle into a folder, in the place of what is there.

use std::path::Path;
use std::sync::Arc;

use jungle_db::{Jungle, Revision};
use jungle_tree::loading;

use crate::checkpoint::{CheckpointError, Checkpoints};
use crate::disk::{Disk, FolderDisk, Mode};
use crate::erase::{Beside, finish, remove_unfinished, swap};
use crate::error::{IoError, LogError, OpenError, doing};
use crate::log::Log;
use crate::log::mark::{LOCK, Mark};
use crate::log::writer::Writer;
use crate::open::{OpenOptions, make_log};
use crate::progress::Progress;
use crate::verify::VerifyError;

/// Why a Jungle was not put into a folder: what was there is there still.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_store::{AdoptError, OpenError, OpenOptions, Store};
/// # let dir = std::env::temp_dir().join(format!("jungle-not-adopted-{}", std::process::id()));
/// let store = Store::open(&dir)?;
/// let refused = OpenOptions::new().adopt(&dir, &Jungle::new()?);
/// assert!(matches!(refused, Err(AdoptError::Open(OpenError::Locked { .. }))));
/// # drop(store);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// The folder cannot be opened, or what was made could not be put in its place; then opening
    /// it goes on with that.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log cannot be written.
    #[error(transparent)]
    NotWritten(#[from] LogError),
    /// Nor a checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// What was made is not whole.
    #[error("what was made is not whole: {0}")]
    Verify(#[from] VerifyError),
    /// What was made is something else: a bug of this program, or of the disk.
    #[error("what was made is not what it should be at revision {revision}")]
    Wrong {
        /// The newest revision of the Jungle.
        revision: Revision,
    },
    /// Somebody committed to the Jungle meanwhile.
    #[error("the Jungle has changed while it was put into the folder; try again")]
    Changed,
}

impl From<IoError> for AdoptError {
    fn from(error: IoError) -> AdoptError {
        AdoptError::Open(error.into())
    }
}

impl OpenOptions {
    /// Puts a Jungle into a folder, as it is now, in the place of all that may be there, which is
    /// lost; makes the folder when it is not there. It has a checkpoint then, and a log that goes
    /// on from there. Nobody may have the folder open, or commit to the Jungle meanwhile. If it is
    /// interrupted, the folder has what it had, or opening it goes on.
    ///
    /// # Errors
    /// When somebody has the folder open or commits to the Jungle, the folder is not a Jungle's, or
    /// the system refuses something.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_store::{OpenOptions, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-adopt-doc-{}", std::process::id()));
    /// let jungle = Jungle::new()?;
    /// jungle.create_tree("board")?;
    /// OpenOptions::new().adopt(&dir, &jungle)?;
    /// assert_eq!(Store::open(&dir)?.revision(), jungle.revision());
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn adopt(self, folder: impl AsRef<Path>, jungle: &Jungle) -> Result<(), AdoptError> {
        let folder = folder.as_ref();
        let disk = FolderDisk::create(folder);
        let disk = disk.map_err(doing("create", &folder.to_string_lossy()))?;
        self.spilling_in(folder).adopt_on(Arc::new(disk), jungle)
    }

    /// As [`adopt`](OpenOptions::adopt), on a disk.
    ///
    /// # Errors
    /// As there.
    pub fn adopt_on(self, disk: Arc<dyn Disk>, jungle: &Jungle) -> Result<(), AdoptError> {
        let lock = self.lock(&*disk)?;
        finish(&*disk, &*lock)?;
        make_log(&*disk, Mark::read(&*lock)?)?;
        let newest = jungle.revision();
        let made = self.make_beside(&disk, jungle, newest);
        let made = made.and_then(|()| self.read_back(&disk, jungle));
        if let Err(error) = made {
            // Whoever opens the folder does it, too.
            let _ = remove_unfinished(&*disk);
            return Err(match error {
                AdoptError::Wrong { .. }
                | AdoptError::Checkpoint(CheckpointError::Log(LogError::NotGiven { .. }))
                    if jungle.revision() != newest =>
                {
                    AdoptError::Changed
                }
                error => error,
            });
        }
        Ok(swap(&*disk, &*lock)?)
    }

    /// What was there is thrown away for what can be read again only.
    fn read_back(&self, disk: &Arc<dyn Disk>, jungle: &Jungle) -> Result<(), AdoptError> {
        let beside: Arc<dyn Disk> = Arc::new(Beside(Arc::clone(disk)));
        let store = self.clone().checkpoint_every(u64::MAX).open_on(beside)?;
        store.verify()?;
        if !loading(|| is_same(&store, jungle)).map_err(VerifyError::from)? {
            return Err(AdoptError::Wrong { revision: jungle.revision() });
        }
        Ok(store.close()?)
    }

    fn make_beside(
        &self,
        disk: &Arc<dyn Disk>,
        jungle: &Jungle,
        newest: Revision,
    ) -> Result<(), AdoptError> {
        let beside: Arc<dyn Disk> = Arc::new(Beside(Arc::clone(disk)));
        let lock = beside.open(LOCK, Mode::CreateNew).map_err(doing("create", LOCK))?;
        let newest = newest.number();
        let writer = Writer::first(Arc::clone(&beside), newest + 1, self.segment_bytes)?;
        let log = Log::new(Arc::clone(&beside), lock, Some(writer), newest);
        Checkpoints::none(beside).write(jungle, &log, &Progress::default())?;
        Ok(log.close()?)
    }
}

/// Have two the same revision, and the same branches with the same content?
pub(crate) fn is_same(one: &Jungle, other: &Jungle) -> bool {
    let heads = |jungle: &Jungle| {
        let mut heads = Vec::new();
        for tree in jungle.list_trees().iter().filter_map(|name| jungle.open_tree(name).ok()) {
            for branch in tree.list_branches().iter().filter_map(|name| tree.on_branch(name).ok()) {
                let newest = branch.snapshot();
                let hash = newest.root().content_hash();
                heads.push((tree.id(), branch.branch_id(), newest.revision(), hash));
            }
        }
        heads
    };
    one.revision() == other.revision() && heads(one) == heads(other)
}
