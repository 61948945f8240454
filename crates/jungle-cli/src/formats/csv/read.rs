//! CSV in, JSON out, in pieces.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use ::csv::{Error, ErrorKind, Reader, ReaderBuilder, StringRecord};
use jungle_json::write_value;
use jungle_tree::ValueRef;

use super::super::limited::Limited;

/// The JSON that stands for a CSV document, to be read.
pub(crate) struct Json<R> {
    reader: Reader<Quotes<Limited<R>>>,
    record: StringRecord,
    /// What stands in front of the cells of a row: `{"a":`, `,"b":`.
    names: Option<Vec<String>>,
    rows: u64,
    /// JSON that was not taken yet, and how much of it was.
    json: String,
    taken: usize,
    /// Was the end of the document written?
    ended: bool,
}

impl<R: BufRead> Json<R> {
    pub(crate) fn new(reader: R) -> Json<R> {
        let reader = Quotes { reader: Limited::new(reader, "a row"), are_odd: false };
        // The header and the lengths are looked at here.
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(reader);
        Json {
            reader,
            record: StringRecord::new(),
            names: None,
            rows: 0,
            json: "[".into(),
            taken: 0,
            ended: false,
        }
    }

    /// Reads one more row and writes what it is.
    fn step(&mut self) -> Result<(), String> {
        self.reader.get_mut().reader.go_on();
        let line = self.reader.position().line();
        if !self.reader.read_record(&mut self.record).map_err(|error| told(error, line))? {
            // Without this, the rest of a file that was cut off would be one cell.
            if self.reader.get_ref().are_odd {
                return Err("a quote is not closed, or in a cell without quotes around it".into());
            }
            if self.names.is_none() {
                return Err("there is no header".into());
            }
            self.json.push(']');
            self.ended = true;
            return Ok(());
        }
        let line = self.record.position().map_or(line, |position| position.line());
        let Some(names) = &self.names else {
            self.names = Some(header(&self.record).map_err(|what| format!("line {line}: {what}"))?);
            return Ok(());
        };
        let (cells, columns) = (self.record.len(), names.len());
        if cells != columns {
            return Err(format!("line {line}: {cells} cells, where the header has {columns}"));
        }
        if self.rows > 0 {
            self.json.push(',');
        }
        self.rows += 1;
        for (name, cell) in names.iter().zip(&self.record) {
            self.json.push_str(name);
            write_value(ValueRef::Text(cell), &mut self.json);
        }
        self.json.push('}');
        Ok(())
    }
}

/// What stands in front of the cells.
fn header(record: &StringRecord) -> Result<Vec<String>, String> {
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    for name in record {
        if !seen.insert(name) {
            return Err(format!("a second column {name:?}"));
        }
        let mut json = String::from(if names.is_empty() { "{" } else { "," });
        write_value(ValueRef::Text(name), &mut json);
        json.push(':');
        names.push(json);
    }
    Ok(names)
}

fn told(error: Error, line: u64) -> String {
    match error.into_kind() {
        ErrorKind::Io(error) => format!("line {line}: {error}"),
        ErrorKind::Utf8 { pos, err } => {
            let line = pos.map_or(line, |pos| pos.line());
            format!("line {line}: cell {} is not UTF-8", err.field() + 1)
        }
        other => format!("line {line}: {other:?}"),
    }
}

impl<R: BufRead> Read for Json<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.json.len() && !self.ended {
            self.json.clear();
            self.taken = 0;
            self.step().map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))?;
        }
        let rest = &self.json.as_bytes()[self.taken..];
        let taken = rest.len().min(bytes.len());
        bytes[..taken].copy_from_slice(&rest[..taken]);
        self.taken += taken;
        Ok(taken)
    }
}

/// A reader that knows whether the quotes so far come in pairs, as all do in whole documents.
struct Quotes<R> {
    reader: R,
    are_odd: bool,
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        self.are_odd ^= bytes[..read].iter().filter(|&&byte| byte == b'"').count() % 2 == 1;
        Ok(read)
    }
}
