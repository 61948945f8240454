//! Publishing what was committed here: the oldest entries get their places, in their order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use jungle_db::{CommitMeta, JournalError, NotWritten, Revision, Series, TreeHandle};
use jungle_tree::{Change, ChangeSet, Snapshot, stands};

use super::error::LocalError;
use super::line::{Pending, Then, adds_one, frozen, rebased};
use super::writers::{self, Opening, note_opened, note_settled, standing_in};
use super::{Local, LocalId};

/// So long it is waited after something went wrong.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// Entries gather for no longer than this.
const GATHER_MAX: Duration = Duration::from_millis(50);
/// So many entries get their places together at most.
const SERIES_MAX: usize = 1024;
/// So many have their places before that is written down, unless there is nothing else to do. Until
/// then they are read back after a crash, and found to have them.
const GONE_MAX: usize = 4096;
/// Entries that are one commit together have no more bytes than this.
const TOGETHER_BYTES_MAX: usize = 64 << 10;

/// Entries that are to be published.
struct Oldest {
    /// Their branches, and what the first of each was done on.
    lines: Vec<(TreeHandle, Snapshot)>,
    /// Which of the branches, and the entry; in their order.
    entries: Vec<(usize, Arc<Pending>)>,
}

/// Entries that get their places.
struct Placing<'p, 's> {
    series: &'p mut Series<'s>,
    writers: &'p TreeHandle,
    writer: u64,
    /// Entries up to this one have their places.
    settled: u64,
    /// In which opening they get them, until that is noted.
    opening: Option<Opening>,
    /// The branches, and what the next entry of each was done on.
    lines: Vec<(&'p TreeHandle, Then)>,
    together: Option<Together<'p>>,
    /// How many commits were added.
    added: usize,
}

/// Entries of one branch and author, one after the other, that each only add a node: they are one
/// commit. Nothing that one of them says is lost in the next.
struct Together<'p> {
    line: usize,
    meta: &'p CommitMeta,
    changes: Vec<Change>,
    bytes: usize,
    newest: u64,
}

/// Why no more entries are added to those that wait for their place.
enum Unplaced {
    /// There are so many.
    Full,
    /// It contradicts what others did.
    Contradicts,
    Failed(LocalError),
}

impl Local {
    /// Publishes until it is over.
    pub(super) fn publish_all(&self) {
        loop {
            let state = self.lock();
            let is_idle = |state: &mut super::State| !state.is_over && state.lines.is_empty();
            let state = self.news.wait_while(state, is_idle);
            if state.unwrap_or_else(PoisonError::into_inner).is_over {
                return;
            }
            let begun = Instant::now();
            let Err(error) = self.publish(SERIES_MAX) else {
                self.gather(begun.elapsed());
                continue;
            };
            tracing::debug!(%error, "local commits are not published yet");
            let mut state = self.lock();
            state.error = Some(Arc::new(error));
            let waited = self.news.wait_timeout_while(state, AGAIN_AFTER, |state| !state.is_over);
            drop(waited);
        }
    }

    /// Lets entries gather for twice as long as the last ones took to be published: of a busy
    /// server there are fewer messages then, each of more, and those who post have the processor
    /// meanwhile.
    fn gather(&self, took: Duration) {
        let waited = (2 * took).min(GATHER_MAX);
        drop(self.news.wait_timeout_while(self.lock(), waited, |state| !state.is_over));
    }

    /// Publishes the oldest entry; gives its name, or `None` when there is none. A server does this
    /// by itself. One that contradicts what others did is refused by this, and named all the same.
    ///
    /// # Errors
    /// When it has no place yet, or that is not known: it is tried again by the next call, and is
    /// never published twice. A panic of what is called by this, as of a log of one's own, is told
    /// so, too: [`LocalError::BrokenOff`].
    pub fn publish_next(&self) -> Result<Option<LocalId>, LocalError> {
        self.publish(1)
    }

    /// Publishes so many of the oldest entries, as far as they get their places together; gives the
    /// name of the first.
    fn publish(&self, most: usize) -> Result<Option<LocalId>, LocalError> {
        let _turn = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        // Else what was handed out would be taken for what was never sent, and whoever publishes
        // for good would do it for the last time, and nobody would hear of it.
        let published = catch_unwind(AssertUnwindSafe(|| self.publish_in_turn(most)));
        published.unwrap_or_else(|_| {
            self.lock().is_undecided = true;
            Err(LocalError::BrokenOff)
        })
    }

    fn publish_in_turn(&self, most: usize) -> Result<Option<LocalId>, LocalError> {
        let oldest = self.oldest(most)?;
        let Some((_, first)) = oldest.entries.first() else { return Ok(None) };
        let id = LocalId { writer: self.writer, number: first.number };
        let placed = match self.place_all(&oldest) {
            Ok(true) => Ok(()),
            Ok(false) => self.settle(),
            // It is said again each time, until its entries are refused.
            Err(deleted @ LocalError::NotPublished(NotWritten::Deleted)) => {
                self.settle().and(Err(deleted))
            }
            Err(error) => Err(error),
        };
        let mut state = self.lock();
        state.is_undecided = match &placed {
            Ok(()) => false,
            Err(LocalError::NotPublished(NotWritten::Undecided(_))) => true,
            Err(_) => state.is_undecided,
        };
        if state.is_undecided {
            return placed.map(|()| None);
        }
        // This finds the same contradiction, and refuses what has it; or that it is settled, for
        // which nothing new need be there.
        (state.handed, state.seen) = (0, Revision::default());
        placed?;
        self.advance(&mut state)?;
        state.error = None;
        if state.lines.is_empty() || state.unsaved.gone.len() >= GONE_MAX {
            // What has its place is to be on disk before; nobody else waits for that.
            let seen = state.seen;
            drop(state);
            self.jungle.wait_until(seen, self.usual).map_err(LocalError::Outbox)?;
            self.save(&mut self.lock())?;
        }
        Ok(Some(id))
    }

    /// Finds out what became of what was handed out before, where that is not known: what was sent
    /// together with what removes a contradiction is not to be refused for that, and get its place.
    fn settle(&self) -> Result<(), LocalError> {
        if !self.lock().is_undecided {
            return Ok(());
        }
        let appender = self.appender.upgrade().ok_or(LocalError::Left)?;
        appender.settle().map_err(|error| {
            LocalError::NotPublished(NotWritten::Refused(JournalError::new(error)))
        })?;
        self.lock().is_undecided = false;
        Ok(())
    }

    /// Gives entries their places, as many as get them together, or finds that the first one
    /// contradicts what others did. Tells whether it is known by that what became of all that was
    /// sent before.
    fn place_all(&self, oldest: &Oldest) -> Result<bool, LocalError> {
        let writers = writers::open(&self.jungle)?;
        let mut branches: Vec<&TreeHandle> =
            oldest.lines.iter().map(|(branch, _)| branch).collect();
        branches.push(&writers);
        let mut entries = &oldest.entries[..];
        loop {
            let worked_out = self.jungle.in_series(&branches, |series| {
                let lines = oldest.lines.iter().map(|(branch, base)| (branch, base.clone()));
                place(series, &writers, (self.writer, &self.openings), lines, entries)
            });
            let Some(placed) = worked_out.map_err(LocalError::NotPublished)? else {
                return Err(LocalError::Left);
            };
            match placed.value {
                (0, Err(Unplaced::Failed(error))) => return Err(error),
                // By itself it is told so.
                _ if placed.is_too_long => entries = &entries[..1],
                // Others came first.
                (1.., _) | (0, Err(Unplaced::Full)) if placed.commits == 0 => {}
                _ => return Ok(placed.commits > 0),
            }
        }
    }

    /// The oldest entries of all branches, in their order: they are handed out.
    fn oldest(&self, most: usize) -> Result<Oldest, LocalError> {
        let mut state = self.lock();
        if state.is_over {
            return Err(LocalError::Left);
        }
        self.advance(&mut state)?;
        // What gets its place behind a refused entry counts that as settled: after a crash it would
        // be taken for one that has its place, unless it is written down before.
        if !state.unsaved.refused.is_empty() {
            self.save(&mut state)?;
        }
        let lines = state.lines.values().map(|line| (line.branch.clone(), line.base.clone()));
        let entries = state.lines.values().enumerate().flat_map(|(at, line)| {
            line.pending.iter().take(most).map(move |entry| (at, Arc::clone(entry)))
        });
        let (lines, mut entries) = (lines.collect(), entries.collect::<Vec<_>>());
        entries.sort_by_key(|(_, entry)| entry.number);
        entries.truncate(most);
        let newest = entries.last().map_or(0, |(_, entry)| entry.number);
        // Those before may be on their way still.
        state.handed = state.handed.max(newest);
        Ok(Oldest { lines, entries })
    }
}

/// Does entries on what has gathered, and notes that they have their places, in the same commits;
/// tells how many commits that are, and why there are not more.
fn place<'p>(
    series: &'p mut Series<'_>,
    writers: &'p TreeHandle,
    (writer, openings): (u64, &[Opening]),
    lines: impl Iterator<Item = (&'p TreeHandle, Snapshot)>,
    entries: &'p [(usize, Arc<Pending>)],
) -> (usize, Result<(), Unplaced>) {
    let standing = match standing_in(series.root(writers), writer) {
        Ok(standing) if standing.copied(openings).is_none() => standing,
        Ok(_) => return (0, Err(Unplaced::Failed(LocalError::Copied { writer }))),
        Err(error) => return (0, Err(Unplaced::Failed(error))),
    };
    let settled = standing.settled;
    let opening = openings.last().copied().filter(|now| standing.opened != Some(now.id));
    let lines = lines.map(|(branch, base)| (branch, Then::new(base))).collect();
    let (together, added) = (None, 0);
    let mut placing = Placing { series, writers, writer, settled, opening, lines, together, added };
    let why = entries.iter().try_for_each(|(line, entry)| placing.place(*line, entry));
    let ended = placing.commit_together();
    (placing.added, why.and(ended))
}

impl<'p> Placing<'p, '_> {
    fn place(&mut self, line: usize, entry: &'p Arc<Pending>) -> Result<(), Unplaced> {
        if entry.number > self.settled && !self.join(line, entry) {
            self.commit_together()?;
            if self.series.is_full() {
                return Err(Unplaced::Full);
            }
            self.begin(line, entry)?;
        }
        self.lines[line].1.pass(entry);
        Ok(())
    }

    /// Adds an entry to those that are one commit; tells whether it can be.
    fn join(&mut self, line: usize, entry: &'p Pending) -> bool {
        let Some(together) = &mut self.together else { return false };
        let bytes = together.bytes.saturating_add(entry.bytes);
        let joins = together.line == line
            && *together.meta == entry.meta
            && bytes <= TOGETHER_BYTES_MAX
            && adds_one(&entry.changes, self.series.root(self.lines[line].0));
        if joins {
            together.changes.extend_from_slice(&entry.changes);
            (together.bytes, together.newest) = (bytes, entry.number);
        }
        joins
    }

    /// Commits an entry, or begins with it what others may join.
    fn begin(&mut self, line: usize, entry: &'p Pending) -> Result<(), Unplaced> {
        let (branch, then) = &mut self.lines[line];
        let branch: &TreeHandle = branch;
        if adds_one(&entry.changes, self.series.root(branch)) {
            let (changes, meta) = (entry.changes.to_vec(), &entry.meta);
            let (bytes, newest) = (entry.bytes, entry.number);
            self.together = Some(Together { line, meta, changes, bytes, newest });
            return Ok(());
        }
        let changes = changes_on(self.series, branch, then, entry)?;
        self.commit(branch, &entry.meta, changes, entry.number)
    }

    fn commit_together(&mut self) -> Result<(), Unplaced> {
        let Some(Together { line, meta, changes, newest, .. }) = self.together.take() else {
            return Ok(());
        };
        self.commit(self.lines[line].0, meta, changes.into(), newest)
    }

    fn commit(
        &mut self,
        branch: &TreeHandle,
        meta: &CommitMeta,
        changes: ChangeSet,
        number: u64,
    ) -> Result<(), Unplaced> {
        let opened = self.opening.take().map(|opening| note_opened(self.writer, opening));
        let noted = opened.into_iter().chain([note_settled(self.writer, number)]);
        // A record has one edit of a branch: whoever follows it locks them all at once. What the
        // entry says of its own number is noted over, or it would be published again and again.
        let is_noted_there = branch.branch_id() == self.writers.branch_id();
        let before = if is_noted_there { &changes[..] } else { &[] };
        let noted: Vec<Change> = before.iter().cloned().chain(noted).collect();
        let mut edits = vec![(self.writers, ChangeSet::from(noted))];
        if !is_noted_there && !changes.is_empty() {
            edits.push((branch, changes));
        }
        let committed = self.series.commit(meta, edits);
        committed.map_err(|error| Unplaced::Failed(LocalError::NotPublished(error)))?;
        self.added += 1;
        Ok(())
    }
}

/// The changes of an entry as they are to be done on what has gathered.
fn changes_on(
    series: &mut Series<'_>,
    branch: &TreeHandle,
    then: &mut Then,
    entry: &Pending,
) -> Result<ChangeSet, Unplaced> {
    let then = then.editor().map_err(Unplaced::Failed)?;
    if stands(&entry.changes, then.root(), series.root(branch)) {
        return Ok(entry.changes.clone());
    }
    let rebased = rebased(&frozen(then), &entry.changes, &series.version(branch));
    let rebased = rebased.map_err(|_| Unplaced::Contradicts)?;
    Ok(rebased.unwrap_or_else(|| entry.changes.clone()))
}
