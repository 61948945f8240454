//! `jungle-bench track`: a small fixed set of workloads, counted in instructions and held against
//! the figures that were recorded. Times of a shared machine move by half; these move by a
//! thousandth, so that a few seconds in CI tell what became slower.
//!
//! It tells and does not judge: whoever made something slower may have had a reason.

mod build;
mod callgrind;
mod compare;
mod record;
mod table;
mod workloads;

use std::path::PathBuf;

use clap::Args;

use self::build::Build;
use self::compare::Comparison;
use self::record::Record;
pub use self::workloads::work;
use crate::Failure;
use crate::systems::root;

/// What is to be done with the figures.
#[derive(Args, Clone, Debug)]
pub struct Request {
    /// Writes the figures down instead of comparing them.
    #[arg(long)]
    pub record: bool,
    /// From how many percent on a difference is told.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    pub tolerance: f64,
    /// Prints JSON rather than a table.
    #[arg(long, conflicts_with = "record")]
    pub json: bool,
    /// Where the figures are recorded; docs/measurements/track.tsv of the repository.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Counts all workloads, and compares them with the recorded figures or records them.
///
/// # Errors
/// When valgrind is missing, a workload fails or counts nothing, or the record cannot be read or
/// written. A difference is no error.
pub fn run(request: &Request) -> Result<(), Failure> {
    let file = request.file.clone().unwrap_or_else(|| root().join("docs/measurements/track.tsv"));
    // A record that cannot be read is told before the work is done.
    let recorded = if request.record { None } else { Some(Record::read(&file)?) };
    let counter = callgrind::version()?;
    let counted = Record { build: Build::of(counter), figures: callgrind::count()? };
    let Some(recorded) = recorded else {
        counted.write(&file)?;
        println!("{} figures are written to {}", counted.figures.len(), file.display());
        return Ok(());
    };
    let comparison = Comparison::of(&recorded, &counted, request.tolerance);
    match request.json {
        true => println!("{}", table::json(&comparison)?),
        false => print!("{}", table::render(&comparison)),
    }
    Ok(())
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|percent| (0.0..=1000.0).contains(percent));
    number.ok_or_else(|| "a number of percent from 0 to 1000 is asked for".to_owned())
}
