//! Commits whose places are given out elsewhere: by a log that several Jungles follow.
//!
//! A transaction is worked out in private as ever. What it comes to is a record, which says exactly
//! what the next revision does; a [`Sequencer`] appends it to the log, if nobody else has appended
//! anything since, and every Jungle that follows the log does what it says. So they are equal, and
//! nothing is visible anywhere before it has its place.
//!
//! While one batch of records is on its way, the next ones gather behind it: each is worked out on
//! top of what those before it would make of the tree, in editors that nobody else sees. If the
//! batch has lost its place to somebody else's, all of them are worked out again, on top of that.

mod anywhere;
mod series;

use std::collections::BTreeMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use jungle_tree::{ChangeSet, Editor, Snapshot, Tree, apply};

use crate::commit::draft::Signer;
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure};
use crate::head::lock;
use crate::journal::{BranchId, CommitRecord, Event, JournalError};
use crate::jungle::{Jungle, Shared};
use crate::revision::{CommitMeta, RequestId, Revision, Timestamp};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, yield_now};

pub use anywhere::added_node;
pub(crate) use anywhere::is_anywhere;
pub use series::{Placed, Series};

/// Where commits get their places, for Jungles that are to be equal: a log, the same for all.
///
/// ```
/// use std::sync::Mutex;
/// use jungle_db::{CommitRecord, Jungle, SequenceError, Sequencer};
///
/// /// All Jungles that follow a log: whoever asks with the newest revision gets the next.
/// struct Log(Mutex<Vec<Jungle>>);
///
/// impl Sequencer for Log {
///     fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
///         let followers = self.0.lock().unwrap();
///         if records[0].revision.number() != followers[0].revision().number() + 1 {
///             return Ok(0);
///         }
///         for jungle in followers.iter() {
///             records.iter().try_for_each(|record| jungle.follow(record)).unwrap();
///         }
///         Ok(records.len())
///     }
/// }
///
/// let (a, b) = (Jungle::new()?, Jungle::new()?);
/// let log = std::sync::Arc::new(Log(Mutex::new(vec![a.clone(), b.clone()])));
/// a.sequence_with(log.clone());
/// b.sequence_with(log);
/// a.create_tree("board")?.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
/// let board = b.open_tree("board")?;
/// assert_eq!(board.read().root().attribute("title").unwrap().as_text(), Some("Hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Sequencer: Send + Sync {
    /// Waits a moment, if others are to go first. It is called before something is worked out that
    /// would have to be worked out again after them; by itself it does not wait.
    fn await_turn(&self) {}

    /// Asks for places for these records, which follow one another and the newest revision that was
    /// known as they were made, and waits for the answer. One call is made at a time.
    ///
    /// It tells how many of them have their places, counted from the first, and were
    /// [followed](Jungle::follow) by this Jungle. When these are not all, others came first, and
    /// what they did was followed, too.
    ///
    /// # Errors
    /// When no place was had, or it is not known.
    fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError>;

    /// The same for records of which each [adds one node](added_node), and was worked out from
    /// nothing that others may change without being in its way. So they are what they are on top
    /// of whatever comes first, as long as each still [stands](jungle_tree::stands), and may be
    /// given later revisions than they have, one after the other.
    ///
    /// # Errors
    /// When no place was had, or it is not known.
    fn sequence_anywhere(&self, records: &[CommitRecord]) -> Result<Places, SequenceError> {
        let count = self.sequence(records)?;
        Ok(Places { count, first: records[0].revision })
    }

    /// The time that a commit is to have now, as this Jungle's [clock](crate::Clock) has it: all
    /// who follow keep what [is kept by age](crate::Retention::ByAge) by the times of commits, so
    /// one clock that is far ahead would drop everybody's history.
    fn time(&self, clock: Timestamp) -> Timestamp {
        clock
    }

    /// The number that positions of [appended](crate::Draft::append) nodes are to be
    /// [signed](jungle_tree::Signature) with now, so that nobody else gives them meanwhile; `None`
    /// where nobody is likely to.
    fn signs_as(&self) -> Option<u64> {
        None
    }
}

/// Where records have their places.
///
/// ```
/// use jungle_db::{Places, Revision};
/// // Of those that were sent, two came to be the revisions 7 and 8.
/// let places = Places { count: 2, first: Revision::new(7) };
/// assert_eq!(places.first.number() + places.count as u64 - 1, 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// How many of them have one, counted from the first.
    pub count: usize,
    /// Which revision the first of them is.
    pub first: Revision,
}

/// Why records have no places, as far as is known.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{CommitRecord, CreateTreeError, JournalError, Jungle, NotWritten};
/// use jungle_db::{SequenceError, Sequencer};
/// struct Away;
/// impl Sequencer for Away {
///     fn sequence(&self, _: &[CommitRecord]) -> Result<usize, SequenceError> {
///         Err(SequenceError::Undecided(JournalError::new("no answer in time")))
///     }
/// }
/// let jungle = Jungle::new()?;
/// jungle.sequence_with(Arc::new(Away));
/// let made = jungle.create_tree("board");
/// assert!(matches!(made, Err(CreateTreeError::NotWritten(NotWritten::Undecided(_)))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum SequenceError {
    /// They have none and will have none.
    Refused(JournalError),
    /// The first of them is longer than a place can be. It will have none; the others may have,
    /// without it.
    TooLong(JournalError),
    /// They may have them, or get them later: whoever follows the log will see.
    Undecided(JournalError),
}

/// So many records are sent together at most. More wait until these are decided, so that nothing
/// is worked out in editors that began long ago.
const BATCH_MAX: usize = 1024;
/// So often others are let go first before a batch is sent. Those who were just answered come back
/// at once, most of them, and go along then; else they would wait for this batch and the next one.
/// A turn in which nobody else wants to run takes a microsecond.
const GATHER_TURNS: usize = 256;

/// The sequencer of a Jungle, and what waits for it.
pub(crate) struct Sequencing {
    sequencer: Arc<dyn Sequencer>,
    group: Mutex<Group>,
    /// For those who wait without having a place in a batch.
    opened: Condvar,
    /// Held while something besides edits gets its place: one at a time.
    other: Mutex<()>,
    /// How many positions were signed.
    drawings: Arc<AtomicU64>,
}

/// What has no place yet.
#[derive(Default)]
struct Group {
    /// What the branches would be, with all of it.
    editors: BTreeMap<BranchId, Editor>,
    /// The versions that those began with, each made from the one before.
    lines: BTreeMap<BranchId, Tree>,
    /// The newest of the records, if there are any.
    newest: Option<(Revision, Timestamp)>,
    /// What gathers.
    batch: Arc<Batch>,
    records: Vec<CommitRecord>,
    /// How many of these are what they are only after what was known.
    bound: usize,
    /// What has gathered that was asked for by a request: the revision, the branch and the key.
    asked: Vec<(Revision, BranchId, u64)>,
    is_under_way: bool,
    /// How many were about when something was decided last: as many are likely to be again.
    expected: usize,
    /// Nothing joins until all of it is decided.
    is_closed: bool,
    /// How many wait until nothing is left to be decided; they come before who joins.
    resting: usize,
    /// How often something that had gathered came to nothing.
    lost: u64,
}

/// A branch as it would be with all that has gathered.
pub(crate) struct Tip {
    pub(crate) tree: Snapshot,
    /// The same as long as nothing of that has come to nothing.
    pub(crate) lost: u64,
}

/// Records that are sent together.
#[derive(Default)]
struct Batch {
    /// Which of them have their places, and why not more.
    outcome: OnceLock<(Places, Option<SequenceError>)>,
    /// For those who are in it: when it is decided, or one of them has to send it.
    news: Condvar,
}

/// One's place in a batch.
struct Ticket {
    batch: Arc<Batch>,
    index: usize,
}

/// What became of it.
enum Outcome {
    Placed(Revision),
    /// Others came first.
    Behind,
}

impl Jungle {
    /// From now on commits get their places from `sequencer`. Tell it once, before anything else is
    /// committed; a second one is not taken, which `false` tells. [`Sequencer`] has an example.
    pub fn sequence_with(&self, sequencer: Arc<dyn Sequencer>) -> bool {
        self.shared.sequencing_cell().set(Sequencing::new(sequencer)).is_ok()
    }
}

impl Sequencing {
    fn new(sequencer: Arc<dyn Sequencer>) -> Sequencing {
        Sequencing {
            sequencer,
            group: Mutex::default(),
            opened: Condvar::new(),
            other: Mutex::default(),
            drawings: Arc::default(),
        }
    }

    /// What signs positions, where others may give the same.
    pub(crate) fn signer(&self) -> Option<Signer> {
        let writer = self.sequencer.signs_as()?;
        Some(Signer { writer, next: Arc::clone(&self.drawings), signs_all: false })
    }

    /// The time now.
    pub(crate) fn time(&self, clock: Timestamp) -> Timestamp {
        self.sequencer.time(clock)
    }

    /// Waits a moment, if others are to go first.
    pub(crate) fn await_turn(&self) {
        self.sequencer.await_turn();
    }

    /// What there would be of a branch with all that has gathered: who begins there has nothing to
    /// rebase over. `None` where nothing has.
    pub(crate) fn tip(&self, branch: BranchId) -> Option<Tip> {
        let mut group = lock(&self.group);
        if group.is_closed || group.is_at_rest() {
            return None;
        }
        let tree = group.version(branch)?;
        Some(Tip { tree, lost: group.lost })
    }

    /// How often something that had gathered came to nothing.
    pub(crate) fn lost(&self) -> u64 {
        lock(&self.group).lost
    }

    /// Commits all attempts as one revision, on top of whatever others do.
    pub(crate) fn commit(
        &self,
        shared: &Shared,
        attempts: &mut [Attempt<'_>],
        meta: &CommitMeta,
    ) -> Result<Revision, Failure> {
        loop {
            // Which version both have in common may not change before it has its place.
            let is_merge = attempts.iter().any(Attempt::is_merge);
            let mut group = if is_merge { self.group_at_rest() } else { self.open_group() };
            if let Some(lost) = attempts.iter().find(|attempt| attempt.is_lost(group.lost)) {
                return Err(lost.overlap(None, Vec::new(), ChangeSet::new()));
            }
            let ticket = match group.join(shared, attempts, meta) {
                Ok(ticket) => ticket,
                // It is in the way of something that may come to nothing.
                Err(Failure::Overlap(_)) if !group.is_at_rest() => {
                    group.is_closed = true;
                    self.wait_until_open(group);
                    continue;
                }
                Err(failure) => {
                    self.leave(&mut group);
                    return Err(failure);
                }
            };
            if let Outcome::Placed(revision) = self.wait(group, &ticket)? {
                return Ok(revision);
            }
        }
    }

    /// Nothing was added. If nothing else has gathered, there are no editors to keep: they would
    /// hold old versions, and hold up collections, until somebody commits here.
    fn leave(&self, group: &mut Group) {
        if group.is_at_rest() {
            group.reset();
            self.opened.notify_all();
        }
    }

    /// Commits an event that is no edit. `event` looks whether it fits to what is there, which is
    /// what it comes behind, and is asked again when others came first.
    pub(crate) fn place<E: From<NotWritten>>(
        &self,
        shared: &Shared,
        meta: &CommitMeta,
        mut event: impl FnMut() -> Result<Event, E>,
    ) -> Result<Revision, E> {
        let _other = lock(&self.other);
        loop {
            let mut group = self.group_at_rest();
            let event = event()?;
            let ticket = group.join_with(shared, meta, event);
            if let Outcome::Placed(revision) = self.wait(group, &ticket)? {
                return Ok(revision);
            }
        }
    }

    /// The group, once it takes records.
    fn open_group(&self) -> MutexGuard<'_, Group> {
        let mut group = lock(&self.group);
        loop {
            if group.records.len() >= BATCH_MAX {
                group.is_closed = true;
            }
            group = if group.resting > 0 && group.is_at_rest() {
                self.opened.wait(group).unwrap_or_else(PoisonError::into_inner)
            } else if group.is_closed || group.resting > 0 {
                self.wait_for_news(group, &self.opened)
            } else {
                return group;
            };
        }
    }

    /// The group, once nothing is under way and nothing has gathered: what is looked up while it is
    /// held is what the next record comes behind.
    fn group_at_rest(&self) -> MutexGuard<'_, Group> {
        let resting = Resting(self);
        let mut group = lock(&self.group);
        group.resting += 1;
        while !group.is_at_rest() {
            group = self.wait_for_news(group, &self.opened);
        }
        group.resting -= 1;
        mem::forget(resting);
        group.reset();
        self.opened.notify_all();
        group
    }

    /// Somebody has to be there who sends what has gathered: whoever comes by, if nobody does.
    fn wait_until_open<'g>(&'g self, mut group: MutexGuard<'g, Group>) {
        while group.is_closed {
            group = self.wait_for_news(group, &self.opened);
        }
    }

    /// Sends what has gathered, or waits until something was decided.
    fn wait_for_news<'g>(
        &'g self,
        mut group: MutexGuard<'g, Group>,
        news: &Condvar,
    ) -> MutexGuard<'g, Group> {
        if group.is_under_way {
            return news.wait(group).unwrap_or_else(PoisonError::into_inner);
        }
        if group.records.is_empty() {
            group.reset();
            self.opened.notify_all();
            return group;
        }
        self.send(group)
    }

    fn wait<'g>(
        &'g self,
        mut group: MutexGuard<'g, Group>,
        ticket: &Ticket,
    ) -> Result<Outcome, NotWritten> {
        loop {
            if let Some(outcome) = ticket.outcome() {
                return outcome;
            }
            group = self.wait_for_news(group, &ticket.batch.news);
        }
    }

    fn send<'g>(&'g self, mut group: MutexGuard<'g, Group>) -> MutexGuard<'g, Group> {
        group.is_under_way = true;
        let mut group = self.gather(group);
        let records = mem::take(&mut group.records);
        let bound = mem::take(&mut group.bound);
        let batch = mem::take(&mut group.batch);
        drop(group);
        let whole = Places { count: records.len(), first: records[0].revision };
        // A panic of the sequencer's must not leave the others waiting.
        let mut sent = Sent { sequencing: self, batch, whole, outcome: None };
        let placed = match bound {
            0 => self.sequencer.sequence_anywhere(&records),
            _ => self.sequencer.sequence(&records).map(|count| Places { count, ..whole }),
        };
        sent.outcome = Some(match placed {
            Ok(placed) => (placed, None),
            Err(error) => (Places { count: 0, ..whole }, Some(error)),
        });
        drop(sent);
        lock(&self.group)
    }

    /// Lets those join who are about to.
    fn gather<'g>(&'g self, mut group: MutexGuard<'g, Group>) -> MutexGuard<'g, Group> {
        for _ in 0..GATHER_TURNS {
            if group.is_closed || group.records.len() >= group.expected.min(BATCH_MAX) {
                break;
            }
            drop(group);
            yield_now();
            group = lock(&self.group);
        }
        group
    }
}

/// Somebody who waits for a [group at rest](Sequencing::group_at_rest), and does so no more where
/// the sequencer has panicked.
struct Resting<'s>(&'s Sequencing);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        lock(&self.0.group).resting -= 1;
        self.0.opened.notify_all();
    }
}

/// A batch that is under way.
struct Sent<'s> {
    sequencing: &'s Sequencing,
    batch: Arc<Batch>,
    /// Where all of it would have had its places.
    whole: Places,
    outcome: Option<(Places, Option<SequenceError>)>,
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| {
            let panicked = JournalError::new("the sequencer panicked");
            (Places { count: 0, ..self.whole }, Some(SequenceError::Undecided(panicked)))
        });
        let mut group = lock(&self.sequencing.group);
        group.is_under_way = false;
        let is_whole = outcome.0 == self.whole;
        self.batch.outcome.get_or_init(|| outcome);
        group.expected = self.whole.count + group.records.len();
        let next = Arc::clone(&group.batch);
        if !is_whole {
            // What was worked out on top of it has come to nothing, too.
            let none = Places { count: 0, ..self.whole };
            mem::take(&mut group.batch).outcome.get_or_init(|| (none, None));
            group.records.clear();
            group.bound = 0;
            group.asked.clear();
            group.lost += 1;
        }
        if group.records.is_empty() {
            group.reset();
        }
        drop(group);
        self.batch.news.notify_all();
        // Who is in what has gathered has to send it; all are told if there is nothing to send.
        if is_whole {
            next.news.notify_one()
        } else {
            next.news.notify_all()
        }
        self.sequencing.opened.notify_all();
    }
}

impl Group {
    fn is_at_rest(&self) -> bool {
        self.records.is_empty() && !self.is_under_way
    }

    /// Nothing waits any more: begin with what is there.
    fn reset(&mut self) {
        self.editors.clear();
        self.lines.clear();
        self.asked.clear();
        self.newest = None;
        self.is_closed = false;
    }

    /// What has gathered of a branch, as a version: the next one of its line, where that is one, so
    /// that what it replaces is used again as soon as nobody sees it.
    fn version(&mut self, branch: BranchId) -> Option<Snapshot> {
        let editor = self.editors.remove(&branch)?;
        let version = self.work_out(|group| group.publish(branch, editor));
        self.editors.insert(branch, Editor::new(version.clone()));
        Some(version)
    }

    fn publish(&mut self, branch: BranchId, editor: Editor) -> Snapshot {
        if !editor.is_changed() {
            return editor.base().clone();
        }
        let base = editor.base().version();
        let line = self.lines.remove(&branch).filter(|line| line.version_id().version() == base);
        let mut line = line.unwrap_or_else(|| Tree::from_snapshot(editor.base()));
        line.publish(editor);
        let version = line.snapshot();
        self.lines.insert(branch, line);
        version
    }

    /// Works something out in the editors. Where part of a tree cannot be read, or a bug is met,
    /// that unwinds, and leaves them with what no record says: nothing is added then until all that
    /// has gathered is decided.
    fn work_out<T>(&mut self, work: impl FnOnce(&mut Group) -> T) -> T {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(done) => done,
            Err(cause) => {
                self.is_closed = true;
                resume_unwind(cause)
            }
        }
    }

    /// Works out what the attempts come to on top of all that has gathered, and adds that.
    fn join(
        &mut self,
        shared: &Shared,
        attempts: &mut [Attempt<'_>],
        meta: &CommitMeta,
    ) -> Result<Ticket, Failure> {
        if self.is_at_rest() {
            // What was tried last may have left something, of heads that are old by now.
            self.reset();
        }
        // Before the heads are looked at: if they are newer, the record is refused for its number.
        let (newest, time) = self.newest(shared);
        self.refuse_repeated(shared, attempts, meta)?;
        attempts.iter().try_for_each(Attempt::check_merge_in_sequence)?;
        let time = self.work_out(|group| group.place(shared, attempts, time))?;
        let event = Event::Edited(attempts.iter().filter_map(Attempt::record).collect());
        let revision = newest.next();
        if let Some(RequestId { key, .. }) = meta.request() {
            self.asked.extend(attempts.iter().map(|attempt| (revision, attempt.branch(), key)));
        }
        let record = CommitRecord { revision, time, meta: meta.clone(), event };
        let is_anywhere = matches!(attempts, [only] if only.is_anywhere());
        self.bound += usize::from(!is_anywhere || meta.request().is_some());
        Ok(self.push(record))
    }

    /// Works out what the attempts come to, and does it; tells the time of that.
    fn place(
        &mut self,
        shared: &Shared,
        attempts: &mut [Attempt<'_>],
        mut time: Timestamp,
    ) -> Result<Timestamp, Failure> {
        for attempt in attempts.iter_mut() {
            time = time.max(attempt.newest_time()?);
            let editor = self.editors.remove(&attempt.branch());
            let editor = editor.unwrap_or_else(|| attempt.editor_of_head());
            let (editor, placed) = attempt.place_on(editor);
            self.editors.insert(attempt.branch(), editor);
            placed?;
        }
        for attempt in attempts.iter() {
            let editor = self.editors.get_mut(&attempt.branch()).expect("put in above");
            if let Err(error) = apply(editor, attempt.placed_changes()) {
                // It may be changed in part.
                self.is_closed = true;
                return Err(NotWritten::NoRoom(error).into());
            }
        }
        Ok(time.max(shared.now()))
    }

    /// Refuses what was asked for before. What may come to nothing is in its way.
    fn refuse_repeated(
        &mut self,
        shared: &Shared,
        attempts: &[Attempt<'_>],
        meta: &CommitMeta,
    ) -> Result<(), Failure> {
        let Some(RequestId { key, .. }) = meta.request() else { return Ok(()) };
        // Before the heads are looked at: what is not found here any more is found there.
        let settled = shared.counter.settled();
        self.asked.retain(|(revision, ..)| *revision > settled);
        for attempt in attempts {
            let its_own = (attempt.branch(), key);
            if self.asked.iter().any(|&(_, branch, key)| (branch, key) == its_own) {
                return Err(attempt.overlap(None, Vec::new(), ChangeSet::new()));
            }
        }
        attempts.iter().try_for_each(|attempt| attempt.refuse_repeated(meta))?;
        Ok(())
    }

    /// Adds what is no edit. What would follow it does not fit to what is there before.
    fn join_with(&mut self, shared: &Shared, meta: &CommitMeta, event: Event) -> Ticket {
        let (newest, time) = self.newest(shared);
        let time = time.max(shared.now());
        let (revision, meta) = (newest.next(), meta.clone());
        let ticket = self.push(CommitRecord { revision, time, meta, event });
        self.bound += 1;
        self.is_closed = true;
        ticket
    }

    fn push(&mut self, record: CommitRecord) -> Ticket {
        let index = self.records.len();
        self.newest = Some((record.revision, record.time));
        self.records.push(record);
        Ticket { batch: Arc::clone(&self.batch), index }
    }

    /// The newest revision with all that has gathered, and its time.
    fn newest(&self, shared: &Shared) -> (Revision, Timestamp) {
        self.newest.unwrap_or_else(|| (shared.counter.settled(), Timestamp::from_micros(i64::MIN)))
    }
}

impl Batch {
    /// Is its first record too long for a place?
    fn is_too_long(&self) -> bool {
        matches!(self.outcome.get(), Some((_, Some(SequenceError::TooLong(_)))))
    }
}

impl Places {
    /// The revision that one of them is.
    pub(crate) fn revision(&self, index: usize) -> Revision {
        Revision::new(self.first.number() + index as u64)
    }
}

impl Ticket {
    fn outcome(&self) -> Option<Result<Outcome, NotWritten>> {
        let (placed, error) = self.batch.outcome.get()?;
        Some(match error {
            _ if self.index < placed.count => Ok(Outcome::Placed(placed.revision(self.index))),
            None => Ok(Outcome::Behind),
            // What was only sent along with it is tried again.
            Some(SequenceError::TooLong(_)) if self.index > 0 => Ok(Outcome::Behind),
            Some(SequenceError::Refused(error) | SequenceError::TooLong(error)) => {
                Err(NotWritten::Refused(error.clone()))
            }
            Some(SequenceError::Undecided(error)) => Err(NotWritten::Undecided(error.clone())),
        })
    }
}

impl From<SequenceError> for JournalError {
    fn from(error: SequenceError) -> JournalError {
        let (SequenceError::Refused(cause)
        | SequenceError::TooLong(cause)
        | SequenceError::Undecided(cause)) = error;
        cause
    }
}
