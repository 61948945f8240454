//! Alice: threads and code segments at the queues of a node. Nobody waits for ever for what is
//! there, nothing is lost or doubled, whoever is stopped has taken nothing.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use alice::{Bound, Cancel, FAILURES, Key, Node, Pool, Run, Wait, WaitError, WhenFull, take};
use jungle_testkit::Rng;
use shuttle::sync::Mutex;
use shuttle::thread;

const A: Key<u64> = Key::new("a");
const B: Key<u64> = Key::new("b");
const C: Key<u64> = Key::new("c");
const DONE: Key<u64> = Key::new("done");

/// A pool of its own, whose locks are those of this schedule; nothing ever runs on it.
fn node() -> Node {
    Node::on(&Pool::of_process())
}

fn len(node: &Node, key: &Key<u64>) -> usize {
    node.queue(key).expect("one type").len()
}

fn put(node: &Node, key: &Key<u64>, data: u64) {
    node.put(key, data).expect("there is room");
}

/// Those who take from one key beside those who take from two, in both orders.
pub fn taken(rng: &mut Rng) {
    const EACH: u64 = 2;
    let node = node();
    let mut plans: Vec<Vec<Key<u64>>> =
        vec![vec![A], vec![B], vec![A, B], vec![B, A], vec![B, C], vec![C, A]];
    rng.shuffle(&mut plans);
    plans.truncate(4);
    let mut supply: Vec<Key<u64>> =
        plans.iter().flatten().flat_map(|key| [key.clone(), key.clone()]).collect();
    rng.shuffle(&mut supply);
    let got = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for plan in &plans {
            let (node, got) = (&node, &got);
            scope.spawn(move || {
                for _ in 0..EACH {
                    let inputs: Vec<_> = plan.iter().map(take).collect();
                    let taken = node.wait_for(inputs, Wait::for_ever()).expect("it is open");
                    got.lock().expect("nobody panics").extend(taken.iter().map(|data| **data));
                }
            });
        }
        for (number, half) in supply.chunks(supply.len().div_ceil(2)).enumerate() {
            let node = &node;
            scope.spawn(move || {
                for (at, key) in (0..).zip(half) {
                    put(node, key, number as u64 * 100 + at);
                }
            });
        }
    });
    let mut got = got.into_inner().expect("nobody panicked");
    let count = got.len();
    got.sort_unstable();
    got.dedup();
    assert_eq!((got.len(), count), (supply.len(), supply.len()), "lost or doubled");
    assert_eq!([&A, &B, &C].map(|key| len(&node, key)), [0, 0, 0]);
}

/// Code segments with crossed keys, that run on whichever thread brings the last input.
pub fn crossed(rng: &mut Rng) {
    const EACH: u64 = 3;
    let node = node();
    for (first, second) in [(A, B), (B, A)] {
        let both = node.code("both").when((take(&first), take(&second))).to(&DONE);
        let both = both.priority(rng.below(2) as u8).run(Run::Here);
        let repeats = both.repeatedly(|(one, other), done| {
            done.put(**one + **other).map_err(|error| error.to_string())?;
            if **one == 7 { Err("seven".to_owned()) } else { Ok(()) }
        });
        repeats.expect("the keys differ");
    }
    thread::scope(|scope| {
        for key in [A, B] {
            let node = &node;
            scope.spawn(move || (0..EACH).for_each(|at| put(node, &key, 6 + at)));
        }
        scope.spawn(|| (0..EACH).for_each(|_| drop(node.take(&DONE).expect("it is open"))));
    });
    assert_eq!([&A, &B, &DONE].map(|key| len(&node, key)), [0, 0, 0]);
    let failures = node.queue(&FAILURES).expect("one type");
    assert_eq!(failures.len(), 1, "each takes its first key's seventh");
    let failure = failures.take().expect("it is there");
    assert_eq!(failure.inputs().len(), 2);
}

/// A wait that is cancelled, or whose node is closed, beside what it waits for.
pub fn stopped(rng: &mut Rng) {
    let (node, cancel) = (Arc::new(node()), Cancel::new());
    let closes = rng.chance(1, 2);
    let runs = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&runs);
    let code = node.code("count").when(take(&B)).run(Run::Here).until(&cancel);
    code.repeatedly(move |_, ()| *counts.lock().expect("nobody panics") += 1).expect("a key");
    let waited = thread::scope(|scope| {
        let waiter = scope.spawn(|| node.take_within(&A, &cancel).map(|data| *data));
        let puts = scope.spawn(|| {
            let put = node.put(&B, 1).and_then(|_| node.put(&A, 5));
            assert!(closes || put.is_ok());
        });
        let stop = scope.spawn(|| if closes { node.close() } else { cancel.cancel() });
        puts.join().expect("it ends");
        stop.join().expect("it ends");
        waiter.join().expect("it ends")
    });
    let runs_so_far = *runs.lock().expect("nobody panicked");
    let left = len(&node, &B);
    if !closes {
        put(&node, &B, 2);
        assert_eq!(len(&node, &B), left + 1, "cancelled code took it");
    }
    match waited {
        Ok(data) => assert_eq!((data, len(&node, &A)), (5, 0)),
        Err(WaitError::Cancelled) => assert_eq!((closes, len(&node, &A)), (false, 1)),
        Err(error) => assert_eq!((closes, error), (true, WaitError::Closed)),
    }
    assert!(closes || runs_so_far + left == 1, "{runs_so_far} runs");
}

/// A full queue: those who wait for room get it.
pub fn bounded(rng: &mut Rng) {
    const EACH: u64 = 3;
    let node = node();
    let queue = node.queue(&A).expect("one type");
    let segments_max = NonZeroUsize::MIN.saturating_add(rng.index(2));
    queue.set_bound(Some(Bound { segments_max, when_full: WhenFull::Refuse }));
    let day = Duration::from_secs(24 * 60 * 60);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for data in 0..EACH {
                    queue.put_within(data, day).expect("there will be room");
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| (0..EACH).for_each(|_| drop(queue.take().expect("it is open"))));
        }
    });
    assert!(queue.is_empty());
}
