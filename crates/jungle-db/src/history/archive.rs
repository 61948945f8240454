//! Where the pieces of a history are that are not in memory.

use std::fmt;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::history::{HISTORY_PIECE, HistoryEntry, Piece};
use crate::journal::BranchId;

/// Bytes of pieces that stay in memory after they were asked for, of all branches together: of a
/// million revisions without authors and messages.
pub(crate) const KEPT_BYTES: u64 = 40 << 20;

/// Gives back the pieces of histories that a checkpoint gave out: see
/// [`Builder::restore`](crate::Builder::restore) and
/// [`Jungle::hand_over`](crate::Jungle::hand_over).
///
/// It is asked when somebody looks far back, without any lock held, and the answers used last are
/// remembered. Commits to a branch wait only while it asks, once for many commits, what its
/// [`Retention`](crate::Retention) keeps, and while it is asked for a
/// [request](crate::TreeHandle::find_request) after long.
///
/// ```
/// use jungle_db::{Archive, ArchiveError, BranchId, HistoryEntry};
/// use std::{collections::HashMap, sync::Arc};
///
/// /// What checkpoints gave out, by branch and number.
/// struct Pieces(HashMap<(BranchId, u64), Arc<[HistoryEntry]>>);
///
/// impl Archive for Pieces {
///     fn piece(&self, branch: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
///         let found = self.0.get(&(branch, index)).cloned();
///         found.ok_or_else(|| ArchiveError::new("it was not kept"))
///     }
/// }
/// let lost = Pieces(HashMap::new()).piece(BranchId(1), 0).unwrap_err();
/// assert_eq!(lost.to_string(), "the history cannot be read: it was not kept");
/// ```
pub trait Archive: Send + Sync {
    /// A piece of the history of a branch: [`HISTORY_PIECE`] revisions, of which the first has the
    /// number `index * HISTORY_PIECE`, counting all that the branch ever had.
    ///
    /// # Errors
    /// When it cannot be read. Whoever looked back is told, and may try again.
    fn piece(&self, branch: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError>;
}

/// A piece of a history could not be read. It is equal to its clones only.
///
/// ```
/// use jungle_db::ArchiveError;
/// let error = ArchiveError::new(std::io::Error::other("the disk is gone"));
/// assert_eq!(error.to_string(), "the history cannot be read: the disk is gone");
/// assert!(error == error.clone() && error != ArchiveError::new("the disk is gone"));
/// ```
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

/// The archive of a Jungle, and what of it is in use.
pub(crate) struct Shelf {
    archive: Arc<dyn Archive>,
    kept: Cache<(BranchId, u64), Piece, Bytes>,
}

impl Shelf {
    pub(crate) fn new(archive: Arc<dyn Archive>) -> Shelf {
        let pieces = KEPT_BYTES / bytes_of(&[]);
        Shelf { archive, kept: Cache::with_weighter(pieces as usize, KEPT_BYTES, Bytes) }
    }

    /// A piece that is in memory still.
    pub(crate) fn kept(&self, branch: BranchId, index: u64) -> Option<Piece> {
        self.kept.get(&(branch, index))
    }

    /// A piece, to be remembered.
    pub(crate) fn piece(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
        if let Some(piece) = self.kept(branch, index) {
            return Ok(piece);
        }
        // Two who look for the same one may both read it: neither waits for the other's disk.
        let piece = self.read(branch, index)?;
        self.kept.insert((branch, index), Arc::clone(&piece));
        Ok(piece)
    }

    /// Remembers a piece that the archive has from now on.
    pub(crate) fn keep(&self, branch: BranchId, index: u64, piece: Piece) {
        self.kept.insert((branch, index), piece);
    }

    /// The bytes of all pieces that are in memory still.
    #[cfg(test)]
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept.weight()
    }

    /// A piece, not to be remembered: whoever goes through all of them would drive out the rest.
    pub(crate) fn read(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
        if let Some(piece) = self.kept.peek(&(branch, index)) {
            return Ok(piece);
        }
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

/// Weighs pieces by their bytes.
#[derive(Clone)]
struct Bytes;

impl Weighter<(BranchId, u64), Piece> for Bytes {
    fn weight(&self, _: &(BranchId, u64), piece: &Piece) -> u64 {
        bytes_of(piece)
    }
}

/// The bytes that a piece with these entries takes in memory.
fn bytes_of(entries: &[HistoryEntry]) -> u64 {
    let metas = entries.iter().map(|entry| entry.meta.heap_bytes());
    size_of::<[HistoryEntry; HISTORY_PIECE as usize]>() as u64 + metas.sum::<usize>() as u64
}

/// Do the revisions go up, and the times not down?
pub(crate) fn are_in_order(entries: &[HistoryEntry]) -> bool {
    entries.is_sorted_by(|a, b| a.revision < b.revision && a.time <= b.time)
}
