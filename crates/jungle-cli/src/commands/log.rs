//! `jungle log`: the revisions of a tree.

use std::io::Write;

use jungle_words::Tags;

use crate::args;
use crate::context::Context;
use crate::failure::Failure;
use crate::folder::tree;
use crate::info;
use crate::output::stdout;

/// List the revisions of a tree, the newest first
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    #[command(flatten)]
    branch: args::Branch,
    /// The oldest first
    #[arg(long)]
    reverse: bool,
    /// Stop after this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let tags = Tags::of(&tree);
    let limit = args.limit.unwrap_or(usize::MAX);
    let mut out = stdout();
    let mut past = tree.history(..);
    let mut next = || if args.reverse { past.next_back() } else { past.next() };
    for info in std::iter::from_fn(&mut next).take(limit) {
        info::print(&mut out, &tags.info(&info?), context.format)?;
    }
    Ok(out.flush()?)
}
