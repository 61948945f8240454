//! Jungle's side of the experiments: each case measures once and checks what it did.

pub mod alice;
mod board;
mod cluster;
mod commit;
mod diff;
mod flat;
pub mod folder;
mod hot;
mod larger;
mod longest;
mod memory;
mod neighbours;
mod open;
pub mod point;
mod processor;
mod read;
mod readers;
mod reclaim;
mod revisions;
mod scale;
mod store_peers;
mod turns;
mod walker;
mod wide;
mod workloads;
pub mod write;

use clap::Args;

pub use self::board::placed;
pub use self::hot::steps;
pub use self::larger::hot;
pub use self::open::reopen;
use self::processor::processor_us;
pub use self::workloads::commit_until_killed;
use crate::Failure;
use crate::sample::Sample;
use crate::systems::System;
use crate::workload::Shape;

/// How large an experiment is.
#[derive(Args, Clone, Copy, Debug)]
pub struct Options {
    /// How many threads work.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// How many tasks there are (1,000 point operations are one).
    #[arg(long, default_value_t = 50)]
    pub tasks: u64,
    /// Where the random draws begin.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Less of what is repeated, with trees and long histories of the same size.
    #[arg(long)]
    pub quick: bool,
    /// Trees of a thousandth of the size, to try the programs.
    #[arg(long)]
    pub tiny: bool,
}

impl Options {
    fn shape(self, full: Shape, tiny: Shape) -> Shape {
        if self.tiny { tiny } else { full }
    }

    /// Tree R.
    fn read_shape(self) -> Shape {
        self.shape(Shape::READ, Shape::READ_TINY)
    }

    /// Tree W.
    fn write_shape(self) -> Shape {
        self.shape(Shape::WRITE, Shape::WRITE_TINY)
    }
}

/// Measures one case once; our own program asks these peers in the same run, where it asks any, and
/// closures of `hot` have so many [`steps`], where that is told.
///
/// # Errors
/// When there is no such case, or no room for it.
pub fn sample(
    experiment: &str,
    case: &str,
    options: Options,
    peers: &[System],
    steps: Option<u64>,
) -> Result<Sample, Failure> {
    let measured = match experiment {
        "alice" => alice::sample(case, options)?,
        "board" | "cassandra" => board::sample(case, options, peers)?,
        "cluster" if matches!(case, "share" | "tree") => board::sample(case, options, peers)?,
        "cluster" => cluster::sample(case, options)?,
        "commit" if case == "readers" => Some(readers::sample(options)?),
        "commit" => commit::sample(case, options)?,
        "flat" => flat::sample(case, options)?,
        "open" => open::sample(case, options)?,
        // The same with and without busy loops beside it, which the runner starts.
        "read" | "idle-trap" => read::sample(case, options)?,
        "write" => write::sample(case, options)?,
        "point" if case == "walker" => Some(walker::sample(options)?),
        "point" => point::sample(case, options)?,
        "memory" => memory::sample(case, options)?,
        "wide" => wide::sample(case, options)?,
        "diff" | "merge" => diff::sample(experiment, case, options)?,
        "hot" => hot::sample(case, options, steps)?,
        "larger-than-memory" => larger::sample(case, options)?,
        "neighbours" => neighbours::sample(case, options)?,
        "reclaim" => reclaim::sample(case, options)?,
        "revisions" => revisions::sample(case, options)?,
        "scale" => scale::sample(case, options)?,
        "store-peers" => store_peers::sample(case, options)?,
        "workloads" => workloads::sample(case, options)?,
        _ => None,
    };
    let sample = measured.ok_or_else(|| format!("there is no case {experiment} {case}"))?;
    Ok(Sample { case: case.to_owned(), threads: options.threads, ..sample })
}
