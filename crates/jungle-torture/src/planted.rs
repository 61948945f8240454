//! Do the suites see what they are there to see? Each planted bug is woken in a process of its
//! own, where one of them must fail.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jungle_store::planted::Bug as StoreBug;
use jungle_tree::planted::Bug;

use crate::options::Options;
use crate::suite::Outcome;

/// A bug may also make a suite go on for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// The suites that look for a bug, and how many cases they may take.
fn suites(bug: Bug) -> &'static [(&'static str, u64)] {
    match bug {
        Bug::MergeTakesSides => &[("converge", 300)],
        _ => &[("model", 500)],
    }
}

/// Likewise for the bugs of the store.
fn store_suites(bug: StoreBug) -> &'static [(&'static str, u64)] {
    match bug {
        StoreBug::SyncRetried | StoreBug::DoubtfulNotRewritten => &[("io", 50)],
        StoreBug::ChecksumIgnored | StoreBug::ChainIgnored | StoreBug::DamageTakenForTear => {
            &[("rot", 300)]
        }
        _ => &[("crash", 50)],
    }
}

pub fn run(options: &Options) -> Outcome {
    let mut outcome = Outcome::default();
    for bug in Bug::ALL {
        look_for(options, &format!("{bug:?}"), suites(bug), &mut outcome);
    }
    for bug in StoreBug::ALL {
        look_for(options, &format!("{bug:?}"), store_suites(bug), &mut outcome);
    }
    outcome
}

/// Looks for one bug with the suites that should see it.
fn look_for(options: &Options, name: &str, suites: &[(&str, u64)], outcome: &mut Outcome) {
    let begun = Instant::now();
    let found = suites.iter().find(|(suite, cases)| is_red(options, name, suite, *cases));
    let seconds = begun.elapsed().as_secs_f64();
    match found {
        Some((suite, _)) => {
            outcome.passed += 1;
            println!("{name:22} {suite:10} found in {seconds:5.1} s");
        }
        None => {
            outcome.failed += 1;
            println!("{name:22} {:10} NOT FOUND in {seconds:5.1} s", "");
            let (suite, cases) = suites[0];
            let seed = options.seed;
            println!(
                "  again: cargo run --release -p jungle-torture -- {suite} --wake {name} \
                 --seed {seed} --cases {cases}"
            );
        }
    }
}

/// Does the suite fail with the bug awake? (That it passes without is for the suite to say.)
fn is_red(options: &Options, name: &str, suite: &str, cases: u64) -> bool {
    let program = std::env::current_exe().expect("this program has a file");
    let (seed, cases) = (options.seed.to_string(), cases.to_string());
    let mut child = Command::new(program)
        .args([suite, "--seed", &seed, "--cases", &cases, "--wake", name])
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
