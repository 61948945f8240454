//! Times of commits: a server's own clock, as long as that is not far ahead of the engine's.
//!
//! All servers keep by age what the newest commit leaves young enough. So a clock that is a year
//! ahead would have everybody's history dropped, by one commit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jungle_db::Timestamp;

/// Times of commits are at most so far ahead of the engine's clock.
const AHEAD_MAX: Duration = Duration::from_mins(2);

/// Holds a server's clock back.
#[derive(Default)]
pub(crate) struct HeldClock {
    /// For the log, that tells when it begins and ends.
    is_held: AtomicBool,
}

impl HeldClock {
    /// The time to go by; `engine` is what the engine has, if it is known.
    pub(crate) fn time(&self, clock: Timestamp, engine: Option<Timestamp>) -> Timestamp {
        let Some(engine) = engine else { return clock };
        let latest = engine.as_micros().saturating_add(AHEAD_MAX.as_micros() as i64);
        let time = clock.min(Timestamp::from_micros(latest));
        let is_held = time < clock;
        if self.is_held.swap(is_held, Ordering::Relaxed) != is_held {
            let (clock_us, engine_us) = (clock.as_micros(), engine.as_micros());
            match is_held {
                true => tracing::warn!(
                    clock_us,
                    engine_us,
                    "this server's clock is more than two minutes ahead of the engine's: commits \
                     have a time two minutes ahead of that; set the clock that is wrong"
                ),
                false => tracing::info!(clock_us, engine_us, "the clocks are together again"),
            }
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_counts_up_to_two_minutes_ahead() {
        let (held, seconds) =
            (HeldClock::default(), |s: i64| Timestamp::from_micros(s * 1_000_000));
        let check = |clock, engine: Option<i64>, time| {
            assert_eq!(held.time(seconds(clock), engine.map(seconds)), seconds(time));
        };
        check(9_000, None, 9_000);
        check(1_120, Some(1_000), 1_120);
        check(9_000, Some(1_000), 1_120);
        // One that is behind hurts nobody: times never go down.
        check(10, Some(1_000), 10);
        let last = Timestamp::from_micros(i64::MAX);
        assert_eq!(held.time(last, Some(last)), last);
    }
}
