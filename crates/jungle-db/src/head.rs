//! The head of a branch: its newest version, and its history behind a lock.
//!
//! Reading the newest version takes no lock. Everything else (committing, opening an old revision,
//! reading the history) takes the lock of the one head it concerns; several heads are locked in
//! the order of their ids.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use jungle_tree::{Editor, Keep, Path, TooManySteps, Tree, TreeReader, VersionId};

use crate::branch::origin::Origin;
use crate::commit::requests::Requests;
use crate::commit::turn::Queue;
use crate::commit::write::NotWritten;
use crate::history::archive::ArchiveError;
use crate::history::retention::{Retention, SLICE};
use crate::history::{History, HistoryEntry};
use crate::journal::{BranchId, TreeId};
use crate::planted::{Bug, is_awake};
use crate::revision::{CommitMeta, RequestId, Revision, Timestamp};
use crate::snapshot::Snapshot;
use crate::sync::{AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError};

/// So many blocks and values are made free at a time, while the writers of a branch wait.
const RECLAIMED_MAX: usize = 1_024;

/// Of so many places it is known at most that they take too many steps to compare.
const TOO_MUCH_MAX: usize = 64;

/// Locks a mutex whose data stays good when a thread panics: every critical section here either
/// changes one thing or publishes, and publishing does not panic half-way.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A branch: its newest version and what came before.
pub(crate) struct Head {
    pub(crate) id: BranchId,
    pub(crate) tree: TreeId,
    pub(crate) reader: OwnLine<TreeReader>,
    newest: Newest,
    state: Mutex<HeadState>,
    /// Told of each commit while someone waits for one.
    committed: Condvar,
    waiting: AtomicUsize,
    pub(crate) queue: Queue,
    /// Where it left another branch.
    pub(crate) origin: Option<Arc<Origin>>,
    /// What was found to take too many steps to compare with the revision before.
    too_much: Mutex<BTreeMap<Compared, TooManySteps>>,
}

/// A node of a revision.
type Compared = (Revision, Path);

/// Something in a cache line that has nothing else in it, nor has the one beside, which processors
/// fetch with it. Readers take the reader of a head for each look; all else that a head has is
/// written by each commit, or by those who wait for their turn.
#[repr(align(128))]
pub(crate) struct OwnLine<T>(T);

impl<T> Deref for OwnLine<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// What only the holder of the lock sees.
pub(crate) struct HeadState {
    tree: Tree,
    pub(crate) history: History,
    requests: Requests,
    retention: Retention,
    /// Revisions dropped since their memory was last reclaimed.
    dropped: u64,
    /// Checkpoints that rely on all that is there. While there are any, nothing is dropped.
    holds: usize,
    /// While records are done again, which is one of them: what they said is not kept, the
    /// revisions before this index.
    replayed: Option<u64>,
    /// The branch, or its tree, was deleted.
    pub(crate) closed: bool,
}

/// The newest version and its revision, for readers without the lock.
struct Newest {
    version: AtomicU64,
    revision: AtomicU64,
}

/// What a commit is called.
pub(crate) struct Stamp {
    pub(crate) revision: Revision,
    pub(crate) time: Timestamp,
    pub(crate) meta: CommitMeta,
}

impl Head {
    /// The time of the newest revision of the branch.
    pub(crate) fn newest_time(&self) -> Result<Timestamp, NotWritten> {
        let state = self.lock();
        if state.closed {
            return Err(NotWritten::Deleted);
        }
        Ok(state.history.newest().time)
    }

    /// A branch whose newest version is that of `tree`, as its history says.
    pub(crate) fn new(
        (tree_id, id): (TreeId, BranchId),
        tree: Tree,
        history: History,
        retention: Retention,
        origin: Option<Arc<Origin>>,
    ) -> Head {
        let newest = history.newest();
        let newest = Newest {
            version: AtomicU64::new(newest.id.version()),
            revision: AtomicU64::new(newest.revision.number()),
        };
        let reader = OwnLine(tree.reader());
        let mut state = HeadState {
            tree,
            history,
            requests: Requests::default(),
            retention,
            dropped: 0,
            holds: 0,
            replayed: None,
            closed: false,
        };
        state.reclaim();
        Head {
            id,
            tree: tree_id,
            reader,
            newest,
            state: Mutex::new(state),
            committed: Condvar::new(),
            waiting: AtomicUsize::new(0),
            queue: Queue::default(),
            origin,
            too_much: Mutex::new(BTreeMap::new()),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HeadState> {
        lock(&self.state)
    }

    /// The number of the newest version: a hint, it may be replaced at any time.
    pub(crate) fn newest_version(&self) -> u64 {
        self.newest.version.load(Ordering::Acquire)
    }

    /// The newest version with its revision.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let snapshot = self.reader.snapshot();
        // The writer clears the version, sets the revision, sets the version: if the version is
        // ours before and after, so is the revision. All are SeqCst; this is no hot path.
        let before = self.newest.version.load(Ordering::SeqCst);
        let revision = Revision::new(self.newest.revision.load(Ordering::SeqCst));
        let after = self.newest.version.load(Ordering::SeqCst);
        let is_its_own = before == snapshot.version() && after == before;
        if is_its_own || is_awake(Bug::RevisionGuessed) {
            return Snapshot::new(snapshot, revision);
        }
        let state = self.lock();
        state.open(self, state.history.newest())
    }

    /// Waits for a commit, as long as `is_idle` says so, for at most `timeout`; tells whether it
    /// waited that long.
    pub(crate) fn wait(
        &self,
        timeout: Option<std::time::Duration>,
        is_idle: impl Fn(&HeadState) -> bool,
    ) -> bool {
        // Counted before the lock is taken, so that whoever commits after our look sees it.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let state = self.lock();
        let timed_out = match timeout {
            None => {
                let idle = |state: &mut HeadState| is_idle(state);
                drop(self.committed.wait_while(state, idle));
                false
            }
            Some(timeout) => {
                let idle = |state: &mut HeadState| is_idle(state);
                let result = self.committed.wait_timeout_while(state, timeout, idle);
                result.unwrap_or_else(PoisonError::into_inner).1.timed_out()
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        timed_out
    }

    /// Compares a node of a revision with what it was, in so many steps at most. That these are too
    /// few is found out once for all who watch: there may be very many, and each would take them.
    pub(crate) fn compare_once<T>(
        &self,
        compared: Compared,
        steps_max: u64,
        compare: impl FnOnce() -> Result<T, TooManySteps>,
    ) -> Result<T, TooManySteps> {
        let known = lock(&self.too_much).get(&compared).copied();
        if let Some(known) = known.filter(|known| known.most >= steps_max) {
            return Err(known);
        }
        compare().inspect_err(|found| {
            let mut too_much = lock(&self.too_much);
            too_much.insert(compared, *found);
            if too_much.len() > TOO_MUCH_MAX {
                too_much.pop_first();
            }
        })
    }

    fn notify(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 && !is_awake(Bug::WatcherForgotten) {
            self.committed.notify_all();
        }
    }

    /// Ends the branch: nothing more is committed to it.
    pub(crate) fn close(&self, state: &mut HeadState) {
        state.closed = true;
        self.notify();
    }
}

impl HeadState {
    /// Holds the version of an entry of the history.
    pub(crate) fn open(&self, head: &Head, entry: &HistoryEntry) -> Snapshot {
        let [snapshot] = self.open_all(head, [(entry.id, entry.revision)]);
        snapshot
    }

    /// The same of several.
    pub(crate) fn open_all<const N: usize>(
        &self,
        head: &Head,
        found: [(VersionId, Revision); N],
    ) -> [Snapshot; N] {
        let mut revisions = found.iter().map(|(_, revision)| *revision);
        let held = head.reader.held_all(found.map(|(id, _)| id));
        held.map(|tree| Snapshot::new(tree, revisions.next().expect("one for each")))
    }

    /// Publishes an editor of the newest version as the next revision.
    pub(crate) fn publish(&mut self, head: &Head, editor: Editor, stamp: Stamp) {
        self.tree.publish(editor);
        let id = self.tree.version_id();
        head.newest.version.store(0, Ordering::SeqCst);
        head.newest.revision.store(stamp.revision.number(), Ordering::SeqCst);
        head.newest.version.store(id.version(), Ordering::SeqCst);
        let time = stamp.time;
        self.history.push(stamp.entry(id));
        if self.retention != Retention::All && self.holds == 0 {
            // What cannot be looked up in the archive is kept until it can be.
            self.dropped += self.retention.apply(&mut self.history, time).unwrap_or(0);
            if self.dropped >= self.retention.slack() {
                self.reclaim_dropped();
            }
        }
        head.notify();
    }

    /// The revision that a request was committed as.
    pub(crate) fn find_request(
        &mut self,
        request: RequestId,
    ) -> Result<Option<Revision>, NotWritten> {
        self.requests.find(&self.history, request)
    }

    /// Refuses what was committed before.
    pub(crate) fn refuse_repeated(&mut self, meta: &CommitMeta) -> Result<(), NotWritten> {
        let Some(request) = meta.request() else { return Ok(()) };
        match self.find_request(request)? {
            Some(revision) => Err(NotWritten::Repeated { revision }),
            None => Ok(()),
        }
    }

    pub(crate) fn retention(&self) -> Retention {
        self.retention
    }

    pub(crate) fn set_retention(&mut self, retention: Retention, time: Timestamp) {
        if let Some(gone) = &mut self.replayed {
            // The old rule has dropped what it does not keep, and the new one begins with that.
            let newest = self.history.newest().time;
            for (rule, time) in [(self.retention, newest), (retention, time.max(newest))] {
                *gone = rule.first_kept(&self.history, time).unwrap_or(0).max(*gone);
            }
        }
        self.retention = retention;
        // Before the next commit, which may be one that the old rule did not keep.
        self.reclaim();
    }

    /// Drops a slice of what is not to be kept; tells how many revisions that was. A clock that was
    /// set back keeps none that are too old beside the newest: the next commit would drop them.
    pub(crate) fn retain(&mut self, now: Timestamp) -> Result<u64, ArchiveError> {
        let now = now.max(self.history.newest().time);
        let applied = match self.holds {
            0 => self.retention.apply(&mut self.history, now),
            _ => Ok(0),
        };
        self.reclaim_dropped();
        applied
    }

    /// The index of the oldest revision that is to be kept as of the newest, whatever else is here.
    pub(crate) fn first_to_keep(&self) -> Result<u64, ArchiveError> {
        self.retention.first_kept(&self.history, self.history.newest().time)
    }

    /// Keeps all that is there until [`HeadState::end_replay`]: a record may name a revision that
    /// was only there because a checkpoint held it.
    pub(crate) fn begin_replay(&mut self) {
        if self.replayed.is_none() {
            self.replayed = Some(0);
            self.hold();
        }
    }

    pub(crate) fn end_replay(&mut self) {
        if let Some(gone) = self.replayed.take() {
            // A checkpoint may have been taken meanwhile.
            if self.holds == 1 {
                self.history.drop_before(gone);
            }
            self.let_go();
            // A long log has more than a slice, and nobody waits for a folder that is being opened.
            while self.retain(self.history.newest().time).is_ok_and(|dropped| dropped == SLICE) {}
        }
    }

    /// Keeps all that is there until [`HeadState::let_go`].
    pub(crate) fn hold(&mut self) {
        self.holds += 1;
        self.reclaim();
    }

    /// Drops what was held for a checkpoint only.
    pub(crate) fn let_go(&mut self) {
        self.holds -= 1;
        if self.holds == 0 && self.retention != Retention::All {
            let newest = self.history.newest().time;
            // As in a commit; the next one tries again.
            let _ = self.retention.apply(&mut self.history, newest);
            self.reclaim_dropped();
        }
    }

    /// Drops all but the newest revision of what was deleted, unless a checkpoint relies on it:
    /// the memory of the others is about to be given back, whoever has a handle. That of those in
    /// the archive is, too, where it is not known which they are, whatever relies on them.
    pub(crate) fn forget_deleted(&mut self, is_known: bool) {
        let is_held = self.holds > 0 && (is_known || self.history.stored().is_none());
        if self.closed && !is_held {
            self.history.drop_before(u64::MAX);
        }
    }

    /// Uses again what only old revisions of what was deleted had, as far as no tracing is needed.
    pub(crate) fn reclaim_deleted(&mut self) {
        if self.closed && self.holds == 0 {
            self.history.drop_before(u64::MAX);
            self.reclaim_dropped();
        }
    }

    /// Does a checkpoint rely on all that is there?
    pub(crate) fn is_held(&self) -> bool {
        self.holds > 0
    }

    /// Uses again a slice of what only dropped revisions had and what was held by somebody when it
    /// was replaced; tells whether there may be more.
    pub(crate) fn reclaim_slice(&mut self) -> bool {
        self.history.raise_floor();
        self.dropped = 0;
        self.tree.keep_in_slices(self.to_keep(), RECLAIMED_MAX)
    }

    /// Leaves a slice of what waits for a version that somebody holds, of whatever tree, to the
    /// next collection; tells whether there may be more.
    pub(crate) fn leave_slice(&mut self) -> bool {
        self.tree.leave_blocked(RECLAIMED_MAX)
    }

    fn reclaim_dropped(&mut self) {
        self.history.raise_floor();
        self.reclaim();
    }

    /// Asks no archive: others may be kept waiting by who holds a history.
    fn reclaim(&mut self) {
        self.dropped = 0;
        self.tree.keep(self.to_keep());
    }

    fn to_keep(&self) -> Keep {
        match self.retention {
            Retention::All => Keep::All,
            // Older ones may be listed still: more than a slice came to be dropped at once.
            Retention::Last(0 | 1) if self.holds == 0 && self.history.is_single() => Keep::Newest,
            // What was there when the Jungle was restored is never reused by the line itself, so
            // it makes no difference how much older the oldest is.
            Retention::Last(_) | Retention::ByAge(_) => Keep::From(self.history.floor()),
        }
    }
}

impl Stamp {
    pub(crate) fn entry(self, id: VersionId) -> HistoryEntry {
        let Stamp { revision, time, meta } = self;
        HistoryEntry { revision, time, id, meta }
    }
}
