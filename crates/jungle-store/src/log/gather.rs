//! Waiting for those who are likely to ask for a sync, too, before a group is written. Who was
//! answered mostly commits again at once: without this, half of all clients commit while the group
//! of the others is synced, and each sync has half of them. Those whose commits are only written
//! are not counted: they wait for no sync, and may come again while one goes on.

use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Nobody is waited for who does not come within this part of the time of a sync, nor within this
/// time, however slow the disk is: it is spent letting others run, not asleep.
const PATIENCE_PART: u32 = 4;
const PATIENCE: Duration = Duration::from_micros(250);

/// However many come, it takes no longer than so many syncs that are quick, or a slow one.
const SYNCS: u32 = 4;
const QUICK: Duration = Duration::from_millis(1);

/// What the last group says about the next one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expected {
    count: u64,
    /// How long the last sync took.
    sync: Duration,
}

impl Expected {
    /// Those who were `answered` are likely to come again; others had `come` by then. A single
    /// client so waits for nobody.
    pub(super) fn new(answered: u64, come: u64, sync: Duration) -> Expected {
        Expected { count: answered + come, sync }
    }

    /// Are all there, if so many have come?
    pub(super) fn are_there(self, come: u64) -> bool {
        come >= self.count
    }

    /// Lets others run until as many have come, as `come` counts, or nobody comes any more. It
    /// does not sleep: that takes longer than some disks do.
    pub(super) fn wait(self, come: impl Fn() -> u64) {
        let begun = Instant::now();
        let (mut found, mut newest) = (come(), begun);
        while !self.is_over(found, newest.elapsed(), begun.elapsed()) {
            yield_now();
            let more = come();
            if more > found {
                (found, newest) = (more, Instant::now());
            }
        }
    }

    /// So many are there, nobody came for some time, and it was begun some time ago.
    fn is_over(self, found: u64, idle: Duration, taken: Duration) -> bool {
        let patience = (self.sync / PATIENCE_PART).min(PATIENCE);
        let longest = self.sync.saturating_mul(SYNCS).min(QUICK).max(self.sync);
        self.are_there(found) || idle > patience || taken > longest
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn waiting_ends_with_the_last_one_or_when_nobody_comes() {
        let us = Duration::from_micros;
        for (sync, found, idle, taken, is_over) in [
            (100, 63, 25, 400, false),
            (100, 64, 0, 0, true),
            (100, 63, 26, 30, true),
            (100, 63, 0, 401, true),
            (500, 63, 100, 1000, false),
            (500, 63, 100, 1001, true),
            (5000, 63, 250, 5000, false),
            (5000, 63, 251, 300, true),
            (5000, 63, 0, 5001, true),
        ] {
            let expected = Expected::new(32, 32, us(sync));
            let found_over = expected.is_over(found, us(idle), us(taken));
            assert_eq!(found_over, is_over, "{sync} {found} {idle} {taken}");
        }
    }

    #[test]
    fn single_client_waits_for_nobody() {
        let expected = Expected::new(1, 0, Duration::MAX);
        assert!(expected.are_there(1));
        let looks = Cell::new(0);
        expected.wait(|| {
            looks.set(looks.get() + 1);
            1
        });
        assert_eq!(looks.get(), 1);
    }
}
