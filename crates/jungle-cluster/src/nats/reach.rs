//! Whether the log is within reach, and how it ends. A server answers reads and takes local commits
//! without it, so nobody would notice.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_nats::jetstream::stream::Stream;
use tokio::time::{Instant, sleep, timeout};

use crate::log::SeeEnd;

/// So often the log is asked, of which its leader says how it is.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// What is not answered within this is not answered.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Clone, Default)]
pub(super) struct Reach {
    /// Since when the log does not answer.
    since: Arc<Mutex<Option<Instant>>>,
    /// Who is told how it ends.
    see: Arc<OnceLock<SeeEnd>>,
}

impl Reach {
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
    pub(super) async fn watch(self, log: Stream) {
        loop {
            let asked = Instant::now();
            let answer = timeout(ANSWERED_WITHIN, log.get_info()).await;
            let last = answer.ok().and_then(Result::ok).map(|info| info.state.last_sequence);
            self.note(asked, last.is_some());
            if let Some(see) = self.see.get() {
                see(last);
            }
            sleep(ASKED_EVERY).await;
        }
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
