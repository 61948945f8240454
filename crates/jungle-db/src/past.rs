//! Looking back over the revisions of a branch.

use std::collections::VecDeque;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::archive::ArchiveError;
use crate::head::Head;
use crate::history::{HISTORY_PIECE, HistoryEntry};
use crate::revision::{Revision, RevisionInfo};
use crate::search::At;

/// Revisions read at once.
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
    /// What is known of it could not be read.
    #[error(transparent)]
    NotRead(#[from] ArchiveError),
}

/// Revisions of a branch, the newest first: what
/// [`TreeHandle::history`](crate::TreeHandle::history) gives. When some cannot be read, that is
/// told in their place, and nothing follows.
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

    /// Reads what is newest in the range, newest first.
    fn read_newer(&mut self) -> Result<(), ArchiveError> {
        if self.low > self.high {
            return Ok(());
        }
        let found = self.head.find(At::Revision(Revision::new(self.high)))?.1;
        if let Some((index, _)) = found {
            let piece = index - index % HISTORY_PIECE;
            let infos = self.read(piece.max(index.saturating_sub(PAGE as u64 - 1)))?;
            self.newer.extend(infos.into_iter().rev());
        }
        match self.newer.back().and_then(|last| last.revision.number().checked_sub(1)) {
            Some(next) => self.high = next,
            None => self.end(),
        }
        Ok(())
    }

    /// Reads what is oldest in the range, oldest first.
    fn read_older(&mut self) -> Result<(), ArchiveError> {
        if self.low > self.high {
            return Ok(());
        }
        let from = match self.low.checked_sub(1) {
            Some(before) => self.head.find(At::Revision(Revision::new(before)))?.1,
            None => None,
        };
        let infos = self.read(from.map_or(0, |(index, _)| index + 1))?;
        self.older.extend(infos);
        match self.older.back() {
            Some(last) => self.low = last.revision.number() + 1,
            None => self.end(),
        }
        Ok(())
    }

    /// A page from an index on, as far as it is in the range.
    fn read(&self, from: u64) -> Result<Vec<RevisionInfo>, ArchiveError> {
        let entries = self.head.page(from, PAGE)?;
        let is_in =
            |entry: &&HistoryEntry| (self.low..=self.high).contains(&entry.revision.number());
        Ok(entries.iter().filter(is_in).map(HistoryEntry::info).collect())
    }

    fn end(&mut self) {
        (self.low, self.high) = (1, 0);
    }

    /// Nothing follows an error.
    fn fail(&mut self, error: ArchiveError) -> Result<RevisionInfo, ArchiveError> {
        self.end();
        self.newer.clear();
        self.older.clear();
        Err(error)
    }
}

impl Iterator for Past {
    type Item = Result<RevisionInfo, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.newer.is_empty()
            && let Err(error) = self.read_newer()
        {
            return Some(self.fail(error));
        }
        self.newer.pop_front().or_else(|| self.older.pop_back()).map(Ok)
    }
}

impl DoubleEndedIterator for Past {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.older.is_empty()
            && let Err(error) = self.read_older()
        {
            return Some(self.fail(error));
        }
        self.older.pop_front().or_else(|| self.newer.pop_back()).map(Ok)
    }
}

impl std::iter::FusedIterator for Past {}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Past({}..={})", self.low, self.high)
    }
}
