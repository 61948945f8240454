//! The engine, simulated: replicas of one log, as JetStream's are, of which one leads that a
//! majority has chosen. What a majority has is acknowledged and never lost, unless the replicas are
//! lazy: then each loses what it has not synced when its power goes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jungle_cluster::{Appended, LogId};
use jungle_testkit::Rng;

/// How often lazy replicas sync, as the engine's do by default.
const SYNCED_EVERY: u64 = 120_000;

/// What every server sees through a connection of its own.
pub struct Engine {
    pub id: LogId,
    state: Mutex<State>,
}

pub struct State {
    /// Milliseconds of simulated time.
    pub now: u64,
    pub rng: Rng,
    pub is_lazy: bool,
    /// Of so many calls one does not come, or its answer does not; 0: all do.
    pub loses: u64,
    replicas: Vec<Replica>,
    /// Those that are on one side reach each other: the replicas, and behind them the servers.
    sides: Vec<u64>,
    /// From which replica a server gets what is new.
    attached: Vec<usize>,
    /// What is on its way for long, and comes yet.
    late: Vec<Sent>,
    /// All that was acknowledged.
    acknowledged: BTreeMap<u64, Bytes>,
    /// Was one acknowledged in the place of another?
    has_other: bool,
    pub checkpoints: BTreeMap<u64, Vec<u8>>,
    /// How long the log was, and up to where it was removed then.
    trims: Vec<(usize, u64)>,
    pub claimed_until: u64,
    synced_at: u64,
}

#[derive(Default)]
struct Replica {
    is_up: bool,
    leads: bool,
    /// The newest term it knows of.
    term: u64,
    /// The term of the leader that it took its log from last.
    log_term: u64,
    entries: Vec<Entry>,
    /// So many of them outlast the loss of power.
    synced: usize,
    /// So many of them are known to be on a majority.
    committed: usize,
}

#[derive(Clone)]
struct Entry {
    term: u64,
    message: Bytes,
}

struct Sent {
    node: usize,
    after: u64,
    message: Bytes,
}

impl Engine {
    pub fn new(rng: Rng, replicas: usize, servers: usize, is_lazy: bool) -> Engine {
        let new = || Replica { is_up: true, ..Replica::default() };
        let state = State {
            now: 0,
            rng,
            is_lazy,
            loses: 0,
            replicas: (0..replicas).map(|_| new()).collect(),
            sides: vec![0; replicas + servers],
            attached: vec![0; servers],
            late: Vec::new(),
            acknowledged: BTreeMap::new(),
            has_other: false,
            checkpoints: BTreeMap::new(),
            trims: Vec::new(),
            claimed_until: 0,
            synced_at: 0,
        };
        Engine { id: LogId([7; 16]), state: Mutex::new(state) }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub fn replica_count(&self) -> usize {
        self.replicas.len()
    }

    fn majority(&self) -> usize {
        self.replicas.len() / 2 + 1
    }

    pub fn is_unlucky(&mut self) -> bool {
        self.loses > 0 && self.rng.below(self.loses) == 0
    }

    /// Puts everybody on the side that is told for them.
    pub fn split(&mut self, mut side: impl FnMut(usize) -> u64) {
        self.sides.iter_mut().enumerate().for_each(|(node, its)| *its = side(node));
    }

    /// The side of a server.
    fn side(&self, server: usize) -> u64 {
        self.sides[self.replicas.len() + server]
    }

    /// The replica that a server takes for the leader: one that was, if it reaches no other.
    pub fn leader_of(&self, server: usize) -> Option<usize> {
        let side = self.side(server);
        let there = (0..self.replicas.len()).filter(|&at| self.sides[at] == side);
        there.filter(|&at| self.replicas[at].leads).max_by_key(|&at| self.replicas[at].term)
    }

    /// The one that leads the others.
    pub fn leader(&self) -> Option<usize> {
        let leaders = (0..self.replicas.len()).filter(|&at| self.replicas[at].leads);
        leaders.max_by_key(|&at| self.replicas[at].term)
    }

    /// A message that has its place as far as the leader knows; also one that was removed.
    pub fn message(&self, leader: usize, sequence: u64) -> Option<&Bytes> {
        let replica = &self.replicas[leader];
        let entries = &replica.entries[..replica.committed];
        Some(&entries.get(sequence.checked_sub(1)? as usize)?.message)
    }

    /// The sequences of the oldest and the newest message, as a leader knows them.
    pub fn bounds(&self, leader: usize) -> (u64, u64) {
        (self.first(leader), self.replicas[leader].committed as u64)
    }

    /// The oldest message of a replica, which knows of what was removed while it had as much.
    fn first(&self, at: usize) -> u64 {
        let known = self.trims.iter().filter(|(then, _)| *then <= self.replicas[at].committed);
        known.map(|(_, up_to)| up_to + 1).max().unwrap_or(1)
    }

    pub fn trim(&mut self, leader: usize, up_to: u64) {
        self.trims.push((self.replicas[leader].committed, up_to));
    }

    /// Does a leader reach a majority, so that it can change anything?
    pub fn has_majority(&self, leader: usize) -> bool {
        let is_reached =
            |at: &usize| self.replicas[*at].is_up && self.sides[*at] == self.sides[leader];
        let count = (0..self.replicas.len()).filter(is_reached).count();
        count >= self.majority() && self.leader() == Some(leader)
    }

    /// Appends, if a leader is reached that reaches a majority; `None` when there is no answer.
    pub fn append(&mut self, server: usize, after: u64, message: &Bytes) -> Option<Appended> {
        self.step_down();
        let leader = self.leader_of(server)?;
        let place = after as usize;
        let replica = &mut self.replicas[leader];
        if replica.entries.len() != place {
            let is_decided = replica.committed > place || replica.entries.len() < place;
            let is_same = replica.entries.get(place).is_some_and(|it| it.message == *message);
            return match is_same {
                // What is under way has no answer yet, be it this one or another.
                _ if !is_decided => None,
                true => Some(self.acknowledge(after + 1, message)),
                false => Some(Appended::Behind),
            };
        }
        let term = replica.term;
        replica.entries.push(Entry { term, message: message.clone() });
        self.replicate(leader, false).then(|| self.acknowledge(after + 1, message))
    }

    fn acknowledge(&mut self, sequence: u64, message: &Bytes) -> Appended {
        let before = self.acknowledged.insert(sequence, message.clone());
        self.has_other |= before.is_some_and(|before| before != *message);
        Appended::At(sequence)
    }

    /// A message that comes later than whoever sent it waits.
    pub fn delay(&mut self, node: usize, after: u64, message: &Bytes) {
        self.late.push(Sent { node, after, message: message.clone() });
    }

    /// What is new for a server that has followed all before `next`.
    pub fn read(&mut self, server: usize, next: u64) -> Option<(u64, Bytes)> {
        let side = self.side(server);
        let is_there =
            |state: &State, at: usize| state.replicas[at].is_up && state.sides[at] == side;
        if !is_there(self, self.attached[server]) {
            let there: Vec<usize> =
                (0..self.replicas.len()).filter(|&at| is_there(self, at)).collect();
            if there.is_empty() {
                return None;
            }
            self.attached[server] = *self.rng.pick(&there);
        }
        let first = self.first(self.attached[server]);
        let mut at = next.max(first);
        let committed = self.replicas[self.attached[server]].committed as u64;
        if at <= committed && self.is_unlucky() {
            // One that came before comes again, or one is left out.
            match self.rng.chance(1, 2) {
                true if at > first => at -= 1,
                _ if at < committed => at += 1,
                _ => {}
            }
        }
        Some((at, self.message(self.attached[server], at)?.clone()))
    }

    /// Was what a server reads behind a message written behind one that ends with this hash?
    pub fn follows(&self, server: usize, sequence: u64, hash: &[u8]) -> bool {
        /// Where a message has the hash of the one before.
        const PREVIOUS: std::ops::Range<usize> = 4..36;
        let next = self.message(self.attached[server], sequence + 1);
        next.is_some_and(|next| next.get(PREVIOUS) == Some(hash))
    }

    /// What the engine does by itself.
    pub fn tick(&mut self) {
        self.step_down();
        let mut sides: Vec<u64> = self.sides[..self.replicas.len()].to_vec();
        sides.sort_unstable();
        sides.dedup();
        for side in sides {
            let here = |at: &usize| self.replicas[*at].is_up && self.sides[*at] == side;
            let group: Vec<usize> = (0..self.replicas.len()).filter(here).collect();
            match group.iter().find(|&&at| self.replicas[at].leads) {
                Some(&leader) => drop(self.replicate(leader, true)),
                None if group.len() >= self.majority() && self.rng.chance(1, 2) => {
                    self.elect(&group);
                }
                None => {}
            }
        }
        for Sent { node, after, message } in std::mem::take(&mut self.late) {
            match self.rng.chance(1, 2) {
                true => drop(self.append(node, after, &message)),
                false => self.late.push(Sent { node, after, message }),
            }
        }
        if self.now >= self.synced_at + SYNCED_EVERY {
            self.synced_at = self.now;
            self.replicas.iter_mut().for_each(|replica| replica.synced = replica.entries.len());
        }
    }

    /// Nobody leads who hears of a later term.
    fn step_down(&mut self) {
        for at in 0..self.replicas.len() {
            let its = self.sides[at];
            let others = self.replicas.iter().zip(&self.sides);
            let newest = others.filter(|(it, side)| it.is_up && **side == its);
            let newest = newest.map(|(it, _)| it.term).max().unwrap_or_default();
            let replica = &mut self.replicas[at];
            replica.leads &= replica.term >= newest;
        }
    }

    /// Makes one the leader that has all that a majority of those who choose has.
    fn elect(&mut self, group: &[usize]) {
        let newest = |at: usize| (self.replicas[at].log_term, self.replicas[at].entries.len());
        let votes = |at: usize| group.iter().filter(|&&voter| newest(voter) <= newest(at)).count();
        let fit: Vec<usize> =
            group.iter().copied().filter(|&at| votes(at) >= self.majority()).collect();
        let term = group.iter().map(|&at| self.replicas[at].term).max().unwrap_or_default() + 1;
        group.iter().for_each(|&at| self.replicas[at].term = term);
        let leader = *self.rng.pick(&fit);
        let replica = &mut self.replicas[leader];
        (replica.leads, replica.log_term) = (true, term);
        let length = replica.entries.len();
        self.trims.retain(|&(then, _)| then <= length);
        self.replicate(leader, true);
    }

    /// Sends what a leader has to those whom it reaches; tells whether a majority has it then. Some
    /// get it later, unless all are to have it.
    fn replicate(&mut self, leader: usize, to_all: bool) -> bool {
        let is_reached = |&at: &usize| {
            at != leader && self.replicas[at].is_up && self.sides[at] == self.sides[leader]
        };
        let mut reached: Vec<usize> = (0..self.replicas.len()).filter(is_reached).collect();
        self.rng.shuffle(&mut reached);
        let mut have = vec![leader];
        for at in reached {
            if to_all || have.len() < self.majority() || self.rng.chance(3, 4) {
                self.copy(leader, at);
                have.push(at);
            }
        }
        let length = self.replicas[leader].entries.len();
        if !self.is_lazy {
            have.iter().for_each(|&at| self.replicas[at].synced = length);
        }
        let is_majority = have.len() >= self.majority();
        if is_majority {
            have.iter().for_each(|&at| self.replicas[at].committed = length);
        }
        is_majority
    }

    fn copy(&mut self, leader: usize, follower: usize) {
        let Ok([from, to]) = self.replicas.get_disjoint_mut([leader, follower]) else { return };
        let mut same = from.entries.len().min(to.entries.len());
        while same > 0 && from.entries[same - 1].term != to.entries[same - 1].term {
            same -= 1;
        }
        assert!(self.is_lazy || same >= to.committed, "the simulated engine keeps its promise");
        to.entries.truncate(same);
        to.entries.extend_from_slice(&from.entries[same..]);
        to.synced = to.synced.min(same);
        to.committed = to.committed.min(same);
        (to.term, to.log_term, to.leads) = (from.term, from.log_term, false);
    }

    /// A replica loses its power.
    pub fn fail(&mut self, at: usize) {
        let replica = &mut self.replicas[at];
        (replica.is_up, replica.leads) = (false, false);
        let unsynced = replica.entries.len() - replica.synced.min(replica.entries.len());
        let kept = replica.entries.len() - self.rng.below(unsynced as u64 + 1) as usize;
        if kept < replica.entries.len() {
            replica.entries.truncate(kept);
            replica.committed = replica.committed.min(kept);
            if self.is_lazy {
                replica.log_term = replica.entries.last().map_or(0, |last| last.term);
            }
        }
    }

    pub fn restart(&mut self, at: usize) {
        self.replicas[at].is_up = true;
    }

    /// Was something lost that had been acknowledged?
    pub fn has_lost(&self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let mut acknowledged = self.acknowledged.iter();
        self.has_other || acknowledged.any(|(&at, sent)| self.message(leader, at) != Some(sent))
    }
}
