//! Level `local`: commits that are done here at once, and get their places in the log later.

mod advance;
mod error;
mod id;
mod line;
mod outbox;
mod places;
mod publish;
mod state;
mod writers;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jungle_db::{
    CommitOptions, Draft, Durability, Jungle, NotWritten, Revision, Timestamp, TreeHandle,
};
use jungle_tree::{Snapshot, Tree};

pub use error::{LocalError, LocalUpdateError};
pub use id::{LocalId, LocalIdError};
pub(crate) use line::adds_one;
use line::{Line, Pending};
use outbox::Outbox;
pub use outbox::Refused;
use state::{Rewrite, State, Unsaved};
use writers::Opening;
pub use writers::WRITERS;

use crate::cluster::Cluster;
use crate::cluster::survey::OutboxStatus;
use crate::follow::Follower;
use crate::message;
use crate::sequencer::Appender;

/// An entry may not be longer: it has to fit into one message.
const ENTRY_BYTES_MAX: usize = message::BYTES_MAX - (64 << 10);

/// What a server commits by itself: it is done at once, and answered at once, whether or not the
/// engine can be reached. It is kept in an **outbox**, and published behind: each entry gets its
/// place in the log as soon as that can be had, in the order in which they were made.
///
/// Until then they are seen on this server only, by those who ask here for a
/// [`snapshot`](Local::snapshot). What others do meanwhile is put below them: they are rebased.
///
/// - A **path** that was given to a client is never another node's: the positions that are drawn
///   here are [signed](jungle_tree::Signature) with the number of this server and of the drawing.
/// - Of an **attribute** that others have changed meanwhile, the last in the order of the log wins;
///   the other value is in the history.
/// - Whatever else contradicts what others did (an edit of what they removed, say) makes the whole
///   entry **refused**: nothing of it is done anywhere, and it is kept with its changes and the
///   reason, to be [looked at](Local::refused). So is one that, after a restart, follows a version
///   which the branch does not [keep](jungle_db::Retention) any more, or an entry that does, unless
///   it only adds a node.
/// - What a closure read is not looked at again as its entry is published: this level is not
///   serializable. Who needs that commits as ever, which is not possible while cut off. Such
///   commits do not see what has no place yet.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use jungle_cluster::{Cluster, LocalOutcome, MemoryLog, Options};
/// use jungle_db::{CommitOptions, Jungle};
///
/// let jungle = Jungle::new()?;
/// let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
/// let board = jungle.create_tree("board")?;
/// // In a folder (`Store::open("data/outbox")?`) it outlasts the process.
/// let local = cluster.local(Arc::new(Jungle::new()?))?;
/// let kept = local.update(&board, &CommitOptions::default(), |tx| tx.append(&[]))?;
/// assert_eq!(local.snapshot(&board)?.root().child_count(), 1);
///
/// let id = kept.id.expect("something was changed");
/// assert!(local.wait_for(id, Duration::from_secs(30)));
/// assert_eq!(local.outcome(id)?, LocalOutcome::Settled);
/// assert!(board.read().root().child(&kept.value).is_some());
/// assert_eq!(local.status().pending, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Local {
    jungle: Jungle,
    follower: Arc<Follower>,
    /// Weak: its log asks how this stands.
    appender: Weak<Appender>,
    /// What is waited on, apart from the state, for it to last.
    outbox: Jungle,
    usual: Durability,
    /// The newest revision that an entry has followed.
    followed: AtomicU64,
    writer: u64,
    /// When the outbox was opened; now, at last.
    openings: Vec<Opening>,
    /// One publishes at a time.
    publishing: Mutex<()>,
    state: Mutex<State>,
    /// There is something to publish, or it is over.
    news: Condvar,
}

/// What a local commit came to: see [`Local`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept<T> {
    /// What the closure gave.
    pub value: T,
    /// Its name; `None` when nothing was changed.
    pub id: Option<LocalId>,
    /// The revision of the outbox that has it, for [`Local::wait_until`]; when nothing was changed,
    /// the one that has all entries that were seen.
    pub revision: Revision,
}

/// What became of an entry: see [`Local`] and [`Refused`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocalOutcome {
    /// It has no place in the log yet, as far as is known here.
    Pending,
    /// It has its place, or has been refused (which is known on the server that made it only).
    Settled,
    /// It was refused.
    Refused,
    /// This server knows nothing of that number of its own: it has not been given, or a crash took
    /// the entry before it lasted, or it was refused, and forgotten since. That counts as settled
    /// once a later one is; so does what a crash took, if the engine was away at the next start.
    Unknown,
}

/// How an outbox stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LocalStatus {
    /// The number of this server.
    pub writer: u64,
    /// How many entries have no place yet.
    pub pending: usize,
    /// When the oldest of them was made.
    pub oldest: Option<Timestamp>,
    /// How many were refused, and are kept.
    pub refused: usize,
    /// How often an entry was held against what others did, since the outbox was opened. Where they
    /// are at other nodes that is at most once for each change of theirs, and for each entry that
    /// gets its place; where they are at the same ones, all entries of the branch are each time.
    pub rebased: u64,
    /// Why the oldest one could not be published when that was tried last.
    pub error: Option<Arc<LocalError>>,
}

impl Cluster {
    /// Opens the outbox of this server, once, and publishes from now on what is in it; see
    /// [`Local`].
    ///
    /// # Errors
    /// When it is another cluster's, or open, or cannot be read or written; when it has no number
    /// for this server yet, and none can be had since the engine cannot be reached.
    pub fn local(
        &self,
        outbox: impl Deref<Target = Jungle> + Send + Sync + 'static,
    ) -> Result<Arc<Local>, LocalError> {
        let local = Local::open(self, outbox)?;
        if self.local.set(Arc::clone(&local)).is_err() {
            return Err(LocalError::Opened);
        }
        let publisher = Arc::clone(&local);
        let started = self.start("outbox", move || publisher.publish_all());
        started.map_err(|error| LocalError::Threads(Box::new(error)))?;
        Ok(local)
    }
}

impl LocalStatus {
    /// As it is told to others.
    pub(crate) fn told(&self) -> OutboxStatus {
        OutboxStatus {
            writer: self.writer,
            pending: self.pending,
            oldest: self.oldest.map(Timestamp::as_micros),
            refused: self.refused,
            error: self.error.as_ref().map(ToString::to_string),
        }
    }
}

impl Local {
    /// As [`Cluster::local`], but nothing is published unless
    /// [that is asked for](Local::publish_next).
    ///
    /// # Errors
    /// As there.
    pub fn open(
        cluster: &Cluster,
        outbox: impl Deref<Target = Jungle> + Send + Sync + 'static,
    ) -> Result<Arc<Local>, LocalError> {
        let jungle = cluster.follower.place().jungle.clone().ok_or(LocalError::Left)?;
        let outbox = Outbox::open(Box::new(outbox))?;
        let name = &*cluster.appender.server;
        let drawn = match cluster.follower.is_by_hand {
            // The same has to come out each time, and another for another server.
            true => {
                let made = (name, outbox.jungle().revision().number());
                BuildHasherDefault::<DefaultHasher>::default().hash_one(made)
            }
            false => RandomState::new().hash_one(name),
        };
        let server = (name, drawn);
        let (writer, openings) = writers::number(&jungle, &outbox, cluster.log.id(), server)?;
        // Without the engine it is not known what else the log has of this server.
        if cluster.follower.of.is_none() {
            outbox.note_lost(writers::newest_standing(&jungle, writer).settled)?;
        }
        let next = outbox.reserved();
        let waited_on = outbox.jungle();
        let mut state = State {
            lines: BTreeMap::new(),
            next,
            reserved: next,
            seen: Revision::default(),
            handed: 0,
            is_undecided: false,
            // All that is in it was read from disk.
            kept: Revision::default(),
            rebased: 0,
            unsaved: Unsaved::default(),
            error: None,
            is_copied: false,
            is_over: false,
            outbox,
        };
        state.read(&jungle, writer)?;
        let follower = Arc::clone(&cluster.follower);
        let state = Mutex::new(state);
        let (outbox, usual) = (waited_on.clone(), waited_on.durability());
        let (followed, publishing, news) = Default::default();
        Ok(Arc::new(Local {
            jungle,
            follower,
            appender: Arc::downgrade(&cluster.appender),
            outbox,
            usual,
            followed,
            writer,
            openings,
            publishing,
            state,
            news,
        }))
    }

    /// Edits a branch in one atomic step, on top of all that was done on this server. The closure
    /// runs once, and nobody else edits here meanwhile; it must not ask this `Local` for anything.
    /// Positions it is given are signed, except those that [`Draft::bulk`] and [`Draft::cursor`]
    /// give: an entry with such a one is refused if others have used it.
    ///
    /// It waits until that lasts as `options` say, or, where they say nothing, as the outbox was
    /// [opened](jungle_db::Jungle::durability) to promise. A closure that changes nothing makes no
    /// entry; it waits, too, for the entries that it has seen.
    ///
    /// # Errors
    /// What the closure says, or that it cannot be kept.
    pub fn update<T, E>(
        &self,
        branch: &TreeHandle,
        options: &CommitOptions,
        f: impl FnOnce(&mut Draft) -> Result<T, E>,
    ) -> Result<Kept<T>, LocalUpdateError<E>> {
        let mut state = self.lock();
        let tip = self.tip(&mut state, branch)?;
        self.keep(state, tip, branch, options, f)
    }

    /// As [`update`](Local::update), on top of what is at hand: all that was done on this server
    /// itself, but what others did last may be missing, for as long as one publishing takes. For
    /// edits that need nothing of theirs, such as adding a message to a board, of which there may
    /// be many: these need not be worked out anew each time that others have done something.
    ///
    /// # Errors
    /// As there.
    pub fn extend<T, E>(
        &self,
        branch: &TreeHandle,
        options: &CommitOptions,
        f: impl FnOnce(&mut Draft) -> Result<T, E>,
    ) -> Result<Kept<T>, LocalUpdateError<E>> {
        let mut state = self.lock();
        let tip = match state.lines.get(&branch.branch_id()) {
            Some(line) => (line.tip(), line.at),
            None => self.tip(&mut state, branch)?,
        };
        self.keep(state, tip, branch, options, f)
    }

    /// Waits until all lasts that was kept up to a [revision of the outbox](Kept::revision). Who
    /// has many who wait keeps with [`Durability::Memory`], and waits here for all of them.
    ///
    /// # Errors
    /// When it cannot be made to last.
    pub fn wait_until(&self, revision: Revision, durability: Durability) -> Result<(), NotWritten> {
        // What the entries follow is in another file: who is started again while the engine is
        // away has nothing else to do them on.
        let followed = Revision::new(self.followed.load(Ordering::SeqCst));
        self.jungle.wait_until(followed, durability)?;
        self.outbox.wait_until(revision, durability)
    }

    /// What an outbox promises when nothing else is asked for.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.usual
    }

    /// Edits what is there, adds that to the outbox, and waits until it lasts.
    fn keep<T, E>(
        &self,
        mut state: MutexGuard<'_, State>,
        (base, at): (Snapshot, Revision),
        branch: &TreeHandle,
        options: &CommitOptions,
        f: impl FnOnce(&mut Draft) -> Result<T, E>,
    ) -> Result<Kept<T>, LocalUpdateError<E>> {
        self.check_open()?;
        if state.is_copied {
            // What it gives the other may have given.
            return Err(LocalError::Copied { writer: self.writer }.into());
        }
        let mut draft = Draft::signed(&base, options.clone(), self.writer, state.next);
        let value = f(&mut draft).map_err(LocalUpdateError::Closure)?;
        if !draft.is_changed() {
            // What has its place lasts there: only entries may be gone after a crash.
            let has_entries = state.lines.contains_key(&branch.branch_id());
            let revision = if has_entries { state.kept } else { Revision::default() };
            drop(state);
            let durability = draft.options().durability.unwrap_or(self.usual);
            // What need not last is waited for by nobody, as in `Jungle`s.
            if has_entries && durability != Durability::Memory {
                self.wait_until(revision, durability).map_err(LocalError::Outbox)?;
            }
            return Ok(Kept { value, id: None, revision });
        }
        let CommitOptions { meta, durability, .. } = draft.options().clone();
        // Those before it have to be on disk as they are here. What has its place meanwhile may
        // be there still: that is found out when it is read back.
        if state.unsaved.lines.values().any(|rewrite| *rewrite == Rewrite::All) {
            self.save(&mut state)?;
        }
        self.followed.fetch_max(at.number(), Ordering::SeqCst);
        let id = branch.branch_id();
        let is_first = state.lines.is_empty();
        let line = state.lines.remove(&id);
        let mut line = line.unwrap_or_else(|| Line::new(branch.clone(), base.clone(), at));
        // It looks at what it has done, and writes that. Where that cannot be read, or a bug is
        // met, the entries before it stay: else they would have no places, and count as settled by
        // the next one that has.
        let added = catch_unwind(AssertUnwindSafe(|| {
            let (changes, number) = draft.into_changes(line.tip_mut());
            let mut pending = Pending { number, time: now(), meta, changes, bytes: 0 };
            let revision = state.add(&mut pending, at, branch)?;
            line.pending.push_back(Arc::new(pending));
            Ok::<_, LocalError>((number, revision))
        }));
        if !matches!(added, Ok(Ok(_))) {
            *line.tip_mut() = Tree::from_snapshot(&base);
        }
        if !line.pending.is_empty() {
            state.lines.insert(id, line);
        }
        drop(state);
        let (number, revision) = added.unwrap_or_else(|cause| resume_unwind(cause))?;
        // Who publishes waits for it only while there is none.
        if is_first {
            self.news.notify_all();
        }
        let waited = self.wait_until(revision, durability.unwrap_or(self.usual));
        waited.map_err(LocalError::Outbox)?;
        Ok(Kept { value, id: Some(LocalId { writer: self.writer, number }), revision })
    }

    /// The newest version of a branch with all that was done on this server. Its revision is the
    /// one that all of that follows.
    ///
    /// # Errors
    /// When it cannot be worked out, or the branch was deleted.
    pub fn snapshot(&self, branch: &TreeHandle) -> Result<jungle_db::Snapshot, LocalError> {
        self.look(branch).map(|(snapshot, _)| snapshot)
    }

    /// The same, with the newest entry in it that has no place yet. Two looks with the same
    /// revision and the same entry have shown the same.
    ///
    /// # Errors
    /// As there.
    pub fn look(
        &self,
        branch: &TreeHandle,
    ) -> Result<(jungle_db::Snapshot, Option<LocalId>), LocalError> {
        let mut state = self.lock();
        let (tree, revision) = self.tip(&mut state, branch)?;
        let newest = state.lines.get(&branch.branch_id()).and_then(|line| line.pending.back());
        let newest = newest.map(|entry| LocalId { writer: self.writer, number: entry.number });
        Ok((jungle_db::Snapshot::beyond(revision, tree), newest))
    }

    /// How the outbox stands.
    #[must_use]
    pub fn status(&self) -> LocalStatus {
        let mut state = self.lock();
        let failed = self.advance(&mut state).err().map(Arc::new);
        let entries = || state.lines.values().flat_map(|line| &line.pending);
        LocalStatus {
            writer: self.writer,
            pending: entries().count(),
            oldest: entries().map(|entry| entry.time).min(),
            refused: state.outbox.count_refused() + state.unsaved.refused.len(),
            rebased: state.rebased,
            error: failed.or_else(|| state.error.clone()),
        }
    }

    /// The entries that were refused, the oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn refused(&self) -> Result<Vec<Refused>, LocalError> {
        let mut state = self.lock();
        self.advance(&mut state)?;
        self.save(&mut state)?;
        state.outbox.refused(self.jungle.arena(), self.writer)
    }

    /// Forgets a refused entry; tells whether there was one.
    ///
    /// # Errors
    /// When the outbox cannot be written.
    pub fn forget(&self, id: LocalId) -> Result<bool, LocalError> {
        let mut state = self.lock();
        self.save(&mut state)?;
        state.outbox.forget(id)
    }

    /// What became of an entry, of any server.
    ///
    /// # Errors
    /// When it cannot be found out.
    pub fn outcome(&self, id: LocalId) -> Result<LocalOutcome, LocalError> {
        let mut state = self.lock();
        self.advance(&mut state)?;
        self.save(&mut state)?;
        if state.outbox.is_refused(id) {
            return Ok(LocalOutcome::Refused);
        }
        let is_own = id.writer == self.writer;
        let mut entries = state.lines.values().flat_map(|line| &line.pending);
        if is_own && entries.any(|entry| entry.number == id.number) {
            return Ok(LocalOutcome::Pending);
        }
        if is_own && state.outbox.is_lost(id.number) {
            return Ok(LocalOutcome::Unknown);
        }
        Ok(match writers::newest_standing(&self.jungle, id.writer).settled >= id.number {
            true => LocalOutcome::Settled,
            false if is_own => LocalOutcome::Unknown,
            false => LocalOutcome::Pending,
        })
    }

    /// Waits until an entry of any server is settled here, for at most `within` and no longer than
    /// it may be yet; tells whether it is.
    #[must_use]
    pub fn wait_for(&self, id: LocalId, within: Duration) -> bool {
        let decided = || match self.outcome(id) {
            Ok(LocalOutcome::Settled) => Some(true),
            Ok(LocalOutcome::Refused | LocalOutcome::Unknown) => Some(false),
            Ok(LocalOutcome::Pending) | Err(_) => None,
        };
        // What is refused moves nobody: it is looked after now and then.
        let step = within.min(Duration::from_millis(100));
        let rounds = within.as_millis().div_ceil(step.as_millis().max(1));
        let decided = (0..=rounds).find_map(|_| {
            let seen = self.follower.place().sequence;
            decided().or_else(|| {
                self.follower.wait_past(seen, step);
                decided()
            })
        });
        decided == Some(true)
    }

    /// Is this a server still, of what is as it should be?
    fn check_open(&self) -> Result<(), LocalError> {
        if !self.follower.is_over() {
            return Ok(());
        }
        let place = self.follower.place();
        match &place.fault {
            Some(fault) => Err(LocalError::Fault(Arc::clone(fault))),
            None if place.jungle.is_none() => Err(LocalError::Left),
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing more is published.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.news.notify_all();
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Local").field(&self.status()).finish()
    }
}
