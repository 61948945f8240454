//! Records that are sent together, and what became of each.

use std::sync::{Arc, OnceLock};

use super::{Places, SequenceError};
use crate::commit::write::NotWritten;
use crate::revision::Revision;
use crate::sync::Condvar;

/// Records that are sent together.
#[derive(Default)]
pub(super) struct Batch {
    /// Which of them have their places, and why not more.
    pub(super) outcome: OnceLock<(Places, Option<SequenceError>)>,
    /// For those who are in it: when it is decided, or one of them has to send it.
    pub(super) news: Condvar,
}

/// One's place in a batch.
pub(super) struct Ticket {
    pub(super) batch: Arc<Batch>,
    pub(super) index: usize,
}

/// What became of it.
pub(super) enum Outcome {
    Placed(Revision),
    /// Others came first.
    Behind,
}

impl Batch {
    /// Is its first record too long for a place?
    pub(super) fn is_too_long(&self) -> bool {
        matches!(self.outcome.get(), Some((_, Some(SequenceError::TooLong(_)))))
    }
}

impl Ticket {
    pub(super) fn outcome(&self) -> Option<Result<Outcome, NotWritten>> {
        let (placed, error) = self.batch.outcome.get()?;
        Some(match error {
            _ if self.index < placed.count => Ok(Outcome::Placed(placed.revision(self.index))),
            None => Ok(Outcome::Behind),
            // What was only sent along with it is tried again.
            Some(SequenceError::TooLong(_)) if self.index > 0 => Ok(Outcome::Behind),
            Some(SequenceError::Refused(error) | SequenceError::TooLong(error)) => {
                Err(NotWritten::Refused(error.clone()))
            }
            Some(SequenceError::Undecided(error)) => Err(NotWritten::Undecided(error.clone())),
        })
    }
}
