//! `jungle restore`: a folder from a backup.

use std::fs;

use super::backup::{not_copied, print, progress};
use crate::context::Context;
use crate::failure::{Exit, Failure};

const HELP: &str = "\
A backup can be used as it is, too: this makes a copy of it, and checks that. What is left of a \
damaged folder is not touched.";

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
    let is_empty = fs::read_dir(&args.dir).map_or(true, |mut files| files.next().is_none());
    if !is_empty {
        let message = format_args!("{} is not empty", args.dir);
        return Err(Failure::new(Exit::Error, message)
            .with_hint("give a new folder; nothing is ever written over"));
    }
    let backup = context.read_alone(&args.backup)?;
    let report = backup.backup_telling(&args.dir, progress()).map_err(|error| {
        if error.is_given_up() {
            // Half a copy would be in the way of the next. What cannot be removed is told by that.
            let _ = fs::remove_dir_all(&args.dir);
        }
        not_copied(&error)
    })?;
    print(&report, context.format)
}
