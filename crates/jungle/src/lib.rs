//! Jungle, to embed: a versioned tree database, in memory or in a folder.
//!
//! ```
//! use jungle::{EditError, Jungle, Memory, Path};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let jungle = Jungle::memory()?;
//! let board = jungle.create_tree("board")?;
//!
//! let posted = board.update(|tx| {
//!     let message = Path::root().join(tx.append(&[])?);
//!     tx.put_attribute(&message, "text", "hello")?;
//!     Ok::<Path, EditError>(message)
//! })?;
//! board.update(|tx| tx.put_attribute(&posted.value, "text", "good-bye"))?;
//!
//! let (before, now) = (board.at(posted.revision)?, board.snapshot());
//! for (version, text) in [(before, "hello"), (now, "good-bye")] {
//!     let message = version.root().at(&posted.value)?;
//!     assert_eq!(message.attribute("text").unwrap().as_text(), Some(text));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What to use for what
//!
//! **To begin**, [`Memory`] and [`Open`] add `Jungle::memory()` and `Jungle::open(folder)`. A
//! [`Jungle`] is a set of named trees, a [`Store`] one that is kept in a folder, and a
//! [`TreeHandle`] a branch of a tree, which is what most calls are made on. Options are in
//! [`OpenOptions`], for a folder, and [`Jungle::builder`], for memory.
//!
//! **To read**, hold a [`Snapshot`] ([`TreeHandle::snapshot`], or [`TreeHandle::at`] for an older
//! revision) and look at its [`Node`]s: children by [`Key`] or [`Path`], attributes as
//! [`ValueRef`]s. A [`JungleSnapshot`] is of all trees at once; an [`AttributeIndex`] finds nodes
//! by an attribute, once there is one ([`TreeHandle::create_index`]).
//!
//! **To write**, give a closure to [`TreeHandle::update`], which runs it again where another commit
//! truly overlaps, or to [`Jungle::update`] for several trees. The closure edits a [`Draft`]. A
//! [`Transaction`] or [`JungleTransaction`] does the same by hand: it is committed, and says what
//! stood in the way. [`CommitOptions`] say who commits, and what that has to survive
//! ([`Durability`]).
//!
//! **To look back**, every commit has a [`Revision`]: [`TreeHandle::history`] lists them,
//! [`TreeHandle::revert`], [`TreeHandle::restore`] and [`TreeHandle::undo`] take something back.
//! [`Retention`] says how many are kept.
//!
//! **To compare, branch and merge**: [`TreeHandle::diff`] gives a [`ChangeSet`],
//! [`TreeHandle::branch`] a branch, [`TreeHandle::merge`] a [`Merge`] with its [`Conflict`]s, which
//! [`MergeOptions`] settle. [`TreeHandle::steps_max`] and [`MergeOptions::steps_max`] bound what
//! is compared, where anybody may have made the versions.
//!
//! **To follow**, [`TreeHandle::watch`] gives a [`Watch`]: each revision's changes below a path.
//!
//! **To take documents in and out**, [`json`].
//!
//! **To look after a folder**: [`Store::backup`], [`Store::verify`], [`OpenOptions::repair`],
//! [`OpenOptions::erase`]; [`Jungle::space`] and [`Jungle::collect`], or a [`Collector`], give back
//! memory that nothing uses any more.
//!
//! Each operation has an error of its own, which says what it can fail with and nothing else.
//!
//! # What few need
//!
//! - The tree without the database: [`Tree`], [`Arena`], [`Editor`], [`Cursor`], [`diff()`],
//!   [`merge`], [`rebase`]. [`TreeSnapshot`] is its snapshot, which [`Snapshot`] derefs to.
//! - For servers and replicated logs: [`Sequencer`], [`Series`], [`Journal`], [`CommitRecord`].
//! - For other ways of saving a Jungle: [`Checkpoint`], [`Archive`], [`JungleState`], [`Salvage`],
//!   [`Eraser`]; and [`disk`], for a disk that is not the system's.

mod clock;
mod memory;
mod open;

pub use clock::SystemClock;
pub use jungle_db::*;
pub use jungle_json as json;
pub use jungle_store::{
    AdoptError, AuditError, AuditPage, AuditQuery, AuditRow, BackupError, BackupProgress,
    BackupReport, CHECKPOINT_EVERY, CheckpointError, CheckpointReport, CheckpointStatus, Cut,
    DAMAGES_MAX, Damage, DecodeError, DecodeReason, DiskUsage, EncodeError, EraseError, EraseQuery,
    EraseReport, IoError, LoadError, LogError, LogStats, LostCommits, OpenError, OpenOptions,
    OpenReport, Outline, Progress, RECORD_BYTES_MAX, Remedy, RepairError, RepairProgress,
    RepairReport, RepairSource, SEGMENT_BYTES, STREAM_BYTES_MAX, Spill, Spilling, Store,
    StreamError, Survey, TreeDamage, TreeFault, Verified, VerifyError, disk,
    pages::{PageDamage, PagesError},
};
/// The names of `jungle-tree`; [`Snapshot`] here is that of the database, which derefs to the
/// tree's, here [`TreeSnapshot`].
pub use jungle_tree::{
    ATTRIBUTE_KEY_BYTES_MAX, ApplyError, Arena, ArenaError, ArenaOptions, ArenaUsage,
    AttributeIndex, Attributes, Change, ChangeSet, CheckError, CheckReport, Children, ChildrenIn,
    Collected, Collection, CollectionTurn, Conflict, ConflictKind, ContentHash, Cursor, DiffError,
    EditError, Editor, Fraction, FractionError, Hits, HitsEntry, HitsWalk, ImageError,
    KEY_BYTES_MAX, Keep, Key, KeyError, KeyRef, Measure, Measured, MergeBase, MergeError,
    MergeOptions, Merged, NoSuchNode, Node, PATH_TEXT_BYTES_MAX, POSITION_MAX, POSITION_MIN,
    ParsePathError, ParsePathReason, Path, Place, Position, Reading, Rebased, Renumbered,
    Renumbering, Resolution, Rule, RuleFunction, SLAB_BYTES, SavedImage, Signature, SlabError,
    SlabId, SlabSource, Snapshot as TreeSnapshot, Split, Steps, Subtree, TooManySteps, Tree,
    TreeReader, VALUE_BYTES_MAX, Value, ValueError, ValueRef, VersionId, Walk, apply, copy_subtree,
    diff, diff_at, diff_within, differs_within, keys_to_skip, loading, merge, merge_again, rebase,
    rebase_onto, rebase_over, skip_positions,
};
pub use memory::Memory;
pub use open::Open;

/// The README's examples, which are tried as any other.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
