//! The command itself, on trees that are too small to measure anything.

#![allow(clippy::unwrap_used, reason = "the helpers are test code too")]

mod derived;
mod lab;
mod load;
mod track;

use std::path::Path;
use std::process::{Command, Output};

fn bench(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jungle-bench"));
    command.args(words.split(' ')).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs an experiment on our own system; gives the table and the rows.
fn run(experiment: &str) -> (String, Vec<serde_json::Value>) {
    let json = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{experiment}.jsonl"));
    let words = format!(
        "{experiment} --quick --tiny --rounds 2 --tasks 3 --threads 1,2 --systems jungle --json {}",
        json.display()
    );
    let output = bench(&words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "progress is for a terminal");
    let rows = std::fs::read_to_string(&json).unwrap();
    let rows = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (text(&output.stdout), rows)
}

#[test]
fn read_is_measured_and_judged() {
    let (table, rows) = run("read");
    for case in ["count", "visit", "visit-attribute", "visit-aged", "summary"] {
        assert!(table.contains(&format!("read {case} ")), "{table}");
        let of_case: Vec<_> = rows.iter().filter(|row| row["case"] == case).collect();
        assert_eq!(of_case.len(), 2, "one for each number of threads");
        for row in of_case {
            assert_eq!(row["samples"].as_array().unwrap().len(), 2);
            assert!(row["value"].as_f64().unwrap() > 0.0);
            assert_eq!((&row["system"], &row["unit"]), (&"jungle".into(), &"1/s".into()));
        }
    }
    assert!(table.contains("× 1 thread"), "{table}");
    assert!(table.trim_end().ends_with("bars passed"), "{table}");
}

#[test]
fn every_experiment_checks_its_result() {
    let of_trees = ["write", "point", "memory", "wide", "diff", "merge", "hot", "revisions"];
    let of_folders = ["commit", "flat", "open", "reclaim", "store-peers"];
    for experiment in of_trees.into_iter().chain(of_folders) {
        let (table, rows) = run(experiment);
        assert!(!rows.is_empty(), "{table}");
    }
}

/// Its other half needs the server, and the systems beside it are only there if they are named.
#[test]
fn neighbours_hold_what_was_committed() {
    let output =
        bench("neighbours --quick --tiny --rounds 1 --tasks 3 --systems jungle --case embedded");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    let commit = ["commit", "commit-p50", "commit-p99", "floor"];
    let others = ["load", "read", "read-old", "diff", "folder", "growth"];
    for case in commit.into_iter().chain(others) {
        assert!(table.contains(&format!("neighbours embedded-{case} ")), "{table}");
    }
}

/// The process that is killed is this command, too.
#[test]
fn what_was_acknowledged_outlives_a_kill() {
    let output = bench("sample workloads kill --tiny --quick --seed 3");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sample: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&sample["check"], &sample["operations"]), (&"ok".into(), &2.into()));
    assert!(sample["value"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_an_interrupted_run_has_left_is_swept() {
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let beside = Path::new(env!("CARGO_BIN_EXE_jungle-bench")).parent().unwrap();
    let of = |process: u32| beside.join(format!("bench-left-over-{process}"));
    let [gone, there] = [of(ended.id()), of(std::process::id())];
    for folder in [&gone, &there] {
        std::fs::create_dir_all(folder.join("log")).unwrap();
    }
    bench("tea --systems jungle");
    assert!(!gone.exists() && there.exists());
    std::fs::remove_dir_all(there).unwrap();
}

#[test]
fn an_unknown_experiment_is_told() {
    let output = bench("tea --systems jungle");
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("there is no experiment `tea`"));
}
