//! The tokens of a document, one after the other: a machine with a stack of its own, so that depth
//! costs a byte and never the thread's stack.

mod string;

use std::io::{ErrorKind, Read};

use crate::error::{ImportError, Limit, Place, Syntax};
use crate::number;
use crate::options::Limits;

const BUFFER_BYTES: usize = 64 << 10;

/// A token. The text of a name, a string or a number is in [`Tokens::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    BeginObject,
    EndObject,
    BeginArray,
    EndArray,
    Name,
    Text,
    Number,
    Bool(bool),
    Null,
    /// The document is complete.
    End,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    FirstElement,
    FirstMember,
    /// A value is complete: a comma, or the end of what it is in.
    Next,
}

/// Reads a document as tokens.
pub(crate) struct Tokens<'p, R> {
    reader: R,
    progress: &'p mut dyn FnMut(u64),
    limits: Limits,
    buffer: Box<[u8]>,
    /// What of the buffer is still to be looked at.
    at: usize,
    end: usize,
    /// Where in the document the buffer begins, and the line that is being read.
    buffer_offset: u64,
    line: u64,
    line_offset: u64,
    expect: Expect,
    /// What is open: is it an object?
    open: Vec<bool>,
    text: String,
    /// Where the token given last begins.
    start: Place,
}

impl<'p, R: Read> Tokens<'p, R> {
    pub(crate) fn new(reader: R, limits: Limits, progress: &'p mut dyn FnMut(u64)) -> Self {
        Tokens {
            reader,
            progress,
            limits,
            buffer: vec![0; BUFFER_BYTES].into(),
            at: 0,
            end: 0,
            buffer_offset: 0,
            line: 1,
            line_offset: 0,
            expect: Expect::Value,
            open: Vec::new(),
            text: String::new(),
            start: Place { offset: 0, line: 1, column: 1 },
        }
    }

    /// The text of the token given last.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the token given last begins.
    pub(crate) fn start(&self) -> Place {
        self.start
    }

    /// The bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.buffer_offset + self.at as u64
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Result<Token, ImportError> {
        let mut byte = self.peek_token()?;
        if self.expect == Expect::Next {
            match (self.open.last(), byte) {
                (None, None) => return Ok(Token::End),
                (None, found) => return self.fail("the end of the document", found),
                (Some(true), Some(b'}')) => return Ok(self.close(Token::EndObject)),
                (Some(false), Some(b']')) => return Ok(self.close(Token::EndArray)),
                (Some(is_object), Some(b',')) => {
                    let is_object = *is_object;
                    self.at += 1;
                    byte = self.peek_token()?;
                    if is_object {
                        return self.name(byte);
                    }
                }
                (Some(true), found) => return self.fail("`,` or `}`", found),
                (Some(false), found) => return self.fail("`,` or `]`", found),
            }
        }
        match (self.expect, byte) {
            (Expect::FirstMember, Some(b'}')) => Ok(self.close(Token::EndObject)),
            (Expect::FirstElement, Some(b']')) => Ok(self.close(Token::EndArray)),
            (Expect::FirstMember, byte) => self.name(byte),
            (_, byte) => self.value(byte),
        }
    }

    fn close(&mut self, token: Token) -> Token {
        self.at += 1;
        self.open.pop();
        self.expect = Expect::Next;
        token
    }

    fn name(&mut self, byte: Option<u8>) -> Result<Token, ImportError> {
        if byte != Some(b'"') {
            return self.fail("a name in quotes", byte);
        }
        self.string(self.limits.name_bytes_max, Limit::NameBytes)?;
        let start = self.start;
        let colon = self.peek_token()?;
        if colon != Some(b':') {
            return self.fail("`:`", colon);
        }
        self.at += 1;
        self.start = start;
        self.expect = Expect::Value;
        Ok(Token::Name)
    }

    fn value(&mut self, byte: Option<u8>) -> Result<Token, ImportError> {
        self.expect = Expect::Next;
        match byte {
            Some(b'{') => self.begin(Token::BeginObject, Expect::FirstMember),
            Some(b'[') => self.begin(Token::BeginArray, Expect::FirstElement),
            Some(b'"') => {
                self.string(self.limits.value_bytes_max, Limit::ValueBytes)?;
                Ok(Token::Text)
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Token::Bool(true)),
            Some(b'f') => self.word("false", Token::Bool(false)),
            Some(b'n') => self.word("null", Token::Null),
            found => self.fail("a value", found),
        }
    }

    fn begin(&mut self, token: Token, expect: Expect) -> Result<Token, ImportError> {
        if self.open.len() >= self.limits.depth_max {
            return self.limit(self.start, Limit::Depth(self.limits.depth_max));
        }
        self.at += 1;
        self.open.push(token == Token::BeginObject);
        self.expect = expect;
        Ok(token)
    }

    fn word(&mut self, word: &'static str, token: Token) -> Result<Token, ImportError> {
        for expected in word.bytes() {
            let found = self.peek()?;
            if found != Some(expected) {
                return self.fail(word, found);
            }
            self.at += 1;
        }
        Ok(token)
    }

    fn number(&mut self) -> Result<Token, ImportError> {
        self.text.clear();
        while let Some(byte @ (b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) = self.peek()? {
            if self.text.len() >= self.limits.value_bytes_max {
                return self.limit(self.start, Limit::ValueBytes(self.limits.value_bytes_max));
            }
            self.text.push(char::from(byte));
            self.at += 1;
        }
        if !number::is_number(self.text.as_bytes()) {
            return self.wrong(self.start, Syntax::BadNumber);
        }
        Ok(Token::Number)
    }

    /// Skips white space; the byte behind it begins a token.
    #[inline]
    fn peek_token(&mut self) -> Result<Option<u8>, ImportError> {
        let found = loop {
            match self.peek()? {
                Some(b'\n') => {
                    self.at += 1;
                    self.line += 1;
                    self.line_offset = self.offset();
                }
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                found => break found,
            }
        };
        self.start = self.place();
        Ok(found)
    }

    #[inline(always)]
    fn peek(&mut self) -> Result<Option<u8>, ImportError> {
        if self.at == self.end {
            self.fill()?;
        }
        Ok(self.buffer[..self.end].get(self.at).copied())
    }

    #[cold]
    fn fill(&mut self) -> Result<(), ImportError> {
        self.buffer_offset += self.end as u64;
        (self.at, self.end) = (0, 0);
        self.end = loop {
            match self.reader.read(&mut self.buffer) {
                Ok(bytes) => break bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ImportError::Read(error)),
            }
        };
        let bytes = self.buffer_offset + self.end as u64;
        if bytes > self.limits.bytes_max {
            return self.limit(self.place(), Limit::Bytes(self.limits.bytes_max));
        }
        (self.progress)(bytes);
        Ok(())
    }

    fn place(&self) -> Place {
        let offset = self.offset();
        Place { offset, line: self.line, column: offset - self.line_offset + 1 }
    }

    fn fail<T>(&self, what: &'static str, found: Option<u8>) -> Result<T, ImportError> {
        self.wrong(self.place(), Syntax::Expected { what, found })
    }

    fn wrong<T>(&self, at: Place, reason: Syntax) -> Result<T, ImportError> {
        Err(ImportError::Syntax { at, reason })
    }

    fn limit<T>(&self, at: Place, limit: Limit) -> Result<T, ImportError> {
        Err(ImportError::Limit { at, limit })
    }
}
