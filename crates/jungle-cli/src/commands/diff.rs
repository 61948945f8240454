//! `jungle diff`: what differs between two documents, or two revisions of a tree.

use std::io::Write;

use jungle_json::MemberOrder;
use jungle_tree::{Path, Snapshot, Tree};

use crate::args;
use crate::context::Context;
use crate::differences::{Choice, print};
use crate::document::{import_file, new_tree, path};
use crate::failure::Failure;
use crate::folder::{is_folder, tree};
use crate::near;
use crate::output::stdout;
use crate::place::no_server;
use crate::revision::{self, find};
use crate::source::usage;

const FORMS: &str = "jungle diff FILE FILE [PATH], or jungle diff DIR TREE REV [REV] [PATH]";

/// Tell what differs between two JSON documents, or two revisions of a tree
#[derive(clap::Args)]
#[command(override_usage = FORMS, after_help = revision::HELP)]
pub(crate) struct Args {
    /// The document before, `-` for standard input; or a folder
    #[arg(value_name = "FILE|DIR")]
    place: String,
    /// The document after; or of a folder the tree, the revision before, and the one after
    /// (without it the newest). Then a path, to look only below it
    #[arg(value_name = "AFTER", required = true, num_args = 1..=4)]
    rest: Vec<String>,
    #[command(flatten)]
    detail: Choice,
    #[command(flatten)]
    read: args::Read,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    no_server(&args.place)?;
    let rest: Vec<&str> = args.rest.iter().map(String::as_str).collect();
    let (before, after, below) = match (is_folder(&args.place), &rest[..]) {
        (false, [after]) => documents(&args.place, after, "/", &args.read)?,
        (false, [after, below]) => documents(&args.place, after, below, &args.read)?,
        // A path has a slash in front here: a revision could be called anything else.
        (true, [name, a, below]) if below.starts_with('/') => {
            revisions(context, &args.place, name, (a, None), below)?
        }
        (true, [name, a]) => revisions(context, &args.place, name, (a, None), "/")?,
        (true, [name, a, b]) => revisions(context, &args.place, name, (a, Some(b)), "/")?,
        (true, [name, a, b, below]) => revisions(context, &args.place, name, (a, Some(b)), below)?,
        _ => return Err(usage(&args.place, FORMS)),
    };
    let detail = args.detail.detail();
    let mut out = stdout();
    if !print(&mut out, (&before, &after), &below, context.format, detail)? {
        return Err(near::not_found(after.root(), &below));
    }
    Ok(out.flush()?)
}

type Compared = (Snapshot, Snapshot, Path);

fn documents(
    before: &str,
    after: &str,
    below: &str,
    read: &args::Read,
) -> Result<Compared, Failure> {
    if before == "-" && after == "-" {
        return Err(Failure::usage("only one document can be on standard input"));
    }
    let below = path(below)?;
    // The order of members is no difference.
    let order = MemberOrder::Ignore;
    let mut tree = new_tree()?;
    import_file(&mut tree, before, read, order)?;
    let before = tree.snapshot();
    // The second is read over the first, so that what they share is skipped.
    let mut tree = Tree::from_snapshot(&before);
    import_file(&mut tree, after, read, order)?;
    Ok((before, tree.snapshot(), below))
}

fn revisions(
    context: &Context<'_>,
    dir: &str,
    name: &str,
    (a, b): (&str, Option<&str>),
    below: &str,
) -> Result<Compared, Failure> {
    let below = path(below)?;
    let folder = context.read(dir)?;
    let tree = tree(&folder, name, None)?;
    let before = find(&tree, a)?.snapshot;
    let after = revision::find_or_newest(&tree, b)?.snapshot;
    Ok(((*before).clone(), (*after).clone(), below))
}
