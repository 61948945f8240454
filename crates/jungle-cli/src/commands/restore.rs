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
    put_in_place(dir).map_err(|error| {
        Failure::new(Exit::Error, format_args!("cannot finish {}: {error}", args.dir))
            .with_hint("remove what is in it, and restore again")
    })?;
    print(&report, context.format)
}

/// Is nothing there, or only what a restore has left that was interrupted?
fn is_empty(dir: &Path) -> bool {
    let others =
        |file: io::Result<fs::DirEntry>| file.map_or(true, |it| it.file_name() != RESTORING);
    fs::read_dir(dir).map_or(true, |mut files| !files.any(others))
}

/// Gives the copy its place, the log last: a folder that has a mark and no log is refused.
fn put_in_place(dir: &Path) -> io::Result<()> {
    let disk = FolderDisk::new(dir);
    let name = |name: &str| disk.rename(&format!("{RESTORING}/{name}"), name);
    let names = disk.list(RESTORING)?;
    names.iter().filter(|file| *file != LOG).try_for_each(|file| name(file))?;
    disk.sync_folder("")?;
    name(LOG)?;
    disk.sync_folder("")?;
    fs::remove_dir(dir.join(RESTORING))?;
    disk.sync_folder("")
}
