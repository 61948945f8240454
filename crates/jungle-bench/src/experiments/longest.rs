//! The longest of operations that are done again and again, and how long of it their thread waited
//! for a processor.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Failure;

/// What takes longer is looked at.
const LONG: Duration = Duration::from_micros(200);

/// The longest of some operations, in milliseconds.
#[derive(Clone, Copy, Default)]
pub struct Longest {
    pub wall: f64,
    pub without_waiting: f64,
}

impl Longest {
    /// Of what is done again and again until it is to stop.
    pub fn until(
        stop: &AtomicBool,
        each: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Longest, Failure> {
        Longest::with_pauses(stop, Duration::ZERO, each)
    }

    /// The same, with a pause after each, which is no part of it.
    pub fn with_pauses(
        stop: &AtomicBool,
        pause: Duration,
        mut each: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Longest, Failure> {
        let mut longest = Longest::default();
        let waiting = Waiting::of_this_thread();
        while !stop.load(Ordering::Relaxed) {
            // Read before each: what shorter ones have waited is not to be taken off a long one.
            let (before, begun) = (waiting.so_far(), Instant::now());
            each()?;
            let took = begun.elapsed();
            if took > LONG {
                longest.add(took, waiting.so_far().saturating_sub(before));
            }
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
        Ok(longest)
    }

    /// One more, which took so long, and waited for so long of that.
    fn add(&mut self, took: Duration, waited: Duration) {
        let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
        self.wall = self.wall.max(milliseconds(took));
        let without = milliseconds(took.saturating_sub(waited));
        self.without_waiting = self.without_waiting.max(without);
    }
}

/// For how long a thread has waited for a processor, as Linux tells; opened once, since it is read
/// beside each operation.
struct Waiting(Option<File>);

impl Waiting {
    fn of_this_thread() -> Waiting {
        Waiting(File::open("/proc/thread-self/schedstat").ok())
    }

    fn so_far(&self) -> Duration {
        let mut told = [0; 80];
        let bytes = self.0.as_ref().and_then(|file| file.read_at(&mut told, 0).ok()).unwrap_or(0);
        Duration::from_nanos(waited(&told[..bytes]).unwrap_or(0))
    }
}

/// The second of the numbers, in nanoseconds.
fn waited(told: &[u8]) -> Option<u64> {
    std::str::from_utf8(told).ok()?.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::{Longest, Waiting, waited};

    #[test]
    fn only_what_the_operation_waited_is_taken_off() {
        let mut longest = Longest::default();
        longest.add(Duration::from_millis(7), Duration::from_millis(6));
        longest.add(Duration::from_millis(5), Duration::from_millis(1));
        assert_eq!((longest.wall, longest.without_waiting), (7.0, 4.0));
    }

    #[test]
    fn what_the_system_tells_is_read_again_and_again() {
        assert_eq!(waited(b"12 345 6\n"), Some(345));
        assert_eq!(waited(b""), None);
        let waiting = Waiting::of_this_thread();
        let before = waiting.so_far();
        assert!(waiting.so_far() >= before);
    }

    #[test]
    fn a_pause_is_no_part_of_the_longest() {
        let (stop, mut done) = (AtomicBool::new(false), 0);
        let mut last: Option<Instant> = None;
        let mut paused = Duration::MAX;
        Longest::with_pauses(&stop, Duration::from_millis(2), || {
            paused = last.map_or(paused, |last| paused.min(last.elapsed()));
            done += 1;
            stop.store(done == 5, Ordering::Relaxed);
            last = Some(Instant::now());
            Ok(())
        })
        .unwrap();
        assert!(done == 5 && paused >= Duration::from_millis(2));
        stop.store(false, Ordering::Relaxed);
        let longest = Longest::until(&stop, || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(1) {}
            stop.store(true, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert!(longest.wall >= 1.0 && longest.without_waiting <= longest.wall);
    }
}
