//! Why nothing was written.

use jungle_tree::{ApplyError, TooManySteps};

use crate::history::archive::ArchiveError;
use crate::journal::JournalError;
use crate::revision::Revision;

/// Why a Jungle did not take a commit, whatever was in it.
///
/// ```
/// use jungle_db::{Jungle, NotWritten, UpdateError};
/// let jungle = Jungle::new()?;
/// let board = jungle.create_tree("board")?;
/// jungle.delete_tree("board")?;
/// let refused = board.update(|tx| tx.append(&[]));
/// assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::Deleted))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotWritten {
    /// The tree or the branch was deleted.
    #[error("the tree or the branch was deleted")]
    Deleted,
    /// The [request](crate::CommitMeta::asked_by) was committed before. That commit need not be on
    /// disk yet: [`Jungle::wait_until`](crate::Jungle::wait_until) waits for it.
    #[error("the request was committed as revision {revision}")]
    Repeated {
        /// As what.
        revision: Revision,
    },
    /// Another request with the same key was committed before.
    #[error("another request with this key was committed as revision {revision}")]
    KeyInUse {
        /// As what.
        revision: Revision,
    },
    /// What it has to know of earlier revisions could not be read: whether the request was
    /// committed before, or whether what is merged is kept.
    #[error("what was committed before could not be read")]
    NotLookedUp(#[source] ArchiveError),
    /// It looked at a branch of another Jungle, or edits what it did not begin with: a draft or an
    /// editor of something else was put in the place of its own.
    #[error("what was looked at or edited is something else than what is committed to")]
    OtherJungle,
    /// It takes more steps to find what it changes than [it may](crate::TreeHandle::steps_max).
    #[error(transparent)]
    TooManySteps(#[from] TooManySteps),
    /// There is no room for it in the arena.
    #[error("there is no room for the commit")]
    NoRoom(#[source] ApplyError),
    /// The journal refused this commit: it was never visible.
    #[error("the commit was not written")]
    Refused(#[source] JournalError),
    /// The journal took this commit but cannot make it last: it is visible, and may be gone when
    /// the Jungle is opened again. Where nothing was to be changed, that is so of what was seen.
    #[error("the commit is visible but may not last")]
    Unsafe(#[source] JournalError),
    /// It was sent to get its place among the commits of several Jungles, and no answer came in
    /// time: it may have been made, or be made yet.
    #[error("whether the commit was made is not known")]
    Undecided(#[source] JournalError),
    /// The journal failed at an earlier commit: nothing more is taken until the Jungle is opened
    /// again.
    #[error("nothing is written any more, since the journal failed before; open it again")]
    Stopped,
}
