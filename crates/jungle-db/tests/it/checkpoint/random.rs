//! Random histories: a Jungle that is taken apart and put together again every now and then, and
//! hands its histories over, is the same as one that never does.

use std::sync::Arc;
use std::time::Duration;

use jungle_db::{CommitMeta, Jungle, Retention, Revision, TreeHandle};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::MergeOptions;

use super::{Shelves, hand_over, reopen};
use crate::support::{SharedClock, portrait, put, tree_in};

/// One step, as a seed, so that both Jungles do the same.
fn step(jungle: &Jungle, clock: &SharedClock, rng: &mut Rng) {
    let names = jungle.list_trees();
    let tree = jungle.open_tree(&names[rng.index(names.len())]).unwrap();
    let branches = tree.list_branches();
    let tree = tree.on_branch(&branches[rng.index(branches.len())]).unwrap();
    let new = format!("{}", rng.below(6));
    // What cannot be done is done by neither.
    match rng.below(16) {
        0 => drop(jungle.create_tree(&new)),
        1 if names.len() > 2 => drop(jungle.delete_tree(&tree.name())),
        2 => drop(jungle.rename_tree(&tree.name(), &new)),
        3 | 4 => drop(tree.branch(&new, old(jungle, rng))),
        5 => drop(tree.delete_branch(&new)),
        6 => drop(tree.tag(&format!("tag {new}"), old(jungle, rng))),
        7 => drop(tree.delete_tag(&format!("tag {new}"))),
        8 | 9 => {
            let from = &branches[rng.index(branches.len())];
            if let Ok(merge) = tree.merge(from, &MergeOptions::new()) {
                drop(merge.commit(&CommitMeta::new().message(from)));
            }
        }
        10 => tree.set_retention(retention(rng)).unwrap(),
        _ => commit(&tree, clock, rng),
    }
}

fn old(jungle: &Jungle, rng: &mut Rng) -> Revision {
    Revision::new(1 + rng.below(jungle.revision().number()))
}

fn retention(rng: &mut Rng) -> Retention {
    let many = rng.below(1_500);
    match rng.below(4) {
        0 => Retention::All,
        1 => Retention::Last(many as usize),
        2 => Retention::Last(rng.below(4) as usize),
        _ => Retention::ByAge(Duration::from_micros(many)),
    }
}

fn commit(tree: &TreeHandle, clock: &SharedClock, rng: &mut Rng) {
    let now = clock.0.now_micros();
    for i in 0..rng.below(700) as i64 {
        clock.0.set(now + i + 1);
        put(tree, "/", if i % 5 == 0 { "m" } else { "n" }, i);
    }
}

#[test]
fn reopening_and_handing_over_change_nothing() {
    for_each_seed(12, |rng| {
        let clocks = [SharedClock::default(), SharedClock::default()];
        let [mut jungle, twin] =
            [&clocks[0], &clocks[1]].map(|c| Jungle::builder().clock(c.clone()).build().unwrap());
        let shelves = Arc::new(Shelves::default());
        for jungle in [&jungle, &twin] {
            let tree = tree_in(jungle, "t", 2);
            tree.set_retention(Retention::All).unwrap();
        }
        for _ in 0..40 {
            let same = rng.next_u64();
            step(&twin, &clocks[1], &mut Rng::new(same));
            step(&jungle, &clocks[0], &mut Rng::new(same));
            if rng.chance(1, 4) {
                jungle = reopen(jungle, &shelves, Jungle::builder().clock(clocks[0].clone()));
            }
            if rng.chance(1, 3) {
                hand_over(&jungle, &shelves);
            }
            if rng.chance(1, 4) {
                jungle.collect().unwrap();
            }
        }
        assert_eq!(portrait(&jungle), portrait(&twin));
        let next = |jungle: &Jungle| jungle.create_tree("the next one").unwrap().id();
        assert_eq!(next(&jungle), next(&twin));
    });
}
