//! `torture upgrade`: a cluster whose servers are of an earlier revision, which are replaced by
//! those of this one while clients post.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use super::noted;
use crate::command::{cargo, command, output, run as run_command, target_dir};
use crate::error::{Context, Result, fail};
use crate::nats;

pub const USAGE: &str = "torture upgrade [--from REVISION]";

/// The last one whose servers cannot read the requests and the guests that this one's write.
const FROM: &str = "84bd698~1";

pub fn run(arguments: &[String]) -> Result<()> {
    let from = match arguments {
        [] => FROM,
        [flag, from] if flag == "--from" => from,
        _ => return fail(format!("usage: {USAGE}")),
    };
    nats::run(&[])?;
    let test = ["test", "--release", "--quiet", "-p", "jungle-cli", "--test", "it", "--"];
    let mut suite = cargo(test.into_iter().chain(["upgrade::", "--nocapture"]));
    suite.env("UPGRADE_OLDER", older(from)?);
    noted(suite)
}

/// The command of an earlier revision, built in a folder of its own if it was not yet.
fn older(revision: &str) -> Result<PathBuf> {
    let commit = format!("{revision}^{{commit}}");
    let commit = output(command("git", ["rev-parse", "--short", "--verify", &commit]))?;
    let folder = target_dir().join("older").join(commit.trim());
    let program = folder.join("target/release/jungle");
    if program.is_file() {
        return Ok(program);
    }
    println!("building {} of {revision}", program.display());
    fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
    let mut archive = command("git", ["archive", commit.trim()]);
    let mut archive = archive.stdout(Stdio::piped()).spawn().context("cannot start git")?;
    let mut unpack = command("tar", ["x"]);
    unpack.current_dir(&folder).stdin(archive.stdout.take().expect("piped above"));
    run_command(unpack)?;
    if !archive.wait().context("git is lost")?.success() {
        return fail(format!("git could not give {revision}"));
    }
    let mut build = cargo(["build", "--release", "--quiet", "-p", "jungle-cli"]);
    build.current_dir(&folder).arg("--target-dir").arg(folder.join("target"));
    run_command(build)?;
    Ok(program)
}
