//! Publishing what was committed here: the oldest entries get their places, in their order.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jungle_db::{Revision, Series, TreeHandle};
use jungle_tree::{ChangeSet, Editor, Snapshot, apply, stands};

use super::error::LocalError;
use super::line::{Pending, frozen, rebased};
use super::writers::{self, settle};
use super::{Local, LocalId};

/// So long it is waited after something went wrong.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// So many entries get their places together at most.
const SERIES_MAX: usize = 1024;
/// So many have their places before that is written down, unless there is nothing else to do. Until
/// then they are read back after a crash, and found to have them.
const GONE_MAX: usize = 4096;

/// Entries that are to be published.
struct Oldest {
    /// Their branches, and what the first of each was done on.
    lines: Vec<(TreeHandle, Snapshot)>,
    /// Which of the branches, and the entry; in their order.
    entries: Vec<(usize, Arc<Pending>)>,
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
            let Err(error) = self.publish(SERIES_MAX) else { continue };
            tracing::debug!(%error, "local commits are not published yet");
            let mut state = self.lock();
            state.error = Some(Arc::new(error));
            let waited = self.news.wait_timeout_while(state, AGAIN_AFTER, |state| !state.is_over);
            drop(waited);
        }
    }

    /// Publishes the oldest entry; gives its name, or `None` when there is none. A server does this
    /// by itself. One that contradicts what others did is refused by this, and named all the same.
    ///
    /// # Errors
    /// When it has no place yet, or that is not known: it is tried again by the next call, and is
    /// never published twice.
    pub fn publish_next(&self) -> Result<Option<LocalId>, LocalError> {
        self.publish(1)
    }

    /// Publishes so many of the oldest entries, as far as they get their places together; gives the
    /// name of the first.
    fn publish(&self, most: usize) -> Result<Option<LocalId>, LocalError> {
        let oldest = self.oldest(most)?;
        let Some((_, first)) = oldest.entries.first() else { return Ok(None) };
        let id = LocalId { writer: self.writer, number: first.number };
        let writers = writers::open(&self.jungle)?;
        let mut branches: Vec<&TreeHandle> =
            oldest.lines.iter().map(|(branch, _)| branch).collect();
        branches.push(&writers);
        loop {
            let worked_out = self.jungle.in_series(&branches, |series| {
                let thens = oldest.lines.iter().map(|(_, base)| Editor::new(base.clone()));
                let (mut thens, mut added): (Vec<Editor>, usize) = (thens.collect(), 0);
                let why = oldest.entries.iter().try_for_each(|(line, entry)| {
                    let (branch, then) = (&oldest.lines[*line].0, &mut thens[*line]);
                    added += usize::from(self.place(series, &writers, branch, then, entry)?);
                    Ok(())
                });
                (added, why)
            });
            let Some(placed) = worked_out.map_err(LocalError::NotPublished)? else {
                return Err(LocalError::Left);
            };
            match placed.value {
                (0, Err(Unplaced::Failed(error))) => return Err(error),
                // Others came first.
                (1.., _) | (0, Err(Unplaced::Full)) if placed.commits == 0 => {}
                _ => break,
            }
        }
        let mut state = self.lock();
        // This finds the same contradiction, and refuses what has it; or that it is settled, for
        // which nothing new need be there.
        state.seen = Revision::default();
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

    /// The oldest entries of all branches, in their order.
    fn oldest(&self, most: usize) -> Result<Oldest, LocalError> {
        let mut state = self.lock();
        if state.is_over {
            return Err(LocalError::Left);
        }
        self.advance(&mut state)?;
        let lines = state.lines.values().map(|line| (line.branch.clone(), line.base.clone()));
        let entries = state.lines.values().enumerate().flat_map(|(at, line)| {
            line.pending.iter().take(most).map(move |entry| (at, Arc::clone(entry)))
        });
        let (lines, mut entries) = (lines.collect(), entries.collect::<Vec<_>>());
        entries.sort_by_key(|(_, entry)| entry.number);
        entries.truncate(most);
        Ok(Oldest { lines, entries })
    }

    /// Does an entry on what has gathered, and notes that it has its place, in one commit; tells
    /// whether it had none before.
    fn place(
        &self,
        series: &mut Series<'_>,
        writers: &TreeHandle,
        branch: &TreeHandle,
        then: &mut Editor,
        entry: &Pending,
    ) -> Result<bool, Unplaced> {
        if series.is_full() {
            return Err(Unplaced::Full);
        }
        let noted = settle(series.root(writers), self.writer, entry.number);
        let noted = noted.map_err(Unplaced::Failed)?;
        let is_new = noted.is_some();
        if let Some(noted) = noted {
            let changes = match stands(&entry.changes, then.root(), series.root(branch)) {
                true => None,
                false => rebased(&frozen(then), &entry.changes, &series.version(branch))
                    .map_err(|_| Unplaced::Contradicts)?,
            };
            let changes = changes.unwrap_or_else(|| entry.changes.clone());
            let mut edits = vec![(writers, ChangeSet::from(vec![noted]))];
            if !changes.is_empty() {
                edits.push((branch, changes));
            }
            let committed = series.commit(&entry.meta, edits);
            committed.map_err(|error| Unplaced::Failed(LocalError::NotPublished(error)))?;
        }
        let done = apply(then, &entry.changes);
        done.map_err(|error| Unplaced::Failed(LocalError::NoRoom(error)))?;
        Ok(is_new)
    }
}
