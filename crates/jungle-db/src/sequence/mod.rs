//! Commits whose places are given out elsewhere: by a log that several Jungles follow.
//!
//! A transaction is worked out in private as ever. What it comes to is a record, which says exactly
//! what the next revision does; a [`Sequencer`] appends it to the log, if nobody else has appended
//! anything since, and every Jungle that follows the log does what it says. So they are equal, and
//! nothing is visible anywhere before it has its place.
//!
//! While one batch of records is on its way, the next ones gather behind it: each is worked out on
//! top of what those before it would make of the tree, in editors that nobody else sees. If the
//! batch has lost its place to somebody else's, all of them are worked out again, on top of that.

mod anywhere;
mod batch;
mod group;
mod sequencing;
mod series;

use std::sync::Arc;

use crate::journal::{CommitRecord, JournalError};
use crate::jungle::Jungle;
use crate::revision::{Revision, Timestamp};

pub use anywhere::added_node;
pub(crate) use anywhere::is_anywhere;
pub(crate) use sequencing::{Sequencing, Tip};
pub use series::{Placed, Series};

/// Where commits get their places, for Jungles that are to be equal: a log, the same for all.
///
/// ```
/// use std::sync::Mutex;
/// use jungle_db::{CommitRecord, Jungle, SequenceError, Sequencer};
///
/// /// All Jungles that follow a log: whoever asks with the newest revision gets the next.
/// struct Log(Mutex<Vec<Jungle>>);
///
/// impl Sequencer for Log {
///     fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
///         let followers = self.0.lock().unwrap();
///         if records[0].revision.number() != followers[0].revision().number() + 1 {
///             return Ok(0);
///         }
///         for jungle in followers.iter() {
///             records.iter().try_for_each(|record| jungle.follow(record)).unwrap();
///         }
///         Ok(records.len())
///     }
/// }
///
/// let (a, b) = (Jungle::new()?, Jungle::new()?);
/// let log = std::sync::Arc::new(Log(Mutex::new(vec![a.clone(), b.clone()])));
/// a.sequence_with(log.clone());
/// b.sequence_with(log);
/// a.create_tree("board")?.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
/// let board = b.open_tree("board")?;
/// assert_eq!(board.read().root().attribute("title").unwrap().as_text(), Some("Hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Sequencer: Send + Sync {
    /// Waits a moment, if others are to go first. It is called before something is worked out that
    /// would have to be worked out again after them; by itself it does not wait.
    fn await_turn(&self) {}

    /// Asks for places for these records, which follow one another and the newest revision that was
    /// known as they were made, and waits for the answer. One call is made at a time.
    ///
    /// It tells how many of them have their places, counted from the first, and were
    /// [followed](Jungle::follow) by this Jungle. When these are not all, others came first, and
    /// what they did was followed, too.
    ///
    /// # Errors
    /// When no place was had, or it is not known.
    fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError>;

    /// The same for records of which each [adds one node](added_node), and was worked out from
    /// nothing that others may change without being in its way. So they are what they are on top
    /// of whatever comes first, as long as each still [stands](jungle_tree::stands), and may be
    /// given later revisions than they have, one after the other.
    ///
    /// # Errors
    /// When no place was had, or it is not known.
    fn sequence_anywhere(&self, records: &[CommitRecord]) -> Result<Places, SequenceError> {
        let count = self.sequence(records)?;
        Ok(Places { count, first: records[0].revision })
    }

    /// The time that a commit is to have now, as this Jungle's [clock](crate::Clock) has it: all
    /// who follow keep what [is kept by age](crate::Retention::ByAge) by the times of commits, so
    /// one clock that is far ahead would drop everybody's history.
    fn time(&self, clock: Timestamp) -> Timestamp {
        clock
    }

    /// The number that positions of [appended](crate::Draft::append) nodes are to be
    /// [signed](jungle_tree::Signature) with now, so that nobody else gives them meanwhile; `None`
    /// where nobody is likely to.
    fn signs_as(&self) -> Option<u64> {
        None
    }
}

/// Where records have their places.
///
/// ```
/// use jungle_db::{Places, Revision};
/// // Of those that were sent, two came to be the revisions 7 and 8.
/// let places = Places { count: 2, first: Revision::new(7) };
/// assert_eq!(places.first.number() + places.count as u64 - 1, 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// How many of them have one, counted from the first.
    pub count: usize,
    /// Which revision the first of them is.
    pub first: Revision,
}

/// Why records have no places, as far as is known.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{CommitRecord, CreateTreeError, JournalError, Jungle, NotWritten};
/// use jungle_db::{SequenceError, Sequencer};
/// struct Away;
/// impl Sequencer for Away {
///     fn sequence(&self, _: &[CommitRecord]) -> Result<usize, SequenceError> {
///         Err(SequenceError::Undecided(JournalError::new("no answer in time")))
///     }
/// }
/// let jungle = Jungle::new()?;
/// jungle.sequence_with(Arc::new(Away));
/// let made = jungle.create_tree("board");
/// assert!(matches!(made, Err(CreateTreeError::NotWritten(NotWritten::Undecided(_)))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum SequenceError {
    /// They have none and will have none.
    Refused(JournalError),
    /// The first of them is longer than a place can be. It will have none; the others may have,
    /// without it.
    TooLong(JournalError),
    /// They may have them, or get them later: whoever follows the log will see.
    Undecided(JournalError),
}

impl Places {
    /// The revision that one of them is.
    pub(crate) fn revision(&self, index: usize) -> Revision {
        Revision::new(self.first.number() + index as u64)
    }
}

impl From<SequenceError> for JournalError {
    fn from(error: SequenceError) -> JournalError {
        let (SequenceError::Refused(cause)
        | SequenceError::TooLong(cause)
        | SequenceError::Undecided(cause)) = error;
        cause
    }
}

impl Jungle {
    /// From now on commits get their places from `sequencer`. Tell it once, before anything else is
    /// committed; a second one is not taken, which `false` tells. [`Sequencer`] has an example.
    pub fn sequence_with(&self, sequencer: Arc<dyn Sequencer>) -> bool {
        self.shared.sequencing_cell().set(Sequencing::new(sequencer)).is_ok()
    }
}
