//! Whether the servers of the engine sync before they answer, as far as they say.
//!
//! That is a setting of each server, not of the log, and only the engine's system account may ask
//! for it. Where that lets others ask (it exports [`ASKED`], as the files of `jungle cluster
//! config` do), they are told; elsewhere nobody answers, at once, and the engine is refused.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::{Client, StatusCode};
use futures_util::StreamExt;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use crate::engine::error::ASKED;

/// How long to wait for a server that is said to be there, when others have answered: it may be
/// there no more.
pub(super) const WITHIN: Duration = Duration::from_secs(1);

/// What is known of it.
pub(super) enum Synced {
    /// Each server that was asked for says that it does.
    Always,
    /// This one does not.
    Not { server: String },
    /// Some of them say that they do, and not all: the others may be away.
    Partly,
    /// Nobody says it.
    Unknown,
}

#[derive(Deserialize)]
struct Answer {
    server: Server,
    data: Option<Kept>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
}

#[derive(Deserialize)]
struct Kept {
    config: Option<Settings>,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    sync_always: bool,
}

/// Asks all of them, waits so long for the first, and then for those with these names.
pub(super) async fn ask(
    client: &Client,
    names: &[String],
    first_within: Duration,
) -> Result<Synced, async_nats::Error> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await?;
    client.publish_with_reply(ASKED, inbox, r#"{"config":true}"#.into()).await?;
    let mut due: BTreeSet<&String> = names.iter().collect();
    let mut is_known = false;
    let mut deadline = Instant::now() + first_within;
    while (!is_known || !due.is_empty())
        && let Ok(Some(answer)) = timeout_at(deadline, answers.next()).await
    {
        if answer.status == Some(StatusCode::NO_RESPONDERS) {
            break;
        }
        let Ok(Answer { server, data }) = serde_json::from_slice(&answer.payload) else {
            continue;
        };
        due.remove(&server.name);
        match data.and_then(|kept| kept.config) {
            Some(Settings { sync_always: true }) => {
                is_known = true;
                deadline = deadline.min(Instant::now() + WITHIN);
            }
            // One without JetStream keeps nothing.
            None => {}
            Some(_) => return Ok(Synced::Not { server: server.name }),
        }
    }
    Ok(match (is_known, due.is_empty()) {
        (true, true) => Synced::Always,
        (true, false) => Synced::Partly,
        (false, _) => Synced::Unknown,
    })
}
