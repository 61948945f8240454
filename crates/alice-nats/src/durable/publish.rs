//! Putting into durable queues.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_STREAM, NATS_MESSAGE_ID, NATS_ROLLUP};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use bytes::Bytes;
use tokio::time::Instant;

use super::Names;
use crate::engine::Shared;
use crate::error::NotSent;

/// What the engine knows a put by.
pub(crate) struct Id(String);

impl Id {
    pub(crate) fn new(id: String) -> Id {
        Id(id)
    }
}

/// What stays in the queue besides the new segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    All,
    Newest,
}

/// Between two tries.
pub(crate) const REST: Duration = Duration::from_millis(50);
/// Room for what stands before the data: headers, and their frame.
const HEAD_BYTES: usize = 1024;
/// The engine's code for a failure that passes: no leader, or too much to do.
pub(crate) const UNAVAILABLE: usize = 503;

/// Tries until the engine says that it is stored, under one id.
pub(crate) async fn publish(
    shared: &Shared,
    names: &Names,
    form: Bytes,
    id: &Id,
    keep: Keep,
) -> Result<u64, NotSent> {
    let bytes_max = shared.client.max_payload().saturating_sub(HEAD_BYTES);
    if form.len() > bytes_max {
        return Err(NotSent::TooLarge { bytes: form.len(), bytes_max });
    }
    let streams = shared.streams().await.map_err(NotSent::from)?;
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id.0.as_str());
    headers.insert(NATS_EXPECTED_STREAM, streams.stream.cached_info().config.name.as_str());
    if keep == Keep::Newest {
        headers.insert(NATS_ROLLUP, "sub");
    }
    let deadline = Instant::now() + shared.options.store_within;
    loop {
        let subject = names.subject.clone();
        let sent = shared.jetstream.publish_with_headers(subject, headers.clone(), form.clone());
        let acknowledged = match sent.await {
            Ok(sent) => sent.await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(acknowledged) => return Ok(acknowledged.sequence),
            Err(error) if !passes(&error) => return Err(NotSent::Engine(error.into())),
            Err(_) if Instant::now() >= deadline => return Err(NotSent::Unanswered),
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Whether another try may find the engine in better order. While it has no leader, it seems to
/// have no stream.
fn passes(error: &PublishError) -> bool {
    match error.kind() {
        PublishErrorKind::StreamNotFound
        | PublishErrorKind::TimedOut
        | PublishErrorKind::BrokenPipe
        | PublishErrorKind::MaxAckPending => true,
        PublishErrorKind::Other => {
            let source = std::error::Error::source(error);
            let source =
                source.and_then(|source| source.downcast_ref::<async_nats::jetstream::Error>());
            source.is_some_and(|source| source.code() == UNAVAILABLE)
        }
        _ => false,
    }
}
