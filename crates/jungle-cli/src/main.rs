//! The `jungle` command.

mod args;
mod demo;
mod diff;
mod document;
mod expr;
mod failure;
mod find;
mod get;
mod near;
mod output;
mod stat;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.apply();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Stat(stat) => stat::run(stat, args.format()),
        Command::Get(get) => get::run(get),
        Command::Find(find) => find::run(find, args.format()),
        Command::Diff(diff) => diff::run(diff, args.format()),
        Command::Demo(demo) => demo::run(demo, args.format()),
    }
}
