//! The figures of the report in the documents, worked out a second time: from the raw files as
//! plain JSON, by code that shares nothing with the program's.

mod lists;
mod scale;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

fn report() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements/report")
}

fn page() -> String {
    fs::read_to_string(report().join("report.md")).unwrap()
}

/// The rows of each experiment.
fn raws() -> BTreeMap<String, Vec<Value>> {
    let mut raws = BTreeMap::new();
    for file in fs::read_dir(report().join("raw")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let raw: Value = serde_json::from_str(&text).unwrap();
        // What torture suites counted has none.
        let Some(rows) = raw["rows"].as_array() else { continue };
        raws.insert(text_of(&raw, "experiment").to_owned(), rows.clone());
    }
    raws
}

#[test]
fn every_figure_follows_from_the_samples() {
    let (page, raws) = (page(), raws());
    for (experiment, rows) in &raws {
        let table = table(&page, experiment);
        assert_eq!(table.len(), rows.len(), "{experiment}");
        rows.iter().for_each(|row| check(row, rows, &table));
    }
    let checked: usize = raws.values().map(Vec::len).sum();
    assert!(checked > 400, "{checked}");
}

/// And whether they suffice is counted as it is told.
#[test]
fn the_figures_of_bars_follow_from_the_samples() {
    let (page, raws) = (page(), raws());
    let (mut counts, mut checked) = (BTreeMap::new(), 0);
    for row in cells(section(&page, "Bars")) {
        let [.., measured, state] = row[..] else { panic!("{row:?}") };
        assert_eq!(measured.contains(" FAIL"), state == "FAIL", "{row:?}");
        *counts.entry(state).or_insert(0) += 1;
        for told in measured.split("; ").filter_map(Told::read) {
            assert!(told.follows(&raws[told.experiment]), "{told:?}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
    let count = |state: &str| counts.get(state).copied().unwrap_or(0);
    let bars = counts.values().sum::<i32>() - count("told");
    let (pass, fail) = (count("pass"), count("FAIL"));
    let missing = count("not measured");
    let summary = format!("\n{bars} bars: {pass} pass, {fail} FAIL, {missing} not measured.\n");
    assert!(page.contains(&summary), "{summary}");
}

/// What the machine does without Jungle stands beside each bar of the Store.
#[test]
fn the_floors_beside_bars_follow_from_the_samples() {
    let (page, raws) = (page(), raws());
    let bars = cells(section(&page, "Bars"));
    let of_store: Vec<_> = bars.iter().filter(|row| row[0] == "Store").collect();
    assert!(of_store.len() > 10, "{of_store:?}");
    for row in of_store {
        let (_, told) = row[3].rsplit_once("; floor of ").unwrap_or_else(|| panic!("{row:?}"));
        let (run, told) = told.split_once(": ").unwrap();
        let (experiment, _) = run.split_once(" at ").unwrap();
        let (number, spread) = told.trim_end_matches(')').split_once(" (").unwrap();
        let (low, high) = spread.split_once(" to ").unwrap();
        let is_floor = |row: &&Value| {
            let name = [text_of(row, "case"), text_of(row, "system")];
            name == ["floor", "machine"] && is_on(row, 1)
        };
        let floor = samples(raws[experiment].iter().find(is_floor).unwrap());
        for (told, number) in [(number, middle(&floor)), (low, least(&floor)), (high, most(&floor))]
        {
            assert!(is_quantity(told, number, "1/s"), "{row:?}");
        }
    }
}

#[test]
fn all_that_is_behind_is_told() {
    let (page, raws) = (page(), raws());
    let section = section(&page, "Behind");
    let (table, mut races, mut lost, mut apart) = (cells(section), 0, 0, 0);
    for (experiment, rows) in &raws {
        for row in rows.iter().filter(|row| is_race(row)) {
            let Some(ours) = ours_beside(row, rows) else { continue };
            if over(ours, row).is_empty() {
                apart += 1;
                continue;
            }
            races += 1;
            lost += usize::from(is_behind(experiment, row, ours, &table));
        }
    }
    assert_eq!(table.len(), lost);
    let told = format!("Of {races} figures that a peer has beside ours it does better in {lost}:");
    assert!(section.contains(&told), "{told}");
    let told = format!("Of {apart} more it is not known");
    assert_eq!(section.contains(&told), apart > 0, "{told}");
}

/// Amdahl's law, where there are two points.
#[test]
fn the_parallel_part_of_two_points_follows_from_their_ratio() {
    let (page, raws) = (page(), raws());
    for part in section(&page, "Scaling").split("\n### ").skip(1) {
        let Some((_, picture)) = part.split_once("![") else { continue };
        // E4's is over clients.
        let Some((experiment, _)) = picture.split_once("-throughput]") else { continue };
        for row in cells(part).into_iter().filter(|row| row[1].starts_with("2 of the 3 points")) {
            let (system, case) = row[0].split_once(' ').unwrap();
            let is_its = |row: &&Value| row["system"] == system && row["case"] == case;
            let both: Vec<&Value> = raws[experiment].iter().filter(is_its).collect();
            let [one, more] = both[..] else { panic!("{row:?}") };
            check_parallel(row[2], &over(more, one), more["threads"].as_f64().unwrap());
        }
    }
}

/// Is `91.65 % (89.6 % to 93.6 %, of one ratio)` that of these ratios?
fn check_parallel(cell: &str, ratios: &[f64], threads: f64) {
    let told = cell.strip_suffix("of one ratio)").unwrap();
    let told = told.split(['(', ',']).flat_map(|told| told.split(" to "));
    let mut told = told.filter_map(|told| told.trim().strip_suffix(" %"));
    let mut is_next = |times: f64| {
        let part = (1.0 - 1.0 / times) / (1.0 - 1.0 / threads);
        is_number(told.next().unwrap(), 100.0 * part.clamp(0.0, 1.0))
    };
    assert!(is_next(middle(ratios)), "{cell}: {ratios:?}");
    if ratios.len() > 1 {
        assert!(is_next(least(ratios)) && is_next(most(ratios)), "{cell}: {ratios:?}");
    }
    assert_eq!(told.next(), None, "{cell}");
}

/// What stands below a heading.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, behind) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    behind.split_once("\n## ").map_or(behind, |(section, _)| section)
}

/// The cells of an experiment's table among all figures, line by line.
fn table<'p>(page: &'p str, experiment: &str) -> Vec<Vec<&'p str>> {
    let figures = section(page, "All figures");
    let Some((_, its)) = figures.split_once(&format!("\n### {experiment}\n")) else {
        return Vec::new();
    };
    cells(its.split_once("\n### ").map_or(its, |(its, _)| its))
}

/// The cells of the one table there.
fn cells(section: &str) -> Vec<Vec<&str>> {
    let lines = section.lines().filter(|line| line.starts_with("| "));
    lines.skip(1).map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// A figure of a bar: `read count, 2 threads: 1.85 × of 1 thread (1.81 × to 1.88 ×, 2 rounds)`.
#[derive(Debug)]
struct Told<'p> {
    experiment: &'p str,
    case: &'p str,
    threads: u64,
    number: &'p str,
    /// Of one round there is none.
    spread: Option<(&'p str, &'p str)>,
}

impl<'p> Told<'p> {
    /// `None` of a reason why there is no figure.
    fn read(told: &'p str) -> Option<Told<'p>> {
        let (name, told) = told.split_once(": ")?;
        let (what, threads) = name.rsplit_once(", ")?;
        let (experiment, case) = what.split_once(' ')?;
        let threads = threads.split(' ').next()?.parse().ok()?;
        let (number, behind) = told.split_once(" (")?;
        let number = number.trim_end_matches(" of 1 thread");
        number.split(' ').next()?.parse::<f64>().ok()?;
        let (rounds, _) = behind.split_once(')')?;
        let spread = rounds.split(", ").next()?.split_once(" to ");
        Some(Told { experiment, case, threads, number, spread })
    }

    /// Is it ours, or ours over a peer's, over one thread's, or over what the disk syncs: that of
    /// its own case, if there is one?
    fn follows(&self, rows: &[Value]) -> bool {
        let is_its = |row: &&Value| row["case"] == self.case && is_on(row, self.threads);
        let ours = rows.iter().filter(is_its).find(|row| row["system"] == "jungle").unwrap();
        let own = format!("{}-floor", self.case);
        let has_own = rows.iter().any(|row| text_of(row, "case") == own);
        let floor = if has_own { &*own } else { "floor" };
        let is_beside = |row: &&Value| match text_of(row, "system") {
            "jungle" => row["case"] == self.case && is_on(row, 1) && self.threads > 1,
            "machine" => is_on(row, self.threads) && text_of(row, "case") == floor,
            _ => is_its(row),
        };
        self.is(&samples(ours), text_of(ours, "unit"))
            || rows.iter().filter(is_beside).any(|row| self.is(&over(ours, row), "x"))
    }

    fn is(&self, numbers: &[f64], unit: &str) -> bool {
        let is_spread = match self.spread {
            _ if numbers.is_empty() => false,
            None => numbers.len() == 1,
            Some((low, high)) => {
                is_quantity(low, least(numbers), unit) && is_quantity(high, most(numbers), unit)
            }
        };
        is_spread && is_quantity(self.number, middle(numbers), unit)
    }
}

fn is_on(row: &Value, threads: u64) -> bool {
    row["threads"].as_u64() == Some(threads)
}

/// Of these more is neither better nor worse.
const NO_RACE: [&str; 3] = ["merge-10-conflicts", "merge-10-disk-conflicts", "watched-rate"];

/// Is it of a peer, and better or worse than ours?
fn is_race(row: &Value) -> bool {
    let (case, system) = (text_of(row, "case"), text_of(row, "system"));
    let is_statistic = case.contains("-mean") || case.contains("-deviation");
    !["jungle", "machine"].contains(&system) && !is_statistic && !NO_RACE.contains(&case)
}

/// Is the peer ahead? Then the table must have it, once.
fn is_behind(experiment: &str, row: &Value, ours: &Value, table: &[Vec<&str>]) -> bool {
    let over = over(ours, row);
    let unit = text_of(row, "unit");
    let times = match unit {
        "1/s" | "B/s" => [1.0 / middle(&over), 1.0 / most(&over), 1.0 / least(&over)],
        _ => [middle(&over), least(&over), most(&over)],
    };
    if times[0] <= 1.0 {
        return false;
    }
    let (case, threads) = (text_of(row, "case"), row["threads"].to_string());
    let case = format!("{experiment} {case}");
    let name = [&*case, &*threads, text_of(row, "system")];
    let its: Vec<&Vec<&str>> = table.iter().filter(|cells| cells[..3] == name).collect();
    assert_eq!(its.len(), 1, "{name:?}");
    let (told, rounds) = its[0][5].split_once(" (").unwrap();
    assert!(is_quantity(its[0][3], middle(&samples(ours)), unit), "{name:?}");
    assert!(is_quantity(its[0][4], middle(&samples(row)), unit), "{name:?}");
    assert!(is_quantity(told, times[0], "x"), "{name:?}: {times:?}");
    if let Some((low, high)) = rounds.trim_end_matches(')').split_once(" to ") {
        let is_told = is_quantity(low, times[1], "x") && is_quantity(high, times[2], "x");
        assert!(is_told, "{name:?}: {times:?}");
    }
    true
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
    let Some(ours) = ours_beside(row, rows) else {
        return assert_eq!(cells[6], "", "{name:?}");
    };
    let over = over(ours, row);
    if over.is_empty() {
        return assert_eq!(cells[6], "never in one round", "{name:?}");
    }
    if over.iter().any(|ratio| !ratio.is_finite()) {
        return assert_eq!(cells[6], "its is 0", "{name:?}");
    }
    let (ratio, spread) = cells[6].split_once(" (").unwrap();
    let (low, high) = spread.trim_end_matches(')').split_once('–').unwrap();
    for (cell, number) in [(ratio, middle(&over)), (low, least(&over)), (high, most(&over))] {
        assert!(is_number(cell, number), "{name:?}: {cell} is not {number}");
    }
}

/// Our figure of the same, if the row is a peer's.
fn ours_beside<'r>(row: &Value, rows: &'r [Value]) -> Option<&'r Value> {
    let is_ours = |other: &&Value| {
        let is_beside = other["case"] == row["case"] && other["threads"] == row["threads"];
        is_beside && other["system"] == "jungle" && row["system"] != "jungle"
    };
    rows.iter().find(is_ours)
}

/// The ratios of the rounds that both have.
fn over(one: &Value, other: &Value) -> Vec<f64> {
    let (one, other) = (by_round(one), by_round(other));
    one.iter().filter_map(|(round, sample)| Some(sample / other.get(round)?)).collect()
}

/// The samples by their rounds: one a round from the first on, unless it is told otherwise.
fn by_round(row: &Value) -> BTreeMap<u64, f64> {
    let told = row["rounds"].as_array();
    let round = |at: usize| told.map_or(at as u64, |rounds| rounds[at].as_u64().unwrap());
    samples(row).into_iter().enumerate().map(|(at, sample)| (round(at), sample)).collect()
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
    let row = |system: &str, sample: f64| {
        let samples = [sample, sample];
        json!({
            "case": "count", "system": system, "threads": 2, "unit": "1/s", "samples": samples,
        })
    };
    let rows = [row("jungle", 3.8), row("haskell", 1.9)];
    let follows = |told| Told::read(told).unwrap().follows(&rows);
    assert!(follows("read count, 2 threads: 2.00 × (2.00 × to 2.00 ×, 2 rounds)"));
    assert!(!follows("read count, 2 threads: 2.01 × (2.00 × to 2.01 ×, 2 rounds) FAIL"));
    assert!(!follows("read count, 2 threads: 2.00 × (one round)"));
    let mut later = rows[1].clone();
    later["rounds"] = json!([1, 2]);
    assert_eq!((over(&rows[0], &rows[1]).len(), over(&rows[0], &later)), (2, vec![2.0]));
}

#[test]
fn a_floor_of_another_case_would_be_found() {
    let row = |case: &str, system: &str, sample: f64| {
        let samples = [sample, sample];
        json!({ "case": case, "system": system, "threads": 1, "unit": "1/s", "samples": samples })
    };
    let rows = [
        row("sync", "jungle", 4.0),
        row("floor", "machine", 1.0),
        row("sync-floor", "machine", 2.0),
    ];
    let [over_any, over_own] = [
        "commit sync, 1 thread: 4.00 × (4.00 × to 4.00 ×, 2 rounds)",
        "commit sync, 1 thread: 2.00 × (2.00 × to 2.00 ×, 2 rounds)",
    ];
    let follows = |told, rows: &[Value]| Told::read(told).unwrap().follows(rows);
    assert!(follows(over_own, &rows) && !follows(over_any, &rows));
    assert!(follows(over_any, &rows[..2]) && !follows(over_own, &rows[..2]));
}
