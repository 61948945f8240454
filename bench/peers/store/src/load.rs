//! Very many leaves are loaded, durably, a thousand in a commit.

use std::time::Instant;

use crate::support::{Failure, Folder, Options, Outcome, Value, checksum, value_of};
use crate::versions::{Open, Place};

/// Leaves of a commit.
const COMMIT: usize = 1_000;

/// Where programs are tried there are so many times fewer.
const TINY: u32 = 100;

/// Leaves a second; the case `load-COUNT` says how many there are. `folder` = bytes that the disk
/// has given for them in the end.
pub fn run(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let count: u32 = options.case.strip_prefix("load-").ok_or("it is no such case")?.parse()?;
    let count = if options.leaves < 100_000 { count / TINY } else { count };
    let folder = Folder::new(&options.system)?;
    let open = || open(&options.system, Place::Folder(&folder.0));
    let values: Vec<Value> = (0..count).map(|leaf| value_of(leaf, 0)).collect();
    let store = open()?;
    let begun = Instant::now();
    for (first, values) in (0..).step_by(COMMIT).zip(values.chunks(COMMIT)) {
        store.add(first, values)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    store.close()?;
    let folder_bytes = folder.allocated()?;
    let store = open()?;
    let commits = values.len().div_ceil(COMMIT) as u64;
    let found = store.values(count)?;
    let wrong = found.iter().zip(&values).filter(|(found, ought)| found != ought).count()
        + found.len().abs_diff(values.len());
    let check = match wrong as u64 + store.newest()?.abs_diff(commits) {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} leaves or commits are not there"),
    };
    let extra =
        vec![("folder", folder_bytes as f64), ("checksum", checksum(found.into_iter()).into())];
    let value = f64::from(count) / seconds;
    Ok(Outcome { value, unit: "1/s", seconds, operations: count.into(), extra, check })
}
