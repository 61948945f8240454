//! `jungle at`: which revision a name or a time means.

use std::io::Write;

use jungle_words::Tags;

use crate::context::Context;
use crate::failure::Failure;
use crate::folder::tree;
use crate::info;
use crate::output::stdout;
use crate::revision::{HELP, find};

/// Tell which revision a tag, a branch, a number of steps back or a time means
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// The revision
    rev: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    let found = find(&tree, &args.rev)?;
    let mut out = stdout();
    let info = Tags::of(&tree).info(&found.info()?);
    info::print(&mut out, &info, context.format)?;
    Ok(out.flush()?)
}
