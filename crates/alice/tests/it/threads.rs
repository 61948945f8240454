//! Several threads at once: nothing is lost, doubled or, from one thread to one taker, overtaken.

use std::sync::Mutex;
use std::thread;

use alice::{Key, Node, Pool, Run, take};
use jungle_testkit::for_each_seed;

type Tagged = (usize, u64);

const PRODUCERS: usize = 3;
const EACH: u64 = 400;

#[test]
fn nothing_is_lost_or_overtaken_between_threads() {
    for_each_seed(20, |rng| {
        let node = Node::on(&Pool::new(2).unwrap());
        let keys: [Key<Tagged>; 3] = [Key::new("a"), Key::new("b"), Key::new("c")];
        let end = Key::<Tagged>::new("end");
        // Every key has its code segment; some data goes through another key on its way.
        for (at, key) in keys.iter().enumerate() {
            let run = *rng.pick(&[Run::Here, Run::Next, Run::Pool]);
            let mut code = rng.fork();
            let pass = node.code("pass").when(take(key)).to((&keys[2], &end)).run(run);
            pass.repeatedly(move |data, (last, end)| {
                if at < 2 && code.chance(1, 3) { last.flip(data) } else { end.flip(data) }.map(drop)
            })
            .unwrap();
        }
        let got = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for producer in 0..PRODUCERS {
                let (node, keys, mut rng) = (&node, &keys, rng.fork());
                scope.spawn(move || {
                    for number in 0..EACH {
                        node.put(&keys[rng.index(3)], (producer, number)).unwrap();
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..PRODUCERS as u64 * EACH / 2 {
                        got.lock().unwrap().push(*node.take(&end).unwrap());
                    }
                });
            }
        });
        let mut got = got.into_inner().unwrap();
        got.sort_unstable();
        let all = (0..PRODUCERS).flat_map(|producer| (0..EACH).map(move |at| (producer, at)));
        assert_eq!(got, all.collect::<Vec<_>>());
    });
}

#[test]
fn one_taker_gets_each_threads_data_in_order() {
    let (node, key) = (Node::new(), Key::<Tagged>::new("key"));
    thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let (node, key) = (&node, &key);
            scope.spawn(move || {
                for number in 0..EACH {
                    node.put(key, (producer, number)).unwrap();
                }
            });
        }
        let mut next = [0; PRODUCERS];
        for _ in 0..PRODUCERS as u64 * EACH {
            let (producer, number) = *node.take(&key).unwrap();
            assert_eq!(number, next[producer]);
            next[producer] += 1;
        }
    });
}
