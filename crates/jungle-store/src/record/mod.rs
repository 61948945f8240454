//! Commit records as bytes: compact, in a format of our own that `docs/format.md` describes byte
//! by byte. The number of the revision is not in them; the frame around them has it.
//!
//! Decoding trusts nothing: each declared length is held against the bytes that are there, memory
//! is taken only as content arrives, and nothing recurses.

mod decode;
mod encode;
mod retention;
mod subtree;

use jungle_tree::{EditError, FractionError, KeyError};

pub use decode::decode;
pub(crate) use decode::{decode_told, get_meta, get_renumbered};
pub use encode::{EncodeError, encode};
pub(crate) use encode::{put_meta, put_renumbered};
pub(crate) use retention::{get_retention, put_retention};

/// The most bytes that one record may have: 1 GiB.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// Bytes that are no record, and where.
///
/// ```
/// use jungle_db::Revision;
/// use jungle_store::{DecodeReason, decode};
/// use jungle_tree::Arena;
///
/// let error = decode(&[0], Revision::new(1), &Arena::new()?).unwrap_err();
/// assert_eq!((error.offset, error.reason), (1, DecodeReason::TooShort));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record cannot be read at its byte {offset}: {reason}")]
pub struct DecodeError {
    /// How many bytes of the record were read.
    pub offset: usize,
    /// What is wrong there.
    pub reason: DecodeReason,
}

/// What is wrong with the bytes of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeReason {
    /// It ends too early, or declares more than there is.
    #[error("it ends too early")]
    TooShort,
    /// It goes on behind its end.
    #[error("there are bytes behind its end")]
    TooLong,
    /// A number does not fit into 64 bits, or into what it counts.
    #[error("a number is too large")]
    NumberTooLarge,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    NotText,
    /// There is no event, change or value of this kind, nor such flags: a newer program knows them,
    /// or nobody does.
    #[error("there is no {what} of kind {kind}, or a newer program wrote it")]
    NoSuchKind {
        /// Of what.
        what: &'static str,
        /// The kind.
        kind: u8,
    },
    /// A key is beyond its limits.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The fraction of a position cannot be one.
    #[error(transparent)]
    Fraction(#[from] FractionError),
    /// A subtree cannot be built: a key twice, something beyond its limit, or no room.
    #[error("a subtree cannot be built: {0}")]
    Subtree(#[from] EditError),
}

/// The kinds of things, as they are in the bytes. A number is never given a second meaning.
mod kind {
    pub(super) const EDITED: u8 = 0;
    pub(super) const TREE_CREATED: u8 = 1;
    pub(super) const TREE_RENAMED: u8 = 2;
    pub(super) const TREE_DELETED: u8 = 3;
    pub(super) const BRANCH_CREATED: u8 = 4;
    pub(super) const BRANCH_DELETED: u8 = 5;
    pub(super) const TAG_CREATED: u8 = 6;
    pub(super) const TAG_DELETED: u8 = 7;
    pub(super) const RETENTION_SET: u8 = 8;
    /// Trees and branches that do not keep everything.
    pub(super) const KEEPING_TREE_CREATED: u8 = 9;
    pub(super) const KEEPING_BRANCH_CREATED: u8 = 10;
    pub(super) const INDEX_CREATED: u8 = 11;
    pub(super) const INDEX_DROPPED: u8 = 12;

    pub(super) const NOT_MERGED: u8 = 0;
    pub(super) const MERGED: u8 = 1;
    /// Merged, and nodes of it have other keys on the branch that it was merged into.
    pub(super) const MERGED_RENUMBERED: u8 = 2;

    pub(super) const CHILD_ADDED: u8 = 0;
    pub(super) const CHILD_REMOVED: u8 = 1;
    pub(super) const ATTRIBUTE_PUT: u8 = 2;
    pub(super) const ATTRIBUTE_REMOVED: u8 = 3;
    pub(super) const MOVED: u8 = 4;
    pub(super) const SUBTREE_SET: u8 = 5;

    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const INT: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const TEXT: u8 = 5;
    pub(super) const BYTES: u8 = 6;

    pub(super) const WHOLE_POSITION: u64 = 0;
    pub(super) const FRACTIONAL_POSITION: u64 = 1;
    pub(super) const NAME: u64 = 2;
}

/// In the byte of flags that follows the time: there is an author, a message, a request.
const HAS_AUTHOR: u8 = 1;
const HAS_MESSAGE: u8 = 2;
const HAS_REQUEST: u8 = 4;
