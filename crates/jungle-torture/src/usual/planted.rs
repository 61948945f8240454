//! Do the suites see what they are there to see? Each planted bug is woken in a process of its
//! own, where one of them must fail.

use std::cmp::Reverse;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::planted::Bug as ClusterBug;
use jungle_db::planted::Bug as DbBug;
use jungle_store::planted::Bug as StoreBug;
use jungle_tree::planted::Bug as TreeBug;

use crate::options::Options;
use crate::suite::Outcome;
use crate::usual::store::{CALLS_OF_SEED, CRASHES_OF_SEED, syncs};

/// From where the bugs are looked for. Those that few points show would be missed on some days, if
/// each day had another seed: that says nothing of the suite that looks for them on all days.
pub const SEED: u64 = 20_780_000_000;

/// So long a suite may look for a bug. One that goes on for longer has not said that it found it.
const PATIENCE: Duration = Duration::from_secs(300);

/// A bug by its name, and the suite that looks for it, with the points it may take.
struct Planted {
    name: String,
    suite: &'static str,
    points: u64,
}

/// Bugs that are looked for once more, by the suites that see a real process from outside.
const FROM_OUTSIDE: [(StoreBug, &str, u64); 2] =
    [(StoreBug::AcknowledgedEarly, "syncs", 50), (StoreBug::TrimmedTooMuch, "kill", 200)];

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
    let of_cluster = ClusterBug::ALL.iter().map(|bug| (format!("{bug:?}"), "sim", 1_000));
    let from_outside = FROM_OUTSIDE.map(|(bug, suite, points)| (format!("{bug:?}"), suite, points));
    let all = of_tree.chain(of_db).chain(of_store).chain(of_cluster).chain(from_outside);
    all.map(|(name, suite, points)| Planted { name, suite, points }).collect()
}

/// Wakes the bug of this name, wherever it is planted.
pub fn wake(name: &str) -> Option<()> {
    let of_tree = || jungle_tree::planted::wake(name).map(drop);
    let of_store = || jungle_store::planted::wake(name).map(drop);
    let of_cluster = || jungle_cluster::planted::wake(name).map(drop);
    let of_db = jungle_db::planted::wake(name).map(drop);
    of_db.or_else(of_tree).or_else(of_store).or_else(of_cluster)
}

/// The suite that looks for a bug of the store, and the points it may take.
fn of_store(bug: StoreBug) -> (&'static str, u64) {
    match bug {
        StoreBug::SyncRetried | StoreBug::DoubtfulNotRewritten => ("io", 50 * CALLS_OF_SEED),
        StoreBug::UnfinishedPagesKept => ("io", 150 * CALLS_OF_SEED),
        StoreBug::ChecksumIgnored
        | StoreBug::ChainIgnored
        | StoreBug::DamageTakenForTear
        | StoreBug::UnsyncedTakenForTear => ("rot", 300 * 40),
        StoreBug::OldFilesStay => ("erase", 5_600),
        StoreBug::LengthBelieved => ("fuzz", 60_000),
        StoreBug::RetentionForgotten | StoreBug::BackupEndsEarly => ("meta", 600),
        // One crash in ten thousand and more shows some.
        _ => ("crash", 150 * CRASHES_OF_SEED),
    }
}

pub fn run(options: &Options) -> Outcome {
    let (mut bugs, mut skipped) = (all(), 0);
    println!("planted: {} points from seed {}", bugs.len(), options.seed);
    if !syncs::can_be_counted() {
        let before = bugs.len();
        bugs.retain(|bug| bug.suite != "syncs");
        skipped = (before - bugs.len()) as u64;
        println!("planted: SKIPPED, nobody looks for {skipped}, since there is no strace");
    }
    // Those first that may take longest, so that no thread waits for another one's last.
    bugs.sort_by_key(|bug| Reverse(bug.points));
    let outcome = Mutex::new(Outcome { skipped, ..Outcome::default() });
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                while let Some(bug) = bugs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let is_found = is_found(options, bug);
                    let mut outcome = outcome.lock().expect("nothing panics while it is held");
                    outcome.passed += u64::from(is_found);
                    outcome.failed += u64::from(!is_found);
                }
            });
        }
    });
    outcome.into_inner().expect("nothing panicked while it was held")
}

/// Does a suite find a bug? Says so.
fn is_found(options: &Options, bug: &Planted) -> bool {
    let begun = Instant::now();
    let verdict = look(options, bug);
    let seconds = begun.elapsed().as_secs_f64();
    let Planted { name, suite, points } = bug;
    if let Verdict::Found = verdict {
        println!("{name:22} {suite:10} found in {seconds:5.1} s");
        return true;
    }
    let seed = options.seed;
    println!(
        "{name:22} {suite:10} NOT FOUND in {seconds:5.1} s: {verdict}\n  again: cargo xtask \
         torture {suite} --wake {name} --seed {seed} --points {points}"
    );
    false
}

/// What became of a suite with a bug awake.
enum Verdict {
    /// It says that points failed, and which.
    Found,
    Passed,
    /// It ended in some other way, which says nothing of the bug.
    Ended(ExitStatus),
    TimedOut,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Found => write!(f, "it failed"),
            Verdict::Passed => write!(f, "it passed"),
            Verdict::Ended(status) => write!(f, "it told of no failure and ended with {status}"),
            Verdict::TimedOut => write!(f, "it went on for {} s", PATIENCE.as_secs()),
        }
    }
}

/// Does the suite fail with the bug awake? (That it passes without is for the suite to say.)
fn look(options: &Options, bug: &Planted) -> Verdict {
    let program = match bug.suite {
        "shuttle" => options.shuttle_program.clone().expect("`cargo xtask torture` names it"),
        _ => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("jungle-torture")),
    };
    let (seed, points) = (options.seed.to_string(), bug.points.to_string());
    let mut child = Command::new(program)
        .args([bug.suite, "--seed", &seed, "--points", &points, "--wake", &bug.name])
        // As many bugs are looked for at a time as there are threads.
        .args(["--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started again");
    let stdout = child.stdout.take().expect("it was asked for");
    let (tell, told) = mpsc::channel();
    let listen = move || {
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        // Whoever waits may have gone.
        let _ = tell.send(lines.any(|line| tells_of_failure(&line)));
    };
    let listener = thread::spawn(listen);
    let told = told.recv_timeout(PATIENCE);
    if told != Ok(false) {
        child.kill().expect("the child is ours");
    }
    let status = child.wait().expect("the child is ours");
    listener.join().expect("listening does not panic");
    match told {
        Ok(true) => Verdict::Found,
        Ok(false) if status.success() => Verdict::Passed,
        Ok(false) => Verdict::Ended(status),
        Err(_) => Verdict::TimedOut,
    }
}

/// Does a suite tell how to see a failure again, or count one at its end?
fn tells_of_failure(line: &str) -> bool {
    let counted = || {
        let failed = line.split_once(" passed, ")?.1.split([' ', ',']).next()?;
        failed.parse::<u64>().ok().filter(|&failed| failed > 0)
    };
    line.starts_with("failed") && line.contains("; again: ") || counted().is_some()
}

#[cfg(test)]
mod tests {
    use super::tells_of_failure;

    #[test]
    fn only_what_a_suite_says_counts() {
        assert!(tells_of_failure("failed; again: cargo xtask torture crash --seed 5"));
        assert!(tells_of_failure("failed, it takes for ever; again: cargo xtask torture model"));
        assert!(tells_of_failure("3 passed, 1 failed, 2 skipped"));
        assert!(!tells_of_failure("3 passed, 0 failed"));
        assert!(!tells_of_failure("there is no suite `crash`"));
    }
}
