//! What is told of a damaged folder.

use std::io::{self, Write};
use std::ops::RangeInclusive;

use jungle::{Remedy, Revision, Survey, VerifyError};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Format, count, json_line, stdout};

/// So many damages and names of trees are told to people; programs get all that are known.
const TOLD: usize = 10;

/// The names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'s> {
    whole: bool,
    /// The newest revision that can be read.
    revision: u64,
    /// The newest revision of the checkpoint, if that can be opened.
    checkpoint: Option<u64>,
    /// The newest revision that the log alone makes again.
    log_revision: u64,
    segments: u64,
    whole_segments: u64,
    /// First and last revisions whose bytes in the log are whole.
    whole_revisions: Vec<[u64; 2]>,
    whole_trees: &'s [Box<str>],
    damaged_trees: &'s [Box<str>],
    remedy: &'static str,
    damages: Vec<Damage<'s>>,
    more_damages: u64,
}

#[derive(Serialize)]
struct Damage<'s> {
    message: String,
    file: Option<&'s str>,
    offset: Option<u64>,
    /// The newest revision in front of it.
    after: Option<u64>,
}

impl Damage<'_> {
    fn of(error: &VerifyError) -> Damage<'_> {
        Damage {
            message: error.to_string(),
            file: error.file(),
            offset: error.offset(),
            after: error.after().map(Revision::number),
        }
    }
}

pub(super) fn print(survey: &Survey, format: Format) -> Result<(), Failure> {
    let mut out = stdout();
    match format {
        Format::Json => json_line(&mut out, &told(survey))?,
        Format::Text => print_text(&mut out, survey)?,
    }
    Ok(out.flush()?)
}

/// What can be done.
pub(super) fn hint(survey: &Survey, dir: &str) -> String {
    let newest = survey.revision;
    match survey.remedy {
        Remedy::RemovePages => format!(
            "the log has everything: `rm {dir}/pages`, and the folder is read from its log; \
             nothing is lost"
        ),
        Remedy::TakeOut => format!(
            "everything up to revision {newest} can still be read: `jungle export` takes it out; \
             `jungle restore BACKUP DIR` makes a new folder with the log from a backup"
        ),
        _ => "`jungle restore BACKUP DIR` makes a new folder from a backup".to_owned(),
    }
}

fn told(survey: &Survey) -> Told<'_> {
    let ends = |range: &RangeInclusive<Revision>| [range.start().number(), range.end().number()];
    Told {
        whole: false,
        revision: survey.revision.number(),
        checkpoint: survey.checkpoint.map(Revision::number),
        log_revision: survey.log_revision.number(),
        segments: survey.segments,
        whole_segments: survey.whole_segments,
        whole_revisions: survey.whole_revisions.iter().map(ends).collect(),
        whole_trees: &survey.whole_trees,
        damaged_trees: &survey.damaged_trees,
        remedy: match survey.remedy {
            Remedy::RemovePages => "remove-pages",
            Remedy::TakeOut => "take-out",
            _ => "restore",
        },
        damages: survey.damages.iter().map(Damage::of).collect(),
        more_damages: survey.more_damages,
    }
}

fn print_text(out: &mut impl Write, survey: &Survey) -> io::Result<()> {
    writeln!(out, "damaged in {}", count(survey.count(), "place"))?;
    for damage in survey.damages.iter().take(TOLD) {
        writeln!(out, "        {damage}")?;
    }
    let more = survey.count() - survey.damages.len().min(TOLD) as u64;
    if more > 0 {
        writeln!(out, "        and {more} more")?;
    }
    let whole = survey.whole_revisions.iter().map(|range| match (range.start(), range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    });
    let (segments, whole) = (count(survey.segments, "segment"), listed(whole));
    writeln!(out, "log     revisions {whole}; {} of {segments}", survey.whole_segments)?;
    match survey.checkpoint {
        Some(revision) => writeln!(out, "pages   a checkpoint of revision {revision}")?,
        None => writeln!(out, "pages   none that can be opened")?,
    }
    match survey.revision.number() {
        0 => writeln!(out, "read    nothing, without a backup")?,
        newest => writeln!(out, "read    up to revision {newest}, without a backup")?,
    }
    writeln!(out, "trees   whole there: {}", listed(survey.whole_trees.iter()))?;
    if !survey.damaged_trees.is_empty() {
        writeln!(out, "        damaged: {}", listed(survey.damaged_trees.iter()))?;
    }
    Ok(())
}

/// The first of some things.
fn listed(things: impl ExactSizeIterator<Item = impl ToString>) -> String {
    let more = things.len().saturating_sub(TOLD);
    let told: Vec<String> = things.take(TOLD).map(|thing| thing.to_string()).collect();
    match (told.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (_, 0) => told.join(", "),
        _ => format!("{} and {more} more", told.join(", ")),
    }
}
