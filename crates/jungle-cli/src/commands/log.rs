//! `jungle log`: the revisions of a tree.

use std::io::Write;

use jungle::{RevisionInfo, TreeHandle};
use jungle_json::{Member, value_at};
use jungle_tree::{Arena, Path, Snapshot, Tree, diff_at};
use jungle_words::{Found, Tags};

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::{Failure, failed};
use crate::folder::tree;
use crate::info;
use crate::near;
use crate::output::stdout;

const HELP: &str = "\
With a PATH, `--limit 1` tells who changed what is there last. What is there in the oldest \
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
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let below = args.path.as_deref().map(path).transpose()?;
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let tags = Tags::of(&tree);
    let limit = args.limit.unwrap_or(usize::MAX);
    let mut out = stdout();
    let mut past = tree.history(..);
    let mut next = || if args.reverse { past.next_back() } else { past.next() };
    let mut told = 0;
    while let Some(info) = (told < limit).then(&mut next).flatten() {
        let info = info?;
        if let Some(below) = &below
            && !did_change(&tree, &info, below, folder.arena())?
        {
            continue;
        }
        info::print(&mut out, &tags.info(&info), context.format)?;
        told += 1;
    }
    out.flush()?;
    let newest = tree.snapshot();
    match below.filter(|below| told == 0 && value_at(newest.root(), below).is_none()) {
        Some(below) => Err(near::not_found(newest.root(), &below)),
        None => Ok(()),
    }
}

/// Did a revision change what is at a path or below?
fn did_change(
    tree: &TreeHandle,
    info: &RevisionInfo,
    below: &Path,
    arena: &Arena,
) -> Result<bool, Failure> {
    let snapshot = tree.at(info.revision).map_err(failed)?;
    let found = Found { tree: tree.clone(), snapshot };
    Ok(match found.before()? {
        Some(before) => differs(&before, &found.snapshot, below),
        // The first revision is a bare node; so is what it is compared with.
        None => differs(&Tree::new(arena).snapshot(), &found.snapshot, below),
    })
}

fn differs(before: &Snapshot, after: &Snapshot, below: &Path) -> bool {
    match (value_at(before.root(), below), value_at(after.root(), below)) {
        (None, None) => false,
        (Some(Member::Value(before)), Some(Member::Value(after))) => before != after,
        (Some(Member::Node(_)), Some(Member::Node(_))) => {
            diff_at(before, after, below).is_ok_and(|changes| !changes.is_empty())
        }
        _ => true,
    }
}
