//! Several servers with one truth: each has all trees and answers reads itself, and one replicated
//! log says in which order they are changed. Consensus, replication and fail-over are those of an
//! engine, NATS JetStream; what is here is how a Jungle follows a log.
//!
//! ```no_run
//! use jungle_cluster::{Cluster, Options};
//! use jungle_store::Store;
//!
//! let store = Store::open("data")?;
//! let cluster = Cluster::join("nats://localhost:4222", &store, Options::default())?;
//! let board = store.create_tree("board")?;
//! board.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
//! println!("{:?}", cluster.status());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - A **commit** is worked out here, as ever. What it comes to is appended to the log, if the log
//!   has not grown since the revision it was worked out for; else it is worked out again. It is
//!   visible, here and elsewhere, once it is in the log on a majority of the engine's servers, and
//!   the call returns then. So transactions are serializable, over all trees of the cluster.
//! - Commits that come while one message is on its way go into the next one together, and with them
//!   those of other servers that are the same wherever they come, as what only adds a node is. So
//!   servers that all post to one board do not come too late for each other.
//! - Every message carries the hash of the one before and the hashes of the branches it changes, as
//!   they were before it; of the other branches, servers [compare](Cluster::compare) one a minute.
//!   A [server](Cluster) that misses a message, gets a damaged one, or has other trees than most
//!   servers, follows no further, and says so: [`Fault`].
//! - What is followed is written to the server's own folder, too, so the engine does not have the
//!   only copy, and a server that returns reads on from where it was.
//! - Now and then one of the servers writes a **checkpoint** of all there is into the engine's
//!   object store. The two newest are kept, and the log from the older one on: it does not grow
//!   without end. Who has nothing yet, or was away for too long, begins with the newest one
//!   ([`Cluster::follow_in_folder`], [`Cluster::follow_in_memory`]).
//! - An engine that is too old is refused, and one that keeps the log otherwise than it has to be
//!   kept, or does not say that it syncs before it promises: [`ConnectError`].
//! - Several clusters may share an engine, each with a [name](Options::name) and a log of its own:
//!   so trees are spread over logs, and a server has those of its own cluster. Who has the others
//!   can be [asked](Cluster::elsewhere).
//! - A [`Log`], with its [`Depot`], is all that is needed of an engine. A [`MemoryLog`] is one
//!   without an engine, for tests. NATS JetStream and its client are the feature `nats`, which is
//!   on by default: without it there is no [`NatsLog`], and nothing that connects to an engine.

mod checkpoint;
mod cluster;
mod engine;
mod error;
mod follow;
mod join;
mod local;
mod message;
#[doc(hidden)]
pub mod planted;
mod sequencer;

#[cfg(feature = "nats")]
pub use async_nats::ConnectOptions;
pub use cluster::elsewhere::{Elsewhere, TellTrees};
pub use cluster::survey::{
    LogStatus, MirrorStatus, OutboxStatus, Replica, Role, ServerStatus, Survey, Tell,
};
pub use cluster::{Cluster, Status};
pub use engine::depot::{Depot, Stored, WriteCheckpoint};
pub use engine::error::{ConnectError, EngineSaid};
pub use engine::later::LaterLog;
pub use engine::log::{Appended, Got, Heard, Log, LogError, LogId, LogIdError, Say, SeeEnd, Tail};
pub use engine::memory::MemoryLog;
#[cfg(feature = "nats")]
pub use engine::nats::NatsLog;
pub use error::{CheckpointError, Fault, JoinError, MessageError};
pub use join::options::{Joining, Options};
pub use local::{
    Kept, Local, LocalError, LocalId, LocalIdError, LocalOutcome, LocalStatus, LocalUpdateError,
    Refused, WRITERS,
};
#[cfg(feature = "sim")]
#[doc(hidden)]
pub use message::read_twice;
