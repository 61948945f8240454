//! `jungle keep`: how much of a history is kept.

use std::io::Write;
use std::time::Duration;

use jungle::Retention;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::folder::tree;
use crate::output::{Format, json_line, stdout};

const HELP: &str = "\
Say `all`, how many of the newest revisions (`100`), or how old they may be (`90s`, `30m`, `12h`, \
`7d`, `4w`). Tags, and what a branch began with, are kept whatever is said. What is not kept is \
gone from every command at once; `jungle gc DIR` gives its place on the disk back, and with it the \
log of everything before, so the checkpoint is the only copy of that then: back up what matters.";

/// Show or set how much of a tree's history is kept
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// `all`, a number of revisions, or an age like `30d`
    #[arg(value_parser = parse)]
    what: Option<Retention>,
    /// Of this branch [default: main]
    #[arg(long)]
    branch: Option<String>,
}

#[derive(Serialize)]
struct Told {
    keep: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let branch = args.branch.as_deref();
    if let Some(retention) = args.what {
        let folder = context.write(&args.dir)?;
        let tree = tree(&folder, &args.tree, branch)?;
        return tree.set_retention(retention).map_err(failed);
    }
    let folder = context.read(&args.dir)?;
    let keep = text(tree(&folder, &args.tree, branch)?.retention());
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, &Told { keep })?,
        Format::Text => writeln!(out, "{keep}")?,
    }
    Ok(out.flush()?)
}

/// Ages in seconds, the longest first.
const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

pub(super) fn parse(text: &str) -> Result<Retention, String> {
    let wrong = || format!("{text:?} is none of `all`, a number from 1, or an age like `30d`");
    if text == "all" {
        return Ok(Retention::All);
    }
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
    let digits = unit.map_or(text, |(unit, _)| text.trim_end_matches(*unit));
    let number: u64 = digits.parse().ok().filter(|&number| number > 0).ok_or_else(wrong)?;
    match unit {
        Some((unit, seconds)) if digits.len() + unit.len_utf8() == text.len() => {
            let age = number.checked_mul(*seconds).ok_or_else(wrong)?;
            Ok(Retention::ByAge(Duration::from_secs(age)))
        }
        Some(_) => Err(wrong()),
        None => usize::try_from(number).map(Retention::Last).map_err(|_| wrong()),
    }
}

/// As [`parse`] takes it, but for fractions of seconds.
pub(super) fn text(retention: Retention) -> String {
    match retention {
        Retention::All => "all".to_owned(),
        Retention::Last(count) => count.to_string(),
        Retention::ByAge(age) => {
            let seconds = age.as_secs();
            let fits = |(_, unit): &&(char, u64)| seconds > 0 && seconds.is_multiple_of(*unit);
            let (unit, length) = UNITS.iter().find(fits).copied().unwrap_or(('s', 1));
            format!("{}{unit}", seconds / length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_was_said() {
        for said in ["all", "1", "100", "90s", "30m", "12h", "6d", "4w", "18446744073709551615s"] {
            assert_eq!(text(parse(said).unwrap()), said);
        }
        assert_eq!(text(parse("3600s").unwrap()), "1h");
        let others = ["", "0", "-1", "0d", "d", "1.5d", "10dd", "all ", "99999999999999999999"];
        for said in others.into_iter().chain(["99999999999999999w", "7x"]) {
            assert!(parse(said).is_err(), "{said}");
        }
    }
}
