//! `jungle revert`: taking back what a revision did.

use std::io::Write;

use jungle::{RevertError, Revision};

use crate::args;
use crate::conflict::member_of;
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder::{Written, tree};
use crate::output::notice;
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
                let listed = conflicts.list().into_iter().map(|it| member_of(it).to_string());
                let read = conflicts.reads().into_iter().map(|path| path.to_string());
                let places: Vec<String> = listed.chain(read).collect();
                let message = format_args!(
                    "what revision {number} did has been changed since, at {}",
                    places.join(", ")
                );
                Failure::new(Exit::Conflict, message)
                    .with_hint("--to makes the tree what it was at a revision, whatever came after")
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
