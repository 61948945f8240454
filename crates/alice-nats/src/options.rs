//! How an engine is connected to.

use std::time::Duration;

use async_nats::ConnectOptions;

use crate::parcel::Compress;

/// How an engine is connected to and used.
///
/// ```
/// use alice_nats::{Compress, ConnectOptions, Options};
///
/// let client = ConnectOptions::new()
///     .name("left")
///     .require_tls(true)
///     .user_and_password("alice".into(), "secret".into());
/// let options = Options {
///     client,
///     space: "aquarium".into(),
///     replicas: 3,
///     compress: Compress::Above { bytes: 4096 },
///     ..Options::default()
/// };
/// ```
#[derive(Clone)]
pub struct Options {
    /// The client's own: TLS, certificates, tokens, passwords, credentials, its name.
    pub client: ConnectOptions,
    /// Labels mean something within a space only. `default`, if nothing else is said.
    pub space: String,
    /// On how many servers of the engine the labels and the durable queues are kept: 1, 3 or 5. One
    /// is lost with its server's disk; of three, one may be lost. All who use a space say the same.
    pub replicas: usize,
    /// What is compressed before it is sent.
    pub compress: Compress,
    /// A label is free again when its holder has not been heard of for so long. At least a second.
    pub lease: Duration,
    /// How long an answer may take, besides the time that the caller wants to wait anyway.
    pub answer_within: Duration,
    /// How long a durable put is tried again while the engine does not answer. An engine that lost
    /// the leader of a stream takes 4 to 9 seconds for the next one.
    pub store_within: Duration,
    /// How long the engine remembers the ids of durable puts, to drop what comes twice.
    pub remember: Duration,
    /// A durable data segment whose taker was not heard of for so long is given to another one.
    pub redeliver_after: Duration,
    /// Threads of the connection.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            client: ConnectOptions::new(),
            space: "default".to_owned(),
            replicas: 1,
            compress: Compress::Never,
            lease: Duration::from_secs(10),
            answer_within: Duration::from_secs(5),
            store_within: Duration::from_secs(30),
            remember: Duration::from_mins(10),
            redeliver_after: Duration::from_secs(10),
            threads: 1,
        }
    }
}

impl std::fmt::Debug for Options {
    /// Without the client's, which has secrets in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Options");
        shown.field("space", &self.space).field("replicas", &self.replicas);
        shown.field("compress", &self.compress).field("lease", &self.lease);
        shown.finish_non_exhaustive()
    }
}
