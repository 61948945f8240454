//! `jungle watch`: what happened, and what happens.

use std::fs;
use std::io::{self, Write};
use std::path::Path as FilePath;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use jungle::{OpenError, Path, Revision, Store, TreeHandle, WatchError};
use jungle_words::differences::{Difference, differences};
use jungle_words::{Info, Tags};

use crate::args;
use crate::context::Context;
use crate::differences::{Detail, json_list, print_all};
use crate::document::path;
use crate::failure::{Exit, Failure, failed};
use crate::folder::{self, tree};
use crate::output::{Format, info, stdout};
use crate::place::{After, On, Watched, is_url};
use crate::revision::find;

const HELP: &str = "\
It ends with the newest revision, or goes on with --follow until it is interrupted: it looks five \
times a second whether somebody has written to the folder, a server that has it, too. (Who wants \
to know at once gives the URL of that.) If more is committed between two looks than is kept, it \
ends and says so. A connection to a server that is lost is made again, and nothing left out; \
after some four minutes without one it ends (7). With --json each revision is a line: what \
`log --json` tells, and `changes`, as `diff --json` tells them. Remember the last `revision`, and \
go on with --after it.";

/// More than a tick of the clock that the system takes the times of files from.
const TICK: Duration = Duration::from_millis(50);

/// When so many bytes are to be told, they are, and the folder is given free before that if
/// somebody might wait for it.
const PORTION: usize = 8 << 20;

/// How often it looks whether there is something new.
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// Print what each revision changed, the oldest first
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// The tree
    tree: String,
    /// Look only below this path
    #[arg(default_value = "/")]
    path: String,
    /// Begin behind this revision [default: with the first]
    #[arg(long, value_name = "REV")]
    after: Option<String>,
    /// Go on with what is committed from now on
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    branch: args::Branch,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let path = path(&args.path)?;
    if is_url(&args.dir) {
        return served(args, &path, context);
    }
    if !args.follow {
        let folder = context.read(&args.dir)?;
        return told(args, &folder, &path, None, context.format, &mut stdout(), |_| false)
            .map(drop);
    }
    if context.held.is_some() {
        return Err(Failure::usage("what others write is not seen in a shell")
            .with_hint("leave the shell, or leave out --follow"));
    }
    let (mut seen, mut held) = (None, None);
    loop {
        let looked = held.take().map_or_else(|| look(&args.dir, context), |held| Ok(Some(held)))?;
        let Some((before, folder)) = looked else { continue };
        let mut portion = Vec::new();
        let is_full = |portion: &Vec<u8>| portion.len() > PORTION;
        let told = told(args, &folder, &path, seen, context.format, &mut portion, is_full);
        // Nobody who wants to write shall wait for who reads along: a copy is in nobody's way.
        let is_copy = folder.report().is_written_elsewhere;
        let kept = Some(folder).filter(|_| is_copy);
        let mut out = stdout();
        out.write_all(&portion)?;
        out.flush()?;
        let (newest, is_all) = told?;
        seen = Some(newest);
        if !is_all {
            held = kept.map(|folder| (before, folder));
            continue;
        }
        drop(kept);
        sleep(LOOKS_EVERY);
        while before.are_all(&args.dir) {
            sleep(LOOKS_EVERY);
        }
    }
}

/// Watches a tree of a server.
fn served(args: &Args, below: &Path, context: &Context<'_>) -> Result<(), Failure> {
    let on = On { tree: &args.tree, branch: args.branch.branch.as_deref() };
    let then = if args.follow { After::More } else { After::End };
    let watched = Watched { on, below, after: args.after.as_deref(), then };
    let mut out = stdout();
    context
        .server(&args.dir)?
        .watch(watched, &mut |info, found| Ok(tell(&mut out, info, found, below, context.format)?))
}

/// The folder, and what whoever writes to it had left there before; none while it changes too fast,
/// after a rest.
fn look(dir: &str, context: &Context<'_>) -> Result<Option<(Traces, Store)>, Failure> {
    let before = Traces::of(dir);
    match folder::look(dir, context.opening.clone()) {
        Ok(folder) => Ok(Some((before, folder))),
        Err(OpenError::Restless { .. }) => {
            sleep(LOOKS_EVERY);
            Ok(None)
        }
        Err(error) => Err(folder::not_read(&error, dir)),
    }
}

/// What whoever writes to a folder leaves there.
struct Traces {
    /// When it was last opened to write, written to, or closed then.
    written: Option<SystemTime>,
    seen: SystemTime,
}

impl Traces {
    fn of(dir: &str) -> Traces {
        let dir = FilePath::new(dir);
        let log = fs::read_dir(dir.join("log")).into_iter().flatten();
        let files = log.filter_map(|entry| Some(entry.ok()?.path())).chain([dir.join("LOCK")]);
        let times = files.filter_map(|file| fs::metadata(file).ok());
        let written = times.filter_map(|file| file.modified().ok()).max();
        Traces { written, seen: SystemTime::now() }
    }

    /// Has nobody written since? Who wrote within the same tick of the system's clock may have done
    /// so again.
    fn are_all(&self, dir: &str) -> bool {
        let age = self.written.and_then(|written| self.seen.duration_since(written).ok());
        age.is_some_and(|age| age > TICK) && Traces::of(dir).written == self.written
    }
}

/// Tells what came after a revision, or else after what was asked for, until that is enough; gives
/// the newest one, and whether that was all.
fn told<W: Write>(
    args: &Args,
    folder: &Store,
    path: &Path,
    seen: Option<Revision>,
    format: Format,
    out: &mut W,
    is_enough: impl Fn(&W) -> bool,
) -> Result<(Revision, bool), Failure> {
    let tree = tree(folder, &args.tree, args.branch.branch.as_deref())?;
    let after = match (seen, &args.after) {
        (Some(seen), _) => seen,
        (None, Some(after)) => find(&tree, after)?.snapshot.revision(),
        (None, None) => Revision::default(),
    };
    let tags = Tags::of(&tree);
    // Members that are attributes are told by the node that has them.
    let mut watch = tree.watch(&[], after);
    loop {
        if is_enough(out) {
            return Ok((watch.seen(), false));
        }
        let before = watch.seen();
        let event = watch.next().map_err(|error| match error {
            WatchError::TooOld { .. } => Failure::of(Exit::NotFound, &error),
            error => failed(error),
        })?;
        let Some(event) = event else { return Ok((watch.seen().max(after), true)) };
        let before = tree.at(before.max(first(&tree))).map_err(failed)?;
        let Some(changes) = differences(&before, &event.snapshot, path) else { continue };
        if changes.is_empty() {
            continue;
        }
        tell(out, &tags.info(&event.info), &changes, path, format)?;
    }
}

/// Tells what a revision did.
fn tell(
    out: &mut impl Write,
    told: &Info,
    changes: &[Difference<'_>],
    below: &Path,
    format: Format,
) -> io::Result<()> {
    match format {
        Format::Text => {
            info::print(out, told, format)?;
            print_all(out, changes, below, format, Detail::Each)?;
        }
        Format::Json => {
            let told = serde_json::to_string(told).expect("plain data");
            write!(out, "{},\"changes\":", told.trim_end_matches('}'))?;
            json_list(out, changes)?;
            writeln!(out, "}}")?;
        }
    }
    // Whoever reads along wants it now.
    out.flush()
}

fn first(tree: &TreeHandle) -> Revision {
    let oldest = tree.history(..).next_back().and_then(Result::ok);
    oldest.map(|info| info.revision).unwrap_or_default()
}
