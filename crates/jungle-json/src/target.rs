//! The place in the tree that a document is read into, and what was there before.

use jungle_tree::{Cursor, EditError, Key, KeyRef, Node, ValueRef};

use crate::{ARRAY_KEY, VALUE_KEY};

/// What kind of JSON a node is, as far as that decides whether it can stay.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    Array,
    Object,
}

pub(crate) fn kind(node: Node<'_>) -> Kind {
    if node.attribute(VALUE_KEY).is_some() {
        return Kind::Scalar;
    }
    let is_array = match node.has_children().then(|| node.children().next()).flatten() {
        Some((KeyRef::Position(..), _)) => true,
        Some(_) => false,
        None => node.attribute(ARRAY_KEY).is_some(),
    };
    if is_array { Kind::Array } else { Kind::Object }
}

/// A cursor that counts what it changes.
pub(crate) struct Target<'e> {
    cursor: Cursor<'e>,
    pub(crate) edits: u64,
}

impl<'e> Target<'e> {
    pub(crate) fn new(cursor: Cursor<'e>) -> Target<'e> {
        Target { cursor, edits: 0 }
    }

    pub(crate) fn enter(&mut self, key: &Key) -> Result<(), EditError> {
        self.cursor.enter(key)
    }

    pub(crate) fn leave(&mut self) {
        self.cursor.leave();
    }

    pub(crate) fn insert_child(&mut self, key: &Key) -> Result<(), EditError> {
        self.edits += 1;
        self.cursor.insert_child(key)
    }

    pub(crate) fn remove_child(&mut self, key: &Key) -> Result<(), EditError> {
        self.edits += u64::from(self.cursor.remove_child(key)?);
        Ok(())
    }

    pub(crate) fn put(&mut self, key: &str, value: ValueRef<'_>) -> Result<(), EditError> {
        self.edits += 1;
        self.cursor.put_attribute(key, value)
    }

    pub(crate) fn remove_attribute(&mut self, key: &str) -> Result<(), EditError> {
        self.edits += u64::from(self.cursor.remove_attribute(key)?);
        Ok(())
    }

    /// Makes the child `key` a scalar of this value.
    pub(crate) fn put_scalar(&mut self, key: &Key, value: ValueRef<'_>) -> Result<(), EditError> {
        self.enter(key)?;
        let result = self.put(VALUE_KEY, value);
        self.leave();
        result
    }

    /// Takes away everything that the node has, as listed.
    pub(crate) fn clear(&mut self, content: &Content) -> Result<(), EditError> {
        content.children.iter().try_for_each(|key| self.remove_child(key))?;
        content.attributes.iter().try_for_each(|key| self.remove_attribute(key))
    }
}

/// The keys of what a node has.
#[derive(Default)]
pub(crate) struct Content {
    children: Vec<Key>,
    attributes: Vec<String>,
}

impl Content {
    pub(crate) fn of(node: Node<'_>) -> Content {
        Content {
            children: node.children().map(|(key, _)| key.to_key()).collect(),
            attributes: node.attributes().map(|(key, _)| key.to_owned()).collect(),
        }
    }
}
