//! `jungle revert`: taking back what a revision did.

use std::io::Write;

use jungle::Path;

use crate::args;
use crate::conflict::{print_json, print_sides};
use crate::context::Context;
use crate::differences::{Detail, print_all};
use crate::failure::{Exit, Failure};
use crate::output::{Format, notice, stdout};
use crate::place::{Back, Clash, Contradicted, Foreseen, On, Part, Place, Purpose, Reverted};
use crate::revision::HELP;
use crate::settle::{Settle, Side};

const UNSETTLED: &str = "\
--ours leaves what is there now, --theirs brings back what was there before; \
--resolve PATH=ours, =theirs or =JSON settles one";

const BACK_ALREADY: &str = "\
nothing settles what is back already; \
--to makes the tree what it was at a revision, whatever came after";

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
    /// Tell what would differ after that, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Where it has been changed since, what is there now stays
    #[arg(long, conflicts_with_all = ["theirs", "to"])]
    ours: bool,
    /// Where it has been changed since, what was there before the revision comes back
    #[arg(long, conflicts_with = "to")]
    theirs: bool,
    /// Settle what has been changed since at a path: `PATH=ours`, `PATH=theirs`, or `PATH=` and a
    /// value as JSON
    #[arg(long, value_name = "PATH=HOW", conflicts_with = "to")]
    resolve: Vec<String>,
    #[command(flatten)]
    branch: args::Branch,
    #[command(flatten)]
    meta: args::Meta,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let purpose = if args.dry_run { Purpose::Read } else { Purpose::Write };
    let place = context.place(&args.dir, purpose)?;
    let on = On { tree: &args.tree, branch: args.branch.branch.as_deref() };
    let prevails = Side::said(args.ours, args.theirs);
    let back = match args.to {
        true => Back::To,
        false => Back::Over(Settle { prevails, resolve: &args.resolve }),
    };
    let contradicted = match args.dry_run {
        true => foresee(&*place, on, (&args.rev, back), context.format)?,
        false => go_back(&*place, on, back, args, context.format)?,
    };
    let Some(contradicted) = contradicted else { return Ok(()) };
    if args.dry_run || context.format == Format::Json {
        print(&*place, on, &contradicted, context.format)?;
    }
    let failure = changed_since(&contradicted);
    Err(failure.with_hint(if prevails.is_none() { UNSETTLED } else { BACK_ALREADY }))
}

/// Tells what going back would do; gives where that is not settled.
fn foresee(
    place: &dyn Place,
    on: On<'_>,
    (rev, back): (&str, Back<'_>),
    format: Format,
) -> Result<Option<Contradicted>, Failure> {
    let Foreseen { compared, contradicted } = place.foresee(on, rev, back)?;
    let found = compared.differences(&Path::root()).unwrap_or_default();
    let mut out = stdout();
    print_all(&mut out, &found, &Path::root(), format, Detail::Each)?;
    out.flush()?;
    Ok(contradicted)
}

/// Goes back, or gives where it is not settled how.
fn go_back(
    place: &dyn Place,
    on: On<'_>,
    back: Back<'_>,
    args: &Args,
    format: Format,
) -> Result<Option<Contradicted>, Failure> {
    let what = if args.to { "back to" } else { "revert" };
    let message = args.meta.message.clone();
    let message = message.unwrap_or_else(|| format!("{what} {}", args.rev));
    let meta = args::Meta { message: Some(message), author: args.meta.author.clone() };
    match place.revert(on, &args.rev, back, &meta)? {
        Reverted::Written(written) => {
            let mut out = notice();
            written.print(&mut out, format)?;
            out.flush()?;
            Ok(None)
        }
        Reverted::Contradicted(contradicted) => Ok(Some(contradicted)),
    }
}

/// Says where what a revision did has been changed since.
fn changed_since(contradicted: &Contradicted) -> Failure {
    let Contradicted { revision, clashes, left_out } = contradicted;
    let paths: Vec<String> = clashes.iter().map(|clash| clash.path.to_string()).collect();
    let mut paths = paths.join(", ");
    if *left_out > 0 {
        paths += &format!(", and at {left_out} more");
    }
    let message = format!("what revision {revision} did has been changed since, at {paths}");
    Failure::new(Exit::Conflict, message)
}

/// Tells how it has been, as `merge` does: ours is what is there now, from what the revision made;
/// theirs is what it found.
fn print(
    place: &dyn Place,
    on: On<'_>,
    contradicted: &Contradicted,
    format: Format,
) -> Result<(), Failure> {
    let Contradicted { revision, clashes, .. } = contradicted;
    let (made, found) = (revision.to_string(), format!("{revision}~1"));
    let mut out = stdout();
    for Clash { path, kind } in clashes {
        let look = |at| place.look_on(on, at, Part::Whole(path));
        let (base, ours, theirs) = (look(Some(&*made))?, look(None)?, look(Some(&*found))?);
        let sides = [("base", base.root()), ("ours", ours.root()), ("theirs", theirs.root())];
        match format {
            Format::Json => print_json(&mut out, (path, &**kind), sides)?,
            Format::Text => {
                writeln!(out, "! {path}")?;
                print_sides(&mut out, path, sides)?;
            }
        }
    }
    Ok(out.flush()?)
}
