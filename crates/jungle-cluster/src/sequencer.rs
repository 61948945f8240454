//! Giving commits their places in the log.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jungle_db::{CommitRecord, JournalError, Revision, SequenceError, Sequencer};

use crate::error::Fault;
use crate::follow::{Follower, branches_before};
use crate::log::{Appended, Log, LogError};
use crate::message;
use crate::planted::{Bug, is_awake};
use crate::turns::Turns;

/// Appends what one server commits.
pub(crate) struct Appender {
    log: Arc<dyn Log>,
    follower: Arc<Follower>,
    pub(crate) server: String,
    /// What it is known by in its messages.
    mark: String,
    within: Duration,
    /// Taken while a message is on its way. It knows up to which question the log is known to have
    /// been asked: one of our messages that was sent after that has its place.
    turns: Turns<u64>,
    /// How often it was asked whether the log has more than is here.
    asked: AtomicU64,
    /// So that no two messages without records are the same, which the engine would take for one.
    nonces: RandomState,
}

/// The server has left its cluster.
#[derive(Debug, thiserror::Error)]
#[error("this server has left its cluster")]
struct Left;

/// The server was started without the engine, and has not seen it yet.
#[derive(Debug, thiserror::Error)]
#[error("the engine has not been reached since this server was started")]
struct Away;

/// Others were first, and what they did could not be read in time.
#[derive(Debug, thiserror::Error)]
#[error("the log of the cluster has gone on, and what is new in it has not come here in time")]
struct CutOff;

pub(crate) fn next(revision: Revision) -> Revision {
    Revision::new(revision.number() + 1)
}

impl Appender {
    pub(crate) fn new(
        log: Arc<dyn Log>,
        follower: Arc<Follower>,
        server: &str,
        within: Duration,
    ) -> Appender {
        let (turns, asked) = (Turns::new(0), AtomicU64::new(0));
        let nonces = RandomState::new();
        // By hand, the same has to come out each time.
        let drawn = if follower.is_by_hand { 0 } else { nonces.hash_one(server) };
        let (server, mark) = (server.to_owned(), message::mark(server, drawn));
        follower.rotation.set_own(&mark);
        Appender { log, follower, server, mark, within, turns, asked, nonces }
    }

    /// Waits until all is here that was in the log when this was called, as a majority of those who
    /// keep it say: a message from here that was sent after that has its place, if need be one
    /// without anything in it. All who ask meanwhile have one together.
    pub(crate) fn prove(&self, within: Duration) -> Result<(), LogError> {
        let deadline = Instant::now() + within;
        let late = || LogError::NoAnswer { within, last: None };
        let question = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        loop {
            let mut proven = self.turns.take_before(deadline).ok_or_else(late)?;
            if *proven >= question {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            let covered = self.asked.load(Ordering::SeqCst);
            let (after, message) = self.empty(covered).ok_or_else(late)?;
            match self.log.append(after, &message, left)? {
                Appended::At(sequence) => {
                    *proven = covered;
                    let followed = self.follower.follow_own(sequence, &message, &[]);
                    return followed.map_err(|_| late());
                }
                Appended::Behind => {
                    drop(proven);
                    if !self.follower.wait_past(after, left) {
                        return Err(late());
                    }
                }
            }
        }
    }

    /// A message without anything in it, and the one that it comes after. `None` when nothing is
    /// followed any more.
    fn empty(&self, covered: u64) -> Option<(u64, Bytes)> {
        let place = self.follower.place();
        let jungle = place.jungle.as_ref().filter(|_| place.fault.is_none() && place.is_placed)?;
        let previous = place.hash.unwrap_or_default();
        let nonce = self.nonces.hash_one((covered, place.sequence));
        let first = next(jungle.revision());
        Some((place.sequence, message::write_empty(&previous, first, &self.mark, nonce)))
    }

    /// A message of as many of the records as fit in, and the one that it comes after; `None` when
    /// others came first.
    fn message(&self, records: &[CommitRecord]) -> Result<Option<Sent>, SequenceError> {
        let mut encoded = Vec::with_capacity(records.len());
        for record in records {
            let mut bytes = Vec::new();
            jungle_store::encode(record, &mut bytes).map_err(refused)?;
            encoded.push(bytes);
        }
        let place = self.follower.place();
        if let Some(fault) = &place.fault {
            return Err(refused(Arc::<Fault>::clone(fault)));
        }
        let jungle = place.jungle.as_ref().ok_or_else(|| refused(Left))?;
        if !place.is_placed {
            return Err(refused(Away));
        }
        let first = records[0].revision;
        if first != next(jungle.revision()) {
            return Ok(None);
        }
        let before = branches_before(jungle, records);
        let previous = place.hash.unwrap_or_default();
        let (bytes, count) = message::write(&previous, first, &self.mark, &before, &encoded);
        Ok(Some(Sent { after: place.sequence, bytes, count }))
    }
}

/// A message on its way.
struct Sent {
    after: u64,
    bytes: Bytes,
    /// How many records are in it.
    count: usize,
}

impl Sequencer for Appender {
    fn await_turn(&self) {
        self.follower.rotation.wait(|| self.log.wait_in_line(&self.mark));
    }

    fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
        let mut proven = self.turns.take();
        let covered = self.asked.load(Ordering::SeqCst);
        let Some(Sent { after, bytes, count }) = self.message(records)? else { return Ok(0) };
        match self.log.append(after, &bytes, self.within) {
            Ok(Appended::At(sequence)) => {
                *proven = covered;
                let followed = self.follower.follow_own(sequence, &bytes, &records[..count]);
                // It is in the log; that it cannot be followed here is another matter.
                followed.map_err(undecided)?;
                Ok(count)
            }
            Ok(Appended::Behind) => {
                drop(proven);
                self.log.wait_in_line(&self.mark);
                let is_here = self.follower.wait_past(after, self.within);
                if is_here { Ok(0) } else { Err(refused(CutOff)) }
            }
            Err(error @ LogError::Refused { .. }) => Err(refused(error)),
            Err(error) if is_awake(Bug::UnknownIsRefused) => Err(refused(error)),
            Err(error) => Err(undecided(error)),
        }
    }
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> SequenceError {
    SequenceError::Refused(JournalError::new(error))
}

fn undecided(error: impl std::error::Error + Send + Sync + 'static) -> SequenceError {
    SequenceError::Undecided(JournalError::new(error))
}
