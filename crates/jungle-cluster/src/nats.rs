//! The log in NATS JetStream: one stream with one subject; checkpoints in its object store.

mod append;
mod depot;
mod mirror;
pub(crate) mod questions;
mod reach;
mod refusal;
mod search;
pub(crate) mod synced;
mod tail;

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::context::{ContextBuilder, GetStreamErrorKind};
use async_nats::jetstream::stream::{
    self, Config, DiscardPolicy, PersistenceMode, RawMessageErrorKind, RetentionPolicy,
    StorageType, Stream,
};
use async_nats::jetstream::{self, ErrorCode};
use bytes::Bytes;
use futures_util::StreamExt;
use jungle_db::Timestamp;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use self::append::{Append, Elections};
use self::depot::NatsDepot;
use self::mirror::Mirror;
use self::questions::Answers;
use self::reach::Reach;
use self::search::{SEARCHED_WITHIN, search};
use self::synced::Synced;
use self::tail::Feed;
use crate::depot::Depot;
use crate::elsewhere::{self, Elsewhere, Question, TellTrees};
use crate::log::{Appended, Got, Heard, Log, LogError, LogId, Say, SeeEnd, Tail};
use crate::message;
use crate::options::Options;
use crate::survey::{self, LogStatus, MirrorStatus, Survey, Tell};

/// How long one answer may take before it is asked again: the server that had it may be dead.
const ACK_WITHIN: Duration = Duration::from_secs(2);
/// How long a question about the log may take in all, while the engine chooses a new leader.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// How long to rest before something is asked again.
pub(crate) const REST: Duration = Duration::from_millis(20);
/// After so long without an answer the engine is asked anew: what a server kept that has died may
/// say nothing more, and not that it has ended either.
const QUIET: Duration = Duration::from_secs(10);
/// Messages that were read and not followed yet.
const TAIL_AHEAD: usize = 64;
/// What comes twice within this time is noticed by the engine itself; we notice it always.
const REMEMBERED: Duration = Duration::from_mins(2);
/// Under this key the stream says what the log is known by.
const ID: &str = "jungle-log";
/// A message of the log with its headers is no longer than this.
const PAYLOAD_BYTES: usize = message::BYTES_MAX + (4 << 10);

/// A log that NATS JetStream keeps.
pub struct NatsLog {
    stream: Stream,
    /// A copy of it nearby, to be followed in its place.
    mirror: Option<Mirror>,
    reach: Reach,
    elections: Elections,
    /// None where somebody only looks.
    depot: Option<NatsDepot>,
    jetstream: jetstream::Context,
    cluster: String,
    name: String,
    id: LogId,
    closed: watch::Sender<bool>,
    /// `None` once it was let go.
    threads: Option<Runtime>,
}

impl std::fmt::Debug for NatsLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("NatsLog");
        shown.field("name", &self.name).field("id", &self.id.to_string()).finish_non_exhaustive()
    }
}

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
    /// Nobody answers, or does not take the credentials.
    #[error("no connection to {addresses}: look whether the engine's servers run there")]
    Connect {
        /// Where.
        addresses: String,
        /// Why.
        #[source]
        source: async_nats::Error,
    },
    /// A server of it is too old.
    #[error(
        "the engine is NATS {version}: 2.15 or newer is needed, since older ones lose what they \
         have promised to keep in order"
    )]
    TooOld {
        /// Its version.
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
        #[source]
        source: async_nats::Error,
    },
    /// Nobody has made a cluster of this name on the engine.
    #[error("the engine has no cluster {name:?}: its first server makes it")]
    NoCluster {
        /// The name.
        name: String,
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
        #[source]
        source: async_nats::Error,
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
    pub(crate) fn is_away(&self) -> bool {
        match self {
            ConnectError::Connect { source, .. } => !refusal::is_denial(&**source),
            ConnectError::Log { source, .. } | ConnectError::Mirror { source, .. } => {
                !refusal::is_refusal(&**source)
            }
            _ => false,
        }
    }
}

impl NatsLog {
    /// Connects to an engine, and makes the log of the cluster if there is none.
    ///
    /// # Errors
    /// When the engine cannot be reached or used, or keeps the log, or the mirror that was asked
    /// for, otherwise than it has to be.
    pub fn connect(addresses: &str, options: &Options) -> Result<NatsLog, ConnectError> {
        let (threads, jetstream) = connect(addresses, options)?;
        let mut id = LogId::default();
        getrandom::fill(&mut id.0).map_err(|error| ConnectError::Random(error.to_string()))?;
        let mut wanted = config(&options.name, options.replicas);
        // That of the server which makes the log.
        wanted.metadata.insert(ID.to_owned(), id.to_string());
        let stream = open(&threads, &jetstream, &wanted, options)?;
        if !options.allow_unsynced {
            check_synced(&threads, &jetstream, &stream, options)?;
        }
        let depot = open_depot(&threads, &jetstream, options)?;
        let mirror = options.mirror.as_ref().map(|domain| {
            let log = (&jetstream, &stream, options.domain.as_deref());
            Mirror::open(&threads, log, domain, options.join_within)
        });
        let mirror = mirror.transpose()?;
        let mut log = NatsLog::new(threads, jetstream, stream, Some(depot), &options.name);
        log.mirror = mirror;
        let (elections, counting) = Elections::hear(log.jetstream.client(), &log.name);
        log.elections = elections;
        log.spawn(counting);
        let reach = log.reach.clone();
        // So that the time is known before anything is committed. If nobody says it, it is later.
        let _ = log.wait(ANSWER_WITHIN, async move { reach.ask().await });
        log.spawn(log.reach.clone().watch());
        Ok(log)
    }

    /// As [`connect`](NatsLog::connect), without making a log, or asking that it be kept in some
    /// way.
    pub(crate) fn find(addresses: &str, options: &Options) -> Result<NatsLog, ConnectError> {
        let (threads, jetstream) = connect(addresses, options)?;
        let (context, name) = (jetstream.clone(), config(&options.name, options.replicas).name);
        let finding = async move { context.get_stream(name).await };
        let no_log = |source| ConnectError::Log { replicas: options.replicas, source };
        let found = wait(&threads, options.join_within, finding);
        let found = found.ok_or_else(|| no_log("no answer in time".into()))?;
        let stream = found.map_err(|error| match error.kind() {
            GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                ConnectError::NoCluster { name: options.name.clone() }
            }
            _ => no_log(error.into()),
        })?;
        Ok(NatsLog::new(threads, jetstream, stream, None, &options.name))
    }

    fn new(
        threads: Runtime,
        jetstream: jetstream::Context,
        stream: Stream,
        depot: Option<NatsDepot>,
        cluster: &str,
    ) -> NatsLog {
        let config = &stream.cached_info().config;
        let (name, id) = (config.name.clone(), id_of(config).unwrap_or_default());
        NatsLog {
            id,
            stream,
            mirror: None,
            reach: Reach::new(&jetstream, &name),
            elections: Elections::none(),
            depot,
            jetstream,
            cluster: cluster.to_owned(),
            name,
            closed: watch::Sender::new(false),
            threads: Some(threads),
        }
    }

    fn wait<T: Send + 'static>(
        &self,
        within: Duration,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, LogError> {
        let threads = self.threads.as_ref().ok_or(LogError::Closed)?;
        wait(threads, within, future).ok_or(LogError::NoAnswer { within, last: None })
    }
}

impl NatsLog {
    /// Has something done until the log is closed.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let Some(threads) = &self.threads else { return };
        let mut closed = self.closed.subscribe();
        threads.spawn(async move {
            tokio::select! {
                _ = closed.wait_for(|closed| *closed) => {}
                () = task => {}
            }
        });
    }
}

impl Log for NatsLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        let append = Append {
            jetstream: self.jetstream.clone(),
            stream: self.stream.clone(),
            elections: self.elections.clone(),
            subject: subject(&self.cluster),
            message: message.clone(),
            after,
        };
        self.wait(within + ACK_WITHIN * 2, append.run(within))?
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        if sequence == 0 {
            // The engine takes that for a bad request.
            return Ok(None);
        }
        let stream = self.stream.clone();
        self.wait(ANSWER_WITHIN * 2, async move { get(&stream, sequence, ANSWER_WITHIN).await })?
    }

    fn search(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        let (client, stream) = (self.jetstream.client(), self.stream.clone());
        self.wait(SEARCHED_WITHIN, async move { search(&client, &stream, sequence).await })?
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        let stream = self.stream.clone();
        self.wait(ANSWER_WITHIN * 2, async move {
            let deadline = Instant::now() + ANSWER_WITHIN;
            loop {
                match stream.get_info().await {
                    // A stream that never had any says 0.
                    Ok(stream::Info { state, .. }) => {
                        break Ok((state.first_sequence.max(1), state.last_sequence));
                    }
                    Err(error) if Instant::now() > deadline => break Err(no_answer(error)),
                    Err(_) => sleep(REST).await,
                }
            }
        })?
    }

    fn tail(&self, from: u64) -> Tail {
        let (sender, mut receiver) = mpsc::channel(TAIL_AHEAD);
        let (log, mirror) = (self.stream.clone(), self.mirror.clone());
        let feed =
            Feed { log, mirror, client: self.jetstream.client(), due: from, retries: 0, sender };
        self.spawn(feed.run());
        Box::new(std::iter::from_fn(move || receiver.blocking_recv()))
    }

    fn answer(&self, tell: Tell) {
        let client = self.jetstream.client();
        let say = move |_: &[u8]| serde_json::to_vec(&tell()).ok();
        self.spawn(questions::answer(client, survey::subject(&self.cluster), Arc::new(say)));
    }

    fn answer_trees(&self, tell: TellTrees) {
        let (client, cluster) = (self.jetstream.client(), self.cluster.clone());
        let say = move |bytes: &[u8]| Question::answer(bytes, &cluster, &tell);
        self.spawn(questions::answer(client, elsewhere::SUBJECT.to_owned(), Arc::new(say)));
    }

    fn elsewhere(&self, tree: Option<&str>, within: Duration) -> Result<Vec<Elsewhere>, LogError> {
        let question = Question::new(&self.cluster, tree);
        self.wait(within + ANSWER_WITHIN, question.ask(self.jetstream.client(), within))?
    }

    fn answer_each(&self, say: Say) {
        self.spawn(questions::answer(self.jetstream.client(), asked(&self.cluster), say));
    }

    fn ask(&self, question: Vec<u8>, within: Duration) -> Result<Option<Vec<Vec<u8>>>, LogError> {
        let (client, subject) = (self.jetstream.client(), asked(&self.cluster));
        let asking = async move {
            let deadline = Instant::now() + within;
            let mut answers = Answers::ask(&client, subject, question.into()).await?;
            let mut all = Vec::new();
            while let Some(answer) = answers.next_bytes(deadline).await {
                all.push(answer.to_vec());
            }
            Ok(Some(all))
        };
        self.wait(within + ANSWER_WITHIN, asking)?
    }

    fn wait_in_line(&self, server: &str) {
        let Some(threads) = &self.threads else { return };
        let (client, subject) = (self.jetstream.client(), line(&self.cluster));
        let server = Bytes::copy_from_slice(server.as_bytes());
        threads.spawn(async move {
            // Who does not hear it does not wait.
            let _ = client.publish(subject, server).await;
        });
    }

    fn hear_line(&self, heard: Heard) {
        let got = move |said: &[u8]| str::from_utf8(said).map_or((), |server| heard(server));
        self.spawn(hear(self.jetstream.client(), line(&self.cluster), Arc::new(got)));
    }

    fn send(&self, to: &str, bytes: Bytes) {
        let Some(threads) = &self.threads else { return };
        let (client, subject) = (self.jetstream.client(), guests(&self.cluster, to));
        threads.spawn(async move {
            // Whoever does not get it takes nothing along.
            let _ = client.publish(subject, bytes).await;
        });
    }

    fn receive(&self, server: &str, got: Got) -> bool {
        self.spawn(hear(self.jetstream.client(), guests(&self.cluster, server), got));
        true
    }

    fn survey(&self, within: Duration) -> Result<Option<Survey>, LogError> {
        let (client, stream) = (self.jetstream.client(), self.stream.clone());
        let asking = survey::ask(client, stream, survey::subject(&self.cluster), within);
        self.wait(within + ANSWER_WITHIN, asking)?.map(Some)
    }

    fn mirror(&self) -> Option<MirrorStatus> {
        Some(self.mirror.as_ref()?.status())
    }

    fn outage(&self) -> Option<Duration> {
        self.reach.outage()
    }

    fn time(&self) -> Option<Timestamp> {
        self.reach.time()
    }

    fn watch_end(&self, see: SeeEnd) {
        self.reach.show(see);
    }

    fn close(&self) {
        self.closed.send_replace(true);
    }

    fn depot(&self) -> Option<&dyn Depot> {
        self.depot.as_ref().map(|_| self as _)
    }
}

impl Drop for NatsLog {
    fn drop(&mut self) {
        self.close();
        if let Some(threads) = self.threads.take() {
            // It may be let go by an async function, which cannot wait.
            threads.shutdown_background();
        }
    }
}

/// The subject on which a cluster's servers say that they wait for their turn.
fn line(name: &str) -> String {
    format!("jungle.{name}.line")
}

/// The subject on which a server is sent what it may take along: what it drew as it joined.
fn guests(name: &str, mark: &str) -> String {
    let (_, drawn) = mark.rsplit_once('#').unwrap_or(("", mark));
    format!("jungle.{name}.guests.{drawn}")
}

/// The subject on which a cluster's servers are asked.
fn asked(name: &str) -> String {
    format!("jungle.{name}.asked")
}

/// Listens to what is said on a subject, as long as this runs.
async fn hear(client: Client, subject: String, got: Got) {
    loop {
        if let Ok(mut line) = client.subscribe(subject.clone()).await {
            while let Some(said) = line.next().await {
                got(&said.payload);
            }
        }
        sleep(REST).await;
    }
}

/// Connects to an engine that is new enough.
fn connect(
    addresses: &str,
    options: &Options,
) -> Result<(Runtime, jetstream::Context), ConnectError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = |name: &str| (1..=64).contains(&name.len()) && name.chars().all(fits);
    let names = [Some(&options.name), options.domain.as_ref(), options.mirror.as_ref()];
    if let Some(name) = names.into_iter().flatten().find(|name| !is_name(name)) {
        return Err(ConnectError::Name { name: name.clone() });
    }
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.worker_threads(1).thread_name("cluster engine").enable_all();
    let threads = threads.build().map_err(ConnectError::Threads)?;
    let servers: Vec<String> = addresses.split(',').map(str::to_owned).collect();
    let client_options = options.client.clone();
    let connecting = async move { client_options.connect(servers).await };
    let unconnected = |source| {
        let addresses = addresses.to_owned();
        ConnectError::Connect { addresses, source }
    };
    let connected = wait(&threads, options.join_within, connecting);
    let connected = connected.ok_or_else(|| unconnected("no answer in time".into()))?;
    let client = connected.map_err(|error| unconnected(error.into()))?;
    if !client.is_server_compatible(2, 15, 0) {
        let version = client.server_info().version;
        return Err(ConnectError::TooOld { version });
    }
    if client.server_info().max_payload < PAYLOAD_BYTES {
        return Err(ConnectError::Payload { bytes: client.server_info().max_payload });
    }
    let jetstream = context(&threads, client, options.domain.as_deref());
    Ok((threads, jetstream))
}

/// How what is kept in a domain is asked for.
fn context(threads: &Runtime, client: Client, domain: Option<&str>) -> jetstream::Context {
    let context = ContextBuilder::new().api_prefix(api_of(domain));
    let _tasks = threads.enter();
    context.timeout(ACK_WITHIN).ack_timeout(ACK_WITHIN).build(client)
}

/// What the subjects begin with on which a domain is asked.
fn api_of(domain: Option<&str>) -> String {
    domain.map_or("$JS.API".to_owned(), |domain| format!("$JS.{domain}.API"))
}

/// Waits on an ordinary thread, or on one of a runtime of the caller's, which is kept waiting then.
fn wait<T: Send + 'static>(
    threads: &Runtime,
    within: Duration,
    future: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = sync_channel(1);
    let task = threads.spawn(async move {
        // Nobody waits any more when the time is over.
        let _ = sender.send(future.await);
    });
    match receiver.recv_timeout(within) {
        Ok(value) => Some(value),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            task.abort();
            None
        }
    }
}

fn subject(name: &str) -> String {
    format!("jungle.{name}.log")
}

/// What a log is known by, if it says so.
fn id_of(config: &Config) -> Option<LogId> {
    config.metadata.get(ID)?.parse().ok()
}

fn config(name: &str, replicas: usize) -> Config {
    Config {
        name: format!("jungle-{name}"),
        description: Some("commits, in their order".to_owned()),
        subjects: vec![subject(name)],
        retention: RetentionPolicy::Limits,
        // A full engine refuses what is new; it never drops what is old.
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: replicas,
        duplicate_window: REMEMBERED,
        // So that sequences have no gaps.
        deny_delete: true,
        ..Config::default()
    }
}

fn open(
    threads: &Runtime,
    jetstream: &jetstream::Context,
    wanted: &Config,
    options: &Options,
) -> Result<Stream, ConnectError> {
    let (context, config) = (jetstream.clone(), wanted.clone());
    let within = options.join_within;
    let opening = async move {
        let deadline = Instant::now() + within;
        loop {
            let opened = match context.get_stream(&config.name).await {
                Ok(stream) => break Ok(stream),
                Err(error) => match error.kind() {
                    GetStreamErrorKind::JetStream(error)
                        if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                    {
                        context.create_stream(config.clone()).await.map_err(async_nats::Error::from)
                    }
                    _ => Err(error.into()),
                },
            };
            match opened {
                Ok(stream) => break Ok(stream),
                Err(error) if Instant::now() > deadline => break Err(error),
                Err(_) => sleep(REST).await,
            }
        }
    };
    let failed = |source| ConnectError::Log { replicas: options.replicas, source };
    let opened = wait(threads, within + ACK_WITHIN * 2, opening);
    let stream = opened.ok_or_else(|| failed("no answer in time".into()))?.map_err(failed)?;
    check(wanted, &stream.cached_info().config)?;
    Ok(stream)
}

fn open_depot(
    threads: &Runtime,
    jetstream: &jetstream::Context,
    options: &Options,
) -> Result<NatsDepot, ConnectError> {
    let (context, name) = (jetstream.clone(), options.name.clone());
    let (within, replicas) = (options.join_within, options.replicas);
    let opening = async move {
        let deadline = Instant::now() + within;
        loop {
            match NatsDepot::open(&context, &name, replicas).await {
                Ok(depot) => break Ok(depot),
                Err(error) if Instant::now() > deadline => break Err(error),
                Err(_) => sleep(REST).await,
            }
        }
    };
    let failed = |source| ConnectError::Log { replicas, source };
    let opened = wait(threads, within + ACK_WITHIN * 2, opening);
    opened.ok_or_else(|| failed("no answer in time".into()))?.map_err(failed)
}

fn mode(config: &Config) -> PersistenceMode {
    config.persist_mode.unwrap_or(PersistenceMode::Default)
}

/// Is a log kept as it has to be?
fn check(wanted: &Config, found: &Config) -> Result<(), ConnectError> {
    let settings: [(&'static str, String, String); 11] = [
        ("subjects", format!("{:?}", found.subjects), format!("{:?}", wanted.subjects)),
        ("retention", format!("{:?}", found.retention), format!("{:?}", wanted.retention)),
        ("discard", format!("{:?}", found.discard), format!("{:?}", wanted.discard)),
        ("storage", format!("{:?}", found.storage), format!("{:?}", wanted.storage)),
        ("replicas", found.num_replicas.to_string(), wanted.num_replicas.to_string()),
        // Or it could not be trimmed.
        ("deny_purge", found.deny_purge.to_string(), wanted.deny_purge.to_string()),
        ("deny_delete", found.deny_delete.to_string(), wanted.deny_delete.to_string()),
        ("max_age", format!("{:?}", found.max_age), format!("{:?}", wanted.max_age)),
        // Else it would answer before it has written, whatever the servers' settings are.
        ("persist_mode", format!("{:?}", mode(found)), format!("{:?}", mode(wanted))),
        ("no_ack", found.no_ack.to_string(), wanted.no_ack.to_string()),
        (
            "max_msgs_per_subject",
            found.max_messages_per_subject.max(0).to_string(),
            wanted.max_messages_per_subject.max(0).to_string(),
        ),
    ];
    let refuse = |setting, found_is: String, wanted: String| {
        let stream = found.name.clone();
        Err(ConnectError::Setting { stream, setting, found: found_is, wanted })
    };
    match settings.into_iter().find(|(_, found, wanted)| found != wanted) {
        None if id_of(found).is_none() => {
            let is = format!("{:?}", found.metadata.get(ID));
            refuse("metadata jungle-log", is, "32 hexadecimal digits of its own".to_owned())
        }
        None => Ok(()),
        Some((setting, is, wanted)) => refuse(setting, is, wanted),
    }
}

/// Do those who keep a log sync before they answer? Where they do not say, that is told.
fn check_synced(
    threads: &Runtime,
    jetstream: &jetstream::Context,
    stream: &Stream,
    options: &Options,
) -> Result<(), ConnectError> {
    let keepers = LogStatus::from(stream.cached_info()).keepers();
    let client = jetstream.client();
    let asking = async move { synced::ask(&client, &keepers).await };
    match wait(threads, options.join_within, asking) {
        Some(Ok(Synced::Always)) => Ok(()),
        Some(Ok(Synced::Not { server })) => Err(ConnectError::Unsynced { server }),
        Some(Ok(Synced::Unknown) | Err(_)) | None => {
            let asked = synced::ASKED;
            tracing::info!(asked, "the engine does not say whether it syncs before it answers");
            Ok(())
        }
    }
}

pub(crate) fn no_answer(error: impl Into<async_nats::Error>) -> LogError {
    LogError::NoAnswer { within: ANSWER_WITHIN, last: Some(error.into()) }
}

/// As the leader has it.
async fn get(stream: &Stream, sequence: u64, within: Duration) -> Result<Option<Bytes>, LogError> {
    let deadline = Instant::now() + within;
    loop {
        match stream.get_raw_message(sequence).await {
            Ok(message) => return Ok(Some(message.payload)),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => {
                return Ok(None);
            }
            Err(error) if Instant::now() > deadline => return Err(no_answer(error)),
            Err(_) => sleep(REST).await,
        }
    }
}
