//! Revisions as lines of JSON: who and why, tags, and the whole document.

mod line;

use std::io::{BufRead, ErrorKind, Write};

use jungle::{CommitMeta, Revision, Timestamp, TreeHandle};
use jungle_json::{ExportOptions, export};
use serde::Serialize;

use crate::document::shown;
use crate::failure::{Exit, Failure, failed};
use line::{LINE_BYTES_MAX, read_line};

pub(crate) use line::Line;

impl Line<'_> {
    pub(crate) fn meta(&self, otherwise: CommitMeta) -> CommitMeta {
        let author = self.author.iter().fold(otherwise, |meta, author| meta.author(author));
        self.message.iter().fold(author, |meta, message| meta.message(message))
    }

    /// When it was made, if it says so.
    pub(crate) fn time(&self, place: &str) -> Result<Option<Timestamp>, Failure> {
        let Some(text) = &self.time else { return Ok(None) };
        jungle_words::time::parse(text).map(Some).ok_or_else(|| {
            Failure::new(Exit::Error, format_args!("{place}: {text:?} is not a time"))
                .with_hint("one is `2026-11-22T01:30:00Z`; without `time` it is now")
        })
    }
}

/// Gives each line to `f`, or what is wrong with it; its place, and how many bytes were read up to
/// its end. Behind a line that cannot be read to its end nothing follows.
pub(crate) fn read(
    file: &str,
    reader: &mut impl BufRead,
    mut f: impl FnMut(Result<Line<'_>, Failure>, &str, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut text = String::new();
    let mut bytes = 0;
    for number in 1_u64.. {
        let place = format!("{}, line {number}", shown(file));
        let wrong = |what: &dyn std::fmt::Display| {
            Failure::new(Exit::Error, format_args!("{place}: {what}"))
        };
        let read = match read_line(reader, &mut text) {
            Ok(read) => read,
            // It was read to its end.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                f(Err(wrong(&"not UTF-8")), &place, bytes)?;
                continue;
            }
            Err(error) => return f(Err(wrong(&error)), &place, bytes),
        };
        bytes += read as u64;
        match read {
            0 => break,
            LINE_BYTES_MAX => {
                let what = format_args!("longer than {LINE_BYTES_MAX} bytes");
                return f(Err(wrong(&what)), &place, bytes);
            }
            _ if text.trim().is_empty() => continue,
            _ => {}
        }
        let line = Line::parse(&text).map_err(|error| {
            wrong(&error).with_hint(
                "each line is an object with the document as `value`, \
                 and perhaps `time`, `author`, `message` and `tags`",
            )
        });
        f(line, &place, bytes)?;
    }
    Ok(())
}

/// What is written in front of the document.
#[derive(Serialize)]
struct Head<'h> {
    revision: u64,
    time: String,
    author: Option<&'h str>,
    message: Option<&'h str>,
    tags: Vec<&'h str>,
}

/// Writes the revisions of a branch up to one, the oldest first.
pub(crate) fn write(
    tree: &TreeHandle,
    up_to: Revision,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let all_tags = tree.list_tags();
    for info in tree.history(..=up_to).rev() {
        let info = info?;
        let here = all_tags.iter().filter(|(_, revision)| *revision == info.revision);
        let head = Head {
            revision: info.revision.number(),
            time: jungle_words::time::text(info.time),
            author: info.meta.author_name(),
            message: info.meta.message_text(),
            tags: here.map(|(name, _)| &**name).collect(),
        };
        let head = serde_json::to_string(&head).expect("plain data");
        write!(out, "{},\"value\":", head.trim_end_matches('}'))?;
        let snapshot = tree.at(info.revision).map_err(failed)?;
        export(snapshot.root(), &mut *out, &ExportOptions::default())?;
        writeln!(out, "}}")?;
    }
    Ok(())
}
