//! The thread that writes checkpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// It rests so many times as long as it has worked: writers have the machine for themselves.
const REST: u32 = 9;

/// It rests no longer when the log has grown by so much since there was something to do again: that
/// takes some 3 s to be read again.
const BEHIND_BYTES: u64 = 64 << 20;

/// A thread that works when there is enough to do. It stops when it is dropped.
pub(crate) struct Background {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

struct Shared {
    stop: AtomicBool,
    /// From so many bytes of the log on there is something to do.
    due: AtomicU64,
    /// From so many on it does not rest.
    urgent: AtomicU64,
}

/// Wakes the thread when there is something to do.
#[derive(Clone)]
pub(crate) struct Waker {
    shared: Arc<Shared>,
    thread: thread::Thread,
}

impl Background {
    /// Calls `work` whenever the log has grown by so many bytes since it was last called: it gives
    /// how long the log is then.
    pub(crate) fn start(
        every: u64,
        now: u64,
        work: impl FnMut() -> u64 + Send + 'static,
    ) -> std::io::Result<Background> {
        Background::start_resting(REST, every, now, work)
    }

    fn start_resting(
        rest: u32,
        every: u64,
        now: u64,
        mut work: impl FnMut() -> u64 + Send + 'static,
    ) -> std::io::Result<Background> {
        let urgent = move |now: u64| now.saturating_add(every).saturating_add(BEHIND_BYTES);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            due: AtomicU64::new(now.saturating_add(every)),
            urgent: AtomicU64::new(urgent(now)),
        });
        let of_thread = Arc::clone(&shared);
        let run = move || {
            let mut rests_until: Option<Instant> = None;
            while !of_thread.stop.load(Ordering::Acquire) {
                if let Some(until) = rests_until {
                    let left = until.saturating_duration_since(Instant::now());
                    let is_urgent = of_thread.urgent.load(Ordering::Acquire) == u64::MAX;
                    if left > Duration::ZERO && !is_urgent {
                        thread::park_timeout(left);
                        continue;
                    }
                    rests_until = None;
                }
                // Set to never by who wakes it.
                if of_thread.due.load(Ordering::Acquire) != u64::MAX {
                    thread::park();
                    continue;
                }
                let began = Instant::now();
                let done = work();
                rests_until = Some(Instant::now() + began.elapsed() * rest);
                of_thread.urgent.store(urgent(done), Ordering::Release);
                of_thread.due.store(done.saturating_add(every), Ordering::Release);
            }
        };
        let thread = thread::Builder::new().name("checkpoints".into()).spawn(run)?;
        Ok(Background { thread: Some(thread), shared })
    }

    pub(crate) fn waker(&self) -> Waker {
        let thread = self.thread.as_ref().expect("there until it is dropped").thread().clone();
        Waker { shared: Arc::clone(&self.shared), thread }
    }
}

impl Waker {
    /// Says how long the log is.
    pub(crate) fn tell(&self, bytes: u64) {
        let Shared { due, urgent, .. } = &*self.shared;
        for from in [due, urgent] {
            let is_there = bytes >= from.load(Ordering::Relaxed);
            if is_there && from.swap(u64::MAX, Ordering::AcqRel) != u64::MAX {
                self.thread.unpark();
            }
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // What its work says is noted there, even a panic, so this one cannot fail.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_log_that_grows_too_long_ends_the_rest() {
        const SOON: Duration = Duration::from_secs(60);
        let (worked, works) = mpsc::channel();
        let mut bytes = 0;
        // It rests for so long that the test fails meanwhile.
        let background = Background::start_resting(2_000_000_000, 10, 0, move || {
            bytes += BEHIND_BYTES;
            let _ = worked.send(bytes);
            bytes
        });
        let background = background.unwrap();
        let waker = background.waker();
        waker.tell(10);
        assert_eq!(works.recv_timeout(SOON), Ok(BEHIND_BYTES));
        // It may not have come to its rest yet; each commit says how long the log is.
        let began = Instant::now();
        while works.try_recv() != Ok(2 * BEHIND_BYTES) {
            assert!(began.elapsed() < SOON, "it rests although the log is far ahead");
            waker.tell(2 * BEHIND_BYTES + 10);
            thread::yield_now();
        }
    }

    #[test]
    fn it_rests_however_much_it_is_that_it_works_for() {
        for every in [1, BEHIND_BYTES, 3 * BEHIND_BYTES] {
            let background = Background::start(every, 5, || unreachable!("nobody wakes it"));
            let shared = Arc::clone(&background.unwrap().shared);
            let [due, urgent] = [&shared.due, &shared.urgent].map(|at| at.load(Ordering::Acquire));
            assert_eq!((due, urgent - due), (5 + every, BEHIND_BYTES));
        }
    }
}
