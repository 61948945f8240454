//! Publishing what was committed here: the oldest entries get their places, in their order.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jungle_db::{Revision, Series, TreeHandle};
use jungle_tree::{ChangeSet, Snapshot, stands};

use super::error::LocalError;
use super::line::{Pending, rebased};
use super::writers::{self, settle};
use super::{Local, LocalId};

/// So long it is waited after something went wrong.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// So many entries get their places together at most.
const SERIES_MAX: usize = 1024;
/// So many have their places before that is written down, unless there is nothing else to do. Until
/// then they are read back after a crash, and found to have them.
const GONE_MAX: usize = 4096;

/// An entry that is to be published.
struct Next {
    branch: TreeHandle,
    /// What it was done on.
    base: Snapshot,
    entry: Pending,
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
        let Some(first) = oldest.first() else { return Ok(None) };
        let id = LocalId { writer: self.writer, number: first.entry.number };
        let writers = writers::open(&self.jungle)?;
        let mut branches: Vec<&TreeHandle> = oldest.iter().map(|next| &next.branch).collect();
        branches.push(&writers);
        branches.sort_by_key(|branch| branch.branch_id());
        branches.dedup_by_key(|branch| branch.branch_id());
        loop {
            let worked_out = self.jungle.in_series(&branches, |series| {
                let mut added = 0;
                let mut each = oldest.iter();
                let why = each.try_for_each(|next| self.place(series, &writers, next, &mut added));
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
    fn oldest(&self, most: usize) -> Result<Vec<Next>, LocalError> {
        let mut state = self.lock();
        if state.is_over {
            return Err(LocalError::Left);
        }
        self.advance(&mut state)?;
        let mut oldest = Vec::new();
        for line in state.lines.values() {
            let mut base = &line.base;
            for entry in line.pending.iter().take(most) {
                let branch = line.branch.clone();
                oldest.push(Next { branch, base: base.clone(), entry: entry.clone() });
                base = &entry.after;
            }
        }
        oldest.sort_by_key(|next| next.entry.number);
        oldest.truncate(most);
        Ok(oldest)
    }

    /// Does an entry on what has gathered, and notes that it has its place, in one commit.
    fn place(
        &self,
        series: &mut Series<'_>,
        writers: &TreeHandle,
        Next { branch, base, entry }: &Next,
        added: &mut usize,
    ) -> Result<(), Unplaced> {
        if series.is_full() {
            return Err(Unplaced::Full);
        }
        let noted = settle(series.root(writers), self.writer, entry.number);
        let Some(noted) = noted.map_err(Unplaced::Failed)? else { return Ok(()) };
        let mut edits = vec![(writers, ChangeSet::from(vec![noted]))];
        let changes = if stands(&entry.changes, base.root(), series.root(branch)) {
            entry.changes.clone()
        } else {
            let version = series.version(branch);
            rebased(base, &entry.changes, &version).map_err(|_| Unplaced::Contradicts)?
        };
        if !changes.is_empty() {
            edits.push((branch, changes));
        }
        let committed = series.commit(&entry.meta, edits);
        committed.map_err(|error| Unplaced::Failed(LocalError::NotPublished(error)))?;
        *added += 1;
        Ok(())
    }
}
