//! Do the suites see what they are there to see? Each planted bug is woken in a process of its
//! own, where one of them must fail.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[cfg(not(shuttle))]
use jungle_cluster::planted::Bug as ClusterBug;
use jungle_db::planted::Bug as DbBug;
use jungle_store::planted::Bug as StoreBug;
use jungle_tree::planted::Bug as TreeBug;

use crate::options::Options;
use crate::store::{CALLS_OF_SEED, CRASHES_OF_SEED};
use crate::suite::Outcome;

/// From where the bugs are looked for. Those that few points show would be missed on some days, if
/// each day had another seed: that says nothing of the suite that looks for them on all days.
pub const SEED: u64 = 20_780_000_000;

/// A bug may also make a suite go on for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// A bug by its name, and the suite that looks for it, with the points it may take.
struct Planted {
    name: String,
    suite: &'static str,
    points: u64,
}

fn all() -> Vec<Planted> {
    let of_tree = TreeBug::ALL.iter().map(|bug| match bug {
        TreeBug::MergeTakesSides | TreeBug::ConflictForgotten => {
            (format!("{bug:?}"), "converge", 300)
        }
        TreeBug::UnloadedIsDead => (format!("{bug:?}"), "meta", 600),
        _ => (format!("{bug:?}"), "model", 500),
    });
    let of_db = DbBug::ALL.iter().map(|bug| match bug {
        DbBug::RebaseDropsReads
        | DbBug::AppendSkipped
        | DbBug::WatchSkips
        | DbBug::TagDropped
        | DbBug::TimeOffByOne
        | DbBug::RetentionOffByOne
        | DbBug::IndexStays
        | DbBug::MergeBaseForgotten => (format!("{bug:?}"), "model", 500),
        _ => (format!("{bug:?}"), "shuttle", 20_000),
    });
    let of_store = StoreBug::ALL.iter().map(|bug| {
        let (suite, points) = of_store(*bug);
        (format!("{bug:?}"), suite, points)
    });
    let all = of_tree.chain(of_db).chain(of_store).chain(of_cluster());
    all.map(|(name, suite, points)| Planted { name, suite, points }).collect()
}

/// Wakes the bug of this name, wherever it is planted.
pub fn wake(name: &str) -> Option<()> {
    let of_tree = || jungle_tree::planted::wake(name).map(drop);
    let of_store = || jungle_store::planted::wake(name).map(drop);
    let of_db = jungle_db::planted::wake(name).map(drop);
    of_db.or_else(of_tree).or_else(of_store).or_else(|| wake_of_cluster(name))
}

/// The bugs of a cluster, of which the build for `shuttle` has none.
#[cfg(not(shuttle))]
fn of_cluster() -> impl Iterator<Item = (String, &'static str, u64)> {
    ClusterBug::ALL.iter().map(|bug| (format!("{bug:?}"), "sim", 1_000))
}

#[cfg(shuttle)]
fn of_cluster() -> impl Iterator<Item = (String, &'static str, u64)> {
    std::iter::empty()
}

#[cfg(not(shuttle))]
fn wake_of_cluster(name: &str) -> Option<()> {
    jungle_cluster::planted::wake(name).map(drop)
}

#[cfg(shuttle)]
fn wake_of_cluster(_: &str) -> Option<()> {
    None
}

/// The suite that looks for a bug of the store, and the points it may take.
fn of_store(bug: StoreBug) -> (&'static str, u64) {
    match bug {
        StoreBug::SyncRetried | StoreBug::DoubtfulNotRewritten => ("io", 50 * CALLS_OF_SEED),
        // One call in ten thousand shows it.
        StoreBug::UnfinishedPagesKept => ("io", 150 * CALLS_OF_SEED),
        StoreBug::ChecksumIgnored | StoreBug::ChainIgnored | StoreBug::DamageTakenForTear => {
            ("rot", 300 * 40)
        }
        StoreBug::OldFilesStay => ("erase", 5_600),
        StoreBug::LengthBelieved => ("fuzz", 12_000),
        StoreBug::RetentionForgotten | StoreBug::BackupEndsEarly => ("meta", 600),
        // One crash in ten thousand and more shows some.
        _ => ("crash", 150 * CRASHES_OF_SEED),
    }
}

pub fn run(options: &Options) -> Outcome {
    let mut outcome = Outcome::default();
    let bugs = all();
    println!("planted: {} points from seed {}", bugs.len(), options.seed);
    for bug in bugs {
        let begun = Instant::now();
        let found = is_red(options, &bug);
        let seconds = begun.elapsed().as_secs_f64();
        let Planted { name, suite, points } = bug;
        if found {
            outcome.passed += 1;
            println!("{name:22} {suite:10} found in {seconds:5.1} s");
        } else {
            outcome.failed += 1;
            println!("{name:22} {suite:10} NOT FOUND in {seconds:5.1} s");
            let seed = options.seed;
            println!(
                "  again: cargo xtask torture {suite} --wake {name} --seed {seed} --points {points}"
            );
        }
    }
    outcome
}

/// Does the suite fail with the bug awake? (That it passes without is for the suite to say.)
fn is_red(options: &Options, bug: &Planted) -> bool {
    let program = match bug.suite {
        "shuttle" => options.shuttle_program.clone().expect("`cargo xtask torture` names it"),
        _ => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("jungle-torture")),
    };
    let (seed, points) = (options.seed.to_string(), bug.points.to_string());
    let mut child = Command::new(program)
        .args([bug.suite, "--seed", &seed, "--points", &points, "--wake", &bug.name])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started again");
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            return !status.success();
        }
        if begun.elapsed() > PATIENCE {
            child.kill().and_then(|()| child.wait()).expect("the child is ours");
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
