//! Putting into durable queues.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_STREAM, NATS_MESSAGE_ID, NATS_ROLLUP};
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use bytes::Bytes;
use tokio::time::Instant;

use super::{Names, Streams};
use crate::engine::Shared;
use crate::error::NotSent;

/// In no id that anybody would think of.
const ESCAPE: char = '\u{1b}';

/// What the engine knows a put by.
pub(crate) struct Id(String);

impl Id {
    /// One of somebody else's, for a queue: the engine compares ids with those of all its queues.
    ///
    /// An id is a line of the engine's protocol, so one with line breaks is written otherwise, and
    /// so is what that is written with; no two become the same.
    pub(crate) fn of(names: &Names, id: &str) -> Id {
        let mut written = format!("{} ", names.subject);
        for letter in id.chars() {
            match letter {
                ESCAPE => written.extend([ESCAPE, 'e']),
                '\r' => written.extend([ESCAPE, 'r']),
                '\n' => written.extend([ESCAPE, 'n']),
                usual => written.push(usual),
            }
        }
        Id(written)
    }

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
/// The engine's code when the same id is on its way already.
const UNDER_WAY: u64 = 10158;

/// How many bytes one put may have.
pub(crate) fn bytes_max(shared: &Shared) -> usize {
    shared.client.max_payload().saturating_sub(HEAD_BYTES)
}

/// Tries until the engine says that it is stored, under one id.
pub(crate) async fn publish(
    shared: &Shared,
    names: &Names,
    form: Bytes,
    id: &Id,
    keep: Keep,
) -> Result<u64, NotSent> {
    let bytes_max = bytes_max(shared);
    if form.len() > bytes_max {
        return Err(NotSent::TooLarge { bytes: form.len(), bytes_max });
    }
    let streams = shared.streams().await.map_err(NotSent::from)?;
    let headers = headers(streams, id, keep);
    let deadline = Instant::now() + shared.options.store_within;
    loop {
        let subject = names.subject.clone();
        match acknowledged(shared, subject, headers.clone(), form.clone()).await {
            Ok(index) => return Ok(index),
            Err(error) if !passes(&error) => return Err(NotSent::Engine(error.into())),
            Err(_) if Instant::now() >= deadline => return Err(NotSent::Unanswered),
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Tries once to put several as one batch of the engine, which stores all of them or none and has
/// them synced together, and gives the index of the first: the others follow it one by one. `None`
/// if that was not acknowledged; then each may be put by itself, under the same id, and those that
/// are there all the same are not there twice.
pub(crate) async fn publish_batch(
    shared: &Shared,
    names: &Names,
    puts: &[(Id, Bytes)],
) -> Option<u64> {
    let streams = shared.streams().await.ok().filter(|streams| streams.takes_batches)?;
    let batch = shared.next_id();
    let ((last_id, last_form), others) = puts.split_last()?;
    let numbered = |number: usize, id: &Id| {
        let mut headers = headers(streams, id, Keep::All);
        headers.insert("Nats-Batch-Id", batch.as_str());
        headers.insert("Nats-Batch-Sequence", number.to_string());
        headers
    };
    for (number, (id, form)) in (1..).zip(others) {
        let (subject, headers) = (names.subject.clone(), numbered(number, id));
        shared.client.publish_with_headers(subject, headers, form.clone()).await.ok()?;
    }
    let mut headers = numbered(puts.len(), last_id);
    headers.insert("Nats-Batch-Commit", "1");
    let subject = names.subject.clone();
    let last = acknowledged(shared, subject, headers, last_form.clone()).await.ok()?;
    last.checked_sub(others.len() as u64)
}

fn headers(streams: &Streams, id: &Id, keep: Keep) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id.0.as_str());
    headers.insert(NATS_EXPECTED_STREAM, streams.stream.cached_info().config.name.as_str());
    if keep == Keep::Newest {
        headers.insert(NATS_ROLLUP, "sub");
    }
    headers
}

/// Sends it once; gives the index that it has been stored under.
async fn acknowledged(
    shared: &Shared,
    subject: String,
    headers: HeaderMap,
    form: Bytes,
) -> Result<u64, PublishError> {
    let sent = shared.jetstream.publish_with_headers(subject, headers, form).await?;
    Ok(sent.await?.sequence)
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
            let is_under_way =
                |source: &async_nats::jetstream::Error| source.error_code() == ErrorCode(UNDER_WAY);
            source.is_some_and(|source| source.code() == UNAVAILABLE || is_under_way(source))
        }
        _ => false,
    }
}
