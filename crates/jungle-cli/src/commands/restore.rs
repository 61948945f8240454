//! `jungle restore`: a folder from a backup.

use std::fs;
use std::io;
use std::path::Path;

use jungle::disk::{Disk, FolderDisk};

use super::backup::{not_copied, print, progress};
use crate::context::Context;
use crate::failure::{Exit, Failure};

const HELP: &str = "\
A backup can be used as it is, too: this makes a copy of it, and checks that. What is left of a \
damaged folder is not touched. The folder can be opened when all of it is there: until then the \
copy is in the folder `restoring` within it, and one that was interrupted is gone on with.";

/// Where the copy is made, within the folder: that may be all of a disk.
const RESTORING: &str = "restoring";

/// The part without which a folder is not opened.
const LOG: &str = "log";
const LOCK: &str = "LOCK";

/// Make a new folder from a backup
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The backup
    backup: String,
    /// The folder to make: new or empty
    dir: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let dir = Path::new(&args.dir);
    if is_half_in_place(dir) {
        put_in_place(dir, RESTORING).map_err(|error| not_in_place(&args.dir, &error))?;
        // It is a backup as any other now, of which all is there.
        let backup = context.read_alone(&args.backup)?;
        let report = backup.backup_telling(dir, progress()).map_err(|e| not_copied(&e))?;
        return print(&report, context.format);
    }
    if !is_empty(dir) {
        let message = format_args!("{} is not empty", args.dir);
        return Err(Failure::new(Exit::Error, message)
            .with_hint("give a new folder; nothing is ever written over"));
    }
    let backup = context.read_alone(&args.backup)?;
    let is_new = !dir.exists();
    let copied = backup.backup_telling(dir.join(RESTORING), progress());
    let report = copied.map_err(|error| {
        // What was copied is gone on with; folders in which nothing is are not left behind.
        if is_new {
            let _ = fs::remove_dir(dir.join(RESTORING)).and_then(|()| fs::remove_dir(dir));
        }
        not_copied(&error)
    })?;
    put_in_place(dir, RESTORING).map_err(|error| not_in_place(&args.dir, &error))?;
    print(&report, context.format)
}

fn not_in_place(dir: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Error, format_args!("cannot finish {dir}: {error}"))
        .with_hint("all is copied; the same command goes on from there")
}

/// Was a restore ended while the copy, which was whole, got its place?
fn is_half_in_place(dir: &Path) -> bool {
    let restoring = dir.join(RESTORING);
    dir.join(LOCK).exists()
        && match (dir.join(LOG).exists(), restoring.join(LOG).exists()) {
            (false, is_left) => is_left,
            (true, _) => restoring.read_dir().is_ok_and(|mut left| left.next().is_none()),
        }
}

/// Is nothing there, or only what a restore has left that was interrupted?
fn is_empty(dir: &Path) -> bool {
    let others =
        |file: io::Result<fs::DirEntry>| file.map_or(true, |it| it.file_name() != RESTORING);
    fs::read_dir(dir).map_or(true, |mut files| !files.any(others))
}

/// Gives a copy within the folder its place, or goes on with that. The mark is first, since it
/// tells that this has begun, and the log last: a folder that has a mark and no log is refused.
pub(super) fn put_in_place(dir: &Path, within: &str) -> io::Result<()> {
    let disk = FolderDisk::new(dir);
    let name = |name: &str| disk.rename(&format!("{within}/{name}"), name);
    let mut names = disk.list(within)?;
    names.sort_by_key(|file| (file == LOG, file != LOCK));
    for file in &names {
        name(file)?;
        disk.sync_folder("")?;
    }
    fs::remove_dir(dir.join(within))?;
    disk.sync_folder("")
}
