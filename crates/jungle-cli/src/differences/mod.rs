//! What differs between two documents, printed.

mod print;
mod words;

use std::io::{self, Write};

use jungle_tree::{Path, Snapshot};
use jungle_words::differences::{Difference, differences};

pub(crate) use print::{both, json_list};

use crate::output::Format;

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Each difference.
    Each,
    /// How many there are.
    Counts,
    /// Where they are.
    Paths,
}

/// How much is to be told, on the command line.
#[derive(clap::Args)]
pub(crate) struct Choice {
    /// Count the differences below each member of the top level
    #[arg(long)]
    stat: bool,
    /// Print only the paths of what differs; of what was moved, the one after
    #[arg(long, conflicts_with = "stat")]
    name_only: bool,
}

impl Choice {
    pub(crate) fn detail(&self) -> Detail {
        match (self.stat, self.name_only) {
            (true, _) => Detail::Counts,
            (_, true) => Detail::Paths,
            _ => Detail::Each,
        }
    }
}

/// Prints what differs in `below` and deeper; `false` if neither version has something there.
pub(crate) fn print(
    out: &mut impl Write,
    (before, after): (&Snapshot, &Snapshot),
    below: &Path,
    format: Format,
    detail: Detail,
) -> io::Result<bool> {
    let Some(differences) = differences(before, after, below) else {
        return Ok(false);
    };
    print_all(out, &differences, below, format, detail)?;
    Ok(true)
}

/// Prints what was found in `below` and deeper.
pub(crate) fn print_all(
    out: &mut impl Write,
    differences: &[Difference<'_>],
    below: &Path,
    format: Format,
    detail: Detail,
) -> io::Result<()> {
    match (format, detail) {
        (Format::Text, Detail::Each) => print::lines(out, differences),
        (Format::Text, Detail::Counts) => print::stat(out, differences, below.depth()),
        (Format::Text, Detail::Paths) => print::paths(out, differences),
        (Format::Json, Detail::Paths) => print::json_paths(out, differences),
        (Format::Json, Detail::Each) => print::json_lines(out, differences),
        (Format::Json, Detail::Counts) => print::json_stat(out, differences),
    }
}
