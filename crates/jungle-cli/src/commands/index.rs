//! `jungle index`: indexes of a tree, by which nodes are found quickly.

use std::io::Write;
use std::sync::Arc;

use jungle::{IndexError, TreeHandle, json::VALUE_KEY};
use serde::Serialize;

use super::gc::not_written;
use crate::args;
use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::folder::tree;
use crate::near;
use crate::output::bar::waiting;
use crate::output::{Format, done, json_line, stdout};

const HELP: &str = "\
With an index of `status`, `jungle find DIR TREE 'status = open and stars > 3'` looks at the nodes \
whose status is open, and at no others. Comparisons are found by it, beside whatever else `and` \
joins them with; `not` and `exists` are not. The first index makes that of `@value`, too, since a \
member of an object with more than 64 scalars is a node of its own.";

/// List the indexes of a tree; make or drop one
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// Make an index of this member; `@value`: of the values of elements
    key: Option<String>,
    /// Drop this index
    #[arg(long, value_name = "KEY", conflicts_with = "key")]
    drop: Option<String>,
    #[command(flatten)]
    by: args::By,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

/// What stands for the key that is empty, here and in expressions.
pub(super) const VALUE: &str = "@value";

#[derive(Serialize)]
struct Told<'t> {
    index: &'t str,
}

#[derive(Serialize)]
struct Dropped<'t> {
    index: &'t str,
    dropped: bool,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(key) = &args.drop {
        let folder = context.write(&args.dir)?;
        let tree = tree(&folder, &args.tree, None)?.by(&args.by.meta());
        tree.drop_index(raw(key)).map_err(|error| match error {
            IndexError::NoSuchIndex { .. } => {
                let indexes = tree.list_indexes();
                let keys = indexes.iter().map(shown);
                near::no_such(error, key, keys, "`index` lists them")
            }
            error => failed(error),
        })?;
        return Ok(done(context.format, &Dropped { index: key, dropped: true })?);
    }
    let Some(key) = &args.key else {
        return list(args, context);
    };
    let folder = context.write(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?.by(&args.by.meta());
    jungle_words::create_index(&tree, raw(key)).map_err(failed)?;
    waiting("working out the index", || work_out(&tree))?;
    // So it is there when the folder is opened next.
    waiting("writing the checkpoint", || folder.checkpoint()).map_err(not_written)?;
    Ok(done(context.format, &Told { index: key })?)
}

/// Works out all that are not yet.
fn work_out(tree: &TreeHandle) -> Result<(), Failure> {
    let newest = tree.snapshot();
    let each = |key: &Arc<str>| tree.index(key, &newest).map(drop);
    tree.list_indexes().iter().try_for_each(each).map_err(failed)
}

fn list(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read(&args.dir)?;
    let mut out = stdout();
    for key in tree(&folder, &args.tree, None)?.list_indexes() {
        let index = shown(&key);
        match context.format {
            Format::Json => json_line(&mut out, &Told { index })?,
            Format::Text => writeln!(out, "{index}")?,
        }
    }
    Ok(out.flush()?)
}

fn raw(key: &str) -> &str {
    if key == VALUE { VALUE_KEY } else { key }
}

fn shown(key: &Arc<str>) -> &str {
    if **key == *VALUE_KEY { VALUE } else { key }
}
