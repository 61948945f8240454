//! Counted from outside, with `strace`: each acknowledged commit was synced after its last write,
//! by exactly one sync, and each new name by a sync of its folder.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::child::{self, Folder};
use crate::options::Options;
use crate::suite::{Outcome, again_with};

const CALLS: &str = "trace=pwrite64,write,fdatasync,fsync,rename,renameat,renameat2";

pub fn run(options: &Options) -> Outcome {
    let is_there = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    if !is_there.is_ok_and(|status| status.success()) {
        println!("syncs: SKIPPED, there is no strace (Debian's package `strace` has it)");
        return Outcome { skipped: 1, ..Outcome::default() };
    }
    let commits = options.points(1_000);
    println!("syncs: {commits} points from seed {}", options.seed);
    let folder = Folder::new("syncs");
    let traced = folder.0.with_extension("trace");
    let inner = child::command("client", &folder.0, commits);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", CALLS, "-o"]).arg(&traced).arg(inner.get_program());
    strace.args(inner.get_args()).args(&options.wake).stdout(Stdio::null());
    let status = strace.status().expect("it was there a moment ago");
    let trace = std::fs::read_to_string(&traced).unwrap_or_default();
    let _ = std::fs::remove_file(&traced);
    let mut outcome = Outcome::default();
    let mut seen = Seen::default();
    for line in trace.lines() {
        match seen.line(line) {
            Ok(acknowledged) => outcome.passed += u64::from(acknowledged),
            Err(wrong) => {
                outcome.failed += 1;
                println!("{wrong}, at {line}");
            }
        }
    }
    if !status.success() || outcome.passed + outcome.failed < commits {
        outcome.failed += 1;
        println!("{} commits of {commits} were seen", outcome.passed);
    }
    if outcome.failed > 0 {
        println!("failed; again: {}", again_with(options, options.seed, commits));
    }
    println!("syncs: {} commits, {} new segments", outcome.passed, seen.renames);
    outcome
}

/// What was seen since the last acknowledgement.
#[derive(Default)]
struct Seen {
    /// Files that were written to, and not synced since; folders likewise.
    unsynced: BTreeSet<String>,
    writes: u64,
    syncs: u64,
    renames: u64,
    renamed: bool,
}

impl Seen {
    /// Takes in a call; `true` when it acknowledges a commit.
    fn line(&mut self, line: &str) -> Result<bool, String> {
        let call = line.split_once(' ').map_or("", |(_, call)| call.trim_start());
        let Some((name, arguments)) = call.split_once('(') else {
            return Ok(false);
        };
        let file = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        let file = file.map_or("", |(file, _)| file);
        let is_segment = file.ends_with(".log");
        let succeeded = call.ends_with("= 0");
        match name {
            "pwrite64" => {
                self.unsynced.insert(file.to_owned());
                self.writes += u64::from(is_segment);
            }
            "fdatasync" if succeeded => {
                self.unsynced.remove(file);
                self.syncs += u64::from(is_segment);
            }
            "fsync" if succeeded => drop(self.unsynced.remove(file)),
            "rename" | "renameat" | "renameat2" => {
                let folder = arguments.split('"').nth(3).and_then(|to| to.rsplit_once('/'));
                self.unsynced.insert(folder.map_or("", |(folder, _)| folder).to_owned());
                self.renames += 1;
                self.renamed = true;
            }
            "write" if arguments.contains("\"acknowledged ") => return self.acknowledged(),
            _ => {}
        }
        Ok(false)
    }

    fn acknowledged(&mut self) -> Result<bool, String> {
        // What is filled ahead is nobody's data yet.
        self.unsynced.retain(|file| !file.ends_with("/next"));
        let counts = (self.writes, self.syncs);
        let renamed = std::mem::take(&mut self.renamed);
        (self.writes, self.syncs) = (0, 0);
        if let Some(file) = self.unsynced.pop_first() {
            return Err(format!("{file} was not synced"));
        }
        if counts != (1, 1) && !renamed {
            return Err(format!("{counts:?} writes and syncs for one commit"));
        }
        Ok(true)
    }
}
