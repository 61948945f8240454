//! `torture machines`: posts to servers of ours that run, beside the engine's, on machines of their
//! own, while several things at once happen to those.

use super::{noted, options};
use crate::command::cargo;
use crate::error::Result;
use crate::nats;

pub const USAGE: &str = "torture machines [--schedules COUNT | --minutes COUNT] [--seed SEED]";

/// Of so many faults each, and one before by itself, in about half a minute.
const SCHEDULES: u64 = 6;
const FAULTS: &str = "6";
/// How long the longest faults last: others have chosen a leader meanwhile.
const LASTS_MS: &str = "12000";
/// How soon after the last fault a post must be acknowledged.
const BACK_MS: &str = "10000";
/// How soon one must be after something was killed by itself.
const RESUMED_MS: &str = "8000";

pub fn run(arguments: &[String]) -> Result<()> {
    let (mut schedules, mut minutes, mut seed) = (SCHEDULES, 0, options::today());
    let numbers =
        &mut [("--schedules", &mut schedules), ("--minutes", &mut minutes), ("--seed", &mut seed)];
    options::read(arguments, USAGE, numbers)?;
    if minutes > 0 {
        schedules = 1;
    }
    nats::run(&[])?;
    let test = ["test", "--release", "--quiet", "-p", "jungle-cli", "--test", "it", "--"];
    let mut suite = cargo(test.into_iter().chain(["machines::", "--nocapture"]));
    suite.env("MACHINES_SCHEDULES", schedules.to_string());
    suite.env("MACHINES_MINUTES", minutes.to_string()).env("MACHINES_SEED", seed.to_string());
    suite.env("MACHINES_FAULTS", FAULTS).env("MACHINES_LASTS_MS", LASTS_MS);
    suite.env("MACHINES_BACK_MS", BACK_MS).env("MACHINES_RESUMED_MS", RESUMED_MS);
    noted(suite)
}
