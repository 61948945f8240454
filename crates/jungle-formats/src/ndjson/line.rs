//! One line: read within a limit, and taken apart.

use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde_json::value::RawValue;

/// The most bytes that one line may have.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 30;

/// A revision to be made.
///
/// ```
/// use jungle_formats::ndjson::{LineError, read};
/// let text = br#"{"author":"ana","tags":["v1"],"value":{"a":1}}"#;
/// read(&mut &text[..], |line, _| {
///     let line = line?;
///     assert_eq!((line.author.as_deref(), line.value.get()), (Some("ana"), r#"{"a":1}"#));
///     Ok::<(), LineError>(())
/// })?;
/// # Ok::<(), LineError>(())
/// ```
#[derive(Debug, Deserialize)]
pub struct Line<'l> {
    /// When it was made.
    pub time: Option<String>,
    /// Who made it.
    pub author: Option<String>,
    /// Why.
    pub message: Option<String>,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The text of the document.
    #[serde(borrow)]
    pub value: &'l RawValue,
}

impl Line<'_> {
    pub(crate) fn parse(text: &str) -> serde_json::Result<Line<'_>> {
        serde_json::from_str(text)
    }
}

/// Reads the next line, at most so many bytes of it; there are none at the end.
pub(crate) fn read_line(
    reader: &mut impl BufRead,
    bytes_max: usize,
    bytes: &mut Vec<u8>,
) -> io::Result<usize> {
    bytes.clear();
    reader.by_ref().take(bytes_max as u64).read_until(b'\n', bytes)
}
