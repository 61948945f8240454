//! `torture cluster`: counted commits on three servers of ours while servers of the engine are
//! killed, stopped, cut off from each other, wiped, damaged and out of room, and ours leave, come
//! back and have their clocks jump.

use super::built::Build;
use super::{noted, options};
use crate::error::Result;
use crate::nats;

pub const USAGE: &str =
    "torture cluster [--schedules COUNT] [--faults COUNT] [--lasts-ms MS] [--seed SEED]";

/// Of so many faults each, in about two minutes.
const SCHEDULES: u64 = 3;
const FAULTS: u64 = 22;
/// How long the longest faults last: others have chosen a leader meanwhile.
const LASTS_MS: u64 = 12_000;

/// What is held of a build.
struct Limits {
    /// How soon after a fault a commit must be acknowledged.
    back_ms: &'static str,
    /// How many commits a second must be acknowledged while nothing happens.
    rate_min: &'static str,
}

impl Limits {
    /// An election takes the engine up to 9 s where nothing else runs. The tests' build is slower,
    /// and has to pass on machines that others use: it has five times as long for all.
    fn of(build: Build) -> Limits {
        match build {
            Build::Release => Limits { back_ms: "10000", rate_min: "100" },
            Build::Tested => Limits { back_ms: "50000", rate_min: "20" },
        }
    }
}

pub fn run(arguments: &[String], build: Build) -> Result<()> {
    let (mut schedules, mut faults, mut lasts_ms) = (SCHEDULES, FAULTS, LASTS_MS);
    let mut seed = options::today();
    let numbers = &mut [
        ("--schedules", &mut schedules),
        ("--faults", &mut faults),
        ("--lasts-ms", &mut lasts_ms),
        ("--seed", &mut seed),
    ];
    options::read(arguments, USAGE, numbers)?;
    nats::run(&[])?;
    let Limits { back_ms, rate_min } = Limits::of(build);
    let mut suite = build.tests(&["torture::acknowledged", "--nocapture"])?;
    suite.env("CLUSTER_SCHEDULES", schedules.to_string()).env("CLUSTER_SEED", seed.to_string());
    suite.env("CLUSTER_FAULTS", faults.to_string());
    suite.env("CLUSTER_LASTS_MS", lasts_ms.to_string());
    suite.env("CLUSTER_BACK_MS", back_ms).env("CLUSTER_RATE_MIN", rate_min);
    noted(suite)
}
