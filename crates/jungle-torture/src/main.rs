//! `cargo xtask torture SUITE`: the long suites. The last line of each is `N passed, N failed`; a
//! failure prints the command that repeats it.
//!
//! - `model`: random edits on trees that share an arena, and random operations on a whole Jungle,
//!   against reference models.
//! - `converge`: replicas that merge in any order end equal.
//! - `sim`: a cluster in one thread, on a simulated engine, under faults.
//! - `stress`: readers beside a writer, and updates beside each other, on real threads; what
//!   `tests/loom.rs` and `shuttle` do not see: the machine's own order of memory.
//! - `shuttle`: the commit path, and Alice, under a scheduler of our own, in a build of its own.
//! - `crash`: power is lost at every call that changes a simulated disk.
//! - `io`: each call of a simulated disk fails once, in each way it can.
//! - `rot`: files of the store are damaged.
//! - `erase`: power is lost, and calls fail, while something is erased or put in a folder's place.
//! - `kill`: a process that commits is killed.
//! - `syncs`: its syncs are counted with `strace`.
//! - `meta`: the same commits under other settings come to the same.
//! - `fuzz`: input from outside, changed at random.
//! - `planted`: each planted bug, woken, must turn one of these red.

mod converge;
mod fuzz;
// The drivers are those that the tests of the tree and of the database use, as they are.
#[path = "../../jungle-db/tests/it/driver/mod.rs"]
mod jungle_driver;
mod options;
mod patience;
mod planted;
#[cfg(shuttle)]
mod shuttle;
#[cfg(not(shuttle))]
mod sim;
mod store;
mod suite;
#[path = "../../jungle-tree/tests/it/driver/mod.rs"]
mod tree_driver;

use std::process::ExitCode;

use jungle_testkit::Rng;
use options::Options;
use suite::{Outcome, Suite};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == store::child::CHILD).is_some() {
        store::child::run(arguments);
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    let outcome = match options.suite.as_str() {
        "model" => {
            let case = model;
            suite::run(&options, Suite { usual: 20_000, points_of_seed: 1, case })
        }
        "converge" => {
            let case = converge::run;
            suite::run(&options, Suite { usual: 10_000, points_of_seed: 1, case })
        }
        "stress" => {
            let case = |rng: &mut Rng| match rng.seed() % 4 {
                1 => jungle_driver::threads::run(rng, 300),
                3 => jungle_driver::threads::run_shared(rng, 100),
                _ => tree_driver::stress::run(rng, 3, 2_000),
            };
            suite::run(&options, Suite { usual: 300, points_of_seed: 1, case })
        }
        "shuttle" => schedules(&options),
        "sim" => simulations(&options),
        "fuzz" => fuzz::run(&options),
        "planted" => planted::run(&options),
        _ => store::run(&options),
    };
    print!("{} passed, {} failed", outcome.passed, outcome.failed);
    match outcome.skipped {
        0 => println!(),
        skipped => println!(", {skipped} skipped"),
    }
    let done = outcome.passed + outcome.skipped;
    if outcome.failed == 0 && done > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The two parts take turns: trees with even seeds, whole Jungles with odd ones.
fn model(rng: &mut Rng) {
    const STEPS: u64 = 100;
    if rng.seed().is_multiple_of(2) {
        tree_driver::run(rng, tree_driver::Settings { steps: STEPS, check_all_every: 25 });
    } else {
        jungle_driver::run(rng, STEPS);
    }
}

#[cfg(shuttle)]
fn schedules(options: &Options) -> Outcome {
    let points_of_seed = shuttle::SCHEDULES;
    suite::run(options, Suite { usual: 100_000, points_of_seed, case: shuttle::run })
}

#[cfg(not(shuttle))]
fn schedules(_: &Options) -> Outcome {
    println!("shuttle: this build has real locks; `cargo xtask torture shuttle` makes the other");
    Outcome { failed: 1, ..Outcome::default() }
}

#[cfg(not(shuttle))]
fn simulations(options: &Options) -> Outcome {
    suite::run(options, Suite { usual: 1_000, points_of_seed: 1, case: sim::run })
}

#[cfg(shuttle)]
fn simulations(_: &Options) -> Outcome {
    println!("sim: it is in the usual build only, as `cargo xtask torture sim` makes it");
    Outcome { failed: 1, ..Outcome::default() }
}
