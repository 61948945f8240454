//! Finding a message that a server of the engine has lost or damaged, on another one.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use super::{REST, get};
use crate::engine::log::LogError;
use crate::message;

/// The leader is asked once in so many tries. In the others somebody is asked by chance, since a
/// consumer without replicas is anywhere: only so does it tell what it has itself.
const ROUND: u32 = 4;
const TRIES: u32 = 3 * ROUND;
/// So long one of them may take.
const WITHIN: Duration = Duration::from_secs(2);

/// All that is looked for takes no longer than this.
pub(super) const SEARCHED_WITHIN: Duration = Duration::from_secs(60);

/// A message, of whoever has it as it was written; else one that is damaged, if anybody has one.
pub(super) async fn search(
    client: &Client,
    stream: &Stream,
    sequence: u64,
) -> Result<Option<Bytes>, LogError> {
    let (mut damaged, mut failed) = (None, None);
    for at in 0..TRIES {
        let found = match at % ROUND {
            0 => get(stream, None, sequence, WITHIN).await,
            _ => Ok(timeout(WITHIN, deliver(client, stream, sequence)).await.ok().flatten()),
        };
        match found {
            Ok(Some(bytes)) if message::read(&bytes).is_ok() => return Ok(Some(bytes)),
            Ok(bytes) => damaged = bytes.or(damaged),
            Err(error) => failed = Some(error),
        }
        sleep(REST).await;
    }
    // Where the leader said nothing, it may have it.
    failed.filter(|_| damaged.is_none()).map_or(Ok(damaged), Err)
}

/// The message, of whoever it comes from.
async fn deliver(client: &Client, stream: &Stream, sequence: u64) -> Option<Bytes> {
    let config = push::OrderedConfig {
        deliver_subject: client.new_inbox(),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: sequence },
        ..push::OrderedConfig::default()
    };
    let mut messages = stream.create_consumer(config).await.ok()?.messages().await.ok()?;
    let message = messages.next().await?.ok()?;
    let is_it = message.info().ok()?.stream_sequence == sequence;
    is_it.then(|| message.message.payload.clone())
}
