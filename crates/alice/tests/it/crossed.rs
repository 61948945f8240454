//! Crossed keys: those who take A and B beside those who take B and A.

use std::thread;

use crate::put_all;
use alice::{Key, Node, Pool, Run, Wait, take};

const A: Key<u32> = Key::new("a");
const B: Key<u32> = Key::new("b");
const C: Key<u32> = Key::new("c");
const DONE: Key<u32> = Key::new("done");

const ROUNDS: u32 = 3000;

#[test]
fn crossed_code_segments_do_not_block_each_other() {
    // Not Here: what goes round for ever would never let the first put return.
    for run in [Run::Next, Run::Pool] {
        let node = Node::on(&Pool::new(4).unwrap());
        let pairs = [(&A, &B), (&B, &A), (&B, &C), (&C, &B), (&A, &C), (&C, &A)];
        for (first, second) in pairs {
            let both =
                node.code("both").when((take(first), take(second))).to((first, second, &DONE));
            both.run(run)
                .repeatedly(|(one, other), (first, second, done)| {
                    done.put(0).unwrap();
                    first.flip(one).unwrap();
                    second.flip(other).unwrap();
                })
                .unwrap();
        }
        [&A, &B, &C].into_iter().for_each(|key| put_all(&node, key, [1]));
        (0..ROUNDS).for_each(|_| drop(node.take(&DONE).unwrap()));
        node.close();
    }
}

#[test]
fn crossed_threads_do_not_block_each_other() {
    let node = Node::new();
    let both = |first: &Key<u32>, second: &Key<u32>| {
        for _ in 0..ROUNDS {
            let (one, other) =
                node.wait_for((take(first), take(second)), Wait::for_ever()).unwrap();
            node.flip(second, &other).unwrap();
            node.flip(first, &one).unwrap();
        }
    };
    let feed = |key: &Key<u32>| put_all(&node, key, [1]);
    thread::scope(|scope| {
        for (first, second) in [(A, B), (B, A), (B, C), (C, B), (A, C), (C, A)] {
            scope.spawn(move || both(&first, &second));
        }
        [&A, &B, &C].into_iter().for_each(feed);
    });
    let left = [&A, &B, &C].map(|key| node.queue(key).unwrap().len());
    assert_eq!(left, [1, 1, 1]);
}
