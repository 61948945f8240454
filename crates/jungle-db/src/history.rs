//! The revisions of one branch, oldest first.
//!
//! They are kept in pieces of one size, so that a long history neither moves when it grows nor
//! when its oldest end goes away. Looking for a number or a time begins with a guess, as if they
//! were spread evenly, and goes on from there in steps that double: a dense history is hit at the
//! first look, however long it is.

use std::collections::VecDeque;

use jungle_tree::VersionId;

use crate::planted::{Bug, is_awake};
use crate::revision::{CommitMeta, Revision, RevisionInfo, Timestamp};

/// Entries of a piece.
const PIECE: usize = 512;

/// One revision of a branch.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) revision: Revision,
    pub(crate) time: Timestamp,
    pub(crate) id: VersionId,
    pub(crate) meta: CommitMeta,
}

impl Entry {
    pub(crate) fn info(&self) -> RevisionInfo {
        RevisionInfo { revision: self.revision, time: self.time, meta: self.meta.clone() }
    }
}

/// The revisions that are kept; never none.
pub(crate) struct History {
    pieces: VecDeque<Vec<Entry>>,
    /// How many of the first piece are gone.
    gone: usize,
    len: usize,
    /// Has anything ever been dropped?
    cut: bool,
}

impl History {
    pub(crate) fn new(first: Entry) -> History {
        let mut history = History { pieces: VecDeque::new(), gone: 0, len: 0, cut: false };
        history.push(first);
        history
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        match self.pieces.back_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.push(entry),
            None => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(entry);
                self.pieces.push_back(piece);
            }
        }
        self.len += 1;
    }

    /// Drops the oldest.
    ///
    /// # Panics
    /// When it is the only one.
    pub(crate) fn pop_oldest(&mut self) {
        assert!(self.len > 1, "a history keeps its newest revision");
        self.gone += 1;
        self.len -= 1;
        self.cut = true;
        if self.gone == PIECE {
            self.pieces.pop_front();
            self.gone = 0;
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Entry> {
        let index = index + self.gone;
        self.pieces.get(index / PIECE)?.get(index % PIECE)
    }

    pub(crate) fn oldest(&self) -> &Entry {
        self.get(0).expect("a history is never empty")
    }

    pub(crate) fn newest(&self) -> &Entry {
        let last = self.pieces.back().and_then(|piece| piece.last());
        last.expect("a history is never empty")
    }

    /// Were there revisions once that are older than the oldest one here?
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Where the versions of all entries lie.
    pub(crate) fn ids(&self) -> impl Iterator<Item = VersionId> {
        self.pieces.iter().flatten().skip(self.gone).map(|entry| entry.id)
    }

    /// The index of the newest revision with at most this number.
    pub(crate) fn index_at(&self, revision: Revision) -> Option<usize> {
        let number = |entry: &Entry| i128::from(entry.revision.number());
        self.last_at_most(i128::from(revision.number()), number)
    }

    /// The index of the newest revision at this time.
    pub(crate) fn index_at_time(&self, time: Timestamp) -> Option<usize> {
        let micros = |entry: &Entry| i128::from(entry.time.as_micros());
        let index = self.last_at_most(i128::from(time.as_micros()), micros)?;
        Some(if is_awake(Bug::TimeOffByOne) { (index + 1).min(self.len - 1) } else { index })
    }

    /// The index of the last entry whose value, which never goes down, is at most `wanted`.
    fn last_at_most(&self, wanted: i128, value: impl Fn(&Entry) -> i128) -> Option<usize> {
        let (first, last) = (value(self.oldest()), value(self.newest()));
        if wanted < first {
            return None;
        }
        if wanted >= last {
            return Some(self.len - 1);
        }
        let fits = |index: usize| self.get(index).is_some_and(|entry| value(entry) <= wanted);
        let guess = (wanted - first) * (self.len as i128 - 1) / (last - first);
        let guess = guess as usize;
        // From here on `low` fits and `high` does not.
        let (mut low, mut high) = if fits(guess) {
            let mut step = 1;
            let mut low = guess;
            while fits(low + step) {
                low += step;
                step *= 2;
            }
            (low, low + step)
        } else {
            let mut step = 1;
            let mut high = guess;
            while !fits(high.saturating_sub(step)) {
                high -= step;
                step *= 2;
            }
            (high.saturating_sub(step), high)
        };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}
