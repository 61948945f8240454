//! `jungle watch`: what happened, for programs.

use std::io::Write;

use jungle::{Revision, WatchError};
use jungle_words::Tags;

use crate::args;
use crate::context::Context;
use crate::differences::{differences, json_list};
use crate::document::path;
use crate::failure::{Exit, Failure, failed};
use crate::folder::tree;
use crate::output::stdout;
use crate::revision::find;

const HELP: &str = "\
Each revision is a line of JSON: what `log --json` tells, and `changes`, as `diff --json` tells \
them. It ends with the newest: one process at a time has a folder, so nobody can write while this \
reads. Remember the last `revision`, and go on with --after it.";

/// Print what each revision changed, as lines of JSON, the oldest first
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// Look only below this path
    #[arg(default_value = "/")]
    path: String,
    /// Begin behind this revision [default: with the first]
    #[arg(long, value_name = "REV")]
    after: Option<String>,
    #[command(flatten)]
    branch: args::Branch,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let path = path(&args.path)?;
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, args.branch.branch.as_deref())?;
    let after = match &args.after {
        Some(after) => find(&tree, after)?.snapshot.revision(),
        None => Revision::default(),
    };
    let tags = Tags::of(&tree);
    // Members that are attributes are told by the node that has them.
    let mut watch = tree.watch(&[], after);
    let mut out = stdout();
    loop {
        let before = watch.seen();
        let event = watch.next().map_err(|error| match error {
            WatchError::TooOld { .. } => Failure::of(Exit::NotFound, &error),
            error => failed(error),
        })?;
        let Some(event) = event else { break };
        let before = tree.at(before.max(first(&tree))).map_err(failed)?;
        let Some(changes) = differences(&before, &event.snapshot, &path) else { continue };
        if changes.is_empty() {
            continue;
        }
        let info = serde_json::to_string(&tags.info(&event.info)).expect("plain data");
        write!(out, "{},\"changes\":", info.trim_end_matches('}'))?;
        json_list(&mut out, &changes)?;
        writeln!(out, "}}")?;
        // Whoever reads along wants it now.
        out.flush()?;
    }
    Ok(())
}

fn first(tree: &jungle::TreeHandle) -> Revision {
    let oldest = tree.history(..).next_back().and_then(Result::ok);
    oldest.map(|info| info.revision).unwrap_or_default()
}
