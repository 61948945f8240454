//! `track`: how many instructions a small set of workloads takes, beside what was recorded. What
//! differs is told, and is no failure.

use std::process::Command;

use crate::command::{cargo_at_once, command, need, output, run as run_command, target_dir};
use crate::error::Result;
use crate::steps::Steps;

/// Builds the program as the tests do, and runs it.
pub fn run(arguments: &[String]) -> Result<()> {
    need("valgrind", "valgrind")?;
    let build = ["build", "--workspace", "--all-features", "--bin", "jungle-bench"];
    run_command(cargo_at_once(build))?;
    let mut track = track();
    track.args(arguments);
    run_command(track)
}

/// As a step of a task whose tests have built the program: what stands out is said again in its
/// closing lines.
pub fn step(steps: &mut Steps) -> Result<()> {
    if let Err(error) = need("valgrind", "valgrind") {
        steps.skip("track", &error.to_string());
        return Ok(());
    }
    let mut told = String::new();
    steps.step("track", || {
        told = output(track())?;
        print!("{told}");
        Ok(())
    })?;
    told.lines()
        .filter_map(|line| line.strip_prefix("!! "))
        .for_each(|line| steps.tell("track", line));
    Ok(())
}

fn track() -> Command {
    command(target_dir().join("debug/jungle-bench"), ["track"])
}
