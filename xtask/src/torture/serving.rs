//! `torture posts`, `hostile`, `soak` and `published`: a real server that is killed while others
//! post to it, one under hostile load, one under a load that is held, and published versions of a
//! real document. All are tests, which run with the others, briefly; here they are alone, in
//! release and longer, and say what they measured.

use super::noted;
use crate::command::cargo;
use crate::error::{Context, Result, fail, no_arguments};

/// How often the server is killed when nothing is said.
const KILLS: &str = "200";

/// How many versions are taken when nothing is said.
const VERSIONS: &str = "50";

/// Minutes of load when nothing is said.
const MINUTES: u64 = 5;

pub fn posts(arguments: &[String]) -> Result<()> {
    let kills = match arguments {
        [] => KILLS,
        [flag, kills] if flag == "--kills" => kills,
        _ => return fail("usage: cargo xtask torture posts [--kills N]"),
    };
    run("posting", ("JUNGLE_KILLS", kills))
}

pub fn hostile(arguments: &[String]) -> Result<()> {
    no_arguments("torture hostile", arguments)?;
    run("hostile", ("JUNGLE_HOSTILE_ALONE", "1"))
}

pub fn soak(arguments: &[String]) -> Result<()> {
    let minutes = match arguments {
        [] => MINUTES,
        [flag, minutes] if flag == "--minutes" => minutes.parse().context("--minutes")?,
        _ => return fail("usage: cargo xtask torture soak [--minutes N]"),
    };
    run("soak", ("JUNGLE_SOAK_SECONDS", &(60 * minutes).to_string()))
}

pub fn published(arguments: &[String]) -> Result<()> {
    let versions = match arguments {
        [] => VERSIONS,
        [flag, versions] if flag == "--versions" => versions,
        _ => return fail("usage: cargo xtask torture published [--versions N]"),
    };
    run("published", ("JUNGLE_VERSIONS", versions))
}

fn run(test: &str, (name, value): (&str, &str)) -> Result<()> {
    let tests = ["test", "--release", "--quiet", "-p", "jungle-cli", "--test", "it", "--"];
    let filter = format!("{test}::");
    let mut run = cargo(tests.into_iter().chain([&*filter, "--nocapture"]));
    run.env(name, value);
    noted(run)
}
