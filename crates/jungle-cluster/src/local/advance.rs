//! Keeping what was done here on top of what others do, and writing down how that stands.

use jungle_db::{Revision, TreeHandle};
use jungle_tree::Snapshot;

use super::error::LocalError;
use super::state::{Rewrite, State, Unsaved};
use super::{Local, writers};

impl Local {
    /// The newest version of a branch here, and the newest revision that it knows of.
    pub(super) fn tip(
        &self,
        state: &mut State,
        branch: &TreeHandle,
    ) -> Result<(Snapshot, Revision), LocalError> {
        self.at_newest(|now| {
            self.advance_to(state, now)?;
            if let Some(line) = state.lines.get(&branch.branch_id()) {
                return Ok((line.tip(), line.at));
            }
            Ok((Snapshot::clone(&*branch.at(now)?), now))
        })
    }

    /// Brings the lines on top of what the log has by now.
    pub(super) fn advance(&self, state: &mut State) -> Result<(), LocalError> {
        self.at_newest(|now| self.advance_to(state, now))
    }

    /// Does something with the newest revision, and again if that is not kept in the history any
    /// more, since it has a successor.
    fn at_newest<T>(
        &self,
        mut f: impl FnMut(Revision) -> Result<T, LocalError>,
    ) -> Result<T, LocalError> {
        loop {
            let now = self.jungle.revision();
            match f(now) {
                Err(LocalError::Revision(_)) if self.jungle.revision() > now => {}
                result => return result,
            }
        }
    }

    fn advance_to(&self, state: &mut State, now: Revision) -> Result<(), LocalError> {
        if now == state.seen {
            return Ok(());
        }
        let standing = writers::standing(&self.jungle, self.writer, now)?;
        if standing.copied(&self.openings).is_some() {
            let error = LocalError::Copied { writer: self.writer };
            if !std::mem::replace(&mut state.is_copied, true) {
                tracing::error!(%error, "nothing is committed at level local any more");
            }
            return Err(error);
        }
        if state.lines.is_empty() {
            state.seen = now;
            return Ok(());
        }
        // Of what is handed out, whoever publishes it refuses what contradicts.
        let known = (standing.settled, state.handed);
        for (&id, line) in &mut state.lines {
            // All of a line, or nothing.
            let moved = match self.jungle.branch_with_id(line.branch.id(), id) {
                Some(branch) => line.advance(known, &Snapshot::clone(&*branch.at(now)?), now)?,
                None => line.end(known),
            };
            state.rebased += moved.rebased as u64;
            state.unsaved.note(id, moved);
        }
        state.lines.retain(|_, line| !line.pending.is_empty());
        state.seen = now;
        state.unsaved.warn(self.writer);
        if state.unsaved.refused.is_empty() { Ok(()) } else { self.save(state) }
    }

    /// Writes down how the lines stand. What they follow has to be on disk before.
    pub(super) fn save(&self, state: &mut State) -> Result<(), LocalError> {
        let Unsaved { gone, refused, lines } = &state.unsaved;
        if gone.is_empty() && refused.is_empty() && lines.is_empty() {
            return Ok(());
        }
        self.jungle.wait_until(state.seen, self.usual).map_err(LocalError::Outbox)?;
        let mut entries = Vec::new();
        for (id, rewrite) in lines {
            let Some(line) = state.lines.get(id) else { continue };
            let all = line.pending.iter().take(match rewrite {
                Rewrite::Base => 1,
                Rewrite::All => usize::MAX,
            });
            for pending in all {
                let bytes = (*rewrite == Rewrite::All).then(|| pending.encode(&line.branch));
                entries.push((pending.number, line.at, bytes.transpose()?));
            }
        }
        state.outbox.write(gone, refused, &entries)?;
        state.unsaved = Unsaved::default();
        Ok(())
    }
}
