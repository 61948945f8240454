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
//! - [`Jungle::checkpoint`] takes out all that a Jungle is besides its arena;
//!   [`Builder::restore`] puts it together again, and an [`Archive`] keeps old histories.
//! - [`Jungle::space`] tells what takes up memory, and what [`Jungle::collect`] would give back;
//!   a [`Collector`] does that when it is worth it.
//! - An [`Eraser`] makes a history again without something.
//! - A [`Sequencer`] gives the commits of several Jungles one order, so that they are equal.
//! - Commits are written to a [`Journal`], times come from a [`Clock`]: this crate does no I/O.

mod archive;
mod branch;
mod checkpoint;
mod collector;
mod commit;
mod copy;
mod draft;
mod durability;
mod erase;
mod handle;
mod head;
mod history;
mod index;
mod journal;
mod jungle;
mod log;
mod lookup;
mod merge;
mod multi;
mod name;
mod named;
mod origin;
mod past;
mod pause;
pub mod planted;
mod read;
mod replay;
mod requests;
mod restore;
mod retention;
mod revision;
mod search;
mod sequence;
mod snapshot;
mod space;
mod state;
mod sync;
mod transaction;
mod turn;
mod watch;
mod write;

pub use archive::{Archive, ArchiveError};
pub use branch::{BranchError, MAIN_BRANCH, NoSuchBranch};
pub use checkpoint::Checkpoint;
pub use collector::{CollectError, Collector};
pub use copy::CopyError;
pub use draft::{Draft, Isolation};
pub use durability::Durability;
pub use erase::{EraseRootError, Erased, ErasedMove, Eraser, Erasure, MOVES_TOLD_MAX};
pub use handle::{CommitOptions, Committed, RevertError, SetRootError, TreeHandle, UpdateError};
pub use history::{HISTORY_PIECE, HistoryEntry};
pub use index::IndexError;
pub use journal::{
    BranchEdit, BranchId, CommitRecord, Event, Journal, JournalError, MemoryJournal, TreeId,
};
pub use jungle::{Builder, CreateTreeError, DeleteTreeError, Jungle, NoSuchTree, RenameTreeError};
pub use merge::{Merge, MergeBranchError};
pub use multi::{CommittedTrees, EditTreesError, JungleTransaction};
pub use name::{NAME_BYTES_MAX, NameError};
pub use past::{NoSuchRevision, Past};
pub use replay::ReplayError;
pub use requests::REQUESTS_MAX;
pub use restore::RestoreError;
pub use retention::{Retention, RetentionError};
pub use revision::{Clock, CommitMeta, NoClock, RequestId, Revision, RevisionInfo, Timestamp};
pub use sequence::{Placed, Places, SequenceError, Sequencer, Series, added_node};
pub use snapshot::{JungleSnapshot, Snapshot};
pub use space::{Space, SpaceError, SpaceQuery, TreeSpace};
pub use state::{
    HistoryAnchor, JungleState, SavedBranch, SavedBuilt, SavedHistory, SavedIndex, SavedMerge,
    SavedOrigin, SavedTag, SavedTree, SavedVersion,
};
pub use transaction::{CommitError, Conflicts, Transaction};
pub use watch::{Watch, WatchError, WatchEvent};
pub use write::NotWritten;
