//! What an editor holds, as a version, and what it changed.

use jungle_tree::{ChangeSet, Editor, Snapshot, Steps, TooManySteps, Tree, apply};

use crate::commit::write::NotWritten;
use crate::handle::compare;

/// What an editor holds as a version, of a line of its own.
pub(crate) fn version_of(editor: Editor) -> Snapshot {
    if !editor.is_changed() {
        return editor.base().clone();
    }
    let mut line = Tree::from_snapshot(editor.base());
    line.publish(editor);
    line.snapshot()
}

/// The version an editor began with, and what it changed, if that is found out in so many steps.
///
/// An editor is no version, so it cannot be compared; it becomes one, of a line of its own.
pub(super) fn freeze(
    editor: Editor,
    steps: Option<&mut Steps>,
) -> Result<(Snapshot, ChangeSet), TooManySteps> {
    let base = editor.base().clone();
    if !editor.is_changed() {
        return Ok((base, ChangeSet::new()));
    }
    let changes = compare(&base, &version_of(editor), steps)?;
    Ok((base, changes))
}

/// What an editor changed, and another editor that did the same, since the first has become a
/// version of another line.
pub(crate) fn redone(
    editor: Editor,
    steps: Option<&mut Steps>,
) -> Result<(Editor, ChangeSet), NotWritten> {
    let (base, changes) = freeze(editor, steps)?;
    let mut editor = Editor::new(base);
    apply(&mut editor, &changes).map_err(NotWritten::NoRoom)?;
    Ok((editor, changes))
}
