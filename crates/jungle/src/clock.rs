//! The time of the system.

use std::time::{SystemTime, UNIX_EPOCH};

use jungle_db::{Clock, Timestamp};

/// The clock of the system.
///
/// ```
/// use jungle::{Clock, SystemClock};
/// assert!(SystemClock.now().as_micros() > 1_700_000_000_000_000);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |m| -m),
        };
        Timestamp::from_micros(micros)
    }
}
