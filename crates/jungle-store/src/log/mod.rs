//! The log: takes records in, and makes them last, many at a time.
//!
//! *Group commit* without a thread of its own: records gather in memory; the first who waits for
//! one of them, while nobody else writes, becomes the *leader*. It takes all that has gathered,
//! writes it as one frame, syncs once, and wakes those whose records were in it, and one of those
//! whose records gathered meanwhile, to lead next. A single client so pays one write and one sync
//! a commit and no hand-over; many share.
//!
//! After a failed write or sync nothing is acknowledged any more, and nothing tried again: what
//! the disk holds then is found out by opening it. `sync.rs` tells why nothing is lost that was
//! acknowledged.

pub(crate) mod frame;
mod gather;
mod lead;
pub(crate) mod mark;
pub(crate) mod recover;
pub(crate) mod segment;
mod sync;
pub(crate) mod walk;
pub(crate) mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use jungle_db::{CommitRecord, Durability, Revision};

use self::frame::{FRAME_BYTES_MAX, FRAME_HEADER};
use self::gather::Expected;
use self::mark::Mark;
use self::sync::Syncs;
pub(crate) use self::writer::LogPosition;
use self::writer::{LogStats, Next, Writer};
use crate::disk::{Disk, DiskFile};
use crate::error::LogError;
use crate::planted::{Bug, is_awake};
use crate::record;
use crate::wire::put_bytes;

/// When so much has gathered in memory, it is written although nobody asked for it.
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// When so much is written and not synced, it is synced ahead: then one sync more costs less than
/// to keep all others waiting for it.
const AHEAD_BYTES_MIN: u64 = 64 << 10;

/// A buffer longer than this is not kept for the next group.
const SPARE_BYTES_MAX: usize = 1 << 20;

pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
    /// Those who wait for a group of even, and of odd number: only one of each is under way.
    wake: [Condvar; 2],
    next: Next,
    /// How long it is.
    bytes: AtomicU64,
    /// How many have asked for a sync. Whoever leads looks at it without the lock, and only waits
    /// by it: so `Relaxed` will do.
    asked: AtomicU64,
    syncs: Syncs,
    /// `LOCK`, until the log is closed.
    lock: Mutex<Option<Box<dyn DiskFile>>>,
}

struct State {
    phase: Phase,
    /// Nobody has it but the leader, while there is one.
    writer: Option<Writer>,
    gathering: Group,
    /// A buffer to gather the next group in, and one to encode a record in.
    spare: Vec<u8>,
    scratch: Vec<u8>,
    appended: u64,
    written: u64,
    durable: u64,
    /// Where the last turn ended.
    position: LogPosition,
    /// How much of the log is synced, by a leader or ahead.
    synced_bytes: u64,
    /// How many wait for the write only, and how many for the sync.
    waiting: [u64; 2],
    /// How many had asked for a sync when the last one was begun.
    asked_before: u64,
    /// Who is likely to ask for the next one.
    expected: Expected,
    /// Does a leader wait for them?
    is_expecting: bool,
    stats: LogStats,
}

enum Phase {
    Open,
    /// What was appended is still written; nothing more is taken.
    Closing,
    Over(LogError),
}

impl Phase {
    /// Does nobody give the writer back any more?
    fn is_without_writer(&self) -> bool {
        matches!(self, Phase::Over(LogError::Broken | LogError::Closed | LogError::ReadOnly))
    }
}

/// Records that are written together.
struct Group {
    number: usize,
    /// The revision of the first record, if there is one.
    first: u64,
    /// Room for the header of the frame, and the records.
    frame: Vec<u8>,
}

impl Group {
    fn new(number: usize, first: u64, mut frame: Vec<u8>) -> Group {
        frame.clear();
        frame.resize(FRAME_HEADER, 0);
        Group { number, first, frame }
    }

    fn is_empty(&self) -> bool {
        self.frame.len() == FRAME_HEADER
    }
}

impl Log {
    /// A log whose newest revision is this one. Without a writer it takes nothing.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        lock: Box<dyn DiskFile>,
        writer: Option<Writer>,
        revision: u64,
    ) -> Log {
        let phase = if writer.is_some() { Phase::Open } else { Phase::Over(LogError::ReadOnly) };
        let position = writer.as_ref().map(Writer::position).unwrap_or_default();
        let bytes = AtomicU64::new(position.bytes);
        let state = State {
            phase,
            position,
            synced_bytes: position.bytes,
            writer,
            gathering: Group::new(1, revision + 1, Vec::new()),
            spare: Vec::new(),
            scratch: Vec::new(),
            appended: revision,
            written: revision,
            durable: revision,
            waiting: [0; 2],
            asked_before: 0,
            expected: Expected::default(),
            is_expecting: false,
            stats: LogStats::default(),
        };
        Log {
            disk,
            state: Mutex::new(state),
            wake: Default::default(),
            next: Next::default(),
            bytes,
            asked: AtomicU64::new(0),
            syncs: Syncs::default(),
            lock: Mutex::new(Some(lock)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stats(&self) -> LogStats {
        self.lock().stats
    }

    /// Where the log was at the end of the last group that was written: what is not before that is
    /// behind it.
    pub(crate) fn position(&self) -> LogPosition {
        self.lock().position
    }

    /// How long it was then, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes a record in, the next one.
    pub(crate) fn append(&self, record: &CommitRecord) -> Result<(), LogError> {
        let mut state = self.lock();
        let State { phase, gathering, scratch, appended, .. } = &mut *state;
        match phase {
            Phase::Open => {}
            Phase::Closing => return Err(LogError::Closed),
            Phase::Over(error) => return Err(error.clone()),
        }
        let revision = record.revision.number();
        assert_eq!(revision, *appended + 1, "records come in the order of their revisions");
        scratch.clear();
        record::encode(record, scratch)?;
        let bytes = gathering.frame.len() + scratch.len();
        if bytes + 16 > FRAME_BYTES_MAX {
            return Err(LogError::TooMuch { bytes });
        }
        put_bytes(&mut gathering.frame, scratch);
        if scratch.capacity() > SPARE_BYTES_MAX {
            *scratch = Vec::new();
        }
        *appended = revision;
        Ok(())
    }

    /// Waits until the record of this revision, and all before it, survive what is asked for.
    pub(crate) fn wait(&self, revision: u64, durability: Durability) -> Result<(), LogError> {
        let mut state = self.lock();
        if revision > state.appended {
            // Nobody would ever write it.
            return Err(LogError::NotGiven { revision: Revision::new(revision) });
        }
        if durability == Durability::Memory && state.gathering.frame.len() < MEMORY_BYTES_MAX {
            return state.check();
        }
        let for_sync =
            usize::from(durability == Durability::Sync && !is_awake(Bug::AcknowledgedEarly));
        let unsynced = state.position.bytes.saturating_sub(state.synced_bytes);
        if for_sync == 1 && revision > state.durable && unsynced >= AHEAD_BYTES_MIN {
            drop(state);
            self.sync_ahead()?;
            state = self.lock();
        }
        if for_sync == 1 && revision > state.durable {
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
        loop {
            let reached = [state.written, state.durable][for_sync];
            if reached >= revision {
                return Ok(());
            }
            state.check()?;
            match state.writer.take() {
                Some(writer) => state = self.lead(state, writer, for_sync == 1),
                None => {
                    // In the group that gathers, or in the one under way, or before that.
                    let is_gathering = revision >= state.gathering.first;
                    let number =
                        if is_gathering { state.gathering.number } else { state.under_way() };
                    state.waiting[for_sync] += 1;
                    let woken = self.wake[number % 2].wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                    state.waiting[for_sync] -= 1;
                }
            }
        }
    }

    fn fail(&self, state: &mut State, error: LogError) {
        if !matches!(state.phase, Phase::Over(_)) {
            state.phase = Phase::Over(error);
        }
        self.wake.iter().for_each(Condvar::notify_all);
    }

    /// Writes all that was taken in, notes that this is the end, and gives the folder free.
    pub(crate) fn close(&self) -> Result<(), LogError> {
        let mut state = self.lock();
        let last = state.appended;
        if matches!(state.phase, Phase::Open) {
            state.phase = Phase::Closing;
            drop(state);
            // If this fails, so is the log from then on, and that is told below.
            let _ = self.wait(last, Durability::Sync);
            state = self.lock();
        }
        // Whoever leads now has nothing left to write but his own group. That goes on, too, when
        // somebody else has failed meanwhile, who filled the next segment: until it has ended the
        // folder is nobody else's.
        while state.writer.is_none() && !state.phase.is_without_writer() {
            let waited = self.wake[state.under_way() % 2].wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let was = std::mem::replace(&mut state.phase, Phase::Over(LogError::Closed));
        let writer = state.writer.take();
        drop(state);
        self.next.close(&*self.disk);
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = lock.take();
        match (was, writer, lock) {
            (Phase::Closing, Some(writer), Some(lock)) => {
                let mark = Mark::Closed { revision: last, check: writer.position().check };
                Ok(mark.write(&*lock)?)
            }
            (Phase::Over(LogError::Closed | LogError::ReadOnly), ..) => Ok(()),
            (Phase::Over(error), ..) => Err(error),
            _ => Err(LogError::Broken),
        }
    }
}

impl State {
    /// The number of the group that whoever has the writer ends next.
    fn under_way(&self) -> usize {
        self.gathering.number - usize::from(!self.is_expecting)
    }

    fn check(&self) -> Result<(), LogError> {
        match &self.phase {
            Phase::Open | Phase::Closing => Ok(()),
            Phase::Over(error) => Err(error.clone()),
        }
    }
}

/// Closing when the last handle goes, for those who do not call `close`. What fails then is not
/// lost to anybody who waited: it was never acknowledged.
impl Drop for Log {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests;
