//! `jungle backup`: a copy of a folder, or what is new of it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};

use jungle::{
    BackupError, BackupProgress, BackupReport, OpenError, OpenOptions, Revision, StreamError,
};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::folder::{is_damage, or_by_server};
use crate::interrupt;
use crate::output::bar::Bar;
use crate::output::{Format, json_line, notice, say, size};
use crate::place::is_url;

const HELP: &str = "\
The first time it copies all; into a backup of the same folder it writes only what was committed \
since, from the last segment of the log on. What it has written it reads back and checks; what was \
in the backup before, `jungle verify` of it does. An interrupted backup is whole, up to an older \
revision, and the next one completes it.

With `-` in place of the backup it is written to standard output, to be taken elsewhere: \
`jungle backup data - | ssh host jungle backup - copy`. With --since it is what a backup needs \
that has this revision.

What comes as a stream says itself how large it becomes, and is refused where that is more than \
--bytes-max; of a first copy nothing is left then.

The folder of a server is copied, or a copy completed, while it serves: `jungle backup \
https://trees.example copy`. Where a server asks who is there, it wants the token of somebody who \
may administer all trees.";

/// What has come of a stream that ended early stays.
const GOES_ON: &str = "what has come is in the backup, which the next one completes";

/// Standard input, or standard output.
const STREAM: &str = "-";

/// Copy a folder into another, or into an older copy what is new
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server; or a file with a backup that was written, or `-` where
    /// one comes
    dir: String,
    /// Where to: a new or empty folder, or a backup of the same folder; or `-`
    backup: String,
    /// Write only what a backup needs that has this revision
    #[arg(long, value_name = "REVISION")]
    since: Option<u64>,
    /// Refuse what comes from a file, `-` or a server, if it unpacks to more than this
    /// [default: 1 TiB]
    #[arg(long, value_name = "BYTES")]
    bytes_max: Option<u64>,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    revision: u64,
    before: u64,
    bytes: u64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if is_url(&args.backup) {
        return Err(Failure::usage("a backup goes into a folder or to `-`, and to no server"));
    }
    let is_served = is_url(&args.dir);
    let is_file = || fs::metadata(&args.dir).is_ok_and(|found| !found.is_dir());
    let comes = args.dir == STREAM || is_served || is_file();
    match (comes, args.backup == STREAM) {
        (true, true) => Err(Failure::usage("what comes is taken into a folder: which one?")),
        (_, false) if args.since.is_some() => {
            Err(Failure::usage("--since is for a backup that is written to `-`")
                .with_hint("a folder gets what is new without it"))
        }
        (false, _) if args.bytes_max.is_some() => {
            Err(Failure::usage("--bytes-max is for a backup that comes as a stream")
                .with_hint("a folder is copied as it is"))
        }
        (true, false) if is_served => fetch(args, context),
        (true, false) => take(args, context),
        (false, true) => write(args, context),
        (false, false) => copy(args, context),
    }
}

/// Makes a backup of what comes, or completes one.
fn take(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let came: Box<dyn Read> = match &*args.dir {
        STREAM => Box::new(io::stdin().lock()),
        file => Box::new(File::open(file).map_err(|error| {
            Failure::new(Exit::Error, format_args!("cannot read {file}: {error}"))
        })?),
    };
    let taken = opening(args, context).take_backup(&args.backup, progress(), |_| Ok(came));
    print(&taken.map_err(|error| not_copied(&error))?, context.format)
}

/// How a copy is made of what comes.
fn opening(args: &Args, context: &Context<'_>) -> OpenOptions {
    let opening = context.opening.clone();
    match args.bytes_max {
        Some(bytes) => opening.stream_bytes_max(bytes),
        None => opening,
    }
}

/// Makes a backup of what a server sends, or completes one.
fn fetch(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let server = context.server(&args.dir)?;
    let mut refused = None;
    let ask = |since| {
        server.copy(since).map_err(|failure| {
            refused = Some(failure);
            io::Error::other("it is not sent")
        })
    };
    let taken = opening(args, context).take_backup(&args.backup, progress(), ask);
    if let Some(failure) = refused {
        return Err(failure);
    }
    let report = taken.map_err(|error| match &error {
        BackupError::Stream(StreamError::Io(_)) => {
            Failure::of(Exit::Unreachable, &error).with_hint(GOES_ON)
        }
        error => not_copied(error),
    })?;
    print(&report, context.format)
}

/// Writes a backup to standard output.
fn write(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::usage("a backup is nothing for a terminal")
            .with_hint("have it in a file or go to another program, or give a folder"));
    }
    let folder = context.read_alone(&args.dir).map_err(or_by_server("copy", &args.dir))?;
    let BackupProgress { copying, .. } = progress();
    let since = Revision::new(args.since.unwrap_or(0));
    let written = folder.write_backup(since, io::stdout().lock(), copying);
    let told = Told::of(&written.map_err(|error| not_copied(&error))?);
    match context.format {
        Format::Json => json_line(&mut io::stderr(), &told)?,
        Format::Text => say(format_args!(
            "written up to revision {}, from behind revision {} on, {}",
            told.revision,
            told.before,
            size(told.bytes)
        )),
    }
    Ok(())
}

fn copy(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read_alone(&args.dir).map_err(or_by_server("backup", &args.dir))?;
    if is_same(&args.dir, &args.backup) {
        // It would wait for itself, who reads it.
        let locked = OpenError::Locked { folder: args.backup.as_str().into() };
        return Err(not_copied(&BackupError::Target(locked)));
    }
    let copied = folder.backup_telling(&args.backup, progress());
    let report = copied.map_err(|error| match &error {
        BackupError::Source(OpenError::Locked { .. }) => {
            or_by_server("backup", &args.dir)(not_copied(&error))
        }
        _ => not_copied(&error),
    })?;
    print(&report, context.format)
}

/// Are these one folder?
fn is_same(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(fs::canonicalize);
    one.is_ok_and(|one| other.is_ok_and(|other| one == other))
}

/// Shows how far a copy is, which an interrupt gives up.
pub(super) fn progress() -> BackupProgress {
    let (copying, checking) = (Bar::of_bytes("copying"), Bar::of_revisions("checking"));
    BackupProgress { copying, checking }.until(interrupt::flag())
}

/// Why there is no copy.
pub(super) fn not_copied(error: &BackupError) -> Failure {
    match error {
        error if error.is_given_up() => interrupt::given_up(),
        BackupError::Source(cause) | BackupError::Target(cause) if is_damage(cause) => {
            Failure::of(Exit::Damaged, error).with_hint("`jungle verify` tells of which folder")
        }
        BackupError::Pages(cause) if cause.is_damage() => {
            Failure::of(Exit::Damaged, error).with_hint("`jungle verify` tells of which folder")
        }
        BackupError::Target(OpenError::Locked { .. }) => Failure::of(Exit::Error, error)
            .with_hint("a folder cannot be copied into itself, nor into one that is in use"),
        BackupError::Stream(cause) => not_through(error, cause),
        BackupError::OutOfReach { .. } => Failure::of(Exit::Error, error)
            .with_hint("leave out --since, and begin a new backup with what is written then"),
        BackupError::Trimmed { .. } => Failure::of(Exit::Error, error)
            .with_hint("give a new folder for a fresh copy; `jungle keep` tells what is kept"),
        BackupError::Other { .. } => {
            Failure::of(Exit::Error, error).with_hint("give a new folder, or the right backup")
        }
        error => Failure::of(Exit::Error, error),
    }
}

/// Why a backup did not come through a stream.
fn not_through(error: &BackupError, cause: &StreamError) -> Failure {
    match cause {
        StreamError::Io(cause) if cause.kind() == ErrorKind::BrokenPipe => {
            Failure::silent(Exit::BrokenPipe)
        }
        StreamError::Hash | StreamError::Value(_) => {
            Failure::of(Exit::Damaged, error).with_hint("have it sent once more")
        }
        StreamError::NoBackup => Failure::of(Exit::Error, error)
            .with_hint("`jungle backup DIR -` writes one, or POST /api/v1/folder/copy of a server"),
        StreamError::Short => Failure::of(Exit::Error, error).with_hint(GOES_ON),
        StreamError::TooMuch { .. } => Failure::of(Exit::Error, error)
            .with_hint("if you know whom it is from, `--bytes-max BYTES` lets it have more"),
        _ => Failure::of(Exit::Error, error),
    }
}

impl Told {
    fn of(report: &BackupReport) -> Told {
        let BackupReport { revision, before, bytes, .. } = *report;
        Told { revision: revision.number(), before: before.number(), bytes }
    }
}

/// What was copied.
pub(super) fn print(report: &BackupReport, format: Format) -> Result<(), Failure> {
    let told = Told::of(report);
    let Told { revision, before, .. } = told;
    let mut out = notice();
    match format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text if revision == before => {
            writeln!(out, "revision {revision} is there already")?;
        }
        Format::Text => {
            let bytes = size(told.bytes);
            writeln!(out, "revisions {} to {revision} copied, {bytes}, and checked", before + 1)?;
        }
    }
    Ok(out.flush()?)
}
