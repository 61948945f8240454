//! The revisions of one branch, oldest first.
//!
//! Each has an index, counting from the first that the branch ever had. They are kept in pieces of
//! one size, so that a long history neither moves when it grows nor when its oldest end goes away.
//! The pieces of a Jungle that was restored stay in its archive until somebody asks for them, and
//! those of a checkpoint are left to it: in memory are those that came since, and the last one.

pub(crate) mod archive;
pub(crate) mod lookup;
pub(crate) mod past;
pub(crate) mod retention;
pub(crate) mod search;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use jungle_tree::VersionId;

use crate::history::archive::{ArchiveError, Shelf};
use crate::history::search::{At, Point, newest_in};
use crate::journal::BranchId;
use crate::restore::state::{HistoryAnchor, SavedHistory};
use crate::revision::{CommitMeta, Revision, RevisionInfo, Timestamp};

/// Entries of a whole piece of a history.
pub const HISTORY_PIECE: u64 = 512;

/// One revision of a branch: what a history knows of it.
///
/// ```
/// use jungle_db::{CommitMeta, CommitOptions, Jungle};
/// let jungle = Jungle::new()?;
/// let tree = jungle.create_tree("board")?;
/// let options = CommitOptions::from(&CommitMeta::new().author("ana"));
/// let posted = tree.update_with(&options, |tx| tx.append(&[]))?;
/// let checkpoint = jungle.checkpoint();
/// let newest = checkpoint.state().trees[0].branches[0].history.last.last().unwrap();
/// assert_eq!((newest.revision, newest.meta.author_name()), (posted.revision, Some("ana")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Its number.
    pub revision: Revision,
    /// When it was committed.
    pub time: Timestamp,
    /// Where its version lies.
    pub id: VersionId,
    /// Who committed it, and why.
    pub meta: CommitMeta,
}

impl HistoryEntry {
    pub(crate) fn into_info(self) -> RevisionInfo {
        RevisionInfo { revision: self.revision, time: self.time, meta: self.meta }
    }
}

/// A whole piece.
pub(crate) type Piece = Arc<[HistoryEntry]>;

/// The revisions that are kept; never none.
pub(crate) struct History {
    /// The index of the oldest that is kept.
    first: u64,
    stored: Option<Stored>,
    /// The index of the first in memory: a piece begins with it.
    here: u64,
    /// Whole ones.
    pieces: VecDeque<Piece>,
    /// The newest, at least one and at most a piece.
    last: Vec<HistoryEntry>,
    /// The time of the second that is kept, once it was looked for.
    second: Option<Timestamp>,
    /// The index of an entry, and where its version lies: its branch's line has to keep that
    /// version and all that it made since, and has made none of those before that are kept.
    floor: (u64, VersionId),
}

/// The part of a history that is in the archive: all of it that is before what is in memory.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) branch: BranchId,
    /// Something old to guess from.
    pub(crate) anchor: HistoryAnchor,
}

/// Some neighbouring entries of one piece, taken from either end. Those of a whole piece are not
/// copied.
#[derive(Default)]
pub(crate) struct Page {
    entries: Piece,
    left: Range<usize>,
}

/// What a look into the memory gives.
pub(crate) enum Look {
    /// The entry with its index; `None` when it is not kept, or never was.
    Here(Option<(u64, HistoryEntry)>),
    /// It has to be looked for in the archive, when no lock is held.
    Stored(StoredLook),
}

/// How to go on with a look.
pub(crate) struct StoredLook {
    stored: Stored,
    range: Range<u64>,
    high: Point,
    at: At,
}

/// A part of a piece.
pub(crate) enum Part<'h> {
    Here(&'h [HistoryEntry]),
    Stored(&'h Stored),
}

impl History {
    pub(crate) fn new(first: HistoryEntry) -> History {
        let floor = (0, first.id);
        let mut last = Vec::with_capacity(HISTORY_PIECE as usize);
        last.push(first);
        let (stored, pieces, second) = Default::default();
        History { first: 0, stored, here: 0, pieces, last, second, floor }
    }

    /// What was saved, and is known to be in order.
    pub(crate) fn restored(saved: &SavedHistory, branch: BranchId, shelf: &Arc<Shelf>) -> History {
        let here = saved.pieces * HISTORY_PIECE;
        let stored = || Stored { shelf: Arc::clone(shelf), branch, anchor: saved.anchor };
        let oldest_here = saved.dropped.max(here);
        History {
            first: saved.dropped,
            stored: (saved.dropped < here).then(stored),
            here,
            pieces: VecDeque::new(),
            last: saved.last.to_vec(),
            second: None,
            floor: (oldest_here, saved.last[(oldest_here - here) as usize].id),
        }
    }

    /// The index of the oldest that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The index that the next entry gets.
    pub(crate) fn end(&self) -> u64 {
        self.last_piece() * HISTORY_PIECE + self.last.len() as u64
    }

    /// The number of the last piece, which alone may be not whole.
    fn last_piece(&self) -> u64 {
        self.here / HISTORY_PIECE + self.pieces.len() as u64
    }

    pub(crate) fn push(&mut self, entry: HistoryEntry) {
        if self.last.len() as u64 == HISTORY_PIECE {
            let empty = Vec::with_capacity(HISTORY_PIECE as usize);
            self.pieces.push_back(std::mem::replace(&mut self.last, empty).into());
        }
        self.last.push(entry);
    }

    /// The whole pieces in memory before this one, with their numbers.
    pub(crate) fn whole_before(&self, end: u64) -> impl Iterator<Item = (u64, &Piece)> {
        (self.here / HISTORY_PIECE..end).zip(&self.pieces)
    }

    /// Leaves the whole pieces before this one to an archive, which has them, and gives them.
    pub(crate) fn hand_over(
        &mut self,
        end: u64,
        branch: BranchId,
        shelf: &Arc<Shelf>,
    ) -> Vec<Piece> {
        let count = end.saturating_sub(self.here / HISTORY_PIECE).min(self.pieces.len() as u64);
        if count == 0 {
            return Vec::new();
        }
        self.stored = Some(Stored { shelf: Arc::clone(shelf), branch, anchor: self.anchor() });
        self.here += count * HISTORY_PIECE;
        self.pieces.drain(..count as usize).collect()
    }

    /// Drops what is before an index, but never the newest; tells how many entries that was.
    pub(crate) fn drop_before(&mut self, index: u64) -> u64 {
        let index = index.min(self.end() - 1);
        let dropped = index.saturating_sub(self.first);
        if dropped == 0 {
            return 0;
        }
        self.first = index;
        self.second = None;
        if self.first >= self.here {
            self.stored = None;
        }
        while self.here + HISTORY_PIECE <= self.first && self.pieces.pop_front().is_some() {
            self.here += HISTORY_PIECE;
        }
        dropped
    }

    /// Drops what is older than the newest at a time, so many entries at most; tells how many.
    pub(crate) fn drop_before_time(
        &mut self,
        time: Timestamp,
        most: u64,
    ) -> Result<u64, ArchiveError> {
        if self.second.is_some_and(|second| second > time) {
            return Ok(0);
        }
        let index = self.index_at(time)?.min(self.first + most);
        let dropped = self.drop_before(index);
        let second = self.first + 1;
        let at = (second % HISTORY_PIECE) as usize;
        self.second = self.part(second / HISTORY_PIECE).and_then(|part| match part {
            Part::Here(piece) => piece.get(at).map(|entry| entry.time),
            Part::Stored(stored) => {
                stored.piece(second / HISTORY_PIECE).ok()?.get(at).map(|e| e.time)
            }
        });
        Ok(dropped)
    }

    /// The index of the newest at a time; 0 when all are younger.
    pub(crate) fn index_at(&self, time: Timestamp) -> Result<u64, ArchiveError> {
        let found = match self.look(At::Time(time)) {
            Look::Here(found) => found,
            Look::Stored(look) => look.run()?,
        };
        Ok(found.map_or(0, |(index, _)| index))
    }

    /// A piece by its number: in memory, or where it is stored.
    pub(crate) fn part(&self, number: u64) -> Option<Part<'_>> {
        let Some(here) = number.checked_sub(self.here / HISTORY_PIECE) else {
            return self.stored.as_ref().map(Part::Stored);
        };
        let here = here as usize;
        match self.pieces.get(here) {
            Some(piece) => Some(Part::Here(piece)),
            None => (here == self.pieces.len()).then_some(Part::Here(&self.last)),
        }
    }

    /// A whole piece that is in memory.
    pub(crate) fn whole_piece(&self, number: u64) -> Option<Piece> {
        let here = number.checked_sub(self.here / HISTORY_PIECE)?;
        self.pieces.get(here as usize).cloned()
    }

    /// The oldest that is kept of those in memory.
    pub(crate) fn oldest_here(&self) -> &HistoryEntry {
        let first = self.first.max(self.here);
        match self.part(first / HISTORY_PIECE) {
            Some(Part::Here(piece)) => &piece[(first % HISTORY_PIECE) as usize],
            _ => unreachable!("the last piece is in memory and not empty"),
        }
    }

    /// The version that the line of the branch has to keep with all that it made since, as far as
    /// that was found out.
    pub(crate) fn floor(&self) -> VersionId {
        self.floor.1
    }

    /// Finds out which that is. As long as the archive does not tell, it is an older one.
    pub(crate) fn raise_floor(&mut self) {
        if self.first <= self.floor.0 {
            return;
        }
        let (number, at) = (self.first / HISTORY_PIECE, (self.first % HISTORY_PIECE) as usize);
        let id = match self.part(number) {
            Some(Part::Here(piece)) => piece[at].id,
            Some(Part::Stored(stored)) => match stored.piece(number) {
                Ok(piece) => piece[at].id,
                Err(_) => return,
            },
            None => unreachable!("what is kept is in memory or stored"),
        };
        self.floor = (self.first, id);
    }

    pub(crate) fn newest(&self) -> &HistoryEntry {
        self.last.last().expect("a history is never empty")
    }

    /// Is the newest all that is kept?
    pub(crate) fn is_single(&self) -> bool {
        self.first + 1 == self.end()
    }

    /// Were there revisions once that are older than the oldest one here?
    pub(crate) fn is_cut(&self) -> bool {
        self.first > 0
    }

    /// What of it is in the archive: the indexes.
    pub(crate) fn stored(&self) -> Option<(&Stored, Range<u64>)> {
        self.stored.as_ref().map(|stored| (stored, self.first..self.here))
    }

    /// Where the versions of all entries in memory lie.
    pub(crate) fn ids_here(&self) -> impl Iterator<Item = VersionId> {
        let gone = self.first.saturating_sub(self.here) as usize;
        let pieces = self.pieces.iter().flat_map(|piece| piece.iter());
        pieces.chain(&self.last).skip(gone).map(|entry| entry.id)
    }

    /// The newest revision at a number or time.
    pub(crate) fn look(&self, at: At) -> Look {
        let wanted = at.wanted();
        let (end, oldest) = (self.end(), at.value_of(self.oldest_here()));
        if wanted >= at.value_of(self.newest()) {
            return Look::Here(Some((end - 1, self.newest().clone())));
        }
        let from = self.first.max(self.here);
        if wanted >= oldest {
            let points = ((from, oldest), (end - 1, at.value_of(self.newest())));
            let piece = |number| match self.part(number) {
                Some(Part::Here(piece)) => Ok::<_, Infallible>(piece),
                _ => unreachable!("only what is in memory is looked through"),
            };
            let Ok(found) = newest_in(from..end - 1, points, at, piece);
            return Look::Here(found);
        }
        match &self.stored {
            Some(stored) if wanted >= stored.anchor_at(at).1 => {
                let (range, high) = (self.first..self.here, (from, oldest));
                let kept = |number| stored.shelf.kept(stored.branch, number).ok_or(());
                match newest_in(range.clone(), (stored.anchor_at(at), high), at, kept) {
                    Ok(found) => Look::Here(found),
                    Err(()) => Look::Stored(StoredLook { stored: stored.clone(), range, high, at }),
                }
            }
            _ => Look::Here(None),
        }
    }

    /// Both of two revisions, where they are found in memory, and where their versions lie.
    pub(crate) fn look_at_both(&self, both: [Revision; 2]) -> Option<[(VersionId, Revision); 2]> {
        let [a, b] = both;
        let Look::Here(Some((index, found))) = self.look(At::Revision(b)) else { return None };
        // Most who compare two compare neighbours.
        let before = index.checked_sub(1).filter(|before| *before >= self.first);
        let before = before.and_then(|before| self.here(before)).filter(|it| it.revision == a);
        let first = match before {
            Some(entry) => (entry.id, a),
            None => match self.look(At::Revision(a)) {
                Look::Here(Some((_, entry))) => (entry.id, entry.revision),
                _ => return None,
            },
        };
        Some([first, (found.id, found.revision)])
    }

    /// An entry that is in memory, by its index.
    fn here(&self, index: u64) -> Option<&HistoryEntry> {
        match self.part(index / HISTORY_PIECE)? {
            Part::Here(piece) => piece.get((index % HISTORY_PIECE) as usize),
            Part::Stored(_) => None,
        }
    }

    /// Is a revision there, and not before this index?
    pub(crate) fn keeps(&self, revision: Revision, first: u64) -> Result<bool, ArchiveError> {
        let found = match self.look(At::Revision(revision)) {
            Look::Here(found) => found,
            Look::Stored(look) => look.run()?,
        };
        Ok(found.is_some_and(|(index, _)| index >= first))
    }

    /// Something old to guess from, when it is restored.
    pub(crate) fn anchor(&self) -> HistoryAnchor {
        match &self.stored {
            Some(stored) => stored.anchor,
            None => {
                let HistoryEntry { revision, time, .. } = *self.oldest_here();
                HistoryAnchor { index: self.first, revision, time }
            }
        }
    }
}

impl Stored {
    /// What is known of something old.
    fn anchor_at(&self, at: At) -> Point {
        let HistoryAnchor { index, revision, time } = self.anchor;
        (index, at.value((revision, time)))
    }

    pub(crate) fn piece(&self, number: u64) -> Result<Piece, ArchiveError> {
        self.shelf.piece(self.branch, number)
    }

    /// Where the versions of a range of indexes lie.
    pub(crate) fn ids(&self, range: Range<u64>) -> Result<Vec<VersionId>, ArchiveError> {
        let mut ids = Vec::new();
        for number in range.start / HISTORY_PIECE..range.end.div_ceil(HISTORY_PIECE) {
            let piece = self.shelf.read(self.branch, number)?;
            let gone = range.start.saturating_sub(number * HISTORY_PIECE) as usize;
            ids.extend(piece.iter().skip(gone).map(|entry| entry.id));
        }
        Ok(ids)
    }
}

impl StoredLook {
    /// Goes on with it.
    pub(crate) fn run(self) -> Result<Option<(u64, HistoryEntry)>, ArchiveError> {
        let StoredLook { stored, range, high, at } = self;
        newest_in(range, (stored.anchor_at(at), high), at, |number| stored.piece(number))
    }
}

impl Page {
    /// The entries of a piece from a place on, at most so many.
    pub(crate) fn of(entries: Piece, from: usize, max: usize) -> Page {
        let left = from.min(entries.len())..entries.len().min(from.saturating_add(max));
        Page { entries, left }
    }

    /// The oldest that is left.
    pub(crate) fn oldest(&self) -> Option<&HistoryEntry> {
        self.entries[self.left.clone()].first()
    }

    /// The newest that is left.
    pub(crate) fn newest(&self) -> Option<&HistoryEntry> {
        self.entries[self.left.clone()].last()
    }

    /// Leaves out what is not in a range of revisions.
    pub(crate) fn narrow(&mut self, low: u64, high: u64) {
        while self.oldest().is_some_and(|entry| entry.revision.number() < low) {
            self.left.start += 1;
        }
        while self.newest().is_some_and(|entry| entry.revision.number() > high) {
            self.left.end -= 1;
        }
    }
}

impl Iterator for Page {
    type Item = HistoryEntry;

    fn next(&mut self) -> Option<HistoryEntry> {
        let at = self.left.next()?;
        Some(self.entries[at].clone())
    }
}

impl DoubleEndedIterator for Page {
    fn next_back(&mut self) -> Option<HistoryEntry> {
        let at = self.left.next_back()?;
        Some(self.entries[at].clone())
    }
}
