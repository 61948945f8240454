//! Many points, each with a seed of its own, and what came of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jungle_testkit::Rng;

use crate::options::Options;
use crate::patience::Patience;

/// After so many failures the rest would tell nothing new; of a bug that was woken one is enough.
const FAILURES_MAX: u64 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub passed: u64,
    pub failed: u64,
    /// What this machine cannot do.
    pub skipped: u64,
}

/// What a suite does with a seed.
pub struct Suite<C> {
    /// Its number of points, if no other is asked for.
    pub usual: u64,
    /// How many points one seed stands for.
    pub points_of_seed: u64,
    pub case: C,
}

/// Runs points on a few threads.
pub fn run(options: &Options, suite: Suite<impl Fn(&mut Rng) + Sync>) -> Outcome {
    let (points, begun) = (options.points(suite.usual), Instant::now());
    println!("{}: {points} points from seed {}", options.suite, options.seed);
    let seeds = points.div_ceil(suite.points_of_seed);
    let (next, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let patience = Patience::begin(options);
    let failures_max = if options.wake.is_some() { 1 } else { FAILURES_MAX };
    let outcome = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                let mut mine = Outcome::default();
                while failed.load(Ordering::Relaxed) < failures_max {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= seeds {
                        break;
                    }
                    let seed = options.seed + index;
                    let _turn = patience.turn(again(options, seed));
                    let run = || (suite.case)(&mut Rng::new(seed));
                    if catch_unwind(AssertUnwindSafe(run)).is_ok() {
                        mine.passed += suite.points_of_seed;
                    } else {
                        mine.failed += 1;
                        failed.fetch_add(1, Ordering::Relaxed);
                        println!("failed; again: {}", again(options, seed));
                    }
                }
                let mut outcome = outcome.lock().expect("nothing panics while it is held");
                outcome.passed += mine.passed;
                outcome.failed += mine.failed;
            });
        }
    });
    println!("{}: {:.1} s", options.suite, begun.elapsed().as_secs_f64());
    outcome.into_inner().expect("nothing panicked while it was held")
}

/// The command that repeats one seed.
pub fn again(options: &Options, seed: u64) -> String {
    again_with(options, seed, 1)
}

/// The command that repeats so many points from a seed on.
pub fn again_with(options: &Options, seed: u64, points: u64) -> String {
    let wake = options.wake.as_ref().map_or(String::new(), |bug| format!(" --wake {bug}"));
    let command = "JUNGLE_TRACE=1 cargo xtask torture";
    format!("{command} {} --seed {seed} --points {points}{wake}", options.suite)
}
