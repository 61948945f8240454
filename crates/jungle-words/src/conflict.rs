//! Conflicts of a merge: their names, and one side of a single one.

use jungle_tree::{Change, Conflict, ConflictKind, EditError, Editor, Path};

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
        Change::Moved { from, to } => redo_move(editor, conflict, change, (from, to))?,
        change => return Err(RedoError::NotAlone { change: Box::new(change.clone()) }),
    }
    Ok(())
}

/// Does a move, and takes back what the other side did where it can only be done without that.
fn redo_move(
    editor: &mut Editor,
    conflict: &Conflict,
    change: &Change,
    (from, to): (&Path, &Path),
) -> Result<(), EditError> {
    let Conflict { path, kind, ours, theirs, .. } = conflict;
    let other = if change == ours { theirs } else { ours };
    match (kind, other) {
        (ConflictKind::MoveCycle | ConflictKind::KeyTaken, Change::Moved { from, to }) => {
            move_to(editor, to, from)?;
        }
        (ConflictKind::KeyTaken, Change::ChildAdded { path }) => editor.remove(path)?,
        _ => {}
    }
    // It stayed or went back where it was, or is where the other side has moved it.
    let elsewhere = match other {
        Change::Moved { to, .. } => to,
        _ => path,
    };
    let places = [from, path, elsewhere];
    match places.into_iter().find(|place| *place != to && editor.root().at(place).is_ok()) {
        Some(place) => move_to(editor, place, to),
        None => editor.root().at(to).map(drop).map_err(EditError::from),
    }
}

fn move_to(editor: &mut Editor, from: &Path, to: &Path) -> Result<(), EditError> {
    let (key, parent) = to.split_last().ok_or(EditError::Root)?;
    editor.move_node(from, parent, key)
}

#[cfg(test)]
mod tests {
    use jungle_db::{CommitMeta, Jungle, Merge};
    use jungle_tree::{MergeOptions, Resolution};

    use super::*;

    fn path(text: &str) -> Path {
        text.parse().unwrap()
    }

    /// Nodes `a` and `b`; each side moves one, and conflicts are settled for the other side.
    fn settled(ours: (&str, &str), theirs: (&str, &str), prevails: Resolution) -> Vec<String> {
        let main = Jungle::new().unwrap().create_tree("t").unwrap();
        let made = main.update(|tx| {
            ["a", "b", "c"].iter().try_for_each(|name| {
                tx.insert_child(&[], &(*name).into())?;
                // A bare node that is moved is one that is removed and one that is added.
                tx.put_attribute(&path(&format!("/{name}")), "name", *name)
            })
        });
        let draft = main.branch("draft", made.unwrap().revision).unwrap();
        for (tree, (from, to)) in [(&draft, ours), (&main, theirs)] {
            let to = path(to);
            let (key, parent) = to.split_last().unwrap();
            tree.update(|tx| tx.move_node(&path(from), parent, key)).unwrap();
        }
        let options = MergeOptions::new().resolution(prevails);
        let merge: Merge = main.merge("draft", &options).unwrap();
        let conflicts = merge.conflicts().to_vec();
        assert_eq!(conflicts.len(), 1);
        let conflict = &conflicts[0];
        let change = if prevails == Resolution::Ours { &conflict.theirs } else { &conflict.ours };
        let merge = merge.edit(|editor| redo(editor, conflict, change)).unwrap();
        merge.commit(&CommitMeta::new()).unwrap();
        let reading = main.read();
        let mut walk = reading.root().walk();
        let mut paths = Vec::new();
        while walk.next().is_some() {
            paths.push(walk.path().to_string());
        }
        paths.sort_unstable();
        paths
    }

    #[test]
    fn moves_are_settled_for_either_side() {
        let both = [Resolution::Ours, Resolution::Theirs];
        let apart = both.map(|prevails| settled(("/a", "/b/x"), ("/a", "/c/y"), prevails));
        assert_eq!(apart, [["/", "/b", "/c", "/c/y"], ["/", "/b", "/b/x", "/c"]]);
        let cycle = both.map(|prevails| settled(("/a", "/b/x"), ("/b", "/a/y"), prevails));
        assert_eq!(cycle, [["/", "/a", "/a/y", "/c"], ["/", "/b", "/b/x", "/c"]]);
        let taken = both.map(|prevails| settled(("/a", "/n"), ("/b", "/n"), prevails));
        assert_eq!(taken, [["/", "/a", "/c", "/n"], ["/", "/b", "/c", "/n"]]);
    }
}
