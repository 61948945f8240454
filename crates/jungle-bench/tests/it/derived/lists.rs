//! What of the report is neither a bar, nor behind, nor in the tables of all figures: what others
//! published with ours beside it, and what busy cores change.

use serde_json::Value;

use super::{
    cells, is_number, is_quantity, least, middle, most, over, page, raws, samples, section, text_of,
};

#[test]
fn ours_stand_beside_what_was_published_of_alice() {
    let (page, raws) = (page(), raws());
    let table = cells(section(&page, "Published figures"));
    assert_eq!(table.len(), 3, "{table:?}");
    for cells in &table {
        let [.., told, name] = cells[..] else { panic!("{cells:?}") };
        let (experiment, case) = name.split_once(' ').unwrap();
        let ours = of_ours(&raws[experiment], case).next().unwrap();
        let number = middle(&samples(ours));
        // Of what is told in nanoseconds, 10,000 are one of theirs.
        let milliseconds = match text_of(ours, "unit") {
            "ns" => 10_000.0 * number / 1e6,
            "us" => number / 1e3,
            other => panic!("{name} in {other}"),
        };
        assert!(is_quantity(told, milliseconds, "ms"), "{cells:?}: {milliseconds}");
    }
}

#[test]
fn ours_stand_beside_what_was_published_of_systems_that_are_not_run() {
    let (page, raws) = (page(), raws());
    let mut checked = 0;
    for row in cells(section(&page, "Not run here")) {
        let Some((name, told)) = row[5].split_once(": ") else { continue };
        if told == "not measured" {
            continue;
        }
        let (experiment, case) = name.split_once(' ').unwrap();
        let is_told = |ours: &Value| {
            let number = middle(&samples(ours));
            is_quantity(told, number, text_of(ours, "unit"))
        };
        assert!(of_ours(&raws[experiment], case).any(is_told), "{row:?}");
        checked += 1;
    }
    assert!(checked > 5, "{checked}");
}

/// Our rows of a case, one for each number of threads.
fn of_ours<'r>(rows: &'r [Value], case: &'r str) -> impl Iterator<Item = &'r Value> {
    rows.iter().filter(move |row| row["case"] == case && row["system"] == "jungle")
}

/// Of each line, `SYSTEM CASE over CASE, threads N: MIDDLE × (LOW to HIGH, N rounds)`.
#[test]
fn what_busy_cores_change_follows_from_the_samples() {
    let (page, raws) = (page(), raws());
    let (rows, mut checked) = (&raws["idle-trap"], 0);
    for line in section(&page, "Scaling").lines().filter_map(|line| line.strip_prefix("- ")) {
        let Some((name, told)) = line.split_once(": ") else { continue };
        let Some((what, threads)) = name.split_once(", threads ") else { continue };
        let Some((whose, other)) = what.split_once(" over ") else { continue };
        let (system, case) = whose.split_once(' ').unwrap();
        let of = |case: &str| {
            let is_its = |row: &&Value| {
                let is_on = row["threads"].as_u64() == threads.parse().ok();
                is_on && row["case"] == case && row["system"] == system
            };
            rows.iter().find(is_its).unwrap()
        };
        let ratios = over(of(case), of(other));
        checked += 1;
        if ratios.is_empty() {
            assert_eq!(told, "never in one round", "{line}");
            continue;
        }
        let (times, rounds) = told.split_once(" × (").unwrap();
        assert!(is_number(times, middle(&ratios)), "{line}: {ratios:?}");
        if let Some((low, rest)) = rounds.split_once(" to ") {
            let (high, _) = rest.split_once(", ").unwrap();
            let is_spread = is_number(low, least(&ratios)) && is_number(high, most(&ratios));
            assert!(is_spread, "{line}: {ratios:?}");
        } else {
            assert_eq!((rounds, ratios.len()), ("one round)", 1), "{line}");
        }
    }
    assert!(checked > 1, "{checked}");
}
