//! `jungle revert`: taking back what a revision did.

use std::io::Write;

use jungle::{ConflictKind, Conflicts, Path, RevertError, Revision, TreeHandle};

use crate::args;
use crate::conflict::{member_of, print_json};
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder::{Written, tree};
use crate::output::{Format, notice, stdout};
use crate::revision::{HELP, find};

/// Take back what one revision did, or go back to what the tree was; both as a new revision
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// The revision
    rev: String,
    /// Make the tree what it was at the revision, instead of taking back what that did
    #[arg(long)]
    to: bool,
    #[command(flatten)]
    branch: args::Branch,
    #[command(flatten)]
    meta: args::Meta,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.write(&args.dir)?;
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let found = find(&tree, &args.rev)?;
    // A number is taken as it is: at one of another tree, what this one did before is not meant.
    let number = args.rev.parse().map_or(found.snapshot.revision(), Revision::new);
    let mut meta = args.meta.commit();
    if meta.message_text().is_none() {
        let what = if args.to { "back to" } else { "revert" };
        meta = meta.message(&format!("{what} {}", args.rev));
    }
    let before = tree.snapshot().revision();
    let committed = if args.to {
        tree.set_root(&found.snapshot, &meta).map_err(failed)?
    } else {
        tree.revert(number, &meta).map_err(|error| match error {
            RevertError::Conflict(conflicts) => {
                changed_since(&tree, number, &conflicts, context.format)
            }
            error => failed(error),
        })?
    };
    let changed = committed.revision != before;
    let mut out = notice();
    let written = Written { revision: committed.revision.number(), changed };
    written.print(&mut out, context.format)?;
    Ok(out.flush()?)
}

/// Says where what a revision did has been changed since; to programs also how, as `merge` does.
fn changed_since(
    tree: &TreeHandle,
    revision: Revision,
    conflicts: &Conflicts,
    format: Format,
) -> Failure {
    let listed = conflicts.list().into_iter().map(|it| (member_of(it), it.kind));
    // Where something was to come back, and is back already.
    let taken = conflicts.reads().into_iter().map(|path| (path.clone(), ConflictKind::KeyTaken));
    let places: Vec<(Path, ConflictKind)> = listed.chain(taken).collect();
    if format == Format::Json
        && let Err(failure) = print(tree, revision, &places)
    {
        return failure;
    }
    let paths: Vec<String> = places.iter().map(|(path, _)| path.to_string()).collect();
    let paths = paths.join(", ");
    let message = format!("what revision {revision} did has been changed since, at {paths}");
    Failure::new(Exit::Conflict, message)
        .with_hint("--to makes the tree what it was at a revision, whatever came after")
}

/// Ours is what the revision found, from what it made of that; theirs is what came after it.
fn print(
    tree: &TreeHandle,
    revision: Revision,
    places: &[(Path, ConflictKind)],
) -> Result<(), Failure> {
    let before = Revision::new(revision.number().saturating_sub(1));
    let (base, ours) = (tree.at(revision).map_err(failed)?, tree.at(before).map_err(failed)?);
    let theirs = tree.snapshot();
    let mut out = stdout();
    for (path, kind) in places {
        let sides = [("base", base.root()), ("ours", ours.root()), ("theirs", theirs.root())];
        print_json(&mut out, (path, *kind), sides)?;
    }
    Ok(out.flush()?)
}
