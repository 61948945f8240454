//! The one stream of a space, in which all durable queues are.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Republish, RetentionPolicy, StorageType, Stream,
};

use tokio::time::Instant;

use super::publish::{REST, UNAVAILABLE};
use crate::engine::Shared;
use crate::error::EngineError;

pub(crate) struct Streams {
    pub(crate) stream: Stream,
    /// Several puts may be stored as one.
    pub(crate) takes_batches: bool,
}

/// Why the stream cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("the stream `{name}` is another one in its {what}")]
    Differs { name: String, what: &'static str },
}

impl Streams {
    /// Makes the stream, or finds it as it should be.
    pub(crate) async fn open(shared: &Shared) -> Result<Streams, StreamError> {
        let wanted = config(shared);
        let deadline = Instant::now() + shared.options.store_within;
        let stream = loop {
            match shared.jetstream.get_or_create_stream(wanted.clone()).await {
                Ok(stream) => break stream,
                Err(error) if passes(&error) && Instant::now() < deadline => {
                    tokio::time::sleep(REST).await;
                }
                Err(error) => return Err(StreamError::Engine(error.into())),
            }
        };
        let found = &stream.cached_info().config;
        if let Some(what) = difference(&wanted, found) {
            return Err(StreamError::Differs { name: wanted.name, what });
        }
        let takes_batches = found.allow_atomic_publish || allow_batches(shared, found).await;
        Ok(Streams { stream, takes_batches })
    }
}

/// A stream that was made before there were batches gets them, if we may change it.
async fn allow_batches(shared: &Shared, found: &Config) -> bool {
    let config = Config { allow_atomic_publish: true, ..found.clone() };
    shared.jetstream.update_stream(config).await.is_ok()
}

fn config(shared: &Shared) -> Config {
    let space = &shared.space;
    Config {
        name: format!("alice-{space}"),
        description: Some("durable queues".to_owned()),
        subjects: vec![format!("alice.{space}.keep.>")],
        retention: RetentionPolicy::WorkQueue,
        // A full engine refuses what is new; it never drops what is old.
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: shared.options.replicas,
        duplicate_window: shared.options.remember,
        // For `update`.
        allow_rollup: true,
        // For `put_all`.
        allow_atomic_publish: true,
        // For peeks that wait.
        republish: Some(Republish {
            source: format!("alice.{space}.keep.>"),
            destination: format!("alice.{space}.news.>"),
            headers_only: true,
        }),
        ..Config::default()
    }
}

/// In what the stream that is there differs from the one that is wanted, where it matters.
fn difference(wanted: &Config, found: &Config) -> Option<&'static str> {
    let differences = [
        (wanted.subjects != found.subjects, "subjects"),
        (wanted.retention != found.retention, "retention"),
        (wanted.discard != found.discard, "discard policy"),
        (wanted.storage != found.storage, "storage"),
        (wanted.num_replicas != found.num_replicas, "replicas"),
        (wanted.duplicate_window != found.duplicate_window, "time that ids are remembered"),
        (wanted.allow_rollup != found.allow_rollup, "rollup"),
        (wanted.republish != found.republish, "republishing"),
        (found.max_age != std::time::Duration::ZERO, "age limit"),
        (found.max_messages_per_subject > 0, "limit for each queue"),
    ];
    differences.iter().find(|(differs, _)| *differs).map(|(_, what)| *what)
}

/// Whether another try may find the engine in better order: it has no leader at the moment, or
/// its servers have not all found each other.
pub(crate) fn passes(error: &CreateStreamError) -> bool {
    match error.kind() {
        CreateStreamErrorKind::TimedOut | CreateStreamErrorKind::JetStreamUnavailable => true,
        CreateStreamErrorKind::JetStream(error) => {
            let no_peers = error.error_code() == ErrorCode::CLUSTER_NO_PEERS;
            error.code() == UNAVAILABLE || no_peers
        }
        _ => false,
    }
}
