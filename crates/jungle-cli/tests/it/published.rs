//! Real input: published versions of a large document, fetched from the package registry of this
//! machine, into a folder and through everything one can do with it.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Ended, Folder};

const PACKAGE: &str = "@mdn/browser-compat-data";

#[test]
fn published_versions_are_kept_compared_backed_up_and_restored() {
    if !registry_answers() {
        // Past the test harness, which keeps what a passing test prints.
        let skip = "!! SKIPPED: published.rs: npm does not answer";
        let _ = Command::new("sh").args(["-c", &format!("echo '{skip}' >&2")]).status();
        return;
    }
    // What was fetched is kept for the next run.
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("published");
    let folder = ManuallyDrop::new(Folder(place));
    std::fs::create_dir_all(&folder.0).unwrap();
    for old in ["jungle", "copy", "again"] {
        let _ = std::fs::remove_dir_all(folder.0.join(old));
    }
    let demo = run(&folder, &["demo", "--versions", "2", "--dir", ".", "--json"]);
    let rows: Vec<Value> =
        demo.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2, "{}", demo.err);
    let version = |row: usize| rows[row]["version"].as_str().unwrap();
    let (a, b) = (version(0), version(1));

    // Both come out as they went in, but for the order of members.
    for version in [a, b] {
        let file = folder.0.join(format!("{version}.json"));
        let told = std::fs::read_to_string(file).unwrap();
        let got = run(&folder, &["export", "jungle", "compat", "--at", version]).out;
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(parse(&told) == parse(&got), "{version} is another after import and export");
    }
    let changes = run(&folder, &["diff", "jungle", "compat", a, b, "--json"]).out;
    let files = run(&folder, &["diff", &format!("{a}.json"), &format!("{b}.json"), "--json"]).out;
    assert!(!changes.is_empty() && changes == files, "{changes}");
    let found = run(&folder, &["find", "jungle", "compat", "name = Firefox", "--limit", "3"]);
    assert!(found.out.contains("/browsers/firefox\n"), "{}", found.out);

    run(&folder, &["backup", "jungle", "copy"]);
    run(&folder, &["put", "jungle", "compat", "/note", "1"]);
    run(&folder, &["backup", "jungle", "copy"]);
    assert!(run(&folder, &["verify", "copy"]).out.starts_with("whole, up to revision 6\n"));
    run(&folder, &["restore", "copy", "again"]);
    let again = run(&folder, &["stat", "again", "compat", "--json"]).out;
    assert_eq!(again, run(&folder, &["stat", "jungle", "compat", "--json"]).out);
    let bytes: u64 = rows.iter().map(|row| row["file_bytes"].as_u64().unwrap()).sum();
    assert!(rows[1]["log_bytes"].as_u64().unwrap() < bytes);
}

fn registry_answers() -> bool {
    let view = Command::new("npm")
        .args(["view", PACKAGE, "version", "--fetch-retries=0", "--fetch-timeout=20000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    view.is_ok_and(|status| status.success())
}

#[track_caller]
fn run(folder: &Folder, args: &[&str]) -> Ended {
    let ended = folder.run(args);
    assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.err);
    ended
}
