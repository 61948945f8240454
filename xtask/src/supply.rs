//! `supply`: what is known to be wrong with the packages in the lockfile, and their licences.

mod advisories;
mod licences;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::command::{cargo, output, root};
use crate::error::{Context, Result, fail};
use crate::steps::Steps;

/// Where the snapshot of the RustSec advisories lies unless the caller says otherwise: beside the
/// checkout, because it is data and not part of it.
const ADVISORIES: &str = "../shared/data/advisory-db.tar.xz";

/// A package that comes from a registry.
struct Package {
    name: String,
    version: semver::Version,
}

pub fn run(arguments: &[String]) -> Result<()> {
    let archive = match arguments {
        [] => None,
        [flag, file] if flag == "--advisories" => {
            let here = std::env::current_dir().context("cannot tell the current folder")?;
            let archive = here.join(file);
            if !archive.is_file() {
                return fail(format!("there is no file {}", archive.display()));
            }
            Some(archive)
        }
        _ => return fail("usage: cargo xtask supply [--advisories FILE.tar.xz]"),
    };
    let mut steps = Steps::new("supply");
    all(&mut steps, archive)?;
    steps.finish();
    Ok(())
}

/// The steps of `supply`. Without the snapshot at its usual place the advisories are skipped; a
/// snapshot that the caller named must be there.
pub fn all(steps: &mut Steps, archive: Option<PathBuf>) -> Result<()> {
    steps.step("licences", || licences::check(&metadata(&["--filter-platform", &host()?])?))?;
    let usual = root().join(ADVISORIES);
    if archive.is_none() && !usual.is_file() {
        steps.skip("advisories", "no snapshot of them; name one with `--advisories FILE.tar.xz`");
        return Ok(());
    }
    let archive = archive.unwrap_or(usual);
    steps.step("advisories", || advisories::check(&locked_packages()?, &archive))
}

/// What cargo knows of this workspace.
pub fn metadata(arguments: &[&str]) -> Result<Value> {
    let mut command = cargo(["metadata", "--format-version", "1"]);
    command.args(arguments);
    serde_json::from_str(&output(command)?).context("cannot read cargo's metadata")
}

/// Every package of the lockfile that is not our own.
fn locked_packages() -> Result<Vec<Package>> {
    let lockfile: toml::Table = read("Cargo.lock")?.parse().context("Cargo.lock")?;
    let packages = lockfile.get("package").and_then(toml::Value::as_array);
    let mut found = Vec::new();
    for package in packages.context("Cargo.lock lists no packages")? {
        if package.get("source").is_none() {
            continue;
        }
        let field = |name| package.get(name).and_then(toml::Value::as_str).unwrap_or_default();
        let version = field("version").parse();
        let version = version.context(format!("Cargo.lock: version of {}", field("name")))?;
        found.push(Package { name: field("name").to_owned(), version });
    }
    Ok(found)
}

/// The exceptions in `xtask/supply-allow.txt`: a subject and the reason for it, one a line.
fn allowed() -> Result<Vec<(String, String)>> {
    let text = read("xtask/supply-allow.txt")?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (subject, reason) =
                line.split_once(' ').context("xtask/supply-allow.txt: no reason")?;
            Ok((subject.to_owned(), reason.trim().to_owned()))
        })
        .collect()
}

/// What cargo builds for here.
pub fn host() -> Result<String> {
    let version = output(crate::command::command("rustc", ["-vV"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name its host")?.to_owned())
}

fn read(path: &str) -> Result<String> {
    let path: PathBuf = root().join(path);
    fs::read_to_string(&path).context(format!("cannot read {}", path.display()))
}
