//! An update that keeps losing is let through.

use jungle_db::Draft;
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
