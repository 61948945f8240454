//! Doing changes again.

use std::fmt;
use std::sync::Arc;

use super::{Change, Subtree};
use crate::edit::{Cursor, EditError, Editor};
use crate::key::Key;
use crate::node::Node;

/// A change that could not be applied. The changes before it are in the editor.
///
/// ```
/// use jungle_tree::{Arena, Change, EditError, Editor, Tree, apply};
/// let tree = Tree::new(&Arena::new()?);
/// let mut editor = Editor::new(tree.snapshot());
/// let added = Change::ChildAdded { path: ["posts"].into() };
/// let error = apply(&mut editor, &[added.clone(), added]).unwrap_err();
/// assert_eq!(error.index, 1);
/// assert_eq!(error.source, EditError::ChildExists { path: ["posts"].into() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplyError {
    /// Which of the changes it was.
    pub index: usize,
    /// Why.
    pub source: EditError,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "change {} cannot be applied: {}", self.index, self.source)
    }
}

impl From<EditError> for ApplyError {
    /// Of the first change, which may be the only one.
    fn from(source: EditError) -> ApplyError {
        ApplyError { index: 0, source }
    }
}

impl std::error::Error for ApplyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Applies changes, in order.
///
/// # Errors
/// At the first change that is refused; those before it are applied. Drop the editor to forget
/// them.
///
/// ```
/// use jungle_tree::{Arena, Editor, Tree, apply, diff};
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// let child = tree.add_child(&[])?;
/// tree.put_attribute(&[child], "text", "hello")?;
/// let changes = diff(&before, &tree.snapshot());
///
/// let mut copy = Tree::from_snapshot(&before);
/// let mut editor = Editor::new(copy.snapshot());
/// apply(&mut editor, &changes)?;
/// copy.publish(editor);
/// assert!(copy.read().root().is_equal(tree.read().root()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply(editor: &mut Editor, changes: &[Change]) -> Result<(), ApplyError> {
    for (index, change) in changes.iter().enumerate() {
        apply_one(editor, change).map_err(|source| ApplyError { index, source })?;
    }
    Ok(())
}

fn split(path: &[Key]) -> Result<(&Key, &[Key]), EditError> {
    path.split_last().ok_or(EditError::Root)
}

fn apply_one(editor: &mut Editor, change: &Change) -> Result<(), EditError> {
    match change {
        Change::ChildAdded { path } => {
            let (key, parent) = split(path)?;
            editor.insert_child(parent, key)
        }
        Change::ChildRemoved { path } => editor.remove(path),
        Change::AttributePut { path, key, value } => {
            editor.put_attribute(path, key, value.as_ref())
        }
        Change::AttributeRemoved { path, key } => editor.remove_attribute(path, key).map(drop),
        Change::Moved { from, to } => {
            let (key, parent) = split(to)?;
            editor.move_node(from, parent, key)
        }
        Change::SubtreeSet { path, subtree } => set(editor, path, subtree),
    }
}

fn set(editor: &mut Editor, path: &[Key], subtree: &Subtree) -> Result<(), EditError> {
    let source = subtree.node();
    let here = &editor.base().cell().arena;
    if !Arc::ptr_eq(&source.cell().arena, here) {
        return copy_subtree(editor, path, source);
    }
    match path.split_last() {
        Some((key, parent)) if editor.root().at(path).is_err() => {
            editor.insert_subtree(parent, key, source)
        }
        _ => editor.set_subtree(path, source),
    }
}

/// Makes the node at `path` (created when not there) hold what `source` holds, node by node. This
/// works from any arena; within one, [`Editor::set_subtree`] shares instead.
///
/// # Errors
/// When the parent is not there, or there is no room; a part may be copied then.
///
/// ```
/// use jungle_tree::{Arena, Editor, Tree, copy_subtree};
/// let mut template = Tree::new(&Arena::new()?);
/// template.put_attribute(&[], "title", "untitled")?;
/// template.add_child(&[])?;
///
/// let tree = Tree::new(&Arena::new()?);
/// let mut editor = Editor::new(tree.snapshot());
/// copy_subtree(&mut editor, &["page".into()], template.read().root())?;
/// let page = editor.root().child("page").unwrap();
/// assert!(page.is_equal(template.read().root()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn copy_subtree(editor: &mut Editor, path: &[Key], source: Node<'_>) -> Result<(), EditError> {
    match path.split_last() {
        Some((key, parent)) if editor.root().at(path).is_err() => {
            editor.insert_child(parent, key)?;
        }
        _ => clear(editor, path)?,
    }
    let mut cursor = editor.cursor(path)?;
    let mut walk = source.walk();
    let mut depth = 0;
    while let Some(node) = walk.next() {
        if let Some(key) = walk.key() {
            let key = key.to_key();
            while depth >= walk.depth() {
                cursor.leave();
                depth -= 1;
            }
            cursor.insert_child(&key)?;
            cursor.enter(&key)?;
            depth += 1;
        }
        copy_attributes(&mut cursor, node)?;
    }
    Ok(())
}

fn copy_attributes(cursor: &mut Cursor<'_>, node: Node<'_>) -> Result<(), EditError> {
    node.attributes().try_for_each(|(key, value)| cursor.put_attribute(key, value))
}

/// Removes everything in a node.
fn clear(editor: &mut Editor, path: &[Key]) -> Result<(), EditError> {
    let node = editor.root().at(path)?;
    let kids: Vec<Key> = node.children().map(|(key, _)| key.to_key()).collect();
    let attributes: Vec<Box<str>> = node.attributes().map(|(key, _)| key.into()).collect();
    let mut cursor = editor.cursor(path)?;
    for key in &kids {
        cursor.remove_child(key)?;
    }
    for key in &attributes {
        cursor.remove_attribute(key)?;
    }
    Ok(())
}
