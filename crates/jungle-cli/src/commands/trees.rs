//! `jungle trees`: the trees of a folder.

use std::io::Write;

use jungle::{DeleteTreeError, OpenOptions, RenameTreeError};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::near;
use crate::output::{Format, count, json_line, stdout};

/// List the trees of a folder; create, rename or delete one
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// Create a tree, of one bare node; the folder is made when it is not there
    #[arg(long, value_name = "NAME", group = "what")]
    create: Option<String>,
    /// Give a tree another name
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], group = "what")]
    rename: Option<Vec<String>>,
    /// Delete a tree, with its branches and tags; only a backup has it then
    #[arg(long, value_name = "NAME", group = "what")]
    delete: Option<String>,
}

/// What is told of a tree; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'t> {
    tree: &'t str,
    revision: u64,
    nodes: u64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(name) = &args.create {
        let folder = context.create(&args.dir, OpenOptions::new())?;
        folder.create_tree(name).map(drop).map_err(failed)
    } else if let Some([old, new]) = args.rename.as_deref() {
        let folder = context.write(&args.dir)?;
        folder.rename_tree(old, new).map_err(|error| match error {
            RenameTreeError::NoSuchTree(error) => no_such_tree(&folder, old, &error),
            error => failed(error),
        })
    } else if let Some(name) = &args.delete {
        let folder = context.write(&args.dir)?;
        folder.delete_tree(name).map_err(|error| match error {
            DeleteTreeError::NoSuchTree(error) => no_such_tree(&folder, name, &error),
            error => failed(error),
        })
    } else {
        list(&args.dir, context)
    }
}

fn no_such_tree(jungle: &jungle::Jungle, name: &str, error: &dyn std::fmt::Display) -> Failure {
    let names = jungle.list_trees();
    let names = names.iter().map(|name| &**name);
    near::no_such(error, name, names, "`jungle trees DIR` lists them")
}

/// Lists the trees of a folder.
pub(super) fn list(dir: &str, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read(dir)?;
    let mut out = stdout();
    for name in folder.list_trees() {
        let Ok(tree) = folder.open_tree(&name) else { continue };
        let snapshot = tree.snapshot();
        let (revision, nodes) = (snapshot.revision().number(), snapshot.root().subtree_count());
        match context.format {
            Format::Json => json_line(&mut out, &Told { tree: &name, revision, nodes })?,
            Format::Text => {
                writeln!(out, "{name}  revision {revision}, {}", count(nodes, "node"))?;
            }
        }
    }
    Ok(out.flush()?)
}
