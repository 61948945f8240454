//! Random histories of several peers on durable keys, while the server is killed now and then,
//! held against what [`Durable`](alice_nats::Durable) promises.
//!
//! The model is weaker than a queue: what was put is there until it is done or replaced; what was
//! done before the server died may come again, as the same segment; outputs are there once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{LONG, NOW, connect};
use alice::Key;
use alice_nats::{Durable, Engine, NotReceived, Options, Taken};
use jungle_testkit::{NatsServers, Rng, for_each_seed};

const KEYS: [&str; 2] = ["any order", "in order"];
/// What it is made from, and the how manieth.
const OUT: Key<(u64, u64)> = Key::new("out");
const PEERS: usize = 3;
/// How many histories; `cargo xtask torture engine` has more.
const HISTORIES: &str = "ALICE_HISTORIES";
const STEPS: u64 = 60;
const OUTPUTS: u64 = 2;

/// What is known of a queue.
#[derive(Default)]
struct Model {
    /// By index: put, and neither done nor replaced.
    stored: BTreeMap<u64, u32>,
    /// Done or replaced: what is not forgotten if the server dies now may come again.
    removed: BTreeMap<u64, u32>,
    /// Removed before the server died.
    may_return: BTreeMap<u64, u32>,
    newest: u64,
}

impl Model {
    fn put(&mut self, index: u64, value: u32) {
        assert!(index > self.newest, "index {index} after {}", self.newest);
        self.newest = index;
        self.stored.insert(index, value);
    }

    fn update(&mut self, index: u64, value: u32) {
        self.removed.append(&mut self.stored);
        self.put(index, value);
    }

    fn done(&mut self, index: u64) {
        let value = self.stored.remove(&index).or_else(|| self.may_return.remove(&index));
        self.removed.extend(value.map(|value| (index, value)));
    }

    fn server_died(&mut self) {
        self.may_return.append(&mut self.removed);
    }

    /// Something came: it must be there, or may have come again.
    fn came(&self, index: u64, value: u32) {
        let known = self.stored.get(&index).or_else(|| self.may_return.get(&index));
        assert_eq!(known, Some(&value), "index {index} is not there, or is another one");
    }

    /// As [`came`](Model::came), and nothing before it may be there.
    fn came_first(&self, index: u64, value: u32) {
        self.came(index, value);
        let first = self.stored.keys().next().copied().unwrap_or(u64::MAX);
        assert!(index <= first, "{index} came, and {first} is before it");
    }
}

struct Histories {
    servers: NatsServers,
    engines: Vec<Engine>,
    queues: Vec<[Durable<u32>; 2]>,
    models: [Model; 2],
    /// What is taken: from which queue, and by whom.
    held: Vec<(usize, usize, Taken<u32>)>,
    /// Whose outputs were put.
    worked_on: BTreeSet<u64>,
    value: u32,
}

#[test]
fn random_histories_are_as_promised() {
    let count = std::env::var(HISTORIES).map_or(2, |count| count.parse().expect("a number"));
    for_each_seed(count, |rng| {
        let mut histories = Histories::new();
        let kills = [rng.below(STEPS), rng.below(STEPS)];
        for step in 0..STEPS {
            if kills.contains(&step) {
                histories.kill();
            }
            histories.step(rng);
        }
        histories.end();
    });
}

impl Histories {
    fn new() -> Histories {
        let servers = NatsServers::start(1);
        let redeliver_after = Duration::from_secs(1);
        let options = || Options { redeliver_after, ..Options::default() };
        let engines: Vec<Engine> = (0..PEERS).map(|_| connect(&servers, options())).collect();
        let queue = |engine: &Engine, key: &str| engine.peer("n").durable(&Key::named(key));
        let queues = engines
            .iter()
            .map(|engine| [queue(engine, KEYS[0]), queue(engine, KEYS[1]).in_order()]);
        let queues = queues.collect();
        let (models, held, worked_on) = (Default::default(), Vec::new(), BTreeSet::new());
        Histories { servers, engines, queues, models, held, worked_on, value: 0 }
    }

    fn kill(&mut self) {
        self.servers.kill(0);
        self.models.iter_mut().for_each(Model::server_died);
        self.servers.restart(0);
    }

    fn step(&mut self, rng: &mut Rng) {
        let (peer, key) = (rng.index(PEERS), rng.index(KEYS.len()));
        match rng.below(10) {
            0..3 => self.put(peer, key, rng),
            3 => self.update(peer, key),
            4..7 => self.take(peer, key, NOW),
            7 => self.peek(peer, key),
            _ if self.held.is_empty() => self.put(peer, key, rng),
            8 => drop(self.held.swap_remove(rng.index(self.held.len()))),
            _ => {
                let at = rng.index(self.held.len());
                self.work(at);
            }
        }
    }

    fn put(&mut self, peer: usize, key: usize, rng: &mut Rng) {
        self.value += 1;
        let (queue, id) = (&self.queues[peer][key], format!("id {}", self.value));
        let index = match rng.below(2) {
            0 => queue.put(self.value).unwrap(),
            _ => queue.put_once(&id, self.value).unwrap(),
        };
        if rng.below(4) == 0 {
            let again = self.queues[rng.index(PEERS)][key].put_once(&id, self.value);
            let again = again.unwrap();
            if again != index {
                // The first one had no id.
                self.models[key].put(index, self.value);
                return self.models[key].put(again, self.value);
            }
        }
        self.models[key].put(index, self.value);
    }

    fn update(&mut self, peer: usize, key: usize) {
        self.value += 1;
        let index = self.queues[peer][key].update(self.value).unwrap();
        self.models[key].update(index, self.value);
    }

    fn take(&mut self, peer: usize, key: usize, within: Duration) {
        match self.queues[peer][key].take_within(within) {
            Ok(taken) => {
                let value = *taken.open().unwrap();
                match key {
                    0 => self.models[key].came(taken.index(), value),
                    _ => self.models[key].came_first(taken.index(), value),
                }
                self.held.push((key, peer, taken));
            }
            // What is there may be held, or be on its way back.
            Err(NotReceived::TimedOut | NotReceived::Engine(_) | NotReceived::Unanswered) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    fn peek(&mut self, peer: usize, key: usize) {
        let model = &self.models[key];
        match self.queues[peer][key].peek_within(NOW) {
            Ok(seen) => model.came_first(seen.index(), *seen.open().unwrap()),
            Err(NotReceived::TimedOut) => assert!(model.stored.is_empty(), "it is not seen"),
            Err(NotReceived::Engine(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Puts what follows from a segment, and is done with it.
    fn work(&mut self, at: usize) {
        let (key, peer, taken) = self.held.swap_remove(at);
        let out = self.engines[peer].peer("home").durable(&OUT);
        let index = taken.index();
        for nth in 0..OUTPUTS {
            taken.put(&out, (index, nth)).unwrap();
        }
        self.worked_on.insert(index);
        // One that is not confirmed may have been done or not: so it may come again, or not.
        match taken.done() {
            Ok(()) => self.models[key].done(index),
            Err(_) => {
                let model = &mut self.models[key];
                let value = model.stored.remove(&index);
                model.may_return.extend(value.map(|value| (index, value)));
            }
        }
    }

    /// All that is left comes, and nothing else; each output is there once.
    fn end(mut self) {
        self.held.clear();
        for key in 0..KEYS.len() {
            while !self.models[key].stored.is_empty() {
                self.take(0, key, LONG);
                assert!(!self.held.is_empty(), "it is lost: {:?}", self.models[key].stored);
                self.work(0);
            }
        }
        let out = self.engines[1].peer("home").durable(&OUT);
        let mut wanted: BTreeSet<(u64, u64)> =
            self.worked_on.iter().flat_map(|from| (0..OUTPUTS).map(|nth| (*from, nth))).collect();
        let mut indexes = BTreeMap::new();
        while !wanted.is_empty() {
            let taken = out.take_within(LONG).unwrap();
            let output = *taken.open().unwrap();
            let first = *indexes.entry(output).or_insert(taken.index());
            assert_eq!(first, taken.index(), "{output:?} is there twice");
            wanted.remove(&output);
            // If that is not confirmed, it comes again, with the same index.
            let _ = taken.done();
        }
        if let Ok(more) = out.take_within(NOW) {
            let output = *more.open().unwrap();
            assert_eq!(indexes.get(&output), Some(&more.index()), "{output:?} is one too many");
        }
    }
}
