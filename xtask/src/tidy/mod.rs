//! `tidy`: the rules of this repository that no other tool knows.
//!
//! Every rule reports all it finds; the task fails when anything was found. The exceptions are in
//! `xtask/tidy-allow.txt`, each with its reason.

mod allow;
mod crates;
mod locks;
mod map;
mod mask;
mod rust;
mod text;

use std::collections::BTreeSet;
use std::fs;

use crate::command::{command, output, root};
use crate::error::{Context, Result, fail, no_arguments};
use allow::Allow;

/// A file of the repository, tracked or about to be.
struct File {
    /// Below the root, with `/` between folders.
    path: String,
    text: String,
}

impl File {
    fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self.path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
        extension.is_some_and(|(_, found)| extensions.contains(&found))
    }
}

/// What a rule found: a place and what is wrong there.
struct Findings(Vec<String>);

impl Findings {
    /// Something wrong on one line, counted from 1.
    fn at_line(&mut self, path: &str, line: usize, wrong: impl AsRef<str>) {
        self.0.push(format!("{path}:{line}: {}", wrong.as_ref()));
    }

    /// Something wrong with a file as a whole.
    fn at(&mut self, path: &str, wrong: impl AsRef<str>) {
        self.0.push(format!("{path}: {}", wrong.as_ref()));
    }
}

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("tidy", arguments)?;
    let files = files()?;
    let mut findings = Findings(Vec::new());
    let mut allow = Allow::read(&root().join("xtask/tidy-allow.txt"))?;
    for file in &files {
        text::check(file, &mut findings);
        locks::check(file, &mut findings);
        if file.has_extension(&["rs"]) {
            rust::check(file, &mut allow, &mut findings);
        }
    }
    map::check(&files, &mut findings);
    crates::check(&files, &mut findings)?;
    allow.report_unused(&mut findings);
    println!("tidy: {} files, {} findings", files.len(), findings.0.len());
    if findings.0.is_empty() { Ok(()) } else { fail(findings.0.join("\n")) }
}

/// Every text file that git tracks or would, in order.
fn files() -> Result<Vec<File>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = output(command("git", arguments)).context("cannot list the files")?;
    let paths: BTreeSet<&str> = listed.split_terminator('\0').collect();
    let mut files = Vec::new();
    for path in paths {
        let full = root().join(path);
        if !full.is_file() {
            // Removed, and git does not know it yet.
            continue;
        }
        let bytes = fs::read(&full).context(format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File { path: path.to_owned(), text });
        }
    }
    Ok(files)
}
