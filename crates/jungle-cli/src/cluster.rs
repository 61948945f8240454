//! Joining a cluster.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jungle::{OpenOptions, Revision, Store};
use jungle_cluster::{
    Cluster, ConnectError, ConnectOptions, JoinError, Joining, LaterLog, Local, NatsLog, Options,
};

use crate::failure::{Exit, Failure, failed};
use crate::folder;
use crate::output::bar::{self, Bar};
use crate::output::{count, say};

/// Is it the folder of a cluster's server? The clock here is not that of the others, who keep what
/// the log's commits leave. What cannot be read could be one.
pub(crate) fn is_of_cluster(folder: impl AsRef<Path>) -> Result<bool, Failure> {
    Ok(Cluster::log_of(folder.as_ref()).map_err(failed)?.is_some())
}

/// Refuses to commit to the folder of a cluster's server. It has to be open to write, so that no
/// server joins with it meanwhile.
pub(crate) fn takes_commits(folder: impl AsRef<Path>) -> Result<(), Failure> {
    let folder = folder.as_ref();
    if !is_of_cluster(folder)? {
        return Ok(());
    }
    // The server could not join again, or would go on without what was committed.
    let refused = "the folder is of a cluster: what is committed here alone, its log does not have";
    Err(Failure::new(Exit::Error, refused).with_hint(format_args!(
        "any of its servers takes edits over HTTP; `jungle restore {} NEW` makes a copy that is \
         of no cluster",
        folder.display()
    )))
}

/// Where the engine is, for `jungle cluster status`.
pub(crate) const VARIABLE: &str = "JUNGLE_CLUSTER";

/// How a folder joins a cluster.
#[derive(clap::Args)]
pub(crate) struct Membership {
    /// Be one server of a cluster: the addresses of the engine's servers (NATS with JetStream),
    /// with commas between them, such as `nats://localhost:4222`
    #[arg(long, value_name = "ADDRESSES", conflicts_with = "memory")]
    cluster: Option<String>,
    /// The cluster's name: servers that say the same one share their trees
    #[arg(long, value_name = "NAME", default_value = "jungle", requires = "cluster")]
    cluster_name: String,
    /// What this server is called in messages and reports [default: its machine and its folder]
    #[arg(long, value_name = "NAME", requires = "cluster")]
    server_name: Option<String>,
    /// Follow a copy of the log nearby, which the leaf node with this JetStream domain keeps, so
    /// that each commit comes over the link to it once, however many servers are there; made if it
    /// is not there. --cluster-domain is to be said, too
    #[arg(long, value_name = "DOMAIN", requires = "cluster")]
    cluster_mirror: Option<String>,
    /// On how many of the engine's servers the log of commits is kept: 1, 3 or 5; all servers say
    /// the same
    #[arg(long, value_name = "COUNT", default_value_t = 3, requires = "cluster")]
    replicas: usize,
    /// Join also an engine that promises before it syncs: when the power goes everywhere at once,
    /// up to two minutes of commits are lost. Else such an engine is refused, and one that does not
    /// say whether it does
    #[arg(long, requires = "cluster")]
    cluster_unsynced: bool,
    /// Begin a log that is empty with what the folder has, all its history included: after a
    /// restore, or to make a cluster of one server. Said to one server, once; the others begin with
    /// empty folders
    #[arg(long, requires = "cluster")]
    cluster_found: bool,
    /// Take commits at level local as well: they are done here at once, also while the engine is
    /// away, are kept in the folder `outbox` within the data, and get their places later
    #[arg(long, requires = "cluster")]
    local: bool,
    #[command(flatten)]
    link: Link,
}

/// How the engine is reached, and knows who speaks to it, and the reverse.
#[derive(clap::Args)]
pub(crate) struct Link {
    /// The engine's domain, which is to be named where it is reached through a leaf node
    #[arg(long, value_name = "NAME")]
    cluster_domain: Option<String>,
    /// The credentials for the engine, as a `.creds` file
    #[arg(long, value_name = "FILE")]
    cluster_creds: Option<PathBuf>,
    /// Who signed the engine's certificates, as a PEM file: all is encrypted then
    #[arg(long, value_name = "FILE")]
    cluster_ca: Option<PathBuf>,
    /// Our own certificate for the engine, as a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster_key")]
    cluster_cert: Option<PathBuf>,
    /// Its private key, as a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster_cert")]
    cluster_key: Option<PathBuf>,
}

impl Membership {
    /// Is there a cluster to join?
    pub(crate) fn joins(&self) -> bool {
        self.cluster.is_some()
    }

    /// Does it take commits at level local?
    pub(crate) fn is_local(&self) -> bool {
        self.local
    }

    /// Opens a folder and joins with it, if that is wanted.
    pub(crate) fn join(
        &self,
        folder: &Path,
        open: &OpenOptions,
    ) -> Result<Option<(Store, Arc<Cluster>)>, Failure> {
        let Some(engine) = &self.cluster else {
            return match self.link.is_empty() {
                true => Ok(None),
                false => Err(Failure::usage("keys and the domain of a cluster need --cluster")),
            };
        };
        let mut options = Options {
            client: self.link.client()?,
            name: self.cluster_name.clone(),
            domain: self.link.domain(),
            mirror: self.cluster_mirror.clone(),
            replicas: self.replicas,
            allow_unsynced: self.cluster_unsynced,
            found: self.cluster_found,
            progress: Some(Arc::new(joining())),
            ..Options::default()
        };
        if let Some(server) = self.server_name.clone().or_else(|| own_name(folder)) {
            options.server = server;
        }
        let log = NatsLog::connect(engine, &options).map_err(JoinError::from);
        let follow = |log| Cluster::follow_in_folder(Arc::new(log), folder, open, &options);
        let joined = match log.and_then(follow) {
            Err(away) if self.local && away.is_away() => {
                resume(away, engine, folder, open, &options)
            }
            joined => joined,
        };
        let (store, cluster) = joined.map_err(|error| match error {
            JoinError::Open(error) => folder::not_opened(&error),
            error => not_joined(&error),
        })?;
        if self.local {
            let outbox = open.clone().open(folder.join(OUTBOX));
            let outbox = outbox.map_err(|error| folder::not_opened(&error))?;
            cluster.local(outbox).map_err(|error| Failure::of(Exit::Error, &error))?;
        } else if let left @ 1.. = left(folder, open) {
            let commits = count(left, "commit");
            say(format_args!(
                "Note: {commits} at level local may have no place in the log yet; with --local \
                 this server gives them one"
            ));
        }
        Ok(Some((store, Arc::new(cluster))))
    }
}

/// What a server is called where that is not said. When it is started again it has the same name:
/// by that, one that has begun a log knows that it was itself, if it ended before its checkpoint.
fn own_name(folder: &Path) -> Option<String> {
    // Where the system is another one, the folder has to do.
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let place = fs::canonicalize(folder).unwrap_or_default();
    let place = place.file_name().unwrap_or_default().to_string_lossy();
    let parts = [machine.trim(), &*place].into_iter().filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("-"))
}

/// Where within the data commits at level local wait for their places.
const OUTBOX: &str = "outbox";

/// How much waits in the outbox of a server that does not open it.
fn left(folder: &Path, open: &OpenOptions) -> u64 {
    let outbox = folder.join(OUTBOX);
    if !outbox.is_dir() {
        return 0;
    }
    // Whoever needs it is told that it cannot be opened.
    open.clone().open(outbox).map_or(0, |outbox| Local::left_in(&outbox))
}

/// Goes on with what a server of a cluster has, until its engine can be reached.
fn resume(
    away: JoinError,
    engine: &str,
    folder: &Path,
    open: &OpenOptions,
    options: &Options,
) -> Result<(Store, Cluster), JoinError> {
    let Some(id) = Cluster::log_of(folder)? else { return Err(away) };
    let store = open.clone().open(folder)?;
    if store.revision() == Revision::default() {
        // It has been told nothing yet: to serve no trees is not to go on.
        return Err(away);
    }
    say(format_args!("the engine is away, and is looked for: {away}"));
    let (addresses, later) = (engine.to_owned(), options.clone());
    let log = LaterLog::new(id, move || Ok(Arc::new(NatsLog::connect(&addresses, &later)?) as _));
    let cluster = Cluster::resume(Arc::new(log), &store, options)?;
    Ok((store, cluster))
}

impl Link {
    fn is_empty(&self) -> bool {
        let Link { cluster_domain, cluster_creds, cluster_ca, cluster_cert, cluster_key } = self;
        let files = [cluster_creds, cluster_ca, cluster_cert, cluster_key];
        cluster_domain.is_none() && files.iter().all(|file| file.is_none())
    }

    /// The engine's domain.
    pub(crate) fn domain(&self) -> Option<String> {
        self.cluster_domain.clone()
    }

    /// How the engine is spoken to.
    pub(crate) fn client(&self) -> Result<ConnectOptions, Failure> {
        let mut client = ConnectOptions::new();
        if let Some(ca) = &self.cluster_ca {
            client = client.add_root_certificates(ca.clone()).require_tls(true);
        }
        if let (Some(cert), Some(key)) = (&self.cluster_cert, &self.cluster_key) {
            client = client.add_client_certificate(cert.clone(), key.clone()).require_tls(true);
        }
        if let Some(file) = &self.cluster_creds {
            let unread = |error: &dyn Error| {
                Failure::new(Exit::Error, format_args!("cannot use {}: {error}", file.display()))
            };
            let text = fs::read_to_string(file).map_err(|error| unread(&error))?;
            client = client.credentials(&text).map_err(|error| unread(&error))?;
        }
        Ok(client)
    }
}

/// Shows how far joining is, where that takes long: by a bar on a terminal, and elsewhere by notes,
/// for whoever looks after the server.
fn joining() -> impl Fn(Joining) + Send + Sync {
    let bar: Mutex<Option<Bar<'static>>> = Mutex::default();
    let notes = Mutex::new(Seldom { last: Instant::now() });
    move |joining| {
        if !bar::is_shown() {
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            if notes.is_due(Instant::now()) {
                note(joining);
            }
            return;
        }
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        match joining {
            Joining::Checkpoint { bytes, of } => {
                bar.get_or_insert_with(|| Bar::new("reading a checkpoint", Some(of))).set(bytes);
                if bytes == of {
                    *bar = None;
                }
            }
            Joining::Log { messages, of } => {
                bar.get_or_insert_with(|| Bar::of_steps("following the log", of)).set(messages);
            }
            _ => {}
        }
    }
}

fn note(joining: Joining) {
    match joining {
        Joining::Checkpoint { bytes, of } => tracing::info!(bytes, of, "reading a checkpoint"),
        Joining::Log { messages, of } => tracing::info!(messages, of, "following the log"),
        _ => {}
    }
}

/// When something is noted that goes on for long.
struct Seldom {
    /// When it was noted last, or began.
    last: Instant,
}

impl Seldom {
    const EVERY: Duration = Duration::from_secs(10);

    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.duration_since(self.last) >= Seldom::EVERY;
        if is_due {
            self.last = now;
        }
        is_due
    }
}

fn not_joined(error: &JoinError) -> Failure {
    let exit = match error {
        JoinError::Connect(ConnectError::Replicas { .. }) => Exit::Usage,
        _ if error.is_away() => Exit::Unreachable,
        _ => Exit::Error,
    };
    let failure = Failure::of(exit, error as &(dyn Error + 'static));
    match error {
        JoinError::Connect(ConnectError::Log { .. }) => failure
            .with_hint("an engine of one server keeps one copy: --replicas 1, for trying it out"),
        JoinError::Connect(ConnectError::Unsynced { .. }) => failure.with_hint(
            "--cluster-unsynced joins all the same: quicker, and a power cut may take two minutes",
        ),
        JoinError::Connect(ConnectError::SyncUnknown) => failure.with_hint(
            "`jungle cluster config` writes such settings; --cluster-unsynced joins all the same, \
             where you know that they are there, or a power cut may take two minutes",
        ),
        JoinError::NotEmpty { .. } => failure.with_hint(
            "--cluster-found begins the log with what the folder has, on one server, once; or say \
             another folder with --data",
        ),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use jungle::{CommitOptions, Jungle};
    use jungle_cluster::MemoryLog;

    use super::*;

    #[test]
    fn a_server_is_called_by_its_folder() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let [one, other] = [".", "src"].map(|place| own_name(&here.join(place)).unwrap());
        assert!(one.ends_with("jungle-cli") && other.ends_with("src"), "{one}, {other}");
    }

    #[test]
    fn what_was_left_in_an_outbox_is_counted() {
        let folder = std::env::temp_dir().join(format!("jungle-left-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let open = OpenOptions::new();
        assert_eq!(left(&folder, &open), 0);
        let (jungle, log) = (Jungle::new().unwrap(), Arc::new(MemoryLog::new()));
        let cluster = Cluster::follow(log, &jungle, &Options::default()).unwrap();
        let board = jungle.create_tree("board").unwrap();
        let outbox = open.clone().open(folder.join(OUTBOX)).unwrap();
        // Nothing is published meanwhile.
        let local = Local::open(&cluster, outbox).unwrap();
        for _ in 0..2 {
            local.update(&board, &CommitOptions::default(), |tx| tx.append(&[])).unwrap();
        }
        drop(local);
        assert_eq!(left(&folder, &open), 2);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_goes_on_for_long_is_noted_every_ten_seconds() {
        let begun = Instant::now();
        let mut notes = Seldom { last: begun };
        let is_due = [0, 9, 12, 13, 21, 22, 60, 61];
        let is_due = is_due.map(|seconds| notes.is_due(begun + Duration::from_secs(seconds)));
        assert_eq!(is_due, [false, false, true, false, false, true, true, false]);
    }
}
