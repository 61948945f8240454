//! `jungle branch`: the branches of a tree.

use std::io::Write;

use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Format, done, json_line, stdout};
use crate::place::{Mark, Purpose};
use crate::revision::HELP;

/// List the branches of a tree; make or delete one
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// The tree
    tree: String,
    /// Make a branch of this name
    name: Option<String>,
    /// Where it begins [default: the newest of main]
    rev: Option<String>,
    /// Delete this branch
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    delete: Option<String>,
    #[command(flatten)]
    by: args::By,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

#[derive(Serialize)]
struct Told<'t> {
    branch: &'t str,
    revision: u64,
}

#[derive(Serialize)]
struct Deleted<'t> {
    branch: &'t str,
    deleted: bool,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(name) = &args.delete {
        let place = context.place(&args.dir, Purpose::Write)?;
        place.unmark(&args.tree, Mark::Branch, name, &args.by)?;
        return Ok(done(context.format, &Deleted { branch: name, deleted: true })?);
    }
    let Some(name) = &args.name else {
        return list(args, context);
    };
    let place = context.place(&args.dir, Purpose::Write)?;
    let named = (&**name, args.rev.as_deref());
    let revision = place.mark(&args.tree, Mark::Branch, named, &args.by)?;
    Ok(done(context.format, &Told { branch: name, revision })?)
}

fn list(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let place = context.place(&args.dir, Purpose::Read)?;
    let mut out = stdout();
    for (name, revision) in place.marks(&args.tree, Mark::Branch)? {
        match context.format {
            Format::Json => json_line(&mut out, &Told { branch: &name, revision })?,
            Format::Text => writeln!(out, "{name}  revision {revision}")?,
        }
    }
    Ok(out.flush()?)
}
