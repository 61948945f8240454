//! A simulated server: a Jungle, in memory or in a folder, and an outbox, in a folder. The disk is
//! simulated, too; what drives it all is the crate's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jungle_cluster::{Cluster, JoinError, Local, LocalError, Log, Options};
use jungle_db::{Clock, Jungle, Timestamp};
use jungle_store::disk::Disk;
use jungle_store::disk::sim::{Keep, SimDisk};
use jungle_store::{OpenOptions, Store};
use jungle_testkit::Rng;
use jungle_tree::ArenaOptions;

use super::engine::Engine;
use super::link::Link;

const KEEPS: [Keep; 4] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random];
/// When simulations begin.
const EPOCH_MS: i64 = 1_700_000_000_000;

pub struct Server {
    pub name: String,
    at: usize,
    clock: SimClock,
    /// After how many messages it writes a checkpoint.
    checkpoint_messages: u64,
    /// Its folder; without one it is in memory, and begins anew each time.
    folder: Option<SimDisk>,
    outbox: SimDisk,
    running: Option<Running>,
}

/// What is there while it runs.
pub struct Running {
    pub jungle: Jungle,
    pub cluster: Arc<Cluster>,
    /// Once it has a number.
    pub local: Option<Arc<Local>>,
    /// Dropped last.
    _store: Option<Store>,
}

/// Why a server is not there.
#[derive(Debug)]
pub enum Absent {
    /// The engine could not be asked: it is started again.
    Later,
    /// The log is not what it was.
    Refused(JoinError),
}

/// The simulated time, as a server has it.
#[derive(Clone)]
pub struct SimClock {
    now: Arc<AtomicU64>,
    ahead_ms: i64,
}

impl SimClock {
    pub fn new(now: &Arc<AtomicU64>, ahead_ms: i64) -> SimClock {
        SimClock { now: Arc::clone(now), ahead_ms }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let since = self.now.load(Ordering::SeqCst) as i64;
        Timestamp::from_micros((EPOCH_MS + since + self.ahead_ms) * 1000)
    }
}

impl Server {
    pub fn new(at: usize, clock: SimClock, rng: &mut Rng) -> Server {
        Server {
            name: format!("s{at}"),
            at,
            clock,
            checkpoint_messages: rng.range(150..300),
            folder: rng.chance(2, 3).then(SimDisk::new),
            outbox: SimDisk::new(),
            running: None,
        }
    }

    pub fn running(&self) -> Option<&Running> {
        self.running.as_ref()
    }

    pub fn local(&self) -> Option<&Arc<Local>> {
        self.running.as_ref()?.local.as_ref()
    }

    /// Starts it with what it has.
    pub fn start(&mut self, engine: &Arc<Engine>) -> Result<(), Absent> {
        let (jungle, cluster, store) = self.join(engine)?;
        self.running = Some(Running { jungle, cluster, local: None, _store: store });
        self.open_outbox();
        Ok(())
    }

    fn join(
        &mut self,
        engine: &Arc<Engine>,
    ) -> Result<(Jungle, Arc<Cluster>, Option<Store>), Absent> {
        let options = Options {
            server: self.name.clone(),
            commit_within: Duration::from_secs(1),
            checkpoint_messages: self.checkpoint_messages,
            by_hand: true,
            ..Options::default()
        };
        let mut link = Link::new(engine, self.at);
        let log = |link: &Arc<Link>| Arc::clone(link) as Arc<dyn Log>;
        if let Some(disk) = self.folder.clone() {
            let store = self.open(&disk);
            let joined = match Cluster::follow(log(&link), &store, &options) {
                Err(JoinError::Log(_)) if store.revision().number() > 0 => {
                    // What it has is shown, and committed to by itself, until the engine is there.
                    drop(store);
                    let store = self.open(&disk);
                    link = Link::new(engine, self.at);
                    Cluster::resume(log(&link), &store, &options).map(|cluster| (store, cluster))
                }
                joined => joined.map(|cluster| (store, cluster)),
            };
            match joined {
                Ok((store, cluster)) => {
                    let cluster = Arc::new(cluster);
                    link.is_of(&cluster);
                    return Ok((store.jungle().clone(), cluster, Some(store)));
                }
                // It was away for too long, and begins with a checkpoint.
                Err(JoinError::TooOld { .. }) => {
                    self.folder = None;
                    link = Link::new(engine, self.at);
                }
                Err(error) => return Err(absent(error)),
            }
        }
        let builder = Jungle::builder().clock(self.clock.clone());
        let arena = ArenaOptions::default();
        let joined = Cluster::follow_in_memory(log(&link), &builder, &arena, &options);
        let (jungle, cluster) = joined.map_err(absent)?;
        let cluster = Arc::new(cluster);
        link.is_of(&cluster);
        Ok((jungle, cluster, None))
    }

    fn open(&self, disk: &SimDisk) -> Store {
        let options = OpenOptions::new().clock(self.clock.clone()).segment_bytes(16 << 10);
        let opened = options.checkpoint_every(u64::MAX);
        let opened = opened.open_on(Arc::new(disk.clone()) as Arc<dyn Disk>);
        opened.expect("a folder whose power was lost can be opened")
    }

    /// Opens the outbox, if that can be: the first time the cluster has to give a number, and what
    /// its entries follow has to be here.
    pub fn open_outbox(&mut self) {
        let outbox = self.open(&self.outbox);
        let Some(running) = &mut self.running else { return };
        match running.cluster.local(outbox) {
            Ok(local) => running.local = Some(local),
            Err(
                LocalError::NoNumber(_)
                | LocalError::NotPublished(_)
                | LocalError::Fault(_)
                | LocalError::Behind { .. },
            ) => {}
            Err(error) => panic!("the outbox of {}: {error:?}", self.name),
        }
    }

    /// It stops in order.
    pub fn stop(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.cluster.leave();
    }

    /// It loses its power, and what its disk had not synced.
    pub fn kill(&mut self, rng: &mut Rng) {
        let mut crashed = |disk: &SimDisk| {
            let keep = *rng.pick(&KEEPS);
            disk.world().crash(keep, &mut |below| rng.below(below))
        };
        let folder = self.folder.as_ref().map(&mut crashed);
        let outbox = crashed(&self.outbox);
        self.stop();
        (self.folder, self.outbox) = (folder, outbox);
    }

    /// It loses its disks.
    pub fn wipe(&mut self) {
        self.stop();
        self.folder = self.folder.as_ref().map(|_| SimDisk::new());
        self.outbox = SimDisk::new();
    }
}

fn absent(error: JoinError) -> Absent {
    match error {
        JoinError::Log(_) | JoinError::Checkpoint { .. } => Absent::Later,
        JoinError::Fault(fault) if fault.is_passing() => Absent::Later,
        error => Absent::Refused(error),
    }
}
