//! Worker threads and the clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::Failure;

/// Runs the work on so many threads; the seconds it took, and the results in order.
pub fn on_workers<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> (f64, Vec<T>) {
    let start = Instant::now();
    let results = std::thread::scope(|scope| {
        let work = &work;
        let handles: Vec<_> = (0..threads).map(|i| scope.spawn(move || work(i))).collect();
        let joined = handles.into_iter().map(|handle| handle.join());
        joined.map(|result| result.expect("a worker's panic is the experiment's")).collect()
    });
    (start.elapsed().as_secs_f64(), results)
}

/// Does something again and again on a thread of its own while `other` is done here.
pub fn beside(
    mut again: impl FnMut() -> Result<(), String> + Send,
    other: impl FnOnce(),
) -> Result<(), Failure> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                again()?;
            }
            Ok::<_, String>(())
        });
        other();
        stop.store(true, Ordering::Relaxed);
        Ok(working.join().expect("a worker's panic is the experiment's")?)
    })
}

/// How many of `total` operations fall to this worker.
pub fn share(total: u64, threads: usize, worker: usize) -> u64 {
    let (threads, worker) = (threads as u64, worker as u64);
    total / threads + u64::from(worker < total % threads)
}

/// The seconds that `f` takes, and what it gives.
pub fn timed<T>(f: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let value = f();
    (start.elapsed().as_secs_f64(), value)
}
