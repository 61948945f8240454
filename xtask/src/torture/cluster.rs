//! `torture cluster`: counted commits on three servers of ours while servers of the engine are
//! killed, stopped, cut off from each other, wiped, damaged and out of room, and ours leave, come
//! back and have their clocks jump.

use super::{noted, options};
use crate::command::cargo;
use crate::error::Result;
use crate::nats;

pub const USAGE: &str = "torture cluster [--schedules COUNT] [--seed SEED]";

/// Of so many faults each, in about two minutes.
const SCHEDULES: u64 = 3;
const FAULTS: &str = "22";
/// How long the longest faults last: others have chosen a leader meanwhile.
const LASTS_MS: &str = "12000";
/// How soon after a fault a commit must be acknowledged.
const BACK_MS: &str = "10000";

pub fn run(arguments: &[String]) -> Result<()> {
    let (mut schedules, mut seed) = (SCHEDULES, options::today());
    let numbers = &mut [("--schedules", &mut schedules), ("--seed", &mut seed)];
    options::read(arguments, USAGE, numbers)?;
    nats::run(&[])?;
    let test = ["test", "--release", "--quiet", "-p", "jungle-cluster", "--test", "it", "--"];
    let mut suite = cargo(test.into_iter().chain(["torture::acknowledged", "--nocapture"]));
    suite.env("CLUSTER_SCHEDULES", schedules.to_string()).env("CLUSTER_SEED", seed.to_string());
    suite.env("CLUSTER_FAULTS", FAULTS).env("CLUSTER_LASTS_MS", LASTS_MS);
    suite.env("CLUSTER_BACK_MS", BACK_MS);
    noted(suite)
}
