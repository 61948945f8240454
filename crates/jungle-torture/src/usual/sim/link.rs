//! One server's connection to the simulated engine.

use std::io::Cursor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{
    Appended, Cluster, Depot, Log, LogError, LogId, Stored, Tail, WriteCheckpoint,
};

use super::engine::{Engine, State};

/// How long a claim to write a checkpoint lasts.
const CLAIM_MS: u64 = 180_000;

pub struct Link {
    engine: Arc<Engine>,
    server: usize,
    /// The server it is of, once it has joined: what it follows while it waits for an answer.
    cluster: OnceLock<Weak<Cluster>>,
    is_closed: Arc<AtomicBool>,
}

impl Link {
    pub fn new(engine: &Arc<Engine>, server: usize) -> Arc<Link> {
        let (engine, cluster, is_closed) = (Arc::clone(engine), OnceLock::new(), Arc::default());
        Arc::new(Link { engine, server, cluster, is_closed })
    }

    pub fn is_of(&self, cluster: &Arc<Cluster>) {
        self.cluster.get_or_init(|| Arc::downgrade(cluster));
    }

    /// Asks the leader, if it can be reached, and hears of the answer, unless that is lost.
    fn ask<T>(&self, ask: impl FnOnce(&mut State, usize) -> T) -> Result<T, LogError> {
        let mut state = self.engine.state();
        let leader = state.leader_of(self.server);
        let (Some(leader), false) = (leader, state.is_unlucky()) else {
            return Err(no_answer(Duration::ZERO));
        };
        let answer = ask(&mut state, leader);
        if state.is_unlucky() { Err(no_answer(Duration::ZERO)) } else { Ok(answer) }
    }

    /// As [`ask`](Link::ask), of a leader that a majority follows.
    fn change<T>(&self, change: impl FnOnce(&mut State, usize) -> T) -> Result<T, LogError> {
        let changed =
            self.ask(|state, leader| state.has_majority(leader).then(|| change(state, leader)));
        changed?.ok_or_else(|| no_answer(Duration::ZERO))
    }

    fn send(&self, after: u64, message: &Bytes) -> Option<Appended> {
        let mut state = self.engine.state();
        if state.is_unlucky() {
            if state.rng.chance(1, 2) {
                state.delay(self.server, after, message);
            }
            return None;
        }
        let answer = state.append(self.server, after, message);
        if state.is_unlucky() {
            // The same again.
            state.delay(self.server, after, message);
        }
        if state.is_unlucky() { None } else { answer }
    }
}

fn no_answer(within: Duration) -> LogError {
    LogError::NoAnswer { within, last: None }
}

impl Log for Link {
    fn id(&self) -> LogId {
        self.engine.id
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        let answer = self.send(after, message);
        let mut state = self.engine.state();
        // The log may be quicker than the answer; who is behind has to hear by how much in time.
        let is_quick = match answer {
            Some(Appended::Behind) => state.rng.chance(7, 8),
            _ => state.rng.chance(1, 4),
        };
        drop(state);
        let cluster = self.cluster.get().and_then(Weak::upgrade).filter(|_| is_quick);
        if let Some(cluster) = cluster {
            while cluster.follow_next() {}
        }
        answer.ok_or_else(|| no_answer(within))
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.ask(|state, leader| {
            let is_there = sequence >= state.bounds(leader).0;
            state.message(leader, sequence).filter(|_| is_there).cloned()
        })
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        self.ask(|state, leader| state.bounds(leader))
    }

    /// It gives `None` while there is nothing.
    fn tail(&self, from: u64) -> Tail {
        let (engine, closed) = (Arc::clone(&self.engine), Arc::clone(&self.is_closed));
        let (server, mut next) = (self.server, from);
        Box::new(std::iter::from_fn(move || {
            if closed.load(Ordering::SeqCst) {
                return None;
            }
            let found = engine.state().read(server, next)?;
            next = found.0 + 1;
            Some(found)
        }))
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    fn depot(&self) -> Option<&dyn Depot> {
        Some(self)
    }
}

impl Depot for Link {
    fn stored(&self) -> Result<Vec<u64>, LogError> {
        self.ask(|state, _| state.checkpoints.keys().rev().copied().collect())
    }

    fn put(&self, sequence: u64, write: WriteCheckpoint<'_>) -> Result<(), LogError> {
        let mut bytes = Vec::new();
        write(&mut bytes)
            .map_err(|error| LogError::Checkpoint { sequence, source: error.into() })?;
        self.change(|state, _| drop(state.checkpoints.insert(sequence, bytes)))
    }

    fn open(&self, sequence: u64) -> Result<Stored, LogError> {
        let found = self.ask(|state, _| state.checkpoints.get(&sequence).cloned())?;
        let source = "it is not there".into();
        let bytes = found.ok_or(LogError::Checkpoint { sequence, source })?;
        Ok(Stored { bytes: bytes.len() as u64, content: Box::new(Cursor::new(bytes)) })
    }

    fn remove(&self, sequence: u64) -> Result<(), LogError> {
        self.change(|state, _| drop(state.checkpoints.remove(&sequence)))
    }

    fn trim(&self, sequence: u64) -> Result<(), LogError> {
        self.change(|state, leader| state.trim(leader, sequence))
    }

    fn claim(&self, _: &str) -> Result<bool, LogError> {
        self.change(|state, _| {
            let is_free = state.claimed_until <= state.now;
            if is_free {
                state.claimed_until = state.now + CLAIM_MS;
            }
            is_free
        })
    }

    /// Who does not hear of it waits until the claim fades.
    fn release(&self) {
        let _ = self.change(|state, _| state.claimed_until = 0);
    }
}
