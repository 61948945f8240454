//! Three servers of ours, and clients that commit on them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jungle_cluster::{Cluster, Fault, NatsLog, Options};
use jungle_db::{Clock, Jungle, Timestamp};
use jungle_store::{OpenOptions, Store};
use jungle_testkit::Tally;
use jungle_tree::ArenaOptions;

use super::tally;
use crate::support::{options, portrait};

pub const SERVERS: usize = 3;
/// The others are in memory.
const IN_FOLDERS: usize = 2;
/// A client makes one commit in this time, if it can: more load would show how slow the machine is.
const PACE: Duration = Duration::from_millis(20);
/// How long anything may take in the end: the machine may have little time for us.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    addresses: String,
    folder: PathBuf,
    /// None while one is away.
    servers: Vec<RwLock<Option<Server>>>,
    /// Theirs, and a newcomer's.
    clocks: [OffClock; SERVERS + 1],
    pub tally: Tally,
    is_over: AtomicBool,
}

/// The system's clock, and how many hours it is off.
#[derive(Clone, Default)]
struct OffClock(Arc<AtomicI64>);

impl Clock for OffClock {
    fn now(&self) -> Timestamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
        let off = self.0.load(Ordering::Relaxed) * 3_600_000_000;
        Timestamp::from_micros(i64::try_from(now).unwrap() + off)
    }
}

/// What it has goes in this order.
pub struct Server {
    cluster: Cluster,
    jungle: Jungle,
    _store: Option<Store>,
}

impl Server {
    fn join(
        addresses: &str,
        at: usize,
        folder: Option<&Path>,
        clock: OffClock,
    ) -> Result<Server, Box<dyn Error + Send + Sync>> {
        let within = Duration::from_secs(5);
        let options = Options {
            replicas: 3,
            commit_within: within,
            join_within: within,
            // So that the log is trimmed a few times.
            checkpoint_messages: 300,
            ..options(&format!("s{at}"))
        };
        let log = Arc::new(NatsLog::connect(addresses, &options)?);
        let Some(folder) = folder else {
            let (builder, arena) = (Jungle::builder().clock(clock), ArenaOptions::default());
            let (jungle, cluster) = Cluster::follow_in_memory(log, &builder, &arena, &options)?;
            return Ok(Server { cluster, jungle, _store: None });
        };
        let open = OpenOptions::new().clock(clock);
        let (store, cluster) = Cluster::follow_in_folder(log, folder, &open, &options)?;
        Ok(Server { cluster, jungle: Jungle::clone(&store), _store: Some(store) })
    }
}

impl World {
    pub fn new(addresses: &str, seed: u64) -> World {
        let name = format!("jungle-torture-{}-{seed}", std::process::id());
        let world = World {
            addresses: addresses.to_owned(),
            folder: std::env::temp_dir().join(name),
            servers: (0..SERVERS).map(|_| RwLock::default()).collect(),
            clocks: Default::default(),
            tally: Tally::new(SERVERS),
            is_over: AtomicBool::new(false),
        };
        (0..SERVERS).for_each(|at| world.enter(at));
        world.with(0, |server| server.jungle.create_tree("t").map(drop)).unwrap();
        for at in 0..SERVERS {
            world.with(at, |server| server.cluster.sync(PATIENCE)).unwrap();
        }
        world
    }

    /// Asks a server that is there.
    fn with<T>(&self, at: usize, f: impl FnOnce(&Server) -> T) -> T {
        self.ask(at, f).expect("it is there")
    }

    fn ask<T>(&self, at: usize, f: impl FnOnce(&Server) -> T) -> Option<T> {
        self.servers[at].read().unwrap().as_ref().map(f)
    }

    /// What a client does until all is over.
    pub fn work(&self, at: usize) {
        while !self.is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            if let Some(server) = &*self.servers[at].read().unwrap() {
                tally::commit(&self.tally, at, &server.jungle.open_tree("t").unwrap());
            }
            thread::park_timeout(PACE.saturating_sub(begun.elapsed()));
        }
    }

    /// Lets the clients end.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// A server leaves when it has answered.
    pub fn leave(&self, at: usize) {
        drop(self.servers[at].write().unwrap().take());
    }

    /// A server joins: with its folder, if it has one, and else with nothing.
    pub fn enter(&self, at: usize) {
        *self.servers[at].write().unwrap() = Some(self.newcomer(at));
    }

    /// As [`enter`](World::enter), but it may not get in; tells why.
    pub fn try_to_enter(&self, at: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
        let server = self.join(at)?;
        *self.servers[at].write().unwrap() = Some(server);
        Ok(())
    }

    pub fn is_there(&self, at: usize) -> bool {
        self.ask(at, |_| ()).is_some()
    }

    fn newcomer(&self, at: usize) -> Server {
        let begun = Instant::now();
        loop {
            match self.join(at) {
                Ok(server) => return server,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "s{at} cannot join: {error:?}"),
            }
        }
    }

    fn join(&self, at: usize) -> Result<Server, Box<dyn Error + Send + Sync>> {
        let clock = self.clocks[at].clone();
        Server::join(&self.addresses, at, self.folder_of(at).as_deref(), clock)
    }

    /// Sets the clock of a server, so many hours off.
    pub fn set_clock(&self, at: usize, hours: i64) {
        self.clocks[at].0.store(hours, Ordering::Relaxed);
    }

    fn folder_of(&self, at: usize) -> Option<PathBuf> {
        (at < IN_FOLDERS).then(|| self.folder.join(format!("s{at}")))
    }

    /// The first server that follows the log no further, and why.
    pub fn stopped(&self) -> Option<(usize, Arc<Fault>)> {
        (0..SERVERS).find_map(|at| {
            let fault = self.ask(at, |server| server.cluster.status().fault)?;
            Some((at, fault?))
        })
    }

    pub fn statuses(&self) -> String {
        let status = |at| format!("s{at}: {:?}", self.ask(at, |server| server.cluster.status()));
        (0..SERVERS).map(status).collect::<Vec<_>>().join("\n")
    }

    /// All servers are equal, also a new one and what is in the folders, and have what was
    /// acknowledged.
    pub fn check(&self) {
        for at in 0..SERVERS {
            // What has no place behind this will never have one.
            let last = self.with(at, |server| server.cluster.linearize(PATIENCE));
            last.unwrap_or_else(|error| panic!("s{at}: {error:?}\n{}", self.statuses()));
        }
        let newcomer = self.newcomer(SERVERS);
        let ought = (newcomer.jungle.revision(), portrait(&newcomer.jungle));
        assert_eq!(tally::wrong(&self.tally, &newcomer.jungle), [], "a newcomer");
        let past = newcomer.jungle.open_tree("t").unwrap().history(..);
        let times: Vec<Timestamp> = past.map(|info| info.unwrap().time).collect();
        assert!(times.is_sorted_by(|newer, older| newer >= older), "time goes back");
        for at in 0..SERVERS {
            self.with(at, |server| {
                server.cluster.sync(PATIENCE).unwrap();
                let status = server.cluster.status();
                assert!(status.fault.is_none(), "{status:?}");
                assert_eq!((server.jungle.revision(), portrait(&server.jungle)), ought, "s{at}");
                assert_eq!(tally::wrong(&self.tally, &server.jungle), [], "s{at}");
            });
        }
        for at in 0..SERVERS {
            self.leave(at);
            if let Some(folder) = self.folder_of(at) {
                let store = Store::open(folder).unwrap();
                assert_eq!(portrait(&store), ought.1, "the folder of s{at}");
                store.verify().unwrap();
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
