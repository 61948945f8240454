//! Appending a message to the log, whoever leads it meanwhile.

use std::future::Future;
use std::pin::pin;
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
pub(super) struct Elections {
    told: watch::Receiver<u64>,
    client: Client,
}

impl Elections {
    /// Those from now on, and what counts them as long as it runs.
    pub(super) fn hear(client: Client, log: &str) -> (Elections, impl Future<Output = ()> + use<>) {
        let (sender, told) = watch::channel(0);
        let got = move |_: &[u8]| sender.send_modify(|count| *count += 1);
        let counting = hear(client.clone(), format!("{ELECTED}.{log}"), Arc::new(got));
        (Elections { told, client }, counting)
    }

    /// None, where nothing is appended.
    pub(super) fn none(client: Client) -> Elections {
        Elections { told: watch::Sender::new(0).subscribe(), client }
    }

    /// How often that was, and there was another connection.
    pub(super) fn count(&self) -> u64 {
        *self.told.borrow() + self.connections()
    }

    fn connections(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// The answer to what is asked now; `None` where none may come any more: somebody else leads
    /// the log meanwhile, or the connection is another one.
    pub(super) async fn undisturbed<T>(&mut self, answer: impl Future<Output = T>) -> Option<T> {
        self.told.borrow_and_update();
        let before = self.connections();
        let mut answer = pin!(answer);
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => return Some(answered),
                Ok(()) = self.told.changed() => return None,
                () = sleep(REST) => {}
            }
            if self.connections() != before {
                return None;
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

    /// The answer, if one comes.
    async fn send(
        &mut self,
        publication: PublishMessage,
    ) -> Option<Result<PublishAck, PublishError>> {
        let (jetstream, subject) = (&self.jetstream, self.subject.clone());
        let asking = async { jetstream.send_publish(subject, publication).await?.await };
        self.elections.undisturbed(asking).await
    }

    /// What became of it, as an error tells; `None` where it is to be sent again.
    async fn settle(
        &mut self,
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
                let elections = Some(&mut self.elections);
                let found = get(&self.stream, elections, self.after + 1, rest).await?;
                Ok(found.map(|found| match found == self.message {
                    true => Appended::At(self.after + 1),
                    false => Appended::Behind,
                }))
            }
            _ => Ok(None),
        }
    }
}
