//! What memory is said to be free: not while someone looks at it, and no more than that is.
//! `cargo xtask torture stress` runs many more.

use jungle_testkit::for_each_seed;
use jungle_tree::{Arena, Tree};

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
