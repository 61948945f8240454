//! `jungle rm`: out of a tree.

use std::io::Write;

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::Failure;
use crate::folder::{edit, tree};
use crate::member;
use crate::output::notice;

/// Remove what is at a path; older revisions keep it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// Where. The elements behind one that is removed keep their positions
    path: String,
    #[command(flatten)]
    branch: args::Branch,
    #[command(flatten)]
    meta: args::Meta,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let path = path(&args.path)?;
    let folder = context.write(&args.dir)?;
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let written = edit(&tree, args.meta.commit(), |editor| member::remove(editor, &path))?;
    let mut out = notice();
    written.print(&mut out, context.format)?;
    Ok(out.flush()?)
}
