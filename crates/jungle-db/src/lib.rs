//! The in-memory database: named trees, transactions, revisions, branches, watches.
//!
//! ```
//! use jungle_db::Jungle;
//! use jungle_tree::{EditError, Path};
//!
//! let jungle = Jungle::new()?;
//! let board = jungle.create_tree("board")?;
//! let message = board.update(|tx| {
//!     let path = Path::root().join(tx.append(&[])?);
//!     tx.put_attribute(&path, "text", "hello")?;
//!     Ok::<_, EditError>(path)
//! })?;
//! let before = board.snapshot();
//! board.update(|tx| tx.remove(&message.value))?;
//!
//! assert_eq!(board.read().root().child_count(), 0);
//! assert_eq!(before.root().child_count(), 1);
//! assert_eq!(board.at(message.revision)?.root().child_count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - A [`Jungle`] is a set of named trees; a [`TreeHandle`] is one branch of one of them.
//! - [`TreeHandle::read`] and [`TreeHandle::snapshot`] read; [`TreeHandle::update`] and
//!   [`Transaction`] write, through a [`Draft`]; [`JungleTransaction`] spans trees.
//! - Every commit has a [`Revision`]. [`TreeHandle::at`], [`TreeHandle::history`],
//!   [`TreeHandle::diff`] look back as far as [`Retention`] says; [`Watch`] follows.
//! - [`TreeHandle::branch`], [`TreeHandle::merge`], [`TreeHandle::tag`].
//! - Commits are written to a [`Journal`], times come from a [`Clock`]: this crate does no I/O.

mod branch;
mod commit;
mod draft;
mod durability;
mod handle;
mod head;
mod history;
mod journal;
mod jungle;
mod log;
mod merge;
mod multi;
mod name;
mod past;
pub mod planted;
mod read;
mod replay;
mod retention;
mod revision;
mod snapshot;
mod sync;
mod transaction;
mod watch;
mod write;

pub use branch::{BranchError, MAIN_BRANCH, NoSuchBranch};
pub use draft::{Draft, Isolation};
pub use durability::Durability;
pub use handle::{CommitOptions, Committed, RevertError, SetRootError, TreeHandle, UpdateError};
pub use journal::{
    BranchEdit, BranchId, CommitRecord, Event, Journal, JournalError, MemoryJournal, TreeId,
};
pub use jungle::{Builder, CreateTreeError, DeleteTreeError, Jungle, NoSuchTree, RenameTreeError};
pub use merge::{Merge, MergeBranchError};
pub use multi::JungleTransaction;
pub use name::{NAME_BYTES_MAX, NameError};
pub use past::{NoSuchRevision, Past};
pub use replay::ReplayError;
pub use retention::Retention;
pub use revision::{Clock, CommitMeta, NoClock, Revision, RevisionInfo, Timestamp};
pub use snapshot::{JungleSnapshot, Snapshot};
pub use transaction::{CommitError, Conflicts, Transaction};
pub use watch::{Watch, WatchError, WatchEvent};
pub use write::NotWritten;
