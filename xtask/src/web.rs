//! `web`: the explorer, from `web/explorer` into the files that the server embeds.
//!
//! Who builds Jungle needs no Node: what it makes is in the repository, and `test` proves that it
//! is what the sources make.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{command, need, root, run as run_command, target_dir};
use crate::error::{Context, Result, fail, no_arguments};
use crate::steps::Steps;

const SOURCES: &str = "web/explorer";
const BUILT: &str = "crates/jungle-server/assets/explorer";

/// Builds the explorer's files.
pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("web", arguments)?;
    install()?;
    run_command(npm(["run", "--silent", "build"]))
}

/// Unit tests, whether the files are current, and what people do, in a browser: that waits most of
/// the time, so it goes on beside what follows.
pub fn all(steps: &mut Steps) -> Result<()> {
    steps.step("explorer, packages", install)?;
    steps.step("explorer, unit tests", || run_command(npm(["run", "--silent", "test"])))?;
    steps.step("explorer, files are current", are_current)?;
    steps.step("explorer, a browser", || need("chromium", "chromium"))?;
    steps.begin("explorer, in a browser", browser())
}

fn install() -> Result<()> {
    need("npm", "npm")?;
    run_command(npm(["ci", "--no-audit", "--no-fund"]))
}

/// They are built elsewhere: to cargo, files that are written again are new, whatever is in them,
/// and all that embeds them would be built once more.
fn are_current() -> Result<()> {
    let made = target_dir().join("explorer");
    let mut build = npm(["run", "--silent", "build", "--", "--emptyOutDir", "--outDir"]);
    build.arg(&made);
    run_command(build)?;
    if files(&made)? == files(&root().join(BUILT))? {
        return Ok(());
    }
    fail(format!("{BUILT} is not what {SOURCES} makes: `cargo xtask web` makes it, commit that"))
}

/// The files of a folder by their names.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let listing = || format!("cannot list {}", folder.display());
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).context(listing())? {
        let path = entry.context(listing())?.path();
        let content = fs::read(&path).context(format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(name, content);
    }
    Ok(files)
}

/// Debian's Chromium against the real server, as the other tests have built it.
fn browser() -> Command {
    let mut tests = npm(["run", "--silent", "browser"]);
    tests.env("JUNGLE_COMMAND", target_dir().join("debug/jungle"));
    tests
}

fn npm<const N: usize>(arguments: [&str; N]) -> Command {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join(SOURCES));
    npm
}
