//! Whether the servers of the engine sync before they answer, as far as they say; and whether all
//! of them are new enough, not only the one that is connected to, which may be a leaf node.
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

/// The engine's first version that keeps its promises.
const NEEDED: (u32, u32) = (2, 15);

/// What is known of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Synced {
    /// Each server that was asked for says that it does.
    Always,
    /// This one does not.
    Not { server: String },
    /// This one is too old, whether it does or not.
    TooOld { server: String, version: String },
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
    #[serde(rename = "ver")]
    version: String,
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
        let Server { name: server, version } = self.server;
        Some(match config.sync_always {
            _ if !is_new_enough(&version) => Synced::TooOld { server, version },
            true => Synced::Always,
            false => Synced::Not { server },
        })
    }
}

/// Of a version such as `2.15.2` or `2.16.0-RC.1`.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= NEEDED
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
    fn told_by(version: &str, data: &Value) -> Option<Synced> {
        let answer = json!({"server": {"name": "n1", "ver": version}, "data": data});
        serde_json::from_value::<Answer>(answer).unwrap().tells()
    }

    fn told(data: &Value) -> Option<Synced> {
        told_by("2.15.2", data)
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

    #[test]
    fn a_server_that_is_too_old_is_told_whether_or_not_it_syncs() {
        for is_synced in [true, false] {
            let data = json!({"config": {"sync_always": is_synced}});
            for version in ["2.9.10", "2.14.9", "1.99.0", "2.14.0-RC.1", ""] {
                let (server, version) = ("n1".to_owned(), version.to_owned());
                let told = told_by(&version, &data);
                assert_eq!(told, Some(Synced::TooOld { server, version }));
            }
            for version in ["2.15.0", "2.15.2", "2.16.0-RC.1", "3.0.0"] {
                let told = told_by(version, &data);
                assert!(!matches!(told, Some(Synced::TooOld { .. })), "{version}");
            }
        }
    }
}
