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
//!   [`TreeHandle::revert`], [`TreeHandle::restore`], [`TreeHandle::undo`] go back.
//! - [`TreeHandle::branch`] begins a branch, [`TreeHandle::merge`] brings another one in, as a
//!   [`Merge`] to be looked at; [`TreeHandle::tag`] gives a revision a name.
//! - [`TreeHandle::create_index`] has nodes found by an attribute, in every version.
//! - [`Jungle::checkpoint`] takes out all that a Jungle is besides its arena;
//!   [`Builder::restore`] puts it together again, and an [`Archive`] keeps old histories, of a
//!   Jungle that goes on, too ([`Jungle::hand_over`]).
//! - [`Jungle::space`] tells what takes up memory, and what [`Jungle::collect`] would give back;
//!   a [`Collector`] does that when it is worth it.
//! - An [`Eraser`] makes a history again without something; a [`Salvage`] saves what can be read.
//! - A [`Sequencer`] gives the commits of several Jungles one order, so that they are equal.
//! - Commits are written to a [`Journal`], times come from a [`Clock`]: this crate does no I/O.

mod branch;
mod commit;
mod erase;
mod handle;
mod head;
mod history;
mod index;
mod journal;
mod jungle;
mod name;
mod named;
#[doc(hidden)]
pub mod planted;
mod restore;
mod revision;
mod salvage;
mod sequence;
mod snapshot;
mod space;
mod sync;
mod watch;

pub use branch::merge::{Merge, MergeBranchError};
pub use branch::other_keys::{OtherKeys, RENUMBERED_MAX};
pub use branch::{BranchError, MAIN_BRANCH, NoSuchBranch};
pub use commit::draft::{Draft, Isolation};
pub use commit::durability::Durability;
pub use commit::multi::{CommittedTrees, EditTreesError, JungleTransaction};
pub use commit::requests::REQUESTS_MAX;
pub use commit::transaction::{CommitError, Conflicts, Transaction};
pub use commit::write::NotWritten;
pub use erase::copy::CopyError;
pub use erase::{EraseRootError, Erased, ErasedMove, Eraser, Erasure, MOVES_TOLD_MAX};
pub use handle::revert::RevertError;
pub use handle::undo::UndoError;
pub use handle::{CommitOptions, Committed, Comparing, SetRootError, TreeHandle, UpdateError};
pub use history::archive::{Archive, ArchiveError};
pub use history::past::{NoSuchRevision, Past};
pub use history::retention::{Retention, RetentionError};
pub use history::{HISTORY_PIECE, HistoryEntry};
pub use index::IndexError;
pub use journal::{
    BranchEdit, BranchId, CommitRecord, Event, Journal, JournalError, MemoryJournal, MergedVersion,
    TreeId,
};
pub use jungle::{Builder, CreateTreeError, DeleteTreeError, Jungle, NoSuchTree, RenameTreeError};
pub use name::{NAME_BYTES_MAX, NameError};
pub use restore::RestoreError;
pub use restore::checkpoint::Checkpoint;
pub use restore::replay::ReplayError;
pub use restore::state::{
    HistoryAnchor, JungleState, SavedBranch, SavedBuilt, SavedHistory, SavedIndex, SavedMerge,
    SavedOrigin, SavedTag, SavedTree, SavedVersion,
};
pub use revision::{Clock, CommitMeta, RequestId, Revision, RevisionInfo, Timestamp};
pub use salvage::{Lost, Remains, Salvage, Saved};
pub use sequence::{Placed, Places, SequenceError, Sequencer, Series, added_node};
pub use snapshot::{JungleSnapshot, Snapshot};
pub use space::collector::{CollectError, Collector};
pub use space::{Space, SpaceError, SpaceQuery, TreeSpace};
pub use watch::{Watch, WatchError, WatchEvent};
