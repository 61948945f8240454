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

/// How many packages were looked at, and what is wrong with them.
struct Looked {
    packages: usize,
    defects: Vec<String>,
}

impl Looked {
    fn or_fail(self) -> Result<()> {
        if self.defects.is_empty() { Ok(()) } else { fail(self.defects.join("\n")) }
    }
}

pub fn run(arguments: &[String]) -> Result<()> {
    let archive = snapshot(arguments, "supply")?;
    let mut steps = Steps::new("supply");
    all(&mut steps, archive)?;
    steps.finish()
}

/// The snapshot that the caller names, which must be there.
fn snapshot(arguments: &[String], task: &str) -> Result<Option<PathBuf>> {
    match arguments {
        [] => Ok(None),
        [flag, file] if flag == "--advisories" => {
            let here = std::env::current_dir().context("cannot tell the current folder")?;
            let archive = here.join(file);
            if !archive.is_file() {
                return fail(format!("there is no file {}", archive.display()));
            }
            Ok(Some(archive))
        }
        _ => fail(format!("usage: cargo xtask {task} [--advisories FILE.tar.xz]")),
    }
}

/// The snapshot at its usual place, if it is there.
fn usual() -> Option<PathBuf> {
    Some(root().join(ADVISORIES)).filter(|archive| archive.is_file())
}

/// The steps of `supply`. Without a snapshot the advisories are skipped.
pub fn all(steps: &mut Steps, archive: Option<PathBuf>) -> Result<()> {
    steps.step("licences", || look_at_licences()?.or_fail())?;
    let Some(archive) = archive.or_else(usual) else {
        steps.skip("advisories", "no snapshot of them; name one with `--advisories FILE.tar.xz`");
        return Ok(());
    };
    steps.step("advisories", || advisories::look(&locked_packages()?, &archive)?.or_fail())
}

/// The same as a suite: each package is a point for its licence, and one for what is known to be
/// wrong with it. `say` is given each line.
pub fn suite(arguments: &[String], say: &mut dyn FnMut(&str)) -> Result<()> {
    let archive = snapshot(arguments, "torture supply")?;
    let packages = locked_packages()?;
    let mut looked = vec![look_at_licences()?];
    let mut skipped = 0;
    match archive.or_else(usual) {
        Some(archive) => looked.push(advisories::look(&packages, &archive)?),
        None => skipped = packages.len(),
    }
    let [begun, ended] = told(&looked, skipped);
    let defects: Vec<&String> = looked.iter().flat_map(|looked| &looked.defects).collect();
    say(&begun);
    for defect in &defects {
        say(defect);
    }
    say(&ended);
    if defects.is_empty() { Ok(()) } else { fail("failed; again: cargo xtask torture supply") }
}

/// What a suite says at its beginning and at its end.
fn told(looked: &[Looked], skipped: usize) -> [String; 2] {
    let points: usize = looked.iter().map(|looked| looked.packages).sum();
    let failed: usize = looked.iter().map(|looked| looked.defects.len()).sum();
    // Several things may be wrong with one package.
    let passed = points.saturating_sub(failed);
    let begun = format!("supply: {} points from seed 0", points + skipped);
    let ended = match skipped {
        0 => format!("{passed} passed, {failed} failed"),
        _ => format!("{passed} passed, {failed} failed, {skipped} skipped"),
    };
    [begun, ended]
}

fn look_at_licences() -> Result<Looked> {
    licences::look(&metadata(&["--filter-platform", &host()?])?)
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

#[cfg(test)]
mod tests {
    use super::{Looked, told};

    #[test]
    fn suite_counts_what_is_wrong_and_what_was_not_looked_at() {
        let looked = |packages, defects: &[&str]| Looked {
            packages,
            defects: defects.iter().map(|defect| (*defect).to_owned()).collect(),
        };
        let check = |looked: &[Looked], skipped, expected: [&str; 2]| {
            assert_eq!(told(looked, skipped), expected);
        };
        let whole = [looked(5, &[]), looked(4, &[])];
        check(&whole, 0, ["supply: 9 points from seed 0", "9 passed, 0 failed"]);
        let bad = [looked(5, &["a: its licence is none"]), looked(4, &["b: it breaks"])];
        check(&bad, 0, ["supply: 9 points from seed 0", "7 passed, 2 failed"]);
        check(&whole[..1], 4, ["supply: 9 points from seed 0", "5 passed, 0 failed, 4 skipped"]);
    }
}
