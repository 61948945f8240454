//! `torture`: the long suites, which live in a crate of their own.

mod built;
mod cluster;
mod engine;
mod http;
pub mod ledger;
mod lin;
mod local;
mod machines;
pub mod options;
mod serving;
mod upgrade;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{cargo, command, idle, need, root, run as run_command, target_dir, xtask};
use crate::error::{Context, Result, fail};
use crate::steps::Steps;
use crate::supply;
use built::Build;
pub use http::schemathesis;
use ledger::{Entry, children_cpu_seconds};

/// The suites that `test` runs, each small enough for that by its own defaults; first the
/// [`LONGEST`].
pub const SUITES: [&str; 14] = [
    "model", "converge", "sim", "stress", "shuttle", "crash", "io", "rot", "erase", "kill",
    "syncs", "meta", "fuzz", "planted",
];

/// So many of them take longer than each of the others.
pub const LONGEST: usize = 2;

pub fn run(arguments: &[String]) -> Result<()> {
    let Some((suite, rest)) = arguments.split_first() else {
        return fail(format!(
            "no suite given; there are {}, `http`, `hostile`, `posts`, `soak`, `published`, \
             `engine`, `lin`, `cluster`, `machines`, `upgrade`, `local`, `supply` \
             and `ledger`",
            SUITES.join(", ")
        ));
    };
    if suite == "ledger" {
        return ledger::run(rest);
    }
    if suite == "supply" {
        return supplied(rest);
    }
    if suite == "http" {
        return http::run(rest);
    }
    if suite == "engine" {
        return engine::run(rest);
    }
    if suite == "lin" {
        return lin::run(rest);
    }
    if suite == "cluster" {
        return cluster::run(rest, Build::Release);
    }
    if suite == "machines" {
        return machines::run(rest);
    }
    if suite == "upgrade" {
        return upgrade::run(rest);
    }
    if suite == "local" {
        return local::run(rest);
    }
    if suite == "hostile" {
        return serving::hostile(rest);
    }
    if suite == "posts" {
        return serving::posts(rest);
    }
    if suite == "published" {
        return serving::published(rest);
    }
    if suite == "soak" {
        return serving::soak(rest);
    }
    let program = if suite == "shuttle" { scheduled()? } else { usual()? };
    let mut run = command(program, arguments);
    if suite == "planted" {
        run.arg("--shuttle-program").arg(scheduled()?);
    } else if suite != "fuzz" {
        run.envs(KEPT_MEMORY);
    }
    // It takes all processors, and gives way to what waits most of the time beside it.
    noted(idle(&run))
}

/// A folder into which tests of a cluster's registers write their histories, with nothing in it.
pub fn histories() -> Result<PathBuf> {
    lin::emptied("tested")
}

/// Whether there is an order for those histories, and the schedules of a cluster under faults that
/// `test` runs, alone on the machine but for what has what they leave: short ones, in which each
/// kind of fault comes at least once.
pub fn clusters(steps: &mut Steps, histories: &Path) -> Result<()> {
    match need("go", "golang-go") {
        Ok(()) => steps.step("torture lin", || lin::check_tested(histories))?,
        Err(error) => steps.skip("torture lin", &error.to_string()),
    }
    let short = "--schedules 10 --faults 2 --lasts-ms 2000 --seed 0";
    let words: Vec<String> = short.split(' ').map(str::to_owned).collect();
    steps.step("torture cluster", || cluster::run(&words, Build::Tested))
}

/// What schemathesis makes of the OpenAPI document in short, beside what follows, of the command as
/// tests have built it: the catalogue made by hand is a test of its own. Whether it could be
/// installed is known already.
pub fn generated(steps: &mut Steps, installed: Result<PathBuf>) -> Result<()> {
    if let Err(error) = installed {
        steps.skip("torture http", &error.to_string());
        return Ok(());
    }
    let brief = xtask(["torture", "http", http::BRIEFLY])?;
    steps.begin("torture http", idle(&brief))
}

/// Whether the crate with the suites is in this checkout.
pub fn is_there() -> bool {
    root().join("crates/jungle-torture").is_dir()
}

/// What a suite has taken of the system it keeps: each of its points would give back what it had,
/// and the next one take it again, page by page. (Not where what is in use is bounded.) This is for
/// glibc, which by itself keeps 128 KiB; the second number is the largest it takes.
const KEPT_MEMORY: [(&str, &str); 2] =
    [("MALLOC_TRIM_THRESHOLD_", "1073741824"), ("MALLOC_MMAP_THRESHOLD_", "33554432")];

const BUILD: [&str; 5] = ["build", "--release", "--quiet", "-p", "jungle-torture"];

/// For a build whose program is mostly its scheduler, or runs for seconds: to optimize it across
/// crates would take longer than it saves.
pub const NO_LTO: (&str, &str) = ("CARGO_PROFILE_RELEASE_LTO", "off");

/// What answers requests: two targets of `fuzz` ask it, and no other suite does. To optimize it in
/// full takes longer than they run.
const ONLY_ASKED: [&str; 3] = ["jungle-server", "rustls", "tokio"];

/// Builds the suites, and gives the program.
fn usual() -> Result<PathBuf> {
    let mut build = cargo(BUILD);
    for package in ONLY_ASKED {
        build.args(["--config", &format!("profile.release.package.{package}.opt-level=1")]);
    }
    run_command(build)?;
    Ok(target_dir().join("release/jungle-torture"))
}

/// As [`usual`], with shuttle's locks in the database.
fn scheduled() -> Result<PathBuf> {
    run_command(build_scheduled())?;
    Ok(scheduled_dir().join("release/jungle-torture"))
}

/// What builds that.
pub fn build_scheduled() -> Command {
    let mut build = cargo(BUILD);
    build.arg("--target-dir").arg(scheduled_dir());
    build.env("RUSTFLAGS", "--cfg shuttle -Dwarnings -Ctarget-cpu=x86-64-v2").envs([NO_LTO]);
    build
}

/// `--cfg shuttle` changes every crate, so they are built into a folder of their own, or each run
/// would build everything twice.
fn scheduled_dir() -> PathBuf {
    target_dir().join("shuttle")
}

/// Looks at the packages that we use, and enters that in the ledger.
fn supplied(arguments: &[String]) -> Result<()> {
    let cpu_before = children_cpu_seconds();
    let mut entry = Entry::default();
    let looked = supply::suite(arguments, &mut |line: &str| {
        println!("{line}");
        entry.read(line);
    });
    entry.cpu_seconds = children_cpu_seconds() - cpu_before;
    entry.append()?;
    looked
}

/// Runs a suite, shows what it prints, and enters it in the ledger.
fn noted(mut suite: Command) -> Result<()> {
    let cpu_before = children_cpu_seconds();
    let mut child = suite.stdout(Stdio::piped()).spawn().context("cannot start the suite")?;
    let mut entry = Entry::default();
    for line in BufReader::new(child.stdout.take().expect("piped above")).lines() {
        let line = line.context("cannot read what the suite prints")?;
        println!("{line}");
        entry.read(&line);
    }
    let status = child.wait().context("the suite is lost")?;
    entry.cpu_seconds = children_cpu_seconds() - cpu_before;
    if !status.success() {
        entry.ended_badly();
    }
    entry.append()?;
    if status.success() { Ok(()) } else { fail(format!("the suite ended with {status}")) }
}
