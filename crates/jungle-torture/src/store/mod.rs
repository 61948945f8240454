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
use crate::suite::{self, Outcome};

/// The suites, as they are called.
pub const SUITES: [&str; 5] = ["crash", "io", "rot", "kill", "syncs"];

pub fn run(options: &Options) -> Outcome {
    match options.suite.as_str() {
        "crash" => counting(options, 500, "crash points", crash::run),
        "io" => counting(options, 150, "failing calls", io::run),
        "rot" => counting(options, 700, "damages", rot::run),
        "kill" => kill::run(options),
        "syncs" => syncs::run(options),
        _ => unreachable!("checked when parsed"),
    }
}

/// Runs cases that each count what they have tried.
fn counting(
    options: &Options,
    usual: u64,
    what: &str,
    case: impl Fn(&mut jungle_testkit::Rng) -> u64 + Sync,
) -> Outcome {
    let (tried, begun) = (AtomicU64::new(0), std::time::Instant::now());
    let outcome = suite::run(options, usual, |rng| {
        tried.fetch_add(case(rng), Ordering::Relaxed);
    });
    let tried = tried.into_inner();
    let per_second = tried as f64 / begun.elapsed().as_secs_f64();
    println!("{}: {tried} {what}, {per_second:.0} a second", options.suite);
    Outcome { passed: tried, ..outcome }
}
