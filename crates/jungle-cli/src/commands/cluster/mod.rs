//! `jungle cluster`: trying out several servers on this machine, looking at those that run, and
//! what others need to run.

mod config;
mod sites;
mod status;
mod up;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

/// Try out several servers with one truth, and look at those that run
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Up(up::Args),
    Status(status::Args),
    Config(config::Args),
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    match &args.command {
        Command::Up(args) => up::run(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Config(args) => config::run(args, context),
    }
}
