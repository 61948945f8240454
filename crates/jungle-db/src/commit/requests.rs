//! Which of the newest revisions of a branch was asked for by which request.

use std::collections::HashMap;

use crate::commit::write::NotWritten;
use crate::history::archive::ArchiveError;
use crate::history::{HISTORY_PIECE, History, HistoryEntry, Part};
use crate::revision::{RequestId, Revision};

/// A request is known again among so many of the newest revisions of a branch.
pub const REQUESTS_MAX: u64 = 10_000;

/// What the history says, read as far as the last one that was looked for: where nobody asks, it
/// costs nothing. The first who asks reads what is in the archive, too.
#[derive(Default)]
pub(crate) struct Requests {
    /// The index of the first entry that was not read.
    next: u64,
    by_key: HashMap<u64, Known>,
}

struct Known {
    fingerprint: u64,
    /// In the history.
    index: u64,
    revision: Revision,
}

impl Requests {
    /// The revision that a request was committed as.
    pub(crate) fn find(
        &mut self,
        history: &History,
        request: RequestId,
    ) -> Result<Option<Revision>, NotWritten> {
        let oldest = history.end().saturating_sub(REQUESTS_MAX).max(history.first());
        self.read(history, oldest).map_err(NotWritten::NotLookedUp)?;
        let known = self.by_key.get(&request.key).filter(|known| known.index >= oldest);
        match known {
            Some(&Known { fingerprint, revision, .. }) if fingerprint != request.fingerprint => {
                Err(NotWritten::KeyInUse { revision })
            }
            known => Ok(known.map(|known| known.revision)),
        }
    }

    /// Reads what is new.
    fn read(&mut self, history: &History, oldest: u64) -> Result<(), ArchiveError> {
        self.next = self.next.max(oldest);
        while self.next < history.end() {
            let number = self.next / HISTORY_PIECE;
            match history.part(number) {
                Some(Part::Here(piece)) => self.note(piece),
                Some(Part::Stored(stored)) => {
                    self.note(&stored.shelf.read(stored.branch, number)?);
                }
                None => unreachable!("what is kept is in memory or stored"),
            }
        }
        if self.by_key.len() as u64 > 2 * REQUESTS_MAX {
            self.by_key.retain(|_, known| known.index >= oldest);
        }
        Ok(())
    }

    /// Notes the entries of a piece from the next one on.
    fn note(&mut self, piece: &[HistoryEntry]) {
        for entry in &piece[(self.next % HISTORY_PIECE) as usize..] {
            if let Some(RequestId { key, fingerprint }) = entry.meta.request() {
                let (index, revision) = (self.next, entry.revision);
                self.by_key.insert(key, Known { fingerprint, index, revision });
            }
            self.next += 1;
        }
    }
}
