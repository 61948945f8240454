//! A reader that gives only so much until it is told to go on, so that what a parser holds whole
//! has an end.

use std::io::{self, BufRead, Read};

use jungle_tree::VALUE_BYTES_MAX;

/// No value may have more than this, so nothing that is held whole needs more.
pub(super) const BYTES_MAX: usize = VALUE_BYTES_MAX;

pub(super) struct Limited<R> {
    reader: R,
    left: usize,
    /// What is too long then.
    what: &'static str,
}

impl<R> Limited<R> {
    pub(super) fn new(reader: R, what: &'static str) -> Limited<R> {
        Limited { reader, left: BYTES_MAX, what }
    }

    /// Gives as much again.
    pub(super) fn go_on(&mut self) {
        self.left = BYTES_MAX;
    }

    /// Of which kind is what has gone wrong: was it too much?
    pub(super) fn kind(&self) -> io::ErrorKind {
        match self.left {
            0 => io::ErrorKind::FileTooLarge,
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl<R: BufRead> Read for Limited<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let taken = there.len().min(bytes.len());
        bytes[..taken].copy_from_slice(&there[..taken]);
        self.consume(taken);
        Ok(taken)
    }
}

impl<R: BufRead> BufRead for Limited<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            let what = format!("{} is longer than {BYTES_MAX} bytes", self.what);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount);
        self.reader.consume(amount);
    }
}
