//! Revisions as lines of JSON: who and why, tags, and the whole document.

mod line;

use std::io::{self, BufRead, Write};

use jungle_db::{ArchiveError, NoSuchRevision, Revision, TreeHandle};
use jungle_json::{ExportError, ExportOptions, export};
use serde::Serialize;

use crate::error::unwritten;
use line::{LINE_BYTES_MAX, read_line};

pub use line::Line;

/// Why a line is no revision.
///
/// ```
/// use jungle_formats::ndjson::{LineError, read};
/// let lines = b"{\"value\":1}\n{}\n";
/// let error = read(&mut &lines[..], |line, _| line.map(drop)).unwrap_err();
/// assert!(matches!(error, LineError::Json(_)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It could not be read to its end.
    #[error(transparent)]
    Read(io::Error),
    /// It is no text.
    #[error("not UTF-8")]
    NotUtf8,
    /// It passes the limit, 1 GiB.
    #[error("longer than {max} bytes", max = LINE_BYTES_MAX)]
    Long,
    /// It is not an object with these members.
    #[error(transparent)]
    Json(serde_json::Error),
}

/// Where the reading is.
///
/// ```
/// use jungle_formats::ndjson::{At, LineError, read};
/// let mut places = Vec::new();
/// read(&mut &b"\n{\"value\":1}\n"[..], |_, at| {
///     places.push(at);
///     Ok::<(), LineError>(())
/// })?;
/// assert_eq!(places, [At { line: 2, bytes: 13 }]);
/// # Ok::<(), LineError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The number of the line, from 1.
    pub line: u64,
    /// How many bytes were read up to its end; of one that is too long, up to where that was found.
    pub bytes: u64,
}

/// Gives each line to `f`, or what is wrong with it; blank ones are skipped. One that is too long
/// is passed over up to its end. Behind what cannot be read nothing follows.
///
/// # Errors
/// What `f` says.
///
/// ```
/// use jungle_formats::ndjson::{LineError, read};
/// let mut values = Vec::new();
/// read(&mut &b"{\"value\":[1]}\n\n{\"value\":[2]}"[..], |line, _| {
///     values.push(line?.value.get().to_owned());
///     Ok::<(), LineError>(())
/// })?;
/// assert_eq!(values, ["[1]", "[2]"]);
/// # Ok::<(), LineError>(())
/// ```
pub fn read<E>(
    reader: &mut impl BufRead,
    f: impl FnMut(Result<Line<'_>, LineError>, At) -> Result<(), E>,
) -> Result<(), E> {
    read_within(reader, LINE_BYTES_MAX, f)
}

fn read_within<E>(
    reader: &mut impl BufRead,
    bytes_max: usize,
    mut f: impl FnMut(Result<Line<'_>, LineError>, At) -> Result<(), E>,
) -> Result<(), E> {
    let mut bytes = Vec::new();
    let mut at = At { line: 0, bytes: 0 };
    loop {
        at.line += 1;
        let read = match read_line(reader, bytes_max, &mut bytes) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) => return f(Err(LineError::Read(error)), at),
        };
        at.bytes += read as u64;
        if read == bytes_max && !bytes.ends_with(b"\n") {
            // What is in the rest of it, whatever that looks like, is no line.
            f(Err(LineError::Long), at)?;
            match reader.skip_until(b'\n') {
                Ok(skipped) => at.bytes += skipped as u64,
                Err(error) => return f(Err(LineError::Read(error)), at),
            }
            continue;
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => f(Line::parse(text).map_err(LineError::Json), at)?,
            Err(_) => f(Err(LineError::NotUtf8), at)?,
        }
    }
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

/// Why the revisions of a tree were not written, or only the first of them.
///
/// ```
/// use jungle_db::{Jungle, Revision};
/// use jungle_formats::ndjson::{WriteError, write};
/// let tree = Jungle::new()?.create_tree("t")?;
/// let mut no_room: &mut [u8] = &mut [];
/// let written = write(&tree, Revision::new(1), &mut no_room);
/// assert!(matches!(written, Err(WriteError::Write(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The writer failed.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// A part of the history cannot be read.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// A revision went away meanwhile.
    #[error(transparent)]
    Revision(#[from] NoSuchRevision),
}

impl From<ExportError> for WriteError {
    fn from(error: ExportError) -> WriteError {
        WriteError::Write(unwritten(error))
    }
}

/// Writes the revisions of a branch up to one, the oldest first.
///
/// # Errors
/// When the writer fails, or the history cannot be read.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_formats::ndjson::write;
/// let tree = Jungle::new()?.create_tree("t")?;
/// tree.update(|tx| tx.put_attribute(&[], "stars", 7))?;
/// let mut out = Vec::new();
/// write(&tree, tree.snapshot().revision(), &mut out)?;
/// let text = String::from_utf8(out)?;
/// assert_eq!(text.lines().count(), 2);
/// assert!(text.ends_with("\"tags\":[],\"value\":{\"stars\":7}}\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(tree: &TreeHandle, up_to: Revision, out: &mut impl Write) -> Result<(), WriteError> {
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
        let snapshot = tree.at(info.revision)?;
        export(snapshot.root(), &mut *out, &ExportOptions::default())?;
        writeln!(out, "}}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jungle_db::Jungle;

    use super::*;

    /// Counts what is written, in all and at once.
    #[derive(Default)]
    struct Counted {
        all: usize,
        longest: usize,
    }

    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.all += bytes.len();
            self.longest = self.longest.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_in_pieces() {
        let tree = Jungle::new().unwrap().create_tree("t").unwrap();
        for _ in 0..3 {
            let add = |tx: &mut jungle_db::Draft| {
                (0..50_000).try_for_each(|_| {
                    let child = tx.append(&[])?;
                    tx.put_attribute(&[child], "text", "of a row among many")
                })
            };
            tree.update(add).unwrap();
        }
        let mut out = Counted::default();
        write(&tree, tree.snapshot().revision(), &mut out).unwrap();
        // 50,000, 100,000 and 150,000 rows.
        assert!(out.all > 300_000 * 20, "{} bytes", out.all);
        assert!(out.longest <= out.all / 6 / 10, "{} of {} at once", out.longest, out.all);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_up_to_its_end() {
        let mut lines = b"{\"value\":1}\n".to_vec();
        // The limit falls in front of what looks like a line, and into a character.
        lines.extend([0xff; 16]);
        lines.extend(b"{\"value\":2}\n{\"value\":3}\n\xff\n");
        lines.extend(format!("a{}\n{{\"value\":4}}", "\u{e9}".repeat(8)).bytes());
        let (mut told, mut bytes) = (Vec::new(), 0);
        let read = read_within(&mut &lines[..], 16, |line, at| {
            let line = line.map(|line| line.value.get().to_owned());
            told.push((at.line, line.unwrap_or_else(|error| error.to_string())));
            bytes = at.bytes;
            Ok::<(), LineError>(())
        });
        read.unwrap();
        let (long, text) = (LineError::Long.to_string(), LineError::NotUtf8.to_string());
        let expected = ["1", &*long, "3", &*text, &*long, "4"];
        assert_eq!(told, (1..).zip(expected.map(str::to_owned)).collect::<Vec<_>>());
        assert_eq!(bytes, lines.len() as u64);
    }
}
