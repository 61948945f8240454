//! Why nothing was written.

use jungle_tree::ApplyError;

use crate::journal::JournalError;

/// Why a Jungle did not take a commit, whatever was in it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotWritten {
    /// The tree or the branch was deleted.
    #[error("the tree or the branch was deleted")]
    Deleted,
    /// There is no room for it in the arena.
    #[error("there is no room for the commit")]
    NoRoom(#[source] ApplyError),
    /// The journal refused this commit: it was never visible.
    #[error("the commit was not written")]
    Refused(#[source] JournalError),
    /// The journal took this commit but cannot make it last: it is visible, and may be gone when
    /// the Jungle is opened again.
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
