//! `check`: what every commit must pass.

use crate::command::{cargo, run as run_command};
use crate::error::{Result, no_arguments};
use crate::steps::Steps;
use crate::tidy;

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("check", arguments)?;
    let mut steps = Steps::new("check");
    all(&mut steps)?;
    steps.finish()
}

/// The steps of `check`, the quickest first.
pub fn all(steps: &mut Steps) -> Result<()> {
    steps.step("tidy", || tidy::run(&[]))?;
    steps.step("format", || run_command(cargo(["fmt", "--all", "--check"])))?;
    steps.step("lints", || {
        let mut clippy = vec!["clippy", "--workspace", "--all-targets", "--all-features"];
        clippy.extend(["--", "-D", "warnings"]);
        run_command(cargo(clippy))
    })?;
    steps.step("docs", || {
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
        doc.env("RUSTDOCFLAGS", "-D warnings");
        run_command(doc)
    })
}
