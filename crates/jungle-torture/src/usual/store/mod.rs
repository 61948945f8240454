//! The suites of the store: crashes, failing calls, damage, killed processes, counted syncs,
//! and what must not matter.

pub mod child;
mod copied;
mod crash;
mod crash_images;
mod crowd;
mod erase;
mod io;
mod kill;
mod kinds;
mod meta;
// What older programs wrote is that of the tests of the store, as it is.
#[path = "../../../../jungle-store/tests/it/older.rs"]
mod older;
mod rot;
// What is to be erased is that of the tests of the store, as it is.
#[path = "../../../../jungle-store/tests/it/secrets.rs"]
mod secrets;
pub mod syncs;
mod trace;
pub mod workload;

use jungle_testkit::Rng;

use crate::options::Options;
use crate::suite::Outcome;
use crate::usual::counting;

/// The suites, as they are called.
pub const SUITES: [&str; 7] = ["crash", "io", "rot", "erase", "kill", "syncs", "meta"];

/// Crash points that a seed of `crash` stands for, about.
pub const CRASHES_OF_SEED: u64 = 950;
/// Failing calls that a seed of `io` stands for, about: 550 to 850 were seen, over tens of seeds.
pub const CALLS_OF_SEED: u64 = 640;

pub fn run(options: &Options) -> Outcome {
    match options.suite.as_str() {
        "crash" => crash::run(options),
        "io" => {
            let run = |rng: &mut Rng| io::run(rng, options.wake.is_some());
            counting(options, (16_000, CALLS_OF_SEED), "failing calls", run)
        }
        "rot" => counting(options, (28_000, 40), "damages", rot::run),
        "erase" => counting(options, (5_600, 560), "crashes and failing calls", erase::run),
        "meta" => counting(options, (3_000, meta::SETTINGS), "settings", meta::run),
        "kill" => kill::run(options),
        "syncs" => syncs::run(options),
        _ => unreachable!("checked when parsed"),
    }
}
