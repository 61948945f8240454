//! `jungle show`: what a revision did.

use std::io::Write;

use jungle_tree::Path;

use crate::context::Context;
use crate::differences::{Choice, print_all};
use crate::document::path;
use crate::failure::Failure;
use crate::output::{info, stdout};
use crate::place::Purpose;
use crate::revision::HELP;

/// Tell what a revision did, and who made it
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
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
    let place = context.place(&args.dir, Purpose::Read)?;
    let (info, compared) = place.doing(&args.tree, &args.rev, &below)?;
    let mut out = stdout();
    info::print(&mut out, &info, context.format)?;
    if let Some(found) = compared.differences(&below) {
        print_all(&mut out, &found, &below, context.format, args.detail.detail())?;
    }
    Ok(out.flush()?)
}
