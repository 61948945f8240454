//! How long to wait before it is tried again.

use std::time::Duration;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// The authority was not reached: that costs it nothing, and may be over soon.
    Unreached,
    /// It was asked, and gave no certificate. Let's Encrypt takes five of these an hour for a name.
    Refused,
}

impl Failed {
    /// The first pause, and the longest.
    fn pauses(self) -> [Duration; 2] {
        match self {
            Failed::Unreached => [Duration::from_secs(1), Duration::from_mins(10)],
            Failed::Refused => [Duration::from_mins(1), Duration::from_hours(1)],
        }
    }
}

/// Twice as long each time, until it works.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failed: u32,
}

impl Backoff {
    pub(super) fn pause(&mut self, failed: Failed) -> Duration {
        let [first, longest] = failed.pauses();
        let doubled = 2_u32.saturating_pow(self.failed);
        self.failed = self.failed.saturating_add(1);
        first.saturating_mul(doubled).min(longest)
    }

    pub(super) fn reset(&mut self) {
        self.failed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::default();
        let pauses = [(); 4].map(|()| backoff.pause(Failed::Unreached).as_secs());
        assert_eq!(pauses, [1, 2, 4, 8]);
        assert_eq!(backoff.pause(Failed::Refused), Duration::from_mins(16));
        for _ in 0..100 {
            backoff.pause(Failed::Refused);
        }
        assert_eq!(backoff.pause(Failed::Refused), Duration::from_hours(1));
        backoff.reset();
        assert_eq!(backoff.pause(Failed::Refused), Duration::from_mins(1));
    }

    #[test]
    fn an_authority_that_refuses_is_asked_less_often_than_it_allows() {
        let mut backoff = Backoff::default();
        let mut waited = Duration::ZERO;
        let mut asked = 0;
        while waited < Duration::from_hours(24) {
            waited += backoff.pause(Failed::Refused);
            asked += 1;
        }
        assert!(asked < 24 + 7, "{asked} times in a day");
    }
}
