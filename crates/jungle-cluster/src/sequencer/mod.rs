//! Giving commits their places in the log.

pub(crate) mod clock;
pub(crate) mod guests;
pub(crate) mod rotation;
pub(crate) mod turns;

mod hosting;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jungle_db::{
    CommitRecord, JournalError, Places, Revision, SequenceError, Sequencer, Timestamp,
};
use jungle_tree::loading;

use crate::engine::log::{Appended, Log, LogError};
use crate::error::Fault;
use crate::follow::{Follower, Place, branches_before};
use crate::message::{self, Carried};
use crate::planted::{Bug, is_awake};
use crate::sequencer::clock::HeldClock;
use crate::sequencer::turns::Turns;

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
    /// How many wait for a turn, to append something of this server.
    wanting: AtomicUsize,
    /// When this server's own records got their places, and how long that took.
    appended: Mutex<(Option<Instant>, Duration)>,
    /// How often it was asked whether the log has more than is here.
    asked: AtomicU64,
    /// How often the log had another leader, when it was known last to be the one that is followed.
    leaders: AtomicU64,
    /// So that no two messages without records are the same, which the engine would take for one.
    nonces: RandomState,
    /// What was drawn as it joined.
    drawn: u64,
    /// Do all servers read what guests are in?
    has_guests: AtomicBool,
    /// How many batches were sent to hosts.
    visits: AtomicU64,
    clock: HeldClock,
}

/// Guests are waited for no longer than this.
const GATHER_MAX: Duration = Duration::from_millis(5);

/// So long it is asked before an append whether the log is still what was followed; and behind one
/// at least.
const LINK_WITHIN: Duration = Duration::from_secs(2);

/// So often records are sent again behind messages that have nothing in them.
const REWRAPPED_MAX: usize = 16;

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
        let leaders = AtomicU64::new(log.leaders());
        let nonces = RandomState::new();
        // By hand, the same has to come out each time.
        let drawn = if follower.is_by_hand { 0 } else { nonces.hash_one(server) };
        let (server, mark) = (server.to_owned(), message::mark(server, drawn));
        follower.rotation.set_own(&mark);
        follower.guests.set_own(&mark);
        let (has_guests, visits) = (AtomicBool::new(false), AtomicU64::new(0));
        Appender {
            log,
            follower,
            server,
            mark,
            within,
            turns,
            wanting: AtomicUsize::new(0),
            appended: Mutex::default(),
            asked,
            leaders,
            nonces,
            drawn,
            has_guests,
            visits,
            clock: HeldClock::default(),
        }
    }

    /// Waits until all is here that was in the log when this was called, as a majority of those who
    /// keep it say: a message from here that was sent after that has its place, if need be one
    /// without anything in it. All who ask meanwhile have one together.
    pub(crate) fn prove(&self, within: Duration) -> Result<(), LogError> {
        let deadline = Instant::now() + within;
        let late = || self.follower.late(within);
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
            self.look_before(after, &message)?;
            match self.append_behind(after, &message, left)? {
                Appended::At(sequence) => {
                    *proven = covered;
                    let followed = self.follow_own(sequence, &message, &[], &[]);
                    return followed.map_err(LogError::Ended);
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

    /// As [`prove`](Appender::prove), as long as a commit is waited for: behind that nothing gets a
    /// place any more that was sent from here before.
    pub(crate) fn settle(&self) -> Result<(), LogError> {
        self.prove(self.within)
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

    /// A message of as many of the records as fit in, of what guests have, and the one that it
    /// comes after; `None` when others came first, or there is nothing.
    fn message(&self, records: Records<'_>) -> Result<Option<Sent>, SequenceError> {
        let (Records::Next(next_ones) | Records::Anywhere(next_ones)) = records;
        let mut encoded = encode(next_ones)?;
        encoded.truncate(message::fitting(&encoded));
        let place = self.follower.place();
        let jungle = self.jungle(&place)?;
        let first = next(jungle.revision());
        let (own, anywhere) = match records {
            Records::Next([]) => Default::default(),
            Records::Next(own) | Records::Anywhere(own) if own[0].revision == first => {
                (&own[..encoded.len()], &[][..])
            }
            Records::Next(_) => return Ok(None),
            Records::Anywhere(own) => {
                encoded.clear();
                (&[][..], own)
            }
        };
        let hosted = self.follower.guests.host_all(jungle, own, &encoded, anywhere);
        let (carried, own_count) = (hosted.carried, own.len() + hosted.own);
        let records = [own, &hosted.records].concat();
        if records.is_empty() {
            return Ok(None);
        }
        encoded.extend(hosted.encoded);
        let before = branches_before(jungle, &records);
        let previous = place.hash.unwrap_or_default();
        let bytes = message::write(&previous, first, &self.mark, &before, &encoded, &carried);
        let places = Places { count: own_count, first };
        Ok(Some(Sent { after: place.sequence, bytes, records, places, carried }))
    }

    /// The Jungle, if commits are taken.
    fn jungle<'p>(&self, place: &'p Place) -> Result<&'p jungle_db::Jungle, SequenceError> {
        if let Some(fault) = &place.fault {
            return Err(refused(Arc::<Fault>::clone(fault)));
        }
        let jungle = place.jungle.as_ref().ok_or_else(|| refused(Left))?;
        if place.is_placed { Ok(jungle) } else { Err(refused(Away)) }
    }

    /// Appends records of this server, and what guests have; tells which of its own have places.
    fn append(&self, records: Records<'_>) -> Result<Places, SequenceError> {
        self.wanting.fetch_add(1, Ordering::SeqCst);
        let mut proven = self.turns.take();
        self.wanting.fetch_sub(1, Ordering::SeqCst);
        let took = self.appended().1;
        self.follower.guests.gather(took);
        let begun = Instant::now();
        let placed = self.append_in_turn(records, &mut proven);
        let ended = Instant::now();
        let took = match &placed {
            Ok(places) if places.count > 0 => (ended - begun).min(GATHER_MAX),
            _ => took,
        };
        *self.appended() = (Some(ended), took);
        placed
    }

    fn appended(&self) -> MutexGuard<'_, (Option<Instant>, Duration)> {
        self.appended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_in_turn(
        &self,
        records: Records<'_>,
        proven: &mut u64,
    ) -> Result<Places, SequenceError> {
        let none = Places { count: 0, first: Revision::default() };
        for _ in 0..REWRAPPED_MAX {
            let covered = self.asked.load(Ordering::SeqCst);
            // What it is to say of the branches may have to be read first. Where that cannot be,
            // nothing was sent.
            let Some(sent) = loading(|| self.message(records)).map_err(refused)?? else { break };
            self.look_before(sent.after, &sent.bytes).map_err(refused)?;
            match self.append_behind(sent.after, &sent.bytes, self.within) {
                Ok(Appended::At(sequence)) => {
                    *proven = covered;
                    let Sent { bytes, records, carried, places, .. } = sent;
                    let followed = self.follow_own(sequence, &bytes, &records, &carried);
                    // It is in the log; that it cannot be followed here is another matter.
                    followed.map_err(undecided)?;
                    return Ok(places);
                }
                Ok(Appended::Behind) => {
                    self.log.wait_in_line(&self.mark);
                    if !self.follower.wait_past(sent.after, self.within) {
                        return Err(refused(CutOff));
                    }
                    if next(self.follower.place().revision()) != sent.places.first {
                        break;
                    }
                    // What came first has nothing in it: the same records have the next place.
                }
                // Only what is too long by itself makes a message that is.
                Err(error @ LogError::Refused { .. }) => {
                    return Err(SequenceError::TooLong(JournalError::new(error)));
                }
                Err(error) if is_awake(Bug::UnknownIsRefused) => return Err(refused(error)),
                Err(error) => return Err(undecided(error)),
            }
        }
        Ok(none)
    }

    /// Refuses to append to a log that has become [another one](Self::check_link). Where that is
    /// not known, the append waits for the engine, and it is looked at behind it.
    fn look_before(&self, after: u64, message: &Bytes) -> Result<(), LogError> {
        match self.check_link(after, message, LINK_WITHIN) {
            Err(error @ LogError::Ended(_)) => Err(error),
            _ => Ok(()),
        }
    }

    fn append_behind(
        &self,
        after: u64,
        message: &Bytes,
        within: Duration,
    ) -> Result<Appended, LogError> {
        let begun = Instant::now();
        let appended = self.log.append(after, message, within)?;
        if let Appended::At(_) = appended {
            // It may have become another one meanwhile. The engine may have no leader for longer
            // than is waited before an append.
            self.check_link(after, message, within.saturating_sub(begun.elapsed()))?;
        }
        Ok(appended)
    }

    /// Looks whether the log has what was followed, if it may have another leader since that was
    /// known. The engine compares where it ends only: one that has lost its end may have as many
    /// messages again. That it has another leader may have been told late, when more was written
    /// behind those, here and elsewhere: so some before the newest one are looked at, too.
    fn check_link(&self, after: u64, message: &Bytes, within: Duration) -> Result<(), LogError> {
        let leaders = self.log.leaders();
        if leaders == self.leaders.load(Ordering::SeqCst) {
            return Ok(());
        }
        let before = self.follower.place().before(after);
        let deadline = Instant::now() + within;
        let look = |sequence: u64| {
            let rest = deadline.saturating_duration_since(Instant::now());
            let found = self.log.get_within(sequence, rest.max(LINK_WITHIN))?;
            Ok::<_, LogError>(found.filter(|found| message::is_whole(found)))
        };
        match look(after)? {
            Some(found) if message::is_behind(message, &found) => {}
            Some(_) => return self.unlinked(after),
            // The next message is looked at instead.
            None => return Ok(()),
        }
        // However long the first answer took.
        let begun = Instant::now();
        for (sequence, hash) in before {
            if begun.elapsed() > LINK_WITHIN {
                break;
            }
            if look(sequence)?.is_some_and(|found| message::hash_of(&found) != hash) {
                return self.unlinked(sequence);
            }
        }
        self.leaders.store(leaders, Ordering::SeqCst);
        Ok(())
    }

    fn unlinked(&self, sequence: u64) -> Result<(), LogError> {
        self.follower.fail(Fault::Unlinked { sequence }).map_err(LogError::Ended)
    }

    fn follow_own(
        &self,
        sequence: u64,
        message: &[u8],
        records: &[CommitRecord],
        taken: &[Carried],
    ) -> Result<(), Arc<Fault>> {
        self.follower.follow_own(sequence, message, records, (&self.mark, taken))
    }
}

fn encode(records: &[CommitRecord]) -> Result<Vec<Vec<u8>>, SequenceError> {
    let encode = |record| {
        let mut bytes = Vec::new();
        jungle_store::encode(record, &mut bytes).map_err(refused)?;
        Ok(bytes)
    };
    records.iter().map(encode).collect()
}

/// What a server has to append.
#[derive(Clone, Copy)]
enum Records<'r> {
    /// They are the next revisions, or nothing.
    Next(&'r [CommitRecord]),
    /// They [stand anywhere](Sequencer::sequence_anywhere).
    Anywhere(&'r [CommitRecord]),
}

/// A message on its way.
struct Sent {
    after: u64,
    bytes: Bytes,
    records: Vec<CommitRecord>,
    /// Where this server's own have their places.
    places: Places,
    carried: Vec<Carried>,
}

impl Sequencer for Appender {
    fn await_turn(&self) {
        // Who is taken along by another one is in nobody's way.
        if self.host().is_none() {
            self.follower.rotation.wait(|| self.log.wait_in_line(&self.mark));
        }
    }

    fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
        Ok(self.append(Records::Next(records))?.count)
    }

    fn sequence_anywhere(&self, records: &[CommitRecord]) -> Result<Places, SequenceError> {
        if let Some(placed) = self.visit(records) {
            return placed;
        }
        self.append(Records::Anywhere(records))
    }

    fn time(&self, clock: Timestamp) -> Timestamp {
        self.clock.time(clock, self.log.time())
    }

    /// Where others append, too.
    fn signs_as(&self) -> Option<u64> {
        self.host().map(|_| self.drawn >> 32)
    }
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> SequenceError {
    SequenceError::Refused(JournalError::new(error))
}

fn undecided(error: impl std::error::Error + Send + Sync + 'static) -> SequenceError {
    SequenceError::Undecided(JournalError::new(error))
}
