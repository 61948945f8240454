//! `jungle trees`: the trees of a folder.

use std::io::Write;

use jungle::{DeleteTreeError, RenameTreeError, TreeHandle};
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::near;
use crate::output::{Format, count, done, json_line, stdout};

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
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

/// What is told of a tree; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'t> {
    tree: &'t str,
    revision: u64,
    nodes: u64,
    /// The name it had before.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<&'t str>,
}

#[derive(Serialize)]
struct Deleted<'t> {
    tree: &'t str,
    deleted: bool,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(name) = &args.create {
        let folder = context.create(&args.dir)?;
        let tree = folder.create_tree(name).map_err(failed)?;
        done(context.format, &Told::new(&tree, name))?;
    } else if let Some([old, new]) = args.rename.as_deref() {
        let folder = context.write(&args.dir)?;
        folder.rename_tree(old, new).map_err(|error| match error {
            RenameTreeError::NoSuchTree(error) => no_such_tree(&folder, old, &error),
            error => failed(error),
        })?;
        let tree = folder.open_tree(new).map_err(failed)?;
        done(context.format, &Told { renamed_from: Some(old), ..Told::new(&tree, new) })?;
    } else if let Some(name) = &args.delete {
        let folder = context.write(&args.dir)?;
        folder.delete_tree(name).map_err(|error| match error {
            DeleteTreeError::NoSuchTree(error) => no_such_tree(&folder, name, &error),
            error => failed(error),
        })?;
        done(context.format, &Deleted { tree: name, deleted: true })?;
    } else {
        list(&args.dir, context)?;
    }
    Ok(())
}

impl<'t> Told<'t> {
    fn new(tree: &TreeHandle, name: &'t str) -> Told<'t> {
        let snapshot = tree.snapshot();
        let (revision, nodes) = (snapshot.revision().number(), snapshot.root().subtree_count());
        Told { tree: name, revision, nodes, renamed_from: None }
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
        let told = Told::new(&tree, &name);
        match context.format {
            Format::Json => json_line(&mut out, &told)?,
            Format::Text => {
                let Told { revision, nodes, .. } = told;
                writeln!(out, "{name}  revision {revision}, {}", count(nodes, "node"))?;
            }
        }
    }
    Ok(out.flush()?)
}
