//! A journal that fails: what it refused was never there, what it took is all there is.

use jungle_db::{Draft, NotWritten, Revision, UpdateError};
use jungle_testkit::Rng;
use jungle_tree::EditError;
use shuttle::sync::Mutex;
use shuttle::thread;

use super::world::{TestJournal, World, at, n};

const THREADS: usize = 3;

/// How many revisions the world begins with: a tree, and its children.
const BEGIN: u64 = 2;

pub fn fails(rng: &mut Rng) {
    let mut journal = TestJournal::default();
    let fails_at = BEGIN + 1 + rng.below(4);
    match rng.below(3) {
        0 => journal.refuses_at = Some(fails_at),
        1 => journal.unsafe_at = Some(fails_at),
        _ => {}
    }
    let never_fails = journal.refuses_at.or(journal.unsafe_at).is_none();
    let world = World::with_journal(rng, Some(journal));
    let tree = world.tree("t", THREADS as u64, 0);
    let done: Mutex<Vec<Revision>> = Mutex::default();
    let workers: Vec<Rng> = (0..THREADS).map(|_| rng.fork()).collect();
    thread::scope(|scope| {
        for (own, mut rng) in workers.into_iter().enumerate() {
            let (tree, done) = (&tree, &done);
            scope.spawn(move || {
                for i in 1..=2 {
                    let place = if rng.chance(1, 2) { own } else { 0 };
                    let put = |tx: &mut Draft| tx.put_attribute(&at(place), "n", i);
                    match tree.update(put) {
                        Ok(committed) => {
                            done.lock().expect("nobody panics").push(committed.revision);
                        }
                        Err(error) => assert!(is_over(error) && !never_fails),
                    }
                }
            });
        }
        // Whatever is visible was written down before.
        scope.spawn(|| {
            let snapshot = tree.snapshot();
            let journal = world.journal.as_ref().expect("given above");
            assert!(journal.has(snapshot.revision()), "visible before it was written");
            assert!(snapshot.root().children().all(|(_, child)| n(child) <= 2));
        });
    });
    let journal = world.journal.as_ref().expect("given above");
    let done = done.into_inner().expect("nobody panicked");
    assert!(done.iter().all(|revision| journal.has(*revision)), "acknowledged, not written");
    if let Some(at) = journal.unsafe_at {
        assert!(done.iter().all(|revision| revision.number() < at), "acknowledged, not safe");
    }
    world.end();
}

/// Is it one of the failures that a failed journal gives?
fn is_over(error: UpdateError<EditError>) -> bool {
    use NotWritten::{Refused, Stopped, Unsafe};
    matches!(error, UpdateError::NotWritten(Refused(_) | Unsafe(_) | Stopped))
}
