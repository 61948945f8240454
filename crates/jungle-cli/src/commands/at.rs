//! `jungle at`: which revision a name or a time means.

use std::io::Write;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{info, stdout};
use crate::place::Purpose;
use crate::revision::HELP;

/// Tell which revision a tag, a branch, a number of steps back or a time means
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// The tree
    tree: String,
    /// The revision
    rev: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let place = context.place(&args.dir, Purpose::Read)?;
    let info = place.revision(&args.tree, &args.rev)?;
    let mut out = stdout();
    info::print(&mut out, &info, context.format)?;
    Ok(out.flush()?)
}
