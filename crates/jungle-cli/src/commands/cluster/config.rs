//! `jungle cluster config`: the files with which a cluster runs on real machines.

use std::convert::Infallible;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;

use super::sites::{Site, sites};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Format, json_line, notice};

const HELP: &str = "\
For each machine a folder with the engine's configuration, units for systemd and a file for \
containers; README.md beside them says what goes where. All is encrypted, and who has no \
certificate of the cluster's own authority gets in nowhere.";

/// The cluster's name if none is said.
const NAME: &str = "jungle";
/// Where the certificates are if that is not said.
const TLS: &str = "/etc/jungle/tls";

/// Write the configuration files for real machines
#[derive(Clone, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The folder for the files, made if it is not there
    dir: PathBuf,
    /// The name of a machine, as the others find it; once for each of them: one, three or five
    #[arg(long = "host", value_name = "NAME", required = true)]
    hosts: Vec<String>,
    /// A machine more that keeps no part of the log and reaches it through a leaf node of the
    /// engine, once for each; NAME=OTHER is connected with the leaf node of that one
    #[arg(long = "leaf", value_name = "NAME[=OTHER]")]
    leaves: Vec<Leaf>,
    /// How the leaf nodes are connected, with the first --host as the first: star, ring, tree,
    /// tree:3 or mesh of the --leaf machines, or a file in Graphviz's language that names all
    /// [default: as each --leaf says]
    #[arg(long, value_name = "SHAPE")]
    topology: Option<String>,
    /// A --leaf that keeps a copy of the log, which comes over the link to it once: its server
    /// follows that, and so do those of all leaves that are connected through it
    #[arg(long = "mirror", value_name = "NAME")]
    mirrors: Vec<String>,
    /// The cluster's name
    #[arg(long, value_name = "NAME", default_value = NAME)]
    name: String,
    /// Where each machine has its certificates
    #[arg(long, value_name = "FOLDER", default_value = TLS)]
    tls: String,
}

/// A machine without a part of the log.
#[derive(Clone)]
struct Leaf {
    name: String,
    /// Another leaf, which it is connected with.
    through: Option<String>,
}

impl FromStr for Leaf {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Leaf, Infallible> {
        let (name, through) = match text.split_once('=') {
            Some((name, through)) => (name, Some(through.to_owned())),
            None => (text, None),
        };
        Ok(Leaf { name: name.to_owned(), through })
    }
}

const NATS: &str = include_str!("templates/nats.conf");
const LEAF: &str = include_str!("templates/leaf.conf");
const PER_HOST: [(&str, &str); 3] = [
    ("nats.service", include_str!("templates/nats.service")),
    ("jungle.service", include_str!("templates/jungle.service")),
    ("compose.yaml", include_str!("templates/compose.yaml")),
];
const ROUTES: &str = include_str!("templates/routes.conf");
const LEAFNODES: &str = include_str!("templates/leafnodes.conf");
const MIRROR: &str = include_str!("templates/mirror.conf");
const README: &str = include_str!("templates/README.md");

#[derive(Serialize)]
struct Told {
    files: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let told = write_all(&Args { leaves: leaves(args)?, ..args.clone() })?;
    let mut out = notice();
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => told.files.iter().try_for_each(|file| writeln!(out, "{file}"))?,
    }
    Ok(out.flush()?)
}

/// Writes them for machines that are called as these sites: the engine is on those that reach it
/// directly, and the others have leaf nodes.
pub(super) fn write_for(dir: &Path, sites: &[Site], has_mirrors: bool) -> Result<(), Failure> {
    let engine = sites.iter().filter(|site| site.through.is_none());
    let hosts = engine.map(|site| site.name.clone()).collect();
    let leaves = leaves_at(sites);
    let mirrors = leaves.iter().filter(|_| has_mirrors).map(|leaf| leaf.name.clone()).collect();
    let (dir, name, tls) = (dir.to_owned(), NAME.to_owned(), TLS.to_owned());
    write_all(&Args { dir, hosts, leaves, topology: None, mirrors, name, tls }).map(drop)
}

fn write_all(args: &Args) -> Result<Told, Failure> {
    check(args)?;
    let mut told = Told { files: Vec::new() };
    write(&args.dir.join("README.md"), &fill(README, args, ""), &mut told)?;
    let hosts = args.hosts.iter().map(|host| (host, NATS));
    for (host, nats) in hosts.chain(args.leaves.iter().map(|leaf| (&leaf.name, LEAF))) {
        for (name, template) in [("nats.conf", nats)].into_iter().chain(PER_HOST) {
            write(&args.dir.join(host).join(name), &fill(template, args, host), &mut told)?;
        }
    }
    Ok(told)
}

/// The leaves, each with the one that it is connected with.
fn leaves(args: &Args) -> Result<Vec<Leaf>, Failure> {
    let Some(topology) = &args.topology else { return Ok(args.leaves.clone()) };
    if let Some(leaf) = args.leaves.iter().find(|leaf| leaf.through.is_some()) {
        let name = &leaf.name;
        return Err(Failure::usage(format_args!("--topology says what {name} is connected with"))
            .with_hint("leave out what is behind the `=`"));
    }
    let first = &args.hosts[0];
    let names: Vec<&str> = args.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    let sites = sites(topology, &[&[first.as_str()], &names[..]].concat())?;
    let Some(engine) = sites.first() else { return Ok(Vec::new()) };
    if engine.name != *first {
        let name = &engine.name;
        return Err(Failure::usage(format_args!("the first of the graph is {name}, not {first}"))
            .with_hint("the engine is there: name it as the first --host"));
    }
    let all = leaves_at(&sites);
    match names.iter().find(|name| !all.iter().any(|leaf| leaf.name == **name)) {
        None => Ok(all),
        Some(name) => Err(Failure::usage(format_args!("{name} is not in the graph"))),
    }
}

/// The leaves of these sites. What is connected with the first one is connected with the engine.
fn leaves_at(sites: &[Site]) -> Vec<Leaf> {
    let leaf = |site: &Site| {
        let at = site.through?;
        let through = (at > 0).then(|| sites[at].name.clone());
        Some(Leaf { name: site.name.clone(), through })
    };
    sites.iter().filter_map(leaf).collect()
}

/// What is put into files of several languages must mean nothing in any of them.
fn check(args: &Args) -> Result<(), Failure> {
    let plain = |text: &str, more: &str| {
        let fits = |char: char| char.is_ascii_alphanumeric() || more.contains(char);
        !text.is_empty() && text.len() <= 253 && text.chars().all(fits)
    };
    let leaves = args.leaves.iter().map(|leaf| &leaf.name);
    let mut machines: Vec<&String> = args.hosts.iter().chain(leaves).collect();
    if let Some(host) = machines.iter().find(|host| !plain(host, ".-") || host.starts_with('.')) {
        return Err(Failure::usage(format_args!("{host:?} is no name of a machine")));
    }
    if !plain(&args.name, "-_") || args.name.len() > 64 {
        let name = &args.name;
        return Err(Failure::usage(format_args!("{name:?} is no name of a cluster"))
            .with_hint("it takes 1 to 64 letters, digits, `-` and `_`"));
    }
    if !plain(&args.tls, "/.-_") {
        return Err(Failure::usage(format_args!("{:?} is no plain path", args.tls)));
    }
    let count = machines.len();
    machines.sort();
    machines.dedup();
    if machines.len() != count {
        return Err(Failure::usage("a machine is named twice"));
    }
    if !matches!(args.hosts.len(), 1 | 3 | 5) {
        let count = args.hosts.len();
        return Err(Failure::usage(format_args!("{count} machines are not one, three or five"))
            .with_hint("of three one may be lost, of five two; four are no better than three"));
    }
    check_leaves(&args.leaves)?;
    check_mirrors(args)
}

/// Each leads to the log, over leaves that were named before it.
fn check_leaves(leaves: &[Leaf]) -> Result<(), Failure> {
    let unknown = leaves.iter().enumerate().find_map(|(at, leaf)| {
        let through = leaf.through.as_ref()?;
        let is_known = leaves[..at].iter().any(|earlier| earlier.name == *through);
        (!is_known).then_some((&leaf.name, through))
    });
    match unknown {
        None => Ok(()),
        Some((name, through)) => {
            Err(Failure::usage(format_args!("{name} is to reach the log through {through:?}"))
                .with_hint("name that one as a --leaf before it"))
        }
    }
}

/// Each is at a leaf, and has a domain of its own.
fn check_mirrors(args: &Args) -> Result<(), Failure> {
    let is_leaf = |name: &&String| args.leaves.iter().any(|leaf| leaf.name == **name);
    if let Some(name) = args.mirrors.iter().find(|name| !is_leaf(name)) {
        return Err(Failure::usage(format_args!("{name:?} is no leaf that could have a mirror"))
            .with_hint("the other machines have the log itself; name it as a --leaf as well"));
    }
    let mut domains: Vec<String> = args.mirrors.iter().map(|name| domain_of(name)).collect();
    domains.push(args.name.clone());
    domains.sort();
    let twice = domains.windows(2).find(|two| two[0] == two[1]).map(|two| &two[0]);
    let long = domains.iter().find(|domain| domain.len() > 64);
    match twice.or(long) {
        None => Ok(()),
        Some(domain) => {
            Err(Failure::usage(format_args!("{domain:?} would be the domain of a mirror"))
                .with_hint("each needs its own, of at most 64 letters, after its machine's name"))
        }
    }
}

/// The engine's domain at a leaf: it may have no points.
fn domain_of(leaf: &str) -> String {
    leaf.replace('.', "-")
}

/// The nearest mirror on the way from a machine to the log.
fn mirror_of<'a>(args: &'a Args, host: &'a str) -> Option<&'a str> {
    let leaf = args.leaves.iter().find(|leaf| leaf.name == host)?;
    match args.mirrors.contains(&leaf.name) {
        true => Some(&leaf.name),
        false => mirror_of(args, leaf.through.as_deref()?),
    }
}

fn fill(template: &str, args: &Args, host: &str) -> String {
    let Args { hosts, leaves, name, tls, .. } = args;
    let list = |format: &dyn Fn(&String) -> String, of: &[String]| -> String {
        of.iter().map(format).collect::<Vec<_>>().join(", ")
    };
    let others: Vec<String> = hosts.iter().filter(|other| *other != host).cloned().collect();
    // Whom this machine's server of Jungle asks, and whom its leaf node.
    let (asked, through) = match leaves.iter().find(|leaf| leaf.name == host) {
        None => (hosts.clone(), Vec::new()),
        Some(Leaf { name, through: None }) => (vec![name.clone()], hosts.clone()),
        Some(Leaf { name, through: Some(other) }) => (vec![name.clone()], vec![other.clone()]),
    };
    let addresses: Vec<String> = asked.iter().map(|host| format!("tls://{host}:4222")).collect();
    let leaf_names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
    let all = [&hosts[..], &leaf_names].concat();
    let told_leaves = match leaf_names.as_slice() {
        [] => String::new(),
        leaves => format!(
            " And {}, with a leaf node of the engine each and a server of Jungle, which keep no \
             part of the log.",
            leaves.join(", ")
        ),
    };
    let survives = match hosts.len() {
        1 => "One machine is for trying out: what it loses is lost.".to_owned(),
        count => format!("Of the {count} machines {} may be lost, and commits go on.", count / 2),
    };
    let routes = if hosts.len() > 1 { ROUTES } else { "" };
    let leafnodes = if leaves.is_empty() { "" } else { LEAFNODES };
    let is_mirror = args.mirrors.iter().any(|mirror| mirror == host);
    let [jetstream, enabled] = if is_mirror { [MIRROR, "jetstream: enabled, "] } else { ["", ""] };
    let mirror = mirror_of(args, host).map(domain_of);
    let follow =
        |line: &str| mirror.as_ref().map_or(String::new(), |mirror| line.to_owned() + mirror);
    let parts = template
        .replace("\n{routes}\n", routes)
        .replace("{leafnodes}\n", leafnodes)
        .replace("{mirror}\n", jetstream);
    let facts = [
        ("{users}", list(&|host| format!("{{ user: \"{host}\" }}"), &all)),
        ("{through}", list(&|host| format!("\"tls://{host}:7422\""), &through)),
        ("{leaves}", told_leaves),
        ("{enabled}", enabled.to_owned()),
        ("{domain}", domain_of(host)),
        (" {follow}", follow(" --cluster-mirror ")),
        ("\n{follow-line}", follow("\n      - --cluster-mirror=")),
        ("{others}", list(&|host| format!("\"tls://{host}:6222\""), &others)),
        ("{addresses}", addresses.join(",")),
        ("{hosts}", hosts.join(", ")),
        ("{count}", hosts.len().to_string()),
        ("{survives}", survives),
        ("{tls}", tls.clone()),
        ("{name}", name.clone()),
        ("{host}", host.to_owned()),
    ];
    facts.iter().fold(parts, |text, (what, fact)| text.replace(what, fact))
}

fn write(file: &Path, text: &str, told: &mut Told) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Error, format_args!("cannot write {}: {error}", file.display()))
    };
    fs::create_dir_all(file.parent().unwrap_or(file)).map_err(failed)?;
    fs::write(file, text).map_err(failed)?;
    told.files.push(file.display().to_string());
    Ok(())
}
