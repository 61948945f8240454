//! Whole roots, set if they are still what was looked at.

use jungle_db::{CommitMeta, Draft, SetRootError, TreeHandle};
use jungle_testkit::Rng;
use jungle_tree::Snapshot;
use shuttle::thread;

use super::world::{World, at, n, read};

const TIMES: i64 = 3;

/// Threads count in one place: some set a root that they made by themselves, as long as the tree is
/// what they made it from, one updates. Nothing that is counted is lost.
pub fn compared_and_set(rng: &mut Rng) {
    let world = World::new(rng);
    let setters = rng.range(1..3);
    let tree = world.tree("t", 1, 0);
    thread::scope(|scope| {
        for _ in 0..setters {
            scope.spawn(|| (0..TIMES).for_each(|_| set_one_more(&tree)));
        }
        scope.spawn(|| {
            for _ in 0..TIMES {
                let add = |tx: &mut Draft| tx.put_attribute(&at(0), "n", read(tx, &at(0)) + 1);
                tree.update(add).expect("there is room");
            }
        });
    });
    let snapshot = tree.snapshot();
    let counted = n(snapshot.root().at(&at(0)).expect("it is there"));
    assert_eq!(counted, TIMES * (setters as i64 + 1));
    world.end();
}

fn set_one_more(tree: &TreeHandle) {
    loop {
        let now = tree.snapshot();
        let next = one_more(&now);
        thread::yield_now();
        match tree.compare_and_set_root(&now, &next, &CommitMeta::new()) {
            Ok(done) => {
                assert!(done.revision > now.revision());
                return;
            }
            Err(SetRootError::Changed { newest }) => assert!(newest > now.revision()),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A version of a line of its own.
fn one_more(of: &Snapshot) -> Snapshot {
    let mut line = jungle_tree::Tree::from_snapshot(of);
    let count = n(of.root().at(&at(0)).expect("it is there"));
    line.put_attribute(&at(0), "n", count + 1).expect("there is room");
    line.snapshot()
}
