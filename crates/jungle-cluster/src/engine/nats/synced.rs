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
#[derive(Debug, PartialEq, Eq)]
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
    /// It keeps nothing: it is not meant to, or gave up, as on a broken disk. Its settings are none
    /// then.
    #[serde(default)]
    disabled: bool,
    config: Option<Settings>,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    sync_always: bool,
}

impl Answer {
    /// What it says of its server, if that keeps anything now.
    fn tells(self) -> Option<Synced> {
        let config = self.data.filter(|kept| !kept.disabled)?.config?;
        Some(match config.sync_always {
            true => Synced::Always,
            false => Synced::Not { server: self.server.name },
        })
    }
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
        let Ok(answer) = serde_json::from_slice::<Answer>(&answer.payload) else { continue };
        let server = answer.server.name.clone();
        match answer.tells() {
            Some(Synced::Always) => {
                due.remove(&server);
                is_known = true;
                deadline = deadline.min(Instant::now() + WITHIN);
            }
            // When it keeps the log again, it may do so otherwise.
            None => {}
            Some(other) => return Ok(other),
        }
    }
    Ok(match (is_known, due.is_empty()) {
        (true, true) => Synced::Always,
        (true, false) => Synced::Partly,
        (false, _) => Synced::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// As the engine's servers answer.
    fn told(data: &Value) -> Option<Synced> {
        let answer = json!({"server": {"name": "n1", "ver": "2.15.2"}, "data": data});
        serde_json::from_value::<Answer>(answer).unwrap().tells()
    }

    #[test]
    fn a_server_that_keeps_nothing_now_says_nothing() {
        let not = Synced::Not { server: "n1".to_owned() };
        let config = |sync_always| json!({"max_memory": 0, "sync_always": sync_always});
        assert_eq!(told(&json!({"config": config(true)})), Some(Synced::Always));
        assert_eq!(told(&json!({"config": config(false)})), Some(not));
        // It leaves out what is not so.
        let disabled = json!({"disabled": true, "config": {"max_memory": 0, "max_storage": 0}});
        assert_eq!(told(&disabled), None);
        assert_eq!(told(&Value::Null), None);
    }
}
