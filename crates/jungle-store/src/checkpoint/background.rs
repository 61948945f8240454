//! The thread that writes checkpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// It rests so many times as long as it has worked: writers have the machine for themselves.
const REST: u32 = 9;

/// A thread that works when there is enough to do. It stops when it is dropped.
pub(crate) struct Background {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

struct Shared {
    stop: AtomicBool,
    /// From so many bytes of the log on there is something to do.
    due: AtomicU64,
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
        mut work: impl FnMut() -> u64 + Send + 'static,
    ) -> std::io::Result<Background> {
        let due = AtomicU64::new(now.saturating_add(every));
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), due });
        let of_thread = Arc::clone(&shared);
        let run = move || {
            let mut rests_until: Option<Instant> = None;
            while !of_thread.stop.load(Ordering::Acquire) {
                if let Some(until) = rests_until {
                    let left = until.saturating_duration_since(Instant::now());
                    if left > Duration::ZERO {
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
                rests_until = Some(Instant::now() + began.elapsed() * REST);
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
        let due = self.shared.due.load(Ordering::Relaxed);
        if bytes >= due && self.shared.due.swap(u64::MAX, Ordering::AcqRel) != u64::MAX {
            self.thread.unpark();
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
