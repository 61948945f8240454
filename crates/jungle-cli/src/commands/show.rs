//! `jungle show`: what a revision did.

use std::io::Write;

use jungle_tree::Path;
use jungle_words::{Doing, Tags};

use crate::context::Context;
use crate::differences::{Choice, print};
use crate::document::path;
use crate::failure::Failure;
use crate::folder::tree;
use crate::info;
use crate::output::stdout;
use crate::revision::{HELP, find};

/// Tell what a revision did, and who made it
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// The revision
    #[arg(default_value = "main")]
    rev: String,
    /// Look only below this path
    path: Option<String>,
    #[command(flatten)]
    detail: Choice,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let below = args.path.as_deref().map_or(Ok(Path::root()), path)?;
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    let found = find(&tree, &args.rev)?;
    let mut out = stdout();
    let info = Tags::of(&tree).info(&found.info()?);
    info::print(&mut out, &info, context.format)?;
    let Doing { before, after } = Doing::of_found(&found)?;
    let detail = args.detail.detail();
    print(&mut out, (&before, &after), &below, context.format, detail)?;
    Ok(out.flush()?)
}
