//! What processes have had of the processor.

use std::fs;

use crate::Failure;

/// Microseconds in which the system tells times of processes, whatever its own steps are.
const TICK_US: u64 = 10_000;

/// Microseconds of processor that these processes have had, also in threads that have ended, as
/// Linux tells, in steps of 10 ms.
///
/// # Errors
/// When it does not tell.
pub fn processor_us(processes: &[u32]) -> Result<f64, Failure> {
    let ticks = processes.iter().map(|process| {
        let told = fs::read_to_string(format!("/proc/{process}/stat"))
            .map_err(|error| format!("the time of a process is told by Linux only: {error}"))?;
        ticks(&told).ok_or_else(|| Failure::from(format!("no time of a process: {told}")))
    });
    Ok((TICK_US * ticks.sum::<Result<u64, Failure>>()?) as f64)
}

/// Its name, in brackets, may have anything in it; the 14th and 15th word are the times.
fn ticks(told: &str) -> Option<u64> {
    let (_, words) = told.rsplit_once(')')?;
    let mut times = words.split_whitespace().skip(11).map(|time| time.parse::<u64>().ok());
    Some(times.next()?? + times.next()??)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::thread;

    use super::{processor_us, ticks};

    #[test]
    fn the_times_are_the_14th_and_15th_word() {
        let told = "7 (a b) c) S 1 7 7 0 -1 4194560 900 0 3 0 12 30 5 6 20 0 9 0 100 0 0";
        assert_eq!(ticks(told), Some(42));
        assert_eq!(ticks("7 (a) S 1 7"), None);
    }

    #[test]
    fn a_thread_that_has_ended_is_counted() {
        let own = || processor_us(&[std::process::id()]).unwrap();
        let before = own();
        // Until it has used some, as it sees itself.
        let worker = thread::spawn(move || {
            let mut sum = 0_u64;
            while own() - before < 50_000.0 {
                sum = (0..10_000).fold(sum, |sum, number| sum ^ black_box(number));
            }
            sum
        });
        worker.join().unwrap();
        assert!(own() - before >= 50_000.0);
    }
}
