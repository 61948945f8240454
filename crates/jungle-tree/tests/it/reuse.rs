//! What memory is said to be free: not while someone looks at it, and no more than that is.
//! `cargo xtask torture stress` runs many more.

use jungle_testkit::for_each_seed;
use jungle_tree::{Arena, Editor, Keep, Tree};

use crate::driver::stress;

#[test]
fn what_readers_hold_beside_a_writer_stays() {
    for_each_seed(8, |rng| stress::run(rng, 3, 3_000));
}

/// Else whoever has many lines begin at one large tree would have it traced again and again.
#[test]
fn a_line_that_ends_leaves_no_more_than_its_own() {
    const NODES: u64 = 100_000;
    let arena = Arena::new().unwrap();
    let mut tree = Tree::new(&arena);
    tree.edit(|editor| editor.cursor(&[])?.add_children(NODES).map(drop)).unwrap();
    for _ in 0..100 {
        let mut line = Tree::from_snapshot(&tree.snapshot());
        line.edit(|editor| editor.add_child(&[]).map(drop)).unwrap();
    }
    let garbage = arena.usage().garbage_bytes;
    assert!((100..NODES).contains(&garbage), "{garbage} bytes are said to be garbage");
    drop(tree);
    assert!(arena.usage().garbage_bytes > NODES, "all of it is");
}

#[test]
fn what_was_held_is_reused_in_slices() {
    const VALUES: u64 = 1_000;
    const SLICE: usize = 100;
    let arena = Arena::new().unwrap();
    let mut tree = Tree::new(&arena);
    tree.edit(|editor| editor.cursor(&[])?.add_children(VALUES).map(drop)).unwrap();
    let put = |tree: &mut Tree, n: i64| {
        let all = |editor: &mut Editor| {
            (0..VALUES).try_for_each(|child| editor.put_attribute(&[child.into()], "n", n))
        };
        tree.edit(all).unwrap();
    };
    put(&mut tree, 1);
    let held = tree.snapshot();
    put(&mut tree, 2);
    assert!(!tree.keep_in_slices(Keep::Newest, SLICE), "it is held");
    drop(held);
    let mut slices = 1;
    while tree.keep_in_slices(Keep::Newest, SLICE) {
        slices += 1;
    }
    assert!(slices > VALUES as usize / SLICE, "{slices} slices");
    assert_eq!(arena.collect().payload_bytes, 0, "nothing is left to a collection");
}

/// Its slabs may be somebody else's by then, and anything may be in that value: what a record's
/// head would say it is, for one.
#[test]
fn a_large_value_that_was_given_up_since_a_collection_began_is_not_looked_for() {
    const SLAB_BYTES: usize = 64 << 10;
    let arena = Arena::new().unwrap();
    let mut tree = Tree::new(&arena);
    for n in 0..10 {
        tree.put_attribute(&[], "n", n).unwrap();
    }
    let with = |slabs: usize, tree: &Tree| {
        let mut editor = Editor::new(tree.snapshot());
        let value: Vec<u8> = (1_u64 << 24).to_le_bytes().repeat((slabs * SLAB_BYTES - 4096) / 8);
        editor.put_attribute(&[], "value", &value[..]).unwrap();
        (editor, value)
    };
    // In front of it, so that who takes all of that has a part of the value where it began.
    let before = with(2, &tree);
    let (given_up, _) = with(3, &tree);
    drop(before);
    let collection = arena.next_collection().start([]);
    drop(given_up);
    let (editor, value) = with(5, &tree);
    let _ = collection.finish();
    let found = editor.root().attribute("value").unwrap();
    assert!(found.as_bytes() == Some(&value[..]), "it is as it was written");
}
