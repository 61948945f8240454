//! Random edits against the reference model. `cargo xtask torture model` runs many more.

use jungle_testkit::for_each_seed;

use crate::driver::{self, Settings};

#[test]
fn random_edits_do_what_the_model_does() {
    for_each_seed(60, |rng| driver::run(rng, Settings { steps: 100, check_all_every: 10 }));
}

/// Else the half of them that is to have small blocks has none.
#[cfg(feature = "planted")]
#[test]
fn blocks_for_few_names_are_divided_earlier() {
    use jungle_tree::{ArenaOptions, Tree, planted};

    let hash = |names| {
        let arena = planted::arena_of_few_names(&ArenaOptions::default(), names).unwrap();
        let mut tree = Tree::new(&arena);
        for name in ["a", "b", "c"] {
            tree.insert_child(&[], &name.into()).unwrap();
        }
        tree.read().root().content_hash()
    };
    // It is made of what is in each block.
    assert_eq!(hash(3), hash(16));
    assert_ne!(hash(2), hash(16));
}
