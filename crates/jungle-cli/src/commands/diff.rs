//! `jungle diff`: what differs between two documents, or two revisions of a tree.

use std::io::Write;

use jungle_json::MemberOrder;
use jungle_tree::{Path, Tree};

use crate::args;
use crate::context::Context;
use crate::differences::{Choice, print_all};
use crate::document::{import_file, new_tree, path};
use crate::failure::Failure;
use crate::folder::is_folder;
use crate::near;
use crate::output::stdout;
use crate::place::{Compared, Part, Purpose, is_url};
use crate::revision;
use crate::source::usage;

const FORMS: &str = "jungle diff FILE FILE [PATH], or jungle diff DIR TREE REV [REV] [PATH]";

/// Tell what differs between two JSON documents, or two revisions of a tree
#[derive(clap::Args)]
#[command(override_usage = FORMS, after_help = revision::HELP)]
pub(crate) struct Args {
    /// The document before, `-` for standard input; or a folder, or the URL of a server
    #[arg(value_name = "FILE|DIR")]
    place: String,
    /// The document after; or of a folder or a server the tree, the revision before, and the one
    /// after (without it the newest). Then a path, to look only below it
    #[arg(value_name = "AFTER", required = true, num_args = 1..=4)]
    rest: Vec<String>,
    #[command(flatten)]
    detail: Choice,
    #[command(flatten)]
    read: args::Read,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let rest: Vec<&str> = args.rest.iter().map(String::as_str).collect();
    let is_place = is_folder(&args.place) || is_url(&args.place);
    match (is_place, &rest[..]) {
        (false, [after]) => documents(args, context, after, "/"),
        (false, [after, below]) => documents(args, context, after, below),
        // A path has a slash in front here: a revision could be called anything else.
        (true, [name, a, below]) if below.starts_with('/') => {
            revisions(args, context, name, (a, None), below)
        }
        (true, [name, a]) => revisions(args, context, name, (a, None), "/"),
        (true, [name, a, b]) => revisions(args, context, name, (a, Some(b)), "/"),
        (true, [name, a, b, below]) => revisions(args, context, name, (a, Some(b)), below),
        _ if is_url(&args.place) => {
            Err(Failure::usage("these arguments do not fit a server").with_hint(FORMS))
        }
        _ => Err(usage(&args.place, FORMS)),
    }
}

fn documents(args: &Args, context: &Context<'_>, after: &str, below: &str) -> Result<(), Failure> {
    if args.place == "-" && after == "-" {
        return Err(Failure::usage("only one document can be on standard input"));
    }
    let below = path(below)?;
    // The order of members is no difference.
    let order = MemberOrder::Ignore;
    let mut tree = new_tree()?;
    import_file(&mut tree, &args.place, &args.read, order)?;
    let before = tree.snapshot();
    // The second is read over the first, so that what they share is skipped.
    let mut tree = Tree::from_snapshot(&before);
    import_file(&mut tree, after, &args.read, order)?;
    let after = tree.snapshot();
    let compared = Compared::Here { before, after: after.clone() };
    tell(args, context, &compared, &below, || Ok(near::not_found(after.root(), &below)))
}

fn revisions(
    args: &Args,
    context: &Context<'_>,
    name: &str,
    (a, b): (&str, Option<&str>),
    below: &str,
) -> Result<(), Failure> {
    let below = path(below)?;
    let place = context.place(&args.place, Purpose::Read)?;
    let compared = place.compare(name, (a, b), &below)?;
    tell(args, context, &compared, &below, || {
        let after = place.look(name, b, Part::Members(&below))?;
        Ok(near::not_found(after.root(), &below))
    })
}

/// Tells what was found; or, where neither has something there, what may be meant.
fn tell(
    args: &Args,
    context: &Context<'_>,
    compared: &Compared,
    below: &Path,
    missing: impl FnOnce() -> Result<Failure, Failure>,
) -> Result<(), Failure> {
    let Some(found) = compared.differences(below) else { return Err(missing()?) };
    let mut out = stdout();
    print_all(&mut out, &found, below, context.format, args.detail.detail())?;
    Ok(out.flush()?)
}
