//! Worker threads and the clock.

use std::time::Instant;

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
