//! `jungle cluster config`: the files with which a cluster runs on real machines.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Format, json_line, stdout};

const HELP: &str = "\
For each machine a folder with the engine's configuration, units for systemd and a file for \
containers; README.md beside them says what goes where. All is encrypted, and who has no \
certificate of the cluster's own authority gets in nowhere.";

/// Write the configuration files for real machines
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The folder for the files, made if it is not there
    dir: PathBuf,
    /// The name of a machine, as the others find it; once for each of them: one, three or five
    #[arg(long = "host", value_name = "NAME", required = true)]
    hosts: Vec<String>,
    /// The cluster's name
    #[arg(long, value_name = "NAME", default_value = "jungle")]
    name: String,
    /// Where each machine has its certificates
    #[arg(long, value_name = "FOLDER", default_value = "/etc/jungle/tls")]
    tls: String,
}

const PER_HOST: [(&str, &str); 4] = [
    ("nats.conf", include_str!("templates/nats.conf")),
    ("nats.service", include_str!("templates/nats.service")),
    ("jungle.service", include_str!("templates/jungle.service")),
    ("compose.yaml", include_str!("templates/compose.yaml")),
];
const ROUTES: &str = include_str!("templates/routes.conf");
const README: &str = include_str!("templates/README.md");

#[derive(Serialize)]
struct Told {
    files: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    check(args)?;
    let mut told = Told { files: Vec::new() };
    write(&args.dir.join("README.md"), &fill(README, args, ""), &mut told)?;
    for host in &args.hosts {
        for (name, template) in PER_HOST {
            write(&args.dir.join(host).join(name), &fill(template, args, host), &mut told)?;
        }
    }
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => told.files.iter().try_for_each(|file| writeln!(out, "{file}"))?,
    }
    Ok(out.flush()?)
}

/// What is put into files of several languages must mean nothing in any of them.
fn check(args: &Args) -> Result<(), Failure> {
    let plain = |text: &str, more: &str| {
        let fits = |char: char| char.is_ascii_alphanumeric() || more.contains(char);
        !text.is_empty() && text.len() <= 253 && text.chars().all(fits)
    };
    if let Some(host) = args.hosts.iter().find(|host| !plain(host, ".-") || host.starts_with('.')) {
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
    let mut hosts = args.hosts.clone();
    hosts.sort();
    hosts.dedup();
    match (hosts.len(), args.hosts.len()) {
        (1 | 3 | 5, count) if count == hosts.len() => Ok(()),
        (count, all) if count == all => {
            Err(Failure::usage(format_args!("{count} machines are not one, three or five"))
                .with_hint("of three one may be lost, of five two; four are no better than three"))
        }
        _ => Err(Failure::usage("a machine is named twice")),
    }
}

fn fill(template: &str, args: &Args, host: &str) -> String {
    let Args { hosts, name, tls, .. } = args;
    let list = |format: &dyn Fn(&String) -> String, of: &[String]| -> String {
        of.iter().map(format).collect::<Vec<_>>().join(", ")
    };
    let others: Vec<String> = hosts.iter().filter(|other| *other != host).cloned().collect();
    let addresses: Vec<String> = hosts.iter().map(|host| format!("tls://{host}:4222")).collect();
    let survives = match hosts.len() {
        1 => "One machine is for trying out: what it loses is lost.".to_owned(),
        count => format!("Of the {count} machines {} may be lost, and commits go on.", count / 2),
    };
    let routes = if hosts.len() > 1 { ROUTES } else { "" };
    let with_routes = template.replace("\n{routes}\n", routes);
    let facts = [
        ("{users}", list(&|host| format!("{{ user: \"{host}\" }}"), hosts)),
        ("{others}", list(&|host| format!("\"tls://{host}:6222\""), &others)),
        ("{addresses}", addresses.join(",")),
        ("{hosts}", hosts.join(", ")),
        ("{count}", hosts.len().to_string()),
        ("{survives}", survives),
        ("{tls}", tls.clone()),
        ("{name}", name.clone()),
        ("{host}", host.to_owned()),
    ];
    facts.iter().fold(with_routes, |text, (what, fact)| text.replace(what, fact))
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
