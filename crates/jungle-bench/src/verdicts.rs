//! The results held against the bars.

use crate::bars::{Bar, RULES, Rule};
use crate::plan;
use crate::results::{Row, find};
use crate::stats::{median, spread};
use crate::systems::System;

/// What came out at a bar.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The bar.
    pub rule: Rule,
    /// What was reached: a ratio, or our number.
    pub reached: f64,
    /// From the worst round to the best, or the other way round.
    pub spread: (f64, f64),
    /// How many rounds that rests on.
    pub rounds: usize,
}

impl Verdict {
    /// Was the bar reached?
    pub fn is_pass(&self) -> bool {
        match self.rule.bar {
            Bar::TimesHaskell(least)
            | Bar::Times(_, least)
            | Bar::TimesOneThread(least)
            | Bar::TimesFloor(least) => self.reached >= least,
            Bar::MoreThan(_) => self.reached > 1.0,
            Bar::LessThan(_) => self.reached < 1.0,
            Bar::AtMost(most) => self.reached <= most,
            Bar::NeverOver(most) => self.spread.1 <= most,
            Bar::AtLeast(least) => self.reached >= least,
            Bar::Told => true,
        }
    }
}

/// The verdicts that the rows allow.
pub fn all(rows: &[Row]) -> Vec<Verdict> {
    RULES.iter().filter_map(|rule| verdict(rule, rows)).collect()
}

fn verdict(rule: &Rule, rows: &[Row]) -> Option<Verdict> {
    let (ours, other) = sides(rule, rows)?;
    let numbers = other.map_or_else(|| ours.samples.clone(), |other| ours.over(other));
    if numbers.is_empty() {
        return None;
    }
    let (reached, spread) = (median(&numbers), spread(&numbers));
    Some(Verdict { rule: *rule, reached, spread, rounds: numbers.len() })
}

/// Is all there that the bar needs, though no round has both sides of it?
pub fn is_apart(rule: &Rule, rows: &[Row]) -> bool {
    matches!(sides(rule, rows), Some((ours, Some(other))) if ours.over(other).is_empty())
}

/// Ours, and what it is held against, if the bar is not of ours alone; `None` where one of them is
/// not there.
fn sides<'r>(rule: &Rule, rows: &'r [Row]) -> Option<(&'r Row, Option<&'r Row>)> {
    let row = |system, threads| find(rows, (rule.experiment, rule.case), system, threads);
    let ours = row(System::Jungle, rule.threads)?;
    let other = match (rule.bar, rule.bar.peer()) {
        (Bar::TimesOneThread(_), _) => row(System::Jungle, 1)?,
        (Bar::TimesFloor(_), _) => {
            let floor = (rule.experiment, floor_of(rule));
            find(rows, floor, System::Machine, rule.threads)?
        }
        (_, Some(peer)) => row(peer, rule.threads)?,
        (_, None) => return Some((ours, None)),
    };
    Some((ours, Some(other)))
}

/// The case that has the floor of the same run: one of its own, where an experiment has several.
fn floor_of(rule: &Rule) -> &'static str {
    let own = plan::find(rule.experiment, &format!("{}-floor", rule.case));
    own.map_or("floor", |case| case.name)
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::results::Row;
    use crate::systems::System;

    fn row(system: System, threads: usize, samples: &[f64]) -> Row {
        let (value, unit) = (crate::stats::median(samples), "1/s");
        let (samples, rounds) = (samples.to_vec(), (0..samples.len()).collect());
        Row { experiment: "read", case: "visit", system, threads, value, unit, samples, rounds }
    }

    #[test]
    fn ours_is_held_against_haskell_and_one_thread() {
        let rows = [
            row(System::Jungle, 1, &[120.0, 100.0, 130.0]),
            row(System::Haskell, 1, &[10.0, 10.0, 10.0]),
            row(System::Jungle, 2, &[190.0]),
        ];
        let verdicts = all(&rows);
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts[0].is_pass() && verdicts[0].reached == 12.0);
        assert_eq!(verdicts[0].spread, (10.0, 13.0));
        assert!(!verdicts[1].is_pass());
    }

    /// Of the others it is not known how quick the machine was when Haskell was measured.
    #[test]
    fn a_verdict_rests_on_the_rounds_that_have_both() {
        let mut rows = [
            row(System::Jungle, 1, &[120.0, 130.0, 900.0]),
            row(System::Haskell, 1, &[10.0, 10.0]),
        ];
        assert_eq!((all(&rows)[0].reached, all(&rows)[0].rounds), (12.5, 2));
        rows[1].rounds = vec![1, 3];
        assert_eq!((all(&rows)[0].reached, all(&rows)[0].rounds), (13.0, 1));
        rows[1].rounds = vec![3, 4];
        assert!(all(&rows).is_empty());
    }

    /// How long a sync takes changes from one run to the next.
    #[test]
    fn commits_are_held_against_the_floor_of_their_own_run() {
        let of = |case, system, rate| Row {
            experiment: "commit",
            case,
            ..row(system, 64, &[rate, rate])
        };
        let rows = [
            of("floor", System::Machine, 1_000.0),
            of("sync", System::Jungle, 25_000.0),
            of("sync-all-floor", System::Machine, 2_000.0),
            of("sync-all", System::Jungle, 30_000.0),
        ];
        let reached = |rows: &[Row]| {
            let told = all(rows).into_iter().map(|verdict| (verdict.rule.case, verdict.reached));
            told.collect::<Vec<_>>()
        };
        assert_eq!(reached(&rows), [("sync", 25.0), ("sync-all", 15.0)]);
        let without = [rows[0].clone(), rows[3].clone()];
        assert!(reached(&without).is_empty(), "that of another run is none");
    }

    #[test]
    fn a_count_is_judged_by_its_worst_round() {
        let of = |samples: &[f64]| {
            let row = row(System::Jungle, 1, samples);
            let verdicts = all(&[Row { experiment: "hot", case: "disjoint-runs", ..row }]);
            verdicts[0].is_pass()
        };
        assert!(of(&[1.0, 1.0, 1.0]));
        assert!(!of(&[1.0, 1.001, 1.0]));
    }

    /// It is what a page costs one of three, over one alone: with less, each reads more.
    #[test]
    fn a_server_that_is_quicker_beside_others_passes() {
        for (share, is_pass) in [(0.77, true), (1.05, true), (1.06, false)] {
            let row = row(System::Jungle, 1, &[share]);
            let verdicts = all(&[Row { experiment: "cluster", case: "share", ..row }]);
            assert_eq!(verdicts[0].is_pass(), is_pass, "{share}");
        }
    }

    /// Each tells of the longest time of a round: a middle one of these would leave out the worst.
    #[test]
    fn the_longest_of_all_is_that_of_all_rounds() {
        for case in ["resume-most", "drained-most", "reads"] {
            let row = row(System::Jungle, 1, &[0.1, 0.1, 200.0]);
            let verdicts = all(&[Row { experiment: "cluster", case, ..row }]);
            assert!(!verdicts[0].is_pass(), "{case}");
        }
    }
}
