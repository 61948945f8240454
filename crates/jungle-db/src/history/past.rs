//! Looking back over the revisions of a branch.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::head::Head;
use crate::history::archive::ArchiveError;
use crate::history::search::At;
use crate::history::{HISTORY_PIECE, Page};
use crate::jungle::Shared;
use crate::revision::{Revision, RevisionInfo};

/// Revisions read at once.
const PAGE: usize = 64;

/// Why a revision cannot be opened.
///
/// ```
/// use jungle_db::{Jungle, NoSuchRevision, Retention, Revision};
/// let jungle = Jungle::builder().retention(Retention::Last(1)).build()?;
/// let first = jungle.create_tree("other")?.snapshot().revision();
/// let log = jungle.create_tree("log")?;
/// let made = log.snapshot().revision();
/// let newest = log.update(|tx| tx.append(&[]))?.revision;
/// assert_eq!(log.at(made).unwrap_err(), NoSuchRevision::TooOld { oldest: newest });
/// assert_eq!(log.at(Revision::new(99)).unwrap_err(), NoSuchRevision::NotYet { newest });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// ```
/// use jungle_db::Jungle;
/// let log = Jungle::new()?.create_tree("log")?;
/// let first = log.update(|tx| tx.append(&[]))?.revision;
/// let last = log.update(|tx| tx.append(&[]))?.revision;
/// let revisions = |past: jungle_db::Past| -> Result<Vec<_>, jungle_db::ArchiveError> {
///     past.map(|told| Ok(told?.revision)).collect()
/// };
/// assert_eq!(revisions(log.history(first..))?, [last, first]);
/// // The oldest are as near as the newest.
/// assert_eq!(log.history(first..).next_back().unwrap()?.revision, first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Past {
    head: Arc<Head>,
    /// The numbers that are not read yet, both ends included.
    low: u64,
    high: u64,
    /// The index behind the newest of those, once it was looked for.
    end: Option<u64>,
    newer: Page,
    older: Page,
}

impl Shared {
    /// Refuses a revision that nobody has drawn yet. A commit of a branch with a number up to it
    /// drew that under the branch's lock, so what the lock shows is all of them then.
    pub(crate) fn must_be_born(&self, revision: Revision) -> Result<(), NoSuchRevision> {
        let newest = self.counter.newest();
        match revision > newest {
            true => Err(NoSuchRevision::NotYet { newest }),
            false => Ok(()),
        }
    }
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
        Past { head, low, high, end: None, newer: Page::default(), older: Page::default() }
    }

    /// Reads what is newest in the range.
    fn read_newer(&mut self) -> Result<(), ArchiveError> {
        if self.low > self.high {
            return Ok(());
        }
        let newest = match self.end {
            Some(end) => end.checked_sub(1),
            None => self.index_at(self.high)?,
        };
        if let Some(newest) = newest {
            let piece = newest - newest % HISTORY_PIECE;
            let from = piece.max(newest.saturating_sub(PAGE as u64 - 1));
            self.newer = self.read(from, (newest - from) as usize + 1)?;
            self.end = Some(from);
        }
        match self.newer.oldest().and_then(|first| first.revision.number().checked_sub(1)) {
            Some(next) => self.high = next,
            None => self.end(),
        }
        Ok(())
    }

    /// Reads what is oldest in the range.
    fn read_older(&mut self) -> Result<(), ArchiveError> {
        if self.low > self.high {
            return Ok(());
        }
        let before = match self.low.checked_sub(1) {
            Some(before) => self.index_at(before)?,
            None => None,
        };
        self.older = self.read(before.map_or(0, |index| index + 1), PAGE)?;
        match self.older.newest() {
            Some(last) => self.low = last.revision.number() + 1,
            None => self.end(),
        }
        Ok(())
    }

    /// The index of the newest up to a number.
    fn index_at(&self, number: u64) -> Result<Option<u64>, ArchiveError> {
        let found = self.head.find(At::Revision(Revision::new(number)))?.1;
        Ok(found.map(|(index, _)| index))
    }

    /// A page from an index on, as far as it is in the range.
    fn read(&self, from: u64, max: usize) -> Result<Page, ArchiveError> {
        let mut page = self.head.page(from, max)?;
        page.narrow(self.low, self.high);
        Ok(page)
    }

    fn end(&mut self) {
        (self.low, self.high) = (1, 0);
    }

    /// Nothing follows an error.
    fn fail(&mut self, error: ArchiveError) -> Result<RevisionInfo, ArchiveError> {
        self.end();
        (self.newer, self.older) = (Page::default(), Page::default());
        Err(error)
    }
}

impl Iterator for Past {
    type Item = Result<RevisionInfo, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.newer.oldest().is_none()
            && let Err(error) = self.read_newer()
        {
            return Some(self.fail(error));
        }
        self.newer.next_back().or_else(|| self.older.next_back()).map(|entry| Ok(entry.into_info()))
    }
}

impl DoubleEndedIterator for Past {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.older.oldest().is_none()
            && let Err(error) = self.read_older()
        {
            return Some(self.fail(error));
        }
        self.older.next().or_else(|| self.newer.next()).map(|entry| Ok(entry.into_info()))
    }
}

impl std::iter::FusedIterator for Past {}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Past({}..={})", self.low, self.high)
    }
}
