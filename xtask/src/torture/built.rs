//! Which build of the tests of `jungle-cluster` a suite runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command::{cargo, cargo_at_once, command, output};
use crate::error::{Context, Result};

const RELEASE: [&str; 8] =
    ["test", "--release", "--quiet", "-p", "jungle-cluster", "--test", "it", "--"];

#[derive(Clone, Copy)]
pub enum Build {
    /// One of its own, in release.
    Release,
    /// The one that `test` has made: nothing is built once more.
    Tested,
}

impl Build {
    /// Those tests that these words name.
    pub fn tests(self, words: &[&str]) -> Result<Command> {
        let mut tests = match self {
            Build::Release => cargo(RELEASE),
            Build::Tested => command(tested()?, [""; 0]),
        };
        tests.args(words);
        Ok(tests)
    }
}

/// Where cargo has put them.
fn tested() -> Result<PathBuf> {
    let all = ["test", "--workspace", "--all-features", "--no-run", "--message-format", "json"];
    let told = output(cargo_at_once(all))?;
    let mut built = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = built.find_map(|it| {
        let manifest = Path::new(it["manifest_path"].as_str()?);
        let is_it = manifest.ends_with("jungle-cluster/Cargo.toml") && it["target"]["name"] == "it";
        is_it.then(|| it["executable"].as_str().map(PathBuf::from))?
    });
    program.context("cargo does not tell where the tests of `jungle-cluster` are")
}
