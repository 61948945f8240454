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
    let timer = timer();
    let mut limits = timer.limits.lock().expect(UNPOISONED);
    limits.push(Reverse(Limit { at, waiter: Arc::downgrade(waiter) }));
    timer.sooner.notify_one();
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
