//! A versioned tree in memory: every edit makes a new version, old versions stay as they were.
//!
//! ```
//! use jungle_tree::{Arena, Path, Tree};
//!
//! let mut tree = Tree::new(&Arena::new()?);
//! let message = Path::root().join(tree.add_child(&[])?);
//! tree.put_attribute(&message, "text", "hello")?;
//! let before = tree.snapshot();
//! tree.put_attribute(&message, "text", "good-bye")?;
//! assert_eq!(before.root().at(&message)?.attribute("text").unwrap().as_text(), Some("hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - An [`Arena`] is the memory; a [`Tree`] is a line of versions in it; a [`Snapshot`] holds one.
//! - A [`Node`] is borrowed from a snapshot. Children have stable [`Key`]s; attributes are
//!   [`Value`]s under text keys.
//! - An [`Editor`] makes many edits into one version; its [`Cursor`] makes them side by side.
//! - [`diff()`] tells what differs between two versions, as [`Change`]s: [`apply`] does them to a
//!   version, [`rebase`] rewrites them to follow others, [`merge`] brings two sides together, and
//!   names each [`Conflict`].
//! - An [`AttributeIndex`] finds nodes by an attribute, a [`Walk`] goes through all of a subtree.
//! - [`Arena::save`] and [`Arena::reopen`] are for keeping all of it elsewhere; a [`Collection`]
//!   gives back memory that several trees have shared.

mod algebra;
mod arena;
mod attributes;
mod block;
mod check;
mod children;
mod collect;
mod edit;
pub mod fraction;
mod hash;
mod index;
mod key;
mod line;
mod measure;
mod node;
mod path;
mod pin;
#[doc(hidden)]
pub mod planted;
mod range;
mod root;
mod signature;
mod snapshot;
mod sync;
mod trace;
mod tree;
mod value;
mod walk;

pub use algebra::{
    ApplyError, Change, ChangeSet, Conflict, ConflictKind, DiffError, MergeBase, MergeError,
    MergeOptions, Merged, Rebased, Renumbered, Renumbering, Resolution, Rule, RuleFunction, Steps,
    Subtree, TooManySteps, apply, copy_subtree, diff, diff_at, diff_within, differs_within,
    keys_to_skip, merge, merge_again, rebase, rebase_onto, rebase_over, skip_positions, stands,
};
pub use arena::{
    Arena, ArenaError, ArenaOptions, ArenaUsage, ImageError, SLAB_BYTES, SavedImage, SlabError,
    SlabId, SlabSource, loading,
};
pub use attributes::Attributes;
pub use check::{CheckError, CheckReport};
pub use collect::{Collected, Collection, CollectionTurn};
pub use edit::{Cursor, EditError, Editor, Place};
pub use fraction::{Fraction, FractionError};
pub use hash::ContentHash;
pub use index::{AttributeIndex, Hits, HitsEntry, HitsWalk};
pub use key::{KEY_BYTES_MAX, Key, KeyError, KeyRef, POSITION_MAX, POSITION_MIN, Position};
pub use measure::{Measure, Measured};
pub use node::{Children, NoSuchNode, Node};
pub use path::{PATH_TEXT_BYTES_MAX, ParsePathError, ParsePathReason, Path};
pub use range::ChildrenIn;
pub use signature::Signature;
pub use snapshot::{Reading, Snapshot};
pub use tree::{Keep, Tree, TreeReader, VersionId};
pub use value::{ATTRIBUTE_KEY_BYTES_MAX, VALUE_BYTES_MAX, Value, ValueError, ValueRef};
pub use walk::{Split, Walk};
