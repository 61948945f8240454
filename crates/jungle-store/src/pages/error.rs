//! What can go wrong with the pages.

use std::error::Error;
use std::io;

use crate::error::{IoError, doing};

use super::backend::PAGES;

/// Why something could not be read from the pages, or written to them.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PagesError {
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A value is not what was put.
    #[error("pages is damaged in table {table} at key {key}: {what}; verify tells what to do")]
    Damaged {
        /// The name of the table; `ledger` is the one that says what is in the others.
        table: &'static str,
        /// The key in it.
        key: u64,
        /// What is wrong there.
        what: PageDamage,
    },
    /// The file is not what its engine wrote.
    #[error("pages is damaged, its engine says: {what}; verify tells what to do")]
    Engine {
        /// What the engine said.
        what: Box<str>,
    },
    /// It was written in a format that this version does not know.
    #[error(
        "pages has format {found} in table {table} at key {key}, this program reads format \
         {known}: use a newer program",
        known = super::value::FORMAT
    )]
    UnknownFormat {
        /// The name of the table.
        table: &'static str,
        /// The key in it.
        key: u64,
        /// The number of its format.
        found: u8,
    },
    /// A value is too large.
    #[error("{bytes} bytes for table {table} at key {key} are too many for one value")]
    TooLarge {
        /// The name of the table.
        table: &'static str,
        /// The key in it.
        key: u64,
        /// How many bytes it has.
        bytes: usize,
    },
    /// Something of this checkpoint could not be written before.
    #[error("something of the checkpoint could not be written before; write another")]
    Failed,
    /// Whoever wanted it does not any more, see [`Progress::until`](crate::Progress::until).
    #[error("it was given up")]
    GivenUp,
    /// They were opened to be read only.
    #[error("the pages were opened to be read only")]
    ReadOnly,
    /// A sync has failed: what was written before may not be on the disk.
    #[error("no checkpoint is written after a failed sync until the Jungle is opened again")]
    Stopped,
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageDamage {
    /// It is not there, and ought to be.
    #[error("it is missing")]
    Missing,
    /// Its bytes are not those that were put.
    #[error("it does not have its hash")]
    Hash,
    /// It was put under another key.
    #[error("it belongs elsewhere")]
    Misplaced,
    /// It is whole, but of another checkpoint than the ledger says.
    #[error("it is of checkpoint {found}, and ought to be of {expected}")]
    Stale {
        /// The checkpoint it is of.
        found: u64,
        /// The checkpoint that put the value that ought to be there.
        expected: u64,
    },
    /// It has an impossible length.
    #[error("its length is wrong")]
    Length,
    /// It is a part of the ledger, whole, and makes no sense.
    #[error("it is no ledger")]
    Ledger,
}

/// What an engine says to all who call it after it has failed once.
#[derive(Debug, thiserror::Error)]
#[error("the engine had failed in another call")]
struct FailedBefore;

impl PagesError {
    /// What the pages said, where that is the cause of an error: of a [`SlabError`] or an
    /// [`ArchiveError`], which hide it.
    ///
    /// [`SlabError`]: jungle_tree::SlabError
    /// [`ArchiveError`]: jungle_db::ArchiveError
    ///
    /// ```
    /// use jungle_db::ArchiveError;
    /// use jungle_store::pages::PagesError;
    /// let error = ArchiveError::new(PagesError::Stopped);
    /// assert!(PagesError::below(&error).is_some_and(|cause| !cause.is_damage()));
    /// ```
    #[must_use]
    pub fn below<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e PagesError> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(pages) = error.downcast_ref() {
                return Some(pages);
            }
            next = error.source();
        }
        None
    }

    /// Whether what is there is not what was written; otherwise the system refused something, or
    /// nothing is wrong with what is there.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, PagesError::Damaged { .. } | PagesError::Engine { .. })
    }

    /// Did the engine fail in another call, so that this one says nothing of what is there?
    pub(super) fn is_of_another_call(&self) -> bool {
        let PagesError::Io(IoError { source, .. }) = self else { return false };
        source.get_ref().is_some_and(|inner| inner.is::<FailedBefore>())
    }

    /// What the engine said, which may be what the disk said below it.
    pub(super) fn of_engine(error: redb::Error) -> PagesError {
        let io = match error {
            redb::Error::Io(io) => io,
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => io::Error::other(FailedBefore),
            other => return PagesError::Engine { what: other.to_string().into() },
        };
        if let Some(error) = io.get_ref().and_then(|inner| inner.downcast_ref::<IoError>()) {
            return PagesError::Io(error.clone());
        }
        match io.kind() {
            // The engine's own words for a file that it cannot make sense of.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                PagesError::Engine { what: io.to_string().into() }
            }
            _ => PagesError::Io(doing("use", PAGES)(io)),
        }
    }
}
