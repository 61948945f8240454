//! `jungle cluster up`: an engine and servers on this machine, with one command.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::config::write_for;
use super::sites::{Site, sites};
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::output::{Format, json_line, say, stdout};
use crate::tryout::{DOMAIN, Ends, Folder, Leashed, domain_of, find, start_engine};

const HELP: &str = "\
It starts nats-server and `jungle serve`, each a process of its own, and prints where they are. \
Write on one server and read on another; kill one, of the engine's too, and go on: as long as most \
of the engine's run. An interrupt ends all of them, and \
what they kept is gone then. So does the end of this command, however it ends; where it is killed, \
what they kept goes with the next one that is started.";

/// Start an engine and some servers on this machine
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// How many servers of Jungle; a graph in a file has its own
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=16))]
    servers: u16,
    /// How the servers reach the engine, which is at the first of them: star, ring, tree, tree:3,
    /// mesh, or a file in Graphviz's language. Each other one has a leaf node of the engine, which
    /// is connected with that of a neighbour [default: all reach it directly]
    #[arg(long, value_name = "SHAPE")]
    topology: Option<String>,
    /// The leaf nodes keep copies of the log, which the servers follow
    #[arg(long, requires = "topology")]
    mirrors: bool,
    /// How many servers the engine has, each of which keeps the log; of three, one may be lost
    #[arg(long, value_name = "COUNT", default_value = "3", value_parser = ["1", "3", "5"])]
    engine_servers: String,
    /// The program of the engine's servers [default: the first on the PATH]
    #[arg(long, value_name = "FILE", env = "NATS_SERVER")]
    nats_server: Option<PathBuf>,
    /// The engine's servers promise before they sync: quicker, and when the power goes everywhere
    /// at once, up to two minutes are lost
    #[arg(long)]
    unsynced: bool,
    /// The servers take commits at level local as well: done there at once, in the log later
    #[arg(long)]
    local: bool,
    /// Write, before they start, the files for real machines of the servers' names into this
    /// folder, as `jungle cluster config` does, which says more of them. The engine is on all of
    /// these machines, or with --topology on the first
    #[arg(long, value_name = "DIR")]
    config: Option<PathBuf>,
}

/// How often it is looked whether all of them run.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    engine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<String>,
    replicas: String,
    servers: Vec<ToldServer>,
    /// Where the files for real machines are, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<String>,
}

#[derive(Serialize)]
struct ToldServer {
    name: String,
    /// Through whom it reaches the engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<String>,
    url: String,
    process: u32,
}

/// What a server tells of itself first.
#[derive(Deserialize)]
struct Serving {
    url: String,
}

pub(super) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let ends = Ends::listen()?;
    let names: Vec<String> = (0..args.servers).map(|number| format!("s{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sites = match &args.topology {
        Some(topology) => sites(topology, &names)?,
        None => sites_without(&names),
    };
    if let Some(dir) = &args.config {
        write_for(dir, &sites, args.mirrors)?;
    }
    let program = find(args.nats_server.as_deref())?;
    let folder = Folder::new("jungle-cluster-up")?;
    let (mut engine, places) = start_sites(&program, &sites, args)?;
    let mut running: Vec<(String, Leashed)> = Vec::new();
    for (at, site) in sites.iter().enumerate() {
        let address = places.get(at).unwrap_or(&places[0]);
        let mirror = site.through.filter(|_| args.mirrors).map(|_| domain_of(at));
        let server = start_server((&site.name, mirror), &folder, address, args)?;
        running.push((site.name.clone(), server));
    }
    let mut servers = Vec::new();
    for ((name, server), site) in running.iter_mut().zip(&sites) {
        let told: Serving = serde_json::from_str(&server.first_line()?).map_err(failed)?;
        let (name, process) = (name.clone(), server.process());
        let through = site.through.map(|at| sites[at].name.clone());
        servers.push(ToldServer { name, through, url: told.url, process });
    }
    let (engine_at, replicas) = (places[0].clone(), args.engine_servers.clone());
    let (topology, config) = (args.topology.clone(), args.config.as_deref());
    let config = config.map(|dir| dir.display().to_string());
    let told = Told { engine: engine_at, topology, replicas, servers, config };
    tell(&told, args.unsynced, context.format)?;
    while !ends.within(LOOK_AGAIN) {
        if engine.has_ended() {
            return Err(Failure::new(Exit::Error, "the engine has ended"));
        }
        while let Some(at) = running.iter_mut().position(|(_, server)| server.has_ended()) {
            say(format_args!("{} has ended", running.remove(at).0));
        }
    }
    // All at once, and then each is waited for; before the engine, so that none misses it.
    running.iter_mut().for_each(|(_, server)| server.let_go());
    drop(running);
    drop(engine);
    Ok(())
}

/// All where the engine is.
fn sites_without(names: &[&str]) -> Vec<Site> {
    names.iter().map(|name| Site { name: (*name).to_owned(), through: None }).collect()
}

/// The engine, and a leaf node for each site but the first, if they reach it through others.
fn start_sites(
    program: &Path,
    sites: &[Site],
    args: &Args,
) -> Result<(Leashed, Vec<String>), Failure> {
    let relays: Vec<String> =
        sites.iter().filter_map(|site| site.through).map(|at| at.to_string()).collect();
    let relays = relays.join(",");
    let mut more: Vec<&str> = Vec::new();
    if !args.unsynced {
        more.push("--sync");
    }
    if !relays.is_empty() {
        more.extend(["--relays", &relays]);
        more.extend(args.mirrors.then_some("--mirrors"));
    }
    start_engine(program, &args.engine_servers, &more)
}

fn start_server(
    (name, mirror): (&str, Option<String>),
    folder: &Path,
    addresses: &str,
    args: &Args,
) -> Result<Leashed, Failure> {
    let replicas = &args.engine_servers;
    let unsynced: &[&str] = if args.unsynced { &["--cluster-unsynced"] } else { &[] };
    let data = folder.join(name);
    let data = data.to_string_lossy();
    let place = ["--data", &data, "--listen", "127.0.0.1:0", "--json", "--log", "warn"];
    let engine = ["--cluster", addresses, "--cluster-domain", DOMAIN, "--replicas", replicas];
    let local: &[&str] = if args.local { &["--local"] } else { &[] };
    let mirror = mirror.as_ref().map(|domain| ["--cluster-mirror", domain.as_str()]);
    let mirror = mirror.as_ref().map_or(&[][..], |mirror| mirror);
    let cluster = [&engine[..], &["--server-name", name], local, mirror].concat();
    Leashed::start(&[&["serve", "--leash"], &place[..], &cluster[..], unsynced].concat())
}

fn tell(told: &Told, is_unsynced: bool, format: Format) -> Result<(), Failure> {
    let mut out = stdout();
    match format {
        Format::Json => json_line(&mut out, told)?,
        Format::Text => {
            let Told { engine, replicas, servers, config, .. } = told;
            writeln!(out, "engine  {engine}")?;
            for ToldServer { name, through, url, process } in servers {
                let through = through.as_ref().map(|name| format!(", through {name}"));
                let through = through.unwrap_or_default();
                let pages = format_args!("{url}/boards  {url}/explorer/");
                writeln!(out, "{name:<7} {pages}  (process {process}{through})")?;
            }
            writeln!(out, "look    jungle cluster status --cluster {engine}")?;
            let unsynced = if is_unsynced { " --cluster-unsynced" } else { "" };
            let cluster = format_args!("--cluster {engine} --replicas {replicas}{unsynced}");
            writeln!(out, "add     jungle serve --data DIR {cluster}")?;
            if let Some(dir) = config {
                writeln!(out, "config  {dir}: README.md there says what goes where")?;
            }
            let stays = if config.is_some() { "nothing else" } else { "nothing" };
            writeln!(out, "An interrupt (Ctrl-C) ends all of it, and {stays} of it is kept.")?;
        }
    }
    // Whoever waits for it wants it now.
    Ok(out.flush()?)
}
