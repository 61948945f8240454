//! Every bar that Jungle was set, and what was measured of each.

use std::collections::BTreeMap;

use super::torture::Torture;
use crate::bars::{Bar, RULES, Rule};
use crate::lab::{LeftOut, Raw};
use crate::plan;
use crate::results::Row;
use crate::systems::System;
use crate::table::quantity;
use crate::verdicts::{self, Verdict};

/// A bar in words, and the rules that hold it.
struct Claim {
    part: &'static str,
    what: &'static str,
    least: &'static str,
    by: By,
}

/// How a bar is measured.
enum By {
    /// These rules hold all of it.
    Rules(fn(&Rule) -> bool),
    /// A torture suite, which counts and does not time: so many points of it at least, and none
    /// that failed; and each of these kills happened alone in some of them.
    Suite(&'static str, u64, &'static [&'static str]),
}

use By::{Rules, Suite};

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

const fn claim(part: &'static str, what: &'static str, least: &'static str, by: By) -> Claim {
    Claim { part, what, least, by }
}

fn is(rule: &Rule, experiment: &str, cases: &[&str]) -> bool {
    rule.experiment == experiment && cases.contains(&rule.case)
}

fn is_haskell(rule: &Rule) -> bool {
    matches!(rule.bar, Bar::TimesHaskell(_))
}

fn is_against(rule: &Rule, peer: System) -> bool {
    rule.experiment == "store-peers" && rule.bar.peer() == Some(peer)
}

fn is_of_cassandra(rule: &Rule, cases: &str) -> bool {
    rule.experiment == "cassandra" && rule.case.starts_with(cases)
}

const CORE: &str = "Core";
const STORE: &str = "Store";
const SERVER: &str = "Server";
const ALICE: &str = "Alice";
const CLUSTER: &str = "Cluster";

const AHEAD: &str = "commits at 1 and 64 clients, an old revision, a diff, bytes: all ahead";

/// Every bar, in its words.
const CLAIMS: &[Claim] = &[
    claim(
        CORE,
        "read count, against Haskell, 1 and 2 threads",
        "25 ×",
        Rules(|rule| is(rule, "read", &["count"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "read visit, no attributes, against Haskell",
        "12 ×",
        Rules(|rule| is(rule, "read", &["visit"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "read visit, an attribute on every node; aged",
        "18 × · 18 ×",
        Rules(|rule| is(rule, "read", &["visit-attribute", "visit-aged"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "read and write, 2 threads against 1",
        "1.9 ×",
        Rules(|rule| {
            matches!((rule.experiment, rule.bar), ("read" | "write", Bar::TimesOneThread(_)))
        }),
    ),
    claim(
        CORE,
        "write nodes and attributes, a call a node",
        "3 ×, 2 threads 3.5 ×",
        Rules(|rule| is(rule, "write", &["nodes", "attributes"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "write batch: attributes · nodes · with a cursor",
        "8 × · 10 × · 20 ×",
        Rules(|rule| {
            let cases = ["batch-attributes", "batch-nodes", "cursor-attributes", "cursor-nodes"];
            is(rule, "write", &cases) && is_haskell(rule)
        }),
    ),
    claim(
        CORE,
        "point updates, each published · looked ahead",
        "5 × · 9 ×",
        Rules(|rule| is(rule, "point", &["update", "update-ahead"])),
    ),
    claim(
        CORE,
        "point reads, 1 and 2 threads · 16 at a time",
        "7 × · 30 ×",
        Rules(|rule| is(rule, "point", &["read", "read-16"])),
    ),
    claim(
        CORE,
        "updates beside a walking reader · its walk",
        "4 × · 15 ×",
        Rules(|rule| is(rule, "point", &["walker-update", "walker-visits"])),
    ),
    claim(
        CORE,
        "bytes a node, bare · over the payload",
        "≤ 5 · ≤ 16",
        Rules(|rule| rule.experiment == "memory"),
    ),
    claim(
        CORE,
        "1,000,000 children under one node, against 1,000",
        "each ≤ 3 ×",
        Rules(|rule| rule.experiment == "wide"),
    ),
    claim(
        CORE,
        "diff of one place in 1,000,000 nodes",
        "≤ 10 µs",
        Rules(|rule| rule.experiment == "diff"),
    ),
    claim(
        CORE,
        "commit, old revision opened again and again, diff at 1,000,000 revisions; opened for \
         the first time",
        "≤ 1.2 ×; told",
        Rules(|rule| rule.experiment == "revisions"),
    ),
    claim(
        CORE,
        "hot disjoint, 2 threads against 1; no closure twice; its own work",
        "1.9 ×; 1 in every round; told",
        Rules(|rule| rule.experiment == "hot"),
    ),
    claim(
        STORE,
        "durable commits, 1 client, 100 revisions kept · all; one sync each",
        "≥ 90 % of the floor; 1 in every round",
        Rules(|rule| is(rule, "commit", &["sync", "syncs", "sync-all"]) && rule.threads == 1),
    ),
    claim(
        STORE,
        "durable commits, 64 clients, 100 revisions kept · all",
        "≥ 20 × the floor",
        Rules(|rule| is(rule, "commit", &["sync", "sync-all"]) && rule.threads == 64),
    ),
    claim(
        STORE,
        "readers' p99 beside a writer; beside a thread that only counts · writes a file",
        "≤ 1.1 ×; told",
        Rules(|rule| rule.experiment == "commit" && rule.case.starts_with("readers")),
    ),
    claim(
        STORE,
        "bytes on disk of a one-attribute commit",
        "≤ 400",
        Rules(|rule| {
            is(rule, "commit", &["bytes"]) || is(rule, "flat", &["bytes", "bytes-allocated"])
        }),
    ),
    claim(
        STORE,
        "commit, open, list, reopen at 1,000,000 revisions",
        "≤ 1.2 × each",
        Rules(|rule| is(rule, "flat", &["commit", "open", "list", "reopen"])),
    ),
    claim(
        STORE,
        "open a folder of 1,000,000 nodes, read a path",
        "≤ 50 ms",
        Rules(|rule| rule.experiment == "open"),
    ),
    claim(
        STORE,
        "open and read a random old revision, warm",
        "≤ 25 µs",
        Rules(|rule| is(rule, "flat", &["open-many"])),
    ),
    claim(
        STORE,
        "a tree 4 × larger than memory, hot set",
        "≤ 5 ×",
        Rules(|rule| rule.experiment == "larger-than-memory"),
    ),
    claim(
        STORE,
        "longest stall while reclaiming, without waiting for a processor; extra disk; by the \
         clock, and so where nothing is reclaimed",
        "≤ 5 ms in every round; ≤ 10 %; told",
        Rules(|rule| rule.experiment == "reclaim" && rule.case != "compact-disk"),
    ),
    claim(
        STORE,
        "the folder on disk at most, while its checkpoint's file is made smaller (compact)",
        "told",
        Rules(|rule| is(rule, "reclaim", &["compact-disk"])),
    ),
    claim(STORE, "against DoltLite", AHEAD, Rules(|rule| is_against(rule, System::Doltlite))),
    claim(STORE, "against redb", AHEAD, Rules(|rule| is_against(rule, System::Redb))),
    claim(STORE, "against LMDB", AHEAD, Rules(|rule| is_against(rule, System::Lmdb))),
    claim(
        SERVER,
        "E3 read against the constant answer",
        "≥ 90 %",
        Rules(|rule| is(rule, "board", &["read-hello"])),
    ),
    claim(
        SERVER,
        "E3 read and write against Warp",
        "≥ 3 × each",
        Rules(|rule| is(rule, "board", &["read", "write"])),
    ),
    claim(
        SERVER,
        "write with sync, 1,000 connections",
        "≥ 20 × the floor",
        Rules(|rule| is(rule, "board", &["write-sync"])),
    ),
    claim(
        SERVER,
        "1,000 watchers: p99; writers slowed, by medians; by means",
        "≤ 50 ms; ≤ 5 %; told",
        Rules(|rule| {
            let is_watched = ["delivery", "slowed"].into_iter().any(|it| rule.case.starts_with(it));
            rule.experiment == "board" && is_watched
        }),
    ),
    claim(
        SERVER,
        "a board of 1,000,000: first and last page",
        "≤ 2 × one of 100",
        Rules(|rule| is(rule, "board", &["first", "last"])),
    ),
    claim(
        SERVER,
        "start to first answer, 1,000,000 nodes",
        "≤ 200 ms",
        Rules(|rule| is(rule, "board", &["start"])),
    ),
    claim(
        ALICE,
        "E6: 10,000 chained code segments",
        "≤ 1.5 ms, pool ≤ 5 ms",
        Rules(|rule| is(rule, "alice", &["chain", "here", "pool"])),
    ),
    claim(
        ALICE,
        "E6: put and take; flip, free of size",
        "≤ 0.25 µs; ≤ put",
        Rules(|rule| {
            let puts = ["put-take-8", "put-take-4mb", "put-take-key", "flip", "flip-size"];
            is(rule, "alice", &puts)
        }),
    ),
    claim(
        ALICE,
        "E6: sort of 1,000,000 against one thread",
        "≥ 1.6 ×",
        Rules(|rule| is(rule, "alice", &["sort"])),
    ),
    claim(
        ALICE,
        "a code segment against rayon's closure",
        "≤ 2 ×",
        Rules(|rule| rule.experiment == "alice" && rule.case.starts_with("overhead")),
    ),
    claim(
        ALICE,
        "remote live put and take against bare requests",
        "≤ 1.3 ×",
        Rules(|rule| is(rule, "alice", &["remote-live"])),
    ),
    claim(
        ALICE,
        "remote durable against the engine · 64 at once",
        "≤ 1 · ≥ 2 ×",
        Rules(|rule| is(rule, "alice", &["remote-durable", "remote-durable-64"])),
    ),
    claim(
        ALICE,
        "10,000 remote segments, takers and the leader killed",
        "none lost, none twice",
        Suite("engine", 10_000, &[]),
    ),
    claim(
        CLUSTER,
        "a page's processor time on each of 3 servers, over 1 alone: flat if reads of a server do \
         not fall",
        "≤ 1.05 ×; less passes",
        Rules(|rule| is(rule, "cluster", &["share"])),
    ),
    claim(
        CLUSTER,
        "E5: reads against Cassandra ONE · QUORUM",
        "≥ 8 × · ≥ 15 ×",
        Rules(|rule| is_of_cassandra(rule, "read") && rule.threads > 1),
    ),
    claim(
        CLUSTER,
        "E5: writes, quorum against QUORUM",
        "≥ 3 ×",
        Rules(|rule| is_of_cassandra(rule, "write-quorum")),
    ),
    claim(
        CLUSTER,
        "E5: writes, local against ONE",
        "≥ 5 ×",
        Rules(|rule| is_of_cassandra(rule, "write-local")),
    ),
    claim(
        CLUSTER,
        "E4: one server, reads · writes",
        "≥ 3 × · ≥ 2 ×",
        Rules(|rule| rule.experiment == "cassandra" && rule.threads == 1),
    ),
    claim(
        CLUSTER,
        "quorum commit against bare publish · 64 clients",
        "≤ 1.3 × · ≥ 0.8 ×",
        Rules(|rule| is(rule, "cluster", &["quorum", "quorum-64"])),
    ),
    claim(CLUSTER, "propagation, p99", "≤ 20 ms", Rules(|rule| is(rule, "cluster", &["seen-p99"]))),
    claim(
        CLUSTER,
        "newcomer: 1,000,000 nodes, 100,000 records",
        "≤ 15 s",
        Rules(|rule| is(rule, "cluster", &["newcomer"])),
    ),
    claim(
        CLUSTER,
        "kill -9 of the leader, under load",
        "none lost; writes resume ≤ 8 s in every round",
        Rules(|rule| is(rule, "cluster", &["resume-most"])),
    ),
    claim(
        CLUSTER,
        "the leader ends in order, under load",
        "writes resume ≤ 0.5 s in every round",
        Rules(|rule| is(rule, "cluster", &["drained-most"])),
    ),
    claim(
        CLUSTER,
        "reads of a server meanwhile",
        "never stop: none takes 100 ms in any round",
        Rules(|rule| is(rule, "cluster", &["reads"])),
    ),
    claim(
        CLUSTER,
        "kill -9 of a server, of both, under load",
        "none lost; again ≤ 8 s, each by itself",
        Suite("machines", 6, &["server", "both"]),
    ),
];

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
                    together(RULES.iter().filter(|rule| is_its(rule)), &verdicts, raws)
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
    use super::{By, CLAIMS, RULES, State, Torture, claims_of, outcomes};

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
