//! Branches are made, merged and deleted while their tree is committed to.

use jungle_db::{BranchError, CommitError, CommitMeta, Draft};
use jungle_testkit::Rng;
use jungle_tree::MergeOptions;
use shuttle::thread;

use super::world::{World, at, n};

pub fn merged(rng: &mut Rng) {
    let world = World::new(rng);
    let tree = world.tree("t", 2, 0);
    tree.branch("side", tree.snapshot().revision()).expect("it is kept");
    let renames = rng.chance(1, 2);
    thread::scope(|scope| {
        let tree = &tree;
        scope.spawn(move || {
            for i in 1..4 {
                let put = |tx: &mut Draft| tx.put_attribute(&at(0), "n", i);
                tree.update(put).expect("there is room");
            }
        });
        scope.spawn(move || {
            let side = tree.on_branch("side").expect("made before");
            for i in 1..3 {
                let put = |tx: &mut Draft| tx.put_attribute(&at(1), "n", i);
                side.update(put).expect("there is room");
                merge(tree);
                let main = tree.snapshot();
                assert_eq!(n(main.root().at(&at(1)).expect("there")), i, "merged");
            }
        });
        let jungle = &world.jungle;
        scope.spawn(move || {
            match tree.branch("other", tree.snapshot().revision()) {
                Ok(other) => {
                    other.tag("seen", other.snapshot().revision()).expect("it is new");
                    tree.delete_branch("other").expect("it is there");
                }
                // Retention may take it in between.
                Err(BranchError::NoSuchRevision(_)) => {}
                Err(error) => panic!("{error}"),
            }
            if renames {
                jungle.rename_tree("t", "u").expect("it is free");
            }
        });
    });
    let main = tree.snapshot();
    assert_eq!([0, 1].map(|child| n(main.root().at(&at(child)).expect("there"))), [3, 2]);
    merge(&tree);
    assert_eq!(tree.snapshot().revision(), main.revision(), "nothing was left to merge");
    world.end();
}

/// Merges what is on the branch; the other thread is in another place, so nothing collides.
fn merge(tree: &jungle_db::TreeHandle) {
    let merge = tree.merge("side", &MergeOptions::new()).expect("it is there");
    assert!(merge.conflicts().is_empty(), "{:?}", merge.conflicts());
    match merge.commit(&CommitMeta::new()) {
        Ok(_) => {}
        Err(CommitError::Conflict(conflicts)) => panic!("{conflicts}"),
        Err(error) => panic!("{error}"),
    }
}
