//! What can go wrong with a folder.

use std::io;
use std::sync::Arc;

use jungle_db::{ReplayError, Revision};
use jungle_tree::{ArenaError, ImageError};

use crate::checkpoint::LoadError;
use crate::form::{TreeDamage, TreeFault};
use crate::log::segment::FORMAT;
use crate::pages::{PAGES, PagesError};
use crate::record::DecodeError;

/// The system refused something.
///
/// ```
/// use jungle_store::{OpenError, Store};
/// # let file = std::env::temp_dir().join(format!("jungle-io-doc-{}", std::process::id()));
/// // A file is where the folder should be.
/// std::fs::write(&file, "hello")?;
/// let Err(OpenError::Io(error)) = Store::open(&file) else { panic!("it is no folder") };
/// assert_eq!(error.source.kind(), std::io::ErrorKind::NotADirectory);
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot {what} {file}")]
pub struct IoError {
    /// What was to be done: open, read, write, sync …
    pub what: &'static str,
    /// The file or folder, relative to that of the Jungle.
    pub file: Box<str>,
    /// What the system said.
    pub source: Arc<io::Error>,
}

impl IoError {
    /// Is there no room for it?
    pub(crate) fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// Says what was being done when the system refused it.
pub(crate) fn doing(what: &'static str, file: &str) -> impl FnOnce(io::Error) -> IoError {
    move |source| IoError { what, file: file.into(), source: source.into() }
}

/// Why a Jungle could not be opened. Nothing of what was in the folder is lost by that.
///
/// ```
/// use jungle_store::{OpenError, Store};
/// # let dir = std::env::temp_dir().join(format!("jungle-not-one-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
/// std::fs::write(dir.join("letter.txt"), "hello")?;
/// let refused = Store::open(&dir);
/// assert!(matches!(refused, Err(OpenError::NotAJungle { .. })));
/// assert_eq!(std::fs::read_to_string(dir.join("letter.txt"))?, "hello");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Somebody has it open.
    #[error("the Jungle in {folder} is open elsewhere; close it there first")]
    Locked {
        /// The folder.
        folder: Box<str>,
    },
    /// Whoever has it open writes checkpoints faster than one can be copied, or puts another folder
    /// in its place, one of which something was erased.
    #[error("the Jungle in {folder} changes faster than it can be read; try again")]
    Restless {
        /// The folder.
        folder: Box<str>,
    },
    /// There are other things in the folder, and no Jungle.
    #[error("{folder} is no Jungle, and not empty: give an empty or a new folder")]
    NotAJungle {
        /// The folder.
        folder: Box<str>,
    },
    /// There is no Jungle, and one that is only read is not made.
    #[error("there is no Jungle in {folder}")]
    Nothing {
        /// The folder.
        folder: Box<str>,
    },
    /// Something was being erased from all its history when that was interrupted.
    #[error("an erasure in {folder} is not finished: open it to write, which finishes it")]
    Erasing {
        /// The folder.
        folder: Box<str>,
    },
    /// It was written in a format that this version does not know.
    #[error("{file} has format {found}, this program reads format {FORMAT}: use a newer program")]
    UnknownFormat {
        /// The file.
        file: Box<str>,
        /// The number of its format.
        found: u32,
    },
    /// Something that was written, and had to last, has changed.
    #[error("{file} is damaged at byte {offset}{}: {what}; restore it", after(*revision))]
    Damaged {
        /// The file, relative to the folder.
        file: Box<str>,
        /// Where in it, in bytes.
        offset: u64,
        /// The newest revision before it.
        revision: Option<Revision>,
        /// What is wrong there.
        what: Damage,
    },
    /// A segment is not there.
    #[error("the segment of the log with revision {revision} is missing: restore it from a copy")]
    Missing {
        /// The revision that it begins with, or that it has.
        revision: Revision,
    },
    /// A record is whole but makes no sense.
    #[error("{file} has a record at byte {offset}, revision {revision}, that cannot be read")]
    Record {
        /// The file, relative to the folder.
        file: Box<str>,
        /// Where in it its frame begins, in bytes.
        offset: u64,
        /// Its revision.
        revision: Revision,
        /// Why.
        source: DecodeError,
    },
    /// A record does not fit to those before it.
    #[error("{file} has a record at byte {offset}, revision {revision}, that does not fit")]
    Replay {
        /// The file, relative to the folder.
        file: Box<str>,
        /// Where in it its frame begins, in bytes.
        offset: u64,
        /// Its revision.
        revision: Revision,
        /// Why.
        source: ReplayError,
    },
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is no memory for it.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// There is no room for all of it: in the arena, or on the disk that this spills to. Nothing is
    /// wrong with the folder.
    #[error("there is no room to open it: {0}")]
    NoRoom(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The checkpoint cannot be used, and the log that came before it is not there any more.
    #[error("the checkpoint cannot be used: {0}")]
    Checkpoint(#[source] LoadError),
    /// Whoever wanted it does not any more, see [`Progress::until`](crate::Progress::until).
    #[error("it was given up")]
    GivenUp,
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// It is shorter than it can be.
    #[error("the file is cut short")]
    TooShort,
    /// It is longer than it can be.
    #[error("the file is longer than any can be")]
    TooLong,
    /// Its header is not one.
    #[error("the header is not one")]
    Header,
    /// A group of commits does not have its checksum.
    #[error("the commits there do not have their checksum")]
    Checksum,
    /// A group is whole, but does not follow the one before: something is missing between them,
    /// or it is from another time or place.
    #[error("what is there does not follow what is before it")]
    Chain,
    /// The log was closed behind this place, or a checkpoint has more of it, but it ends here.
    #[error("the log ends there, but had more")]
    EndsEarly,
    /// The log was closed, but goes on.
    #[error("the log goes on there, but was closed before")]
    GoesOn,
}

/// A disk that fails says nothing of the checkpoint, nor does one that has no room to load it; and
/// what a newer program wrote is no damage.
impl From<LoadError> for OpenError {
    fn from(error: LoadError) -> OpenError {
        let error = match error {
            LoadError::Slab(slab)
            | LoadError::Tree(TreeDamage { source: TreeFault::Slab(slab), .. })
                if slab.cause.is::<io::Error>() =>
            {
                return OpenError::NoRoom(slab.into());
            }
            LoadError::Tree(TreeDamage { source: TreeFault::NoRoom(error), .. }) => {
                return OpenError::NoRoom(error.into());
            }
            LoadError::Image(ImageError::Arena(error)) => return OpenError::Arena(error),
            error => error,
        };
        let pages = match &error {
            LoadError::Pages(error) => Some(error),
            LoadError::Slab(error) => error.cause.downcast_ref(),
            _ => None,
        };
        match pages {
            Some(PagesError::Io(error)) => OpenError::Io(error.clone()),
            Some(&PagesError::UnknownFormat { found, .. }) => {
                OpenError::UnknownFormat { file: PAGES.into(), found: found.into() }
            }
            _ => OpenError::Checkpoint(error),
        }
    }
}

impl From<TreeDamage> for OpenError {
    fn from(damage: TreeDamage) -> OpenError {
        LoadError::Tree(damage).into()
    }
}

impl OpenError {
    pub(crate) fn damaged(
        file: &str,
        offset: u64,
        revision: Option<Revision>,
        what: Damage,
    ) -> OpenError {
        OpenError::Damaged { file: file.into(), offset, revision, what }
    }
}

fn after(revision: Option<Revision>) -> String {
    revision.map_or(String::new(), |revision| format!(", after revision {revision}"))
}

/// Why a commit was not written, or will not last.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The system refused something; nothing more is written until the Jungle is opened again.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The commit cannot be written.
    #[error(transparent)]
    Encode(#[from] crate::record::EncodeError),
    /// Somebody waits for a commit that it was never given.
    #[error("the log was never given revision {revision}")]
    NotGiven {
        /// The revision.
        revision: Revision,
    },
    /// Too much waits to be written.
    #[error("{bytes} bytes wait to be written: too many for one more commit")]
    TooMuch {
        /// How many.
        bytes: usize,
    },
    /// It was opened to be read only.
    #[error("the Jungle was opened to be read only")]
    ReadOnly,
    /// It was closed.
    #[error("the Jungle was closed")]
    Closed,
    /// A thread that was writing did not come back.
    #[error("the log stopped in the middle of a write")]
    Broken,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As damage it would be left out, and put away, where the log is complete.
    #[test]
    fn a_checkpoint_of_a_newer_program_is_refused_by_name() {
        let pages = PagesError::UnknownFormat { table: "state", key: 0, found: 2 };
        let error = OpenError::from(LoadError::Pages(pages));
        let OpenError::UnknownFormat { file, found: 2 } = &error else { panic!("{error}") };
        assert_eq!(&**file, PAGES);
        assert!(error.to_string().contains("use a newer program"), "{error}");
    }
}
