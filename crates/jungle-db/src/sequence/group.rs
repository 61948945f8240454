//! What gathers behind a batch that is on its way: records, and what branches would be with them.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use jungle_tree::{ChangeSet, Editor, Snapshot, Tree, apply};

use super::batch::{Batch, Ticket};
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure};
use crate::journal::{BranchId, CommitRecord, Event};
use crate::jungle::Shared;
use crate::revision::{CommitMeta, RequestId, Revision, Timestamp};

/// What has no place yet.
#[derive(Default)]
pub(super) struct Group {
    /// What the branches would be, with all of it.
    pub(super) editors: BTreeMap<BranchId, Editor>,
    /// The versions that those began with, each made from the one before.
    lines: BTreeMap<BranchId, Tree>,
    /// The newest of the records, if there are any.
    newest: Option<(Revision, Timestamp)>,
    /// What gathers.
    pub(super) batch: Arc<Batch>,
    pub(super) records: Vec<CommitRecord>,
    /// How many of these are what they are only after what was known.
    pub(super) bound: usize,
    /// What has gathered that was asked for by a request: the revision, the branch and the key.
    pub(super) asked: Vec<(Revision, BranchId, u64)>,
    pub(super) is_under_way: bool,
    /// How many were about when something was decided last: as many are likely to be again.
    pub(super) expected: usize,
    /// Nothing joins until all of it is decided.
    pub(super) is_closed: bool,
    /// How many wait until nothing is left to be decided; they come before who joins.
    pub(super) resting: usize,
    /// How often something that had gathered came to nothing.
    pub(super) lost: u64,
}

impl Group {
    pub(super) fn is_at_rest(&self) -> bool {
        self.records.is_empty() && !self.is_under_way
    }

    /// Nothing waits any more: begin with what is there.
    pub(super) fn reset(&mut self) {
        self.editors.clear();
        self.lines.clear();
        self.asked.clear();
        self.newest = None;
        self.is_closed = false;
    }

    /// What has gathered of a branch, as a version: the next one of its line, where that is one, so
    /// that what it replaces is used again as soon as nobody sees it.
    pub(super) fn version(&mut self, branch: BranchId) -> Option<Snapshot> {
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
    pub(super) fn work_out<T>(&mut self, work: impl FnOnce(&mut Group) -> T) -> T {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(done) => done,
            Err(cause) => {
                self.is_closed = true;
                resume_unwind(cause)
            }
        }
    }

    /// Works out what the attempts come to on top of all that has gathered, and adds that.
    pub(super) fn join(
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
    pub(super) fn join_with(&mut self, shared: &Shared, meta: &CommitMeta, event: Event) -> Ticket {
        let (newest, time) = self.newest(shared);
        let time = time.max(shared.now());
        let (revision, meta) = (newest.next(), meta.clone());
        let ticket = self.push(CommitRecord { revision, time, meta, event });
        self.bound += 1;
        self.is_closed = true;
        ticket
    }

    pub(super) fn push(&mut self, record: CommitRecord) -> Ticket {
        let index = self.records.len();
        self.newest = Some((record.revision, record.time));
        self.records.push(record);
        Ticket { batch: Arc::clone(&self.batch), index }
    }

    /// The newest revision with all that has gathered, and its time.
    pub(super) fn newest(&self, shared: &Shared) -> (Revision, Timestamp) {
        self.newest.unwrap_or_else(|| (shared.counter.settled(), Timestamp::from_micros(i64::MIN)))
    }
}
