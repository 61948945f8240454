//! The log in NATS JetStream: one stream with one subject; checkpoints in its object store.

mod append;
mod claims;
mod depot;
mod elsewhere;
mod join;
mod mirror;
mod opening;
mod questions;
mod reach;
mod refusal;
mod search;
mod survey;
mod synced;
mod tail;

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{self, RawMessageErrorKind, Stream};
use async_nats::jetstream::{self, ErrorCode};
use bytes::Bytes;
use futures_util::StreamExt;
use jungle_db::Timestamp;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use self::append::{Append, Elections};
use self::depot::NatsDepot;
use self::elsewhere::Question;
use self::mirror::Mirror;
use self::opening::{
    ID, check_synced, config, connect, id_of, not_told, open, open_depot, subject,
};
use self::questions::Answers;
use self::reach::Reach;
use self::search::{SEARCHED_WITHIN, search};
use self::tail::Feed;
use crate::cluster::elsewhere::{Elsewhere, TellTrees};
use crate::cluster::survey::{MirrorStatus, Survey, Tell};
use crate::engine::depot::Depot;
use crate::engine::error::ConnectError;
use crate::engine::log::{Appended, Got, Heard, Log, LogError, LogId, Say, SeeEnd, Tail};
use crate::join::options::Options;

/// How long one answer may take before it is asked again: the server that had it may be dead.
const ACK_WITHIN: Duration = Duration::from_secs(2);
/// How long a question about the log may take in all, while the engine chooses a new leader.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// How long to rest before something is asked again.
const REST: Duration = Duration::from_millis(20);
/// After so long without an answer the engine is asked anew: what a server kept that has died may
/// say nothing more, and not that it has ended either.
const QUIET: Duration = Duration::from_secs(10);
/// Messages that were read and not followed yet.
const TAIL_AHEAD: usize = 64;

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

impl NatsLog {
    /// Connects to an engine, and makes the log of the cluster if there is none.
    ///
    /// # Errors
    /// When the engine cannot be reached or used, or keeps the log, or the mirror that was asked
    /// for, otherwise than it has to be; or a log is not kept on so many servers.
    pub fn connect(addresses: &str, options: &Options) -> Result<NatsLog, ConnectError> {
        // Of two or four no more may be lost than of one or three.
        if !matches!(options.replicas, 1 | 3 | 5) {
            return Err(ConnectError::Replicas { replicas: options.replicas });
        }
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
    fn find(addresses: &str, options: &Options) -> Result<NatsLog, ConnectError> {
        let (threads, jetstream) = connect(addresses, options)?;
        let (context, name) = (jetstream.clone(), config(&options.name, options.replicas).name);
        let finding = async move { context.get_stream(name).await };
        let found = wait(&threads, options.join_within, finding);
        let found = found.ok_or_else(|| not_told("no answer in time"))?;
        let stream = found.map_err(|error| match error.kind() {
            GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                ConnectError::NoCluster { name: options.name.clone() }
            }
            _ => not_told(error),
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
            elections: Elections::none(jetstream.client()),
            depot,
            jetstream,
            cluster: cluster.to_owned(),
            name,
            closed: watch::Sender::new(false),
            threads: Some(threads),
        }
    }

    /// Waits for an answer until the log is closed: then nobody needs it any more.
    fn wait<T: Send + 'static>(
        &self,
        within: Duration,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, LogError> {
        let threads = self.threads.as_ref().ok_or(LogError::Closed)?;
        let mut closed = self.closed.subscribe();
        let answer = async move {
            tokio::select! {
                biased;
                answer = future => Ok(answer),
                _ = closed.wait_for(|closed| *closed) => Err(LogError::Closed),
            }
        };
        wait(threads, within, answer).unwrap_or(Err(LogError::NoAnswer { within, last: None }))
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
        self.get_within(sequence, ANSWER_WITHIN)
    }

    fn get_within(&self, sequence: u64, within: Duration) -> Result<Option<Bytes>, LogError> {
        if sequence == 0 {
            // The engine takes that for a bad request.
            return Ok(None);
        }
        let (stream, mut elections) = (self.stream.clone(), self.elections.clone());
        let asking = async move { get(&stream, Some(&mut elections), sequence, within).await };
        self.wait(within + ACK_WITHIN * 2, asking)?
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

    fn leaders(&self) -> u64 {
        self.elections.count()
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

fn no_answer(error: impl Into<async_nats::Error>) -> LogError {
    LogError::NoAnswer { within: ANSWER_WITHIN, last: Some(error.into()) }
}

/// As the leader has it; where elections are heard of, whoever leads meanwhile is asked at once.
async fn get(
    stream: &Stream,
    mut elections: Option<&mut Elections>,
    sequence: u64,
    within: Duration,
) -> Result<Option<Bytes>, LogError> {
    let deadline = Instant::now() + within;
    loop {
        let asking = stream.get_raw_message(sequence);
        let answered = match &mut elections {
            Some(elections) => elections.undisturbed(asking).await,
            None => Some(asking.await),
        };
        let last: Option<async_nats::Error> = match answered {
            Some(Ok(message)) => return Ok(Some(message.payload)),
            Some(Err(error)) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => {
                return Ok(None);
            }
            Some(Err(error)) => Some(error.into()),
            None => None,
        };
        if Instant::now() > deadline {
            return Err(LogError::NoAnswer { within, last });
        }
        sleep(REST).await;
    }
}
