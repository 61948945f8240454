//! How the log ends, as its leader says: one that stays shorter than what was followed has lost
//! something.

use std::mem;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::Follower;
use crate::error::Fault;

/// A log that is shorter than what was followed has lost something if all that is said of it says
/// so for so long. How it ends is asked of the log itself, never of a mirror, and told by its
/// leader only: one that was just elected says nothing before it has applied what was there, and
/// one that is cut off from the others takes itself for their leader for up to ten seconds, and
/// says how the log ended before. Any other answer, and none, begins the time anew.
const SHORTER_FOR: Duration = Duration::from_secs(15);
/// What was said last counts no longer than this: it is asked every three seconds at least, unless
/// this server was stopped meanwhile, and perhaps the leader with it, which has then to notice
/// that it was cut off.
const SAID_FOR: Duration = Duration::from_secs(5);

/// What is known of how the log ends.
#[derive(Default)]
pub(super) struct End {
    /// What was followed as it was last told.
    followed: u64,
    /// The log's newest message, as somebody said it last.
    last: Option<u64>,
    /// When somebody was asked last.
    asked: Option<Instant>,
    /// Since when it has been before that.
    shorter_since: Option<Instant>,
}

impl Follower {
    /// Is told again and again which message is the log's last, as its leader says, or that nobody
    /// says it.
    pub(crate) fn see_end(&self, last: Option<u64>, now: Instant) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        // What was followed before that was asked.
        let followed = mem::replace(&mut end.followed, self.standing().followed);
        end.last = last.or(end.last);
        let asked = end.asked.replace(now);
        if asked.is_none_or(|asked| now.duration_since(asked) > SAID_FOR) {
            end.shorter_since = None;
        }
        let Some(last) = last.filter(|last| *last < followed) else {
            end.shorter_since = None;
            return;
        };
        let since = *end.shorter_since.get_or_insert(now);
        drop(end);
        if now.duration_since(since) >= SHORTER_FOR {
            // It is noted here.
            let _ = self.fail(Fault::Shorter { followed, last });
        }
    }

    /// The log's newest message, as its leader said last.
    pub(crate) fn log_end(&self) -> Option<u64> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).last
    }
}

#[cfg(test)]
mod tests {
    use jungle_db::Jungle;

    use super::*;
    use crate::checkpoint::keeper::Every;

    #[test]
    fn a_log_that_stays_shorter_than_what_was_followed_is_a_fault() {
        let every = Every { messages: u64::MAX, bytes: u64::MAX };
        let follower = Follower::new(Jungle::new().unwrap(), 5, None, every);
        let begun = Instant::now();
        let see = |last: Option<u64>, seconds: u64| {
            follower.see_end(last, begun + Duration::from_secs(seconds));
            follower.place().fault.clone()
        };
        // Every three seconds.
        let stays =
            |last, from: u64, to| (from..=to).step_by(3).filter_map(|at| see(last, at)).last();
        assert!(see(Some(5), 0).is_none() && see(None, 0).is_none());
        assert_eq!(follower.log_end(), Some(5));
        // For a moment, as of a leader that is none any more; then another one is asked, or nobody.
        for (from, other) in [(1, Some(6)), (30, None)] {
            assert!(stays(Some(3), from, from + 12).is_none());
            assert!(see(other, from + 15).is_none() && see(Some(3), from + 16).is_none());
            assert!(see(Some(5), from + 17).is_none());
        }
        // It was stopped in between.
        assert!(stays(Some(3), 60, 66).is_none() && stays(Some(3), 90, 102).is_none());
        let fault = see(Some(3), 105).unwrap();
        assert!(matches!(*fault, Fault::Shorter { followed: 5, last: 3 }), "{fault:?}");
    }
}
