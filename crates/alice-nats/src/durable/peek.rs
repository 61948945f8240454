//! Looking at durable queues.

use std::time::Duration;

use alice::Wait;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::Instant;

use super::{Names, Streams};
use crate::engine::Shared;
use crate::error::NotReceived;

/// How long one waits for news before one looks again: they are not kept, and may be missed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The oldest message after `seen`, when there is one.
pub(crate) async fn peek(
    shared: &Shared,
    names: &Names,
    seen: u64,
    wait: &Wait,
) -> Result<(u64, Bytes), NotReceived> {
    let deadline = wait.timeout().and_then(|timeout| Instant::now().checked_add(timeout));
    let streams = shared.streams().await?;
    if let Some(found) = look(streams, names, seen).await? {
        return Ok(found);
    }
    if wait.timeout() == Some(Duration::ZERO) {
        return Err(NotReceived::TimedOut);
    }
    let news = shared.client.subscribe(names.news.clone()).await;
    let mut news = news.map_err(|error| NotReceived::Engine(error.into()))?;
    // So that nothing comes between this look and the news.
    shared.client.flush().await.map_err(|error| NotReceived::Engine(error.into()))?;
    loop {
        if let Some(found) = look(streams, names, seen).await? {
            return Ok(found);
        }
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(NotReceived::TimedOut);
        }
        let left = left.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
        // Whether news came or not, the next look tells.
        let _ = tokio::time::timeout(left, news.next()).await;
    }
}

/// Asks the leader: another server may not know yet what was put.
async fn look(
    streams: &Streams,
    names: &Names,
    seen: u64,
) -> Result<Option<(u64, Bytes)>, NotReceived> {
    let after = seen.saturating_add(1);
    match streams.stream.get_first_raw_message_by_subject(&names.subject, after).await {
        Ok(message) => Ok(Some((message.sequence, message.payload))),
        Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => Ok(None),
        Err(error) => Err(NotReceived::Engine(error.into())),
    }
}
