//! What several tests need.

use std::fmt::Debug;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{
    Appended, Cluster, Depot, JoinError, Log, LogError, LogId, MemoryLog, Options, Tail,
};
use jungle_db::{Jungle, TreeHandle};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{ArenaOptions, Path};

/// How many random schedules are run.
pub const SCHEDULES: &str = "CLUSTER_SCHEDULES";
/// The first of their seeds.
pub const SEED: &str = "CLUSTER_SEED";

/// Are reads not to ask for what is newest? What takes those for right checks nothing.
pub fn reads_are_stale() -> bool {
    std::env::var_os("CLUSTER_STALE_READS").is_some()
}

/// What the environment says.
pub fn told<T: FromStr<Err: Debug>>(name: &str, usual: T) -> T {
    std::env::var(name).map_or(usual, |told| told.parse().unwrap())
}

/// Runs a suite's random schedules: so many as the environment says, or as usual, each with a
/// generator of its own seed. `with` is what repeats one, beside its seed.
pub fn schedules(suite: &str, usual: u64, with: &str, mut schedule: impl FnMut(&mut Rng)) {
    let (count, first) = (told(SCHEDULES, usual), told(SEED, 0));
    println!("{suite}: {count} points from seed {first}");
    let mut points = Points { suite, with, passed: 0, seed: first };
    for_each_seed(count, |rng| {
        points.seed = first + rng.seed();
        schedule(&mut Rng::new(points.seed));
        points.passed += 1;
    });
}

/// Says how many schedules passed, and what repeats the one that did not.
struct Points<'w> {
    suite: &'w str,
    with: &'w str,
    passed: u64,
    seed: u64,
}

impl Drop for Points<'_> {
    fn drop(&mut self) {
        let Points { suite, with, passed, seed } = self;
        let failed = u64::from(thread::panicking());
        if failed > 0 {
            println!("again: cargo xtask torture {suite} --schedules 1{with} --seed {seed}");
        }
        println!("{passed} passed, {failed} failed");
    }
}

/// No checkpoint is written unless one is asked for.
pub fn options(server: &str) -> Options {
    Options { server: server.to_owned(), checkpoint_messages: u64::MAX, ..Options::default() }
}

/// A new server, in memory.
pub fn newcomer(log: Arc<impl Log + 'static>, name: &str) -> Result<(Jungle, Cluster), JoinError> {
    newcomer_with(log, &options(name))
}

/// The same with other options.
pub fn newcomer_with(
    log: Arc<impl Log + 'static>,
    options: &Options,
) -> Result<(Jungle, Cluster), JoinError> {
    let arena = ArenaOptions::default();
    Cluster::follow_in_memory(log, &Jungle::builder(), &arena, options)
}

/// A connection that can be cut: nothing comes until it is there again, and whoever is asked for
/// the log's end knows only what was so before. Or what is to be appended can be held up.
pub struct Cut<L> {
    log: Arc<L>,
    bounds: Mutex<Option<(u64, u64)>>,
    gate: Arc<(Mutex<bool>, Condvar)>,
    held: (Mutex<Held>, Condvar),
}

#[derive(Default)]
struct Held {
    is_held: bool,
    waiting: u64,
}

impl<L: Log> Cut<L> {
    pub fn new(log: Arc<L>) -> Arc<Cut<L>> {
        let (bounds, gate, held) = Default::default();
        Arc::new(Cut { log, bounds, gate, held })
    }

    /// Holds up what is to be appended, or lets it go on.
    pub fn hold(&self, is_held: bool) {
        self.held.0.lock().unwrap().is_held = is_held;
        self.held.1.notify_all();
    }

    /// Waits until something is held up.
    pub fn wait_held(&self) {
        let held = self.held.0.lock().unwrap();
        drop(self.held.1.wait_while(held, |held| held.waiting == 0).unwrap());
    }

    pub fn set(&self, is_cut: bool) {
        *self.bounds.lock().unwrap() = is_cut.then(|| self.log.bounds().unwrap());
        *self.gate.0.lock().unwrap() = is_cut;
        self.gate.1.notify_all();
    }
}

impl<L: Log + 'static> Log for Cut<L> {
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        let mut held = self.held.0.lock().unwrap();
        held.waiting += 1;
        self.held.1.notify_all();
        held = self.held.1.wait_while(held, |held| held.is_held).unwrap();
        held.waiting -= 1;
        drop(held);
        self.log.append(after, message, within)
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.log.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        self.bounds.lock().unwrap().map_or_else(|| self.log.bounds(), Ok)
    }

    fn tail(&self, from: u64) -> Tail {
        let (log, gate) = (Arc::clone(&self.log), Arc::clone(&self.gate));
        let (mut next, mut tail) = (from, self.log.tail(from));
        Box::new(std::iter::from_fn(move || {
            let mut found = tail.next()?;
            if *gate.0.lock().unwrap() {
                drop(gate.1.wait_while(gate.0.lock().unwrap(), |is_cut| *is_cut).unwrap());
                tail = log.tail(next);
                found = tail.next()?;
            }
            next = found.0 + 1;
            Some(found)
        }))
    }

    fn close(&self) {
        self.set(false);
        self.log.close();
    }

    fn depot(&self) -> Option<&dyn Depot> {
        self.log.depot()
    }
}

/// What is asked of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Id,
    Bounds,
    Depot,
    /// The next message, which is there.
    Next,
}

/// A log that first tells of such calls.
pub struct Told<F> {
    log: MemoryLog,
    tell: Arc<F>,
}

impl<F: Fn(Call) + Send + Sync + 'static> Told<F> {
    pub fn new(log: MemoryLog, tell: F) -> Arc<Told<F>> {
        Arc::new(Told { log, tell: Arc::new(tell) })
    }
}

impl<F: Fn(Call) + Send + Sync + 'static> Log for Told<F> {
    fn id(&self) -> LogId {
        (*self.tell)(Call::Id);
        self.log.id()
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        self.log.append(after, message, within)
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.log.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        (*self.tell)(Call::Bounds);
        self.log.bounds()
    }

    fn tail(&self, from: u64) -> Tail {
        let tell = Arc::clone(&self.tell);
        Box::new(self.log.tail(from).inspect(move |_| (*tell)(Call::Next)))
    }

    fn close(&self) {
        self.log.close();
    }

    fn depot(&self) -> Option<&dyn Depot> {
        (*self.tell)(Call::Depot);
        self.log.depot()
    }
}

/// A Jungle in memory that follows a log.
pub fn server(log: &Arc<impl Log + 'static>, name: &str) -> (Jungle, Cluster) {
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::follow(Arc::clone(log) as Arc<dyn Log>, &jungle, &options(name));
    (jungle, cluster.unwrap())
}

pub fn path(text: &str) -> Path {
    text.parse().unwrap()
}

pub fn put(tree: &TreeHandle, at: &str, key: &str, value: i64) {
    let at = path(at);
    tree.update(|tx| tx.put_attribute(&at, key, value)).unwrap();
}

/// Counts up by one.
pub fn add(tree: &TreeHandle) {
    let added = tree.update(|tx| {
        let count = tx.attribute(&[], "n").unwrap().and_then(|n| n.as_int()).unwrap_or(0);
        tx.put_attribute(&[], "n", count + 1)
    });
    added.unwrap();
}

pub fn int(tree: &TreeHandle, at: &str, key: &str) -> Option<i64> {
    tree.read().root().at(&path(at)).ok()?.attribute(key)?.as_int()
}

/// What all servers have, once each has everything: they must be equal.
pub fn agree(servers: &[(Jungle, Cluster)]) -> Vec<(String, String)> {
    let mut portraits = servers.iter().map(|(jungle, cluster)| {
        cluster.sync(Duration::from_secs(30)).unwrap();
        (jungle.revision(), portrait(jungle))
    });
    let first = portraits.next().unwrap();
    portraits.for_each(|portrait| assert_eq!(portrait, first));
    first.1
}

/// The heads, indexes and tags of all trees.
pub fn portrait(jungle: &Jungle) -> Vec<(String, String)> {
    let mut portrait = Vec::new();
    for name in jungle.list_trees() {
        let main = jungle.open_tree(&name).unwrap();
        for branch in main.list_branches() {
            let head = main.on_branch(&branch).unwrap().snapshot();
            let hash = head.root().content_hash();
            portrait.push((format!("{name} {branch}"), format!("{} {hash}", head.revision())));
        }
        for key in main.list_indexes() {
            let index = main.index(&key, &main.snapshot()).unwrap().unwrap();
            let hash = index.as_snapshot().root().content_hash();
            portrait.push((format!("{name} index {key}"), hash.to_string()));
        }
        for (tag, revision) in main.list_tags() {
            portrait.push((format!("{name} {tag}"), revision.to_string()));
        }
    }
    portrait
}
