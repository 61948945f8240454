//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::experiments;
use crate::systems::System;

/// Runs an experiment: Jungle and its peers, side by side.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    hidden: Option<Hidden>,
    #[command(flatten)]
    request: Option<Request>,
}

#[derive(Subcommand)]
enum Hidden {
    /// Measures one case once and prints a line of JSON, as the peers do.
    #[command(hide = true)]
    Sample {
        experiment: String,
        case: String,
        #[command(flatten)]
        options: experiments::Options,
    },
    /// Opens a folder that `sample open` has made, and reads from it: a line of JSON.
    #[command(hide = true)]
    Reopen {
        folder: PathBuf,
        #[command(flatten)]
        options: experiments::Options,
    },
    /// Uses a folder that `sample larger-than-memory` has made: a line of JSON.
    #[command(hide = true)]
    UseHot {
        folder: PathBuf,
        /// The group of processes to join.
        #[arg(long)]
        group: Option<PathBuf>,
        #[command(flatten)]
        options: experiments::Options,
    },
}

/// What is to be run.
#[derive(clap::Args, Clone)]
pub struct Request {
    /// read, write, point, memory, wide, diff, merge, hot, revisions, commit, flat, open,
    /// larger-than-memory, reclaim, store-peers, alice, or all.
    #[arg(required = true)]
    pub experiment: String,
    /// Numbers of threads, where a case can use several.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    pub threads: Vec<usize>,
    /// Which systems.
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        default_value = "jungle,haskell,haskell-intmap,java,imbl,redb,lmdb,doltlite,\
rayon,crossbeam,tokio"
    )]
    pub systems: Vec<System>,
    /// A twentieth of the tasks.
    #[arg(long)]
    pub quick: bool,
    /// How many times each case is measured; 3, or 1 with --quick.
    #[arg(long)]
    pub rounds: Option<usize>,
    /// Tasks in each measurement; 1,000, or 50 with --quick.
    #[arg(long)]
    pub tasks: Option<u64>,
    /// Also write the results here, one row of JSON a line.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the random draws begin.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only the cases whose name contains this.
    #[arg(long, value_name = "PART")]
    pub case: Option<String>,
    /// Trees of a thousandth of the size: to try the programs, not to measure.
    #[arg(long, hide = true)]
    pub tiny: bool,
}

impl Request {
    /// How many times each case is measured.
    pub fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 3 }).max(1)
    }

    /// The size of each measurement.
    pub fn options(&self, threads: usize) -> experiments::Options {
        let tasks = self.tasks.unwrap_or(if self.quick { 50 } else { 1000 });
        experiments::Options { threads, tasks, seed: self.seed, quick: self.quick, tiny: self.tiny }
    }
}

/// What the command line asks for.
pub enum Command {
    /// One measurement.
    Sample {
        /// Of this experiment.
        experiment: String,
        /// This case.
        case: String,
        /// This large.
        options: experiments::Options,
    },
    /// Opening of a folder.
    Reopen {
        /// This one.
        folder: PathBuf,
        /// And what is to be read.
        options: experiments::Options,
    },
    /// Use of what is hot in a folder.
    UseHot {
        /// This one.
        folder: PathBuf,
        /// As one of this group of processes.
        group: Option<PathBuf>,
        /// And how much.
        options: experiments::Options,
    },
    /// An experiment.
    Run(Request),
}

impl Args {
    /// What it asks for.
    pub fn command(self) -> Command {
        match (self.hidden, self.request) {
            (Some(Hidden::Sample { experiment, case, options }), _) => {
                Command::Sample { experiment, case, options }
            }
            (Some(Hidden::Reopen { folder, options }), _) => Command::Reopen { folder, options },
            (Some(Hidden::UseHot { folder, group, options }), _) => {
                Command::UseHot { folder, group, options }
            }
            (None, Some(request)) => Command::Run(request),
            (None, None) => unreachable!("clap asks for an experiment"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Args, Command};

    #[test]
    fn both_forms_are_read() {
        <Args as CommandFactory>::command().debug_assert();
        let line = "jungle-bench read --threads 2 --systems jungle,haskell-intmap --quick";
        let Command::Run(request) = Args::parse_from(line.split(' ')).command() else {
            panic!("an experiment");
        };
        assert_eq!((request.threads.as_slice(), request.rounds()), (&[2][..], 1));
        let line = "jungle-bench sample read count --threads 2 --tasks 7 --seed 3";
        let Command::Sample { case, options, .. } = Args::parse_from(line.split(' ')).command()
        else {
            panic!("a sample");
        };
        assert_eq!((case.as_str(), options.tasks), ("count", 7));
        let line = "jungle-bench reopen a/folder --seed 3 --tiny";
        let Command::Reopen { folder, options } = Args::parse_from(line.split(' ')).command()
        else {
            panic!("a folder");
        };
        assert_eq!((folder.as_path(), options.seed), ("a/folder".as_ref(), 3));
    }
}
