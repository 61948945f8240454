//! The table on the terminal.

use std::fmt::Write;

use crate::bars::Bar;
use crate::plan::Case;
use crate::results::{Row, find};
use crate::stats::{median, spread};
use crate::systems::System;
use crate::verdicts::Verdict;

/// All rows, each with ours over it, and the bars with what came out.
pub fn render(cases: &[Case], rows: &[Row], verdicts: &[Verdict]) -> String {
    let mut text = format!(
        "{:<28} {:>7} {:<15} {:>10} {:>19} {:>24}  {}\n",
        "case", "threads", "system", "median", "min–max", "jungle / it", "bar"
    );
    let mut last = None;
    for row in rows {
        let group = (row.experiment, row.case, row.threads);
        let is_first = last.replace(group) != Some(group);
        let name =
            if is_first { format!("{} {}", row.experiment, row.case) } else { String::new() };
        let threads = if is_first { row.threads.to_string() } else { String::new() };
        let (low, high) = spread(&row.samples);
        let _ = write!(
            text,
            "{name:<28} {threads:>7} {:<15} {:>10} {:>19} {:>24}  ",
            row.system.name(),
            quantity(row.value, row.unit),
            format!("{}–{}", quantity(low, row.unit), quantity(high, row.unit)),
            against(row, rows),
        );
        let here = verdicts.iter().filter(|verdict| beside(verdict) == (group, row.system));
        let lines: Vec<String> = here.map(line).collect();
        text.push_str(&lines.join(", "));
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    if !cases.is_empty() {
        let judged = || verdicts.iter().filter(|verdict| verdict.rule.bar != Bar::Told);
        let passed = judged().filter(|verdict| verdict.is_pass()).count();
        let _ = writeln!(text, "{passed} of {} bars passed", judged().count());
    }
    text
}

/// The row a verdict stands beside.
fn beside(verdict: &Verdict) -> ((&'static str, &'static str, usize), System) {
    let rule = verdict.rule;
    let system = match rule.bar {
        Bar::TimesHaskell(_) => System::Haskell,
        Bar::Times(peer, _) | Bar::MoreThan(peer) | Bar::LessThan(peer) => peer,
        Bar::TimesOneThread(_) | Bar::TimesFloor(_) => System::Jungle,
        Bar::AtMost(_) | Bar::NeverOver(_) | Bar::AtLeast(_) | Bar::Told => System::Jungle,
    };
    ((rule.experiment, rule.case, rule.threads), system)
}

fn line(verdict: &Verdict) -> String {
    let outcome = if verdict.is_pass() { "pass" } else { "FAIL" };
    match verdict.rule.bar {
        Bar::TimesHaskell(least) | Bar::Times(_, least) => format!("≥ {least} × {outcome}"),
        Bar::MoreThan(_) => format!("> 1 × {outcome}"),
        Bar::LessThan(_) => format!("< 1 × {outcome}"),
        Bar::AtMost(most) => format!("≤ {most} {outcome}"),
        Bar::NeverOver(most) => format!("≤ {most} in every round {outcome}"),
        Bar::AtLeast(least) => format!("≥ {least} {outcome}"),
        Bar::Told => "told".to_owned(),
        Bar::TimesOneThread(least) => times(verdict, "1 thread", least, outcome),
        Bar::TimesFloor(least) => times(verdict, "floor", least, outcome),
    }
}

fn times(verdict: &Verdict, what: &str, least: f64, outcome: &str) -> String {
    let (reached, (low, high)) = (verdict.reached, verdict.spread);
    format!("{reached:.2} × {what} ({low:.2}–{high:.2}), ≥ {least} × {outcome}")
}

/// Ours over this row's, round by round, if it is a peer's.
pub fn against(row: &Row, rows: &[Row]) -> String {
    let ours = find(rows, (row.experiment, row.case), System::Jungle, row.threads);
    match ours {
        Some(ours) if row.system != System::Jungle => {
            let ratios = ours.over(row);
            if ratios.is_empty() {
                return "never in one round".to_owned();
            }
            // How often it needs nothing has no number.
            if ratios.iter().any(|ratio| !ratio.is_finite()) {
                return "its is 0".to_owned();
            }
            let (low, high) = spread(&ratios);
            format!("{} ({}–{})", plain(median(&ratios)), plain(low), plain(high))
        }
        _ => String::new(),
    }
}

/// A number with its unit, in three digits or so.
pub fn quantity(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match (unit, value) {
        ("1/s", 1e9..) => (value / 1e9, " G/s"),
        ("1/s", 1e6..) => (value / 1e6, " M/s"),
        ("1/s", 1e3..) => (value / 1e3, " k/s"),
        ("1/s", _) => (value, " /s"),
        ("ns", _) => (value, " ns"),
        ("us", _) => (value, " µs"),
        ("ms", _) => (value, " ms"),
        ("s", _) => (value, " s"),
        ("B", _) => (value, " B"),
        ("B/s", 1e6..) => (value / 1e6, " MB/s"),
        ("B/s", _) => (value / 1e3, " kB/s"),
        (_, _) => (value, " ×"),
    };
    plain(scaled) + prefix
}

fn plain(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{quantity, render};
    use crate::plan::cases;
    use crate::results::Row;
    use crate::systems::System;
    use crate::verdicts;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(quantity(1_724_000_000.0, "1/s"), "1.72 G/s");
        assert_eq!(quantity(52.04, "B"), "52.0 B");
        assert_eq!(quantity(1234.0, "ns"), "1234 ns");
    }

    #[test]
    fn a_bar_stands_beside_its_peer() {
        let row = |system, samples: &[f64]| Row {
            experiment: "read",
            case: "visit",
            system,
            threads: 1,
            value: samples[1],
            unit: "1/s",
            samples: samples.to_vec(),
            rounds: (0..samples.len()).collect(),
        };
        let rows = [row(System::Jungle, &[6e8, 7e8, 8e8]), row(System::Haskell, &[6e7, 7e7, 8e7])];
        let text = render(&cases("read").unwrap(), &rows, &verdicts::all(&rows));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("read visit") && lines[1].contains("700 M/s"), "{text}");
        assert!(lines[2].contains("10.0 (10.0–10.0)"), "{text}");
        assert!(lines[2].ends_with("≥ 12 × FAIL"), "{text}");
        assert_eq!(lines[3], "0 of 1 bars passed");
        let [ours, mut its] = rows;
        its.rounds = vec![3, 4, 5];
        let text = render(&cases("read").unwrap(), &[ours, its], &[]);
        assert!(text.lines().nth(2).unwrap().ends_with("never in one round"), "{text}");
    }

    #[test]
    fn what_is_told_is_no_bar() {
        let rows = [Row {
            experiment: "commit",
            case: "readers-counting",
            system: System::Jungle,
            threads: 1,
            value: 9.0,
            unit: "x",
            samples: vec![9.0],
            rounds: vec![0],
        }];
        let text = render(&cases("commit").unwrap(), &rows, &verdicts::all(&rows));
        assert!(text.contains("  told\n") && text.ends_with("\n0 of 0 bars passed\n"), "{text}");
    }
}
