//! The messages of a log as they come, from the log itself or from a mirror of it.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use super::mirror::{Mirror, When};
use super::{ANSWER_WITHIN, REST, get};
use crate::message;

/// After so long without a message it is looked whether the log has one.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// How often it is looked whether the mirror is to be followed still, or again.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// So often somebody else is asked for messages that are missing.
const RETRIES: u32 = 6;

/// Passes on the messages of a log.
pub(super) struct Feed {
    pub(super) log: Stream,
    pub(super) mirror: Option<Mirror>,
    pub(super) client: Client,
    /// The next one.
    pub(super) due: u64,
    /// How often others were asked for it, in a row.
    pub(super) retries: u32,
    pub(super) sender: mpsc::Sender<(u64, Bytes)>,
}

/// Where messages are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Log,
    Mirror,
}

impl Feed {
    /// Passes them on until nobody wants them any more.
    pub(super) async fn run(mut self) {
        while !self.sender.is_closed() {
            let source = match &self.mirror {
                Some(mirror) if mirror.fits(&self.log, self.due).await => Source::Mirror,
                _ => Source::Log,
            };
            // It has ended, or whoever sent it has, without a word; or the other one is to be
            // followed.
            self.take(source).await;
            sleep(REST).await;
        }
    }

    async fn take(&mut self, source: Source) -> Option<()> {
        let stream = match (source, &self.mirror) {
            (Source::Mirror, Some(mirror)) => &mirror.stream,
            _ => &self.log,
        };
        let config = push::OrderedConfig {
            deliver_subject: self.client.new_inbox(),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.due },
            ..push::OrderedConfig::default()
        };
        let mut messages = stream.create_consumer(config).await.ok()?.messages().await.ok()?;
        let mut look_at = Instant::now() + LOOK_EVERY;
        loop {
            let silent_at = Instant::now() + LOOK_AFTER;
            let mut when = When::Silent;
            if let Ok(message) = timeout_at(silent_at, messages.next()).await {
                let message = message?.ok()?;
                let sequence = message.info().ok()?.stream_sequence;
                self.pass(source, sequence, message.message.payload.clone()).await?;
                when = When::Due;
            }
            if self.mirror.is_some() && Instant::now() >= look_at {
                look_at = Instant::now() + LOOK_EVERY;
                if !self.goes_on(source, When::Due).await {
                    return None;
                }
            }
            if when == When::Silent && !self.goes_on(source, When::Silent).await {
                return None;
            }
        }
    }

    /// Passes one on; `None` when nobody wants it, or it cannot be had.
    async fn pass(&mut self, source: Source, sequence: u64, bytes: Bytes) -> Option<()> {
        // Of a damaged mirror nothing is known of the log.
        if sequence > self.due && self.retries < RETRIES {
            // Whoever sends this has lost what is between, or it was trimmed: another one may have
            // it, and chance says who sends next.
            self.retries += 1;
            return None;
        }
        self.retries = 0;
        let is_to_be_read = source == Source::Mirror && message::read(&bytes).is_err();
        let bytes = match is_to_be_read {
            true => get(&self.log, None, sequence, ANSWER_WITHIN).await.ok()?.unwrap_or(bytes),
            false => bytes,
        };
        self.due = sequence + 1;
        self.sender.send((sequence, bytes)).await.ok()
    }

    /// Is that still where the next message is to come from?
    async fn goes_on(&self, source: Source, when: When) -> bool {
        match (source, &self.mirror) {
            (Source::Mirror, Some(mirror)) => mirror.keeps_up(&self.log, self.due, when).await,
            (_, Some(mirror)) if mirror.fits(&self.log, self.due).await => false,
            _ => when == When::Due || ends_before(&self.log, self.due).await,
        }
    }
}

/// Is a message not there yet, as the leader has it?
pub(super) async fn ends_before(stream: &Stream, due: u64) -> bool {
    stream.get_info().await.is_ok_and(|info| info.state.last_sequence < due)
}
