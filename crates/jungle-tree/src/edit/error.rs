//! What can be wrong with an edit.

use std::fmt;

use crate::arena::TooManyKeys;
use crate::attributes::ATTRIBUTES_WORDS_MAX;
use crate::key::{Key, KeyError};
use crate::path::Path;
use crate::value::{ATTRIBUTE_KEY_BYTES_MAX, ValueError};

/// Why an edit was refused. A refused edit has changed nothing.
///
/// ```
/// use jungle_tree::{Arena, EditError, Path, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.insert_child(&[], &"posts".into())?;
/// let exists = tree.insert_child(&[], &"posts".into());
/// assert_eq!(exists, Err(EditError::ChildExists { path: Path::from(["posts"]) }));
/// let error = tree.remove(&["notes".into()]).unwrap_err();
/// assert_eq!(error.to_string(), "there is no node at /notes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditError {
    /// There is no node at this path.
    NoSuchNode {
        /// The path up to and including the key that is not there.
        path: Path,
    },
    /// There is a child of this key already.
    ChildExists {
        /// The path of the child.
        path: Path,
    },
    /// A node can't be moved below itself, nor the root anywhere.
    MoveIntoItself {
        /// The node that was to be moved.
        path: Path,
    },
    /// The root can't be removed, or given a place among siblings.
    Root,
    /// The key is beyond its limits.
    Key(KeyError),
    /// The value is beyond its limits.
    Value(ValueError),
    /// The attribute key is too long.
    AttributeKeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The arena has too many distinct attribute keys.
    TooManyKeys,
    /// The tree has brought in as many attribute keys that were new in the arena as
    /// [it may](crate::Editor::keys_max).
    TooManyKeysOfTree {
        /// How many it has.
        keys: u32,
        /// How many it may have.
        keys_max: u32,
    },
    /// The node's attributes are too large together.
    TooManyAttributes,
    /// A tree holds at most 2^32 - 1 nodes.
    TreeFull,
    /// The arena's memory is used up.
    ArenaFull,
    /// The subtree belongs to another arena.
    OtherArena,
    /// The subtree is part of an edit that is not published yet, and may still change.
    Unpublished,
}

impl EditError {
    /// Was there no room, whatever was to be done? Then the same edit may do elsewhere, or later.
    ///
    /// ```
    /// use jungle_tree::EditError;
    /// assert!(EditError::ArenaFull.is_full() && !EditError::Root.is_full());
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            EditError::ArenaFull
                | EditError::TreeFull
                | EditError::TooManyKeys
                | EditError::TooManyKeysOfTree { .. }
        )
    }

    pub(crate) fn too_many_keys(error: TooManyKeys) -> EditError {
        match error {
            TooManyKeys::InArena => EditError::TooManyKeys,
            TooManyKeys::OfOwner { keys, keys_max } => {
                EditError::TooManyKeysOfTree { keys, keys_max }
            }
        }
    }

    pub(crate) fn no_such_node(path: &[Key], depth: usize) -> EditError {
        EditError::NoSuchNode { path: path[..=depth].into() }
    }

    pub(crate) fn child_exists(parent: &[Key], key: &Key) -> EditError {
        EditError::ChildExists { path: Path::from(parent).join(key.clone()) }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::NoSuchNode { path } => write!(f, "there is no node at {path}"),
            EditError::ChildExists { path } => write!(f, "there is a node at {path} already"),
            EditError::MoveIntoItself { path } => write!(f, "cannot move {path} below itself"),
            EditError::Root => write!(f, "the root can be neither removed nor moved"),
            EditError::Key(error) => error.fmt(f),
            EditError::Value(error) => error.fmt(f),
            EditError::AttributeKeyTooLong { bytes } => {
                write!(f, "an attribute key of {bytes} bytes is longer than the limit of ")?;
                write!(f, "{ATTRIBUTE_KEY_BYTES_MAX}")
            }
            EditError::TooManyKeys => TooManyKeys::InArena.fmt(f),
            EditError::TooManyKeysOfTree { keys, keys_max } => {
                TooManyKeys::OfOwner { keys: *keys, keys_max: *keys_max }.fmt(f)
            }
            EditError::TooManyAttributes => {
                write!(f, "the attributes of one node take at most {} bytes together; ", {
                    ATTRIBUTES_WORDS_MAX * 8
                })?;
                write!(f, "put many values into children instead")
            }
            EditError::TreeFull => write!(f, "a tree holds at most {} nodes", u32::MAX),
            EditError::ArenaFull => {
                write!(f, "the arena's memory is used up; collect, or make a larger one")
            }
            EditError::Unpublished => {
                write!(f, "the subtree is still being edited; publish it first")
            }
            EditError::OtherArena => {
                write!(f, "the subtree belongs to another arena; copy it node by node")
            }
        }
    }
}

impl std::error::Error for EditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            EditError::Key(error) => Some(error),
            EditError::Value(error) => Some(error),
            _ => None,
        }
    }
}
