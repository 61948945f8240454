//! Three servers of ours on three of the engine, and what befalls them while clients work: servers
//! of the engine are killed and paused, and our own leave and come again with nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, LogError, NatsLog, Options};
use jungle_db::Jungle;
use jungle_testkit::{NatsServers, Rng};
use jungle_tree::ArenaOptions;

use crate::support::{options, portrait};

/// Servers of ours.
pub const SERVERS: usize = 3;
/// How long the engine may be without a leader, and more.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// So that the log is trimmed a few times.
const CHECKPOINT_MESSAGES: u64 = 120;

/// A server of ours, in memory.
pub struct Server {
    pub jungle: Jungle,
    pub cluster: Cluster,
}

/// A cluster to which something happens all the time.
pub struct Schedule {
    engine: Mutex<NatsServers>,
    servers: Vec<RwLock<Server>>,
    /// Operations of clients.
    done: AtomicU64,
}

impl Server {
    fn join(addresses: &str, at: usize) -> Option<Server> {
        let within = Duration::from_secs(5);
        let options = Options {
            replicas: 3,
            commit_within: within,
            join_within: within,
            checkpoint_messages: CHECKPOINT_MESSAGES,
            ..options(&format!("s{at}"))
        };
        // The engine may be gone just now.
        let log = NatsLog::connect(addresses, &options).ok()?;
        let (builder, arena) = (Jungle::builder(), ArenaOptions::default());
        let joined = Cluster::follow_in_memory(Arc::new(log), &builder, &arena, &options);
        let (jungle, cluster) = joined.ok()?;
        Some(Server { jungle, cluster })
    }

    fn join_in_the_end(addresses: &str, at: usize) -> Server {
        let begun = Instant::now();
        loop {
            if let Some(server) = Server::join(addresses, at) {
                return server;
            }
            assert!(begun.elapsed() < PATIENCE, "s{at} cannot join");
        }
    }
}

impl Schedule {
    /// All servers, which have what is made on one of them.
    pub fn new(make: impl FnOnce(&Jungle)) -> Schedule {
        let engine = NatsServers::start(3);
        let addresses = engine.addresses();
        let servers: Vec<Server> =
            (0..SERVERS).map(|at| Server::join_in_the_end(&addresses, at)).collect();
        make(&servers[0].jungle);
        for server in &servers {
            server.cluster.sync(PATIENCE).unwrap();
        }
        let servers = servers.into_iter().map(RwLock::new).collect();
        Schedule { engine: Mutex::new(engine), servers, done: AtomicU64::new(0) }
    }

    /// The server of a client. It is not replaced while it is held.
    pub fn server(&self, client: usize) -> RwLockReadGuard<'_, Server> {
        self.servers[client % SERVERS].read().unwrap()
    }

    /// Each client works so many times, one thing after the other, while faults come and go. In
    /// the end all servers are there, and each has all that there is.
    pub fn run(
        &self,
        rng: &mut Rng,
        clients: usize,
        operations: u64,
        work: impl Fn(usize, &mut Rng) + Sync,
    ) {
        thread::scope(|scope| {
            let clients: Vec<_> = (0..clients)
                .map(|client| {
                    let (mut rng, work) = (rng.fork(), &work);
                    scope.spawn(move || {
                        for _ in 0..operations {
                            work(client, &mut rng);
                            self.done.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            let mut rng = rng.fork();
            while !clients.iter().all(thread::ScopedJoinHandle::is_finished) {
                self.fault(&mut rng);
            }
        });
        self.heal();
    }

    /// Waits until so many more operations were done, or for so long.
    fn wait(&self, operations: u64, within: Duration) {
        let (begun, before) = (Instant::now(), self.done.load(Ordering::Relaxed));
        while self.done.load(Ordering::Relaxed) < before + operations && begun.elapsed() < within {
            thread::park_timeout(Duration::from_millis(5));
        }
    }

    fn fault(&self, rng: &mut Rng) {
        self.wait(rng.range(20..80), Duration::from_secs(2));
        let mut engine = self.engine.lock().unwrap();
        let at = rng.index(3);
        // The longest ones last until others have chosen a leader.
        let most = *rng.pick(&[500, 3_000, 12_000]);
        let short = Duration::from_millis(rng.range(50..most));
        match rng.below(6) {
            0 | 1 => {
                engine.kill(at);
                self.wait(CHECKPOINT_MESSAGES, short);
                engine.restart(at);
            }
            2 => {
                (0..3).for_each(|at| engine.kill(at));
                (0..3).for_each(|at| engine.restart(at));
            }
            3 | 4 => {
                engine.pause(at);
                self.wait(CHECKPOINT_MESSAGES, short);
                engine.resume(at);
            }
            _ => self.replace(&engine.addresses(), rng.index(SERVERS)),
        }
    }

    /// A server of ours is lost with all that it had, and comes again.
    fn replace(&self, addresses: &str, at: usize) {
        if let Some(newcomer) = Server::join(addresses, at) {
            let old = std::mem::replace(&mut *self.servers[at].write().unwrap(), newcomer);
            old.cluster.leave();
        }
    }

    /// All servers are there, and each has all that there is. One that was away while the log was
    /// trimmed is started again, as it says.
    fn heal(&self) {
        let addresses = self.engine.lock().unwrap().addresses();
        for (at, server) in self.servers.iter().enumerate() {
            let begun = Instant::now();
            loop {
                let synced = server.read().unwrap().cluster.sync(PATIENCE);
                match synced {
                    Ok(_) => break,
                    Err(LogError::Ended(fault)) if fault.is_passing() => {
                        println!("s{at} is started again: {fault}");
                        self.replace(&addresses, at);
                    }
                    Err(error) => {
                        let is_early = matches!(error, LogError::NoAnswer { .. })
                            && begun.elapsed() < PATIENCE * 2;
                        assert!(is_early, "{error:?}, of {}", self.told());
                    }
                }
            }
        }
    }

    /// How all of them stand.
    fn told(&self) -> String {
        let status = |server: &RwLock<Server>| server.read().unwrap().cluster.status();
        let servers: Vec<_> = self.servers.iter().map(status).collect();
        let survey = self.server(0).cluster.survey(Duration::from_secs(2));
        format!("{servers:#?}, and they say {survey:#?}")
    }

    /// All servers are equal, and so is one that comes now and begins with a checkpoint.
    pub fn end(&self) -> Server {
        let addresses = self.engine.lock().unwrap().addresses();
        // Those that were due may not be written yet: who should have has died, or others rest.
        let begun = Instant::now();
        let written = loop {
            // The engine may not have all of its leaders yet.
            match self.server(0).cluster.checkpoint() {
                Ok(written) => break written,
                Err(error) => assert!(begun.elapsed() < PATIENCE * 2, "{error:?}"),
            }
        };
        let newcomer = Server::join_in_the_end(&addresses, SERVERS);
        assert!(newcomer.cluster.status().checkpoint >= written);
        let ought = portrait(&newcomer.jungle);
        for server in &self.servers {
            let server = server.read().unwrap();
            let status = server.cluster.status();
            assert!(status.fault.is_none(), "{status:?}");
            assert_eq!(portrait(&server.jungle), ought);
        }
        newcomer
    }
}
