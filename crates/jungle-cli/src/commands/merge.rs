//! `jungle merge`: a branch into another.

use std::io::{self, Write};

use jungle::{
    Change, Conflict, Editor, Merge, MergeBranchError, MergeOptions, Path, Resolution, Rule,
    TreeHandle, UpdateError, apply,
};
use jungle_json::value_at;
use jungle_tree::Tree;
use jungle_words::conflict;
use serde::Serialize;

use crate::args;
use crate::conflict::{member_of, print_json};
use crate::context::Context;
use crate::differences::{Detail, print};
use crate::failure::{Exit, Failure, failed};
use crate::folder::{Written, not_committed, on_branch, tree};
use crate::member::{self, New, Parents};
use crate::output::{Format, count, json_line, notice, short, stdout};

/// Longer values are cut on a line.
const VALUE_CHARS_MAX: usize = 100;

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

/// How a single conflict is settled.
enum How {
    Take(Side),
    Put(New),
}

/// A conflict, and how it is settled if that was said for it alone.
struct Place<'m> {
    conflict: &'m Conflict,
    /// The member of the document that it is about.
    path: Path,
    how: Option<How>,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = if args.dry_run { context.read(&args.dir)? } else { context.write(&args.dir)? };
    let into = tree(&folder, &args.tree, Some(&args.into))?;
    let merge = prepare(&into, args)?;
    let places = places(&merge, &args.resolve)?;
    let settled = args.ours || args.theirs;
    let open: Vec<&Place<'_>> =
        places.iter().filter(|place| !settled && place.how.is_none()).collect();
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
    let prevails = if args.ours { Side::Ours } else { Side::Theirs };
    let edits = edits(&places, prevails);
    let merge = if edits.is_empty() { merge } else { settle(&into, args, &edits)? };
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

fn prepare(into: &TreeHandle, args: &Args) -> Result<Merge, Failure> {
    let prevails = if args.ours { Resolution::Ours } else { Resolution::Theirs };
    let options = args
        .counter
        .iter()
        .fold(MergeOptions::new(), |options, key| options.rule(key, Rule::Counter));
    let options = options.resolution(prevails);
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

/// The conflicts, each with what `--resolve` says about it.
fn places<'m>(merge: &'m Merge, resolve: &[String]) -> Result<Vec<Place<'m>>, Failure> {
    let conflicts = merge.conflicts().iter();
    let mut places: Vec<Place<'m>> = conflicts
        .map(|conflict| Place { conflict, path: member_of(conflict), how: None })
        .collect();
    for text in resolve {
        let mut known = false;
        for place in &mut places {
            let how =
                text.strip_prefix(&place.path.to_string()).and_then(|how| how.strip_prefix('='));
            let Some(how) = how else { continue };
            known = true;
            place.how = Some(match how {
                "ours" => How::Take(Side::Ours),
                "theirs" => How::Take(Side::Theirs),
                value => How::Put(New::from_json(value)?),
            });
        }
        if !known {
            let failure = Failure::usage(format_args!("--resolve {text}: no conflict is there"));
            return Err(failure.with_hint("--dry-run lists the conflicts with their paths"));
        }
    }
    Ok(places)
}

/// What the merge would do.
fn preview(out: &mut impl Write, merge: &Merge, format: Format) -> Result<(), Failure> {
    let theirs = merge.theirs();
    let mut after = Tree::from_snapshot(theirs);
    after.edit(|editor| apply(editor, merge.changes())).map_err(failed)?;
    print(out, (theirs, &after.snapshot()), &Path::root(), format, Detail::Each)?;
    Ok(())
}

fn tell(out: &mut impl Write, place: &Place<'_>, merge: &Merge, format: Format) -> io::Result<()> {
    let Place { conflict, path, .. } = place;
    let sides = [("base", merge.base()), ("ours", merge.ours()), ("theirs", merge.theirs())];
    match format {
        Format::Text => {
            writeln!(out, "! {path}: {}", conflict.kind)?;
            for (side, snapshot) in sides {
                let value = value_at(snapshot.root(), path);
                let value = value.map_or_else(|| "nothing".into(), |v| short(v, VALUE_CHARS_MAX));
                writeln!(out, "  {side:<6}  {value}")?;
            }
        }
        Format::Json => {
            let sides = sides.map(|(side, snapshot)| (side, snapshot.root()));
            print_json(out, (path, conflict::name(conflict.kind)), sides)?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

/// What must be done beyond who prevails.
enum Edit<'p> {
    Do(&'p Conflict, &'p Change),
    Put(&'p Conflict, &'p New),
}

fn edits<'p>(places: &'p [Place<'_>], prevails: Side) -> Vec<(&'p Path, Edit<'p>)> {
    let edit = |place: &'p Place<'_>| {
        let conflict = place.conflict;
        let side = match &place.how {
            Some(How::Put(new)) => return Some((&place.path, Edit::Put(conflict, new))),
            Some(How::Take(side)) => *side,
            None => prevails,
        };
        let is_done = side == prevails && !conflict::is_left_out(conflict);
        let change = if side == Side::Ours { &conflict.ours } else { &conflict.theirs };
        (!is_done).then_some((&place.path, Edit::Do(conflict, change)))
    };
    places.iter().filter_map(edit).collect()
}

/// The merge with single conflicts settled otherwise than the rest. It is prepared anew, since the
/// conflicts are a part of the first.
fn settle(into: &TreeHandle, args: &Args, edits: &[(&Path, Edit<'_>)]) -> Result<Merge, Failure> {
    let merge = prepare(into, args)?;
    let ours = merge.ours().clone();
    let redo = |editor: &mut Editor, conflict: &Conflict, change: &Change, path: &Path| {
        conflict::redo(editor, conflict, change, &ours).map_err(|error| {
            Failure::new(Exit::Conflict, format_args!("--resolve {path}: {error}"))
                .with_hint("give a value, or use --ours or --theirs for all")
        })
    };
    let edit = |editor: &mut Editor| {
        edits.iter().try_for_each(|(path, edit)| match edit {
            Edit::Put(conflict, new) => {
                if conflict::is_left_out(conflict) {
                    redo(editor, conflict, &conflict.ours, path)?;
                }
                member::put(editor, path, new, Parents::MustBeThere)
            }
            Edit::Do(conflict, change) => redo(editor, conflict, change, path),
        })
    };
    merge.edit(edit).map_err(|error| match error {
        UpdateError::Closure(failure) => failure,
        UpdateError::NotWritten(error) => failed(error),
        error => Failure::new(Exit::Error, format_args!("{error:?}")),
    })
}
