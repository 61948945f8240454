//! The characters of a file, of which so many are given at a time.

use std::cell::Cell;
use std::io::{self, BufRead};
use std::rc::Rc;

use granit_parser::{ErrorKind, InputIoError};
use jungle_tree::VALUE_BYTES_MAX;

/// Gives the characters of UTF-8.
pub(super) struct Chars<R> {
    reader: R,
    left: Left,
    /// Where the next character is, from 1: the parser is not there yet when it cannot be read.
    line: u64,
    column: u64,
}

/// How many bytes are given until it is told to go on: whoever parses them holds no more at once.
#[derive(Clone)]
pub(super) struct Left(Rc<Cell<usize>>);

impl Left {
    /// Gives as much again.
    pub(super) fn go_on(&self) {
        self.0.set(VALUE_BYTES_MAX);
    }

    /// Was all of it given?
    pub(super) fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}

impl<R: BufRead> Chars<R> {
    pub(super) fn new(reader: R) -> (Chars<R>, Left) {
        let left = Left(Rc::new(Cell::new(VALUE_BYTES_MAX)));
        (Chars { reader, left: left.clone(), line: 1, column: 1 }, left)
    }

    fn read(&mut self) -> io::Result<Option<char>> {
        let Some(first) = self.byte()? else { return Ok(None) };
        let len = match first {
            0..0x80 => return Ok(Some(first.into())),
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let mut bytes = [first, 0, 0, 0];
        for byte in &mut bytes[1..len] {
            *byte = self.byte()?.unwrap_or_default();
        }
        let text = std::str::from_utf8(&bytes[..len]);
        let text =
            text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
        Ok(text.chars().next())
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let Some(&byte) = self.reader.fill_buf()?.first() else { return Ok(None) };
        let Some(left) = self.left.0.get().checked_sub(1) else {
            let what = format!("a value is longer than {VALUE_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        };
        self.left.0.set(left);
        self.reader.consume(1);
        Ok(Some(byte))
    }
}

impl<R: BufRead> Iterator for Chars<R> {
    type Item = Result<char, ErrorKind>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.read() {
            Ok(read) => {
                let c = read?;
                let is_end = c == '\n';
                self.column = if is_end { 1 } else { self.column + 1 };
                self.line += u64::from(is_end);
                Some(Ok(c))
            }
            Err(error) => {
                let what = format!("line {} column {}: {error}", self.line, self.column);
                Some(Err(ErrorKind::InputIo { error: InputIoError::from_message(what) }))
            }
        }
    }
}
