//! What happens when: a queue of events, and a clock that jumps to the next of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_cluster::{JoinError, Local, LocalError};
use jungle_testkit::Rng;

use super::check;
use super::clients::{TREES, Told, portrait};
use super::engine::Engine;
use super::server::{Absent, Server, SimClock};
use super::trace::Trace;

/// For so long things go wrong.
const FAULTY_MS: u64 = 600_000;
/// And so long after that everything must have come to rest.
const REST_MS: u64 = 120_000;

pub struct World {
    seed: u64,
    pub rng: Rng,
    pub engine: Arc<Engine>,
    pub servers: Vec<Server>,
    /// Those to which what is new comes late.
    pub slow: Vec<bool>,
    /// Those that have said that the log is not what it was.
    refusing: Vec<bool>,
    pub queue: Queue,
    pub told: Told,
    clock: Arc<AtomicU64>,
    /// The hash of the message at which a server was looked at last.
    looked_at: Vec<Option<[u8; 32]>>,
    /// What a server has that has followed up to a message with this hash.
    portraits: BTreeMap<[u8; 32], String>,
    trace: Trace,
    is_quiet: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A client of a server commits at quorum.
    Commit(usize),
    /// At level `local`.
    CommitLocally(usize),
    /// Reads what is newest.
    Read(usize),
    /// What is new comes to a server.
    Follow(usize),
    /// A server publishes what is in its outbox.
    Publish(usize),
    /// A server looks whether a checkpoint is due.
    Keep(usize),
    /// The engine does what it does by itself.
    Tick,
    /// Something goes wrong.
    Fault,
    /// A server is started.
    Start(usize),
    /// A replica is.
    Power(usize),
    /// All reach each other again.
    Whole,
    /// No call is lost any more.
    Clear,
    /// What is new comes to a server soon again.
    Quick(usize),
}

/// What is to happen, by time.
#[derive(Default)]
pub struct Queue {
    events: BTreeMap<(u64, u64), Event>,
    pushed: u64,
}

impl Queue {
    pub fn push(&mut self, at: u64, event: Event) {
        self.pushed += 1;
        self.events.insert((at, self.pushed), event);
    }

    fn pop(&mut self) -> Option<(u64, Event)> {
        let ((at, _), event) = self.events.pop_first()?;
        Some((at, event))
    }
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let (replicas, servers) = (*rng.pick(&[3, 3, 5]), rng.range(3..6) as usize);
        let is_lazy = rng.chance(1, 3);
        let engine = Arc::new(Engine::new(rng.fork(), replicas, servers, is_lazy));
        let clock = Arc::new(AtomicU64::new(0));
        let new = |at: usize| {
            let ahead_ms = rng.below(120_000) as i64 - 60_000;
            Server::new(at, SimClock::new(&clock, ahead_ms), &mut rng)
        };
        let all: Vec<Server> = (0..servers).map(new).collect();
        World {
            seed,
            rng,
            engine,
            servers: all,
            slow: vec![false; servers],
            refusing: vec![false; servers],
            queue: Queue::default(),
            told: Told::default(),
            clock,
            looked_at: vec![None; servers],
            portraits: BTreeMap::new(),
            trace: Trace::new(),
            is_quiet: false,
        }
    }

    pub fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Runs it to its end; gives the hash of all that has happened.
    pub fn run(mut self) -> u64 {
        self.begin();
        self.run_until(FAULTY_MS, |_| false);
        self.calm();
        self.run_until(FAULTY_MS + REST_MS, World::is_at_rest);
        self.finish();
        self.trace.hash()
    }

    /// All servers are there, and the trees, before anything goes wrong.
    fn begin(&mut self) {
        while self.engine.state().leader().is_none() {
            self.engine.state().tick();
        }
        for at in 0..self.servers.len() {
            self.start(at);
        }
        let first = self.servers[0].running().expect("nothing goes wrong yet");
        self.engine.state().tick();
        while first.cluster.follow_next() {}
        for tree in TREES {
            first.jungle.create_tree(tree).expect("nothing goes wrong yet");
        }
        for at in 0..self.servers.len() {
            for event in [Event::Commit(at), Event::CommitLocally(at), Event::Read(at)] {
                self.again(event);
            }
            for event in [Event::Follow(at), Event::Publish(at), Event::Keep(at)] {
                self.again(event);
            }
        }
        self.again(Event::Tick);
        self.again(Event::Fault);
    }

    fn run_until(&mut self, end: u64, is_over: impl Fn(&World) -> bool) {
        while !is_over(self) {
            let Some((at, event)) = self.queue.pop() else { return };
            if at > end {
                // It is later than that.
                self.queue.push(at, event);
                return;
            }
            self.clock.store(at, Ordering::SeqCst);
            self.engine.state().now = at;
            self.happen(event);
        }
    }

    /// After which time an event comes again, if it does.
    fn period(&mut self, event: Event) -> Option<u64> {
        let range = match event {
            Event::Commit(_) | Event::CommitLocally(_) if !self.is_quiet => 3_000..15_000,
            Event::Read(_) if !self.is_quiet => 15_000..60_000,
            Event::Fault if !self.is_quiet => 3_000..40_000,
            Event::Follow(at) if self.slow[at] => 5_000..30_000,
            Event::Follow(_) => 20..1_500,
            Event::Publish(_) => 200..2_500,
            Event::Keep(_) => 10_000..30_000,
            Event::Tick => 500..2_500,
            _ => return None,
        };
        Some(self.rng.range(range))
    }

    fn again(&mut self, event: Event) {
        if let Some(after) = self.period(event) {
            self.queue.push(self.now() + after, event);
        }
    }

    fn happen(&mut self, event: Event) {
        let said = match event {
            Event::Commit(at) | Event::CommitLocally(at) | Event::Read(at) => {
                self.client(at, event)
            }
            Event::Follow(at) | Event::Publish(at) | Event::Keep(at) => self.work(at, event),
            Event::Tick => {
                self.engine.state().tick();
                None
            }
            Event::Fault if self.is_quiet => None,
            Event::Fault => Some(self.fault()),
            Event::Start(at) => Some(self.start(at)),
            Event::Power(at) => {
                self.engine.state().restart(at);
                Some("there again".to_owned())
            }
            Event::Whole => {
                self.engine.state().split(|_| 0);
                Some("no split any more".to_owned())
            }
            Event::Clear => {
                self.engine.state().loses = 0;
                Some("no call is lost any more".to_owned())
            }
            Event::Quick(at) => {
                self.slow[at] = false;
                Some("quick again".to_owned())
            }
        };
        if let Some(said) = said {
            self.trace.note(self.now(), format_args!("{event:?}: {said}"));
        }
        if let Some(at) = server_of(event) {
            self.look(at);
        }
        self.again(event);
    }

    fn client(&mut self, at: usize, event: Event) -> Option<String> {
        let is_lossless = !self.is_lazy();
        let running = self.servers[at].running()?;
        Some(match event {
            Event::Commit(_) => self.told.commit(running, &mut self.rng),
            Event::CommitLocally(_) => self.told.commit_locally(at, running, &mut self.rng),
            _ => self.told.read(running, is_lossless),
        })
    }

    fn work(&mut self, at: usize, event: Event) -> Option<String> {
        let running = self.servers[at].running()?;
        match event {
            Event::Follow(_) => {
                let (before, hash) = running.cluster.place();
                while running.cluster.follow_next() {}
                let status = running.cluster.status();
                if status.followed == before {
                    return None;
                }
                if let (Some(hash), None) = (hash, status.fault) {
                    let is_linked = self.engine.state().follows(at, before, &hash);
                    assert!(is_linked, "s{at} goes on from a {before} that the log has not");
                }
                Some(format!("{before} to {}", status.followed))
            }
            Event::Keep(_) => {
                let before = running.cluster.status().checkpoint;
                running.cluster.keep_if_due();
                let now = running.cluster.status().checkpoint;
                (now != before).then(|| format!("a checkpoint at {now}"))
            }
            _ => match &running.local {
                Some(local) => publish(local),
                None => {
                    self.servers[at].open_outbox();
                    Some("an outbox is opened".to_owned())
                }
            },
        }
    }

    pub fn start(&mut self, at: usize) -> String {
        if self.servers[at].running().is_some() {
            return "it is there already".to_owned();
        }
        self.looked_at[at] = None;
        match self.servers[at].start(&self.engine) {
            Ok(()) => {
                let place = self.servers[at].running().map(|running| running.cluster.place().0);
                format!("at message {}", place.unwrap_or_default())
            }
            Err(Absent::Later) => self.start_later(at),
            // A leader that is none any more says so of what it has not heard of.
            Err(Absent::Refused(JoinError::Ahead { .. } | JoinError::NotEmpty { .. }))
                if !self.is_lazy() || !self.is_quiet =>
            {
                self.start_later(at)
            }
            Err(absent) => {
                let why = format!("{absent:?}");
                self.refuse(at, &why);
                why
            }
        }
    }

    fn start_later(&mut self, at: usize) -> String {
        let after = self.rng.range(500..5_000);
        self.queue.push(self.now() + after, Event::Start(at));
        "the engine is away".to_owned()
    }

    fn is_lazy(&self) -> bool {
        self.engine.state().is_lazy
    }

    /// A server has noticed that the log is not what it was: only a lazy engine may have lost it.
    fn refuse(&mut self, at: usize, why: &str) {
        assert!(self.is_lazy(), "s{at}: {why}");
        self.refusing[at] = true;
    }

    /// Looks whether a server is well, and has what others have that have followed as much.
    fn look(&mut self, at: usize) {
        let Some(running) = self.servers[at].running() else { return };
        if let Some(fault) = running.cluster.status().fault {
            match &*fault {
                // Whoever runs it starts it again.
                fault if fault.is_passing() => {
                    self.servers[at].stop();
                    let after = self.rng.range(1_000..20_000);
                    self.queue.push(self.now() + after, Event::Start(at));
                }
                fault if !self.refusing[at] => self.refuse(at, &format!("{fault:?}")),
                _ => return,
            }
            self.trace.note(self.now(), format_args!("s{at}: {fault}"));
            return;
        }
        let (sequence, Some(hash)) = running.cluster.place() else { return };
        if self.looked_at[at].replace(hash) == Some(hash) {
            return;
        }
        let has = portrait(&running.jungle);
        let is_same = *self.portraits.entry(hash).or_insert_with(|| has.clone()) == has;
        assert!(is_same, "s{at} has something else at {sequence}: {has}");
    }

    /// Nothing goes wrong any more.
    fn calm(&mut self) {
        self.is_quiet = true;
        let mut state = self.engine.state();
        state.split(|_| 0);
        state.loses = 0;
        (0..state.replica_count()).for_each(|at| state.restart(at));
        drop(state);
        self.slow.fill(false);
        for at in 0..self.servers.len() {
            if self.servers[at].running().is_none() && !self.refusing[at] {
                self.queue.push(self.now(), Event::Start(at));
            }
        }
        self.trace.note(self.now(), format_args!("quiet"));
    }

    /// Has every server all, and published all?
    fn is_at_rest(&self) -> bool {
        let state = self.engine.state();
        let Some(leader) = state.leader() else { return false };
        let (_, last) = state.bounds(leader);
        drop(state);
        self.servers.iter().all(|server| {
            let Some(running) = server.running() else { return false };
            let local = running.local.as_ref();
            running.cluster.place().0 == last
                && local.is_some_and(|local| local.status().pending == 0)
        })
    }

    fn finish(&mut self) {
        let (is_lazy, has_lost) = {
            let state = self.engine.state();
            (state.is_lazy, state.has_lost())
        };
        assert!(is_lazy || !has_lost, "the simulated engine has lost something");
        self.trace.note(self.now(), format_args!("{} reads, lost: {has_lost}", self.told.reads));
        if has_lost || self.refusing.contains(&true) {
            // What can be wrong then was looked at as it happened.
            return;
        }
        assert!(self.is_at_rest(), "seed {}: no rest at {} ms", self.seed, self.now());
        let looked_at = self.seed as usize % self.servers.len();
        let running = self.servers[looked_at].running().expect("it is at rest");
        check::all(&self.told, &self.servers, running);
        let portraits: Vec<String> = self
            .servers
            .iter()
            .filter_map(|server| Some(portrait(&server.running()?.jungle)))
            .collect();
        assert!(portraits.windows(2).all(|pair| pair[0] == pair[1]), "{portraits:#?}");
        self.trace.note(self.now(), format_args!("{}", portraits[0]));
    }
}

fn server_of(event: Event) -> Option<usize> {
    match event {
        Event::Commit(at) | Event::CommitLocally(at) | Event::Read(at) => Some(at),
        Event::Follow(at) | Event::Publish(at) | Event::Keep(at) | Event::Start(at) => Some(at),
        _ => None,
    }
}

/// Publishes all that can be.
fn publish(local: &Local) -> Option<String> {
    let mut published = 0;
    let failed = loop {
        match local.publish_next() {
            Ok(Some(_)) => published += 1,
            Ok(None) => break None,
            // What has panicked is told as an error; here it is what is looked for.
            Err(LocalError::BrokenOff) => panic!("publishing has panicked"),
            Err(error) => break Some(error),
        }
    };
    match (published, failed) {
        (0, None) => None,
        (published, None) => Some(format!("{published} published")),
        (published, Some(error)) => Some(format!("{published} published, then: {error}")),
    }
}
