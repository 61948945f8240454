//! Lines of JSON as tables: what a command tells programs, drawn for people. So no command draws a
//! table of its own, and columns are called as the fields are.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Row as TableRow, Table, presets};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::formats::push_shown;

/// A longer cell is cut, also where nothing else is: each row is as wide as the widest.
const CELL_CHARS_MAX: usize = 10_000;

/// After so many rows, or so many characters with what fills the cells up, a table is drawn, and
/// another one begun: no more is held.
const ROWS_MAX: usize = 10_000;
const CHARS_MAX: usize = 16 << 20;

/// The column of what is no object.
const VALUE: &str = "value";

/// Takes lines of JSON and writes tables of them when it is flushed.
pub(crate) struct Rows<W: Write> {
    out: W,
    /// How wide the terminal is, where it is for one.
    width: Option<u16>,
    /// What has come of a line so far.
    line: Vec<u8>,
    drawn: Drawn,
    /// What rows have in lists: of rows, too, each list a table by its name.
    lists: Vec<(String, Drawn)>,
}

impl<W: Write> Rows<W> {
    pub(crate) fn new(out: W, width: Option<u16>) -> Rows<W> {
        Rows { out, width, line: Vec::new(), drawn: Drawn::default(), lists: Vec::new() }
    }

    fn take_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let mut cells = Vec::new();
        for (name, value) in fields(&line)? {
            match list(&value) {
                Some(rows) => self.take_list(name, &rows)?,
                None => add_cells(name, &value, &mut cells)?,
            }
        }
        self.drawn.add(cells);
        if self.drawn.is_full() || self.lists.iter().any(|(_, drawn)| drawn.is_full()) {
            self.draw()?;
        }
        Ok(())
    }

    fn take_list(&mut self, name: String, rows: &[Box<RawValue>]) -> io::Result<()> {
        let at = match self.lists.iter().position(|(known, _)| *known == name) {
            Some(at) => at,
            None => {
                self.lists.push((name, Drawn::default()));
                self.lists.len() - 1
            }
        };
        for row in rows {
            let mut cells = Vec::new();
            for (name, value) in fields(row.get().as_bytes())? {
                add_cells(name, &value, &mut cells)?;
            }
            self.lists[at].1.add(cells);
        }
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.drawn).write(&mut self.out, self.width)?;
        for (name, drawn) in std::mem::take(&mut self.lists) {
            writeln!(self.out, "{name}")?;
            drawn.write(&mut self.out, self.width)?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Rows<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        match end {
            Some(end) => {
                self.take_line()?;
                Ok(end + 1)
            }
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draw()?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Rows<W> {
    /// As what is buffered is written where something fails later.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// A cell, as it will be shown.
struct Shown {
    text: String,
    chars: usize,
    is_number: bool,
}

/// A table that is not written yet.
#[derive(Default)]
struct Drawn {
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    /// Cells by their columns; a row may end before the last of these.
    rows: Vec<Vec<Option<Shown>>>,
}

struct Column {
    name: String,
    chars_max: usize,
    /// Is all that is in it a number?
    is_numbers: bool,
}

impl Drawn {
    fn add(&mut self, cells: Vec<(String, Shown)>) {
        let mut row = Vec::new();
        for (name, cell) in cells {
            let at = *self.places.entry(name).or_insert_with_key(|name| {
                let chars_max = name.chars().count();
                self.columns.push(Column { name: name.clone(), chars_max, is_numbers: true });
                self.columns.len() - 1
            });
            let column = &mut self.columns[at];
            column.chars_max = column.chars_max.max(cell.chars);
            column.is_numbers &= cell.is_number || cell.text.is_empty();
            if row.len() <= at {
                row.resize_with(at + 1, || None);
            }
            row[at] = Some(cell);
        }
        self.rows.push(row);
    }

    fn is_full(&self) -> bool {
        let chars: usize = self.columns.iter().map(|column| column.chars_max + 3).sum();
        self.rows.len() >= ROWS_MAX || self.rows.len().saturating_mul(chars) >= CHARS_MAX
    }

    fn write(self, out: &mut impl Write, width: Option<u16>) -> io::Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        // Nothing has that in it, so what is cut is cut within words.
        table.set_delimiter('\0');
        match width {
            Some(width) => {
                table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width)
            }
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        let on_one_line = |cells: Vec<Cell>| {
            let mut row = TableRow::from(cells);
            row.max_height(1);
            row
        };
        let numbers = self.columns.iter().enumerate().filter(|(_, column)| column.is_numbers);
        let numbers = numbers.map(|(at, _)| at);
        let names = self.columns.iter().map(|column| Cell::new(&column.name));
        table.set_header(on_one_line(names.collect()));
        for row in self.rows {
            // No cell has more columns than the terminal; what is cut off is not looked at again.
            let chars_max = width.map_or(CELL_CHARS_MAX, usize::from);
            let cells = row.into_iter().map(|cell| {
                Cell::new(cell.map_or_else(String::new, |cell| cut(cell.text, chars_max)))
            });
            table.add_row(on_one_line(cells.collect()));
        }
        for at in numbers {
            if let Some(column) = table.column_mut(at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().try_for_each(|line| writeln!(out, "{line}"))
    }
}

fn cut(text: String, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// An object, its members in their order.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The fields of a line; what is no object is one field.
fn fields(line: &[u8]) -> io::Result<Vec<(String, Box<RawValue>)>> {
    if line.first() == Some(&b'{') {
        return Ok(serde_json::from_slice::<Fields>(line)?.0);
    }
    Ok(vec![(VALUE.to_owned(), serde_json::from_slice(line)?)])
}

/// The elements of an array of objects.
fn list(value: &RawValue) -> Option<Vec<Box<RawValue>>> {
    let rows: Vec<Box<RawValue>> = array(value)?;
    let are_rows = !rows.is_empty() && rows.iter().all(|row| row.get().starts_with('{'));
    are_rows.then_some(rows)
}

fn array(value: &RawValue) -> Option<Vec<Box<RawValue>>> {
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).ok()).flatten()
}

/// The cell of a field; of an object those of its fields, unless it stands for one value.
fn add_cells(name: String, value: &RawValue, cells: &mut Vec<(String, Shown)>) -> io::Result<()> {
    let json = value.get();
    if json.starts_with('{') && !json.starts_with("{\"$") {
        for (field, value) in fields(json.as_bytes())? {
            cells.push((shown(&format!("{name}.{field}")), cell(&value)));
        }
        return Ok(());
    }
    cells.push((shown(&name), cell(value)));
    Ok(())
}

fn cell(value: &RawValue) -> Shown {
    let text = match (value.get(), array(value)) {
        ("null", _) => String::new(),
        (_, Some(elements)) => {
            let elements = elements.iter().map(|element| text(element));
            elements.collect::<Vec<_>>().join(", ")
        }
        _ => text(value),
    };
    let text = shown(&cut(text, CELL_CHARS_MAX));
    let is_number = value.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
    Shown { chars: text.chars().count(), text, is_number }
}

/// A text itself, and anything else as JSON.
fn text(value: &RawValue) -> String {
    serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// On one line, and without characters that a terminal would obey.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_shown(c, &mut shown));
    shown
}
