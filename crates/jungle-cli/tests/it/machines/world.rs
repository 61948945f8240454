//! Three machines with a server of the engine and one of ours each, and those who use them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use jungle_cluster::{Options, Survey};
use jungle_testkit::{Machines, NatsServers, Tally};
use serde_json::Value as Json;

use super::super::numbers::{JSON, numbers};
use super::super::serving::Client;
use super::server::{READ_WITHIN, Server};
use super::{PATIENCE, SERVERS, TICK};

/// Who post to each server over the network, and who do at its machine.
const POSTING: [usize; 2] = [6, 2];

pub(crate) struct World<'m> {
    pub(crate) machines: &'m Machines,
    engine: Mutex<NatsServers>,
    servers: Vec<Server<'m>>,
    folder: PathBuf,
    pub(crate) tally: Tally,
    begun: Instant,
    is_over: AtomicBool,
}

impl<'m> World<'m> {
    pub(crate) fn new(machines: &'m Machines, seed: u64) -> World<'m> {
        let folder = std::env::temp_dir().join(format!("world-{seed}"));
        std::fs::create_dir_all(&folder).unwrap();
        let engine = NatsServers::start_on(machines);
        let addresses = engine.addresses();
        let server = |at| Server::new(machines, at, &folder, &addresses);
        let world = World {
            machines,
            engine: Mutex::new(engine),
            servers: (0..SERVERS).map(server).collect(),
            folder,
            tally: Tally::new(SERVERS),
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
        };
        world.servers.iter().for_each(Server::start);
        world.until("make a tree", || world.asks(0, "POST /api/v1/trees", r#"{"name":"t"}"#, 201));
        for at in 0..SERVERS {
            world.until("have the tree", || world.asks(at, "GET /api/v1/trees/t", "", 200));
        }
        world
    }

    /// As much of the history is kept as a server that is held has room for.
    pub(crate) fn keep(&self, revisions: u64) {
        let keep = format!(r#"{{"keep":"{revisions}"}}"#);
        self.until("keep less", || self.asks(0, "PUT /api/v1/trees/t/keep", &keep, 200));
    }

    /// Lets all clients begin.
    pub(crate) fn begin<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        for at in 0..SERVERS {
            let addresses = [self.server(at).address(), self.server(at).desk()];
            for (address, count) in addresses.iter().zip(POSTING) {
                for _ in 0..count {
                    let address = address.clone();
                    scope.spawn(move || self.post(at, &address));
                }
            }
            scope.spawn(move || self.read(at));
        }
    }

    /// Lets them end.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn engine(&self) -> MutexGuard<'_, NatsServers> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn server(&self, at: usize) -> &Server<'m> {
        &self.servers[at]
    }

    /// How old it is, and how many posts were acknowledged.
    pub(crate) fn progress(&self) -> String {
        let (age, counts) = (self.begun.elapsed(), self.tally.counts());
        format!("{:5.1} s, {:6}", age.as_secs_f64(), counts.acknowledged)
    }

    /// What runs on these machines is gone; ours where it may be.
    pub(crate) fn lose_power(&self, machines: &[usize], ours: impl Fn(usize) -> bool) {
        for &at in machines {
            self.engine().kill(at);
            if ours(at) {
                self.server(at).kill();
            }
        }
    }

    /// Which server of the engine leads the log, if that can be told.
    pub(crate) fn leader(&self) -> Option<usize> {
        let addresses = self.engine().addresses();
        let survey = Survey::take(&addresses, &Options::default(), Duration::ZERO).ok()?;
        self.engine().position(&survey.log.leader?)
    }

    /// Looks at each server of ours; one that did not get in is started again.
    pub(crate) fn tend(&self) {
        self.servers.iter().for_each(Server::tend);
    }

    pub(crate) fn said(&self) -> String {
        self.servers.iter().map(Server::said).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn slowest(&self) -> Duration {
        self.servers.iter().map(Server::slowest).max().unwrap_or_default()
    }

    /// Posts that were acknowledged a second.
    pub(crate) fn rate(&self, within: Duration) -> f64 {
        self.tally.counts().acknowledged as f64 / within.as_secs_f64()
    }

    fn ask(&self, at: usize, head: &str, body: &str) -> Option<(u16, String)> {
        Client::within(&self.server(at).address(), READ_WITHIN)?.answer(head, JSON, body)
    }

    fn asks(&self, at: usize, head: &str, body: &str, status: u16) -> bool {
        self.ask(at, head, body).is_some_and(|(told, _)| told == status)
    }

    /// What a server says when it has everything that any has acknowledged.
    pub(crate) fn newest(&self, at: usize, head: &str) -> Option<Json> {
        let all = "application/json\r\nJungle-Consistency: linearizable";
        let client = Client::within(&self.server(at).address(), READ_WITHIN);
        let (status, told) = client?.answer(head, all, "")?;
        (status == 200).then(|| serde_json::from_str(&told).unwrap())
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            self.tend();
            assert!(begun.elapsed() < PATIENCE, "they do not {what}\n{}", self.said());
            self.tally.wait(u64::MAX, TICK);
        }
    }

    /// How a server stands: what it has followed, and its revision.
    fn standing(&self, at: usize) -> Option<(u64, u64)> {
        let (_, health) = self.ask(at, "GET /health", "")?;
        let health: Json = serde_json::from_str(&health).ok()?;
        let fault = &health["cluster"]["fault"];
        assert!(fault.is_null(), "s{at}: {fault}");
        let cluster = &health["cluster"];
        Some((cluster["followed"].as_u64()?, cluster["revision"].as_u64()?))
    }

    /// All servers are equal, and have what was acknowledged, also in their folders.
    pub(crate) fn check(&self) {
        for at in 0..SERVERS {
            // What has no place behind this will never have one.
            self.until("have what is newest", || self.newest(at, "GET /api/v1/trees/t").is_some());
        }
        self.until("stand equal", || {
            let all: Vec<_> = (0..SERVERS).map(|at| self.standing(at)).collect();
            all[0].is_some() && all.iter().all(|one| *one == all[0])
        });
        self.servers.iter().for_each(Server::end);
        let mut first = None;
        for (at, server) in self.servers.iter().enumerate() {
            server.verify();
            let has = numbers(&server.data());
            let wrong = self.tally.wrong(has.1.iter().copied());
            assert_eq!(wrong, [], "s{at}\n{}", self.said());
            let first = first.get_or_insert_with(|| has.clone());
            assert!(has == *first, "s{at} has {}, s0 {}", has.0, first.0);
        }
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        self.end();
        self.machines.mend();
        (0..SERVERS).for_each(|at| self.machines.plug(at));
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
