//! JSON laid out as YAML, streaming.

use std::io::{self, Write};

use jungle_json::{ExportOptions, Member, export, write_value};

use crate::error::WriteError;
use crate::hidden::escape_hidden;

/// A key that is longer needs a sign in front of it: readers look no further than 1,024 characters
/// for the colon behind one.
const KEY_BYTES_MAX: usize = 1000;

/// Longer text is quoted without a look at it.
const PLAIN_BYTES_MAX: usize = 100;

/// What YAML 1.1 or 1.2 takes for something else than text.
const WORDS: [&str; 11] =
    ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];

/// Writes a document, with a line feed at its end.
pub(crate) fn write(member: Member<'_>, out: &mut impl Write) -> Result<(), WriteError> {
    let mut yaml = Yaml::new(out);
    match member {
        Member::Node(node) => export(node, &mut yaml, &ExportOptions::default())?,
        Member::Value(value) => {
            let mut json = String::new();
            write_value(value, &mut json);
            yaml.write_all(json.as_bytes())?;
        }
    }
    Ok(yaml.end()?)
}

/// Takes a document as JSON without white space, and passes it on as YAML: a line for each value.
struct Yaml<W> {
    out: W,
    open: Vec<Open>,
    pen: Pen,
    /// A scalar or name that has begun; strings with their quotes.
    token: Vec<u8>,
    text: Text,
}

struct Open {
    is_array: bool,
    is_empty: bool,
}

/// Where the next thing is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pen {
    /// At the beginning of a line.
    Line,
    /// Where anything may begin: in front of all, or behind a sign.
    Place,
    /// Behind the colon of a key.
    Colon,
}

/// Is the next byte in a string?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    /// Behind a backslash.
    Escaped,
}

impl<W: Write> Yaml<W> {
    fn new(out: W) -> Yaml<W> {
        Yaml { out, open: Vec::new(), pen: Pen::Place, token: Vec::new(), text: Text::Outside }
    }

    /// The document has ended.
    fn end(mut self) -> io::Result<()> {
        self.scalar()
    }

    fn take(&mut self, byte: u8) -> io::Result<()> {
        match (self.text, byte) {
            (Text::Outside, b'{' | b'[') => {
                self.value()?;
                self.open.push(Open { is_array: byte == b'[', is_empty: true });
                return Ok(());
            }
            (Text::Outside, b'}' | b']') => {
                self.scalar()?;
                return self.close();
            }
            (Text::Outside, b',') => return self.scalar(),
            (Text::Outside, b':') => return self.key(),
            (Text::Outside, b'"') | (Text::Escaped, _) => self.text = Text::Inside,
            (Text::Inside, b'"') => self.text = Text::Outside,
            (Text::Inside, b'\\') => self.text = Text::Escaped,
            _ => {}
        }
        self.token.push(byte);
        Ok(())
    }

    /// Goes to where the next item of the innermost one is written.
    fn item(&mut self) -> io::Result<()> {
        let depth = self.open.len();
        let Some(innermost) = self.open.last_mut() else { return Ok(()) };
        innermost.is_empty = false;
        if self.pen == Pen::Colon {
            self.out.write_all(b"\n")?;
            self.pen = Pen::Line;
        }
        self.line_of(depth)
    }

    /// Begins a line, if the pen is not in one.
    fn line_of(&mut self, depth: usize) -> io::Result<()> {
        if self.pen == Pen::Line {
            (1..depth).try_for_each(|_| self.out.write_all(b"  "))?;
        }
        Ok(())
    }

    /// Goes to where the next value is written: an element behind its sign, a member where its key
    /// has left the pen.
    fn value(&mut self) -> io::Result<()> {
        if self.open.last().is_some_and(|innermost| innermost.is_array) {
            self.item()?;
            self.out.write_all(b"- ")?;
            self.pen = Pen::Place;
        }
        Ok(())
    }

    fn key(&mut self) -> io::Result<()> {
        self.item()?;
        let key = self.text();
        if key.len() <= KEY_BYTES_MAX {
            write!(self.out, "{key}:")?;
            self.pen = Pen::Colon;
            return Ok(());
        }
        writeln!(self.out, "? {key}")?;
        self.pen = Pen::Line;
        self.line_of(self.open.len())?;
        self.out.write_all(b": ")?;
        self.pen = Pen::Place;
        Ok(())
    }

    /// Writes the scalar that has ended, if it was one.
    fn scalar(&mut self) -> io::Result<()> {
        if self.token.is_empty() {
            return Ok(());
        }
        self.value()?;
        let text = self.text();
        self.last(&text)
    }

    fn close(&mut self) -> io::Result<()> {
        let closed = self.open.pop().expect("JSON closes what it has opened");
        match (closed.is_empty, closed.is_array) {
            (false, _) => Ok(()),
            (true, true) => self.last("[]"),
            (true, false) => self.last("{}"),
        }
    }

    /// Writes what ends a line.
    fn last(&mut self, text: &str) -> io::Result<()> {
        let between = if self.pen == Pen::Colon { " " } else { "" };
        self.pen = Pen::Line;
        writeln!(self.out, "{between}{text}")
    }

    /// What is written of the scalar or name that has ended.
    fn text(&mut self) -> String {
        let token = String::from_utf8(std::mem::take(&mut self.token)).expect("JSON is text");
        let string = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match string {
            Some(plain) if is_plain(plain) => plain.to_owned(),
            Some(_) => {
                let mut text = String::with_capacity(token.len());
                token.chars().for_each(|c| escape_hidden(c, &mut text));
                text
            }
            None => token,
        }
    }
}

/// Is this text for every reader, also without quotes?
fn is_plain(text: &str) -> bool {
    text.len() <= PLAIN_BYTES_MAX
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

impl<W: Write> Write for Yaml<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bytes.iter().try_for_each(|byte| self.take(*byte))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
