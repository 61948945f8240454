//! An arena in which there is no room left refuses, and loses nothing.

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

/// One edit, as large as it may be.
fn edit(editor: &mut Editor, old: &[Snapshot], rng: &mut Rng) -> Result<(), EditError> {
    let (path, other) = (some_path(editor, rng), some_path(editor, rng));
    let name = |rng: &mut Rng| Key::from(&*"n".repeat(1 + rng.index(4_000)));
    match rng.below(12) {
        0 => editor.cursor(&path)?.add_children(rng.below(200_000)).map(drop),
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
            let made = edit(&mut editor, &old, rng);
            done += 1;
            match made {
                Ok(()) => {
                    tree.publish(editor);
                    old.push(tree.snapshot());
                }
                Err(EditError::ArenaFull) => {
                    full += 1;
                    // What was added in part is the only thing that a refused edit may leave.
                    assert!(editor.root().subtree_count() >= count, "something is lost");
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
