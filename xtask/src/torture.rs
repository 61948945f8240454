//! `torture`: the long suites, which live in a crate of their own.

use crate::command::{cargo, root, run as run_command};
use crate::error::{Result, fail};

/// The suites that `test` runs, each small enough for that by its own defaults.
pub const SUITES: [&str; 9] =
    ["model", "converge", "shuttle", "crash", "io", "rot", "kill", "syncs", "planted"];

pub fn run(arguments: &[String]) -> Result<()> {
    if arguments.is_empty() {
        return fail(format!("no suite given; there are {}", SUITES.join(", ")));
    }
    let mut command = cargo(["run", "--release", "--quiet", "-p", "jungle-torture", "--"]);
    command.args(arguments);
    run_command(command)
}

/// Whether the crate with the suites is in this checkout.
pub fn is_there() -> bool {
    root().join("crates/jungle-torture").is_dir()
}
