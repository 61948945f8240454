//! Registers that several servers write, read and compare-and-set while servers of the engine are
//! killed and paused, and servers of ours leave and return. All servers are equal in the end.
//! `cargo xtask torture lin` writes the histories down, and has them checked for linearizability.

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, NatsLog, Options};
use jungle_db::{Jungle, NotWritten, Snapshot, TreeHandle, UpdateError};
use jungle_testkit::{NatsServers, Rng, for_each_seed};
use jungle_tree::{ArenaOptions, EditError};
use serde_json::json;

use crate::support::{SCHEDULES, SEED, int, options, portrait, told};

/// The folder for histories; without it they are not written.
const HISTORIES: &str = "CLUSTER_HISTORIES";
/// Reads look at what somebody else's read has seen: a checker that takes that for right checks
/// nothing.
const STALE: &str = "CLUSTER_STALE_READS";

const REGISTERS: u64 = 3;
const SERVERS: usize = 3;
const CLIENTS: usize = 6;
const OPERATIONS: u64 = 120;
/// How long the engine may be without a leader, and more.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn acknowledged_writes_survive_kills_and_pauses() {
    let (schedules, first) = (told(SCHEDULES, 1), told(SEED, 0));
    for_each_seed(schedules, |rng| {
        let rng = &mut Rng::new(first + rng.seed());
        let world = World::new();
        thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let (mut rng, world) = (rng.fork(), &world);
                    scope.spawn(move || (0..OPERATIONS).for_each(|_| world.work(client, &mut rng)))
                })
                .collect();
            let mut rng = rng.fork();
            while !clients.iter().all(thread::ScopedJoinHandle::is_finished) {
                world.fault(&mut rng);
            }
        });
        world.heal();
        world.check_end();
        world.write_history(rng.seed());
    });
}

struct World {
    engine: Mutex<NatsServers>,
    servers: Vec<RwLock<Server>>,
    begun: Instant,
    /// What was done, a line of JSON each.
    history: Mutex<String>,
    done: AtomicU64,
    /// No value is written twice.
    next: AtomicI64,
    stale: Mutex<Option<Snapshot>>,
}

struct Server {
    jungle: Jungle,
    cluster: Cluster,
}

impl Server {
    fn join(addresses: &str, at: usize) -> Option<Server> {
        let within = Duration::from_secs(5);
        let options = Options {
            replicas: 3,
            commit_within: within,
            join_within: within,
            // So that the log is trimmed a few times.
            checkpoint_messages: OPERATIONS,
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

    fn tree(&self) -> TreeHandle {
        self.jungle.open_tree("t").unwrap()
    }
}

fn name(register: u64) -> String {
    format!("r{register}")
}

impl World {
    fn new() -> World {
        let engine = NatsServers::start(3);
        let addresses = engine.addresses();
        let servers = (0..SERVERS).map(|at| Server::join_in_the_end(&addresses, at));
        let servers: Vec<RwLock<Server>> = servers.map(RwLock::new).collect();
        let made = servers[0].read().unwrap().jungle.create_tree("t").unwrap();
        made.update(|tx| (0..REGISTERS).try_for_each(|at| tx.put_attribute(&[], &name(at), 0)))
            .unwrap();
        for server in &servers {
            server.read().unwrap().cluster.sync(PATIENCE).unwrap();
        }
        World {
            engine: Mutex::new(engine),
            servers,
            begun: Instant::now(),
            history: Mutex::default(),
            done: AtomicU64::new(0),
            next: AtomicI64::new(1),
            stale: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap()
    }

    /// One operation of a client, on its server.
    fn work(&self, client: usize, rng: &mut Rng) {
        let server = self.servers[client % SERVERS].read().unwrap();
        let register = rng.below(REGISTERS);
        let key = name(register);
        let call = self.now();
        let told = match rng.below(3) {
            0 => {
                // A read that failed has said nothing.
                server.cluster.linearize(PATIENCE).ok().and_then(|_| {
                    let read = self.seen(server.tree().snapshot())?;
                    let value = read.root().attribute(&key)?.as_int();
                    Some(json!({"kind": "read", "value": value, "known": true}))
                })
            }
            kind => {
                let value = self.next.fetch_add(1, Ordering::Relaxed);
                let compared = (kind == 1).then(|| int(&server.tree(), "/", &key).unwrap());
                self.write(&server.tree(), &key, value, compared)
            }
        };
        let back = self.now();
        self.done.fetch_add(1, Ordering::Relaxed);
        if let Some(mut told) = told {
            told["client"] = client.into();
            told["register"] = register.into();
            told["call"] = call.into();
            told["return"] = back.into();
            writeln!(self.history.lock().unwrap(), "{told}").unwrap();
        }
    }

    /// What a read looks at.
    fn seen(&self, newest: Snapshot) -> Option<Snapshot> {
        if std::env::var_os(STALE).is_none() {
            return Some(newest);
        }
        self.stale.lock().unwrap().replace(newest)
    }

    /// Writes, if the register has what it is compared with; tells what is to be noted of that.
    fn write(
        &self,
        tree: &TreeHandle,
        key: &str,
        value: i64,
        compared: Option<i64>,
    ) -> Option<serde_json::Value> {
        let written = tree.update(|tx| {
            let there = tx.attribute(&[], key)?.and_then(|value| value.as_int());
            // One that finds something else has no place in the log, so it may have seen what is
            // old: it says nothing.
            if compared.is_some_and(|compared| there != Some(compared)) {
                return Ok(false);
            }
            tx.put_attribute(&[], key, value)?;
            Ok(true)
        });
        let is_known = match written {
            Ok(commit) if commit.value => true,
            Ok(_) => return None,
            Err(UpdateError::NotWritten(NotWritten::Undecided(_))) => false,
            Err(UpdateError::<EditError>::NotWritten(NotWritten::Refused(_))) => return None,
            Err(error) => panic!("{error:?}"),
        };
        let kind = if compared.is_some() { "cas" } else { "write" };
        Some(json!({"kind": kind, "value": value, "compared": compared, "known": is_known}))
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
                self.wait(OPERATIONS, short);
                engine.restart(at);
            }
            2 => {
                (0..3).for_each(|at| engine.kill(at));
                (0..3).for_each(|at| engine.restart(at));
            }
            3 | 4 => {
                engine.pause(at);
                self.wait(OPERATIONS, short);
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

    /// All servers are there, and each has all that there is.
    fn heal(&self) {
        for server in &self.servers {
            let begun = Instant::now();
            while let Err(error) = server.read().unwrap().cluster.sync(PATIENCE) {
                assert!(begun.elapsed() < PATIENCE * 2, "{error:?}");
            }
        }
    }

    fn check_end(&self) {
        let addresses = self.engine.lock().unwrap().addresses();
        // Those that were due may not be written yet: who should have has died, or others rest.
        let begun = Instant::now();
        let written = loop {
            // The engine may not have all of its leaders yet.
            match self.servers[0].read().unwrap().cluster.checkpoint() {
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
        // The last word of every register: what was acknowledged is not lost.
        for register in 0..REGISTERS {
            let (call, read) = (self.now(), int(&newcomer.tree(), "/", &name(register)));
            let told = json!({
                "kind": "read", "value": read, "known": true, "client": CLIENTS,
                "register": register, "call": call, "return": self.now(),
            });
            writeln!(self.history.lock().unwrap(), "{told}").unwrap();
        }
    }

    fn write_history(&self, seed: u64) {
        let history = self.history.lock().unwrap();
        let operations = history.lines().count() as u64;
        assert!(operations > OPERATIONS, "only {operations} operations came to anything");
        println!("seed {seed}: {operations} operations");
        if let Some(folder) = std::env::var_os(HISTORIES) {
            let file = std::path::Path::new(&folder).join(format!("{seed}.jsonl"));
            fs::write(file, &*history).unwrap();
        }
    }
}
