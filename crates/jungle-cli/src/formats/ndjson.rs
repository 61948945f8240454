//! Revisions as lines of JSON: what people are told of them.

use std::io::BufRead;

use jungle::{CommitMeta, Timestamp};
use jungle_formats::ndjson::{self, LineError};

use crate::document::shown;
use crate::failure::{Exit, Failure};

pub(crate) use jungle_formats::ndjson::Line;

/// Who made it and why, if it says so.
pub(crate) fn meta(line: &Line<'_>, otherwise: CommitMeta) -> CommitMeta {
    let author = line.author.iter().fold(otherwise, |meta, author| meta.author(author));
    line.message.iter().fold(author, |meta, message| meta.message(message))
}

/// When it was made, if it says so.
pub(crate) fn time(line: &Line<'_>, place: &str) -> Result<Option<Timestamp>, Failure> {
    let Some(text) = &line.time else { return Ok(None) };
    jungle_words::time::parse(text).map(Some).ok_or_else(|| {
        Failure::new(Exit::Error, format_args!("{place}: {text:?} is not a time"))
            .with_hint("one is `2026-11-22T01:30:00Z`; without `time` it is now")
    })
}

/// Gives each line to `f`, or what is wrong with it; its place, and how many bytes were read up to
/// its end.
pub(crate) fn read(
    file: &str,
    reader: &mut impl BufRead,
    mut f: impl FnMut(Result<Line<'_>, Failure>, &str, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    ndjson::read(reader, |line, at| {
        let place = format!("{}, line {}", shown(file), at.line);
        f(line.map_err(|error| refused(&place, &error)), &place, at.bytes)
    })
}

fn refused(place: &str, error: &LineError) -> Failure {
    let failure = Failure::new(Exit::Error, format_args!("{place}: {error}"));
    match error {
        LineError::Json(_) => failure.with_hint(
            "each line is an object with the document as `value`, \
             and perhaps `time`, `author`, `message` and `tags`",
        ),
        _ => failure,
    }
}
