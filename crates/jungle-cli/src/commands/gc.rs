//! `jungle gc`: giving back the place of what is not kept.

use std::io::Write;
use std::sync::Arc;

use jungle::{CheckpointError, CollectError, Progress};
use serde::Serialize;

use crate::cluster::is_of_cluster;
use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::folder::or_by_server;
use crate::interrupt;
use crate::output::bar::{Bar, waiting};
use crate::output::{Format, count, json_line, notice, say, size};

const HELP: &str = "\
It drops what `jungle keep` says is not kept, goes through all that is, writes a checkpoint \
without the rest, and removes the segments of the log before it. Where everything is kept no log \
is removed. The place of what was dropped from the checkpoint is used again by what comes; with \
--compact it is given back, too, for which the checkpoint is written anew beside the old one. \
`jungle du` tells beforehand what that would be. In the folder of a cluster's server nothing is \
dropped by age, since its servers are to keep the same: they do that as they follow the log.";

/// Give back the place of what is not kept
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// Make the checkpoint as small as it can be
    #[arg(long)]
    compact: bool,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    /// Segments of the log that were removed.
    segments: u64,
    /// Bytes on the disk before and after.
    before: u64,
    after: u64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.maintain(&args.dir).map_err(or_by_server("gc", &args.dir))?;
    let before = folder.disk_bytes().map_err(failed)?;
    match is_of_cluster(&args.dir)? {
        true => say("Note: nothing is dropped by age: the folder is of a cluster, whose log says \
                     what is kept, the same on each of its servers"),
        false => folder.apply_retention()?,
    }
    let given_up = interrupt::flag();
    let progress = Progress::default().until(Arc::clone(&given_up));
    let go_on = || interrupt::flow(&given_up);
    waiting("going through what is kept", || folder.collect_while(go_on)).map_err(not_collected)?;
    let report = waiting("writing the checkpoint", || folder.checkpoint_telling(&progress));
    let report = report.map_err(not_written)?;
    if args.compact {
        let progress = Bar::of_values("compacting").until(given_up);
        folder.compact_telling(&progress).map_err(not_written)?;
    }
    let after = folder.disk_bytes().map_err(failed)?;
    let told = Told { segments: report.segments, before, after };
    let mut out = notice();
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => {
            let segments = count(told.segments, "segment");
            let (before, after) = (size(before), size(after));
            writeln!(out, "{segments} of the log removed; {before} before, {after} now")?;
        }
    }
    Ok(out.flush()?)
}

fn not_collected(error: CollectError) -> Failure {
    match error {
        CollectError::History(error) => error.into(),
        error => interrupt::or_failed(error == CollectError::GivenUp, error),
    }
}

/// Why there is no checkpoint.
pub(super) fn not_written(error: CheckpointError) -> Failure {
    let is_given_up = error.is_given_up();
    match error {
        // It speaks for its cause, and so hides that this is damage.
        CheckpointError::Pages(error) => interrupt::or_failed(is_given_up, error),
        error => interrupt::or_failed(is_given_up, error),
    }
}

#[cfg(test)]
mod tests {
    use jungle::PagesError;

    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_checkpoint_that_is_damaged_has_the_code_of_that() {
        let damage = PagesError::Engine { what: "a block is old".into() };
        assert_eq!(not_written(damage.into()).exit(), Exit::Damaged);
        assert_eq!(not_written(PagesError::GivenUp.into()).exit(), Exit::Interrupted);
        assert_eq!(not_written(CheckpointError::Stopped).exit(), Exit::Error);
    }
}
