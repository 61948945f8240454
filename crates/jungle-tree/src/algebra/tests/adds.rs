//! What several replicas add under one name, larger than what is told node by node.

use super::*;

const FILES: i64 = 40;

/// Adds `/docs` with `/docs/NAME`, which holds files; and `/docs/shared`, which all have.
fn docs(base: &Snapshot, name: &str) -> Snapshot {
    let mut tree = Tree::from_snapshot(base);
    let path = |text: &str| text.parse::<Path>().unwrap();
    for folder in ["docs", "docs/shared", &format!("docs/{name}")] {
        let folder = path(&format!("/{folder}"));
        let (key, parent) = folder.split_last().unwrap();
        tree.insert_child(parent, key).unwrap();
        for n in 0..FILES {
            let file = folder.join(format!("file{n}"));
            tree.insert_child(&folder, file.last().unwrap()).unwrap();
            tree.put_attribute(&file, "n", n).unwrap();
        }
    }
    tree.put_attribute(&path("/docs/shared/file7"), "by", name).unwrap();
    tree.snapshot()
}

fn merged(base: &Snapshot, ours: &Snapshot, theirs: &Snapshot) -> (Snapshot, Vec<Conflict>) {
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    let merged = merge(base, ours, theirs, &options).unwrap();
    let mut tree = Tree::from_snapshot(theirs);
    tree.publish(merged.editor);
    (tree.snapshot(), merged.conflicts)
}

#[test]
fn a_folder_that_both_added_is_merged_file_by_file() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let [one, two, three] = ["one", "two", "three"].map(|name| docs(&base, name));
    let (both, conflicts) = merged(&base, &one, &two);
    let named: Vec<String> = conflicts.iter().map(|it| it.ours.to_string()).collect();
    assert_eq!(named, ["~ /docs/shared/file7 @by = \"one\""]);
    let docs = both.root().at(&["docs".into()]).unwrap();
    assert_eq!(docs.child_count(), 3 + FILES as u64);
    let all = merged(&base, &both, &three).0;
    for [a, b, c] in [[&two, &three, &one], [&three, &one, &two], [&two, &one, &three]] {
        let other = merged(&base, &merged(&base, a, b).0, c).0;
        assert_equal(&other, &all, "another order");
    }
}

#[test]
fn what_both_added_alike_is_no_conflict_and_is_not_told_again() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let (one, same) = (docs(&base, "one"), docs(&base, "one"));
    let options = MergeOptions::new();
    let merged = merge(&base, &one, &same, &options).unwrap();
    assert_eq!((merged.conflicts.len(), merged.changes.len()), (0, 0));
}

#[test]
fn one_that_is_bare_or_was_moved_there_takes_nothing_apart() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let one = docs(&base, "one");
    let mut bare = Tree::from_snapshot(&base);
    bare.insert_child(&[], &"docs".into()).unwrap();
    let merged = merge(&base, &one, &bare.snapshot(), &MergeOptions::new()).unwrap();
    assert_eq!((merged.conflicts.len(), merged.changes.len()), (0, 1));

    let mut tree = Tree::from_snapshot(&base);
    tree.insert_child(&[], &"old".into()).unwrap();
    tree.put_attribute(&["old".into()], "n", 1).unwrap();
    let base = tree.snapshot();
    let one = docs(&base, "one");
    tree.edit(|editor| editor.move_node(&["old".into()], &[], &"docs".into())).unwrap();
    let merged = merge(&base, &one, &tree.snapshot(), &MergeOptions::new()).unwrap();
    let kinds: Vec<ConflictKind> = merged.conflicts.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [ConflictKind::KeyTaken]);
}

/// They would be there twice.
#[test]
fn rows_that_both_made_are_not_doubled() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let rows = |name: &str| {
        let mut tree = Tree::from_snapshot(&base);
        tree.edit(|editor| {
            editor.insert_child(&[], &"rows".into())?;
            editor.put_attribute(&["rows".into()], "by", name)?;
            (0..FILES).try_for_each(|_| editor.add_child(&["rows".into()]).map(drop))
        })
        .unwrap();
        tree.snapshot()
    };
    let (merged, conflicts) = merged(&base, &rows("one"), &rows("two"));
    assert_eq!((conflicts.len(), merged.root().subtree_count()), (1, FILES as u64 + 2));
}

/// At a position they are two nodes, so ours is not taken apart.
#[test]
fn what_both_append_stays_whole() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let appended = |name: &str| {
        let mut tree = Tree::from_snapshot(&base);
        let docs = docs(&base, name);
        tree.edit(|editor| {
            let key = editor.add_child(&[])?;
            editor.set_subtree(&[key], docs.root())
        })
        .unwrap();
        tree.snapshot()
    };
    let (one, two) = (appended("one"), appended("two"));
    let merged = merge(&base, &one, &two, &MergeOptions::new()).unwrap();
    assert!(merged.conflicts.is_empty());
    assert_eq!((merged.changes.len(), merged.renamed.len()), (1, 1));
}
