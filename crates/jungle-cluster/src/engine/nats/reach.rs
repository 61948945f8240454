//! Whether the log is within reach, how it ends, and what time it is there. A server answers reads
//! and takes local commits without it, so nobody would notice.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_nats::datetime::parse_rfc3339;
use async_nats::jetstream;
use jungle_db::Timestamp;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::engine::log::SeeEnd;

/// So often the log is asked, of which its leader says how it is.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// What is not answered within this is not answered.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(super) struct Reach {
    jetstream: jetstream::Context,
    /// What the log is called.
    name: String,
    /// What time it was as somebody said it last, and when that was here.
    time: Arc<Mutex<Option<(Timestamp, Instant)>>>,
    /// Since when the log does not answer.
    since: Arc<Mutex<Option<Instant>>>,
    /// Who is told how it ends.
    see: Arc<OnceLock<SeeEnd>>,
}

/// What is read of how a log is.
#[derive(Deserialize)]
struct Told {
    /// When that was so, by the clock of the server that leads it.
    ts: Option<String>,
    state: State,
}

#[derive(Deserialize)]
struct State {
    last_seq: u64,
}

impl Reach {
    pub(super) fn new(jetstream: &jetstream::Context, name: &str) -> Reach {
        let (jetstream, name) = (jetstream.clone(), name.to_owned());
        let (time, since, see) = Default::default();
        Reach { jetstream, name, time, since, see }
    }

    /// What time it is by the clock of whoever leads the log, as far as is known.
    pub(super) fn time(&self) -> Option<Timestamp> {
        let (said, at) = (*self.time.lock().unwrap_or_else(PoisonError::into_inner))?;
        let since = i64::try_from(at.elapsed().as_micros()).unwrap_or(i64::MAX);
        Some(Timestamp::from_micros(said.as_micros().saturating_add(since)))
    }

    /// For how long the log has not answered, if that is so.
    pub(super) fn outage(&self) -> Option<Duration> {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.elapsed())
    }

    /// Tells from now on how the log ends.
    pub(super) fn show(&self, see: SeeEnd) {
        // A server has one follower.
        let _ = self.see.set(see);
    }

    /// Asks again and again.
    pub(super) async fn watch(self) {
        loop {
            let asked = Instant::now();
            let last = self.ask().await;
            self.note(asked, last.is_some());
            if let Some(see) = self.see.get() {
                see(last);
            }
            sleep(ASKED_EVERY).await;
        }
    }

    /// Asks how the log ends, and what time it is; `None` if nobody says it.
    pub(super) async fn ask(&self) -> Option<u64> {
        let subject = format!("STREAM.INFO.{}", self.name);
        let question = json!({});
        let asking = self.jetstream.request::<_, _, Told>(subject, &question);
        let told = timeout(ANSWERED_WITHIN, asking).await.ok()?.ok()?;
        if let Some(said) = told.ts.and_then(|ts| parse_rfc3339(&ts).ok()) {
            let micros = i64::try_from(said.unix_timestamp_nanos() / 1000).ok()?;
            let said = (Timestamp::from_micros(micros), Instant::now());
            *self.time.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        }
        Some(told.state.last_seq)
    }

    fn note(&self, asked: Instant, has_answered: bool) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        match (*since, has_answered) {
            (None, false) => {
                tracing::warn!("the log of the cluster does not answer");
                *since = Some(asked);
            }
            (Some(begun), true) => {
                tracing::info!(after = ?begun.elapsed(), "the log of the cluster answers again");
                *since = None;
            }
            (None, true) | (Some(_), false) => {}
        }
    }
}
