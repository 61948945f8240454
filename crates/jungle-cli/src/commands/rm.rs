//! `jungle rm`: out of a tree.

use std::io::Write;

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::Failure;
use crate::member;
use crate::output::notice;
use crate::place::{Edit, On, Purpose};

/// Remove what is at a path; older revisions keep it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
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
    let place = context.place(&args.dir, Purpose::Write)?;
    let on = On { tree: &args.tree, branch: args.branch.branch.as_deref() };
    let remove: Edit<'_> = &|editor| member::remove(editor, &path);
    let written = place.edit(on, &args.meta, &path, remove)?;
    let mut out = notice();
    written.print(&mut out, context.format)?;
    Ok(out.flush()?)
}
