//! `torture local`: servers of ours that commit by themselves, while they are cut off, restarted,
//! and answered nothing, on a log in memory.

use super::built::Build;
use super::{noted, options};
use crate::error::Result;

pub const USAGE: &str = "torture local [--schedules COUNT] [--seed SEED]";

/// In about a minute.
const SCHEDULES: u64 = 600;

pub fn run(arguments: &[String]) -> Result<()> {
    let (mut schedules, mut seed) = (SCHEDULES, options::today());
    let numbers = &mut [("--schedules", &mut schedules), ("--seed", &mut seed)];
    options::read(arguments, USAGE, numbers)?;
    let mut suite = Build::Release.tests(&["local::servers_agree", "--nocapture"])?;
    suite.env("CLUSTER_SCHEDULES", schedules.to_string()).env("CLUSTER_SEED", seed.to_string());
    noted(suite)
}
