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
//! - [`Jungle`]: named trees, transactions, revisions, branches and watches (from `jungle-db`).
//! - [`Node`], [`Key`], [`Path`], [`Value`], [`diff()`], [`merge`]: the tree itself (from
//!   `jungle-tree`).
//! - [`Open`], [`OpenOptions`], [`Store`]: a Jungle in a folder (from `jungle-store`).
//! - [`json`]: JSON in and out (from `jungle-json`).
//! - [`SystemClock`]: real times for revisions.

mod clock;
mod memory;
mod open;

pub use clock::SystemClock;
pub use jungle_db::*;
pub use jungle_json as json;
pub use jungle_store::{
    AdoptError, BackupError, BackupProgress, BackupReport, CHECKPOINT_EVERY, CheckpointError,
    CheckpointReport, CheckpointStatus, Cut, DAMAGES_MAX, Damage, DecodeError, DecodeReason,
    DiskUsage, EncodeError, EraseError, EraseQuery, EraseReport, IoError, LoadError, LogError,
    LogStats, LostCommits, OpenError, OpenOptions, OpenReport, Outline, Progress, RECORD_BYTES_MAX,
    Remedy, RepairError, RepairProgress, RepairReport, RepairSource, SEGMENT_BYTES,
    STREAM_BYTES_MAX, Spill, Spilling, Store, StreamError, Survey, TreeDamage, TreeFault, Verified,
    VerifyError, disk,
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
