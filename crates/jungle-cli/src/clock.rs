//! The time that commits get: that of the system, or one that a revision had before it came here.

use std::sync::atomic::{AtomicI64, Ordering};

use jungle::{Clock, SystemClock, Timestamp};

/// What folders are opened with.
pub(crate) struct CommitClock;

/// The time given, in microseconds.
static GIVEN: AtomicI64 = AtomicI64::new(NONE);

const NONE: i64 = i64::MIN;

impl Clock for CommitClock {
    fn now(&self) -> Timestamp {
        match GIVEN.load(Ordering::Relaxed) {
            NONE => SystemClock.now(),
            given => Timestamp::from_micros(given),
        }
    }
}

/// Does `f` while this is the time, if one is given. One that is still to come is now: no later
/// revision of the branch could have an earlier one.
pub(crate) fn at<T>(time: Option<Timestamp>, f: impl FnOnce() -> T) -> T {
    let given = time.map_or(NONE, |time| time.min(SystemClock.now()).as_micros());
    GIVEN.store(given, Ordering::Relaxed);
    let done = f();
    GIVEN.store(NONE, Ordering::Relaxed);
    done
}
