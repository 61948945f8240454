//! `jungle trees`: the trees of a folder.

use std::io::Write;

use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Format, count, done, json_line, stdout};
use crate::place::{Purpose, TreeTold};

/// List the trees of a folder; create, rename or delete one
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
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
    by: args::By,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

/// What is told of a tree that has another name now.
#[derive(Serialize)]
struct Renamed<'t> {
    #[serde(flatten)]
    told: TreeTold,
    /// The name it had before.
    renamed_from: &'t str,
}

#[derive(Serialize)]
struct Deleted<'t> {
    tree: &'t str,
    deleted: bool,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let by = &args.by;
    if let Some(name) = &args.create {
        let told = context.place(&args.dir, Purpose::Create)?.create_tree(name, by)?;
        done(context.format, &told)?;
    } else if let Some([old, new]) = args.rename.as_deref() {
        let told = context.place(&args.dir, Purpose::Write)?.rename_tree(old, new, by)?;
        done(context.format, &Renamed { told, renamed_from: old })?;
    } else if let Some(name) = &args.delete {
        context.place(&args.dir, Purpose::Write)?.delete_tree(name, by)?;
        done(context.format, &Deleted { tree: name, deleted: true })?;
    } else {
        list(&args.dir, context)?;
    }
    Ok(())
}

/// Lists the trees of a folder.
pub(super) fn list(dir: &str, context: &Context<'_>) -> Result<(), Failure> {
    let place = context.place(dir, Purpose::Read)?;
    let mut out = stdout();
    for told in place.trees()? {
        match context.format {
            Format::Json => json_line(&mut out, &told)?,
            Format::Text => {
                let TreeTold { tree, revision, nodes } = told;
                let nodes = nodes.map(|nodes| format!(", {}", count(nodes, "node")));
                writeln!(out, "{tree}  revision {revision}{}", nodes.unwrap_or_default())?;
            }
        }
    }
    Ok(out.flush()?)
}
