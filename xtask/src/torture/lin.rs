//! `torture lin`: histories of a cluster's registers, while servers of the engine are killed and
//! paused and our own leave and come again, checked for linearizability by porcupine; and, under
//! the same faults, what must hold of a bank, of a set, of reads of one order, and of watches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::built::Build;
use super::{noted, options};
use crate::command::{command, need, root, run as run_command, target_dir};
use crate::error::{Context, Result, fail};
use crate::nats;

pub const USAGE: &str = "torture lin [--schedules COUNT] [--seed SEED]";

/// Of 720 operations on registers and 900 others, in about fifteen seconds each.
const SCHEDULES: u64 = 10;

/// What is said of a read that lacks what was acknowledged before.
const MISSED: &str = "were acknowledged before this read began";

pub fn run(arguments: &[String]) -> Result<()> {
    let (mut schedules, mut seed) = (SCHEDULES, options::today());
    let numbers = &mut [("--schedules", &mut schedules), ("--seed", &mut seed)];
    options::read(arguments, USAGE, numbers)?;
    nats::run(&[])?;
    let checker = checker()?;
    let folder = emptied("histories")?;
    run_command(schedule(&["lin::", "invariants::"], &folder, schedules, seed, false)?)?;
    let mut checking = check(&checker, &folder)?;
    checking.env("LIN_SEED", seed.to_string());
    noted(checking)?;
    // A checker that finds nothing wrong with servers that read what is old finds nothing.
    let stale = emptied("stale")?;
    run_command(schedule(&["lin::"], &stale, 3, seed, true)?)?;
    match check(&checker, &stale)?.status() {
        Ok(status) if status.code() == Some(1) => {}
        other => {
            return fail(format!("stale reads were not found: the checker ended with {other:?}"));
        }
    }
    let mut missing = schedule(&["invariants::money"], &stale, 1, seed, true)?;
    let told = missing.output().context("cannot start the tests")?;
    match String::from_utf8_lossy(&told.stderr).contains(MISSED) {
        true => Ok(()),
        false => fail("nobody missed what stale reads do not show".to_owned()),
    }
}

/// A folder for histories, in which there is nothing.
pub fn emptied(name: &str) -> Result<PathBuf> {
    let folder = target_dir().join("lin").join(name);
    if folder.is_dir() {
        fs::remove_dir_all(&folder).context("cannot remove old histories")?;
    }
    fs::create_dir_all(&folder).context("cannot make a folder for histories")?;
    Ok(folder)
}

/// Checks the histories that tests have left in a folder, from the seed that they begin at.
pub fn check_tested(folder: &Path) -> Result<()> {
    let mut checking = check(&checker()?, folder)?;
    checking.env("LIN_SEED", "0");
    noted(checking)
}

/// Builds what checks, and tries it on histories of which the verdict is known.
fn checker() -> Result<PathBuf> {
    need("go", "golang-go")?;
    let source = root().join("xtask/lin");
    let program = target_dir().join("lin/lin");
    for arguments in [vec!["test", "./..."], vec!["build", "-o", text(&program)?, "."]] {
        let mut go = command("go", arguments);
        go.current_dir(&source);
        run_command(go)?;
    }
    Ok(program)
}

/// These tests, of which those of registers leave their histories in the folder.
fn schedule(
    tests: &[&str],
    folder: &Path,
    schedules: u64,
    seed: u64,
    reads_are_stale: bool,
) -> Result<Command> {
    let mut test = Build::Release.tests(tests)?;
    test.arg("--nocapture");
    test.env("CLUSTER_HISTORIES", folder).env("CLUSTER_SCHEDULES", schedules.to_string());
    test.env("CLUSTER_SEED", seed.to_string());
    if reads_are_stale {
        test.env("CLUSTER_STALE_READS", "1");
    }
    Ok(test)
}

fn check(checker: &Path, folder: &Path) -> Result<Command> {
    let files = fs::read_dir(folder).context("cannot list the histories")?;
    let files: Vec<PathBuf> = files.map_while(|file| Some(file.ok()?.path())).collect();
    if files.is_empty() {
        return fail("no history was written".to_owned());
    }
    Ok(command(checker, files))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the folder that is built into has no plain name")
}
