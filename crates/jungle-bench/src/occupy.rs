//! Idle cores kept busy: where they rest, the machine saves power and the others are slower, so
//! that few threads are understated and a curve of speed-up flatters many. E7 measured that first;
//! `--occupy-idle` and `jungle-bench idle-trap` show how much it is here. Whoever works beside busy
//! cores is kept off them, which alone may change much: so that can be had without the loops, too.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Which cores a program may use, and what the others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cores {
    /// All of them.
    All,
    /// The first so many; the others rest.
    Pinned(usize),
    /// The first so many; the others are kept busy.
    BesideBusy(usize),
}

/// Confines this thread, and whatever process it starts, to some cores, until this is dropped.
pub struct Confined {
    /// Where this thread was allowed before.
    before: CpuSet,
    stop: Arc<AtomicBool>,
    /// On each core that is kept busy.
    loops: Vec<JoinHandle<io::Result<()>>>,
}

impl Confined {
    /// To these, of those that it may use. Where there is no other, nothing is done.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn to(cores: Cores) -> io::Result<Confined> {
        let before = sched_getaffinity(None)?;
        let (used, others) = match cores {
            Cores::All => divide(&before, CpuSet::MAX_CPU),
            Cores::Pinned(threads) | Cores::BesideBusy(threads) => divide(&before, threads),
        };
        let (is_all, is_busy) = (others.is_empty(), matches!(cores, Cores::BesideBusy(_)));
        let stop = Arc::new(AtomicBool::new(false));
        let spin_on = |core: usize| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || spin(core, &stop))
        };
        let loops: Vec<_> = others.into_iter().filter(|_| is_busy).map(spin_on).collect();
        // From here on what is dropped undoes it.
        let confined = Confined { before, stop, loops };
        if !is_all {
            sched_setaffinity(None, &used)?;
        }
        Ok(confined)
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // The flag alone is handed over, nothing is behind it.
        self.stop.store(true, Ordering::Relaxed);
        // It was allowed before; and a loop that could not be pinned has ended.
        let _ = sched_setaffinity(None, &self.before);
        for spinning in self.loops.drain(..) {
            let _ = spinning.join();
        }
    }
}

/// The first so many cores, and the others.
fn divide(allowed: &CpuSet, threads: usize) -> (CpuSet, Vec<usize>) {
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    let mut used = CpuSet::new();
    cores.by_ref().take(threads).for_each(|core| used.set(core));
    (used, cores.collect())
}

fn spin(core: usize, stop: &AtomicBool) -> io::Result<()> {
    let mut here = CpuSet::new();
    here.set(core);
    sched_setaffinity(None, &here)?;
    let mut count = 0_u64;
    // No hint that this only waits: the core must believe that it works.
    while !stop.load(Ordering::Relaxed) {
        count = black_box(count.wrapping_add(1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CpuSet, sched_getaffinity};

    use super::{Confined, Cores, divide};

    #[test]
    fn the_first_cores_are_used_and_the_others_idle() {
        let mut allowed = CpuSet::new();
        [1, 3, 4, 9].into_iter().for_each(|core| allowed.set(core));
        let (used, idle) = divide(&allowed, 2);
        assert!(used.is_set(1) && used.is_set(3) && used.count() == 2);
        assert_eq!(idle, [4, 9]);
        assert!(divide(&allowed, 4).1.is_empty());
    }

    #[test]
    fn this_thread_is_free_again_afterwards() {
        let before = sched_getaffinity(None).unwrap();
        let all = before.count();
        for (cores, used, busy) in [
            (Cores::BesideBusy(1), 1, all - 1),
            (Cores::Pinned(1), 1, 0),
            (Cores::All, all, 0),
            (Cores::BesideBusy(all as usize), all, 0),
        ] {
            let confined = Confined::to(cores).unwrap();
            assert_eq!(confined.loops.len() as u32, busy, "{cores:?}");
            assert_eq!(sched_getaffinity(None).unwrap().count(), used, "{cores:?}");
            drop(confined);
            assert_eq!(sched_getaffinity(None).unwrap(), before, "{cores:?}");
        }
    }
}
