//! How long to wait before it is tried again.

use std::time::Duration;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// The authority was asked for nothing, as it was not reached, say: that costs it nothing, and
    /// may be over soon.
    Unasked,
    /// It was asked, and gave no certificate. Let's Encrypt takes five of these an hour for a name.
    Refused,
}

impl Failed {
    /// The first pause, and the longest.
    fn pauses(self) -> [Duration; 2] {
        match self {
            Failed::Unasked => [Duration::from_secs(1), Duration::from_mins(10)],
            Failed::Refused => [Duration::from_mins(2), Duration::from_hours(1)],
        }
    }
}

/// Twice as long each time, until it works.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    unasked: u32,
    refused: u32,
}

impl Backoff {
    pub(super) fn pause(&mut self, failed: Failed) -> Duration {
        let before = match failed {
            Failed::Unasked => &mut self.unasked,
            Failed::Refused => {
                // It was reached. What it counts it goes on counting while it is not.
                self.unasked = 0;
                &mut self.refused
            }
        };
        let [first, longest] = failed.pauses();
        let doubled = 2_u32.saturating_pow(*before);
        *before = before.saturating_add(1);
        first.saturating_mul(doubled).min(longest)
    }

    pub(super) fn reset(&mut self) {
        *self = Backoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::default();
        let pauses = [(); 4].map(|()| backoff.pause(Failed::Unasked).as_secs());
        assert_eq!(pauses, [1, 2, 4, 8]);
        for _ in 0..100 {
            backoff.pause(Failed::Refused);
        }
        assert_eq!(backoff.pause(Failed::Refused), Duration::from_hours(1));
        backoff.reset();
        assert_eq!(backoff.pause(Failed::Refused), Duration::from_mins(2));
    }

    #[test]
    fn first_refusal_after_a_long_outage_is_waited_for_like_any_first_one() {
        let mut backoff = Backoff::default();
        for _ in 0..100 {
            backoff.pause(Failed::Unasked);
        }
        assert_eq!(backoff.pause(Failed::Unasked), Duration::from_mins(10));
        assert_eq!(backoff.pause(Failed::Refused), Duration::from_mins(2));
        assert_eq!(backoff.pause(Failed::Unasked), Duration::from_secs(1));
        assert_eq!(backoff.pause(Failed::Refused), Duration::from_mins(4));
    }

    #[test]
    fn an_authority_that_refuses_is_asked_no_more_often_than_it_allows() {
        let mut backoff = Backoff::default();
        let mut asked_at = Vec::new();
        let mut now = Duration::ZERO;
        while now < Duration::from_hours(24) {
            asked_at.push(now);
            now += backoff.pause(Failed::Refused);
        }
        for (first, from) in asked_at.iter().enumerate() {
            let within = |at: &&Duration| **at < *from + Duration::from_hours(1);
            let count = asked_at[first..].iter().take_while(within).count();
            assert!(count <= 5, "{count} times in the hour from {from:?}");
        }
    }
}
