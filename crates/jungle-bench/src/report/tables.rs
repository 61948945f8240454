//! The tables of the report.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::Outcome;
use super::document::Block;
use super::gaps;
use super::published::{ALICE, FIGURES};
use crate::lab::{Cause, Raw};
use crate::results::{Row, find};
use crate::stats::spread;
use crate::systems::System;
use crate::table::{against, quantity};

/// What was published of experiments of which only plots are left.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "E4: one server against Cassandra 2.0.4 (replication 1, level ONE), 10 to 45 clients",
        "published as plots only: Jungle (which kept nothing on disk) faster in reads, and at \
         least 2 × on average in writes",
    ),
    (
        "E5: 10, 20 and 30 servers, a client each, against Cassandra at ONE and at QUORUM",
        "published as plots only: flat as servers grow, more than 3 × as fast as QUORUM in some \
         reads",
    ),
];

/// The machine, the programs, the commands and the circumstances.
pub fn conditions(raws: &[Raw], blocks: &mut Vec<Block>) {
    let mut facts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut commands = BTreeSet::new();
    for raw in raws {
        for (name, value) in raw.machine.rows() {
            facts.entry(name.to_owned()).or_default().insert(value);
        }
        for (name, value) in &raw.versions {
            versions.entry(name.clone()).or_default().insert(value.clone());
        }
        commands.insert(raw.command.clone());
    }
    let is_one = |all: &BTreeMap<String, BTreeSet<String>>| all.values().all(|all| all.len() == 1);
    blocks.push(Block::Heading("Machine, programs, commands".to_owned()));
    if !is_one(&facts) || !is_one(&versions) {
        blocks.push(Block::Text(
            "These figures were not all taken on one machine by the same programs: do not hold \
             them against each other where the tables below have several values."
                .to_owned(),
        ));
    }
    blocks.push(Block::Table(vec!["machine", ""], pairs(facts)));
    blocks.push(Block::Table(vec!["program", "version"], pairs(versions)));
    let command =
        |command: String| format!("`cargo run --release -p jungle-bench` with: {command}");
    blocks.push(Block::List(commands.into_iter().map(command).collect()));
    blocks.push(Block::Text(
        "Load: how many processes wanted to run in the minute before, on average, the experiment \
         before it included. Where that is far more than there are cores, others worked too: trust \
         no rate then, and the ratios little."
            .to_owned(),
    ));
    let head = vec![
        "experiment",
        "taken",
        "processor",
        "revision",
        "scheduling",
        "seconds",
        "load before",
        "figures",
        "left out",
    ];
    let row = |raw: &Raw| {
        vec![
            raw.experiment.clone(),
            raw.conditions.taken.clone(),
            raw.machine.processor.clone(),
            raw.revision().to_owned(),
            raw.conditions.scheduling.as_deref().unwrap_or("not recorded").to_owned(),
            format!("{:.0}", raw.conditions.seconds),
            raw.conditions.load.map_or("–".to_owned(), |load| format!("{load:.2}")),
            raw.rows.len().to_string(),
            raw.left_out.len().to_string(),
        ]
    };
    blocks.push(Block::Table(head, raws.iter().map(row).collect()));
}

fn pairs(all: BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let row = |(name, values): (String, BTreeSet<String>)| {
        vec![name, values.into_iter().collect::<Vec<_>>().join(" / ")]
    };
    all.into_iter().map(row).collect()
}

/// Every bar.
pub fn bars(outcomes: &[Outcome]) -> Block {
    let row = |outcome: &Outcome| {
        vec![
            outcome.part.to_owned(),
            outcome.what.clone(),
            outcome.least.clone(),
            outcome.measured.clone(),
            outcome.state.name().to_owned(),
        ]
    };
    let rows = outcomes.iter().map(row).collect();
    Block::Table(vec!["part", "what", "at least", "measured", "bar"], rows)
}

/// Every figure.
pub fn experiments(raws: &[Raw], blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading("All figures".to_owned()));
    for raw in raws.iter().filter(|raw| !raw.rows.is_empty()) {
        blocks.push(Block::Part(raw.experiment.clone()));
        blocks.push(Block::Text(format!("{}.", raw.source())));
        let head =
            vec!["case", "threads", "system", "median", "min – max", "rounds", "jungle / it"];
        let row = |row: &Row| {
            let (low, high) = spread(&row.samples);
            vec![
                row.case.to_owned(),
                row.threads.to_string(),
                row.system.name().to_owned(),
                quantity(row.value, row.unit),
                format!("{} – {}", quantity(low, row.unit), quantity(high, row.unit)),
                row.samples.len().to_string(),
                against(row, &raw.rows),
            ]
        };
        blocks.push(Block::Table(head, raw.rows.iter().map(row).collect()));
    }
}

/// What others published, beside ours where there is something to put beside it.
pub fn published(raws: &[Raw], blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading("Published figures".to_owned()));
    let alice = raws.iter().find(|raw| raw.experiment == "alice");
    let source = alice.map_or("not measured".to_owned(), Raw::source);
    blocks.push(Block::Text(format!("E6, {ALICE}; ours: {source}.")));
    let rows: &[Row] = alice.map_or(&[], |raw| &raw.rows);
    let milliseconds = |microseconds: f64| format!("{:.2} ms", microseconds / 1e3);
    let row = |figure: &super::published::Figure| {
        let (case, times) = figure.ours;
        let found = find(rows, ("alice", case), System::Jungle, 2);
        let ours = found.map(|row| milliseconds(times * row.value / figure.units));
        let [before, after] = figure.published.map(milliseconds);
        let ours = ours.unwrap_or_else(|| "not measured".to_owned());
        vec![figure.what.to_owned(), before, after, ours, format!("alice {case}")]
    };
    let head = vec!["what", "published before", "published after", "ours", "case"];
    blocks.push(Block::Table(head, FIGURES.iter().map(row).collect()));
    let lines = ELSEWHERE.iter().map(|(what, published)| format!("{what}: {published}"));
    blocks.push(Block::List(lines.collect()));
}

/// Everything that is not there, and how to get it.
pub fn not_measured(raws: &[Raw], unread: &[String], blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading("Not measured".to_owned()));
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for raw in raws {
        for left in &raw.left_out {
            if left.cause == Cause::Missing {
                let line = format!("{}: {}", left.system, left.why);
                missing.entry(line).or_default().push(&raw.experiment);
            } else {
                let line = format!("{}: {}", raw.experiment, left.reason());
                others.entry(line).or_default().push(left.what());
            }
        }
    }
    let missing = missing.into_iter().map(|(line, of)| format!("{line} (for {})", of.join(", ")));
    let others = others.into_iter().map(|(line, of)| format!("{line} ({})", of.join("; ")));
    let gaps = gaps::lines(raws);
    let has_gaps = !gaps.is_empty();
    let all = missing.chain(unread.iter().cloned()).chain(others).chain(gaps);
    let all: Vec<String> = all.collect();
    blocks.push(match all.is_empty() {
        true => Block::Text("Everything was measured.".to_owned()),
        false => Block::List(all),
    });
    if has_gaps {
        blocks.push(Block::Text(
            "What was not there yet, or not asked for, comes with all of its experiment: `cargo \
             run --release -p jungle-bench -- EXPERIMENT --report DIR --again`."
                .to_owned(),
        ));
    }
}
