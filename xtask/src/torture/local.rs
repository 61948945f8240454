//! `torture local`: servers of ours that commit by themselves, while they are cut off, restarted,
//! and answered nothing, on a log in memory.

use super::noted;
use crate::command::cargo;
use crate::error::{Result, fail};

pub const USAGE: &str = "torture local [--schedules COUNT]";

/// In about a minute.
const SCHEDULES: u64 = 600;

pub fn run(arguments: &[String]) -> Result<()> {
    let schedules = match arguments {
        [] => Some(SCHEDULES),
        [option, count] if option == "--schedules" => count.parse().ok(),
        _ => None,
    };
    let Some(schedules) = schedules else { return fail(format!("usage: {USAGE}")) };
    let test = ["test", "--release", "--quiet", "-p", "jungle-cluster", "--test", "it", "--"];
    let mut suite = cargo(test.into_iter().chain(["local::servers_agree", "--nocapture"]));
    suite.env("CLUSTER_SCHEDULES", schedules.to_string());
    noted(suite)
}
