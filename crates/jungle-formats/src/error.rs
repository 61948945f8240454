//! What goes wrong.

use std::fmt::Display;
use std::io;

use jungle_json::{ExportError, ImportError};
use jungle_tree::{ArenaError, Path};

/// Why a part of a tree was not written, or only its beginning.
///
/// ```
/// use jungle_formats::{WriteError, WriteForm, write};
/// use jungle_json::Member;
/// use jungle_tree::Path;
/// let value = Member::Value(7.into());
/// let error = write(WriteForm::Xml, value, &Path::root(), &mut Vec::new()).unwrap_err();
/// assert!(matches!(error, WriteError::NoPlace { what: "not XML", .. }));
/// assert_eq!(error.to_string(), "what is at / is not XML");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The writer failed.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The form has no place for something.
    #[error("what is at {path} is {what}")]
    NoPlace {
        /// Where it is.
        path: Path,
        /// What it is, or is not.
        what: &'static str,
    },
    /// A page would pass a limit of those who read it. A part of it may not.
    #[error("{0}")]
    Limit(String),
    /// There is no room to read the page again.
    #[error(transparent)]
    NoRoom(#[from] ArenaError),
    /// The page could not be read again.
    #[error(transparent)]
    NotRead(ImportError),
}

impl WriteError {
    pub(crate) fn no_place(path: &Path, what: &'static str) -> WriteError {
        WriteError::NoPlace { path: path.clone(), what }
    }
}

impl From<ExportError> for WriteError {
    fn from(error: ExportError) -> WriteError {
        WriteError::Write(unwritten(error))
    }
}

/// What the writer said.
pub(crate) fn unwritten(error: ExportError) -> io::Error {
    match error {
        ExportError::Write(error) => error,
        error => io::Error::other(error),
    }
}

/// What is wrong with a document that was translated. Places are told by what translated it only:
/// those of the import are places in the JSON.
///
/// ```
/// use jungle_formats::{ReadForm, json, wrong};
/// use jungle_json::{ImportOptions, Limits, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let limits = Limits { depth_max: 2, ..Limits::default() };
/// let options = ImportOptions { limits, ..ImportOptions::default() };
/// let json = json(ReadForm::Xml, &b"<a></a>"[..], 2);
/// let error = tree.edit(|editor| import(json, editor, &[], &options, &mut |_| ())).unwrap_err();
/// let told = "more than 2 objects and arrays are in one another";
/// assert_eq!(wrong(&error).to_string(), told);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn wrong(error: &ImportError) -> &dyn Display {
    match error {
        ImportError::Limit { limit, .. } => limit,
        ImportError::Edit { source, .. } => source,
        error => error,
    }
}

/// A text in quotes, or as much of it as is told: escaped, it may be many times as long.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 100;
    match text.len() > SHOWN_MAX {
        true => format!("{:?}…", &text[..text.floor_char_boundary(SHOWN_MAX)]),
        false => format!("{text:?}"),
    }
}
