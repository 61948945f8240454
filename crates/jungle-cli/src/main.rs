//! The `jungle` command.

mod args;
mod bar;
mod cluster;
mod commands;
mod conflict;
mod context;
mod differences;
mod document;
mod failure;
mod folder;
mod formats;
mod info;
mod member;
mod near;
mod output;
mod revision;
mod source;
mod tryout;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::context::Context;

/// Quicker than the system's where threads make and drop what lives for a request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.apply();
    let context = Context { format: args.format(), held: None };
    match commands::run(&args.command, &context) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
