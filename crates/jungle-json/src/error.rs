//! What can be wrong with a document.

use std::fmt;
use std::io;

use jungle_tree::EditError;

/// A place in a document.
///
/// ```
/// use jungle_json::Place;
/// let place = Place { offset: 10, line: 2, column: 2 };
/// assert_eq!(place.to_string(), "line 2 column 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes before it.
    pub offset: u64,
    /// The line, from 1.
    pub line: u64,
    /// The byte in its line, from 1.
    pub column: u64,
}

/// Why a document was not imported. What the editor holds then is undefined below the path that
/// was imported to: it must be dropped, not published.
///
/// ```
/// use jungle_json::{ImportError, ImportOptions, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let text = "{\"a\": 1,\n \"a\": 2}";
/// let error = tree.edit(|editor| {
///     import(text.as_bytes(), editor, &[], &ImportOptions::default(), &mut |_| ())
/// });
/// let error = error.unwrap_err();
/// assert_eq!(error.to_string(), "line 2 column 2: a second member \"a\" in one object");
/// assert!(matches!(error, ImportError::DuplicateName { ref name, .. } if **name == *"a"));
/// assert_eq!(error.place().map(|place| place.offset), Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The document could not be read.
    Read(io::Error),
    /// It is not JSON, or JSON that cannot be kept without loss.
    Syntax {
        /// Where.
        at: Place,
        /// What is wrong there.
        reason: Syntax,
    },
    /// An object has two members of one name: a reader could only keep one of them.
    DuplicateName {
        /// Where the second one is.
        at: Place,
        /// The name.
        name: Box<str>,
    },
    /// It passes a limit.
    Limit {
        /// Where.
        at: Place,
        /// Which.
        limit: Limit,
    },
    /// The tree refused it.
    Edit {
        /// How far the document was read.
        at: Place,
        /// What the tree said.
        source: EditError,
    },
    /// There is no node to import to.
    NoSuchNode(jungle_tree::NoSuchNode),
}

/// What is wrong with the text of a document.
///
/// ```
/// use jungle_json::{ImportError, ImportOptions, Syntax, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let mut wrong_with = |text: &str| {
///     let options = ImportOptions::default();
///     tree.edit(|editor| import(text.as_bytes(), editor, &[], &options, &mut |_| ())).unwrap_err()
/// };
/// let error = wrong_with(r#"{"a" 1}"#);
/// assert_eq!(error.to_string(), "line 1 column 6: `:` must be here, not `1`");
/// let error = wrong_with("01");
/// assert!(matches!(error, ImportError::Syntax { reason: Syntax::BadNumber, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Syntax {
    /// Something else must be here.
    Expected {
        /// What must be here.
        what: &'static str,
        /// The byte that is here; none at the end of the document.
        found: Option<u8>,
    },
    /// A control character in a string must be escaped.
    ControlCharacter(u8),
    /// The backslash in a string begins no escape.
    BadEscape,
    /// Half a surrogate pair is no character, and no tree or file could hold it.
    LoneSurrogate,
    /// The string that begins here is not UTF-8.
    NotUtf8,
    /// This is not how JSON writes a number.
    BadNumber,
}

/// A limit that a document passed, see [`Limits`](crate::Limits).
///
/// ```
/// use jungle_json::{ImportError, ImportOptions, Limit, Limits, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let limits = Limits { depth_max: 2, ..Limits::default() };
/// let options = ImportOptions { limits, ..ImportOptions::default() };
/// let error = tree.edit(|editor| import(&b"[[[]]]"[..], editor, &[], &options, &mut |_| ()));
/// let Err(ImportError::Limit { limit, .. }) = error else { panic!("it is too deep") };
/// assert_eq!(limit, Limit::Depth(2));
/// assert_eq!(limit.to_string(), "more than 2 objects and arrays are in one another");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The size of the document.
    Bytes(u64),
    /// Objects and arrays in one another.
    Depth(usize),
    /// The size of a member's name.
    NameBytes(usize),
    /// The size of a string or number.
    ValueBytes(usize),
    /// The number of nodes.
    Nodes(u64),
}

impl ImportError {
    /// Where in the document, if it was there.
    ///
    /// ```
    /// use jungle_json::{ImportOptions, import};
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let options = ImportOptions::default();
    /// let text = &b"[1,\n 01]"[..];
    /// let read = tree.edit(|editor| import(text, editor, &[], &options, &mut |_| ()));
    /// let place = read.unwrap_err().place().expect("it was read");
    /// assert_eq!((place.line, place.column), (2, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match *self {
            ImportError::Syntax { at, .. }
            | ImportError::DuplicateName { at, .. }
            | ImportError::Limit { at, .. }
            | ImportError::Edit { at, .. } => Some(at),
            ImportError::Read(_) | ImportError::NoSuchNode(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Read(error) => error.fmt(f),
            ImportError::Syntax { at, reason } => write!(f, "{at}: {reason}"),
            ImportError::DuplicateName { at, name } => {
                write!(f, "{at}: a second member {name:?} in one object")
            }
            ImportError::Limit { at, limit } => write!(f, "{at}: {limit}"),
            ImportError::Edit { at, source } => write!(f, "{at}: {source}"),
            ImportError::NoSuchNode(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Syntax::Expected { what, found: None } => {
                write!(f, "the document ends where {what} must follow")
            }
            Syntax::Expected { what, found: Some(0xef) } => {
                write!(f, "{what} must be here, not a byte order mark or other text")
            }
            Syntax::Expected { what, found: Some(byte) } if byte.is_ascii_graphic() => {
                write!(f, "{what} must be here, not `{}`", char::from(byte))
            }
            Syntax::Expected { what, found: Some(byte) } => {
                write!(f, "{what} must be here, not the byte {byte:#04x}")
            }
            Syntax::ControlCharacter(byte) => {
                write!(f, "the control character {byte:#04x} in a string must be escaped")
            }
            Syntax::BadEscape => write!(f, "this backslash begins no escape of JSON"),
            Syntax::LoneSurrogate => write!(f, "half a surrogate pair is no character"),
            Syntax::NotUtf8 => write!(f, "the string that begins here is not UTF-8"),
            Syntax::BadNumber => write!(f, "this is not how JSON writes a number"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Bytes(max) => write!(f, "the document is larger than {max} bytes"),
            Limit::Depth(max) => {
                write!(f, "more than {max} objects and arrays are in one another")
            }
            Limit::NameBytes(max) => write!(f, "the name is longer than {max} bytes"),
            Limit::ValueBytes(max) => write!(f, "the value is longer than {max} bytes"),
            Limit::Nodes(max) => write!(f, "the document makes more than {max} nodes"),
        }
    }
}

impl std::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ImportError::Read(error) => Some(error),
            ImportError::Edit { source, .. } => Some(source),
            ImportError::NoSuchNode(error) => Some(error),
            _ => None,
        }
    }
}
