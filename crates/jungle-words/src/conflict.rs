//! Conflicts of a merge: their names, and one side of a single one.

use jungle_tree::{Change, Conflict, ConflictKind, EditError, Editor};

/// The name of a kind of conflict for programs. A name never changes its meaning.
///
/// ```
/// use jungle_tree::ConflictKind;
/// assert_eq!(jungle_words::conflict::name(ConflictKind::KeyTaken), "key-taken");
/// ```
#[must_use]
pub fn name(kind: ConflictKind) -> &'static str {
    match kind {
        ConflictKind::Attribute => "attribute",
        ConflictKind::RemovedBelow => "removed-below",
        ConflictKind::ChangedBelow => "changed-below",
        ConflictKind::MovedApart => "moved-apart",
        ConflictKind::MoveCycle => "move-cycle",
        ConflictKind::KeyTaken => "key-taken",
        ConflictKind::SetOverlap => "set-overlap",
        _ => "other",
    }
}

/// Why a change cannot be done on top of the others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedoError {
    /// It is a step of something larger.
    #[error("`{change}` cannot be done alone")]
    NotAlone {
        /// The change.
        change: Box<Change>,
    },
    /// The tree refuses it.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Does one side's change of a conflict, at the place where the node is now: for use in
/// [`Merge::edit`](jungle_db::Merge::edit).
///
/// # Errors
/// When it cannot be done alone, or not there.
pub fn redo(editor: &mut Editor, conflict: &Conflict, change: &Change) -> Result<(), RedoError> {
    let path = &conflict.path;
    match change {
        Change::AttributePut { key, value, .. } => editor.put_attribute(path, key, value)?,
        Change::AttributeRemoved { key, .. } => editor.remove_attribute(path, key).map(drop)?,
        Change::ChildRemoved { .. } => editor.remove(path)?,
        Change::SubtreeSet { subtree, .. } => editor.set_subtree(path, subtree.node())?,
        change => return Err(RedoError::NotAlone { change: Box::new(change.clone()) }),
    }
    Ok(())
}
