//! Real input: published versions of a large document, fetched from the package registry of this
//! machine, into a folder and through everything one can do with it. What differs between two of
//! them is held against a diff that knows nothing of Jungle.
//! `cargo xtask torture published --versions N` takes more of them.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jungle_testkit::for_each_seed;
use serde_json::Value;

use crate::diff::{independent, told};
use crate::{Ended, Folder};

const PACKAGE: &str = "@mdn/browser-compat-data";

/// How many versions. Who asks for some gets them, or a failure; who does not gets a few, or none
/// where npm does not answer.
const VERSIONS: &str = "JUNGLE_VERSIONS";
const VERSIONS_USUAL: usize = 5;

/// How many pairs of versions are compared besides the first and the last, each both ways.
const PAIRS: u64 = 2;

/// Of the log, each of the 50 versions up to 8.1.9 took at most 9.6 % of what the first took, and
/// 1.2 % in the middle; of memory 1.5 % on average. One kept as a copy would take all of it.
const ONE_AT_MOST: f64 = 0.25;
const ALL_ON_AVERAGE_AT_MOST: f64 = 0.08;

#[test]
fn published_versions_are_kept_compared_backed_up_and_restored() {
    let count = match std::env::var(VERSIONS) {
        Ok(count) => count.parse().expect("a number"),
        Err(_) if registry_answers() => VERSIONS_USUAL,
        Err(_) => {
            // Past the test harness, which keeps what a passing test prints.
            let skip = "!! SKIPPED: published.rs: npm does not answer";
            let _ = Command::new("sh").args(["-c", &format!("echo '{skip}' >&2")]).status();
            return;
        }
    };
    // What was fetched is kept for the next run.
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("published");
    let folder = ManuallyDrop::new(Folder(place));
    std::fs::create_dir_all(&folder.0).unwrap();
    for old in ["jungle", "copy", "again"] {
        let _ = std::fs::remove_dir_all(folder.0.join(old));
    }
    let demo = ["demo", "--versions", &count.to_string(), "--dir", ".", "--json"];
    let demo = run(&folder, &demo);
    let mut rows: Vec<Value> =
        demo.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sizes = rows.pop().unwrap();
    assert_eq!(rows.len(), count, "{}", demo.err);
    let files: u64 = rows.iter().map(|row| row["file_bytes"].as_u64().unwrap()).sum();
    assert_eq!(sizes["file_bytes"], files);
    assert!(sizes["folder_bytes"].as_u64().unwrap() > 0, "{sizes}");
    let versions: Vec<&str> = rows.iter().map(|row| row["version"].as_str().unwrap()).collect();

    each_costs_what_it_changed(&rows, "log_bytes");
    each_costs_what_it_changed(&rows, "memory_bytes");
    for version in &versions {
        let got = run(&folder, &["get", "jungle", "compat", "/__meta/version", "--at", version]);
        assert_eq!(got.out.trim(), format!("{version:?}"));
    }
    differences_are_those_of_the_documents(&folder, &versions);
    let found = run(&folder, &["find", "jungle", "compat", "name = Firefox", "--limit", "3"]);
    assert!(found.out.contains("/browsers/firefox\n"), "{}", found.out);

    run(&folder, &["backup", "jungle", "copy"]);
    run(&folder, &["put", "jungle", "compat", "/note", "1"]);
    run(&folder, &["backup", "jungle", "copy"]);
    let whole = format!("whole, up to revision {}\n", 2 * count + 2);
    assert!(run(&folder, &["verify", "copy"]).out.starts_with(&whole));
    run(&folder, &["restore", "copy", "again"]);
    assert_eq!(hashes(&folder, "again", &versions), hashes(&folder, "jungle", &versions));
}

/// What each version comes to, with its hash. One process asks for all: what they share is loaded
/// and hashed once.
fn hashes(folder: &Folder, dir: &str, versions: &[&str]) -> Vec<(String, String)> {
    let ask = |version| format!("stat compat --at {version} --json\n");
    let asked: String = versions.iter().map(ask).collect();
    let ended = folder.run_with_input(&["shell", dir], &asked);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let told: Vec<&str> = ended.out.lines().collect();
    assert_eq!(told.len(), versions.len(), "{}", ended.err);
    versions.iter().zip(told).map(|(version, told)| (version.to_string(), told.into())).collect()
}

/// What is in two versions is kept once.
#[track_caller]
fn each_costs_what_it_changed(rows: &[Value], of: &str) {
    let bytes: Vec<f64> = rows.iter().map(|row| row[of].as_f64().unwrap()).collect();
    let first = bytes[0];
    for (at, pair) in bytes.windows(2).enumerate() {
        let part = (pair[1] - pair[0]) / first;
        assert!(part < ONE_AT_MOST, "{part} of the first {of}: {}", rows[at + 1]);
    }
    let further = (bytes[bytes.len() - 1] - first) / first;
    let average = further / (bytes.len() - 1) as f64;
    assert!(average < ALL_ON_AVERAGE_AT_MOST, "{average} of the first {of} each");
    println!("{} versions: each further one took {average:.4} of the first {of}", rows.len());
}

/// The first and the last version, and some others, come out as they went in, and what differs
/// between them is what differs between the documents.
fn differences_are_those_of_the_documents(folder: &Folder, versions: &[&str]) {
    let last = versions.len() - 1;
    both_ways(folder, versions[0], versions[last]);
    for_each_seed(PAIRS.max(versions.len() as u64 / 5), |rng| {
        let a = rng.index(versions.len());
        let b = (a + 1 + rng.index(last)) % versions.len();
        both_ways(folder, versions[a], versions[b]);
    });
}

#[track_caller]
fn both_ways(folder: &Folder, a: &str, b: &str) {
    let (a, b) = ((a, document(folder, a)), (b, document(folder, b)));
    for ((a, before), (b, after)) in [(&a, &b), (&b, &a)] {
        let ours = told(&run(folder, &["diff", "jungle", "compat", a, b, "--json"]).out);
        let theirs = independent(before, after);
        let odd: Vec<_> = ours.symmetric_difference(&theirs).take(3).collect();
        assert!(odd.is_empty() && !ours.is_empty(), "{a} to {b}: {odd:?}");
    }
}

/// A version as it was published, which is what its tag has, but for the order of members.
fn document(folder: &Folder, version: &str) -> Value {
    let file = std::fs::read_to_string(folder.0.join(format!("{version}.json"))).unwrap();
    let document: Value = serde_json::from_str(&file).unwrap();
    let got = run(folder, &["export", "jungle", "compat", "--at", version]).out;
    let got: Value = serde_json::from_str(&got).unwrap();
    assert!(document == got, "{version} is another after import and export");
    document
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
