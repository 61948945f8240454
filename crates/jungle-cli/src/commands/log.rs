//! `jungle log`: the revisions of a tree.

use std::io::Write;

use jungle::{Revision, RevisionInfo, TreeHandle};
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
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let below = args.path.as_deref().map(path).transpose()?;
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let tags = Tags::of(&tree);
    let limit = args.limit.unwrap_or(usize::MAX);
    let mut out = stdout();
    let branches = match &below {
        Some(_) => back_from(&tree)?,
        None => vec![(tree.clone(), tree.snapshot().revision())],
    };
    let mut past = branches.iter().flat_map(|(tree, newest)| {
        tree.history(..=*newest).map(move |info| info.map(|info| (tree, info)))
    });
    let mut next = || if args.reverse { past.next_back() } else { past.next() };
    let mut told = 0;
    while let Some(next) = (told < limit).then(&mut next).flatten() {
        let (tree, info) = next?;
        if let Some(below) = &below
            && !did_change(tree, &info, below, folder.arena())?
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

/// The branch, then those that go on where one begins; each with its newest revision of interest.
fn back_from(tree: &TreeHandle) -> Result<Vec<(TreeHandle, Revision)>, Failure> {
    let mut branches = vec![(tree.clone(), tree.snapshot().revision())];
    loop {
        let (tree, newest) = &branches[branches.len() - 1];
        let oldest = tree.history(..=*newest).next_back().transpose()?;
        let before = match oldest {
            Some(oldest) => found(tree, oldest.revision)?.before()?,
            None => None,
        };
        let Some(before) = before else { return Ok(branches) };
        branches.push((before.tree, before.snapshot.revision()));
    }
}

fn found(tree: &TreeHandle, revision: Revision) -> Result<Found, Failure> {
    Ok(Found { snapshot: tree.at(revision).map_err(failed)?, tree: tree.clone() })
}

/// Did a revision change what is at a path or below?
fn did_change(
    tree: &TreeHandle,
    info: &RevisionInfo,
    below: &Path,
    arena: &Arena,
) -> Result<bool, Failure> {
    let found = found(tree, info.revision)?;
    Ok(match found.before()? {
        Some(before) => differs(&before.snapshot, &found.snapshot, below),
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
