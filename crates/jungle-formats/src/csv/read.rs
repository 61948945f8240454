//! CSV in, JSON out, in pieces.

use std::collections::HashSet;
use std::io::{self, BufRead, Chain, Cursor, Read};

use ::csv::{Error, ErrorKind, Reader, ReaderBuilder, StringRecord};

use super::super::error::shown;
use super::super::limited::Limited;
use super::super::pending::Pending;

/// More columns than this no header has: a cell of one byte takes much more as it is read, and one
/// that is not there takes a comma in each row that is written.
pub(crate) const COLUMNS_MAX: usize = 65_536;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The JSON that stands for a CSV document, to be read.
pub(crate) struct Json<'f, R> {
    reader: Reader<Checked<R>>,
    record: StringRecord,
    /// What stands in front of the cells of a row: `{"a":`, `,"b":`.
    names: Option<Vec<String>>,
    rows: u64,
    json: Pending,
    /// Was the end of the document written?
    ended: bool,
    /// Is told what is wrong with a row, which is left out then.
    leave_out: Option<Box<dyn FnMut(String) + 'f>>,
}

impl<'f, R: BufRead> Json<'f, R> {
    pub(crate) fn new(reader: R) -> Json<'f, R> {
        // The header and the lengths are looked at here.
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(Checked::new(reader));
        Json {
            reader,
            record: StringRecord::new(),
            names: None,
            rows: 0,
            json: Pending::new("["),
            ended: false,
            leave_out: None,
        }
    }

    /// Tells `f` what is wrong with a row and goes on without it, where it is clear where the next
    /// one begins.
    pub(crate) fn leaving_out(mut self, f: impl FnMut(String) + 'f) -> Json<'f, R> {
        self.leave_out = Some(Box::new(f));
        self
    }

    /// Leaves the row out, if that is wanted.
    fn refuse(&mut self, what: String) -> Result<(), String> {
        match &mut self.leave_out {
            Some(leave_out) => leave_out(what),
            None => return Err(what),
        }
        Ok(())
    }

    /// Reads one more row and writes what it is.
    fn step(&mut self) -> Result<(), String> {
        self.reader.get_mut().go_on();
        let read = self.reader.read_record(&mut self.record);
        let line = self.reader.get_ref().rows.first;
        let is_row = match read {
            Err(error) if is_of_row(&error) && self.names.is_some() => {
                return self.refuse(told(error, line));
            }
            read => read.map_err(|error| told(error, line))?,
        };
        if !is_row {
            if self.names.is_none() {
                return Err("there is no header".into());
            }
            self.json.push("]");
            self.ended = true;
            return Ok(());
        }
        let Some(names) = &self.names else {
            self.header().map_err(|what| format!("line {line}: {what}"))?;
            // Else a row that is too long is read to its end, to be left out.
            if self.leave_out.is_none() {
                self.reader.get_mut().rows.columns = Some(self.record.len());
            }
            return Ok(());
        };
        let (cells, columns) = (self.record.len(), names.len());
        if cells != columns {
            let what = format!("line {line}: {cells} cells, where the header has {columns}");
            return self.refuse(what);
        }
        if self.rows > 0 {
            self.json.push(",");
        }
        self.rows += 1;
        for (name, cell) in names.iter().zip(&self.record) {
            self.json.push(name);
            self.json.text(cell);
        }
        self.json.push("}");
        self.json.check().map_err(|what| format!("line {line}: {what}"))
    }

    /// Keeps what stands in front of the cells.
    fn header(&mut self) -> Result<(), String> {
        let (mut seen, mut names) = (HashSet::new(), Vec::new());
        for name in &self.record {
            if !seen.insert(name) {
                return Err(format!("a second column {}", shown(name)));
            }
            let begin = self.json.as_str().len();
            self.json.push(if names.is_empty() { "{" } else { "," });
            self.json.text(name);
            self.json.push(":");
            names.push(self.json.as_str()[begin..].to_owned());
        }
        self.json.check()?;
        self.json.clear();
        self.names = Some(names);
        Ok(())
    }

    /// Of which kind is what has gone wrong: was it too much?
    fn kind(&self) -> io::ErrorKind {
        match self.json.is_over() {
            true => io::ErrorKind::FileTooLarge,
            false => self.reader.get_ref().kind(),
        }
    }
}

/// Is it a row that is wrong, and was it read to its end?
fn is_of_row(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Utf8 { .. })
}

fn told(error: Error, line: u64) -> String {
    match error.into_kind() {
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::Utf8 { err, .. } => {
            format!("line {line}: cell {} is not UTF-8", err.field() + 1)
        }
        other => format!("line {line}: {other:?}"),
    }
}

impl<R: BufRead> Read for Json<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.json.is_taken() && !self.ended {
            self.json.clear();
            self.step().map_err(|what| io::Error::new(self.kind(), what))?;
        }
        Ok(self.json.take(bytes))
    }
}

/// A reader that refuses what the parser would make something of: quotes that are not closed, so
/// that the rest of a file would be a cell, text behind them, and more cells than there may be. It
/// gives one row at most, so that the parser has no more than what is told here.
struct Checked<R> {
    /// The first bytes, if they are no byte order mark, and the rest.
    reader: Chain<Cursor<Vec<u8>>, Limited<R>>,
    rows: Rows,
}

/// The row that is read, as far as it was.
struct Rows {
    place: Place,
    /// The line of the next byte, from 1.
    line: u64,
    /// The line in which the row begins; 0 before anything was read.
    first: u64,
    /// Was the last byte a carriage return? A line feed then ends the same line.
    is_return: bool,
    cells: usize,
    /// How many cells the header has.
    columns: Option<usize>,
}

/// Where in a row the next byte is.
#[derive(Clone, Copy)]
enum Place {
    /// Before it, where blank lines are skipped.
    Row,
    Cell,
    /// In a cell that does not begin with a quote: others are text in it.
    Plain,
    /// In quotes that were opened in this line.
    Quoted(u64),
    /// After a quote in quotes: it closes them, or is the first of two that stand for one.
    Quote(u64),
}

impl<R: BufRead> Checked<R> {
    fn new(reader: R) -> Checked<R> {
        let (place, columns) = (Place::Row, None);
        Checked {
            reader: Cursor::default().chain(Limited::new(reader, "a row")),
            rows: Rows { place, line: 1, first: 0, is_return: false, cells: 0, columns },
        }
    }

    fn go_on(&mut self) {
        self.reader.get_mut().1.go_on();
    }

    fn kind(&self) -> io::ErrorKind {
        match self.rows.columns.is_none() && self.rows.cells > COLUMNS_MAX {
            true => io::ErrorKind::FileTooLarge,
            false => self.reader.get_ref().1.kind(),
        }
    }

    /// Takes a byte order mark, if there is one.
    fn skip_mark(&mut self) -> io::Result<()> {
        let (start, rest) = self.reader.get_mut();
        let start = start.get_mut();
        rest.take(BYTE_ORDER_MARK.len() as u64).read_to_end(start)?;
        if start == BYTE_ORDER_MARK {
            start.clear();
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Checked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut len_max = bytes.len();
        if self.rows.first == 0 {
            self.rows.first = 1;
            self.skip_mark()?;
            // The parser skips a mark too, if it gets it whole: of two, the second is text.
            len_max = len_max.min(1);
        }
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let first = self.rows.first;
        let there = self.reader.fill_buf();
        let there = there.map_err(|error| invalid(format!("line {first}: {error}")))?;
        if let (Place::Quoted(opened), true) = (self.rows.place, there.is_empty()) {
            return Err(invalid(format!("line {opened}: a quote is not closed")));
        }
        let mut taken = 0;
        for (byte, to) in there.iter().zip(&mut bytes[..len_max]) {
            (*to, taken) = (*byte, taken + 1);
            if self.rows.take(*byte).map_err(invalid)? {
                break;
            }
        }
        self.reader.consume(taken);
        Ok(taken)
    }
}

impl Rows {
    /// Takes the next byte; does it end a row?
    fn take(&mut self, byte: u8) -> Result<bool, String> {
        let line = self.line;
        let is_end = matches!(byte, b'\r' | b'\n');
        self.line += u64::from(is_end && !(byte == b'\n' && self.is_return));
        self.is_return = byte == b'\r';
        if matches!(self.place, Place::Row) {
            if is_end {
                return Ok(false);
            }
            (self.first, self.cells, self.place) = (line, 1, Place::Cell);
        }
        self.place = match (self.place, byte) {
            (Place::Quoted(opened), b'"') => Place::Quote(opened),
            (Place::Quoted(opened), _) | (Place::Quote(opened), b'"') => Place::Quoted(opened),
            (Place::Cell, b'"') => Place::Quoted(line),
            _ if is_end => Place::Row,
            (_, b',') => {
                self.add_cell()?;
                Place::Cell
            }
            (Place::Quote(_), _) => {
                return Err(format!("line {line}: a cell goes on behind its closing quote"));
            }
            _ => Place::Plain,
        };
        Ok(matches!(self.place, Place::Row))
    }

    fn add_cell(&mut self) -> Result<(), String> {
        self.cells += 1;
        let first = self.first;
        match self.columns {
            Some(columns) if self.cells > columns => {
                Err(format!("line {first}: more than the {columns} cells of the header"))
            }
            None if self.cells > COLUMNS_MAX => {
                Err(format!("line {first}: more than {COLUMNS_MAX} columns"))
            }
            _ => Ok(()),
        }
    }
}
