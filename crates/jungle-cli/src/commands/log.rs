//! `jungle log`: the revisions of a tree.

use std::io::Write;

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::Failure;
use crate::output::{info, stdout};
use crate::place::{On, Order, Purpose, Which};

const HELP: &str = "\
With a PATH, `--limit 1` tells who changed what is there last; behind the revision with which a \
branch begins, those of the branch that it was made from follow. What is there in the oldest \
revision that is kept counts as its doing.";

/// List the revisions of a tree, the newest first
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// The tree
    tree: String,
    /// Only those that changed something there or below
    path: Option<String>,
    #[command(flatten)]
    branch: args::Branch,
    /// The oldest first
    #[arg(long)]
    reverse: bool,
    /// Stop after this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let below = args.path.as_deref().map(path).transpose()?;
    let place = context.place(&args.dir, Purpose::Read)?;
    let which = Which {
        below: below.as_ref(),
        order: if args.reverse { Order::OldestFirst } else { Order::NewestFirst },
        limit: args.limit.unwrap_or(usize::MAX),
    };
    let mut out = stdout();
    let on = On { tree: &args.tree, branch: args.branch.branch.as_deref() };
    place.log(on, &which, &mut |info| Ok(info::print(&mut out, info, context.format)?))?;
    Ok(out.flush()?)
}
