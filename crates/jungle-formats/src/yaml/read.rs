//! YAML in, JSON out, in pieces.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use granit_parser::{ErrorKind, Event, FallibleBufferedInput, Marker, Parser, ScalarStyle, Tag};

use super::super::error::shown;
use super::super::pending::Pending;
use super::anchors::Anchors;
use super::chars::{Chars, Left};
use super::scalar::{Plain, plain};

/// So many arrays and objects more are open, at most, where the parser looks for the end of a key.
const AHEAD: usize = 2048;

/// The JSON that stands for a YAML document, to be read.
pub(crate) struct Json<R: BufRead> {
    parser: Parser<'static, FallibleBufferedInput<Chars<R>>>,
    left: Left,
    depth_max: usize,
    anchors: Anchors,
    json: Pending,
    open: Vec<Open>,
    has_document: bool,
    /// Was the end of the document written?
    ended: bool,
}

/// An array or object that is being read.
enum Open {
    Array {
        is_empty: bool,
    },
    /// With the names so far; does one come next?
    Object {
        names: HashSet<Box<str>>,
        is_name_next: bool,
    },
}

impl<R: BufRead> Json<R> {
    pub(crate) fn new(reader: R, depth_max: usize) -> Json<R> {
        let (chars, left) = Chars::new(reader);
        // The limit is ours, so that it is told in our words; the parser looks ahead a little.
        let parsed_max = depth_max.saturating_add(AHEAD);
        let options = granit_parser::options! {
            flow_nesting_limit: parsed_max,
            block_nesting_limit: parsed_max,
        };
        Json {
            parser: Parser::new_from_fallible_iter_with_options(chars, options),
            left,
            depth_max,
            anchors: Anchors::default(),
            json: Pending::new(""),
            open: Vec::new(),
            has_document: false,
            ended: false,
        }
    }

    /// With another limit of what is held as JSON.
    #[cfg(test)]
    pub(super) fn holding(mut self, bytes_max: usize) -> Json<R> {
        self.json.limit(bytes_max);
        self
    }

    /// Reads one more thing and writes what it is.
    fn step(&mut self) -> Result<(), String> {
        self.left.go_on();
        let Some(next) = self.parser.next() else {
            return Err("the document ends too early".into());
        };
        let (event, span) = next.map_err(|error| match error.kind() {
            // It tells its place itself.
            ErrorKind::InputIo { error } => error.to_string(),
            _ => at(error.marker(), &error.info()),
        })?;
        let written = self.write(event).and_then(|()| self.json.check());
        let json = self.json.as_str();
        let written = written.and_then(|()| self.anchors.tell(json, self.open.len()));
        written.map_err(|what| at(&span.start, &what))
    }

    /// Of which kind is what has gone wrong: was it too much?
    fn kind(&self) -> io::ErrorKind {
        match self.left.is_over() || self.anchors.are_over() || self.json.is_over() {
            true => io::ErrorKind::FileTooLarge,
            false => io::ErrorKind::InvalidData,
        }
    }

    fn write(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(..) if self.has_document => {
                return Err("a second document: a file is one".into());
            }
            Event::DocumentStart(..) => self.has_document = true,
            Event::StreamEnd if !self.has_document => return Err("there is no document".into()),
            Event::StreamEnd => self.ended = true,
            Event::Alias(number) => {
                if self.is_name_next() {
                    return Err("a key is an alias".into());
                }
                self.value();
                self.json.push(self.anchors.say(number)?);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar { text: &text, is_plain: style == ScalarStyle::Plain };
                if self.is_name_next() {
                    return self.name(scalar, anchor, tag.as_deref());
                }
                self.value();
                self.anchor(anchor);
                scalar.write(tag.as_deref(), &mut self.json)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(anchor, tag.as_deref(), "seq")?;
                self.json.push("[");
                self.open.push(Open::Array { is_empty: true });
            }
            Event::MappingStart(_, anchor, tag) => {
                self.begin(anchor, tag.as_deref(), "map")?;
                self.json.push("{");
                self.open.push(Open::Object { names: HashSet::new(), is_name_next: true });
            }
            Event::SequenceEnd => {
                self.open.pop();
                self.json.push("]");
            }
            Event::MappingEnd => {
                self.open.pop();
                self.json.push("}");
            }
            _ => {}
        }
        Ok(())
    }

    fn is_name_next(&self) -> bool {
        matches!(self.open.last(), Some(Open::Object { is_name_next: true, .. }))
    }

    /// A value begins: an element, a member's, or the document.
    fn value(&mut self) {
        match self.open.last_mut() {
            Some(Open::Array { is_empty: is_first @ true }) => *is_first = false,
            Some(Open::Array { .. }) => self.json.push(","),
            Some(Open::Object { is_name_next, .. }) => *is_name_next = true,
            None => {}
        }
    }

    /// What comes next has this anchor; 0 is none.
    fn anchor(&mut self, number: usize) {
        if number != 0 {
            self.anchors.begin(number, self.open.len(), self.json.as_str().len());
        }
    }

    /// An array or object begins.
    fn begin(&mut self, anchor: usize, tag: Option<&Tag>, kind: &str) -> Result<(), String> {
        if self.is_name_next() {
            return Err("a key is an array or object".into());
        }
        if self.open.len() == self.depth_max {
            let max = self.depth_max;
            return Err(format!("more than {max} objects and arrays are in one another"));
        }
        if let Some(tag) = tag.filter(|tag| !is_any(tag) && tag.core_suffix() != Some(kind)) {
            return Err(unknown(tag));
        }
        self.value();
        self.anchor(anchor);
        Ok(())
    }

    /// The name of a member: the text of its key, whatever else that could be.
    fn name(&mut self, key: Scalar<'_>, anchor: usize, tag: Option<&Tag>) -> Result<(), String> {
        let is_text = tag.is_some_and(|tag| is_any(tag) || tag.is_yaml_core_schema_tag("str"));
        if let Some(tag) = tag.filter(|_| !is_text) {
            return Err(unknown(tag));
        }
        if anchor != 0 {
            return Err("a key has an anchor".into());
        }
        if key.is_plain && !is_text {
            if key.text == "<<" {
                return Err("keys are not merged; in quotes << is a name".into());
            }
            if plain(key.text) == Ok(Plain::Null) {
                return Err("a key is null".into());
            }
        }
        let Some(Open::Object { names, is_name_next }) = self.open.last_mut() else {
            unreachable!("names are in objects");
        };
        if !names.is_empty() {
            self.json.push(",");
        }
        *is_name_next = false;
        self.json.text(key.text);
        self.json.push(":");
        match names.insert(key.text.into()) {
            true => Ok(()),
            false => Err(format!("a second member {} in one object", shown(key.text))),
        }
    }
}

#[derive(Clone, Copy)]
struct Scalar<'a> {
    text: &'a str,
    /// Is it without quotes, and no block?
    is_plain: bool,
}

impl Scalar<'_> {
    /// Writes it as JSON.
    fn write(self, tag: Option<&Tag>, json: &mut Pending) -> Result<(), String> {
        let kind = match tag {
            None => None,
            Some(tag) if is_any(tag) => Some("str"),
            Some(tag) => Some(tag.core_suffix().ok_or_else(|| unknown(tag))?),
        };
        let found = match kind {
            None if !self.is_plain => Plain::Text,
            Some("str") => Plain::Text,
            _ => plain(self.text)?,
        };
        let is_told = match (kind, &found) {
            (None, _) => true,
            (Some(kind), Plain::Null) => kind == "null",
            (Some(kind), Plain::Bool(_)) => kind == "bool",
            (Some(kind), Plain::Int(_)) => matches!(kind, "int" | "float"),
            (Some(kind), Plain::Float(_)) => kind == "float",
            (Some(kind), Plain::Text) => kind == "str",
        };
        if !is_told {
            return Err(format!("{} is no {}", shown(self.text), kind.unwrap_or_default()));
        }
        match found {
            Plain::Null => json.push("null"),
            Plain::Bool(bool) => json.push(if bool { "true" } else { "false" }),
            Plain::Int(number) | Plain::Float(number) => json.push(&number),
            Plain::Text => json.text(self.text),
        }
        Ok(())
    }
}

/// The tag `!`: a scalar is text, anything else what it is.
fn is_any(tag: &Tag) -> bool {
    tag.handle().is_empty() && tag.suffix() == "!"
}

fn unknown(tag: &Tag) -> String {
    format!("nobody knows what the tag {} makes of this", tag.original())
}

fn at(marker: &Marker, what: &str) -> String {
    format!("line {} column {}: {what}", marker.line(), marker.col() + 1)
}

impl<R: BufRead> Read for Json<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.json.is_taken() && !self.ended {
            self.json.clear();
            self.step().map_err(|what| io::Error::new(self.kind(), what))?;
        }
        Ok(self.json.take(bytes))
    }
}
