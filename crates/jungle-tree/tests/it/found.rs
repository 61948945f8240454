//! Bugs that were found, each with the shortest way to it.

use jungle_tree::{
    Arena, EditError, Editor, Fraction, Keep, Key, KeyError, POSITION_MAX, POSITION_MIN, Position,
    Snapshot, Tree, ValueRef,
};

fn arena() -> Arena {
    Arena::new().expect("address range")
}

/// The children's attribute `n`, to see what a version shows.
fn seen(snapshot: &Snapshot) -> Vec<Option<i64>> {
    let of = |(_, node): (_, jungle_tree::Node<'_>)| node.attribute("n").and_then(|n| n.as_int());
    snapshot.root().children().map(of).collect()
}

#[test]
fn hash_follows_edits_in_one_editor() {
    let tree = Tree::new(&arena());
    let mut editor = Editor::new(tree.snapshot());
    editor.add_child(&[]).unwrap();
    let one = editor.root().content_hash();
    editor.add_child(&[]).unwrap();
    assert_ne!(one, editor.root().content_hash());
}

#[test]
fn hash_of_a_held_version_is_of_its_content() {
    let mut tree = Tree::new(&arena());
    tree.add_child(&[]).unwrap();
    let mut hashes = Vec::new();
    // Each round holds a version, retires its blocks, hashes it, lets it go and reuses them.
    for n in 0..200 {
        tree.put_attribute(&[0.into()], "n", n).unwrap();
        let held = tree.snapshot();
        tree.put_attribute(&[0.into()], "n", -1).unwrap();
        assert_eq!(seen(&held), [Some(n.into())]);
        hashes.push(held.root().content_hash());
        drop(held);
        tree.reclaim();
    }
    let different = hashes.iter().collect::<std::collections::HashSet<_>>().len();
    assert_eq!(different, hashes.len());
}

#[test]
fn held_version_outlives_its_history() {
    let mut tree = Tree::new(&arena());
    tree.keep(Keep::All);
    tree.add_child(&[]).unwrap();
    tree.put_attribute(&[0.into()], "n", 7).unwrap();
    let held = tree.reader().held(tree.version_id());
    tree.keep(Keep::Newest);
    for n in 0..10 {
        tree.put_attribute(&[0.into()], "n", n).unwrap();
    }
    assert_eq!(seen(&held), [Some(7)]);
}

/// The line that it was pinned in is another one.
#[test]
fn held_version_is_not_edited_in_place_by_a_tree_made_of_it() {
    let arena = arena();
    let mut tree = Tree::new(&arena);
    tree.add_child(&[]).unwrap();
    let held = tree.snapshot();
    drop(tree);
    let mut again = Tree::from_version(&arena, held.version_id()).unwrap();
    again.put_attribute(&[0.into()], "n", 7).unwrap();
    again.add_child(&[]).unwrap();
    assert_eq!(seen(&held), [None]);
    assert_eq!(seen(&again.snapshot()), [Some(7), None]);
}

#[test]
fn subtree_of_an_unpublished_edit_is_refused() {
    let arena = arena();
    let mut other = Tree::new(&arena);
    let mut tree = Tree::new(&arena);
    let mut source = Editor::new(other.snapshot());
    source.add_child(&[]).unwrap();
    source.put_attribute(&[0.into()], "n", 7).unwrap();
    // The source's editor believes to be alone with what it made, and changes it in place.
    let refused = tree.edit(|editor| editor.insert_subtree(&[], &Key::from(0), source.root()));
    assert_eq!(refused, Err(EditError::Unpublished));
    other.publish(source);
    let published = other.snapshot();
    tree.edit(|editor| editor.insert_subtree(&[], &Key::from(0), published.root())).unwrap();
    let held = tree.snapshot();
    for n in 0..10 {
        other.put_attribute(&[0.into()], "n", n).unwrap();
    }
    let grafted = held.root().child(0).unwrap().child(0).unwrap();
    assert_eq!(grafted.attribute("n").unwrap().as_int(), Some(7));
}

#[test]
fn last_child_is_the_greatest_position() {
    let mut tree = Tree::new(&arena());
    let fraction = Fraction::from_bytes(&[0xff, 0x80]).unwrap();
    let last = Position::with_fraction(POSITION_MAX, fraction).unwrap();
    tree.add_child(&[]).unwrap();
    tree.insert_child(&[], &Key::Position(last.clone())).unwrap();
    let snapshot = tree.snapshot();
    let (key, _) = snapshot.root().last_child().unwrap();
    assert_eq!(key.to_key(), Key::Position(last));
}

/// What has a fraction behind the lowest number was taken for that number.
#[test]
fn in_front_of_the_first_number_there_is_nothing_and_behind_it_there_is_room() {
    let mut tree = Tree::new(&arena());
    let lowest = Position::new(POSITION_MIN).unwrap();
    let fraction = Fraction::from_bytes(&[0x80]).unwrap();
    let behind = Position::with_fraction(POSITION_MIN, fraction).unwrap();
    tree.insert_child(&[], &Key::from(behind.clone())).unwrap();
    let mut given = Vec::new();
    for _ in 0..3 {
        let key = tree.insert_before(&[], &behind).unwrap();
        assert!(key < Key::from(behind.clone()) && !given.contains(&key), "{key}");
        tree.remove(std::slice::from_ref(&key)).unwrap();
        given.push(key);
    }
    tree.insert_child(&[], &Key::from(lowest.clone())).unwrap();
    let refused = tree.insert_before(&[], &lowest);
    assert_eq!(refused, Err(EditError::Key(KeyError::NothingBefore)));
    assert_eq!(tree.read().root().child_count(), 2);
    tree.snapshot().check().unwrap();
}

/// A tree with so many numbers left for children of its root.
fn nearly_full(left: i64) -> Tree {
    let mut tree = Tree::new(&arena());
    let key = Key::from(POSITION_MAX - left);
    tree.insert_child(&[], &key).unwrap();
    tree.remove(&[key]).unwrap();
    tree
}

/// Many at once were refused the last one, and all that were written together with it.
#[test]
fn every_number_is_given_and_behind_the_last_there_are_fractions() {
    let beyond = EditError::Key(KeyError::IndexOutOfRange { index: POSITION_MAX + 1 });
    let mut tree = nearly_full(3);
    let added = tree.edit(|editor| editor.cursor(&[])?.add_children(3));
    assert_eq!(added, Ok(POSITION_MAX - 2));
    let refused = tree.edit(|editor| editor.cursor(&[])?.add_children(1));
    assert_eq!(refused, Err(beyond.clone()));

    let mut tree = nearly_full(3);
    let leaf: [(&str, ValueRef<'_>); 1] = [("n", ValueRef::Int(7))];
    let added = tree.edit(|editor| editor.cursor(&[])?.add_children_with([&leaf[..]]));
    assert_eq!(added, Ok(POSITION_MAX - 2));
    let mut editor = Editor::new(tree.snapshot());
    let leaves = (0..5).map(|_| &leaf[..]);
    let refused = editor.cursor(&[]).unwrap().add_children_with(leaves);
    assert_eq!(refused, Err(beyond));
    tree.publish(editor);
    assert_eq!(seen(&tree.snapshot()), [Some(7); 3]);
    let one = tree.add_child(&[]).unwrap();
    let other = tree.add_child(&[]).unwrap();
    assert!(Key::from(POSITION_MAX) < one && one < other, "{one} {other}");
    assert_eq!(tree.read().root().child_count(), 5);
    tree.snapshot().check().unwrap();
}

#[test]
fn version_numbers_go_up_along_a_tree() {
    let mut tree = Tree::new(&arena());
    let mut early = Editor::new(tree.snapshot());
    early.add_child(&[]).unwrap();
    for _ in 0..10 {
        tree.add_child(&[]).unwrap();
    }
    let before = tree.read().version();
    tree.publish(early);
    assert!(before < tree.read().version());
}

/// A fork takes a snapshot's content from its line, whatever the line's writer does meanwhile.
#[test]
fn fork_beside_a_writer_keeps_its_content() {
    let mut tree = Tree::new(&arena());
    tree.edit(|editor| editor.cursor(&[])?.add_children(12).map(drop)).unwrap();
    for n in 0..12 {
        tree.put_attribute(&[n.into()], "n", n).unwrap();
    }
    let reader = tree.reader();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0_i32;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                n = n.wrapping_add(1);
                tree.put_attribute(&[(n & 7).into()], "n", n).unwrap();
            }
        });
        let mut wrong = 0;
        for _ in 0..400 {
            let snapshot = reader.snapshot();
            let (fork, expected) = (Tree::from_snapshot(&snapshot), seen(&snapshot));
            let later = snapshot.version() + 600;
            drop(snapshot);
            // The writer looks through what waits once in 256 edits or so.
            while reader.read().version() < later {
                std::hint::spin_loop();
            }
            wrong += usize::from(seen(&fork.snapshot()) != expected);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(wrong, 0);
    });
}

#[test]
fn count_is_right_when_a_fraction_joins_names_in_one_edit() {
    let mut tree = Tree::new(&arena());
    let fraction = jungle_tree::Fraction::from_bytes(&[0x80]).unwrap();
    let position = jungle_tree::Position::with_fraction(3, fraction).unwrap();
    let edited = tree.edit(|editor| {
        editor.insert_child(&[], &Key::from("name"))?;
        editor.insert_child(&[], &Key::Position(position))
    });
    edited.unwrap();
    assert_eq!(tree.snapshot().root().subtree_count(), 3);
}

/// Of the model suite, seed 20780017926: a fraction that was put there by hand, ends as those of
/// the tree do with a number that comes later, and is taken away.
#[test]
fn a_fraction_given_by_hand_is_not_given_again_by_the_tree() {
    let mut tree = Tree::new(&arena());
    (0..2).try_for_each(|_| tree.add_child(&[]).map(drop)).unwrap();
    let first = jungle_tree::Position::new(0).unwrap();
    let mut taken = std::collections::HashSet::new();
    let by_hand = jungle_tree::Fraction::from_bytes(&[0x80, 30, 1]).unwrap();
    let by_hand = Key::Position(jungle_tree::Position::with_fraction(0, by_hand).unwrap());
    tree.insert_child(&[], &by_hand).unwrap();
    tree.remove(std::slice::from_ref(&by_hand)).unwrap();
    taken.insert(by_hand);
    for _ in 0..60 {
        let key = tree.insert_after(&[], &first).unwrap();
        tree.remove(std::slice::from_ref(&key)).unwrap();
        assert!(taken.insert(key.clone()), "{key:?} was there before");
    }
}

#[test]
fn version_numbers_are_used_once_in_an_arena() {
    let arena = arena();
    let mut tree = Tree::new(&arena);
    // The line has used up the numbers it reserved, and the editor draws the very next one.
    tree.add_child(&[]).unwrap();
    tree.edit(|editor| editor.add_child(&[]).map(drop)).unwrap();
    tree.add_child(&[]).unwrap();
    assert_ne!(tree.read().version(), Tree::new(&arena).read().version());
}

/// A snapshot that is cloned before it is dropped holds its version throughout, also while the
/// writer looks who holds what, one after the other.
#[test]
fn clone_hand_over_hand_holds_the_version() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let mut tree = Tree::new(&arena());
    tree.add_child(&[]).unwrap();
    tree.put_attribute(&[0.into()], "n", 7).unwrap();
    let old = tree.snapshot();
    tree.put_attribute(&[0.into()], "n", 8).unwrap();
    // So that the writer has long to look.
    let between: Vec<Snapshot> = (0..20_000).map(|_| tree.snapshot()).collect();
    let mut held = old.clone();
    drop(old);
    let done = AtomicBool::new(false);
    let wrong = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut wrong = 0;
            while !done.load(Ordering::Relaxed) {
                for _ in 0..100 {
                    held = held.clone();
                }
                wrong += usize::from(seen(&held) != [Some(7)]);
            }
            wrong
        });
        for n in 0..3000 {
            tree.put_attribute(&[0.into()], "n", n).unwrap();
            tree.reclaim();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    drop(between);
    assert_eq!(wrong, 0);
}
