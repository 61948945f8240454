//! The suites of the store: crashes, failing calls, damage, killed processes, counted syncs.

pub mod child;
mod crash;
mod crowd;
mod io;
mod kill;
mod rot;
mod syncs;
mod workload;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::options::Options;
use crate::suite::{self, Outcome, Suite};

/// The suites, as they are called.
pub const SUITES: [&str; 5] = ["crash", "io", "rot", "kill", "syncs"];

/// Crash points that a seed of `crash` stands for, about.
pub const CRASHES_OF_SEED: u64 = 950;
/// Failing calls that a seed of `io` stands for, about.
pub const CALLS_OF_SEED: u64 = 450;

pub fn run(options: &Options) -> Outcome {
    match options.suite.as_str() {
        "crash" => counting(options, (220_000, CRASHES_OF_SEED), "crash points", crash::run),
        "io" => counting(options, (33_000, CALLS_OF_SEED), "failing calls", io::run),
        "rot" => counting(options, (28_000, 40), "damages", rot::run),
        "kill" => kill::run(options),
        "syncs" => syncs::run(options),
        _ => unreachable!("checked when parsed"),
    }
}

/// Runs seeds that each stand for about so many points, and count what they have tried.
fn counting(
    options: &Options,
    (usual, points_of_seed): (u64, u64),
    what: &str,
    case: impl Fn(&mut jungle_testkit::Rng) -> u64 + Sync,
) -> Outcome {
    let (tried, begun) = (AtomicU64::new(0), std::time::Instant::now());
    let case = |rng: &mut jungle_testkit::Rng| {
        tried.fetch_add(case(rng), Ordering::Relaxed);
    };
    let outcome = suite::run(options, Suite { usual, points_of_seed, case });
    let tried = tried.into_inner();
    let per_second = tried as f64 / begun.elapsed().as_secs_f64();
    println!("{}: {tried} {what}, {per_second:.0} a second", options.suite);
    Outcome { passed: tried, ..outcome }
}
