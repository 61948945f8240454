//! The commit path, and Alice's queues, under a scheduler of our own: threads that take turns at
//! every lock and atomic of `jungle-db` and `alice`, in an order that the seed decides.
//!
//! The suite is compiled under `--cfg shuttle` only, which puts shuttle's locks into both:
//! `cargo xtask torture shuttle` builds it so. Nothing of the tree is a place to change threads.

mod bank;
mod branches;
mod dataflow;
mod journal;
mod marks;
mod merges;
mod past;
mod root;
mod turn;
mod watch;
mod world;

use jungle_testkit::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

use crate::options::Options;
use crate::suite::{self, Outcome, Suite};

/// Schedules of a case: one world, run again and again.
const SCHEDULES: u64 = 20;
/// The scheduler that is not random prefers one thread to another, but for so many moments.
const CHANGES: usize = 3;
/// More than any schedule takes: one that gets there goes on for ever.
const STEPS_MAX: usize = 200_000;

type Scenario = fn(&mut Rng);

const SCENARIOS: [(&str, Scenario); 18] = [
    ("transfers in one tree", bank::in_one_tree),
    ("transfers between trees", bank::between_trees),
    ("counters and appends", bank::counted),
    ("a journal that fails", journal::fails),
    ("a watch", watch::sees_all),
    ("a watch of a tree that is deleted", watch::ends),
    ("a turn for who keeps losing", turn::comes),
    ("a turn between trees", turn::comes_between_trees),
    ("a root compared and set", root::compared_and_set),
    ("retention beside readers", past::retained),
    ("branches and tags", branches::merged),
    ("one branch merged by two", merges::by_two),
    ("marks of what is about to go", marks::beside_commits),
    ("marks of what is about to go, in sequence", marks::in_sequence),
    ("dataflow: takers of one key and of two", dataflow::taken),
    ("dataflow: crossed code segments", dataflow::crossed),
    ("dataflow: a wait that is stopped", dataflow::stopped),
    ("dataflow: a full queue", dataflow::bounded),
];

/// Is that what this build has?
pub fn has(suite: &str) -> bool {
    suite == "shuttle"
}

/// Each day has another.
pub fn seed(_: &str) -> Option<u64> {
    None
}

/// Wakes the bug of this name, where it is planted in what this build has.
pub fn wake(name: &str) -> Option<()> {
    let of_tree = || jungle_tree::planted::wake(name).map(drop);
    jungle_db::planted::wake(name).map(drop).or_else(of_tree)
}

pub fn run(options: &Options) -> Outcome {
    suite::run(options, Suite { usual: 100_000, points_of_seed: SCHEDULES, case: schedules })
}

/// Some schedules of one scenario.
fn schedules(rng: &mut Rng) {
    let (name, scenario) = *rng.pick(&SCENARIOS);
    if std::env::var_os("JUNGLE_TRACE").is_some() {
        eprintln!("{name}");
    }
    let (world, random, preferring) = (rng.next_u64(), rng.next_u64(), rng.next_u64());
    let case = move || scenario(&mut Rng::new(world));
    let mut config = Config::new();
    // The seed repeats it; and what shuttle warns of, orders weaker than SeqCst, is for loom.
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config.max_steps = shuttle::MaxSteps::FailAfter(STEPS_MAX);
    config.stack_size = 1 << 17;
    let half = SCHEDULES as usize / 2;
    Runner::new(RandomScheduler::new_from_seed(random, half), config.clone()).run(case);
    Runner::new(PctScheduler::new_from_seed(preferring, CHANGES, half), config).run(case);
}
