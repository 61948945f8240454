//! `jungle keep`: how much of a history is kept.

use std::io::Write;

use jungle::Retention;
use jungle_words::keep::{parse, text};
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::folder::tree;
use crate::output::{Format, done, json_line, stdout};

const HELP: &str = "\
Say `all`, how many of the newest revisions (`100`), or how old they may be (`90s`, `30m`, `12h`, \
`7d`, `4w`). Tags, and what a branch began with, are kept whatever is said. What is not kept is \
gone from every command at once; `jungle gc DIR` gives its place on the disk back, and with it the \
log of everything before, so the checkpoint is the only copy of that then: back up what matters. \
Who made and deleted what stays, and `jungle audit DIR` lists it. \
In the folder of a cluster's server nothing is set: any of its servers does that for all.";

/// Show or set how much of a tree's history is kept
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// `all`, a number of revisions, or an age like `30d`
    #[arg(value_parser = parse)]
    what: Option<Retention>,
    /// Of this branch [default: main]
    #[arg(long)]
    branch: Option<String>,
    #[command(flatten)]
    by: args::By,
}

#[derive(Serialize)]
struct Told {
    keep: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let branch = args.branch.as_deref();
    if let Some(retention) = args.what {
        let folder = context.write(&args.dir)?;
        let tree = tree(&folder, &args.tree, branch)?.by(&args.by.meta());
        tree.set_retention(retention).map_err(failed)?;
        return Ok(done(context.format, &Told { keep: text(retention) })?);
    }
    let folder = context.read(&args.dir)?;
    let keep = text(tree(&folder, &args.tree, branch)?.retention());
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, &Told { keep })?,
        Format::Text => writeln!(out, "{keep}")?,
    }
    Ok(out.flush()?)
}
