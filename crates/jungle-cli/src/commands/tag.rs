//! `jungle tag`: names for revisions.

use std::io::Write;

use jungle::BranchError;
use jungle_words::check_name;
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::folder::tree;
use crate::near;
use crate::output::{Format, done, json_line, stdout};
use crate::revision::{HELP, find_or_newest};

/// List the tags of a tree; make or delete one
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// Make a tag of this name
    name: Option<String>,
    /// For this revision [default: the newest of main]
    rev: Option<String>,
    /// Delete this tag; the revision stays
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    delete: Option<String>,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

#[derive(Serialize)]
struct Told<'t> {
    tag: &'t str,
    revision: u64,
}

#[derive(Serialize)]
struct Deleted<'t> {
    tag: &'t str,
    deleted: bool,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(name) = &args.delete {
        let folder = context.write(&args.dir)?;
        let tree = tree(&folder, &args.tree, None)?;
        tree.delete_tag(name).map_err(|error| match error {
            BranchError::NoSuchBranch(error) => {
                let tags = tree.list_tags();
                let names = tags.iter().map(|(name, _)| &**name);
                near::no_such(error, name, names, "`tag` lists them")
            }
            error => failed(error),
        })?;
        return Ok(done(context.format, &Deleted { tag: name, deleted: true })?);
    }
    let Some(name) = &args.name else {
        return list(args, context);
    };
    let folder = context.write(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    check_name(name).map_err(failed)?;
    let at = find_or_newest(&tree, args.rev.as_deref())?;
    let revision = at.snapshot.revision();
    at.tree.tag(name, revision).map_err(failed)?;
    Ok(done(context.format, &Told { tag: name, revision: revision.number() })?)
}

fn list(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    let mut out = stdout();
    for (name, revision) in tree.list_tags() {
        let revision = revision.number();
        match context.format {
            Format::Json => json_line(&mut out, &Told { tag: &name, revision })?,
            Format::Text => writeln!(out, "{name}  revision {revision}")?,
        }
    }
    Ok(out.flush()?)
}
