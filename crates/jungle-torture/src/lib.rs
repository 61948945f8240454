//! `cargo xtask torture SUITE`: the long suites. The last line of each is `N passed, N failed`; a
//! failure prints the command that repeats it.
//!
//! The suite `shuttle` is alone in a build of its own (`--cfg shuttle`), which has nothing else in
//! it, so that it is made quickly; all others are in the usual one.
//!
//! What the suite `fuzz` gives its inputs to is here for others, too: `cargo xtask fuzz` has
//! libFuzzer find them.

mod options;
mod patience;
#[cfg(shuttle)]
mod shuttle;
mod suite;
#[cfg(not(shuttle))]
mod usual;

use std::process::ExitCode;

use options::Options;
#[cfg(shuttle)]
use shuttle as build;
#[cfg(not(shuttle))]
use usual as build;

#[cfg(not(shuttle))]
pub use usual::{TARGETS, Target};

/// Runs the suite that the command line names.
pub fn run() -> ExitCode {
    let arguments = std::env::args().skip(1).peekable();
    #[cfg(not(shuttle))]
    let Some(arguments) = usual::unless_child(arguments) else { return ExitCode::SUCCESS };
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    let suite::Outcome { passed, failed, skipped } = build::run(&options);
    match skipped {
        0 => println!("{passed} passed, {failed} failed"),
        _ => println!("{passed} passed, {failed} failed, {skipped} skipped"),
    }
    let done = passed + skipped;
    if failed == 0 && done > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
