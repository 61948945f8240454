//! What is told of a damaged folder.

use std::io::{self, Write};

use jungle::{Remedy, Survey};
use jungle_server::verify::Damaged;

use crate::failure::Failure;
use crate::output::{Format, count, json_line, stdout};

/// So many damages and names of trees are told to people; programs get all that are known.
const TOLD: usize = 10;

pub(super) fn print(survey: &Survey, format: Format) -> Result<(), Failure> {
    let mut out = stdout();
    match format {
        Format::Json => json_line(&mut out, &Damaged::from(survey))?,
        Format::Text => print_text(&mut out, survey)?,
    }
    Ok(out.flush()?)
}

/// What can be done.
pub(super) fn hint(survey: &Survey, dir: &str) -> String {
    let newest = survey.revision;
    match survey.remedy {
        Remedy::RemovePages => all_in_log(dir),
        Remedy::TakeOut => format!(
            "everything up to revision {newest} can still be read: `jungle repair {dir} NEW` makes \
             a new folder of it; `jungle restore BACKUP NEW` makes one with the log from a backup"
        ),
        _ if newest.number() == 0 => {
            "`jungle restore BACKUP DIR` makes a new folder from a backup".to_owned()
        }
        _ => format!(
            "`jungle restore BACKUP NEW` makes a new folder from a backup; without one, \
             `jungle repair {dir} NEW` saves what can still be read"
        ),
    }
}

pub(super) fn all_in_log(dir: &str) -> String {
    format!(
        "the log has everything: `rm {dir}/pages`, and the folder is read from its log; nothing is \
         lost"
    )
}

/// Tells where something is damaged.
pub(in crate::commands) fn print_damages(out: &mut impl Write, survey: &Survey) -> io::Result<()> {
    writeln!(out, "damaged in {}", count(survey.count(), "place"))?;
    for damage in survey.damages.iter().take(TOLD) {
        writeln!(out, "        {damage}")?;
    }
    let more = survey.count() - survey.damages.len().min(TOLD) as u64;
    if more > 0 {
        writeln!(out, "        and {more} more")?;
    }
    Ok(())
}

fn print_text(out: &mut impl Write, survey: &Survey) -> io::Result<()> {
    print_damages(out, survey)?;
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
