//! `asan`: the tree's tests, and input from outside, under the address sanitizer.
//!
//! The arena's own reuse is invisible to the sanitizer, so freed payload is filled with a pattern
//! in these builds and the tests look for it; everything else around the `unsafe` code is watched.

use std::process::Command;

use crate::command::{cargo, run as run_command, target_dir};
use crate::error::{Result, fail};
use crate::torture;

/// The sanitizer needs a target named, and the switch that lets a stable compiler build with it.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

pub fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        return fail(format!("`asan` takes no arguments, not `{}`", arguments.join(" ")));
    }
    let mut tests = cargo(["test", "-p", "jungle-tree", "--lib", "--test", "it"]);
    watched(&mut tests);
    run_command(tests)?;
    if !torture::is_there() {
        return Ok(());
    }
    let mut fuzz = cargo(["run", "--quiet", "-p", "jungle-torture"]);
    watched(&mut fuzz);
    // What goes down by depth takes several times the stack.
    fuzz.env("RUST_MIN_STACK", STACK_BYTES);
    fuzz.args(["--", "fuzz", "--points", FUZZ_POINTS]);
    run_command(fuzz)
}

/// So many inputs: they take about ten times as long as in the suite.
const FUZZ_POINTS: &str = "5000";
const STACK_BYTES: &str = "33554432";

/// Has the sanitizer built in, in a folder of its own.
fn watched(cargo: &mut Command) {
    cargo.args(["--target", TARGET, "--target-dir"]).arg(target_dir().join("asan"));
    cargo.env("RUSTC_BOOTSTRAP", "1");
    cargo.env("RUSTFLAGS", "-Zsanitizer=address -Ctarget-cpu=x86-64-v2");
    // The arena lives as long as the process in some tests; leaks are not what is looked for.
    cargo.env("ASAN_OPTIONS", "detect_leaks=0");
}
