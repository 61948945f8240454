//! Indexes of a Jungle that is taken apart and put together again.

use std::sync::Arc;

use jungle_db::{CommitMeta, Jungle, Revision, TreeHandle};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{AttributeIndex, EditError, MergeOptions};

use super::{Shelves, reopen};
use crate::indexes::{found, scanned};
use crate::support::{put, tree_of};

const KEYS: [&str; 3] = ["a", "b", ""];

/// Edits of many kinds; what is refused is fine.
fn edit(tree: &TreeHandle, rng: &mut Rng) {
    let snapshot = tree.snapshot();
    let (mut paths, mut walk) = (Vec::new(), snapshot.root().walk());
    while walk.next().is_some() {
        paths.push(walk.path());
    }
    let _ = tree.update(|tx| {
        for _ in 0..1 + rng.below(6) {
            let path = &paths[rng.index(paths.len())];
            let refused: Result<(), EditError> = match rng.below(8) {
                0..2 => tx.append(path).map(drop),
                2..6 => tx.put_attribute(path, KEYS[rng.index(KEYS.len())], rng.below(3) as i64),
                6 => tx.remove(path).map(drop),
                _ => {
                    let parent = &paths[rng.index(paths.len())];
                    tx.move_node(path, parent, &"moved".into()).map(drop)
                }
            };
            drop(refused);
        }
        Ok::<_, EditError>(())
    });
}

fn step(jungle: &Jungle, main: &TreeHandle, rng: &mut Rng) {
    let branches = main.list_branches();
    let tree = main.on_branch(&branches[rng.index(branches.len())]).unwrap();
    let key = KEYS[rng.index(KEYS.len())];
    match rng.below(16) {
        0 => drop(tree.create_index(key)),
        1 if rng.chance(1, 3) => drop(tree.drop_index(key)),
        2 => drop(tree.branch(&format!("{}", rng.below(3)), jungle.revision())),
        3 if rng.chance(1, 3) => drop(tree.delete_branch(tree.branch_name())),
        4 => {
            if let Ok(merge) =
                tree.merge(&branches[rng.index(branches.len())], &MergeOptions::new())
            {
                drop(merge.commit(&CommitMeta::new()));
            }
        }
        5 => drop(jungle.collect().unwrap()),
        6..11 => look(jungle, &tree, rng),
        _ => edit(&tree, rng),
    }
}

fn look(jungle: &Jungle, tree: &TreeHandle, rng: &mut Rng) {
    let old = Revision::new(1 + rng.below(jungle.revision().number()));
    let of = match tree.at(old) {
        Ok(old) if rng.chance(1, 3) => old,
        _ => tree.snapshot(),
    };
    for key in tree.list_indexes() {
        let value = rng.below(3) as i64;
        assert_eq!(found(tree, &key, &of, value), scanned(&key, &of, value), "{key}");
    }
}

#[test]
fn indexes_kept_over_checkpoints_find_what_a_scan_finds() {
    for_each_seed(60, |rng| {
        let shelves = Arc::new(Shelves::default());
        let (mut jungle, mut main) = tree_of(3);
        for _ in 0..60 {
            step(&jungle, &main, rng);
            if rng.chance(1, 12) {
                let indexes = main.list_indexes();
                drop(main);
                jungle = reopen(jungle, &shelves, Jungle::builder());
                main = jungle.open_tree("t").unwrap();
                assert_eq!(main.list_indexes(), indexes);
            }
        }
        let newest = main.snapshot();
        for key in main.list_indexes() {
            let kept = main.index(&key, &newest).unwrap().unwrap();
            let built = AttributeIndex::build(&newest, &key).unwrap();
            assert!(kept.as_snapshot().root().is_equal(built.as_snapshot().root()));
        }
    });
}

#[test]
fn a_checkpoint_has_what_was_worked_out() {
    let (jungle, main) = tree_of(3);
    main.create_index("a").unwrap();
    main.create_index("b").unwrap();
    put(&main, "/1", "a", 1);
    let of = main.snapshot();
    found(&main, "a", &of, 1);
    put(&main, "/2", "a", 1);
    let checkpoint = jungle.checkpoint();
    let [a, b] = &checkpoint.state().trees[0].indexes[..] else { panic!() };
    // One was asked for, and is brought up to date.
    assert_eq!((&*a.key, &*b.key, a.built.len(), b.built.len()), ("a", "b", 1, 0));
    assert_eq!(a.built[0].of.revision, jungle.revision());
    let (kept, key) = (main.index("a", &main.snapshot()).unwrap().unwrap(), main.branch_id());
    assert_eq!((a.built[0].branch, a.built[0].id), (key, kept.as_snapshot().version_id()));
    drop((of, main));
    let jungle = reopen(jungle, &Arc::default(), Jungle::builder());
    let main = jungle.open_tree("t").unwrap();
    let again = main.index("a", &main.snapshot()).unwrap().unwrap();
    assert_eq!(again.as_snapshot().version_id(), kept.as_snapshot().version_id());
}
