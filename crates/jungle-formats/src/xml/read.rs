//! XML in, JSON out, in pieces.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::super::limited::{BYTES_MAX, Limited};
use super::super::pending::{KEPT_BYTES, Pending};
use super::names::{
    CDATA, CHILDREN, COMMENT, DECLARATION, DOCTYPE, ENTITY, INSTRUCTION, NAME, ORDER,
};

/// What is said of what may be in elements only.
const OUTSIDE: &str = "there is text outside of the root element";

/// The JSON that stands for an XML document, to be read.
pub(crate) struct Json<R> {
    reader: Reader<Limited<R>>,
    event: Vec<u8>,
    /// Text that may go on.
    text: Option<String>,
    json: Pending,
    /// For the document and each open element: is there nothing in it yet?
    open: Vec<bool>,
    has_root: bool,
    /// Was the end of the document written?
    ended: bool,
}

impl<R: BufRead> Json<R> {
    pub(crate) fn new(reader: R) -> Json<R> {
        let mut reader = Reader::from_reader(Limited::new(reader, "a tag or text"));
        reader.config_mut().enable_all_checks(true);
        Json {
            reader,
            event: Vec::new(),
            text: None,
            json: Pending::new("["),
            open: vec![true],
            has_root: false,
            ended: false,
        }
    }

    /// Reads one more thing and writes what it is.
    fn step(&mut self) -> Result<(), String> {
        let mut event = std::mem::take(&mut self.event);
        event.clear();
        event.shrink_to(KEPT_BYTES);
        self.reader.get_mut().go_on();
        let read = self.reader.read_event_into(&mut event);
        let result = read.map_err(|error| error.to_string()).and_then(|read| self.write(read));
        self.event = event;
        result.and_then(|()| self.json.check())
    }

    fn write(&mut self, event: Event<'_>) -> Result<(), String> {
        match &event {
            Event::Text(text) => {
                return self.add_text(&line_feeds(text));
            }
            Event::GeneralRef(_) if self.open.len() == 1 => return Err(OUTSIDE.into()),
            Event::GeneralRef(name) => {
                if let Some(resolved) = resolve(name)? {
                    return self.add_text(&resolved);
                }
            }
            _ => {}
        }
        self.end_text()?;
        match &event {
            Event::Start(start) => {
                self.begin(start)?;
                self.member(CHILDREN);
                self.json.push("[");
                self.open.push(true);
            }
            Event::Empty(start) => {
                self.begin(start)?;
                self.json.push("}");
            }
            Event::End(_) => {
                self.open.pop();
                self.json.push("]}");
            }
            Event::Comment(text) => self.only(COMMENT, text),
            Event::CData(text) => self.only(CDATA, text),
            Event::PI(text) => self.only(INSTRUCTION, text),
            Event::Decl(text) => self.only(DECLARATION, text.strip_prefix("xml").unwrap_or(text)),
            Event::DocType(text) => self.only(DOCTYPE, text),
            Event::GeneralRef(name) => self.only(ENTITY, name),
            Event::Text(_) => unreachable!("kept above"),
            Event::Eof => self.end()?,
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        if self.open.len() > 1 {
            return Err("the document ends inside of an element".into());
        }
        if !self.has_root {
            return Err("the document has no element".into());
        }
        self.json.push("]");
        self.ended = true;
        Ok(())
    }

    fn item(&mut self) {
        let is_first = self.open.last_mut().expect("the document is always open");
        if !std::mem::replace(is_first, false) {
            self.json.push(",");
        }
    }

    /// An object with one member.
    fn only(&mut self, name: &str, text: &str) {
        self.item();
        self.json.push("{");
        self.json.text(name);
        self.json.push(":");
        self.json.text(&line_feeds(text));
        self.json.push("}");
    }

    /// Text goes on, behind a reference too: the reader knows only how long each part of it is.
    fn add_text(&mut self, more: &str) -> Result<(), String> {
        self.text.get_or_insert_default().push_str(more);
        match self.is_long() {
            true => Err(format!("text is longer than {BYTES_MAX} bytes")),
            false => Ok(()),
        }
    }

    fn is_long(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.len() > BYTES_MAX)
    }

    /// Of which kind is what has gone wrong: was it too much?
    fn kind(&self) -> io::ErrorKind {
        match self.is_long() || self.json.is_over() {
            true => io::ErrorKind::FileTooLarge,
            false => self.reader.get_ref().kind(),
        }
    }

    fn end_text(&mut self) -> Result<(), String> {
        let Some(text) = self.text.take() else { return Ok(()) };
        if self.open.len() == 1 && !text.trim_ascii().is_empty() {
            return Err(OUTSIDE.into());
        }
        self.item();
        self.json.text(&text);
        Ok(())
    }

    /// The beginning of an element: its name and attributes.
    fn begin(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        if self.open.len() == 1 && std::mem::replace(&mut self.has_root, true) {
            return Err("there is a second root element".into());
        }
        self.item();
        self.json.push("{");
        self.json.text(NAME);
        self.json.push(":");
        self.json.text(start.name().0);
        let mut names: Vec<&str> = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            // White space in there is a space, and so is a line end, unless it is escaped.
            let raw = line_feeds(&attribute.value).replace(['\t', '\n'], " ");
            let value = unescape(&raw).map_err(|error| error.to_string())?;
            self.member(attribute.key.0);
            self.json.text(&value);
            names.push(attribute.key.0);
        }
        if !names.is_sorted() {
            self.member(ORDER);
            self.json.text(&names.join(" "));
        }
        Ok(())
    }

    /// The name of one more member.
    fn member(&mut self, name: &str) {
        self.json.push(",");
        self.json.text(name);
        self.json.push(":");
    }
}

/// What was written, with the line ends that XML has, whatever the file has.
fn line_feeds(raw: &str) -> Cow<'_, str> {
    match raw.contains('\r') {
        true => raw.replace("\r\n", "\n").replace('\r', "\n").into(),
        false => raw.into(),
    }
}

/// What an entity stands for, if that is known without its declaration.
fn resolve(name: &quick_xml::events::BytesRef<'_>) -> Result<Option<String>, String> {
    let character = name.resolve_char_ref().map_err(|error| error.to_string())?;
    Ok(character.map(String::from).or_else(|| resolve_predefined_entity(name).map(str::to_owned)))
}

impl<R: BufRead> Read for Json<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.json.is_taken() && !self.ended {
            self.json.clear();
            self.step().map_err(|what| {
                let at = self.reader.buffer_position();
                io::Error::new(self.kind(), format!("byte {at}: {what}"))
            })?;
        }
        Ok(self.json.take(bytes))
    }
}
