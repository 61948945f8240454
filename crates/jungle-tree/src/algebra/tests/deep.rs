//! A chain a million deep: nothing recurses, nothing costs the square of the depth.

use super::*;

const DEPTH: usize = 1_000_000;

fn chain() -> Tree {
    let mut tree = Tree::new(&Arena::new().unwrap());
    let mut editor = Editor::new(tree.snapshot());
    for _ in 0..DEPTH {
        editor.push_root(&Key::from(0)).unwrap();
    }
    tree.publish(editor);
    tree
}

#[test]
fn a_chain_a_million_deep_is_compared_and_merged() {
    let bottom: Path = std::iter::repeat_n(Key::from(0), DEPTH).collect();
    let mut theirs = chain();
    let base = theirs.snapshot();
    let mut ours = Tree::from_snapshot(&base);
    ours.put_attribute(&bottom, "x", 1).unwrap();
    theirs.put_attribute(&bottom, "y", 2).unwrap();
    theirs.put_attribute(&bottom[..DEPTH / 2], "z", 3).unwrap();
    let (a, b) = (ours.snapshot(), theirs.snapshot());
    assert_eq!(diff(&base, &a).len(), 1);
    assert_eq!(diff(&base, &b).len(), 2);
    let merged = merge(&base, &a, &b, &MergeOptions::new()).unwrap();
    assert_eq!(merged.conflicts, []);
    let node = merged.editor.root().at(&bottom).unwrap();
    assert_eq!(node.attributes().count(), 2);
}

#[test]
fn a_chain_a_million_deep_is_copied() {
    let from = chain().snapshot();
    let copy = Tree::new(&Arena::new().unwrap()).snapshot();
    let changes = diff(&copy, &from);
    assert_eq!(changes.len(), 1);
    let copied = applied(&copy, &changes);
    assert_equal(&copied, &from, "copied");
    assert!(diff(&copied, &from).is_empty());
}

/// Both add the same chain with another end: node by node down to some depth, and whole below.
#[test]
fn two_chains_a_million_deep_that_were_added_are_merged() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let added = |end: &str| {
        let mut tree = Tree::from_snapshot(&base);
        let mut editor = Editor::new(tree.snapshot());
        editor.put_attribute(&[], "end", end).unwrap();
        for _ in 0..DEPTH {
            editor.push_root(&Key::from("a")).unwrap();
        }
        tree.publish(editor);
        tree.snapshot()
    };
    let (one, two) = (added("one"), added("two"));
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    let merged = merge(&base, &one, &two, &options).unwrap();
    assert_eq!(merged.conflicts.len(), 1);
    assert_eq!(merged.editor.root().subtree_count(), DEPTH as u64 + 1);
}
