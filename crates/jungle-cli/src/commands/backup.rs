//! `jungle backup`: a copy of a folder, or what is new of it.

use std::io::Write;

use jungle::{BackupError, BackupProgress, BackupReport, OpenError};
use serde::Serialize;

use crate::bar::Bar;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::folder::{is_damage, or_by_server};
use crate::interrupt;
use crate::output::{Format, json_line, notice, size};

const HELP: &str = "\
The first time it copies all; into a backup of the same folder it writes only what was committed \
since, from the last segment of the log on. What it has written it reads back and checks; what was \
in the backup before, `jungle verify` of it does. An interrupted backup is whole, up to an older \
revision, and the next one completes it.";

/// Copy a folder into another, or into an older copy what is new
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// Where to: a new or empty folder, or a backup of the same folder
    backup: String,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    revision: u64,
    before: u64,
    bytes: u64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read_alone(&args.dir).map_err(or_by_server("backup", &args.dir))?;
    let copied = folder.backup_telling(&args.backup, progress());
    let report = copied.map_err(|error| match &error {
        BackupError::Source(OpenError::Locked { .. }) => {
            or_by_server("backup", &args.dir)(not_copied(&error))
        }
        _ => not_copied(&error),
    })?;
    print(&report, context.format)
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
        BackupError::Other { .. } => {
            Failure::of(Exit::Error, error).with_hint("give a new folder, or the right backup")
        }
        error => Failure::of(Exit::Error, error),
    }
}

/// What was copied.
pub(super) fn print(report: &BackupReport, format: Format) -> Result<(), Failure> {
    let (revision, before) = (report.revision.number(), report.before.number());
    let told = Told { revision, before, bytes: report.bytes };
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
