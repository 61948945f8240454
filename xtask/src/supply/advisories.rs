//! The lockfile against a snapshot of the RustSec advisories.

use std::fs;
use std::path::{Path, PathBuf};

use semver::{Version, VersionReq};

use super::{Looked, Package, allowed};
use crate::command::{command, need, run as run_command};
use crate::error::{Context, Result};

/// An advisory as the snapshot has it: a page whose head is TOML.
struct Advisory {
    id: String,
    title: String,
    kind: Kind,
    fixed_or_older: Vec<VersionReq>,
}

enum Kind {
    /// A vulnerability or unsoundness: fails.
    Defect,
    /// Unmaintained or a notice: told, fails nothing.
    Notice,
    /// Taken back by those who published it.
    Withdrawn,
}

/// Finds packages that an advisory touches which is not in the allow list.
pub fn look(packages: &[Package], archive: &Path) -> Result<Looked> {
    let folder = TemporaryFolder::new()?;
    need("xz", "xz-utils")?;
    let mut unpack = command("tar", ["-xJf"]);
    unpack.arg(archive).arg("-C").arg(&folder.0);
    run_command(unpack)?;
    let crates = crates_folder(&folder.0)?;
    let allowed = allowed()?;
    let mut used = vec![false; allowed.len()];
    let (mut read, mut defects) = (0, Vec::new());
    for package in packages {
        for advisory in advisories_of(&crates.join(&package.name))? {
            read += 1;
            if !advisory.touches(&package.version) {
                continue;
            }
            let told = format!(
                "{} {}: {}: {}",
                package.name, package.version, advisory.id, advisory.title
            );
            let exception = allowed.iter().position(|(subject, _)| *subject == advisory.id);
            match (advisory.kind, exception) {
                (Kind::Withdrawn, _) => {}
                (_, Some(at)) => used[at] = true,
                (Kind::Notice, None) => println!("note: {told}"),
                (Kind::Defect, None) => defects.push(told),
            }
        }
    }
    for ((subject, _), used) in allowed.iter().zip(used) {
        if subject.starts_with("RUSTSEC-") && !used {
            defects.push(format!("xtask/supply-allow.txt: {subject} is no longer needed"));
        }
    }
    println!(
        "advisories: {} packages, {read} advisories on them, {} apply",
        packages.len(),
        defects.len()
    );
    Ok(Looked { packages: packages.len(), defects })
}

/// The snapshot's folder with a folder for each crate, wherever in the archive it lies.
fn crates_folder(unpacked: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(unpacked).context("cannot read the unpacked advisories")?;
    let mut candidates = vec![unpacked.to_owned()];
    candidates.extend(entries.flatten().map(|entry| entry.path()));
    let found = candidates.into_iter().map(|folder| folder.join("crates")).find(|it| it.is_dir());
    found.context("the advisories' archive has no folder `crates`")
}

fn advisories_of(folder: &Path) -> Result<Vec<Advisory>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = entry.file_name();
            let text = fs::read_to_string(&path);
            let text = text.context(format!("cannot read {}", path.display()))?;
            found.push(parse(&text).context(format!("advisory {}", name.to_string_lossy()))?);
        }
    }
    Ok(found)
}

fn parse(text: &str) -> Result<Advisory> {
    let (_, rest) = text.split_once("```toml").context("it has no TOML head")?;
    let (head, body) = rest.split_once("```").context("its TOML head does not end")?;
    let head: toml::Table = head.parse().context("cannot read its TOML head")?;
    let advisory = head.get("advisory").context("it has no [advisory]")?;
    let id = advisory.get("id").and_then(toml::Value::as_str).context("it has no id")?;
    let title = body.lines().find_map(|line| line.strip_prefix("# "));
    let kind = match advisory.get("informational").and_then(toml::Value::as_str) {
        _ if advisory.get("withdrawn").is_some() => Kind::Withdrawn,
        Some("unmaintained" | "notice") => Kind::Notice,
        _ => Kind::Defect,
    };
    let mut fixed_or_older = Vec::new();
    for list in ["patched", "unaffected"] {
        let ranges = head.get("versions").and_then(|versions| versions.get(list));
        for range in ranges.and_then(toml::Value::as_array).into_iter().flatten() {
            let range = range.as_str().context("a version range is not text")?;
            fixed_or_older.push(range.parse().context(format!("version range {range}"))?);
        }
    }
    let title = title.unwrap_or("no title").trim().to_owned();
    Ok(Advisory { id: id.to_owned(), title, kind, fixed_or_older })
}

impl Advisory {
    fn touches(&self, version: &Version) -> bool {
        !self.fixed_or_older.iter().any(|range| range.matches(version))
    }
}

/// A folder that is removed again.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("jungle-advisories-{}", std::process::id()));
        fs::create_dir_all(&path).context(format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2000-0001\"\n[versions]\n\
        patched = [\">= 1.2.3\"]\nunaffected = [\"< 1.0.0\"]\n```\n\n# It breaks\n";

    #[test]
    fn advisory_touches_only_versions_between_unaffected_and_patched() {
        let advisory = parse(PAGE).expect("the page is whole");
        assert_eq!(advisory.title, "It breaks");
        for (version, touched) in [("0.9.0", false), ("1.0.0", true), ("1.2.3", false)] {
            let version = version.parse().expect("a version");
            assert_eq!(advisory.touches(&version), touched, "{version}");
        }
    }
}
