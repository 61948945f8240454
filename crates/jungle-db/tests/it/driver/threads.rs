//! Random threads: whatever they do, it is as if it had been done one after the other, in the
//! order of the revisions.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use jungle_db::{Jungle, Revision, TreeHandle};
use jungle_testkit::Rng;
use jungle_tree::EditError;

use super::content::{self, Content};
use super::op::{Answer, Op};
use super::some_retention;

/// What every thread asked and did, by the revision that it was committed in.
type Log = Mutex<BTreeMap<Revision, Vec<(Op, Answer)>>>;

const THREADS: usize = 4;

/// Some threads, each with so many updates.
pub fn run(rng: &mut Rng, updates: usize) {
    let jungle = Jungle::builder().retention(some_retention(rng)).build().expect("address range");
    let tree = jungle.create_tree("t").expect("it is new");
    let log = Log::default();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let (mut rng, tree, log) = (rng.fork(), &tree, &log);
            scope.spawn(move || (0..updates).for_each(|_| update(&mut rng, tree, log)));
        }
    });
    let mut content = content::bare();
    for (revision, steps) in log.into_inner().expect("nobody panicked") {
        for (op, said) in steps {
            assert_eq!(op.to_content(&mut content, None), said, "{op:?} in revision {revision}");
        }
        if let Ok(snapshot) = tree.at(revision) {
            assert_eq!(content::whole(&snapshot), content, "revision {revision}");
        }
    }
    assert_eq!(content::whole(&tree.snapshot()), content);
}

fn update(rng: &mut Rng, tree: &TreeHandle, log: &Log) {
    let done = tree.update(|tx| {
        let mut local = content::of(tx.base().root());
        let mut steps = Vec::new();
        for _ in 0..rng.range(1..5) {
            let op = fixed(rng, &local);
            let said = op.to_draft(tx);
            assert_eq!(op.to_content(&mut local, None), said, "{op:?}");
            steps.push((op, said));
            thread::yield_now();
        }
        Ok::<_, EditError>(tx.is_changed().then_some(steps))
    });
    let done = done.expect("there is room");
    if let Some(steps) = done.value {
        let twice = log.lock().expect("nobody panics").insert(done.revision, steps);
        assert!(twice.is_none(), "revision {} was given twice", done.revision);
    }
}

/// Nothing that depends on where others have carried a node, or on who appended first.
fn fixed(rng: &mut Rng, content: &Content) -> Op {
    loop {
        let op = Op::random(rng, content, &[]);
        if !op.carries() && !op.names_position() && !matches!(op, Op::Append(_)) {
            return op;
        }
    }
}
