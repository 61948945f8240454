//! `jungle alice up`: servers and nodes on this machine, with one command.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use alice_nats::{Engine, Options};
use serde::Serialize;

use super::{name_of, not_joined, topology};
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::output::{Format, json_line, say, stdout};
use crate::tryout::{Ends, Leashed, find, start_engine};

const HELP: &str = "\
It starts nats-server and the nodes, each a process of its own, and prints where they are. Kill \
one, or start another (`jungle alice node`), and see its neighbours change. An interrupt ends all \
of them; so does the end of this command, however it ends.";

/// Start servers of the engine and some nodes on this machine
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// How many nodes; a graph in a file has its own
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    nodes: u16,
    /// Who knows whom: star, ring, tree, tree:3, mesh, or a file in Graphviz's language
    #[arg(long, value_name = "SHAPE", default_value = "ring")]
    topology: String,
    /// How many servers the engine has; of three, one may be lost
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = ["1", "3", "5"])]
    servers: String,
    /// The program of the servers [default: the first on the PATH]
    #[arg(long, value_name = "FILE", env = "NATS_SERVER")]
    nats_server: Option<PathBuf>,
    /// How many milliseconds lie between two pulses of a node
    #[arg(long, value_name = "MS", default_value_t = 200)]
    every: u64,
}

/// How long the nodes may take to find each other.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How often it is looked whether all of them run.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    engine: String,
    replicas: String,
    topology: String,
    nodes: Vec<ToldNode>,
}

#[derive(Serialize)]
struct ToldNode {
    name: String,
    process: u32,
}

pub(super) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let ends = Ends::listen()?;
    let (_, graph) = topology(&args.topology)?;
    let names = match graph {
        Some(graph) => graph.names().to_vec(),
        None => (0..args.nodes).map(|number| format!("n{number}")).collect(),
    };
    let program = find(args.nats_server.as_deref())?;
    let (mut servers, addresses) = start_engine(&program, &args.servers, &[])?;
    let addresses = addresses.concat();
    let mut nodes = Vec::new();
    for name in &names {
        nodes.push(start_node(args, name, &addresses)?);
    }
    if !wait_for(&addresses, args, &names, &ends)? {
        return Ok(());
    }
    let told = names.iter().zip(&nodes);
    let told = told.map(|(name, node)| ToldNode { name: name.clone(), process: node.process() });
    let (topology, replicas) = (name_of(&args.topology), args.servers.clone());
    let told = Told { engine: addresses, replicas, topology, nodes: told.collect() };
    tell(&told, &args.topology, context.format)?;
    let mut names: Vec<&String> = names.iter().collect();
    while !ends.within(LOOK_AGAIN) {
        if servers.has_ended() {
            return Err(Failure::new(Exit::Error, "the engine has ended"));
        }
        while let Some(at) = nodes.iter_mut().position(Leashed::has_ended) {
            say(format_args!("{} has ended", names.remove(at)));
            nodes.remove(at);
        }
    }
    // All at once, and then each is waited for.
    nodes.iter_mut().for_each(Leashed::let_go);
    Ok(())
}

fn start_node(args: &Args, name: &str, addresses: &str) -> Result<Leashed, Failure> {
    let every = args.every.to_string();
    let told = ["--engine", addresses, "--replicas", &args.servers, "--topology", &args.topology];
    Leashed::start(&[&["alice", "node", name, "--leash", "--every", &every], &told[..]].concat())
}

/// Waits until all are there; false when the end came first.
fn wait_for(addresses: &str, args: &Args, names: &[String], ends: &Ends) -> Result<bool, Failure> {
    let replicas = args.servers.parse().expect("one of the possible values");
    let options = Options { replicas, ..Options::default() };
    let engine = Engine::connect(addresses, options).map_err(failed)?;
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        let there = engine.labels().map_err(not_joined)?;
        let missing: Vec<&str> =
            names.iter().filter(|name| !there.contains(name)).map(String::as_str).collect();
        if missing.is_empty() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            let missing = missing.join(", ");
            return Err(Failure::new(Exit::Error, format_args!("not there in time: {missing}")));
        }
        if ends.within(LOOK_AGAIN) {
            return Ok(false);
        }
    }
}

fn tell(told: &Told, shape: &str, format: Format) -> Result<(), Failure> {
    let mut out = stdout();
    match format {
        Format::Json => json_line(&mut out, told)?,
        Format::Text => {
            let Told { engine, replicas, topology, nodes } = told;
            writeln!(out, "engine  {engine}")?;
            let node = |node: &ToldNode| format!("{} ({})", node.name, node.process);
            let nodes: Vec<String> = nodes.iter().map(node).collect();
            writeln!(out, "nodes   {} (and their processes)", nodes.join(" "))?;
            let replicas = match replicas.as_str() {
                "1" => String::new(),
                count => format!(" --replicas {count}"),
            };
            let options = format!("--engine {engine}{replicas}");
            writeln!(out, "look    jungle alice top {options}")?;
            writeln!(out, "draw    jungle alice draw {options} > {topology}.svg")?;
            writeln!(out, "add     jungle alice node {options} --topology {shape} NAME")?;
            writeln!(out, "An interrupt (Ctrl-C) ends all of it.")?;
        }
    }
    // Whoever waits for it wants it now.
    Ok(out.flush()?)
}
