//! Why an engine cannot be used.

use std::error::Error;

use crate::message;

/// A message of the log with its headers is no longer than this.
pub(crate) const PAYLOAD_BYTES: usize = message::BYTES_MAX + (4 << 10);

/// What all servers of an engine answer to with how they keep what they are given.
pub(crate) const ASKED: &str = "$SYS.REQ.SERVER.PING.JSZ";

/// Why an engine cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name of the cluster, or of the engine's domain, cannot be one.
    #[error(
        "a cluster or domain cannot be called {name:?}: it takes 1 to 64 letters, digits, `-` and \
         `_`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A log is kept on another number of servers.
    #[error("a log is kept on 1, 3 or 5 of the engine's servers, not on {replicas}")]
    Replicas {
        /// On how many it was to be.
        replicas: usize,
    },
    /// Nobody answers, or does not take the credentials.
    #[error("no connection to {addresses}: look whether the engine's servers run there")]
    Connect {
        /// Where.
        addresses: String,
        /// Why.
        source: EngineSaid,
    },
    /// A server of it is too old.
    #[error(
        "the engine is NATS {version}: 2.15 or newer is needed, since older ones lose what they \
         have promised to keep in order"
    )]
    TooOld {
        /// Its version, and which server that is where it is not the one that was connected to.
        version: String,
    },
    /// A message of a cluster may be longer than the server takes.
    #[error(
        "the engine takes messages of at most {bytes} bytes, and {} are needed: its settings need \
         `max_payload: 1MB`, as without any",
        PAYLOAD_BYTES
    )]
    Payload {
        /// How many it takes.
        bytes: usize,
    },
    /// The log could not be made or looked at.
    #[error("the engine does not give a log: is JetStream on, and has it {replicas} servers?")]
    Log {
        /// On how many servers it was to be.
        replicas: usize,
        /// Why.
        source: EngineSaid,
    },
    /// Nobody has made a cluster of this name on the engine.
    #[error("the engine has no cluster {name:?}: its first server makes it")]
    NoCluster {
        /// The name.
        name: String,
    },
    /// How the log stands was asked, by who only looks and does not know on how many servers it is
    /// kept.
    #[error(
        "the engine does not tell of the log: is JetStream on, and do most of the servers run that \
         keep it?"
    )]
    NotTold {
        /// Why.
        source: EngineSaid,
    },
    /// There is a log, or a mirror of it, and it is kept otherwise than it has to be.
    #[error("the stream {stream} of the engine has {setting} = {found}, and {wanted} is needed")]
    Setting {
        /// The stream.
        stream: String,
        /// Which setting it is.
        setting: &'static str,
        /// What it is.
        found: String,
        /// What it has to be.
        wanted: String,
    },
    /// A mirror is to be in the domain of the log, or that is not known.
    #[error(
        "a mirror in domain {domain:?} needs the domain of the log to be named as well, and that \
         is another one"
    )]
    MirrorDomain {
        /// The domain of the mirror.
        domain: String,
    },
    /// The mirror of the log could not be made or looked at.
    #[error(
        "the engine's domain {domain:?} gives no mirror of the log: has its leaf node `jetstream \
         {{ domain: {domain} }}`?"
    )]
    Mirror {
        /// The domain.
        domain: String,
        /// Why.
        source: EngineSaid,
    },
    /// A server of the engine says yes before its disk does.
    #[error(
        "the engine's server {server} promises before it syncs: its settings need `jetstream {{ \
         sync_interval: always }}`"
    )]
    Unsynced {
        /// Which server.
        server: String,
    },
    /// No server of the engine says whether its disk has what it says yes to.
    #[error(
        "the engine does not say whether it syncs before it promises: its settings need \
         `jetstream {{ sync_interval: always }}`, and its system account has to export the service \
         `{}`, by which that is seen",
        ASKED
    )]
    SyncUnknown,
    /// The system gives no random numbers, which a new log is known by.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
    /// The system gives no threads.
    #[error("the system gives no threads: look at its limits")]
    Threads(#[source] std::io::Error),
}

impl ConnectError {
    /// Is the engine not there, or not a majority of it, rather than not as it has to be, or
    /// refusing this server? That may pass by itself.
    ///
    /// ```
    /// use jungle_cluster::ConnectError;
    /// assert!(!ConnectError::TooOld { version: "2.10.0".to_owned() }.is_away());
    /// ```
    #[must_use]
    pub fn is_away(&self) -> bool {
        match self {
            ConnectError::Connect { source, .. }
            | ConnectError::Log { source, .. }
            | ConnectError::NotTold { source }
            | ConnectError::Mirror { source, .. } => matches!(source, EngineSaid::Nothing(_)),
            _ => false,
        }
    }
}

/// What an engine has said to who got no connection, or no log, of it.
///
/// ```
/// use jungle_cluster::{ConnectError, EngineSaid};
/// let is_away = |source| ConnectError::Log { replicas: 3, source }.is_away();
/// assert!(is_away(EngineSaid::Nothing("no answer in time".into())));
/// assert!(!is_away(EngineSaid::No("JetStream is not enabled for this account".into())));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineSaid {
    /// It refuses.
    #[error(transparent)]
    No(Box<dyn Error + Send + Sync>),
    /// It has said nothing that can be relied on, or nothing at all.
    #[error(transparent)]
    Nothing(Box<dyn Error + Send + Sync>),
}
