//! How a cluster is joined.

use std::sync::Arc;
use std::time::Duration;

/// How a cluster is joined, and its log made if it is not there.
///
/// ```
/// use jungle_cluster::{ConnectOptions, Options};
/// let options = Options {
///     client: ConnectOptions::new().user_and_password("jungle".into(), "secret".into()),
///     name: "boards".into(),
///     replicas: 3,
///     ..Options::default()
/// };
/// ```
#[derive(Clone)]
pub struct Options {
    /// The client's own: TLS, certificates, tokens, passwords, credentials.
    #[cfg(feature = "nats")]
    pub client: async_nats::ConnectOptions,
    /// The name of the cluster: servers of one engine that say the same one share their trees.
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// What this server is called in messages and reports.
    pub server: String,
    /// The JetStream domain in which the log is kept. To be named where the engine is reached
    /// through a leaf node, which passes on only what names one.
    pub domain: Option<String>,
    /// The JetStream domain of a leaf node nearby, which is to have a copy of the log that servers
    /// there follow: then each message comes over the link to it once, however many they are. It
    /// is made if it is not there. Appending, and asking for what is newest, go to the log itself;
    /// so does following it while the copy is behind, or away. [`domain`](Options::domain) is to be
    /// named as well.
    pub mirror: Option<String>,
    /// On how many servers of the engine the log is kept: 1, 3 or 5. One is lost with its server's
    /// disk; of three, one may be lost, and of five, two. All servers of a cluster say the same.
    pub replicas: usize,
    /// Join also an engine whose servers promise before they sync, or of which nobody says that
    /// they do not: quicker, and when the power goes everywhere at once, up to two minutes are
    /// lost. Else such an engine is refused. To say that it syncs, its system account must export
    /// the service `$SYS.REQ.SERVER.PING.JSZ`.
    pub allow_unsynced: bool,
    /// Begin a log that has nothing with what the folder has, for which the first checkpoint is
    /// written: so a cluster is restored from a backup, or made of a single server, with all its
    /// history. It is said to one server, once; the others begin with empty folders, when that one
    /// serves. A log that has anything is followed as ever.
    pub found: bool,
    /// How long a commit may wait for its place while the engine does not answer. An engine that
    /// lost the leader of a log takes 4 to 9 seconds for the next one.
    pub commit_within: Duration,
    /// How long joining may take, besides reading what the log says.
    pub join_within: Duration,
    /// After how many messages since the newest checkpoint the next one is written, by one of the
    /// servers; the log goes back to the one before. `u64::MAX` is never.
    pub checkpoint_messages: u64,
    /// After how many bytes of messages, if that is sooner.
    pub checkpoint_bytes: u64,
    /// Is told now and then how far joining is.
    pub progress: Option<Arc<dyn Fn(Joining) + Send + Sync>>,
    /// The server has no threads and waits for nothing: see [`Cluster::follow_next`],
    /// [`Cluster::keep_if_due`] and [`Local::publish_next`], which are to be called in their place.
    ///
    /// [`Cluster::follow_next`]: crate::Cluster::follow_next
    /// [`Cluster::keep_if_due`]: crate::Cluster::keep_if_due
    /// [`Local::publish_next`]: crate::Local::publish_next
    #[cfg(feature = "sim")]
    pub by_hand: bool,
}

/// How far joining is. A checkpoint is told of at each MiB and at its end, the log each 0.2 s while
/// it is followed.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use jungle_cluster::{Cluster, Joining, MemoryLog, Options};
/// use jungle_db::Jungle;
/// use jungle_tree::ArenaOptions;
///
/// let (log, one) = (MemoryLog::new(), Jungle::new()?);
/// let cluster = Cluster::follow(Arc::new(log.connect()), &one, &Options::default())?;
/// one.create_tree("board")?;
/// cluster.checkpoint()?;
/// let told = Arc::new(Mutex::new(Vec::new()));
/// let tell = {
///     let told = Arc::clone(&told);
///     move |joining| told.lock().unwrap().push(joining)
/// };
/// let options = Options { progress: Some(Arc::new(tell)), ..Options::default() };
/// let (log, arena) = (Arc::new(log.connect()), ArenaOptions::default());
/// let _other = Cluster::follow_in_memory(log, &Jungle::builder(), &arena, &options)?;
/// let told = told.lock().unwrap();
/// assert!(matches!(told.last(), Some(Joining::Checkpoint { bytes, of }) if bytes == of));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Joining {
    /// A checkpoint is read.
    Checkpoint {
        /// How many bytes were read.
        bytes: u64,
        /// Of how many.
        of: u64,
    },
    /// The log is followed.
    Log {
        /// How many messages were followed.
        messages: u64,
        /// Of how many.
        of: u64,
    },
}

impl Options {
    /// Has the server no threads?
    #[cfg(feature = "sim")]
    pub(crate) fn is_by_hand(&self) -> bool {
        self.by_hand
    }

    #[cfg(not(feature = "sim"))]
    pub(crate) fn is_by_hand(&self) -> bool {
        false
    }

    pub(crate) fn tell(&self, joining: Joining) {
        if let Some(tell) = &self.progress {
            tell(joining);
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            #[cfg(feature = "nats")]
            client: async_nats::ConnectOptions::new(),
            name: "jungle".to_owned(),
            server: format!("server-{}", std::process::id()),
            domain: None,
            mirror: None,
            replicas: 1,
            allow_unsynced: false,
            found: false,
            commit_within: Duration::from_secs(30),
            join_within: Duration::from_secs(30),
            checkpoint_messages: 100_000,
            checkpoint_bytes: 64 << 20,
            progress: None,
            #[cfg(feature = "sim")]
            by_hand: false,
        }
    }
}

impl std::fmt::Debug for Options {
    /// Without the client's, which has secrets in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Options");
        shown.field("name", &self.name).field("server", &self.server);
        shown.field("replicas", &self.replicas).finish_non_exhaustive()
    }
}
