//! What differs between two records.

use serde::Serialize;

use super::build::Build;
use super::record::{Figure, Record};

/// What was counted beside what was recorded.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// What the recorded figures were counted with.
    pub recorded: Build,
    /// What these were counted with.
    pub counted: Build,
    /// From how many percent on a difference is told.
    pub tolerance_percent: f64,
    /// One for each workload of either: in the order of what was counted, then what is gone.
    pub lines: Vec<Line>,
}

/// A workload in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The workload.
    pub name: String,
    /// Instructions of an operation, as recorded; `None` if it is new.
    pub recorded: Option<f64>,
    /// The same, as counted; `None` if it is gone.
    pub counted: Option<f64>,
    /// What that comes to.
    pub change: Change,
}

/// What became of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It takes as many instructions, within the tolerance.
    Same,
    /// It takes fewer.
    Better,
    /// It takes more.
    Worse,
    /// It was not recorded.
    New,
    /// It is not there any more.
    Gone,
    /// The figures are those of another kind of build.
    Incomparable,
}

impl Comparison {
    /// Of two records, with a tolerance in percent.
    pub fn of(recorded: &Record, counted: &Record, tolerance_percent: f64) -> Comparison {
        let is_comparable = counted.build.is_comparable(&recorded.build);
        let find = |figures: &[Figure], name: &str| {
            figures.iter().find(|figure| figure.name == name).map(|figure| figure.instructions)
        };
        let line = |name: &str| {
            let (before, now) = (find(&recorded.figures, name), find(&counted.figures, name));
            let change = match (before, now) {
                (None, _) => Change::New,
                (_, None) => Change::Gone,
                _ if !is_comparable => Change::Incomparable,
                (Some(before), Some(now)) => change(percent(before, now), tolerance_percent),
            };
            Line { name: name.to_owned(), recorded: before, counted: now, change }
        };
        let is_gone = |figure: &&Figure| find(&counted.figures, &figure.name).is_none();
        let all = counted.figures.iter().chain(recorded.figures.iter().filter(is_gone));
        Comparison {
            recorded: recorded.build.clone(),
            counted: counted.build.clone(),
            tolerance_percent,
            lines: all.map(|figure| line(&figure.name)).collect(),
        }
    }

    /// The workloads of which that became.
    pub fn with(&self, change: Change) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.change == change)
    }
}

impl Line {
    /// By how many percent more it takes; `None` where there is nothing to compare.
    pub fn percent(&self) -> Option<f64> {
        let (before, now) = self.recorded.zip(self.counted)?;
        (self.change != Change::Incomparable).then(|| percent(before, now))
    }
}

fn percent(before: f64, now: f64) -> f64 {
    100.0 * (now / before - 1.0)
}

fn change(percent: f64, tolerance: f64) -> Change {
    match percent {
        more if more > tolerance => Change::Worse,
        less if less < -tolerance => Change::Better,
        _ => Change::Same,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::build::Build;
    use super::super::record::{Figure, Record};
    use super::{Change, Comparison};

    /// A record of figures, counted with this kind of build and compiler.
    pub fn record(kind: &str, compiler: &str, figures: &[(&str, f64)]) -> Record {
        let figure = |(name, instructions): &(&str, f64)| Figure {
            name: (*name).to_owned(),
            instructions: *instructions,
        };
        let build = Build {
            kind: kind.to_owned(),
            compiler: compiler.to_owned(),
            counter: "valgrind-3".to_owned(),
            revision: "abc".to_owned(),
        };
        Record { build, figures: figures.iter().map(figure).collect() }
    }

    #[track_caller]
    fn check(recorded: &[(&str, f64)], counted: &[(&str, f64)], expected: &[(&str, Change)]) {
        let [recorded, counted] = [recorded, counted].map(|figures| record("dev", "1", figures));
        let found = Comparison::of(&recorded, &counted, 2.0);
        let found: Vec<_> =
            found.lines.iter().map(|line| (line.name.as_str(), line.change)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_more_than_the_tolerance_is_told() {
        let recorded = [("a", 1000.0)];
        for (counted, change) in [
            (1000.0, Change::Same),
            (1019.9, Change::Same),
            (1020.1, Change::Worse),
            (980.1, Change::Same),
            (979.9, Change::Better),
        ] {
            check(&recorded, &[("a", counted)], &[("a", change)]);
        }
    }

    #[test]
    fn what_is_new_or_gone_is_told() {
        let (recorded, counted) = ([("old", 1.0), ("a", 1.0)], [("new", 1.0), ("a", 1.0)]);
        let changes = [("new", Change::New), ("a", Change::Same), ("old", Change::Gone)];
        check(&recorded, &counted, &changes);
        check(&[], &[], &[]);
    }

    #[test]
    fn another_kind_of_build_is_not_compared_and_another_compiler_is() {
        let recorded = record("dev", "rustc 1", &[("a", 100.0)]);
        let change = |counted| Comparison::of(&recorded, &counted, 2.0).lines[0].clone();
        let released = change(record("release", "rustc 1", &[("a", 50.0)]));
        assert_eq!((released.change, released.percent()), (Change::Incomparable, None));
        let newer = change(record("dev", "rustc 2", &[("a", 50.0)]));
        assert_eq!((newer.change, newer.percent()), (Change::Better, Some(-50.0)));
    }
}
