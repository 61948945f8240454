//! Why something was not committed here.

use std::io;
use std::sync::Arc;

use jungle_db::{CreateTreeError, NoSuchRevision, NotWritten, Revision};
use jungle_store::{DecodeError, EncodeError};
use jungle_tree::{ApplyError, EditError};

use crate::engine::log::LogId;
use crate::error::{Fault, JoinError};

pub(super) const DELETED: &str = "the tree or the branch was deleted";
pub(super) const COPIED: &str =
    "the outbox is a copy, and another server has published as this one: that may have it";
pub(super) const FORGOTTEN: &str = "it was done on a version that is not kept here any more";

/// Why something was not committed here, or cannot be published yet.
///
/// ```
/// # use std::sync::Arc;
/// # use jungle_cluster::{Cluster, MemoryLog, Options};
/// # use jungle_db::Jungle;
/// # let jungle = Jungle::new()?;
/// # let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
/// use jungle_cluster::LocalError;
/// cluster.local(Arc::new(Jungle::new()?))?;
/// let again = cluster.local(Arc::new(Jungle::new()?));
/// assert!(matches!(again, Err(LocalError::Opened)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The outbox cannot be written, or not be made to last.
    #[error("the outbox of this server cannot be written")]
    Outbox(#[source] NotWritten),
    /// The outbox cannot be edited.
    #[error("the outbox of this server cannot be edited")]
    Edit(#[from] EditError),
    /// There is no tree in it where it has to be.
    #[error("the outbox of this server has no tree for its entries")]
    NoOutbox(#[source] CreateTreeError),
    /// It is of another cluster.
    #[error(
        "the outbox is of another cluster, whose log is known by {outbox}; the log of this one is \
         known by {log}: give another folder, or an empty one"
    )]
    OtherCluster {
        /// What the outbox says.
        outbox: LogId,
        /// What the log says.
        log: LogId,
    },
    /// Something in it is not as it was written.
    #[error("entry {number} of the outbox is damaged")]
    Damaged {
        /// The number of the entry.
        number: u64,
        /// What is wrong with it, if it can be told.
        #[source]
        source: Option<DecodeError>,
    },
    /// The server has no number yet, and none can be had.
    #[error(
        "this server has no number yet, which it needs once from the cluster to commit by itself: \
         start it while the engine can be reached"
    )]
    NoNumber(#[source] NotWritten),
    /// An entry was done on what this server does not have now. It will have it again once it has
    /// followed the log so far.
    #[error(
        "the outbox follows revision {follows}, and this server has come to {here}: its folder \
         lost its end, which comes again while the engine can be reached"
    )]
    Behind {
        /// What the entry follows.
        follows: Revision,
        /// What is here.
        here: Revision,
    },
    /// The tree in which the servers have their numbers is not there.
    #[error("there is no tree {:?}, in which the servers have their numbers", super::WRITERS)]
    NoWriters,
    /// Another server publishes as this one.
    #[error(
        "another server publishes as number {writer}, with a copy of the outbox of this one: start \
         this server again, and it gets a number of its own; what has no place yet is kept then, \
         as refused"
    )]
    Copied {
        /// The number of both.
        writer: u64,
    },
    /// There is no room for it.
    #[error("there is no room for the commit")]
    NoRoom(#[source] ApplyError),
    /// It cannot be written as a record.
    #[error("the commit cannot be written as a record")]
    Encode(#[source] EncodeError),
    /// It is too long to be published.
    #[error(
        "the commit takes {bytes} bytes, and at most {} fit into a message: make several of it, or \
         commit it at level quorum",
        super::ENTRY_BYTES_MAX
    )]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// A revision cannot be read.
    #[error(transparent)]
    Revision(#[from] NoSuchRevision),
    /// It could not be published now; that is tried again.
    #[error("the oldest entry could not be published yet")]
    NotPublished(#[source] NotWritten),
    /// Publishing has panicked, or could not read part of what is here; it is tried again.
    #[error(
        "publishing was broken off, by a defect of this server or since part of what it has could \
         not be read"
    )]
    BrokenOff,
    /// The system gives no thread.
    #[error("the outbox cannot be published: the system gives no thread")]
    Threads(#[source] Box<JoinError>),
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// This server follows the log no further.
    #[error("nothing is committed here, since this server follows the log no further")]
    Fault(#[source] Arc<Fault>),
    /// This server has its outbox open.
    #[error("this server has its outbox open already")]
    Opened,
    /// This server has left its cluster.
    #[error("this server has left its cluster")]
    Left,
}

/// Why a local update did nothing.
///
/// ```
/// # use std::sync::Arc;
/// # use jungle_cluster::{Cluster, MemoryLog, Options};
/// # use jungle_db::{CommitOptions, Jungle};
/// # let jungle = Jungle::new()?;
/// # let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
/// use jungle_cluster::LocalUpdateError;
/// let board = jungle.create_tree("board")?;
/// let local = cluster.local(Arc::new(Jungle::new()?))?;
/// let refused = local.update(&board, &CommitOptions::default(), |tx| tx.remove(&[7.into()]));
/// assert!(matches!(refused, Err(LocalUpdateError::Closure(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
pub enum LocalUpdateError<E> {
    /// The closure said so.
    #[error(transparent)]
    Closure(E),
    /// It could not be kept.
    #[error(transparent)]
    NotKept(#[from] LocalError),
}
