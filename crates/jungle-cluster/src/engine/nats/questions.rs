//! Questions to whoever listens: nobody keeps a list of who that is.

use std::sync::Arc;

use async_nats::{Client, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout_at};

use super::{REST, no_answer};
use crate::engine::log::{LogError, Say};

/// Questions and answers that are longer are not ours.
const BYTES_MAX: usize = 512 << 10;

/// The answers to a question, as they come.
pub(super) struct Answers(Subscriber);

impl Answers {
    pub(super) async fn ask(
        client: &Client,
        subject: String,
        question: Bytes,
    ) -> Result<Answers, LogError> {
        let inbox = client.new_inbox();
        let answers = client.subscribe(inbox.clone()).await.map_err(no_answer)?;
        client.publish_with_reply(subject, inbox, question).await.map_err(no_answer)?;
        Ok(Answers(answers))
    }

    /// The next one that can be read; `None` when the time is over, or nobody listens.
    pub(super) async fn next<T: DeserializeOwned>(&mut self, deadline: Instant) -> Option<T> {
        while let Some(bytes) = self.next_bytes(deadline).await {
            if let Ok(read) = serde_json::from_slice(&bytes) {
                return Some(read);
            }
        }
        None
    }

    /// The next one, likewise.
    pub(super) async fn next_bytes(&mut self, deadline: Instant) -> Option<Bytes> {
        while let Ok(Some(answer)) = timeout_at(deadline, self.0.next()).await {
            // That nobody listens is told by an answer without anything in it.
            if answer.status.is_some() {
                return None;
            }
            if answer.payload.len() <= BYTES_MAX {
                return Some(answer.payload);
            }
        }
        None
    }
}

/// Answers whoever asks, as long as this runs.
pub(super) async fn answer(client: Client, subject: String, say: Say) {
    loop {
        if let Ok(mut questions) = client.subscribe(subject.clone()).await {
            while let Some(question) = questions.next().await {
                let Some(reply) = question.reply.filter(|reply| is_inbox(reply)) else { continue };
                if question.payload.len() > BYTES_MAX {
                    continue;
                }
                // It may wait for what is being followed just now.
                let say = Arc::clone(&say);
                let said = tokio::task::spawn_blocking(move || say(&question.payload)).await;
                if let Ok(Some(bytes)) = said {
                    // Who does not get it does not see this server.
                    let _ = client.publish(reply, bytes.into()).await;
                }
            }
        }
        sleep(REST).await;
    }
}

/// An answer must not go where the engine, or the log itself, would take it for something else.
fn is_inbox(reply: &str) -> bool {
    !reply.starts_with('$') && !reply.starts_with("jungle.") && !reply.starts_with("jungle-")
}
