//! Rules for crates: who may use whom, how many packages, and one test binary each.

use std::collections::BTreeMap;
use std::fs;

use super::mask::mask;
use super::{File, Findings};
use crate::command::root;
use crate::error::{Context, Result};

/// Who may use whom, as ARCHITECTURE.md draws it: nothing points back. A crate that is not here
/// is refused, because a new arrow is a decision about the design.
const ARROWS: [(&str, &[&str]); 16] = [
    ("alice", &[]),
    ("alice-nats", &["alice"]),
    ("jungle-testkit", &[]),
    ("jungle-tree", &[]),
    ("jungle-db", &["jungle-tree"]),
    ("jungle-json", &["jungle-tree"]),
    ("jungle-store", &["jungle-db", "jungle-tree"]),
    ("jungle-cluster", &["jungle-store", "jungle-db", "jungle-tree"]),
    ("jungle", &["jungle-store", "jungle-db", "jungle-tree", "jungle-json"]),
    ("jungle-words", &["jungle-db", "jungle-tree", "jungle-json"]),
    ("jungle-formats", &["jungle-db", "jungle-tree", "jungle-json", "jungle-words"]),
    ("jungle-server", &["jungle", "jungle-cluster", "jungle-formats", "jungle-words"]),
    (
        "jungle-cli",
        &[
            "jungle",
            "jungle-store",
            "jungle-db",
            "jungle-tree",
            "jungle-json",
            "jungle-formats",
            "jungle-words",
            "jungle-server",
            "jungle-cluster",
            "alice",
            "alice-nats",
        ],
    ),
    ("jungle-bench", ALL),
    ("jungle-torture", ALL),
    ("xtask", &[]),
];

/// The whole product and the testkit, for the crates that measure and torture it.
const ALL: &[&str] = &[
    "alice",
    "alice-nats",
    "jungle",
    "jungle-server",
    "jungle-cluster",
    "jungle-store",
    "jungle-db",
    "jungle-tree",
    "jungle-json",
    "jungle-formats",
    "jungle-words",
    "jungle-testkit",
];

/// What every crate's tests may use beyond its arrows.
const FOR_TESTS: &str = "jungle-testkit";

/// `jungle-tree` is the foundation: what it needs, everybody needs.
const TREE_DEPENDENCIES_MAX: usize = 2;

pub fn check(files: &[File], findings: &mut Findings) -> Result<()> {
    for file in files.iter().filter(|file| is_member_manifest(&file.path)) {
        let manifest: toml::Table = file.text.parse().context(&file.path)?;
        arrows(file, &manifest, findings);
    }
    lockfile_budget(findings)?;
    test_modules(files, findings);
    Ok(())
}

fn is_member_manifest(path: &str) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    matches!(folders[..], ["xtask", "Cargo.toml"] | ["crates", _, "Cargo.toml"])
}

fn arrows(file: &File, manifest: &toml::Table, findings: &mut Findings) {
    let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
    let name = name.unwrap_or_default();
    if !file.path.ends_with(&format!("{name}/Cargo.toml")) {
        findings.at(&file.path, format!("the folder is not named like the crate, {name}"));
    }
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        let wrong = format!("crate {name} has no arrows: add it to xtask/src/tidy/crates.rs");
        return findings.at(&file.path, wrong);
    };
    for used in dependencies(manifest, "dev-dependencies") {
        if is_ours(&used) && used != FOR_TESTS && !allowed.contains(&used.as_str()) {
            findings.at(&file.path, format!("{name} must not use {used}, nor its tests"));
        }
    }
    let (ours, others): (Vec<String>, Vec<String>) = ["dependencies", "build-dependencies"]
        .iter()
        .flat_map(|section| dependencies(manifest, section))
        .partition(|used| is_ours(used));
    for used in ours.iter().filter(|used| !allowed.contains(&used.as_str())) {
        findings.at(&file.path, format!("{name} must not use {used}"));
    }
    if name == "jungle-tree" && others.len() > TREE_DEPENDENCIES_MAX {
        let wrong = format!("{} dependencies, of at most {TREE_DEPENDENCIES_MAX}", others.len());
        findings.at(&file.path, wrong);
    }
}

/// The names in a section of dependencies, those for some targets only too.
fn dependencies(manifest: &toml::Table, section: &str) -> Vec<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let by_target = targets.into_iter().flat_map(toml::Table::values);
    let sections = by_target.filter_map(|target| target.get(section)).chain(manifest.get(section));
    let names = sections.filter_map(toml::Value::as_table).flat_map(toml::Table::keys);
    names.cloned().collect()
}

fn is_ours(name: &str) -> bool {
    ARROWS.iter().any(|(ours, _)| *ours == name)
}

fn lockfile_budget(findings: &mut Findings) -> Result<()> {
    let read =
        |path: &str| fs::read_to_string(root().join(path)).context(format!("cannot read {path}"));
    let budget = read("xtask/lockfile-budget.txt")?;
    let budget: usize = budget.trim().parse().context("xtask/lockfile-budget.txt")?;
    let packages = read("Cargo.lock")?.lines().filter(|line| *line == "[[package]]").count();
    if packages > budget {
        findings.at("Cargo.lock", format!("{packages} packages, of at most {budget}"));
    }
    Ok(())
}

/// A file in `tests/it` that `main.rs` does not name would silently never run.
fn test_modules(files: &[File], findings: &mut Findings) {
    let mains: BTreeMap<&str, String> = files
        .iter()
        .filter_map(|file| Some((file.path.strip_suffix("tests/it/main.rs")?, mask(&file.text))))
        .collect();
    for file in files {
        let Some((crate_folder, rest)) = file.path.split_once("tests/it/") else {
            continue;
        };
        let Some(module) = rest.strip_suffix(".rs").filter(|name| !name.contains('/')) else {
            continue;
        };
        let named = mains.get(crate_folder).is_some_and(|main| {
            main.lines().any(|line| line.trim().ends_with(&format!("mod {module};")))
        });
        if module != "main" && !named {
            findings.at(&file.path, "tests/it/main.rs does not name this module: it never runs");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect_arrows(name: &str, text: &str, wrong: &[&str]) {
        let text = format!("[package]\nname = \"{name}\"\n{text}");
        let file = File { path: format!("crates/{name}/Cargo.toml"), text };
        let manifest = file.text.parse().expect("a manifest");
        let mut findings = Findings(Vec::new());
        arrows(&file, &manifest, &mut findings);
        let wrong: Vec<String> =
            wrong.iter().map(|wrong| format!("{}: {wrong}", file.path)).collect();
        assert_eq!(findings.0, wrong);
    }

    #[test]
    fn arrows_that_point_back_are_found_in_every_section() {
        let back = ["jungle-tree must not use jungle-db"];
        expect_arrows("jungle-tree", "[dependencies]\njungle-db = \"1\"", &back);
        expect_arrows("jungle-tree", "[target.x.dependencies]\njungle-db = \"1\"", &back);
        expect_arrows("jungle-tree", "[dev-dependencies]\njungle-testkit = \"1\"", &[]);
        expect_arrows("jungle-db", "[dependencies]\njungle-tree = \"1\"", &[]);
    }

    #[test]
    fn third_dependency_of_the_tree_is_found() {
        let three = "[dependencies]\na = \"1\"\nb = \"1\"\nc = \"1\"";
        expect_arrows("jungle-tree", three, &["3 dependencies, of at most 2"]);
        expect_arrows("jungle-db", three, &[]);
    }

    #[test]
    fn test_file_that_never_runs_is_found() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let files = [
            file("crates/a/tests/it/main.rs", "mod one;\n// mod two;\n"),
            file("crates/a/tests/it/one.rs", ""),
            file("crates/a/tests/it/two.rs", ""),
        ];
        let mut findings = Findings(Vec::new());
        test_modules(&files, &mut findings);
        assert_eq!(findings.0.len(), 1);
        assert!(findings.0[0].starts_with("crates/a/tests/it/two.rs"));
    }
}
