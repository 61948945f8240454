//! Counted from outside, with `strace`, what was done before a commit was acknowledged. At level
//! `sync`: one write, and one sync after it. At `buffered`: one write, and no sync. At `memory`:
//! neither; closing does both. And each new name is synced with its folder, those of a folder that
//! is made before it is open; so is that of a folder that somebody else has made.

use std::path::Path;
use std::process::{Command, Stdio};

use jungle_store::{Durability, OpenOptions};

use super::child::{self, Folder, LEVELS};
use super::trace::{CALLS, Seen};
use crate::options::Options;
use crate::suite::{Outcome, again_with};

/// Is there what it is counted with?
pub fn can_be_counted() -> bool {
    let is_there = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    is_there.is_ok_and(|status| status.success())
}

pub fn run(options: &Options) -> Outcome {
    if !can_be_counted() {
        println!("syncs: SKIPPED, there is no strace (Debian's package `strace` has it)");
        return Outcome { skipped: 1, ..Outcome::default() };
    }
    let commits = options.points(1_000);
    let points = commits * LEVELS.len() as u64;
    println!("syncs: {points} points from seed {}", options.seed);
    let mut outcome = Outcome::default();
    for (name, level) in LEVELS {
        let Outcome { passed, failed, .. } = commit(options, (name, level), commits);
        outcome.passed += passed;
        outcome.failed += failed;
    }
    if outcome.failed > 0 {
        println!("failed; again: {}", again_with(options, options.seed, commits));
    }
    outcome
}

/// Commits in a process that is traced.
fn commit(options: &Options, (name, level): (&str, Durability), commits: u64) -> Outcome {
    let folder = Folder::new("syncs");
    if level == Durability::Buffered {
        std::fs::create_dir(&folder.0).expect("there is none of this name");
    }
    let traced = folder.0.with_extension("trace");
    let inner = child::command(name, &folder.0, commits);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", CALLS, "-o"]).arg(&traced).arg(inner.get_program());
    strace.args(inner.get_args()).args(&options.wake).stdout(Stdio::null());
    let status = strace.status().expect("it was there a moment ago");
    let trace = std::fs::read_to_string(&traced).unwrap_or_default();
    let _ = std::fs::remove_file(&traced);
    let mut outcome = Outcome::default();
    let mut wrong = |what: String| {
        outcome.failed += 1;
        println!("at level {name}: {what}");
    };
    let mut seen = Seen::new(&folder.0, level);
    for line in trace.lines() {
        if let Err(what) = seen.line(line) {
            wrong(format!("{what}, at {line}"));
        }
    }
    if let Err(what) = seen.closed() {
        wrong(what);
    }
    if !status.success() || seen.acknowledged != commits {
        wrong(format!("{} commits of {commits} were seen", seen.acknowledged));
    }
    if read(&folder.0) != commits as i64 {
        wrong("what was acknowledged is not there".to_owned());
    }
    outcome.passed = seen.acknowledged.saturating_sub(outcome.failed);
    println!("syncs: {} commits at level {name}, {} new names", outcome.passed, seen.names);
    outcome
}

/// How many commits are in a folder that was closed.
fn read(folder: &Path) -> i64 {
    let store = OpenOptions::new().read_only().open(folder).ok();
    let tree = store.as_ref().and_then(|store| store.open_tree("t").ok());
    tree.map_or(-1, |tree| child::count(&tree, child::CLIENT))
}
