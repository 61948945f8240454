//! Alice: chains of code segments, puts and takes, sorting. Each measurement is the median of many
//! turns; what is held against each other takes turns in one process.

pub mod chain;
mod overhead;
mod queue;
mod remote;
mod sort;

use super::Options;
use super::turns::{Turn, in_turns, named, number, turns};
use crate::Failure;
use crate::sample::Sample;

/// The cases `chain`, `queue`, `overhead`, `remote` and `sort`, with their numbers in microseconds,
/// nanoseconds and ratios.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    Ok(Some(match case {
        "chain" => chain::sample(options)?,
        "queue" => queue::sample(options)?,
        "overhead" => overhead::sample(options)?,
        "remote" => remote::sample(options)?,
        "sort" => sort::sample(options)?,
        _ => return Ok(None),
    }))
}
