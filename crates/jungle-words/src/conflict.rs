//! Conflicts of a merge or a revert: their names, and one side of a single one.

use jungle_tree::{Change, Conflict, ConflictKind, EditError, Editor, Key, Path, Snapshot};

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

/// The same conflict as the other side tells it: with ours for theirs and theirs for ours.
///
/// Conflicts of a [revert](jungle_db::TreeHandle::prepare_revert) are told so. Ours is what is
/// there now, to those who have it; what comes back from before the revision is theirs.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_tree::{ConflictKind, MergeOptions};
/// use jungle_words::conflict::turned;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let page = tree.update(|tx| tx.append(&[]))?;
/// tree.update(|tx| tx.put_attribute(&[page.value.clone()], "title", "kept"))?;
/// let revert = tree.prepare_revert(page.revision, &MergeOptions::new())?;
/// let told = turned(&revert.conflicts()[0]);
/// assert_eq!(told.kind, ConflictKind::RemovedBelow);
/// assert_eq!(told.ours.to_string(), r#"~ /0 @title = "kept""#);
/// assert_eq!(told.theirs.to_string(), "- /0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn turned(conflict: &Conflict) -> Conflict {
    let mut turned = conflict.clone();
    std::mem::swap(&mut turned.ours, &mut turned.theirs);
    turned.kind = match conflict.kind {
        ConflictKind::RemovedBelow => ConflictKind::ChangedBelow,
        ConflictKind::ChangedBelow => ConflictKind::RemovedBelow,
        kind => kind,
    };
    turned
}

/// Why a change cannot be done on top of the others.
///
/// ```
/// use jungle_tree::{Change, EditError};
/// use jungle_words::conflict::RedoError;
/// let change = Box::new(Change::ChildAdded { path: [0].into() });
/// assert_eq!(RedoError::NotAlone { change }.to_string(), "`+ /0` cannot be done alone");
/// assert_eq!(RedoError::from(EditError::Root).to_string(), EditError::Root.to_string());
/// ```
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

/// Is our change left out even where ours prevails? Then it takes a [`redo`].
///
/// A list of changes has no copy of what they removed, so ours cannot be done on top of theirs
/// (`docs/merge.md`); the version that is merged has one.
///
/// ```
/// use jungle_db::{CommitMeta, Jungle};
/// use jungle_tree::{MergeOptions, Resolution};
/// use jungle_words::conflict::{is_left_out, redo};
/// let main = Jungle::new()?.create_tree("board")?;
/// let page = [main.update(|tx| tx.append(&[]))?.value];
/// let draft = main.branch("draft", main.snapshot().revision())?;
/// draft.update(|tx| tx.put_attribute(&page, "title", "kept"))?;
/// main.update(|tx| tx.remove(&page))?;
///
/// let merge = main.merge("draft", &MergeOptions::new().resolution(Resolution::Ours))?;
/// let (conflict, ours) = (merge.conflicts()[0].clone(), merge.ours().clone());
/// assert!(is_left_out(&conflict) && merge.changes().is_empty());
/// let merge = merge.edit(|editor| redo(editor, &conflict, &conflict.ours, &ours))?;
/// merge.commit(&CommitMeta::new())?;
/// let after = main.read();
/// assert_eq!(after.root().at(&page)?.attribute("title").unwrap().as_text(), Some("kept"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn is_left_out(conflict: &Conflict) -> bool {
    conflict.kind == ConflictKind::RemovedBelow
}

/// Does one side's change of a conflict, at the place where the node is now: for use in
/// [`Merge::edit`](jungle_db::Merge::edit). What they removed and we changed is made again as it
/// is in `ours`, the version that is merged; the nearest node above that is there still gets it.
///
/// # Errors
/// When it cannot be done alone, or not there.
///
/// ```
/// use jungle_db::{CommitMeta, Jungle};
/// use jungle_tree::MergeOptions;
/// use jungle_words::conflict::redo;
/// let main = Jungle::new()?.create_tree("board")?;
/// let draft = main.branch("draft", main.snapshot().revision())?;
/// draft.update(|tx| tx.put_attribute(&[], "title", "ours"))?;
/// main.update(|tx| tx.put_attribute(&[], "title", "theirs"))?;
///
/// // Theirs prevails, but for this one.
/// let merge = main.merge("draft", &MergeOptions::new())?;
/// let (conflict, ours) = (merge.conflicts()[0].clone(), merge.ours().clone());
/// let merge = merge.edit(|editor| redo(editor, &conflict, &conflict.ours, &ours))?;
/// merge.commit(&CommitMeta::new())?;
/// assert_eq!(main.read().root().attribute("title"), Some("ours".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn redo(
    editor: &mut Editor,
    conflict: &Conflict,
    change: &Change,
    ours: &Snapshot,
) -> Result<(), RedoError> {
    if is_left_out(conflict) {
        // Theirs is done: it is why ours is left out.
        let is_ours = *change == conflict.ours;
        return if is_ours { Ok(bring_back(editor, conflict, ours)?) } else { Ok(()) };
    }
    let path = &conflict.path;
    match change {
        Change::AttributePut { key, value, .. } => editor.put_attribute(path, key, value)?,
        Change::AttributeRemoved { key, .. } => editor.remove_attribute(path, key).map(drop)?,
        Change::ChildRemoved { .. } => redo_removal(editor, conflict, change)?,
        Change::SubtreeSet { subtree, .. } => editor.set_subtree(path, subtree.node())?,
        Change::Moved { from, to } => redo_move(editor, conflict, change, (from, to))?,
        change => return Err(RedoError::NotAlone { change: Box::new(change.clone()) }),
    }
    Ok(())
}

/// Makes again what they removed, as it is in `ours`: all that is not there on the way to what we
/// changed. Another conflict may have brought it back already.
fn bring_back(editor: &mut Editor, conflict: &Conflict, ours: &Snapshot) -> Result<(), EditError> {
    let (from, path) = match &conflict.ours {
        Change::Moved { from, to } => (Some(from), to),
        _ => (None, &conflict.path),
    };
    let lacks = |editor: &Editor, path: &[Key]| editor.root().at(path).is_err();
    if let Some(end) = (1..=path.len()).find(|&end| lacks(editor, &path[..end])) {
        let (key, parent) = path[..end].split_last().expect("it is not empty");
        editor.insert_subtree(parent, key, ours.root().at(&path[..end])?)?;
    }
    match from {
        // What we moved into it has stayed where it was.
        Some(from) if ours.root().at(from).is_err() && !lacks(editor, from) => editor.remove(from),
        _ => Ok(()),
    }
}

/// Removes what the other side has changed: each of its changes is a conflict, so it may be gone by
/// now. What it has moved into that would be lost, what it has moved out of it would stay.
fn redo_removal(
    editor: &mut Editor,
    conflict: &Conflict,
    change: &Change,
) -> Result<(), RedoError> {
    let Conflict { path, ours, theirs, .. } = conflict;
    let other = if change == ours { theirs } else { ours };
    if let Change::Moved { from, to } = other
        && from != change.path()
        && to != path
        && !(from.starts_with(path) && to.starts_with(path))
    {
        return Err(RedoError::NotAlone { change: Box::new(change.clone()) });
    }
    if editor.root().at(path).is_ok() {
        editor.remove(path)?;
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
    use jungle_db::{CommitMeta, Draft, Jungle, Merge, UpdateError};
    use jungle_tree::{MergeOptions, Resolution, diff};

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
        let (conflicts, ours) = (merge.conflicts().to_vec(), merge.ours().clone());
        assert_eq!(conflicts.len(), 1);
        let conflict = &conflicts[0];
        let change = if prevails == Resolution::Ours { &conflict.theirs } else { &conflict.ours };
        let merge = merge.edit(|editor| redo(editor, conflict, change, &ours)).unwrap();
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

    /// What settling all conflicts for us does to theirs, where we removed `/a`.
    fn removed(theirs: impl FnMut(&mut Draft) -> Result<(), EditError>) -> Option<String> {
        let main = Jungle::new().unwrap().create_tree("t").unwrap();
        let made = main.update(|tx| {
            ["/a", "/a/k", "/b"].iter().try_for_each(|name| {
                let path = path(name);
                let (key, parent) = path.split_last().unwrap();
                tx.insert_child(parent, key)?;
                tx.put_attribute(&path, "name", *name)
            })
        });
        let draft = main.branch("draft", made.unwrap().revision).unwrap();
        draft.update(|tx| tx.remove(&path("/a"))).unwrap();
        main.update(theirs).unwrap();
        let merge = main.merge("draft", &MergeOptions::new()).unwrap();
        let (conflicts, version) = (merge.conflicts().to_vec(), merge.ours().clone());
        assert!(!conflicts.is_empty());
        let settled = merge.edit(|editor| {
            conflicts.iter().try_for_each(|one| redo(editor, one, &one.ours, &version))
        });
        match settled {
            Ok(merge) => Some(merge.changes().to_string()),
            Err(UpdateError::Closure(RedoError::NotAlone { .. })) => None,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn what_we_removed_goes_once_and_takes_nothing_along() {
        let put = |tx: &mut Draft, at: &str| tx.put_attribute(&path(at), "n", 1);
        let twice = |tx: &mut Draft| put(tx, "/a").and_then(|()| put(tx, "/a/k"));
        assert_eq!(removed(twice).as_deref(), Some("- /a\n"));
        let away = |tx: &mut Draft| tx.move_node(&path("/a"), &path("/b"), &"c".into());
        assert_eq!(removed(away).as_deref(), Some("- /b/c\n"));
        let within = |tx: &mut Draft| tx.move_node(&path("/a/k"), &path("/a"), &"m".into());
        assert_eq!(removed(within).as_deref(), Some("- /a\n"));
        // They moved something into it, or out of it: it would be gone, or left behind.
        let into = |tx: &mut Draft| tx.move_node(&path("/b"), &path("/a"), &"c".into());
        assert_eq!(removed(into), None);
        let out = |tx: &mut Draft| tx.move_node(&path("/a/k"), &[], &"c".into());
        assert_eq!(removed(out), None);
    }

    /// What differs from ours in the end when that prevails, and they removed `removed`.
    fn kept(removed: &str, ours: impl FnMut(&mut Draft) -> Result<(), EditError>) -> Vec<String> {
        let main = Jungle::new().unwrap().create_tree("t").unwrap();
        let names = ["/a", "/a/k", "/a/k/leaf", "/b", "/list", "/list/0", "/list/1"];
        let made = main.update(|tx| {
            names.iter().try_for_each(|name| {
                let path = path(name);
                let (key, parent) = path.split_last().unwrap();
                tx.insert_child(parent, key)?;
                tx.put_attribute(&path, "name", *name)
            })
        });
        let draft = main.branch("draft", made.unwrap().revision).unwrap();
        draft.update(ours).unwrap();
        main.update(|tx| tx.remove(&path(removed))).unwrap();
        let options = MergeOptions::new().resolution(Resolution::Ours);
        let merge = main.merge("draft", &options).unwrap();
        let (conflicts, version) = (merge.conflicts().to_vec(), merge.ours().clone());
        assert!(!conflicts.is_empty() && conflicts.iter().all(is_left_out));
        let redo = |editor: &mut Editor| {
            conflicts.iter().try_for_each(|one| redo(editor, one, &one.ours, &version))
        };
        merge.edit(redo).unwrap().commit(&CommitMeta::new()).unwrap();
        let (ours, merged) = (draft.snapshot(), main.snapshot());
        diff(&ours, &merged).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_they_removed_comes_back_as_ours_has_it() {
        let put = |at: &'static str| move |tx: &mut Draft| tx.put_attribute(&path(at), "n", 1);
        for (removed, at) in [
            ("/a", "/a"),
            ("/a", "/a/k/leaf"),
            ("/a/k", "/a/k"),
            ("/list/0", "/list/0"),
            ("/list", "/list/1"),
        ] {
            assert!(kept(removed, put(at)).is_empty(), "{removed} {at}");
        }
        let add = |tx: &mut Draft| tx.insert_child(&path("/a/k"), &"new".into()).map(drop);
        assert!(kept("/a", add).is_empty());
        // What we moved away from is none of our changes.
        for (removed, from, to, differs) in [
            ("/a", "/a/k", "/k", &["- /a"][..]),
            ("/a", "/b", "/a/b", &[]),
            ("/b", "/b", "/a/b", &[]),
            ("/a", "/b", "/a/k/b", &[]),
        ] {
            let to = path(to);
            let (key, parent) = to.split_last().unwrap();
            let moved = |tx: &mut Draft| tx.move_node(&path(from), parent, key);
            assert_eq!(kept(removed, moved), differs, "{removed} {from} {to}");
        }
    }
}
