//! The clock of code segments with a time limit: one thread for the process, begun by the first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};
use std::thread;
use std::time::Instant;

use crate::line::{Stop, Waiter};
use crate::sync::UNPOISONED;

/// What ends when.
#[derive(Default)]
struct Timer {
    limits: Mutex<BinaryHeap<Reverse<Limit>>>,
    sooner: Condvar,
}

struct Limit {
    at: Instant,
    waiter: Weak<dyn Waiter>,
}

/// Stops the waiter at that time, if it waits then.
pub(crate) fn stop_at(at: Instant, waiter: &Arc<dyn Waiter>) {
    timer().add(Limit { at, waiter: Arc::downgrade(waiter) });
}

fn timer() -> &'static Timer {
    static TIMER: OnceLock<&Timer> = OnceLock::new();
    TIMER.get_or_init(|| {
        let timer: &Timer = Box::leak(Box::default());
        let named = thread::Builder::new().name("alice timer".to_owned());
        named.spawn(|| timer.run()).expect("the system gives one more thread");
        timer
    })
}

impl Timer {
    fn run(&self) {
        loop {
            let due = self.wait();
            if let Some(waiter) = due.waiter.upgrade() {
                waiter.stop(Stop::TimedOut);
            }
        }
    }

    fn add(&self, limit: Limit) {
        let mut limits = self.limits.lock().expect(UNPOISONED);
        if limits.len() == limits.capacity() {
            // What is done needs no limit, which would keep its memory until then.
            limits.retain(|Reverse(limit)| limit.waiter.strong_count() > 0);
            let living = limits.len();
            limits.reserve(living + 1);
        }
        limits.push(Reverse(limit));
        self.sooner.notify_one();
    }

    /// The next limit, when its time has come.
    fn wait(&self) -> Limit {
        let mut limits = self.limits.lock().expect(UNPOISONED);
        loop {
            let left =
                limits.peek().map(|next| next.0.at.saturating_duration_since(Instant::now()));
            limits = match left {
                Some(left) if left.is_zero() => {
                    return limits.pop().expect("it was looked at").0;
                }
                Some(left) => self.sooner.wait_timeout(limits, left).expect(UNPOISONED).0,
                None => self.sooner.wait(limits).expect(UNPOISONED),
            };
        }
    }
}

impl Ord for Limit {
    fn cmp(&self, other: &Limit) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Limit) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Limit {
    fn eq(&self, other: &Limit) -> bool {
        self.at == other.at
    }
}

impl Eq for Limit {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Idle;

    impl Waiter for Idle {
        fn try_fire(self: Arc<Self>) {}

        fn stop(self: Arc<Self>, _: Stop) {}

        fn name(&self) -> &str {
            "idle"
        }
    }

    #[test]
    fn what_is_done_is_not_kept_until_its_limit() {
        let timer = Timer::default();
        let at = Instant::now() + Duration::from_hours(1);
        let living: Vec<Arc<dyn Waiter>> = (0..100).map(|_| Arc::new(Idle) as _).collect();
        let add = |waiter: &Arc<dyn Waiter>| {
            timer.add(Limit { at, waiter: Arc::downgrade(waiter) });
        };
        living.iter().for_each(add);
        for _ in 0..100_000 {
            let done: Arc<dyn Waiter> = Arc::new(Idle);
            add(&done);
        }
        let mut limits = timer.limits.lock().unwrap();
        assert!(limits.capacity() < 1000, "{}", limits.capacity());
        limits.retain(|Reverse(limit)| limit.waiter.strong_count() > 0);
        assert_eq!(limits.len(), living.len());
    }
}
