//! `track`, without valgrind: what it does, and what it says when it cannot.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{bench, text};

/// A record of this text; gives what `track` says of it where there is no valgrind.
fn refusal(name: &str, record: Option<&str>) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("track-{name}.tsv"));
    match record {
        Some(record) => fs::write(&file, record).unwrap(),
        None => _ = fs::remove_file(&file),
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_jungle-bench"));
    command.args(["track", "--file"]).arg(&file).env("PATH", env!("CARGO_TARGET_TMPDIR"));
    let output = command.output().unwrap();
    assert!(!output.status.success());
    text(&output.stderr)
}

const RECORD: &str = "build\tdev\ncompiler\trustc 1\ncounter\tvalgrind-3\nrevision\tabc\ncommit\t";

/// Whoever renames a workload, or takes one away, records that. One that is new is told of by
/// `track` until it is recorded.
#[test]
fn every_workload_is_right_and_none_that_is_recorded_is_gone() {
    let output = bench("track-work");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let record = fs::read_to_string(root.join("docs/measurements/track.tsv")).unwrap();
    let name = |line: &str| line.split('\t').next().unwrap().to_owned();
    let recorded = record.lines().filter(|line| !line.starts_with('#')).map(name);
    let recorded: Vec<String> = recorded.skip(4).collect();
    let done: Vec<String> = text(&output.stdout).lines().map(name).collect();
    let (done, new): (Vec<String>, Vec<String>) =
        done.into_iter().partition(|name| recorded.contains(name));
    assert_eq!(recorded, done, "besides {new:?}, which are not recorded");
}

#[test]
fn what_is_missing_is_told_with_how_to_get_it() {
    let said = refusal("no-valgrind", Some(&format!("{RECORD}1000\n")));
    assert!(said.contains("Debian's package is `valgrind`"), "{said}");
    let said = refusal("no-record", None);
    assert!(said.contains("`--record` makes it"), "{said}");
}

#[test]
fn a_record_that_is_wrong_is_told_with_its_line() {
    let said = refusal("wrong", Some(&format!("{RECORD}many\n")));
    assert!(said.contains("track-wrong.tsv, line 5: `many` is no number"), "{said}");
    assert!(said.contains("`--record` writes it anew"), "{said}");
}
