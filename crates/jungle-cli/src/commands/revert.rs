//! `jungle revert`: taking back what a revision did.

use std::io::Write;

use crate::args;
use crate::conflict::print_json;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Format, notice, stdout};
use crate::place::{Back, Clash, On, Part, Place, Purpose, Reverted};
use crate::revision::HELP;

/// Take back what one revision did, or go back to what the tree was; both as a new revision
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// The tree
    tree: String,
    /// The revision
    rev: String,
    /// Make the tree what it was at the revision, instead of taking back what that did
    #[arg(long)]
    to: bool,
    #[command(flatten)]
    branch: args::Branch,
    #[command(flatten)]
    meta: args::Meta,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let place = context.place(&args.dir, Purpose::Write)?;
    let on = On { tree: &args.tree, branch: args.branch.branch.as_deref() };
    let (back, what) = match args.to {
        true => (Back::To, "back to"),
        false => (Back::Over, "revert"),
    };
    let message = args.meta.message.clone();
    let message = message.unwrap_or_else(|| format!("{what} {}", args.rev));
    let meta = args::Meta { message: Some(message), author: args.meta.author.clone() };
    match place.revert(on, &args.rev, back, &meta)? {
        Reverted::Written(written) => {
            let mut out = notice();
            written.print(&mut out, context.format)?;
            Ok(out.flush()?)
        }
        Reverted::Contradicted { revision, clashes, left_out } => {
            if context.format == Format::Json {
                print(&*place, on, revision, &clashes)?;
            }
            Err(changed_since(revision, &clashes, left_out))
        }
    }
}

/// Says where what a revision did has been changed since; to programs also how, as `merge` does.
fn changed_since(revision: u64, clashes: &[Clash], left_out: usize) -> Failure {
    let paths: Vec<String> = clashes.iter().map(|clash| clash.path.to_string()).collect();
    let mut paths = paths.join(", ");
    if left_out > 0 {
        paths += &format!(", and at {left_out} more");
    }
    let message = format!("what revision {revision} did has been changed since, at {paths}");
    Failure::new(Exit::Conflict, message)
        .with_hint("--to makes the tree what it was at a revision, whatever came after")
}

/// Ours is what the revision found, from what it made of that; theirs is what came after it.
fn print(place: &dyn Place, on: On<'_>, revision: u64, clashes: &[Clash]) -> Result<(), Failure> {
    let (made, found) = (revision.to_string(), format!("{revision}~1"));
    let mut out = stdout();
    for Clash { path, kind } in clashes {
        let look = |at| place.look_on(on, at, Part::Whole(path));
        let (base, ours, theirs) = (look(Some(&*made))?, look(Some(&*found))?, look(None)?);
        let sides = [("base", base.root()), ("ours", ours.root()), ("theirs", theirs.root())];
        print_json(&mut out, (path, &**kind), sides)?;
    }
    Ok(out.flush()?)
}
