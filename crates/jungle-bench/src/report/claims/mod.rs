//! Every bar that Jungle was set, and what was measured of each.

mod table;

use std::collections::BTreeMap;

use self::table::By::{Rules, Suite};
use self::table::{CLAIMS, Claim, STORE};
use super::floor;
use super::torture::Torture;
use crate::bars::{Bar, RULES, Rule};
use crate::lab::{LeftOut, Raw};
use crate::plan;
use crate::results::Row;
use crate::systems::System;
use crate::table::quantity;
use crate::verdicts::{self, Verdict};

/// What came out at a bar: a row of the table.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Core, Store, Server, Alice or Cluster.
    pub part: &'static str,
    /// What is measured.
    pub what: String,
    /// What it must reach.
    pub least: String,
    /// What it reached, or why that is not known.
    pub measured: String,
    /// Did it?
    pub state: State,
}

/// Was a bar reached?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every rule of it that there is.
    Pass,
    /// One rule at least was not.
    Fail,
    /// None failed, but not all were measured.
    NotMeasured,
    /// It has no rule that judges: it is no bar, and stands beside them.
    Told,
}

impl State {
    /// As it stands in the table.
    pub fn name(self) -> &'static str {
        match self {
            State::Pass => "pass",
            State::Fail => "FAIL",
            State::NotMeasured => "not measured",
            State::Told => "told",
        }
    }
}

/// With fewer rounds there is no middle one that others lie about.
pub const ROUNDS_MIN: usize = 3;

/// What came out at every bar, by these files.
pub fn outcomes(raws: &[Raw], torture: &Torture) -> Vec<Outcome> {
    let rows: Vec<Row> = raws.iter().flat_map(|raw| raw.rows.iter().cloned()).collect();
    let verdicts = verdicts::all(&rows);
    let mut outcomes: Vec<Outcome> = CLAIMS
        .iter()
        .map(|claim| {
            let (state, measured) = match claim.by {
                Rules(is_its) => {
                    let rules: Vec<&Rule> = RULES.iter().filter(|rule| is_its(rule)).collect();
                    let (state, mut measured) = together(rules.iter().copied(), &verdicts, raws);
                    let experiments: Vec<&str> = rules.iter().map(|rule| rule.experiment).collect();
                    let floor = floor::beside(&experiments, raws);
                    if let Some(floor) = floor.filter(|_| claim.part == STORE) {
                        measured += &format!("; {floor}");
                    }
                    (state, measured)
                }
                Suite(name, points_min, alone) => torture.judge(name, points_min, alone),
            };
            let (what, least) = (claim.what.to_owned(), claim.least.to_owned());
            Outcome { part: claim.part, what, least, measured, state }
        })
        .collect();
    // A rule without words of its own is still a bar.
    outcomes.extend(RULES.iter().filter(|rule| claims_of(rule) == 0).map(|rule| {
        let (state, measured) = together(std::iter::once(rule), &verdicts, raws);
        let what = format!("{} {}, {}", rule.experiment, rule.case, threads(rule.threads));
        Outcome { part: "Further", what, least: least(rule), measured, state }
    }));
    outcomes
}

/// How many bars a rule belongs to.
fn claims_of(rule: &Rule) -> usize {
    let has = |claim: &&Claim| matches!(claim.by, Rules(is_its) if is_its(rule));
    CLAIMS.iter().filter(has).count()
}

/// What came out at some rules taken together.
fn together<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    verdicts: &[Verdict],
    raws: &[Raw],
) -> (State, String) {
    let (mut state, mut measured) = (State::Pass, Vec::new());
    let (mut is_judged, mut is_lacking) = (false, false);
    // Many rules have one reason.
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for rule in rules {
        is_judged |= rule.bar != Bar::Told;
        match verdicts.iter().find(|verdict| verdict.rule == *rule) {
            Some(verdict) => {
                measured.push(reached(verdict));
                if !verdict.is_pass() {
                    state = State::Fail;
                }
            }
            None => {
                is_lacking |= rule.bar != Bar::Told;
                let what = format!("{}, {}", rule.case, threads(rule.threads));
                reasons.entry(why_not(rule, raws)).or_default().push(what);
            }
        }
    }
    if state == State::Pass && is_lacking {
        state = State::NotMeasured;
    }
    if !is_judged {
        state = State::Told;
    }
    let reason = |(why, whats): (String, Vec<String>)| format!("{}: {why}", whats.join(" and "));
    measured.extend(reasons.into_iter().map(reason));
    (state, measured.join("; "))
}

/// `visit, 2 threads: 13.1 × (12.9 × to 14.0 ×)`, with a mark if that is too little.
fn reached(verdict: &Verdict) -> String {
    let rule = &verdict.rule;
    let unit = match rule.bar {
        Bar::AtMost(_) | Bar::NeverOver(_) | Bar::AtLeast(_) | Bar::Told => {
            plan::find(rule.experiment, rule.case).map_or("", |case| case.unit)
        }
        _ => "x",
    };
    let against = match rule.bar {
        Bar::TimesOneThread(_) => " of 1 thread",
        _ => "",
    };
    let (low, high) = verdict.spread;
    let mark = match rule.bar {
        Bar::Told => " (no bar)",
        _ if verdict.is_pass() => "",
        _ => " FAIL",
    };
    let spread = match verdict.rounds {
        1 => "one round".to_owned(),
        rounds => {
            let few =
                if rounds < ROUNDS_MIN { format!(", {rounds} rounds") } else { String::new() };
            format!("{} to {}{few}", quantity(low, unit), quantity(high, unit))
        }
    };
    format!(
        "{} {}, {}: {}{against} ({spread}){mark}",
        rule.experiment,
        rule.case,
        threads(rule.threads),
        quantity(verdict.reached, unit),
    )
}

fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

fn least(rule: &Rule) -> String {
    match rule.bar {
        Bar::TimesHaskell(least) => format!("≥ {least} × Haskell"),
        Bar::Times(peer, least) => format!("≥ {least} × {}", peer.name()),
        Bar::TimesOneThread(least) => format!("≥ {least} × 1 thread"),
        Bar::TimesFloor(least) => format!("≥ {least} × the floor"),
        Bar::MoreThan(peer) => format!("> {}", peer.name()),
        Bar::LessThan(peer) => format!("< {}", peer.name()),
        Bar::AtMost(most) => format!("≤ {most}"),
        Bar::NeverOver(most) => format!("≤ {most} in every round"),
        Bar::AtLeast(least) => format!("≥ {least}"),
        Bar::Told => "told".to_owned(),
    }
}

/// Why there is no verdict, and what would give one.
fn why_not(rule: &Rule, raws: &[Raw]) -> String {
    let Rule { experiment, case, .. } = rule;
    let Some(raw) = raws.iter().find(|raw| raw.experiment == *experiment) else {
        return format!("not run: `jungle-bench {experiment} --report DIR`");
    };
    if verdicts::is_apart(rule, &raw.rows) {
        return "never measured in one round with what it is held against".to_owned();
    }
    let systems = [Some(System::Jungle), rule.bar.peer()].map(|system| system.map(System::name));
    let is_its = |left: &&LeftOut| {
        left.case.as_ref().is_none_or(|of| of == case)
            && left.threads.is_none_or(|threads| threads == rule.threads || threads == 1)
            && systems.contains(&Some(left.system.as_str()))
    };
    match raw.left_out.iter().find(is_its) {
        Some(left) => format!("{}, {}", left.system, left.reason()),
        None => {
            let peer = rule.bar.peer();
            let peer = peer.map_or_else(String::new, |peer| format!(" and {}", peer.name()));
            format!(
                "not measured: not there yet, or not asked for with all that its bar needs \
                 (jungle{peer})"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::table::By;
    use super::{CLAIMS, RULES, State, Torture, claims_of, outcomes};

    #[test]
    fn every_rule_is_of_one_bar_and_every_bar_has_rules() {
        for rule in RULES {
            assert!(claims_of(rule) <= 1, "{rule:?}");
        }
        for claim in CLAIMS {
            if let By::Rules(is_its) = claim.by {
                assert!(RULES.iter().any(is_its), "{}", claim.what);
            }
        }
    }

    #[test]
    fn without_figures_nothing_passes_and_all_say_why() {
        let outcomes = outcomes(&[], &Torture::default());
        assert!(outcomes.len() >= CLAIMS.len());
        for outcome in outcomes {
            let is_bar = outcome.least != "told";
            let state = if is_bar { State::NotMeasured } else { State::Told };
            assert_eq!(outcome.state, state, "{outcome:?}");
            assert!(!outcome.measured.is_empty(), "{outcome:?}");
        }
    }
}
