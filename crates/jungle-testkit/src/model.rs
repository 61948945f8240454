//! The reference model of a tree: plain maps, deliberately simple, obviously right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The smallest and the largest integer of a position, as the tree has them.
pub const MODEL_POSITIONS: std::ops::RangeInclusive<i64> = -(1 << 44)..=(1 << 44) - 1;
/// The most bytes of a name.
pub const MODEL_NAME_BYTES_MAX: usize = 4096;

/// A child's key: positions in numeric order, then names in byte order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelKey {
    /// The integer and the digits behind it.
    Position(i64, Vec<u8>),
    /// A name.
    Name(String),
}

impl ModelKey {
    /// The whole position `index`.
    pub fn at(index: i64) -> ModelKey {
        ModelKey::Position(index, Vec::new())
    }

    fn is_valid(&self) -> bool {
        match self {
            ModelKey::Position(index, _) => MODEL_POSITIONS.contains(index),
            ModelKey::Name(name) => name.len() <= MODEL_NAME_BYTES_MAX,
        }
    }
}

/// An attribute's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelValue {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A node and all below it. Children are shared between copies, so that a copy is cheap.
#[derive(Clone, Debug, Default)]
pub struct ModelNode {
    /// Its attributes.
    pub attributes: BTreeMap<String, ModelValue>,
    /// Its children.
    pub children: BTreeMap<ModelKey, Arc<ModelNode>>,
    /// The position of the next child added: above all that there ever were.
    pub next: i64,
    /// No position below this one was ever used.
    pub low: i64,
    /// The positions with a fraction that were taken away.
    pub taken: BTreeSet<ModelKey>,
}

/// Why the model refuses an edit. A refused edit has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// A path leads nowhere.
    NoSuchNode,
    /// The key is taken.
    ChildExists,
    /// The root has no siblings.
    Root,
    /// A node cannot be moved below itself.
    MoveIntoItself,
    /// The key is beyond its limits.
    Key,
}

type Edited<T = ()> = Result<T, ModelError>;

impl ModelNode {
    /// The node at a path.
    pub fn at(&self, path: &[ModelKey]) -> Option<&ModelNode> {
        path.iter().try_fold(self, |node, key| node.children.get(key).map(|child| &**child))
    }

    /// The node at a path, to be changed.
    fn at_mut(&mut self, path: &[ModelKey]) -> Edited<&mut ModelNode> {
        self.at(path).ok_or(ModelError::NoSuchNode)?;
        Ok(path.iter().fold(self, |node, key| {
            Arc::make_mut(node.children.get_mut(key).expect("looked at before"))
        }))
    }

    /// How many nodes there are, this one included.
    pub fn count(&self) -> u64 {
        1 + self.children.values().map(|child| child.count()).sum::<u64>()
    }

    /// How many nodes the longest path has.
    pub fn depth(&self) -> u64 {
        1 + self.children.values().map(|child| child.depth()).max().unwrap_or(0)
    }

    /// Adds a bare child at the next position.
    pub fn add_child(&mut self, path: &[ModelKey]) -> Edited<ModelKey> {
        let next = self.at(path).ok_or(ModelError::NoSuchNode)?.next;
        let key = ModelKey::at(next);
        self.insert(path, &key, ModelNode::default())?;
        Ok(key)
    }

    /// Adds a child that holds something.
    pub fn insert(&mut self, path: &[ModelKey], key: &ModelKey, child: ModelNode) -> Edited {
        let node = self.at(path).ok_or(ModelError::NoSuchNode)?;
        if !key.is_valid() {
            return Err(ModelError::Key);
        }
        if node.children.contains_key(key) {
            return Err(ModelError::ChildExists);
        }
        let node = self.at_mut(path)?;
        if let ModelKey::Position(index, _) = key {
            node.next = node.next.max(index + 1);
            node.low = node.low.min(*index);
        }
        node.children.insert(key.clone(), Arc::new(child));
        Ok(())
    }

    /// Takes a node out, and gives it.
    pub fn remove(&mut self, path: &[ModelKey]) -> Edited<ModelNode> {
        let (key, parent) = path.split_last().ok_or(ModelError::Root)?;
        self.at(path).ok_or(ModelError::NoSuchNode)?;
        let parent = self.at_mut(parent)?;
        let removed = parent.children.remove(key).expect("looked at before");
        if matches!(key, ModelKey::Position(_, fraction) if !fraction.is_empty()) {
            parent.taken.insert(key.clone());
        }
        Ok(ModelNode::clone(&removed))
    }

    /// Moves a node to be a child of another.
    pub fn move_node(&mut self, from: &[ModelKey], parent: &[ModelKey], key: &ModelKey) -> Edited {
        let (_, old_parent) = from.split_last().ok_or(ModelError::Root)?;
        if parent.starts_with(from) {
            return Err(ModelError::MoveIntoItself);
        }
        if !key.is_valid() {
            return Err(ModelError::Key);
        }
        let destination = self.at(parent).ok_or(ModelError::NoSuchNode)?;
        let is_same = old_parent == parent && from.last() == Some(key);
        if destination.children.contains_key(key) && !is_same {
            return Err(ModelError::ChildExists);
        }
        let moved = self.remove(from)?;
        self.insert(parent, key, moved)
    }

    /// Replaces all that a node holds.
    pub fn set(&mut self, path: &[ModelKey], node: ModelNode) -> Edited {
        *self.at_mut(path)? = node;
        Ok(())
    }

    /// Puts an attribute.
    pub fn put(&mut self, path: &[ModelKey], key: &str, value: ModelValue) -> Edited {
        self.at_mut(path)?.attributes.insert(key.to_owned(), value);
        Ok(())
    }

    /// Removes an attribute; was it there?
    pub fn unput(&mut self, path: &[ModelKey], key: &str) -> Edited<bool> {
        Ok(self.at_mut(path)?.attributes.remove(key).is_some())
    }

    /// Makes a new root above this one.
    pub fn push_root(&mut self, key: &ModelKey) -> Edited {
        if !key.is_valid() {
            return Err(ModelError::Key);
        }
        let below = std::mem::take(self);
        self.insert(&[], key, below)
    }

    /// Makes a node the root.
    pub fn pop_root(&mut self, path: &[ModelKey]) -> Edited {
        *self = self.at(path).ok_or(ModelError::NoSuchNode)?.clone();
        Ok(())
    }
}
