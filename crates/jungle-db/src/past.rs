//! Looking back over the revisions of a branch.

use std::collections::VecDeque;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::head::Head;
use crate::history::History;
use crate::revision::{Revision, RevisionInfo};

/// Revisions read under one lock.
const PAGE: usize = 64;

/// Why a revision cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSuchRevision {
    /// It has not been made yet.
    #[error("the newest revision is {newest}")]
    NotYet {
        /// The newest revision.
        newest: Revision,
    },
    /// It was made once, and is not kept any more.
    #[error("the oldest revision that is kept is {oldest}")]
    TooOld {
        /// The oldest revision that is kept.
        oldest: Revision,
    },
    /// The tree or branch did not exist then.
    #[error("the tree begins with revision {first}")]
    NotBorn {
        /// Its first revision.
        first: Revision,
    },
}

impl NoSuchRevision {
    /// What to say of a revision before all of these.
    pub(crate) fn too_old(history: &History) -> NoSuchRevision {
        let oldest = history.oldest().revision;
        if history.is_cut() {
            NoSuchRevision::TooOld { oldest }
        } else {
            NoSuchRevision::NotBorn { first: oldest }
        }
    }
}

/// Revisions of a branch, the newest first: what
/// [`TreeHandle::history`](crate::TreeHandle::history) gives.
pub struct Past {
    head: Arc<Head>,
    /// The numbers that are not read yet, both ends included.
    low: u64,
    high: u64,
    newer: VecDeque<RevisionInfo>,
    older: VecDeque<RevisionInfo>,
}

impl Past {
    pub(crate) fn new(head: Arc<Head>, range: impl RangeBounds<Revision>) -> Past {
        let low = match range.start_bound() {
            Bound::Included(low) => low.number(),
            Bound::Excluded(low) => low.number().saturating_add(1),
            Bound::Unbounded => 0,
        };
        let high = match range.end_bound() {
            Bound::Included(high) => Some(high.number()),
            Bound::Excluded(high) => high.number().checked_sub(1),
            Bound::Unbounded => Some(u64::MAX - 1),
        };
        // An empty range is one that ends before it begins.
        let (low, high) = high.map_or((1, 0), |high| (low, high));
        Past { head, low, high, newer: VecDeque::new(), older: VecDeque::new() }
    }

    fn read_newer(&mut self) {
        if self.low > self.high {
            return;
        }
        let state = self.head.lock();
        let history = &state.history;
        let from = history.index_at(Revision::new(self.high));
        let indexes = from.into_iter().flat_map(|from| (0..=from).rev());
        let infos = indexes.filter_map(|index| history.get(index));
        let infos = infos.take_while(|entry| entry.revision.number() >= self.low);
        self.newer.extend(infos.take(PAGE).map(|entry| entry.info()));
        match self.newer.back().and_then(|last| last.revision.number().checked_sub(1)) {
            Some(next) => self.high = next,
            None => (self.low, self.high) = (1, 0),
        }
    }

    fn read_older(&mut self) {
        if self.low > self.high {
            return;
        }
        let state = self.head.lock();
        let history = &state.history;
        let before = self.low.checked_sub(1).map(Revision::new);
        let from = before.and_then(|before| history.index_at(before)).map_or(0, |i| i + 1);
        let infos = (from..history.len()).filter_map(|index| history.get(index));
        let infos = infos.take_while(|entry| entry.revision.number() <= self.high);
        self.older.extend(infos.take(PAGE).map(|entry| entry.info()));
        match self.older.back() {
            Some(last) => self.low = last.revision.number() + 1,
            None => (self.low, self.high) = (1, 0),
        }
    }
}

impl Iterator for Past {
    type Item = RevisionInfo;

    fn next(&mut self) -> Option<RevisionInfo> {
        if self.newer.is_empty() {
            self.read_newer();
        }
        self.newer.pop_front().or_else(|| self.older.pop_back())
    }
}

impl DoubleEndedIterator for Past {
    fn next_back(&mut self) -> Option<RevisionInfo> {
        if self.older.is_empty() {
            self.read_older();
        }
        self.older.pop_front().or_else(|| self.newer.pop_back())
    }
}

impl std::iter::FusedIterator for Past {}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Past({}..={})", self.low, self.high)
    }
}
