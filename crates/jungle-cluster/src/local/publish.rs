//! Publishing what was committed here: one entry after the other gets its place.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jungle_db::{CommitOptions, Durability, JungleTransaction, Revision, UpdateError};
use jungle_tree::apply;

use super::error::LocalError;
use super::line::{Line, rebased};
use super::writers::settle;
use super::{Local, LocalId};

/// So long it is waited after something went wrong.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// The oldest entry.
struct Next {
    number: u64,
    /// Its branch, with this entry alone.
    line: Line,
}

/// Why an entry has no place.
enum Unplaced {
    /// It contradicts what others did.
    Contradicts,
    Failed(LocalError),
}

impl From<LocalError> for Unplaced {
    fn from(error: LocalError) -> Unplaced {
        Unplaced::Failed(error)
    }
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
            let Err(error) = self.publish_next() else { continue };
            tracing::debug!(%error, "a local commit is not published yet");
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
        let Some(next) = self.next()? else { return Ok(None) };
        let meta = next.line.pending[0].meta.clone();
        // The log has it: it need not be waited for the disk here.
        let durability = Some(Durability::Memory);
        let options = CommitOptions { meta, durability, ..CommitOptions::default() };
        let placed = self.jungle.update(&options, |tx| self.place(tx, &next));
        match placed {
            Ok(_) | Err(UpdateError::Closure(Unplaced::Contradicts)) => {}
            Err(UpdateError::Closure(Unplaced::Failed(error))) => return Err(error),
            Err(UpdateError::NotWritten(error)) => return Err(LocalError::NotPublished(error)),
            Err(_) => return Ok(None),
        }
        let mut state = self.lock();
        // This finds the same contradiction, and refuses what has it; or that it is settled, for
        // which nothing new need be there.
        state.seen = Revision::default();
        self.advance(&mut state)?;
        state.error = None;
        if state.lines.is_empty() {
            self.save(&mut state)?;
        }
        Ok(Some(LocalId { writer: self.writer, number: next.number }))
    }

    fn next(&self) -> Result<Option<Next>, LocalError> {
        let mut state = self.lock();
        if state.is_over {
            return Err(LocalError::Left);
        }
        self.advance(&mut state)?;
        let first = |line: &Line| line.pending.front().map(|entry| entry.number);
        let oldest = state.lines.values().min_by_key(|line| first(line).unwrap_or(u64::MAX));
        let Some((line, entry)) = oldest.and_then(|line| Some((line, line.pending.front()?)))
        else {
            return Ok(None);
        };
        let mut alone = Line::new(line.branch.clone(), line.base.clone(), line.at);
        alone.pending.push_back(entry.clone());
        Ok(Some(Next { number: entry.number, line: alone }))
    }

    /// Does the entry on what is there now, and notes that it has its place, in one commit.
    fn place(&self, tx: &mut JungleTransaction, next: &Next) -> Result<(), Unplaced> {
        if !settle(tx, self.writer, next.number)? {
            return Ok(());
        }
        let draft = tx.on(&next.line.branch);
        let entry = &next.line.pending[0];
        let changes = rebased(&next.line.base, &entry.changes, draft.base());
        let changes = changes.map_err(|_| Unplaced::Contradicts)?;
        if changes.is_empty() {
            return Ok(());
        }
        draft.bulk(|editor| apply(editor, &changes)).map_err(LocalError::NoRoom)?;
        Ok(())
    }
}
