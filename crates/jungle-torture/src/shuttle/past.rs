//! What is held or kept stays as it was, whatever is dropped beside it.

use jungle_db::{Draft, Jungle, NoSuchRevision, Retention, Revision, TreeHandle};
use jungle_testkit::Rng;
use shuttle::thread;

use super::world::{World, at, n};

const COMMITS: u64 = 5;

/// A writer whose revision `first + i` puts `i`, or the next one when what is kept was set in
/// between, while others look back, drop, tag and collect.
pub fn retained(rng: &mut Rng) {
    let world = World::new(rng);
    let tree = world.tree("t", 1, 0);
    let first = tree.snapshot().revision();
    tree.tag("first", first).expect("it is kept");
    let first_after_tag = world.jungle.revision();
    let retention = *rng.pick(&[Retention::Last(1), Retention::Last(2), Retention::All]);
    let kept_all = tree.retention() == Retention::All;
    let reader = rng.fork();
    thread::scope(|scope| {
        let tree = &tree;
        scope.spawn(move || {
            for i in 1..=COMMITS as i64 {
                let put = |tx: &mut Draft| tx.put_attribute(&at(0), "n", i);
                tree.update(put).expect("there is room");
            }
        });
        let mut rng = reader;
        scope.spawn(move || (0..4).for_each(|_| look_back(&mut rng, tree, first_after_tag)));
        let jungle = &world.jungle;
        scope.spawn(move || shrink(jungle, tree, retention));
    });
    assert_eq!(n(tree.at_tag("first").expect("tagged").root().at(&at(0)).expect("there")), 0);
    let kept = tree.history(..).count();
    match retention {
        // What was dropped before it was set does not come back.
        Retention::Last(count) if !kept_all => assert!(kept <= count, "{kept} of {count}"),
        Retention::Last(count) => assert_eq!(kept, count),
        _ => assert!(kept >= 1),
    }
    world.end();
}

fn shrink(jungle: &Jungle, tree: &TreeHandle, retention: Retention) {
    tree.set_retention(retention).expect("all is in memory");
    jungle.collect().expect("all is in memory");
    tree.apply_retention().expect("all is in memory");
}

fn look_back(rng: &mut Rng, tree: &TreeHandle, begin: Revision) {
    let revision = Revision::new(begin.number() + rng.below(COMMITS + 2));
    match tree.at(revision) {
        Ok(snapshot) => {
            let shown = snapshot.revision().number().saturating_sub(begin.number()) as i64;
            thread::yield_now();
            let found = n(snapshot.root().at(&at(0)).expect("there"));
            assert!(found == shown || found + 1 == shown, "{found} in commit {shown}");
            assert!(snapshot.revision() <= revision);
        }
        Err(NoSuchRevision::NotYet { newest }) => assert!(newest < revision),
        Err(NoSuchRevision::TooOld { oldest }) => assert!(oldest > revision),
        Err(error) => panic!("{error}"),
    }
    let past = tree.history(..).map(|info| info.expect("all is in memory"));
    let numbers: Vec<Revision> = past.map(|info| info.revision).collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
}
