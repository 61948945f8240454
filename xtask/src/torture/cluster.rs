//! `torture cluster`: counted commits on three servers of ours while servers of the engine are
//! killed, stopped, cut off from each other, wiped, damaged and out of room, and ours leave, come
//! back and have their clocks jump.

use super::noted;
use crate::command::cargo;
use crate::error::{Result, fail};
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
    let (mut schedules, mut seed) = (SCHEDULES, 0);
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let number = rest.next().and_then(|number| number.parse().ok());
        match (option.as_str(), number) {
            ("--schedules", Some(number)) => schedules = number,
            ("--seed", Some(number)) => seed = number,
            _ => return fail(format!("usage: {USAGE}")),
        }
    }
    nats::run(&[])?;
    let test = ["test", "--release", "--quiet", "-p", "jungle-cluster", "--test", "it", "--"];
    let mut suite = cargo(test.into_iter().chain(["torture::acknowledged", "--nocapture"]));
    suite.env("CLUSTER_SCHEDULES", schedules.to_string()).env("CLUSTER_SEED", seed.to_string());
    suite.env("CLUSTER_FAULTS", FAULTS).env("CLUSTER_LASTS_MS", LASTS_MS);
    suite.env("CLUSTER_BACK_MS", BACK_MS);
    noted(suite)
}
