//! Branches of which each is merged into the other, by several at once: nothing comes twice.

use std::sync::Arc;

use jungle_db::{CommitError, CommitMeta, TreeHandle};
use jungle_testkit::Rng;
use jungle_tree::MergeOptions;
use shuttle::thread;

use super::marks::Log;
use super::world::World;

/// Two merge what was appended to one branch, and a third the other way round.
pub fn by_two(rng: &mut Rng) {
    let world = World::new(rng);
    if world.journal.is_none() && rng.chance(1, 2) {
        assert!(world.jungle.sequence_with(Arc::new(Log::of(&world.jungle))));
    }
    let main = world.tree("t", 0, 0);
    let side = main.branch("side", main.snapshot().revision()).expect("it is kept");
    side.update(|tx| tx.append(&[])).expect("there is room");
    thread::scope(|scope| {
        let (main, side) = (&main, &side);
        for _ in 0..2 {
            scope.spawn(|| merge(main, "side"));
        }
        scope.spawn(|| merge(side, "main"));
        scope.spawn(|| side.update(|tx| tx.append(&[])).map(drop).expect("there is room"));
    });
    merge(&main, "side");
    assert_eq!(main.read().root().child_count(), 2, "each was appended once");
    merge(&side, "main");
    assert_eq!(side.read().root().child_count(), 2, "nothing came back");
    world.end();
}

/// Merges until nobody has come in between.
fn merge(into: &TreeHandle, from: &str) {
    loop {
        let merge = into.merge(from, &MergeOptions::new()).expect("it is there");
        assert!(merge.conflicts().is_empty(), "{:?}", merge.conflicts());
        match merge.commit(&CommitMeta::new()) {
            Ok(_) => return,
            Err(CommitError::Conflict(_)) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}
