//! The figures of the report in the documents, worked out a second time: from the raw files as
//! plain JSON, by code that shares nothing with the program's.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn report() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements/report")
}

#[test]
fn every_figure_follows_from_the_samples() {
    let page = fs::read_to_string(report().join("report.md")).unwrap();
    let mut checked = 0;
    for file in fs::read_dir(report().join("raw")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let raw: Value = serde_json::from_str(&text).unwrap();
        // What torture suites counted has none.
        let Some(rows) = raw["rows"].as_array() else { continue };
        let table = table(&page, text_of(&raw, "experiment"));
        assert_eq!(table.len(), rows.len(), "{}", raw["experiment"]);
        for row in rows {
            check(row, rows, &table);
        }
        checked += rows.len();
    }
    assert!(checked > 400, "{checked}");
}

/// The cells of an experiment's table among all figures, line by line.
fn table<'p>(page: &'p str, experiment: &str) -> Vec<Vec<&'p str>> {
    let (_, figures) = page.split_once("\n## All figures\n").unwrap();
    let (figures, _) = figures.split_once("\n## ").unwrap();
    let Some((_, section)) = figures.split_once(&format!("\n### {experiment}\n")) else {
        return Vec::new();
    };
    let (section, _) = section.split_once("\n### ").unwrap_or((section, ""));
    let lines = section.lines().filter(|line| line.starts_with("| "));
    let cells = |line: &'p str| line.trim_matches('|').split('|').map(str::trim).collect();
    lines.skip(1).map(cells).collect()
}

/// Finds a row of a raw file in the table, once, and compares.
fn check(row: &Value, rows: &[Value], table: &[Vec<&str>]) {
    let (threads, system) = (row["threads"].to_string(), text_of(row, "system"));
    let name = [text_of(row, "case"), &threads, system];
    let its: Vec<&Vec<&str>> = table.iter().filter(|cells| cells[..3] == name).collect();
    assert_eq!(its.len(), 1, "{name:?}");
    let cells = its[0];
    let (samples, unit) = (samples(row), text_of(row, "unit"));
    let (low, high) = cells[4].split_once(" – ").unwrap();
    let all = [(cells[3], middle(&samples)), (low, least(&samples)), (high, most(&samples))];
    for (cell, number) in all {
        assert!(is_quantity(cell, number, unit), "{name:?}: {cell} is not {number}");
    }
    assert_eq!(cells[5], samples.len().to_string(), "{name:?}");
    let is_ours = |other: &&Value| {
        let is_beside = other["case"] == row["case"] && other["threads"] == row["threads"];
        is_beside && other["system"] == "jungle" && system != "jungle"
    };
    let Some(ours) = rows.iter().find(is_ours) else {
        return assert_eq!(cells[6], "", "{name:?}");
    };
    let over: Vec<f64> =
        self::samples(ours).iter().zip(&samples).map(|(ours, its)| ours / its).collect();
    let (ratio, spread) = cells[6].split_once(" (").unwrap();
    let (low, high) = spread.trim_end_matches(')').split_once('–').unwrap();
    for (cell, number) in [(ratio, middle(&over)), (low, least(&over)), (high, most(&over))] {
        assert!(is_number(cell, number), "{name:?}: {cell} is not {number}");
    }
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap()
}

fn samples(row: &Value) -> Vec<f64> {
    row["samples"].as_array().unwrap().iter().map(|sample| sample.as_f64().unwrap()).collect()
}

/// The mean of those two that as many are below as above; of an odd number they are one.
fn middle(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().reduce(f64::min).unwrap()
}

fn most(numbers: &[f64]) -> f64 {
    numbers.iter().copied().reduce(f64::max).unwrap()
}

/// Is `1.72 G/s` this number of that unit?
fn is_quantity(cell: &str, number: f64, unit: &str) -> bool {
    let (digits, shown) = cell.split_once(' ').unwrap();
    let (scale, of) = match shown {
        "G/s" => (1e9, "1/s"),
        "M/s" => (1e6, "1/s"),
        "k/s" => (1e3, "1/s"),
        "/s" => (1.0, "1/s"),
        "MB/s" => (1e6, "B/s"),
        "kB/s" => (1e3, "B/s"),
        "µs" => (1.0, "us"),
        "×" => (1.0, "x"),
        other => (1.0, other),
    };
    of == unit && is_number(digits, number / scale)
}

/// Is it what the number is rounded to?
fn is_number(digits: &str, number: f64) -> bool {
    let told: f64 = digits.parse().unwrap();
    let decimals = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    (told - number).abs() <= 0.5001 / 10_f64.powi(decimals as i32)
}

#[test]
fn another_figure_would_be_found() {
    assert!(is_quantity("1.72 G/s", 1.7249e9, "1/s") && !is_quantity("1.72 G/s", 1.7261e9, "1/s"));
    assert!(!is_quantity("1.72 k/s", 1.72e9, "1/s") && !is_quantity("12.0 ms", 12.0, "us"));
    assert_eq!((middle(&[3.0, 1.0, 2.0]), middle(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
}
