//! A place in a tree being edited, moved from node to node.

use super::{Edit, EditError, Editor};
use crate::key::{Key, KeyRef};
use crate::node::Node;
use crate::path::Path;
use crate::value::ValueRef;

/// A place in an [`Editor`]: edits at it do not go down from the root each time, and counts are
/// brought up to date when it leaves. The quickest way to build a tree.
///
/// ```
/// use jungle_tree::{Arena, Editor, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let mut editor = Editor::new(tree.snapshot());
/// let mut cursor = editor.cursor(&[])?;
/// for _ in 0..3 {
///     let key = cursor.add_child()?;
///     cursor.enter(&key)?;
///     cursor.put_attribute("text", "hello")?;
///     cursor.add_children(10)?;
///     cursor.leave();
/// }
/// drop(cursor);
/// tree.publish(editor);
/// assert_eq!(tree.read().root().subtree_count(), 1 + 3 * 11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Cursor<'e> {
    editor: &'e mut Editor,
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").finish_non_exhaustive()
    }
}

impl<'e> Cursor<'e> {
    pub(super) fn new(editor: &'e mut Editor) -> Cursor<'e> {
        Cursor { editor }
    }

    #[inline(always)]
    fn with<T>(&mut self, f: impl FnOnce(&mut Edit<'_>) -> T) -> T {
        self.editor.with(f)
    }

    /// Where the cursor is.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// let key = cursor.add_child()?;
    /// cursor.enter(&key)?;
    /// assert_eq!(cursor.path().to_string(), "/0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> Path {
        self.editor.position()
    }

    /// The node where the cursor is, as edited so far.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// cursor.add_children(3)?;
    /// assert_eq!(cursor.node().child_count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn node(&self) -> Node<'_> {
        self.editor.node_here()
    }

    /// Goes to a child.
    ///
    /// # Errors
    /// When there is none of this key; the cursor stays where it is.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// let refused = cursor.enter(&7.into());
    /// assert!(matches!(refused, Err(EditError::NoSuchNode { path }) if path.to_string() == "/7"));
    /// assert_eq!(cursor.path().depth(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn enter(&mut self, key: &Key) -> Result<(), EditError> {
        if !self.with(|edit| edit.enter(key)) {
            return Err(EditError::NoSuchNode { path: self.path().join(key.clone()) });
        }
        Ok(())
    }

    /// Goes to the parent; at the root it stays.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// let key = cursor.add_child()?;
    /// cursor.enter(&key)?;
    /// cursor.leave();
    /// cursor.leave();
    /// assert_eq!(cursor.path().depth(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn leave(&mut self) {
        self.with(|edit| {
            if !edit.path().is_empty() {
                edit.leave();
            }
        });
    }

    /// Adds an empty child; its position counts up and is never used again.
    ///
    /// # Errors
    /// When there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// for _ in 0..3 {
    ///     // Each one below the last.
    ///     let key = cursor.add_child()?;
    ///     cursor.enter(&key)?;
    /// }
    /// assert_eq!(cursor.path().to_string(), "/0/0/0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn add_child(&mut self) -> Result<Key, EditError> {
        self.with(|edit| edit.add_next())
    }

    /// Adds a child with attributes; its position counts up and is never used again.
    ///
    /// # Errors
    /// When a key or a value is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// let key = cursor.add_child_with(&[("title", "hello".into())])?;
    /// assert_eq!(cursor.node().child(&key).unwrap().attribute("title"), Some("hello".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn add_child_with(
        &mut self,
        attributes: &[(&str, ValueRef<'_>)],
    ) -> Result<Key, EditError> {
        self.with(|edit| edit.add_next_with(attributes))
    }

    /// Adds empty children, at the next positions; gives the first position.
    ///
    /// # Errors
    /// When there is no room for them; those that there was room for are added then.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// cursor.add_child()?;
    /// assert_eq!(cursor.add_children(10)?, 1);
    /// assert_eq!(cursor.node().child_count(), 11);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn add_children(&mut self, count: u64) -> Result<i64, EditError> {
        /// So many need less room than every edit leaves.
        const AT_ONCE: u64 = 1 << 10;
        self.with(|edit| {
            edit.check_room(count)?;
            let first = edit.next_position();
            let last = first.saturating_add_unsigned(count).saturating_sub(1);
            KeyRef::Position(last, &[]).check().map_err(EditError::Key)?;
            let mut left = count;
            loop {
                let now = left.min(AT_ONCE);
                edit.add_bare_children(now);
                left -= now;
                if left == 0 {
                    return Ok(first);
                }
                edit.check_room(left)?;
            }
        })
    }

    /// Adds children with attributes, at the next positions, as many as there are; gives the first
    /// position. Up to 16 children of a node that had none are written at once.
    ///
    /// # Errors
    /// When a key or a value is beyond its limits, or there is no room; the children in front of
    /// the refused one are added then.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Tree, ValueRef};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.edit(|editor| {
    ///     let titles = ["a", "b"].map(|title| [("title", ValueRef::from(title))]);
    ///     editor.cursor(&[])?.add_children_with(titles.iter().map(|child| &child[..]))
    /// })?;
    /// let titles = tree.snapshot();
    /// let titles = titles.root().children().map(|(_, child)| child.attribute("title"));
    /// assert_eq!(titles.collect::<Vec<_>>(), [Some("a".into()), Some("b".into())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn add_children_with<'v>(
        &mut self,
        children: impl IntoIterator<Item = &'v [(&'v str, ValueRef<'v>)]>,
    ) -> Result<i64, EditError> {
        self.with(|edit| edit.add_all_with(children))
    }

    /// Adds an empty child with a key of the caller's.
    ///
    /// # Errors
    /// When the key is taken or beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// cursor.insert_child(&"settings".into())?;
    /// assert!(cursor.node().child("settings").is_some());
    /// assert!(cursor.insert_child(&"settings".into()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_child(&mut self, key: &Key) -> Result<(), EditError> {
        self.with(|edit| {
            edit.check_new(edit.path(), key)?;
            edit.check_room(1)?;
            edit.add_child(key.as_ref(), Default::default());
            Ok(())
        })
    }

    /// Removes a child and all below it; `false` when there is none of this key.
    ///
    /// # Errors
    /// When there is no room for the nodes above it without it: more is left for that than what is
    /// added leaves.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// let key = cursor.add_child()?;
    /// assert!(cursor.remove_child(&key)?);
    /// assert!(!cursor.remove_child(&key)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_child(&mut self, key: &Key) -> Result<bool, EditError> {
        self.with(|edit| {
            let removed = edit.remove_child(key.as_ref())?;
            removed.into_iter().for_each(|content| edit.retire_subtree(content));
            Ok(removed.is_some())
        })
    }

    /// Puts an attribute.
    ///
    /// # Errors
    /// When the key or the value is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// cursor.put_attribute("title", "hello")?;
    /// assert_eq!(cursor.node().attribute("title"), Some("hello".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn put_attribute<'v>(
        &mut self,
        key: &str,
        value: impl Into<ValueRef<'v>>,
    ) -> Result<(), EditError> {
        let value = value.into();
        self.with(|edit| edit.put_attribute(key, value))
    }

    /// Removes an attribute; `false` when there is none of this key.
    ///
    /// # Errors
    /// When there is no room for the others without it, as in [`Cursor::remove_child`].
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// cursor.put_attribute("title", "hello")?;
    /// assert!(cursor.remove_attribute("title")?);
    /// assert!(!cursor.node().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_attribute(&mut self, key: &str) -> Result<bool, EditError> {
        self.with(|edit| edit.remove_attribute(key))
    }
}
