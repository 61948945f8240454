//! Tags and branches of revisions that retention drops meanwhile: what is written down can be done
//! again wherever it is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use jungle_db::{
    BranchError, CommitRecord, Event, Jungle, Retention, SequenceError, Sequencer, TreeHandle,
};
use jungle_testkit::Rng;
use shuttle::sync::Mutex;
use shuttle::thread;

use super::world::{TestJournal, World};

const COMMITS: u64 = 3;

/// A mark is of what the branch kept as it was written: a checkpoint of that moment has nothing
/// older.
pub fn beside_commits(_: &mut Rng) {
    let world = World::that_keeps(Retention::Last(1), Some(TestJournal::default()));
    let tree = world.tree("t", 1, 0);
    mark_beside_commits(&tree);
    let mut newest = BTreeMap::new();
    for record in world.journal.as_ref().expect("given above").records().iter() {
        match &record.event {
            Event::Edited(edits) => {
                newest.extend(edits.iter().map(|edit| (edit.branch, record.revision)));
            }
            Event::TagCreated { branch, at, .. } => assert_eq!(newest[branch], *at),
            Event::BranchCreated { branch, from, at, .. } => {
                assert_eq!(newest[from], *at);
                newest.insert(*branch, *at);
            }
            _ => {}
        }
    }
    world.end();
}

/// The same where all who follow a log do what it says.
pub fn in_sequence(_: &mut Rng) {
    let world = World::that_keeps(Retention::Last(1), None);
    assert!(world.jungle.sequence_with(Arc::new(Log::of(&world.jungle))));
    mark_beside_commits(&world.tree("t", 1, 0));
    world.end();
}

fn mark_beside_commits(tree: &TreeHandle) {
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..COMMITS {
                tree.update(|tx| tx.append(&[])).expect("there is room");
            }
        });
        scope.spawn(move || {
            for name in ["a", "b"] {
                mark(tree.tag(name, tree.snapshot().revision()));
            }
        });
        scope.spawn(move || mark(tree.branch("c", tree.snapshot().revision()).map(drop)));
    });
}

fn mark(made: Result<(), BranchError>) {
    match made {
        Ok(()) | Err(BranchError::NoSuchRevision(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

/// A log that one Jungle follows.
pub struct Log {
    jungle: Mutex<Option<Jungle>>,
}

impl Log {
    pub fn of(jungle: &Jungle) -> Log {
        Log { jungle: Mutex::new(Some(jungle.clone())) }
    }
}

impl Sequencer for Log {
    fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
        let jungle = self.jungle.lock().expect("nothing panics while it is held");
        let jungle = jungle.as_ref().expect("it is there");
        assert_eq!(records[0].revision.number(), jungle.revision().number() + 1);
        for record in records {
            thread::yield_now();
            jungle.follow(record).unwrap_or_else(|error| panic!("{record:?}: {error}"));
        }
        Ok(records.len())
    }
}
