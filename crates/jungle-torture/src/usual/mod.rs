//! The suites of the usual build.
//!
//! - `model`: random edits on trees that share an arena, and random operations on a whole Jungle,
//!   against reference models.
//! - `converge`: replicas that merge in any order end equal.
//! - `sim`: a cluster in one thread, on a simulated engine, under faults.
//! - `stress`: readers beside a writer, and updates beside each other, on real threads; what
//!   `tests/loom.rs` and `shuttle` do not see: the machine's own order of memory.
//! - `crash`: power is lost at every call that changes a simulated disk.
//! - `io`: each call of a simulated disk fails once, in each way it can.
//! - `rot`: files of the store are damaged.
//! - `erase`: power is lost, and calls fail, while something is erased or put in a folder's place.
//! - `kill`: a process that commits is killed.
//! - `syncs`: its syncs are counted with `strace`.
//! - `meta`: the same commits under other settings come to the same.
//! - `fuzz`: input from outside, changed at random.
//! - `planted`: each planted bug, woken, must turn one of these red, or `shuttle`.

mod converge;
mod decide;
mod fuzz;
// The drivers are those that the tests of the tree and of the database use, as they are.
#[path = "../../../jungle-db/tests/it/driver/mod.rs"]
mod jungle_driver;
mod planted;
mod sim;
mod store;
#[path = "../../../jungle-tree/tests/it/driver/mod.rs"]
mod tree_driver;

use std::env::Args;
use std::iter::{Peekable, Skip};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jungle_testkit::Rng;

use crate::options::Options;
use crate::suite::{self, Outcome, Suite};

pub use fuzz::{TARGETS, Target};
pub use planted::wake;

/// Those that are not of the store.
const SUITES: [&str; 6] = ["model", "converge", "sim", "stress", "fuzz", "planted"];

/// Is that one of them?
pub fn has(suite: &str) -> bool {
    SUITES.contains(&suite) || store::SUITES.contains(&suite)
}

/// The seed that a suite begins at by itself, whatever the day.
pub fn seed(suite: &str) -> Option<u64> {
    (suite == "planted").then_some(planted::SEED)
}

/// What a program is called with.
type Arguments = Peekable<Skip<Args>>;

/// The arguments, unless this process is the child of a suite: then it has done its work.
pub fn unless_child(mut arguments: Arguments) -> Option<Arguments> {
    if arguments.next_if(|first| first == store::child::CHILD).is_some() {
        store::child::run(arguments);
        return None;
    }
    Some(arguments)
}

pub fn run(options: &Options) -> Outcome {
    let each =
        |usual, case: fn(&mut Rng)| suite::run(options, Suite { usual, points_of_seed: 1, case });
    match options.suite.as_str() {
        "model" => each(20_000, model),
        "converge" => each(10_000, converge::run),
        "stress" => each(300, stress),
        "sim" => each(1_000, sim::run),
        "fuzz" => fuzz::run(options),
        "planted" => planted::run(options),
        _ => store::run(options),
    }
}

/// The two parts take turns: trees with even seeds; with odd ones whole Jungles, and then branches
/// of one tree.
fn model(rng: &mut Rng) {
    const STEPS: u64 = 100;
    if rng.seed().is_multiple_of(2) {
        tree_driver::run(rng, tree_driver::Settings { steps: STEPS, check_all_every: 25 });
    } else {
        jungle_driver::run(rng, STEPS);
        jungle_driver::merges::run(rng, STEPS / 2);
    }
}

fn stress(rng: &mut Rng) {
    match rng.seed() % 4 {
        1 => jungle_driver::threads::run(rng, 300),
        3 => jungle_driver::threads::run_shared(rng, 100),
        _ => tree_driver::stress::run(rng, 3, 2_000),
    }
}

/// Runs seeds that each stand for about so many points, and count what they have tried.
pub fn counting(
    options: &Options,
    (usual, points_of_seed): (u64, u64),
    what: &str,
    case: impl Fn(&mut Rng) -> u64 + Sync,
) -> Outcome {
    let (tried, begun) = (AtomicU64::new(0), Instant::now());
    let case = |rng: &mut Rng| {
        tried.fetch_add(case(rng), Ordering::Relaxed);
    };
    let outcome = suite::run(options, Suite { usual, points_of_seed, case });
    let tried = tried.into_inner();
    let per_second = tried as f64 / begun.elapsed().as_secs_f64();
    println!("{}: {tried} {what}, {per_second:.0} a second", options.suite);
    Outcome { passed: tried, ..outcome }
}
