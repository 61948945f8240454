//! How a comparison is told: plain text, the same on a terminal and in a file, or JSON.

use std::fmt::Write;

use super::compare::{Change, Comparison, Line};

/// A line for each workload, then what stands out, each line of that beginning with `!!`.
pub fn render(comparison: &Comparison) -> String {
    let Comparison { recorded, counted, lines, tolerance_percent } = comparison;
    let revision = &recorded.revision;
    let mut text = format!("instructions of one operation ({})\n", counted.kind);
    let _ = writeln!(text, "{:<16} {:>12} {:>12}", "workload", "recorded", "counted");
    for line in lines {
        let [recorded, counted] = [line.recorded, line.counted].map(number);
        let _ = write!(text, "{:<16} {recorded:>12} {counted:>12}", line.name);
        text += &line.percent().map_or("\n".to_owned(), |more| format!(" {:>10}\n", signed(more)));
    }
    outstanding(comparison).iter().for_each(|what| text += &format!("!! {what}\n"));
    let same = comparison.with(Change::Same).count();
    let all = lines.len();
    let when = format!("as recorded at revision {revision}, within {tolerance_percent} %");
    let _ = writeln!(text, "{same} of {all} {when}");
    if same < all {
        let _ = writeln!(text, "if that is meant, `cargo xtask track --record` records it");
    }
    text
}

/// All of it, for programs.
///
/// # Errors
/// Never; it is plain data.
pub fn json(comparison: &Comparison) -> serde_json::Result<String> {
    serde_json::to_string_pretty(comparison)
}

/// What must not be overlooked, a line each.
fn outstanding(comparison: &Comparison) -> Vec<String> {
    let Comparison { recorded, counted, .. } = comparison;
    let changes = [
        ("WORSE", Change::Worse),
        ("better", Change::Better),
        ("not recorded", Change::New),
        ("recorded, and gone", Change::Gone),
    ];
    let mut all: Vec<String> = Vec::new();
    for (title, change) in changes {
        let found: Vec<String> = comparison.with(change).map(named).collect();
        if !found.is_empty() {
            all.push(format!("{title}: {}", found.join(", ")));
        }
    }
    if !counted.is_comparable(recorded) {
        all.push(format!("not compared: recorded with another build ({})", recorded.kind));
    }
    let tools = [(&recorded.compiler, &counted.compiler), (&recorded.counter, &counted.counter)];
    let others = tools.into_iter().filter(|(then, now)| then != now);
    let told =
        |(then, now)| format!("recorded with {then}, counted with {now}: differences may be its");
    all.extend(others.map(told));
    all
}

fn named(line: &Line) -> String {
    match line.percent() {
        Some(percent) => format!("{} {}", line.name, signed(percent)),
        None => line.name.clone(),
    }
}

/// In tenths of a percent; 0 has one sign only.
fn signed(percent: f64) -> String {
    format!("{:+.1} %", (10.0 * percent).round() / 10.0 + 0.0)
}

fn number(instructions: Option<f64>) -> String {
    instructions.map_or_else(|| "-".to_owned(), |instructions| format!("{instructions:.1}"))
}

#[cfg(test)]
mod tests {
    use super::super::compare::Comparison;
    use super::super::compare::tests::record;
    use super::{json, render};

    #[test]
    fn what_stands_out_is_told_last() {
        let recorded = record("dev", "rustc 1", &[("same", 100.0), ("slow", 100.0), ("old", 1.0)]);
        let counted = [("same", 101.0), ("slow", 105.04), ("new", 7.25)];
        let comparison = Comparison::of(&recorded, &record("dev", "rustc 2", &counted), 2.0);
        assert_eq!(
            render(&comparison),
            "\
instructions of one operation (dev)
workload             recorded      counted
same                    100.0        101.0     +1.0 %
slow                    100.0        105.0     +5.0 %
new                         -          7.2
old                       1.0            -
!! WORSE: slow +5.0 %
!! not recorded: new
!! recorded, and gone: old
!! recorded with rustc 1, counted with rustc 2: differences may be its
1 of 4 as recorded at revision abc, within 2 %
if that is meant, `cargo xtask track --record` records it
"
        );
        let json: serde_json::Value = serde_json::from_str(&json(&comparison).unwrap()).unwrap();
        assert_eq!(json["lines"][1]["change"], "worse");
        assert_eq!(json["lines"][3]["counted"], serde_json::Value::Null);
        assert_eq!(json["recorded"]["revision"], "abc");
    }

    #[test]
    fn nothing_stands_out_when_nothing_changed() {
        let record = record("dev", "rustc 1", &[("a", 100.0)]);
        let text = render(&Comparison::of(&record, &record, 2.0));
        assert!(!text.contains("!!"), "{text}");
        let all = "\n1 of 1 as recorded at revision abc, within 2 %\n";
        assert!(text.ends_with(all), "{text}");
    }

    #[test]
    fn another_build_is_told() {
        let [dev, release] =
            ["dev", "release"].map(|kind| record(kind, "rustc 1", &[("a", 100.0)]));
        let text = render(&Comparison::of(&dev, &release, 2.0));
        assert!(text.contains("!! not compared: recorded with another build (dev)"), "{text}");
        assert!(!text.contains('+'), "{text}");
    }
}
