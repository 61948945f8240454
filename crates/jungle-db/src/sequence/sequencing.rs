//! Waiting for a place: whoever comes by sends what has gathered, and the others wait for news.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jungle_tree::{ChangeSet, Snapshot};

use super::batch::{Batch, Outcome, Ticket};
use super::group::Group;
use super::{Places, SequenceError, Sequencer};
use crate::commit::draft::Signer;
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure};
use crate::head::lock;
use crate::journal::{BranchId, Event, JournalError};
use crate::jungle::Shared;
use crate::revision::{CommitMeta, Revision, Timestamp};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, yield_now};

/// So many records are sent together at most. More wait until these are decided, so that nothing
/// is worked out in editors that began long ago.
pub(super) const BATCH_MAX: usize = 1024;
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

/// A branch as it would be with all that has gathered.
pub(crate) struct Tip {
    pub(crate) tree: Snapshot,
    /// The same as long as nothing of that has come to nothing.
    pub(crate) lost: u64,
}

impl Sequencing {
    pub(super) fn new(sequencer: Arc<dyn Sequencer>) -> Sequencing {
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
    pub(super) fn leave(&self, group: &mut Group) {
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
    pub(super) fn open_group(&self) -> MutexGuard<'_, Group> {
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
    pub(super) fn wait_for_news<'g>(
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
