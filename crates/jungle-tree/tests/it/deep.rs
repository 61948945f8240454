//! Depth is no limit: everything is done to a chain of a million nodes, on a small stack.

use jungle_tree::{Arena, Editor, Key, Path, Snapshot, Tree};

const DEPTH: usize = 1_000_000;
const STACK_BYTES: usize = 256 << 10;

#[test]
fn a_chain_a_million_deep_needs_no_stack() {
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(|| all().expect("only what can be done is asked for"))
        .unwrap();
    thread.join().unwrap();
}

fn all() -> Result<(), Box<dyn std::error::Error>> {
    let arena = Arena::new()?;
    let mut tree = Tree::new(&arena);
    let mut editor = Editor::new(tree.snapshot());
    (0..DEPTH).try_for_each(|_| editor.push_root(&Key::from(0)))?;
    tree.publish(editor);
    let path = Path::from(vec![Key::from(0); DEPTH]);
    let before = whole(&tree);

    tree.put_attribute(&path, "n", 7)?;
    let key = tree.add_child(&path)?;
    tree.edit(|editor| editor.put_attribute(&path.join(key), "n", 8))?;
    let after = tree.snapshot();
    assert_eq!(after.root().subtree_count(), before.root().subtree_count() + 1);
    assert_eq!(after.root().at(&path)?.attribute("n").and_then(|n| n.as_int()), Some(7));
    assert!(before.root().at(&path)?.attribute("n").is_none());
    assert!(!after.root().is_equal(before.root()));
    compared(&before, &after);

    let mut other = Tree::new(&arena);
    let mut editor = Editor::new(other.snapshot());
    let mut cursor = editor.cursor(&[])?;
    for _ in 0..DEPTH {
        let key = cursor.add_child()?;
        cursor.enter(&key)?;
    }
    other.publish(editor);
    assert_eq!(other.read().root().content_hash(), before.root().content_hash());

    tree.edit(|editor| editor.remove(&[Key::from(0)]))?;
    assert_eq!(whole(&tree).root().subtree_count(), 1);
    let mut dropped = Editor::new(other.snapshot());
    (0..DEPTH).try_for_each(|_| dropped.push_root(&Key::from(0)))?;
    drop(dropped);
    drop((before, after, tree, other));
    assert!(arena.collect().structure_bytes > DEPTH);
    Ok(())
}

/// Looks at all of the newest version, by every way of going through it.
fn whole(tree: &Tree) -> Snapshot {
    let snapshot = tree.snapshot();
    let root = snapshot.root();
    let count = root.subtree_count();
    assert_eq!(root.recount(), count);
    assert_eq!(snapshot.check().expect("it is whole").nodes, count);
    let mut walk = root.walk();
    assert_eq!(walk.by_ref().count() as u64, count);
    let mut visited = 0;
    root.visit(|_| visited += 1);
    assert_eq!(visited, count);
    snapshot
}

/// Goes down to where the two differ, by what differs.
fn compared(left: &Snapshot, right: &Snapshot) {
    let (mut left, mut right, mut depth) = (left.root(), right.root(), 0);
    loop {
        let mut differing = left.differing_children(right);
        let Some((_, l, r)) = differing.next() else { panic!("equal at depth {depth}") };
        assert!(differing.next().is_none());
        match (l, r) {
            (Some(l), Some(r)) => (left, right, depth) = (l, r, depth + 1),
            (None, Some(_)) => return assert_eq!(depth, DEPTH),
            _ => panic!("nothing was removed"),
        }
    }
}
