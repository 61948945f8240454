//! `jungle alice top`: queues, who waits for what, and how much comes through.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::thread;
use std::time::{Duration, Instant};

use ::alice::NodeStatus;
use alice_nats::{DurableStatus, Engine};
use serde::Serialize;

use super::{Connect, not_joined, not_received};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Format, count, json_line, stdout};

const HELP: &str = "\
PUT is how many data segments were ever put under a key, PUT/S how many came in the last second. \
On a terminal it goes on until it is interrupted; else it looks once.";

/// Show live queues, waiting code segments and why they wait, and throughput
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    connect: Connect,
    /// How many milliseconds lie between two looks
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Look so often [default: once, but without end on a terminal]
    #[arg(long, value_name = "COUNT")]
    rounds: Option<u64>,
}

/// What is told of one look; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    nodes: Vec<ToldNode>,
    durable: Vec<ToldDurable>,
}

#[derive(Serialize)]
struct ToldNode {
    node: String,
    queues: Vec<ToldQueue>,
    waiting: Vec<ToldWaiting>,
}

#[derive(Serialize)]
struct ToldQueue {
    key: String,
    segments: usize,
    put: u64,
    put_per_second: f64,
    displaced: u64,
}

#[derive(Serialize)]
struct ToldWaiting {
    name: String,
    waits_for: Vec<String>,
}

#[derive(Serialize)]
struct ToldDurable {
    label: String,
    key: String,
    segments: u64,
    in_hand: u64,
    waiting: u64,
}

/// What there is, and when.
struct Look {
    at: Instant,
    nodes: BTreeMap<String, NodeStatus>,
    durable: Vec<DurableStatus>,
}

pub(super) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let engine = args.connect.connect()?;
    let is_live = context.format == Format::Text && std::io::stdout().is_terminal();
    let rounds = args.rounds.unwrap_or(if is_live { u64::MAX } else { 1 });
    let mut before = Look::at(&engine)?;
    for _ in 0..rounds {
        thread::sleep(Duration::from_millis(args.every));
        let now = Look::at(&engine)?;
        let told = told(&before, &now);
        let mut out = stdout();
        match context.format {
            Format::Json => json_line(&mut out, &told)?,
            Format::Text => {
                if is_live {
                    // From the top left, over what was there.
                    write!(out, "\x1b[H\x1b[J")?;
                }
                print(&mut out, &told)?;
            }
        }
        out.flush()?;
        before = now;
    }
    Ok(())
}

impl Look {
    fn at(engine: &Engine) -> Result<Look, Failure> {
        let mut nodes = BTreeMap::new();
        for label in engine.labels().map_err(not_joined)? {
            // One that is gone meanwhile is not there.
            if let Ok(status) = engine.peer(&label).status() {
                nodes.insert(label, status);
            }
        }
        let durable = engine.durable_queues().map_err(not_received)?;
        Ok(Look { at: Instant::now(), nodes, durable })
    }
}

fn told(before: &Look, now: &Look) -> Told {
    let seconds = (now.at - before.at).as_secs_f64();
    let node = |(name, status): (&String, &NodeStatus)| {
        let old = before.nodes.get(name);
        let queues = status.queues.iter().map(|queue| {
            let old = old.and_then(|old| old.queues.iter().find(|old| old.name == queue.name));
            // One that has returned counts from the beginning.
            let put = queue.newest.checked_sub(old.map_or(0, |old| old.newest));
            ToldQueue {
                key: queue.name.clone(),
                segments: queue.segments,
                put: queue.newest,
                put_per_second: put.unwrap_or(queue.newest) as f64 / seconds,
                displaced: queue.displaced,
            }
        });
        let waiting = status.waiting.iter().map(|waiting| ToldWaiting {
            name: waiting.name.clone(),
            waits_for: waiting.missing().map(str::to_owned).collect(),
        });
        ToldNode { node: name.clone(), queues: queues.collect(), waiting: waiting.collect() }
    };
    let durable = now.durable.iter().map(|queue| ToldDurable {
        label: queue.label.clone(),
        key: queue.key.clone(),
        segments: queue.segments,
        in_hand: queue.in_hand,
        waiting: queue.waiting,
    });
    Told { nodes: now.nodes.iter().map(node).collect(), durable: durable.collect() }
}

fn print(out: &mut impl Write, told: &Told) -> std::io::Result<()> {
    let queues = told.nodes.iter().flat_map(|node| &node.queues);
    let through: f64 = queues.map(|queue| queue.put_per_second).sum();
    let nodes = count(told.nodes.len() as u64, "node");
    let durable = count(told.durable.len() as u64, "durable queue");
    writeln!(out, "{nodes}, {durable}, {through:.1} segments/s")?;
    writeln!(out)?;
    writeln!(out, "{:<16} {:<24} {:>8} {:>10} {:>8}", "NODE", "KEY", "SEGMENTS", "PUT", "PUT/S")?;
    for node in &told.nodes {
        // A queue in which nothing ever was says nothing.
        for queue in node.queues.iter().filter(|queue| queue.put > 0) {
            let (name, key) = (plain(&node.node), plain(&queue.key));
            let ToldQueue { segments, put, put_per_second, .. } = queue;
            writeln!(out, "{name:<16} {key:<24} {segments:>8} {put:>10} {put_per_second:>8.1}")?;
        }
    }
    if told.nodes.iter().any(|node| !node.waiting.is_empty()) {
        writeln!(out)?;
        writeln!(out, "{:<16} {:<24} FOR", "NODE", "WAITS")?;
    }
    for node in &told.nodes {
        for waiting in &node.waiting {
            let (name, who) = (plain(&node.node), plain(&waiting.name));
            let missing: Vec<String> = waiting.waits_for.iter().map(|name| plain(name)).collect();
            let why = if missing.is_empty() { "its turn".to_owned() } else { missing.join(", ") };
            writeln!(out, "{name:<16} {who:<24} {why}")?;
        }
    }
    print_durable(out, &told.durable)
}

fn print_durable(out: &mut impl Write, durable: &[ToldDurable]) -> std::io::Result<()> {
    if durable.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heads = ["LABEL", "DURABLE KEY", "SEGMENTS", "IN HAND", "TAKERS"];
    writeln!(
        out,
        "{:<16} {:<24} {:>8} {:>10} {:>8}",
        heads[0], heads[1], heads[2], heads[3], heads[4]
    )?;
    for queue in durable {
        let (label, key) = (plain(&queue.label), plain(&queue.key));
        let ToldDurable { segments, in_hand, waiting, .. } = queue;
        writeln!(out, "{label:<16} {key:<24} {segments:>8} {in_hand:>10} {waiting:>8}")?;
    }
    Ok(())
}

/// Without what would move the cursor.
fn plain(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}
