//! Appending a message to the log, whoever leads it meanwhile.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{REST, get, hear};
use crate::engine::log::{Appended, LogError};

/// On subjects that begin so, the engine tells that a stream has a new leader.
const ELECTED: &str = "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED";
/// Another publication to the log has no answer yet. The client has no name for it.
const IN_FLIGHT: u64 = 10164;

/// How often a leader of the log was elected, as far as the engine has told.
#[derive(Clone)]
pub(super) struct Elections(watch::Receiver<u64>);

impl Elections {
    /// Those from now on, and what counts them as long as it runs.
    pub(super) fn hear(client: Client, log: &str) -> (Elections, impl Future<Output = ()> + use<>) {
        let (sender, receiver) = watch::channel(0);
        let got = move |_: &[u8]| sender.send_modify(|count| *count += 1);
        (Elections(receiver), hear(client, format!("{ELECTED}.{log}"), Arc::new(got)))
    }

    /// None, where nothing is appended.
    pub(super) fn none() -> Elections {
        Elections(watch::Sender::new(0).subscribe())
    }

    /// How often that was, and there was another connection.
    pub(super) fn count(&self, client: &Client) -> u64 {
        *self.0.borrow() + client.statistics().connects.load(Ordering::Relaxed)
    }

    /// Waits until what was asked before this was called may never be answered: somebody else leads
    /// the log now, or the connection is another one.
    fn disturbed(&mut self, client: Client) -> impl Future<Output = ()> + use<'_> {
        self.0.borrow_and_update();
        let connections = move || client.statistics().connects.load(Ordering::Relaxed);
        let before = connections();
        async move {
            loop {
                tokio::select! {
                    Ok(()) = self.0.changed() => return,
                    () = sleep(REST) => {}
                }
                if connections() != before {
                    return;
                }
            }
        }
    }
}

/// A message that is to be the next one.
pub(super) struct Append {
    pub(super) jetstream: jetstream::Context,
    pub(super) stream: Stream,
    pub(super) elections: Elections,
    pub(super) subject: String,
    pub(super) message: Bytes,
    /// The sequence of the one before.
    pub(super) after: u64,
}

impl Append {
    /// Sends it until the log says what became of it.
    pub(super) async fn run(mut self, within: Duration) -> Result<Appended, LogError> {
        let deadline = Instant::now() + within;
        let publication = PublishMessage::build()
            .payload(self.message.clone())
            .message_id(blake3::hash(&self.message).to_hex())
            .expected_stream(&self.stream.cached_info().config.name)
            .expected_last_sequence(self.after);
        loop {
            let answered = self.send(publication.clone()).await;
            let last: Option<async_nats::Error> = match answered {
                Some(Ok(ack)) => return Ok(Appended::At(ack.sequence)),
                Some(Err(error)) => {
                    if let Some(appended) = self.settle(&error, deadline).await? {
                        return Ok(appended);
                    }
                    let is_short = error.to_string().contains(&IN_FLIGHT.to_string());
                    sleep(if is_short { REST / 10 } else { REST }).await;
                    Some(error.into())
                }
                None => None,
            };
            if Instant::now() > deadline {
                return Err(LogError::NoAnswer { within, last });
            }
        }
    }

    /// The answer; `None` where none may come any more.
    async fn send(
        &mut self,
        publication: PublishMessage,
    ) -> Option<Result<PublishAck, PublishError>> {
        let disturbed = self.elections.disturbed(self.jetstream.client());
        match self.jetstream.send_publish(self.subject.clone(), publication).await {
            Ok(answer) => tokio::select! {
                answered = answer => Some(answered),
                () = disturbed => None,
            },
            Err(error) => Some(Err(error)),
        }
    }

    /// What became of it, as an error tells; `None` where it is to be sent again.
    async fn settle(
        &self,
        error: &PublishError,
        deadline: Instant,
    ) -> Result<Option<Appended>, LogError> {
        match error.kind() {
            PublishErrorKind::MaxPayloadExceeded => {
                let (bytes, reason) = (self.message.len(), error.to_string());
                Err(LogError::Refused { bytes, reason })
            }
            PublishErrorKind::WrongLastSequence => {
                // It may be our own, whose answer was lost.
                let rest = deadline.saturating_duration_since(Instant::now());
                let found = get(&self.stream, self.after + 1, rest).await?;
                Ok(found.map(|found| match found == self.message {
                    true => Appended::At(self.after + 1),
                    false => Appended::Behind,
                }))
            }
            _ => Ok(None),
        }
    }
}
