//! `jungle erase`: out of all revisions there ever were.

use std::io::{self, BufRead, IsTerminal, Write};

use jungle::{
    CopyError, EraseError, EraseQuery, EraseReport, Key, OpenError, Path, Progress, VerifyError,
};
use serde::Serialize;

use crate::cluster::is_of_cluster;
use crate::context::Context;
use crate::document::path;
use crate::failure::{Exit, Failure, not_loaded};
use crate::folder::{must_be_there, not_opened};
use crate::interrupt;
use crate::output::bar::Bar;
use crate::output::{Format, count, json_line, notice, size};

const HELP: &str = "\
What is at the path is taken out of every revision of every branch, with all below it: an object \
or array, or a single value. All revisions keep their numbers, times, authors and messages; \
branches, tags and everything else stay. The folder's files are made again without it, read back, \
and put in the place of the old ones. An interrupt before that leaves the folder as it was; from \
then on the old files are removed, which an interrupt does not end, and if that is cut short, the \
next command that writes to the folder goes on with it. Nobody may have the folder open, and it \
takes as much room again meanwhile.

It goes by the path in each revision. What was moved away, or is in a copy elsewhere, stays there: \
moves from, to and around the path are told, so that the other paths can be erased, too. Where not \
all revisions are kept, the log may not go back to the first one: then what is kept is copied \
without it, even if none of that has it, and moves are not known. Messages and the names of trees, \
branches and tags are not looked at, and where the members of an object are not in order, the \
object may remember the name. Backups made before still have it and cannot be gone on with, so \
make a new one; and on most disks what was removed can be found until something else is written \
in its place. The folder of a cluster's \
server is refused.";

/// What is committed there and has no place in the log yet is in the folder `outbox`.
const OF_CLUSTER: &str = "the folder is of a cluster: what is erased would stay in the cluster's \
log, in its other servers' folders, and in what waits to be sent";

/// Take something out of all revisions of a tree, for good
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// Where
    path: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    /// The newest revision.
    revision: u64,
    /// How many commits it was in; where the log was not complete, how many versions of those that
    /// are kept.
    commits: u64,
    /// Moves from, to and around the path; none are known where the log was not complete.
    moves: Vec<Move>,
    /// Did the log go back to the first revision?
    complete: bool,
    /// Bytes on the disk before and after.
    before: u64,
    after: u64,
}

#[derive(Serialize)]
struct Move {
    revision: u64,
    from: String,
    to: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let path = path(&args.path)?;
    let mut query = EraseQuery::new(&args.tree, path.clone());
    if let Some(Key::Name(name)) = path.last()
        && !name.is_empty()
        && !name.starts_with('\0')
    {
        // A scalar member; other keys of attributes are those of the node itself.
        query = query.and_attribute(name);
    }
    if context.held.is_some_and(|(held, _)| held == args.dir) {
        return Err(Failure::new(Exit::Error, "the shell has the folder open")
            .with_hint("leave it, and erase then"));
    }
    must_be_there(&args.dir)?;
    if is_of_cluster(&args.dir)? {
        return Err(Failure::new(Exit::Error, OF_CLUSTER).with_hint(format_args!(
            "erase it in a copy, `jungle restore {} NEW`, and begin the cluster anew with that",
            args.dir
        )));
    }
    if !args.yes {
        ask(args)?;
    }
    let mut bar: Option<Bar<'_>> = None;
    let opening = context.opening.clone().progress(Progress::default().until(interrupt::flag()));
    let erased = opening.erase(&args.dir, &query, |done, total| {
        bar.get_or_insert_with(|| Bar::of_steps("revisions", total)).set(done);
    });
    if let Some(bar) = bar {
        bar.end();
    }
    let report = erased.map_err(|error| not_erased(&error))?;
    if report.erased.commits == 0 && report.log_was_complete {
        let message = format_args!("nothing was ever at {path} of the tree {:?}", args.tree);
        return Err(Failure::new(Exit::NotFound, message));
    }
    print(&Told::new(&report), &path, context.format)
}

/// Whether it is meant.
fn ask(args: &Args) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage("what is erased cannot be brought back")
            .with_hint("--yes says that it is meant"));
    }
    let mut stderr = anstream::stderr();
    let Args { dir, tree, path, .. } = args;
    write!(stderr, "Erase {path} from all revisions of {tree} in {dir}, for good? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new(Exit::Error, "nothing was erased")),
    }
}

fn not_erased(error: &EraseError) -> Failure {
    match error {
        error if error.is_given_up() => interrupt::given_up(),
        EraseError::Open(open @ OpenError::Locked { .. }) => Failure::of(Exit::Error, open)
            .with_hint("nobody may have the folder open: end `jungle serve` first"),
        EraseError::Open(open) => not_opened(open),
        EraseError::NoSuchTree(_) => {
            Failure::of(Exit::NotFound, error).with_hint("`jungle trees DIR` lists them")
        }
        // Of the folder, as a rule: what was made of it was written a moment ago.
        EraseError::Verify(VerifyError::Slab(error)) => not_loaded(error),
        EraseError::Verify(VerifyError::History(error))
        | EraseError::Copy(CopyError::NotRead(error)) => not_loaded(error),
        EraseError::Verify(_) | EraseError::Wrong { .. } => Failure::of(Exit::Error, error)
            .with_hint("the folder is as it was; `jungle verify` says whether it is whole"),
        error => Failure::of(Exit::Error, error),
    }
}

impl Told {
    fn new(report: &EraseReport) -> Told {
        let moves = report.erased.moves.iter().map(|moved| Move {
            revision: moved.revision.number(),
            from: moved.from.to_string(),
            to: moved.to.to_string(),
        });
        Told {
            revision: report.revision.number(),
            commits: report.erased.commits,
            moves: moves.collect(),
            complete: report.log_was_complete,
            before: report.bytes_before,
            after: report.bytes_after,
        }
    }
}

fn print(told: &Told, path: &Path, format: Format) -> Result<(), Failure> {
    let mut out = notice();
    if format == Format::Json {
        json_line(&mut out, told)?;
        return Ok(out.flush()?);
    }
    let (before, after) = (size(told.before), size(told.after));
    match (told.commits, told.complete) {
        (commits, true) => write!(out, "erased from {}", count(commits, "commit"))?,
        (0, false) => {
            write!(out, "{path} is in no version that is kept; all files were made anew")?
        }
        (versions, false) => {
            write!(out, "erased from {} that are kept", count(versions, "version"))?
        }
    }
    writeln!(out, "; {before} before, {after} now")?;
    if !told.complete {
        writeln!(out, "what was moved in revisions that are not kept any more is not known")?;
    }
    for Move { revision, from, to } in &told.moves {
        writeln!(out, "moved in revision {revision}: {from} to {to}")?;
    }
    writeln!(out, "backups made before still have it")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use jungle::{ArchiveError, PagesError};

    use super::*;

    #[test]
    fn a_damaged_history_is_told_as_damage() {
        let damage = || ArchiveError::new(PagesError::Engine { what: "a block is old".into() });
        let copy = EraseError::Copy(CopyError::NotRead(damage()));
        let verify = EraseError::Verify(VerifyError::History(damage()));
        for error in [copy, verify] {
            assert_eq!(not_erased(&error).exit(), Exit::Damaged, "{error}");
        }
        let given_up = EraseError::Open(OpenError::GivenUp);
        assert_eq!(not_erased(&given_up).exit(), Exit::Interrupted);
    }
}
