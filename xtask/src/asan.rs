//! `asan`: the tree's tests under the address sanitizer.
//!
//! The arena's own reuse is invisible to the sanitizer, so freed payload is filled with a pattern
//! in these builds and the tests look for it; everything else around the `unsafe` code is watched.

use crate::command::{cargo, run as run_command, target_dir};
use crate::error::{Result, fail};

/// The sanitizer needs a target named, and the switch that lets a stable compiler build with it.
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        return fail(format!("`asan` takes no arguments, not `{}`", arguments.join(" ")));
    }
    let mut command = cargo(["test", "-p", "jungle-tree", "--lib", "--test", "it"]);
    command.args(["--target", TARGET, "--target-dir"]).arg(target_dir().join("asan"));
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env("RUSTFLAGS", "-Zsanitizer=address -Ctarget-cpu=x86-64-v2");
    // The arena lives as long as the process in some tests; leaks are not what is looked for.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    run_command(command)
}
