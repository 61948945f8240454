//! Looking back in the history of a branch. What is in memory is looked up under its lock; what is
//! in the archive is read without it, and then looked at again, since it may have been dropped
//! meanwhile.

use crate::head::{Head, HeadState};
use crate::history::archive::ArchiveError;
use crate::history::past::NoSuchRevision;
use crate::history::search::At;
use crate::history::{HISTORY_PIECE, HistoryEntry, Look, Page, Part, Piece};
use crate::revision::Revision;
use crate::snapshot::Snapshot;
use crate::sync::MutexGuard;

/// A revision that was found and is held.
pub(crate) struct Found {
    pub(crate) index: u64,
    pub(crate) entry: HistoryEntry,
    pub(crate) snapshot: Snapshot,
}

/// An entry with its index, and the lock under which it is kept.
type Locked<'h> = (MutexGuard<'h, HeadState>, Option<(u64, HistoryEntry)>);

impl Head {
    /// The newest revision at a number or time.
    pub(crate) fn find(&self, at: At) -> Result<Locked<'_>, ArchiveError> {
        loop {
            let state = self.lock();
            let look = match state.history.look(at) {
                Look::Here(found) => return Ok((state, found)),
                Look::Stored(look) => look,
            };
            let was_first = state.history.first();
            drop(state);
            let found = look.run();
            let state = self.lock();
            let first = state.history.first();
            match found {
                Ok(found) => return Ok((state, found.filter(|(index, _)| *index >= first))),
                Err(error) if first == was_first => return Err(error),
                // What was dropped meanwhile may be gone from the archive.
                Err(_) => {}
            }
        }
    }

    /// Holds the newest version at a number or time.
    pub(crate) fn at(&self, at: At) -> Result<Found, NoSuchRevision> {
        let (state, found) = self.find(at)?;
        if let Some((index, entry)) = found {
            let snapshot = state.open(self, &entry);
            return Ok(Found { index, entry, snapshot });
        }
        let is_cut = state.history.is_cut();
        drop(state);
        let oldest = self.page(0, 1)?.next().expect("a history is never empty").revision;
        Err(match is_cut {
            true => NoSuchRevision::TooOld { oldest },
            false => NoSuchRevision::NotBorn { first: oldest },
        })
    }

    /// The versions at two revisions: most of the time both are in memory, and found at once.
    pub(crate) fn at_both(&self, both: [Revision; 2]) -> Result<[Snapshot; 2], NoSuchRevision> {
        let state = self.lock();
        if let Some(found) = state.history.look_at_both(both) {
            return Ok(state.open_all(self, found));
        }
        drop(state);
        let [a, b] = both.map(At::Revision);
        Ok([self.at(a)?.snapshot, self.at(b)?.snapshot])
    }

    /// Some entries from an index on, or from the oldest: up to `max` of them, and not beyond the
    /// end of a piece.
    pub(crate) fn page(&self, from: u64, max: usize) -> Result<Page, ArchiveError> {
        loop {
            let state = self.lock();
            let first = state.history.first();
            let from = from.max(first);
            let (number, at) = (from / HISTORY_PIECE, (from % HISTORY_PIECE) as usize);
            if let Some(piece) = state.history.whole_piece(number) {
                return Ok(Page::of(piece, at, max));
            }
            let stored = match state.history.part(number) {
                None => return Ok(Page::default()),
                // The last piece is not whole: it goes on changing.
                Some(Part::Here(last)) => {
                    return Ok(Page::of(last.iter().skip(at).take(max).cloned().collect(), 0, max));
                }
                Some(Part::Stored(stored)) => stored.clone(),
            };
            drop(state);
            match stored.piece(number) {
                Ok(piece) => return Ok(Page::of(piece, at, max)),
                Err(error) if self.lock().history.first() == first => return Err(error),
                // As in `find`.
                Err(_) => {}
            }
        }
    }

    /// A whole piece of its history, wherever it is.
    pub(crate) fn whole_piece(&self, number: u64) -> Result<Piece, ArchiveError> {
        let state = self.lock();
        if let Some(piece) = state.history.whole_piece(number) {
            return Ok(piece);
        }
        let stored = state.history.stored().map(|(stored, _)| stored.clone());
        drop(state);
        let stored = stored.expect("a piece that is kept is in memory or stored");
        stored.shelf.read(self.id, number)
    }
}
