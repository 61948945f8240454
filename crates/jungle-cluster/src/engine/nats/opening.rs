//! Beginning with an engine: it is new enough, and keeps the log, which is made if there is none,
//! as it has to be kept.

use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State;
use async_nats::jetstream::context::{ContextBuilder, GetStreamErrorKind};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, PersistenceMode, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{self, ErrorCode};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

use super::depot::NatsDepot;
use super::synced::{self, Synced};
use super::{ACK_WITHIN, REST, refusal, wait};
use crate::cluster::survey::LogStatus;
use crate::engine::error::{ConnectError, PAYLOAD_BYTES};
use crate::engine::log::LogId;
use crate::join::options::Options;

/// What comes twice within this time is noticed by the engine itself; we notice it always.
const REMEMBERED: Duration = Duration::from_mins(2);

/// Under this key the stream says what the log is known by.
pub(super) const ID: &str = "jungle-log";

/// Connects to an engine that is new enough.
pub(super) fn connect(
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
    let connected = wait(&threads, options.join_within, connecting);
    let connected = connected.ok_or_else(|| no_connection(addresses, "no answer in time"))?;
    let client = connected.map_err(|error| no_connection(addresses, error))?;
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

/// Nobody answers at these addresses, or whoever does refuses the connection.
fn no_connection(addresses: &str, error: impl Into<async_nats::Error>) -> ConnectError {
    let (addresses, source) = (addresses.to_owned(), refusal::of_connection(error.into()));
    ConnectError::Connect { addresses, source }
}

/// The engine refuses to give the log, or says nothing of it.
fn no_log(options: &Options, error: impl Into<async_nats::Error>) -> ConnectError {
    ConnectError::Log { replicas: options.replicas, source: refusal::of_stream(error.into()) }
}

/// The same, to who only looks.
pub(super) fn not_told(error: impl Into<async_nats::Error>) -> ConnectError {
    ConnectError::NotTold { source: refusal::of_stream(error.into()) }
}

/// How what is kept in a domain is asked for.
pub(super) fn context(
    threads: &Runtime,
    client: Client,
    domain: Option<&str>,
) -> jetstream::Context {
    let context = ContextBuilder::new().api_prefix(api_of(domain));
    let _tasks = threads.enter();
    context.timeout(ACK_WITHIN).ack_timeout(ACK_WITHIN).build(client)
}

/// What the subjects begin with on which a domain is asked.
pub(super) fn api_of(domain: Option<&str>) -> String {
    domain.map_or("$JS.API".to_owned(), |domain| format!("$JS.{domain}.API"))
}

pub(super) fn subject(name: &str) -> String {
    format!("jungle.{name}.log")
}

/// What a log is known by, if it says so.
pub(super) fn id_of(config: &Config) -> Option<LogId> {
    config.metadata.get(ID)?.parse().ok()
}

pub(super) fn config(name: &str, replicas: usize) -> Config {
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

pub(super) fn open(
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
    let opened = wait(threads, within + ACK_WITHIN * 2, opening);
    let opened = opened.ok_or_else(|| no_log(options, "no answer in time"))?;
    let stream = opened.map_err(|error| no_log(options, error))?;
    check(wanted, &stream.cached_info().config)?;
    Ok(stream)
}

pub(super) fn open_depot(
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
    let opened = wait(threads, within + ACK_WITHIN * 2, opening);
    let opened = opened.ok_or_else(|| no_log(options, "no answer in time"))?;
    let depot = opened.map_err(|error| no_log(options, error))?;
    depot.check(replicas)?;
    Ok(depot)
}

fn mode(config: &Config) -> PersistenceMode {
    config.persist_mode.unwrap_or(PersistenceMode::Default)
}

/// How long a message may be, if that is less than ours may be; else -1, as without a limit.
fn message_size(config: &Config) -> i32 {
    match usize::try_from(config.max_message_size) {
        Ok(1..PAYLOAD_BYTES) => config.max_message_size,
        _ => -1,
    }
}

/// Is a log kept as it has to be?
fn check(wanted: &Config, found: &Config) -> Result<(), ConnectError> {
    let settings: [(&'static str, String, String); 12] = [
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
        // Else it would refuse what many commit at once.
        ("max_msg_size", message_size(found).to_string(), message_size(wanted).to_string()),
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

/// So long the first may take that says whether it syncs, on a busy machine.
const SYNC_SAID_WITHIN: Duration = Duration::from_secs(5);

/// Do those who keep a log sync before they answer, and are they new enough? Some of them may be
/// away, and not say it.
pub(super) fn check_synced(
    threads: &Runtime,
    jetstream: &jetstream::Context,
    stream: &Stream,
    options: &Options,
) -> Result<(), ConnectError> {
    let keepers = LogStatus::from(stream.cached_info()).keepers();
    let client = jetstream.client();
    let asking = {
        let client = client.clone();
        async move { synced::ask(&client, &keepers, SYNC_SAID_WITHIN).await }
    };
    match wait(threads, options.join_within, asking) {
        Some(Ok(Synced::Always)) => Ok(()),
        Some(Ok(Synced::Not { server })) => Err(ConnectError::Unsynced { server }),
        Some(Ok(Synced::TooOld { server, version })) => {
            Err(ConnectError::TooOld { version: format!("{version} on {server}") })
        }
        Some(Ok(Synced::Partly)) => {
            tracing::info!("not all of the engine's servers say that they sync: some may be away");
            Ok(())
        }
        // Who has lost the connection has asked nobody.
        Some(Ok(Synced::Unknown)) if client.connection_state() == State::Connected => {
            Err(ConnectError::SyncUnknown)
        }
        Some(Err(error)) => Err(no_log(options, error)),
        Some(Ok(Synced::Unknown)) | None => Err(no_log(options, "no answer in time")),
    }
}
