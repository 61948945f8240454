//! `jungle merge`: a branch into another.

use std::io::{self, Write};

use jungle::{Merge, MergeBranchError, MergeOptions, Path, Rule, TreeHandle};
use jungle_words::conflict;
use serde::Serialize;

use crate::args;
use crate::conflict::{print_json, print_sides};
use crate::context::Context;
use crate::differences::{Detail, print};
use crate::failure::{Exit, Failure, failed};
use crate::folder::{Written, not_committed, on_branch, tree};
use crate::output::{Format, count, json_line, notice, stdout};
use crate::settle::{Disputed, Side, disputed, edits, merged, settled};

/// Where a path for `--resolve` is found.
const LISTED: &str = "--dry-run lists the conflicts with their paths";

const HELP: &str = "\
Ours is the branch that is merged, theirs the one it is merged into. Edits in different places \
never conflict; where both changed one place differently nothing is merged until it is said who \
prevails, and the exit code is 5.";

/// Merge a branch into another, or see what that would do
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// The branch that is merged
    from: String,
    /// The branch it is merged into
    #[arg(long, value_name = "NAME", default_value = "main")]
    into: String,
    /// Tell what would happen, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Where they conflict, the branch that is merged prevails
    #[arg(long, conflicts_with = "theirs")]
    ours: bool,
    /// Where they conflict, the branch it is merged into prevails
    #[arg(long)]
    theirs: bool,
    /// Settle the conflict at a path: `PATH=ours`, `PATH=theirs`, or `PATH=` and a value as JSON
    #[arg(long, value_name = "PATH=HOW")]
    resolve: Vec<String>,
    /// An attribute that counts: where both changed such a number, what both added to it adds up
    #[arg(long, value_name = "NAME")]
    counter: Vec<String>,
    #[command(flatten)]
    meta: args::Meta,
}

/// What is told of a merge; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    #[serde(flatten)]
    written: Written,
    /// What has other paths now than on the branch that was merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    renamed: Vec<Renamed>,
}

#[derive(Serialize)]
struct Renamed {
    from: String,
    to: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = if args.dry_run { context.read(&args.dir)? } else { context.write(&args.dir)? };
    let into = tree(&folder, &args.tree, Some(&args.into))?;
    let merge = prepare(&into, args)?;
    let places = disputed(&merge, &args.resolve, LISTED)?;
    let is_settled = args.ours || args.theirs;
    let open: Vec<&Disputed<'_>> =
        places.iter().filter(|place| !is_settled && place.how.is_none()).collect();
    let mut out = stdout();
    let all = args.dry_run.then_some(&places);
    if !open.is_empty() {
        if args.dry_run {
            preview(&mut out, &merge, context.format)?;
        }
        for place in &open {
            tell(&mut out, place, &merge, context.format)?;
        }
        out.flush()?;
        let number = count(open.len() as u64, "conflict");
        let message = format_args!("{number} to be settled; nothing was merged");
        return Err(Failure::new(Exit::Conflict, message).with_hint(
            "--ours or --theirs settles all, --resolve PATH=ours, =theirs or =JSON one",
        ));
    }
    for place in all.into_iter().flatten() {
        tell(&mut out, place, &merge, context.format)?;
    }
    let edits = edits(&places, prevails(args));
    let merge = if edits.is_empty() { merge } else { settled(prepare(&into, args)?, &edits)? };
    if args.dry_run {
        preview(&mut out, &merge, context.format)?;
        return Ok(out.flush()?);
    }
    commit(merge, args, context)
}

fn commit(merge: Merge, args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let before = merge.theirs().revision();
    let mut meta = args.meta.commit();
    if meta.message_text().is_none() {
        meta = meta.message(&format!("merge {}", args.from));
    }
    let committed = merge.commit(&meta).map_err(not_committed)?;
    let changed = committed.revision != before;
    let renamed = committed.renamed.iter();
    let told = Told {
        written: Written { revision: committed.revision.number(), changed },
        renamed: renamed
            .map(|(from, to)| Renamed { from: from.to_string(), to: to.to_string() })
            .collect(),
    };
    let mut out = notice();
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => {
            for Renamed { from, to } in &told.renamed {
                writeln!(out, "{from} of {} is {to} now", args.from)?;
            }
            told.written.print(&mut out, context.format)?;
        }
    }
    Ok(out.flush()?)
}

fn prevails(args: &Args) -> Side {
    Side::said(args.ours, args.theirs).unwrap_or(Side::Theirs)
}

fn prepare(into: &TreeHandle, args: &Args) -> Result<Merge, Failure> {
    let options = args
        .counter
        .iter()
        .fold(MergeOptions::new(), |options, key| options.rule(key, Rule::Counter));
    let options = options.resolution(prevails(args).resolution());
    into.merge(&args.from, &options).map_err(|error| match error {
        MergeBranchError::NoSuchBranch(error) => {
            on_branch(into, &args.from).err().unwrap_or_else(|| failed(error))
        }
        error @ MergeBranchError::Renumbered { .. } => {
            failed(error).with_hint("a new branch begins without them")
        }
        error => failed(error),
    })
}

/// What the merge would do.
fn preview(out: &mut impl Write, merge: &Merge, format: Format) -> Result<(), Failure> {
    print(out, (merge.theirs(), &merged(merge)?), &Path::root(), format, Detail::Each)?;
    Ok(())
}

fn tell(
    out: &mut impl Write,
    place: &Disputed<'_>,
    merge: &Merge,
    format: Format,
) -> io::Result<()> {
    let Disputed { conflict, path, .. } = place;
    let sides = [("base", merge.base()), ("ours", merge.ours()), ("theirs", merge.theirs())];
    let sides = sides.map(|(side, snapshot)| (side, snapshot.root()));
    match format {
        Format::Text => {
            writeln!(out, "! {path}: {}", conflict.kind)?;
            print_sides(out, path, sides)
        }
        Format::Json => print_json(out, (path, conflict::name(conflict.kind)), sides),
    }
}
