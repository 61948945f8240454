//! Whether the log is within reach. A server answers reads and takes local commits without it, so
//! nobody would notice.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::stream::Stream;
use tokio::time::{Instant, sleep, timeout};

/// So often the log is asked, of which its leader says how it is.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// What is not answered within this is not answered.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

/// Since when the log does not answer.
#[derive(Clone, Default)]
pub(super) struct Reach(Arc<Mutex<Option<Instant>>>);

impl Reach {
    /// For how long the log has not answered, if that is so.
    pub(super) fn outage(&self) -> Option<Duration> {
        let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| since.elapsed())
    }

    /// Asks again and again.
    pub(super) async fn watch(self, log: Stream) {
        loop {
            let asked = Instant::now();
            let answer = timeout(ANSWERED_WITHIN, log.get_info()).await;
            self.note(asked, matches!(answer, Ok(Ok(_))));
            sleep(ASKED_EVERY).await;
        }
    }

    fn note(&self, asked: Instant, has_answered: bool) {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
