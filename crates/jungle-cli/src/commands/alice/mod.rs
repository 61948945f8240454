//! `jungle alice`: trying out Alice on this machine, and looking at what runs.

mod draw;
mod engine;
mod node;
mod top;
mod up;

use std::path::{Path, PathBuf};

use alice_nats::{ConnectOptions, Engine, Graph, JoinError, NotReceived, Options, Shape, Topology};
use clap::Subcommand;

use crate::context::Context;
use crate::failure::{Exit, Failure, failed};

/// Try out Alice, and look at nodes that run
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Up(up::Args),
    Top(top::Args),
    Draw(draw::Args),
    Node(node::Args),
    #[command(hide = true)]
    Engine(engine::Args),
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    match &args.command {
        Command::Up(args) => up::run(args, context),
        Command::Top(args) => top::run(args, context),
        Command::Draw(args) => draw::run(args, context),
        Command::Node(args) => node::run(args),
        Command::Engine(args) => engine::run(args),
    }
}

/// Which engine, and what is said to it.
#[derive(clap::Args)]
struct Connect {
    /// Where the engine is: an address, or several with commas between them
    #[arg(long, value_name = "ADDRESS", env = "ALICE_ENGINE")]
    #[arg(default_value = "nats://127.0.0.1:4222")]
    engine: String,
    /// Labels and topologies mean something within a space only
    #[arg(long, value_name = "NAME", default_value = "default")]
    space: String,
    /// On how many of the engine's servers labels and durable queues are kept: as those who use
    /// the space say
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    replicas: usize,
    /// The file with the credentials for the engine
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
}

impl Connect {
    fn connect(&self) -> Result<Engine, Failure> {
        let mut client = ConnectOptions::new().name("jungle alice");
        if let Some(file) = &self.creds {
            let read = std::fs::read_to_string(file);
            let read = read.and_then(|creds| client.credentials(&creds));
            client = read.map_err(|error| {
                Failure::new(Exit::Error, format_args!("cannot use {}: {error}", file.display()))
            })?;
        }
        let (space, replicas) = (self.space.clone(), self.replicas);
        let options = Options { client, space, replicas, ..Options::default() };
        Engine::connect(&self.engine, options).map_err(|error| {
            let exit = if error.is_away() { Exit::Unreachable } else { Exit::Error };
            Failure::of(exit, &error).with_hint(
                "`jungle alice up` starts an engine and says where it is; give that as --engine",
            )
        })
    }
}

/// A topology as it is told: a shape, or a file that has a graph.
fn topology(told: &str) -> Result<(Topology, Option<Graph>), Failure> {
    if let Ok(shape) = told.parse::<Shape>() {
        return Ok((Topology::growing(&name_of(told), shape), None));
    }
    let graph = graph_in(told)?;
    Ok((Topology::fixed(&name_of(told), graph.clone()), Some(graph)))
}

/// The graph in a file; what is told is no shape.
pub(crate) fn graph_in(file: &str) -> Result<Graph, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format_args!("{file:?} is no shape, and no file with a graph: {error}"))
            .with_hint("shapes are star, ring, tree, tree:3 and so on, and mesh")
    })?;
    Graph::parse(&text).map_err(|error| Failure::new(Exit::Error, format_args!("{file}: {error}")))
}

/// What a topology is called: as its shape, or as its file.
fn name_of(told: &str) -> String {
    if let Ok(shape) = told.parse::<Shape>() {
        return shape.to_string();
    }
    let stem = Path::new(told).file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

fn not_joined(error: JoinError) -> Failure {
    failed(error)
}

fn not_received(error: NotReceived) -> Failure {
    failed(error)
}
