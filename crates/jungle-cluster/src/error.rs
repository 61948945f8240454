//! Why a server does not follow its log.

use std::io;
use std::sync::Arc;

use jungle_db::{BranchId, ReplayError, Revision, TreeId};
use jungle_store::{AdoptError, OpenError, StreamError};
use jungle_tree::{ArenaError, SlabError};

use crate::engine::error::ConnectError;
use crate::engine::log::{LogError, LogId};

/// Why a server follows its log no further. What it has is as it was before the message that it
/// could not follow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A message is missing.
    #[error(
        "the log goes on with message {found} where {expected} is due: messages are missing; \
         look at the disks of the engine's servers"
    )]
    Gap {
        /// The sequence that is due.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// What is missing was removed since a checkpoint has it: this server was away for too long.
    #[error(
        "the log begins with message {first}, and {expected} is due: start this server again, and \
         it begins with the newest checkpoint"
    )]
    Trimmed {
        /// The sequence that is due.
        expected: u64,
        /// The oldest that is there.
        first: u64,
    },
    /// A message is not as it was written.
    #[error("message {sequence} of the log is damaged; look at the disks of the engine's servers")]
    Damaged {
        /// Its sequence.
        sequence: u64,
        /// What is wrong with it.
        #[source]
        reason: MessageError,
    },
    /// A message is as it was written, and cannot be read here.
    #[error(
        "message {sequence} of the log is as it was written, and cannot be read here: a later \
         version has written it, and this server is to be upgraded"
    )]
    NotUnderstood {
        /// Its sequence.
        sequence: u64,
        /// What is not known here.
        #[source]
        reason: MessageError,
    },
    /// A message does not follow the one before it.
    #[error(
        "message {sequence} of the log was not written behind the one that is before it: the log \
         has lost messages, or was restored; look at the disks of the engine's servers"
    )]
    Unlinked {
        /// Its sequence.
        sequence: u64,
    },
    /// The log ends before what was followed here, and stays so.
    #[error(
        "the log ends with message {last}, and {followed} was followed here: it was restored or \
         made anew, or the engine's servers have lost what they had promised to keep; start this \
         server again, and it says whether its folder can follow this log"
    )]
    Shorter {
        /// The newest message that was followed.
        followed: u64,
        /// The last one of the log.
        last: u64,
    },
    /// The log goes on behind more than what is here: it was begun with what a folder had.
    #[error(
        "message {sequence} of the log, by {server:?}, goes on with revision {first}, and the \
         newest one here is {here}: start this server again with an empty folder, and it begins \
         with what the log was begun with"
    )]
    Beyond {
        /// The sequence of the message.
        sequence: u64,
        /// The server that wrote it.
        server: String,
        /// The revision that it goes on with.
        first: Revision,
        /// The newest revision here.
        here: Revision,
    },
    /// This server has another tree than the one that wrote a message.
    #[error(
        "branch {} of tree {} is not the same here as on {server:?} before message {sequence}: \
         one of the two is damaged; `jungle verify` says which, and an empty folder takes its \
         place", .branch.0, .tree.0
    )]
    Diverged {
        /// The sequence of the message.
        sequence: u64,
        /// The server that wrote it.
        server: String,
        /// The tree.
        tree: TreeId,
        /// The branch.
        branch: BranchId,
    },
    /// Other servers have another tree than this one: it had been written on, or was
    /// [compared](crate::Cluster::compare).
    #[error(
        "branch {} of tree {} as of revision {revision} is the same here as on {alike} other \
         servers, and something else on {other}: this server is damaged, or where there are only \
         two, one of them; `jungle verify` says which, and an empty folder takes its place",
        .branch.0, .tree.0
    )]
    Disputed {
        /// The tree.
        tree: TreeId,
        /// The branch.
        branch: BranchId,
        /// As of which revision.
        revision: Revision,
        /// How many other servers have what is here.
        alike: usize,
        /// How many have something else.
        other: usize,
    },
    /// What a message says does not fit to what is here.
    #[error(
        "message {sequence} of the log, by {server:?}, cannot be followed here; if other servers \
         follow it, begin with an empty folder"
    )]
    NotFollowed {
        /// Its sequence.
        sequence: u64,
        /// The server that wrote it.
        server: String,
        /// Why.
        #[source]
        reason: ReplayError,
    },
    /// Part of what is here could not be read, and was needed to follow a message.
    #[error(
        "message {sequence} of the log cannot be followed, since part of what this server has \
         could not be read: look at its disk; `jungle verify` says what is damaged, and an empty \
         folder takes its place"
    )]
    NotLoaded {
        /// The sequence of the message.
        sequence: u64,
        /// Why.
        #[source]
        reason: SlabError,
    },
    /// The thread that follows the log has panicked.
    #[error(
        "this server has panicked as it followed message {sequence} of the log: what it has \
         printed then says where; that is a defect of it, and to be reported"
    )]
    Panicked {
        /// The sequence of the message.
        sequence: u64,
    },
    /// The log does not go on from where this server is, which was started without the engine.
    #[error("the log cannot be followed from here: start this server again, to see why")]
    Apart(#[source] Box<JoinError>),
    /// The engine does not tell what is missing.
    #[error(
        "message {sequence} of the log could not be read: look whether the engine's servers run, \
         and start this server again"
    )]
    NotRead {
        /// Its sequence.
        sequence: u64,
        /// Why.
        #[source]
        reason: LogError,
    },
}

impl Fault {
    /// Does the server only have to be started again? It begins with what is there then, or says
    /// what is wrong. Everything else is to be looked at first.
    ///
    /// ```
    /// use jungle_cluster::Fault;
    /// assert!(Fault::Trimmed { expected: 3, first: 5 }.is_passing());
    /// assert!(!Fault::Unlinked { sequence: 3 }.is_passing());
    /// ```
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Fault::NotRead { .. } | Fault::Trimmed { .. } | Fault::Apart(_))
    }
}

/// Bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// They do not begin as one.
    #[error("it does not begin as a message of a cluster")]
    NoMessage,
    /// It was written by a later version.
    #[error("it is of version {version}, which is not known here: this server is to be upgraded")]
    Version {
        /// Its version.
        version: u8,
    },
    /// Its hash is another one.
    #[error("its hash is not the one it says")]
    Hash,
    /// It ends too early or too late.
    #[error("it does not have the length it says")]
    Length,
    /// A record in it is none.
    #[error("revision {revision} in it cannot be read: {reason}")]
    Record {
        /// The revision of the record.
        revision: Revision,
        /// What is wrong with it.
        reason: String,
    },
}

/// Why a checkpoint was not written, or cannot be used.
///
/// ```
/// # use std::sync::Arc;
/// # use jungle_cluster::{Cluster, MemoryLog, Options};
/// # use jungle_db::Jungle;
/// # let jungle = Jungle::new()?;
/// # let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
/// use jungle_cluster::CheckpointError;
/// assert!(matches!(cluster.checkpoint(), Err(CheckpointError::Nothing)));
/// jungle.create_tree("board")?;
/// assert_eq!(cluster.checkpoint()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// This server follows the log no further.
    #[error("no checkpoint is written, since this server follows the log no further")]
    Fault(#[source] Arc<Fault>),
    /// It has left its cluster.
    #[error("no checkpoint is written, since this server has left its cluster")]
    Left,
    /// Writing it has panicked; it is tried again.
    #[error(
        "this server has panicked as it wrote a checkpoint: what it has printed then says where; \
         that is a defect of it, and to be reported"
    )]
    Panicked,
    /// No message was followed yet, so that it is not known which hash the newest one has.
    #[error("no checkpoint is written before a message was followed here: commit something first")]
    Nothing,
    /// The engine does not keep checkpoints.
    #[error("the engine does not keep checkpoints")]
    NoDepot,
    /// The engine failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The engine failed while it was read.
    #[error("the checkpoint could not be read")]
    Io(#[from] io::Error),
    /// The bytes are none.
    #[error("the bytes are no checkpoint of a cluster")]
    NoCheckpoint,
    /// It was written by a later version.
    #[error(
        "the checkpoint is of version {version}, which is not known here: this server is to be \
         upgraded"
    )]
    Version {
        /// Its version.
        version: u8,
    },
    /// It is not what was written.
    #[error("the checkpoint is damaged: it is not what it says")]
    Hash,
    /// What is in it cannot be written or read.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A branch in it is not what it was.
    #[error(
        "the checkpoint is damaged: branch {} of tree {} in it is not the one that was written",
        .branch.0, .tree.0
    )]
    Differs {
        /// The tree.
        tree: TreeId,
        /// The branch.
        branch: BranchId,
    },
    /// The log does not go on from it.
    #[error(
        "the checkpoint ends with message {sequence}, and the log, which has messages {first} to \
         {last}, does not go on from it"
    )]
    Apart {
        /// The newest message in it.
        sequence: u64,
        /// The oldest message of the log.
        first: u64,
        /// The newest one.
        last: u64,
    },
    /// It says itself that it is of another log.
    #[error("the checkpoint is of another log, which is known by {log}")]
    OtherLog {
        /// Of which one.
        log: LogId,
    },
    /// It is of another log.
    #[error(
        "the checkpoint is of another log: message {sequence} is not the one that it ends with"
    )]
    Unlinked {
        /// The newest message in it.
        sequence: u64,
    },
}

/// Why a server has not joined its cluster: [`Cluster::follow`](crate::Cluster::follow) has an
/// example.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The engine cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The engine does not answer.
    #[error("the log of the cluster could not be read")]
    Log(#[from] LogError),
    /// The log cannot be followed.
    #[error(transparent)]
    Fault(#[from] Arc<Fault>),
    /// The system gives no thread.
    #[error("the system gives no thread: look at its limits")]
    Threads(#[source] io::Error),
    /// The folder has revisions that the log never had.
    #[error(
        "the folder has revision {here}, and the log of the cluster ends with {log}: it is not a \
         folder of this cluster, or the log has lost what came after"
    )]
    Ahead {
        /// The newest revision of the folder.
        here: Revision,
        /// The newest one of the log.
        log: Revision,
    },
    /// The log does not go back to what the folder has.
    #[error(
        "the log of the cluster begins with revision {log}, and the folder ends with {here}: \
         begin with an empty folder, or restore it from a backup of another server"
    )]
    TooOld {
        /// The newest revision of the folder.
        here: Revision,
        /// The oldest one of the log.
        log: Revision,
    },
    /// The log has something else in the place of what the folder has.
    #[error(
        "the folder ends with revision {here}, and in the log that is another commit: something \
         was committed to the folder by itself, or the log has lost what the folder has, and has \
         gone on; give an empty folder, and look at this one by itself"
    )]
    Overtaken {
        /// The newest revision of the folder.
        here: Revision,
    },
    /// The log does not go back to what the folder has, and the newest checkpoint has something
    /// else in its place.
    #[error(
        "the folder ends with revision {here}, which the log does not go back to, and its trees \
         were never those of the cluster: give an empty folder"
    )]
    Foreign {
        /// The newest revision of the folder.
        here: Revision,
    },
    /// The folder says that it is of another cluster.
    #[error(
        "the folder is of another cluster, whose log is known by {folder}; the log of this one is \
         known by {log}: give another folder, or an empty one"
    )]
    OtherCluster {
        /// What the folder says.
        folder: LogId,
        /// What the log says.
        log: LogId,
    },
    /// Of which cluster the folder is could not be read, or not written down.
    #[error("the file {file} of the folder, which says of which cluster it is, cannot be used")]
    Membership {
        /// The file.
        file: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No checkpoint can be used, and the log has not everything.
    #[error(
        "the log of the cluster was trimmed, and no checkpoint can be used: begin with a \
         backup of another server's folder; of the newest one, at message {sequence}, this is why"
    )]
    Checkpoint {
        /// The newest message in it.
        sequence: u64,
        /// What is wrong with it.
        #[source]
        source: CheckpointError,
    },
    /// The checkpoint that a log was to begin with was not written, or not as it should be.
    #[error(
        "the log cannot begin with what the folder has: its checkpoint was not written: {source}"
    )]
    NotFounded {
        /// Why.
        source: CheckpointError,
    },
    /// A log that was to begin with what a folder has was begun by somebody else meanwhile.
    #[error(
        "the log has begun without what the folder has, by another server: stop that, and found \
         the cluster under another name"
    )]
    Begun,
    /// The folder cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The checkpoint cannot be put into the folder.
    #[error(transparent)]
    Adopt(#[from] AdoptError),
    /// There is no memory.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The log is empty, the folder is not, and so nobody else could follow.
    #[error(
        "the log of the cluster is empty, and the folder has revision {here}: begin with an empty \
         folder, or found the cluster with what is there"
    )]
    NotEmpty {
        /// The newest revision of the folder.
        here: Revision,
    },
    /// The Jungle is in a cluster already.
    #[error("this Jungle has joined a cluster before: open it anew")]
    Joined,
}

impl JoinError {
    /// Is the engine away, or too little of it there to answer? Then a server that was one before
    /// can [go on without it](crate::Cluster::resume). What the engine refuses does not pass.
    ///
    /// ```
    /// use jungle_cluster::{ConnectError, JoinError, LogError};
    /// let no_answer = LogError::NoAnswer { within: std::time::Duration::ZERO, last: None };
    /// assert!(JoinError::from(no_answer).is_away());
    /// let other = ConnectError::TooOld { version: "2.10.0".to_owned() };
    /// assert!(!JoinError::from(other).is_away());
    /// ```
    #[must_use]
    pub fn is_away(&self) -> bool {
        match self {
            JoinError::Connect(error) => error.is_away(),
            JoinError::Log(error) => matches!(error, LogError::NoAnswer { .. }),
            _ => false,
        }
    }
}

impl From<Fault> for JoinError {
    fn from(fault: Fault) -> JoinError {
        JoinError::Fault(Arc::new(fault))
    }
}
