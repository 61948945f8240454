//! The log: takes records in, and makes them last, many at a time.
//!
//! *Group commit* without a thread of its own: records gather in memory; the first who waits for
//! one of them, while nobody else writes, becomes the *leader*. It takes all that has gathered,
//! writes it as one frame, syncs once, and wakes those whose records were in it, and one of those
//! whose records gathered meanwhile, to lead next. A single client so pays one write and one sync
//! a commit and no hand-over; many share.
//!
//! After a failed write or sync nothing is acknowledged any more, and nothing tried again: what
//! the disk holds then is found out by opening it.

pub(crate) mod frame;
mod gather;
pub(crate) mod mark;
pub(crate) mod recover;
pub(crate) mod segment;
pub(crate) mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jungle_db::{CommitRecord, Durability, Revision};

use self::frame::{FRAME_BYTES_MAX, FRAME_HEADER};
use self::gather::Expected;
use self::mark::Mark;
pub(crate) use self::writer::LogPosition;
use self::writer::{LogStats, Next, Writer};
use crate::disk::{Disk, DiskFile, Mode};
use crate::error::{LogError, doing};
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
    /// Held while somebody syncs ahead; how that failed.
    ahead: Mutex<Option<LogError>>,
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
    /// How long the log was when it was synced last.
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
            ahead: Mutex::default(),
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

    /// Makes most of what was written last, beside those who write: whoever leads keeps all others
    /// waiting while he syncs, and has little left to sync then. It promises nothing, only
    /// [`Log::wait`] does: nobody has noted in the log that it was synced.
    pub(crate) fn sync_ahead(&self) -> Result<(), LogError> {
        // What came before this segment was synced when it was begun.
        let LogPosition { segment, bytes, .. } = self.position();
        let mut failed = self.lock_ahead()?;
        let state = self.lock();
        // Who has waited for somebody else to sync ahead finds it done.
        if !matches!(state.phase, Phase::Open) || state.synced_bytes >= bytes {
            return Ok(());
        }
        drop(state);
        let file_name = segment::name(segment);
        let Ok(file) = self.disk.open(&file_name, Mode::Write) else {
            return Ok(());
        };
        let synced = file.sync_data().map_err(doing("sync", &file_name)).map_err(LogError::from);
        let mut state = self.lock();
        match &synced {
            Ok(()) => state.synced_bytes = state.synced_bytes.max(bytes),
            Err(error) => {
                *failed = Some(error.clone());
                self.fail(&mut state, error.clone());
            }
        }
        synced
    }

    /// Nobody syncs ahead while this is held, and nobody has failed to: a failed sync may be told
    /// to one of two only, and has lost what both would sync.
    fn lock_ahead(&self) -> Result<MutexGuard<'_, Option<LogError>>, LogError> {
        let failed = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        Ok(failed)
    }

    /// Lets others run until those have come who are likely to.
    fn let_come<'l>(&'l self, mut state: MutexGuard<'l, State>) -> MutexGuard<'l, State> {
        let (before, expected) = (state.asked_before, state.expected);
        let come = || self.asked.load(Ordering::Relaxed) - before;
        if expected.are_there(come()) {
            return state;
        }
        state.is_expecting = true;
        drop(state);
        expected.wait(come);
        let mut state = self.lock();
        state.is_expecting = false;
        state
    }

    /// Writes what has gathered, and syncs it if somebody waits for that.
    fn lead<'l>(
        &'l self,
        mut state: MutexGuard<'l, State>,
        writer: Writer,
        for_sync: bool,
    ) -> MutexGuard<'l, State> {
        if for_sync {
            state = self.let_come(state);
            if state.check().is_err() {
                // Somebody else has failed meanwhile, behind whom nothing is written.
                state.writer = Some(writer);
                self.wake.iter().for_each(Condvar::notify_all);
                return state;
            }
        }
        let last = state.appended;
        let (number, spare) = (state.gathering.number + 1, std::mem::take(&mut state.spare));
        let fresh = Group::new(number, last + 1, spare);
        let mut group = std::mem::replace(&mut state.gathering, fresh);
        let for_sync = for_sync || state.waiting[1] > 0;
        let asked = self.asked.load(Ordering::Relaxed);
        let answered = asked - state.asked_before;
        if for_sync {
            state.asked_before = asked;
        }
        drop(state);

        let mut turn = Turn { log: self, writer: Some(writer), synced_in: None };
        let written = turn.write(&mut group, last, for_sync);
        let wanted = turn.writer.as_ref().and_then(Writer::next_wanted);
        let wanted = wanted.filter(|_| written.is_ok());
        let mut state = turn.end(written, last, for_sync);
        if let Some(synced_in) = turn.synced_in {
            let come = self.asked.load(Ordering::Relaxed) - asked;
            state.expected = Expected::new(answered, come, synced_in);
        }
        if group.frame.capacity() <= SPARE_BYTES_MAX {
            state.spare = group.frame;
        }
        drop(state);
        // The next leader first: the disk works again while all the others are woken.
        self.wake[(group.number + 1) % 2].notify_one();
        self.wake[group.number % 2].notify_all();

        // Others write meanwhile.
        let prepared = wanted.map_or(Ok(()), |wanted| self.next.prepare(&*self.disk, wanted));
        let mut state = self.lock();
        match prepared {
            // There may be room before the segment that is written to is full.
            Err(error) if error.is_full() => state.stats.has_no_room_ahead = true,
            Err(error) => self.fail(&mut state, error.into()),
            Ok(()) if wanted.is_some() => state.stats.has_no_room_ahead = false,
            Ok(()) => {}
        }
        state
    }

    /// Those who wait for the write only need not wait for the sync.
    fn note_written(&self, group: usize, last: u64) {
        let mut state = self.lock();
        state.written = last;
        let early = is_awake(Bug::FollowersAcknowledgedEarly);
        if early {
            state.durable = last;
        }
        if state.waiting[0] > 0 || early {
            drop(state);
            self.wake[group % 2].notify_all();
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

/// A leader's turn; if it is not ended, nobody else can write any more.
struct Turn<'l> {
    log: &'l Log,
    writer: Option<Writer>,
    /// How long its sync took.
    synced_in: Option<Duration>,
}

impl<'l> Turn<'l> {
    fn write(&mut self, group: &mut Group, last: u64, for_sync: bool) -> Result<(), LogError> {
        let writer = self.writer.as_mut().expect("there until the turn ends");
        if !group.is_empty() {
            // The segment is synced before the next one is begun.
            let is_last = writer.is_full_before(&group.frame);
            let ahead = is_last.then(|| self.log.lock_ahead()).transpose()?;
            writer.write(&mut group.frame, (group.first, last), &self.log.next)?;
            drop(ahead);
            if for_sync {
                self.log.note_written(group.number, last);
            }
        }
        if for_sync {
            let ahead = self.log.lock_ahead()?;
            let begun = Instant::now();
            writer.sync()?;
            drop(ahead);
            self.synced_in = Some(begun.elapsed());
        }
        Ok(())
    }

    /// Gives the writer back.
    fn end(
        &mut self,
        result: Result<(), LogError>,
        last: u64,
        for_sync: bool,
    ) -> MutexGuard<'l, State> {
        let mut state = self.log.lock();
        state.writer = self.writer.take();
        match result {
            Ok(()) => {
                state.written = last;
                if for_sync {
                    state.durable = last;
                }
            }
            Err(error) => self.log.fail(&mut state, error),
        }
        if let Some(writer) = &state.writer {
            (state.stats, state.position) = (writer.stats, writer.position());
            self.log.bytes.store(state.position.bytes, Ordering::Relaxed);
            if for_sync {
                state.synced_bytes = state.position.bytes;
            }
        }
        state
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let mut state = self.log.lock();
            // Whatever has failed before: whoever waits for the writer waits for nothing.
            state.phase = Phase::Over(LogError::Broken);
            self.log.fail(&mut state, LogError::Broken);
        }
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    use jungle_db::CommitOptions;

    use super::*;
    use crate::disk::sim::{CallKind, Fate, Keep, SimDisk};
    use crate::{OpenOptions, Store};

    fn open(disk: &SimDisk) -> Store {
        let options = OpenOptions::new().checkpoint_every(u64::MAX);
        let opened = options.durability(Durability::Buffered).open_on(Arc::new(disk.clone()));
        opened.expect("a simulated disk that was not damaged")
    }

    #[test]
    fn only_those_are_expected_again_who_have_asked_for_a_sync() {
        let store = open(&SimDisk::new());
        let tree = store.create_tree("t").unwrap();
        for durability in [Durability::Memory, Durability::Buffered, Durability::Sync] {
            for _ in 0..3 {
                let durability = Some(durability);
                let options = CommitOptions { durability, ..CommitOptions::default() };
                tree.update_with(&options, |tx| tx.append(&[])).unwrap();
            }
            store.wait_until(store.revision(), Durability::Sync).unwrap();
            let expected = store.log().lock().expected;
            assert!(!expected.are_there(0) && expected.are_there(1), "{durability:?}");
        }
    }

    #[test]
    fn what_was_synced_ahead_lasts() {
        let disk = SimDisk::new();
        let store = open(&disk);
        store.create_tree("t").unwrap();
        assert!(open(&disk.world().crash(Keep::Nothing, &mut |_| 0)).list_trees().is_empty());
        store.log().sync_ahead().unwrap();
        assert_eq!(open(&disk.world().crash(Keep::Nothing, &mut |_| 0)).list_trees().len(), 1);
    }

    #[test]
    fn what_is_synced_ahead_is_not_synced_so_again() {
        let disk = SimDisk::new();
        let store = open(&disk);
        store.create_tree("t").unwrap();
        let calls = || disk.record(|| store.log().sync_ahead().unwrap()).1;
        assert!(!calls().is_empty());
        assert_eq!(calls(), []);
    }

    #[test]
    fn no_segment_is_begun_behind_one_that_could_not_be_synced_ahead() {
        let disk = SimDisk::new();
        let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
        let options = options.durability(Durability::Buffered);
        let store = options.open_on(Arc::new(disk.clone())).unwrap();
        let tree = store.create_tree("t").unwrap();
        // Whoever failed has not told the others yet.
        let lost = doing("sync", "log")(std::io::Error::other("the disk is gone"));
        *store.log().ahead.lock().unwrap() = Some(lost.into());
        assert!((0..100).any(|_| tree.update(|tx| tx.append(&[])).is_err()));
        assert_eq!(disk.files().keys().filter(|name| name.ends_with(".log")).count(), 1);
    }

    #[test]
    fn nothing_is_taken_after_a_failed_sync_ahead() {
        const EIO: i32 = 5;
        let disk = SimDisk::new();
        let store = open(&disk);
        let tree = store.create_tree("t").unwrap();
        disk.watch(|call, _| match call.kind {
            CallKind::Sync if call.name.starts_with("log/") => Fate::Fail(EIO),
            _ => Fate::Go,
        });
        assert!(matches!(store.log().sync_ahead(), Err(LogError::Io(_))));
        disk.unwatch();
        assert!(tree.update(|tx| tx.append(&[])).is_err());
        assert!(matches!(store.close(), Err(LogError::Io(_))));
    }

    #[test]
    fn who_has_waited_for_others_writes_nothing_behind_one_who_failed() {
        let disk = SimDisk::new();
        let store = open(&disk);
        store.create_tree("t").unwrap();
        let log = store.log();
        let mut state = log.lock();
        let writer = state.writer.take().unwrap();
        log.fail(&mut state, LogError::Broken);
        let (state, calls) = disk.record(|| log.lead(state, writer, true));
        assert_eq!(calls, []);
        assert!(state.writer.is_some());
    }
}
