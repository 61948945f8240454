//! An update that keeps losing is let through.

use jungle_db::{CommitOptions, Draft, JungleTransaction};
use jungle_testkit::Rng;
use shuttle::thread;

use super::world::{World, at, read};

const WRITERS: usize = 2;
const COMMITS: i64 = 6;
/// It runs so often before it takes its turn.
const PATIENCE: u32 = 3;

/// One update reads everything, slowly; others never stop changing something of it.
pub fn comes(rng: &mut Rng) {
    let world = World::new(rng);
    let tree = world.tree("t", WRITERS as u64 + 1, 0);
    thread::scope(|scope| {
        for own in 0..WRITERS {
            let tree = &tree;
            scope.spawn(move || {
                for i in 1..=COMMITS {
                    let put = |tx: &mut Draft| tx.put_attribute(&at(own), "n", i);
                    tree.update(put).expect("there is room");
                }
            });
        }
        let tree = &tree;
        scope.spawn(move || {
            let done = tree.update(|tx| {
                let all: i64 = (0..WRITERS).map(|own| read(tx, &at(own))).sum();
                (0..20).for_each(|_| thread::yield_now());
                // An update inside does not wait for the turn of the one around it.
                let other = world_of_its_own(tree);
                assert!(other >= 0);
                tx.put_attribute(&at(WRITERS), "n", all)
            });
            // Whoever was under way when it took its turn may still get ahead of it, once each.
            let runs = done.expect("there is room").runs;
            assert!(runs <= PATIENCE + 1 + WRITERS as u32, "it ran {runs} times");
        });
    });
    world.end();
}

fn world_of_its_own(tree: &jungle_db::TreeHandle) -> i64 {
    let put = |tx: &mut Draft| tx.put_attribute(&[], "inner", 1);
    tree.update(put).map(|done| i64::from(done.runs)).expect("there is room")
}

/// One update reads two trees, slowly; others never stop changing something of one of them, or of
/// both.
pub fn comes_between_trees(rng: &mut Rng) {
    const TREES: [&str; 2] = ["a", "b"];
    let world = World::new(rng);
    let trees = TREES.map(|name| world.tree(name, WRITERS as u64 + 1, 0));
    let jungle = &world.jungle;
    let options = CommitOptions::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 1..=COMMITS {
                let put = |tx: &mut Draft| tx.put_attribute(&at(0), "n", i);
                trees[1].update(put).expect("there is room");
            }
        });
        scope.spawn(|| {
            for i in 1..=COMMITS {
                let put = |tx: &mut JungleTransaction| {
                    // Not in the order in which they are locked.
                    TREES.iter().rev().try_for_each(|name| {
                        let tree = tx.tree(name).expect("it is there");
                        tree.put_attribute(&at(1), "n", i)
                    })
                };
                jungle.update(&options, put).expect("there is room");
            }
        });
        scope.spawn(|| {
            let done = jungle.update(&options, |tx| {
                let mut all = 0;
                for name in TREES {
                    let tree = tx.tree(name).expect("it is there");
                    all += (0..WRITERS).map(|own| read(tree, &at(own))).sum::<i64>();
                }
                (0..20).for_each(|_| thread::yield_now());
                tx.tree(TREES[0]).expect("it is there").put_attribute(&at(WRITERS), "n", all)
            });
            let runs = done.expect("there is room").runs;
            assert!(runs <= PATIENCE + 1 + WRITERS as u32, "it ran {runs} times");
        });
    });
    world.end();
}
