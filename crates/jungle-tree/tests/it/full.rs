//! An arena in which there is no room left refuses, and loses nothing.

use std::thread;

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Arena, ArenaOptions, EditError, Editor, Key, Path, Snapshot, Tree};

/// So little that it is full after some hundred edits.
const SMALL: ArenaOptions =
    ArenaOptions { structure_bytes: 16 << 20, payload_bytes: 16 << 20, spill: None };

/// A path to some node that is there.
fn some_path(editor: &Editor, rng: &mut Rng) -> Path {
    let (mut node, mut path) = (editor.root(), Path::root());
    while rng.chance(3, 4) {
        let Some((key, child)) = node.children().nth(rng.index(20)) else { break };
        path = path.join(key.to_key());
        node = child;
    }
    path
}

/// This adds many at once, of which some may be added when there is no room for all.
const MANY: u64 = 0;

/// One edit of twelve kinds, as large as it may be.
fn edit(editor: &mut Editor, kind: u64, old: &[Snapshot], rng: &mut Rng) -> Result<(), EditError> {
    let (path, other) = (some_path(editor, rng), some_path(editor, rng));
    let name = |rng: &mut Rng| Key::from(&*"n".repeat(1 + rng.index(4_000)));
    match kind {
        MANY => editor.cursor(&path)?.add_children(rng.below(200_000)).map(drop),
        1 => editor.add_child(&path).map(drop),
        2 => editor.insert_child(&path, &name(rng)),
        3 => editor.put_attribute(&path, "value", "v".repeat(rng.index(1 << 20)).as_str()),
        4 => {
            editor.put_attribute(&path, &format!("key {}", rng.below(500)), "w".repeat(60).as_str())
        }
        5 => editor.remove_attribute(&path, "value").map(drop),
        6 => editor.remove(&path),
        7 => editor.move_node(&path, &other, &name(rng)),
        8 => editor.push_root(&Key::from("was the root")),
        9 => editor.pop_root(&path),
        10 => editor.set_subtree(&path, rng.pick(old).root()),
        _ => {
            let mut cursor = editor.cursor(&path)?;
            let first = cursor.node().children().next().map(|(key, _)| key.to_key());
            first.map_or(Ok(()), |key| cursor.remove_child(&key).map(drop))
        }
    }
}

#[test]
fn a_full_arena_refuses_and_keeps_what_there_is() {
    for_each_seed(8, |rng| {
        let arena = Arena::with_options(&SMALL).unwrap();
        let mut tree = Tree::new(&arena);
        let mut old = vec![tree.snapshot()];
        let (mut full, mut done) = (0, 0);
        while full < 300 && done < 3_000 {
            let before = tree.snapshot();
            let count = before.root().subtree_count();
            let mut editor = Editor::new(before.clone());
            let kind = rng.below(12);
            let made = edit(&mut editor, kind, &old, rng);
            done += 1;
            match made {
                Ok(()) => {
                    tree.publish(editor);
                    old.push(tree.snapshot());
                }
                Err(EditError::ArenaFull) => {
                    full += 1;
                    let is_whole = match kind {
                        MANY => editor.root().subtree_count() >= count,
                        _ => editor.root().is_equal(before.root()),
                    };
                    assert!(is_whole, "a refused edit of kind {kind} has changed something");
                }
                Err(error) => assert!(
                    matches!(
                        error,
                        EditError::ChildExists { .. }
                            | EditError::Root
                            | EditError::MoveIntoItself { .. }
                            | EditError::TreeFull
                    ),
                    "{error}"
                ),
            }
            assert_eq!(before.root().subtree_count(), count);
        }
        assert!(full > 0, "it never was full");
        tree.snapshot().check().unwrap();
        old.truncate(1);
        let newest = tree.snapshot().root().subtree_count();
        arena.collect();
        assert_eq!(tree.snapshot().root().subtree_count(), newest);
        if newest < 100_000 {
            assert!(tree.add_child(&[]).is_ok(), "there is room again");
        }
    });
}

/// Adds to a tree what fills one of the two regions, until there is no room.
fn fill(tree: &mut Tree, more: impl Fn(&mut Editor, &[Key]) -> Result<(), EditError>) {
    loop {
        let added = tree.edit(|editor| {
            let path = [editor.add_child(&[])?];
            more(editor, &path)
        });
        if let Err(error) = added {
            return assert_eq!(error, EditError::ArenaFull);
        }
    }
}

/// Removes something of one child after the other, until something can be added again.
fn empties(
    what: &str,
    more: impl Fn(&mut Editor, &[Key]) -> Result<(), EditError>,
    remove: impl Fn(&mut Editor, &[Key]) -> Result<(), EditError>,
) {
    let arena = Arena::with_options(&SMALL).unwrap();
    let mut tree = Tree::new(&arena);
    for _ in 0..3 {
        fill(&mut tree, &more);
        let nowhere = [Key::from("nowhere")];
        let missing = Err(EditError::NoSuchNode { path: Path::from(&nowhere[..]) });
        assert_eq!(tree.remove(&nowhere), missing, "{what}");
        assert_eq!(tree.edit(|editor| editor.pop_root(&nowhere)), missing, "{what}");
        let moved = tree.edit(|editor| editor.move_node(&nowhere, &[], &Key::from("there")));
        assert_eq!(moved, missing, "{what}");
        assert_eq!(tree.remove_attribute(&[], "nothing"), Ok(false), "{what}");
        let keys: Vec<_> = tree.read().root().children().map(|(key, _)| [key.to_key()]).collect();
        for some in keys.chunks(64) {
            if !arena.is_full() {
                break;
            }
            for path in some {
                tree.edit(|editor| remove(editor, path)).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
            arena.collect();
        }
        assert!(!arena.is_full(), "{what} makes no room");
        tree.snapshot().check().unwrap();
    }
}

#[test]
fn what_cannot_be_added_to_can_be_removed_from() {
    let many = |editor: &mut Editor, path: &[Key]| {
        editor.cursor(path)?.add_children(500)?;
        editor.put_attribute(path, "text", "short")
    };
    let long = |editor: &mut Editor, path: &[Key]| {
        let path = Path::from(path).join(editor.add_child(path)?);
        (0..3).try_for_each(|i| editor.put_attribute(&path, &i.to_string(), &*"v".repeat(250)))?;
        editor.put_attribute(&path, "large", &*"w".repeat(70_000))
    };
    let subtree = |editor: &mut Editor, path: &[Key]| editor.remove(path);
    let first_below = |editor: &mut Editor, path: &[Key]| {
        let mut cursor = editor.cursor(path)?;
        let keys: Vec<_> = cursor.node().children().map(|(key, _)| key.to_key()).collect();
        keys.iter().try_for_each(|key| cursor.remove_child(key).map(drop))
    };
    let attributes = |editor: &mut Editor, path: &[Key]| {
        let path = Path::from(path).join(Key::from(0));
        for name in ["large", "0", "1"] {
            editor.remove_attribute(&path, name)?;
        }
        Ok(())
    };
    empties("a subtree of many nodes", many, subtree);
    empties("each child of a node", many, first_below);
    empties("a subtree of long values", long, subtree);
    empties("a child with long values", long, first_below);
    empties("long values", long, attributes);
}

/// Puts large values, beside others who do, and holds what is there against what was put.
fn put_large_values(tree: &mut Tree, mut rng: Rng) {
    let mut lengths = [None; 2];
    for round in 0..500 {
        // An edit gives back, now and then, what the ones before it have removed.
        let done = tree.put_attribute(&[], "round", round);
        assert!(matches!(done, Ok(()) | Err(EditError::ArenaFull)));
        let (i, text) = (rng.index(2), "v".repeat(70_000 + rng.index(300_000)));
        match tree.put_attribute(&[], ["one", "two"][i], &*text) {
            Ok(()) => lengths[i] = Some(text.len()),
            Err(error) => assert_eq!(error, EditError::ArenaFull),
        }
        let i = rng.index(2);
        match tree.remove_attribute(&[], ["one", "two"][i]) {
            Ok(was) => assert_eq!(was, lengths[i].take().is_some()),
            Err(error) => assert_eq!(error, EditError::ArenaFull),
        }
        let now = tree.read();
        let now = ["one", "two"].map(|key| now.root().attribute(key));
        assert_eq!(now.map(|value| value.map(|value| value.as_text().unwrap().len())), lengths);
    }
    tree.snapshot().check().unwrap();
}

#[test]
fn large_values_are_refused_where_too_few_slabs_are_left_in_a_row() {
    let arena = Arena::with_options(&ArenaOptions { payload_bytes: 64 << 20, ..SMALL }).unwrap();
    let mut trees = [(); 8].map(|()| Tree::new(&arena));
    for (tree, count) in trees.iter_mut().zip([300, 200, 200, 200, 200, 200, 200, 200]) {
        // So many short ones that their record is a large one: of two slabs, or of one.
        for i in 0..count {
            tree.put_attribute(&[], &i.to_string(), &*"s".repeat(250)).unwrap();
        }
    }
    let mut tree = Tree::new(&arena);
    let fill = |tree: &mut Tree, slabs: usize| {
        let mut keys = Vec::new();
        while arena.usage().payload_bytes < 50 << 20 {
            let path = [tree.add_child(&[]).unwrap()];
            if tree.put_attribute(&path, "", &*"f".repeat((slabs << 16) - 5_000)).is_err() {
                break;
            }
            keys.push(path);
        }
        keys
    };
    // Many slabs are free, and each lies alone.
    let ones = fill(&mut tree, 1);
    ones.iter().step_by(2).for_each(|key| tree.remove(key).unwrap());
    let threes = fill(&mut tree, 3);
    fill(&mut tree, 2);
    let mut free_six = |i: usize| {
        threes[i..i + 2].iter().for_each(|key| tree.remove(key).unwrap());
    };
    free_six(10);
    // Of six in a row the value takes five, and the record that it is put in has no room then.
    let before = trees[0].snapshot();
    let refused = trees[0].put_attribute(&[], "value", &*"v".repeat(300_000));
    assert_eq!(refused, Err(EditError::ArenaFull));
    assert!(trees[0].snapshot().root().is_same(before.root()));
    drop(before);
    (20..60).step_by(4).for_each(free_six);
    thread::scope(|scope| {
        for (seed, tree) in (0..).zip(&mut trees) {
            scope.spawn(move || put_large_values(tree, Rng::new(seed)));
        }
    });
    tree.snapshot().check().unwrap();
}
