//! Where the pieces of a history are that are not in memory.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::head::lock;
use crate::history::{HISTORY_PIECE, HistoryEntry, Piece};
use crate::journal::BranchId;
use crate::sync::Mutex;

/// Pieces that stay in memory after they were asked for, of all branches together: 32 take about
/// 1 MiB.
const KEPT: usize = 32;

/// Gives back the pieces of histories that a checkpoint gave out: see
/// [`Builder::restore`](crate::Builder::restore).
///
/// It is asked when somebody looks far back, without any lock held, and the newest answers are
/// remembered; only a branch that keeps revisions [by age](crate::Retention::ByAge) asks, once for
/// many commits, while it commits.
pub trait Archive: Send + Sync {
    /// A piece of the history of a branch: [`HISTORY_PIECE`] revisions, of which the first has the
    /// number `index * HISTORY_PIECE`, counting all that the branch ever had.
    ///
    /// # Errors
    /// When it cannot be read. Whoever looked back is told, and may try again.
    fn piece(&self, branch: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError>;
}

/// A piece of a history could not be read. It is equal to its clones only.
#[derive(Clone, Debug)]
pub struct ArchiveError(Arc<dyn std::error::Error + Send + Sync>);

impl ArchiveError {
    /// A failure with its cause.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ArchiveError {
        ArchiveError(cause.into().into())
    }
}

impl PartialEq for ArchiveError {
    fn eq(&self, other: &ArchiveError) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ArchiveError {}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the history cannot be read: {}", self.0)
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// The archive of a Jungle, and what it was asked for last.
pub(crate) struct Shelf {
    archive: Arc<dyn Archive>,
    /// The newest last.
    kept: Mutex<VecDeque<(BranchId, u64, Piece)>>,
}

impl Shelf {
    pub(crate) fn new(archive: Arc<dyn Archive>) -> Shelf {
        Shelf { archive, kept: Mutex::default() }
    }

    /// A piece, to be remembered.
    pub(crate) fn piece(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
        let mut kept = lock(&self.kept);
        let is_it = |(b, i, _): &(BranchId, u64, Piece)| (*b, *i) == (branch, index);
        if let Some(found) = kept.iter().position(is_it).and_then(|at| kept.remove(at)) {
            let piece = Arc::clone(&found.2);
            kept.push_back(found);
            return Ok(piece);
        }
        drop(kept);
        let piece = self.read(branch, index)?;
        let mut kept = lock(&self.kept);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((branch, index, Arc::clone(&piece)));
        Ok(piece)
    }

    /// A piece, not to be remembered: whoever goes through all of them would drive out the rest.
    pub(crate) fn read(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
        let piece = self.archive.piece(branch, index)?;
        let wrong = if piece.len() as u64 != HISTORY_PIECE {
            "does not have the length of one"
        } else if !are_in_order(&piece) {
            "is not in the order of its revisions"
        } else {
            return Ok(piece);
        };
        let BranchId(branch) = branch;
        Err(ArchiveError::new(format!("piece {index} of branch {branch} {wrong}")))
    }
}

/// Do the revisions go up, and the times not down?
pub(crate) fn are_in_order(entries: &[HistoryEntry]) -> bool {
    entries.is_sorted_by(|a, b| a.revision < b.revision && a.time <= b.time)
}
