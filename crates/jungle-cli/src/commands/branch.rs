//! `jungle branch`: the branches of a tree.

use std::io::Write;

use jungle::BranchError;
use jungle_words::check_name;
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::folder::{on_branch, tree};
use crate::output::{Format, done, json_line, stdout};
use crate::revision::{HELP, find_or_newest};

/// List the branches of a tree; make or delete one
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
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
        let folder = context.write(&args.dir)?;
        let tree = tree(&folder, &args.tree, None)?;
        tree.delete_branch(name).map_err(|error| match error {
            BranchError::NoSuchBranch(error) => {
                on_branch(&tree, name).err().unwrap_or_else(|| failed(error))
            }
            error => failed(error),
        })?;
        return Ok(done(context.format, &Deleted { branch: name, deleted: true })?);
    }
    let Some(name) = &args.name else {
        return list(args, context);
    };
    let folder = context.write(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    check_name(name).map_err(failed)?;
    let from = find_or_newest(&tree, args.rev.as_deref())?;
    let revision = from.snapshot.revision();
    from.tree.branch(name, revision).map_err(failed)?;
    Ok(done(context.format, &Told { branch: name, revision: revision.number() })?)
}

fn list(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    let mut out = stdout();
    for name in tree.list_branches() {
        let revision = on_branch(&tree, &name)?.snapshot().revision().number();
        match context.format {
            Format::Json => json_line(&mut out, &Told { branch: &name, revision })?,
            Format::Text => writeln!(out, "{name}  revision {revision}")?,
        }
    }
    Ok(out.flush()?)
}
