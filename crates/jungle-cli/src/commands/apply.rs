//! `jungle apply`: a patch, which is what `jungle diff --json` prints.

use std::io::Write;

use jungle_tree::{Path, Tree};

use crate::args;
use crate::context::Context;
use crate::differences::{Detail, print};
use crate::failure::Failure;
use crate::folder::{edit, tree};
use crate::output::{notice, stdout};
use crate::patch::{Conflict, Patch};

const HELP: &str = "\
What the patch removes, changes or moves must be there as it says, and nothing where it adds \
something. Otherwise each such place is told, nothing is changed, and the exit code is 5. The \
order of an object's members is no part of a patch, but for what it adds as a whole.";

/// Do what a patch says, which `diff --json` has printed, as one new revision
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// The file with the patch; `-` for standard input
    #[arg(value_name = "FILE")]
    patch: String,
    /// Tell what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Take back what the patch did
    #[arg(short = 'R', long)]
    reverse: bool,
    #[command(flatten)]
    read: args::Read,
    #[command(flatten)]
    branch: args::Branch,
    #[command(flatten)]
    meta: args::Meta,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    // All of it, before the folder is kept from others: it may come from a command that reads that.
    let patch = Patch::read(&args.patch, args.read.depth_max)?;
    let patch = if args.reverse { patch.reversed()? } else { patch };
    let folder = if args.dry_run { context.read(&args.dir)? } else { context.write(&args.dir)? };
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let mut out = stdout();
    let mut conflicts: Vec<Conflict> = Vec::new();
    let applied = if args.dry_run {
        let before = tree.snapshot();
        let mut after = Tree::from_snapshot(&before);
        after.edit(|editor| patch.apply(editor, &mut conflicts)).and_then(|()| {
            let after = after.snapshot();
            let below = Path::root();
            print(&mut out, (&before, &after), &below, context.format, Detail::Each)?;
            Ok(())
        })
    } else {
        let written = edit(&tree, args.meta.commit(), |editor| patch.apply(editor, &mut conflicts));
        written.and_then(|written| Ok(written.print(&mut notice(), context.format)?))
    };
    for conflict in &conflicts {
        conflict.print(&mut out, context.format)?;
    }
    out.flush()?;
    applied
}
