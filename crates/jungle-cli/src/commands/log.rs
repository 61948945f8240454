//! `jungle log`: the revisions of a tree.

use std::io::Write;

use jungle_json::value_at;
use jungle_words::Tags;

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::Failure;
use crate::folder::tree;
use crate::info;
use crate::near;
use crate::output::stdout;
use crate::past::{Doing, Line};

const HELP: &str = "\
With a PATH, `--limit 1` tells who changed what is there last; behind the revision with which a \
branch begins, those of the branch that it was made from follow. What is there in the oldest \
revision that is kept counts as its doing.";

/// List the revisions of a tree, the newest first
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
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
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let tags = Tags::of(&tree);
    let limit = args.limit.unwrap_or(usize::MAX);
    let mut out = stdout();
    let newest = tree.snapshot();
    let line = match &below {
        Some(_) => Line::back_from(&tree, newest.revision())?,
        None => Line::of(&tree, newest.revision()),
    };
    let mut past = line.revisions();
    let mut next = || if args.reverse { past.next_back() } else { past.next() };
    let mut told = 0;
    while let Some(next) = (told < limit).then(&mut next).flatten() {
        let (tree, info) = next?;
        if let Some(below) = &below
            && !Doing::of(tree, info.revision, folder.arena())?.did_change(below)
        {
            continue;
        }
        info::print(&mut out, &tags.info(&info), context.format)?;
        told += 1;
    }
    out.flush()?;
    match below.filter(|below| told == 0 && value_at(newest.root(), below).is_none()) {
        Some(below) => Err(near::not_found(newest.root(), &below)),
        None => Ok(()),
    }
}
