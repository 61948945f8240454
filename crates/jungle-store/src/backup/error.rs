//! Why there is no backup.

use jungle_db::Revision;

use crate::checkpoint::StreamError;
use crate::error::{IoError, LogError, OpenError};
use crate::pages::PagesError;

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
