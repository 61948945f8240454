//! HTML in, JSON out, in pieces. The page is built whole, since what comes late in it may change
//! what was before.

use std::io::{self, BufRead, Read};

use html5ever::driver::{ParseOpts, Parser, parse_document, parse_fragment};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{QualName, local_name, ns};
use jungle_json::write_value;
use jungle_tree::ValueRef;

use super::super::limited::Limited;
use super::names::{CHILDREN, COMMENT, DOCTYPE, NAME, ORDER};
use super::page::{Builder, Page, What};

/// What a page may take up while it is read: so much, and so many times its own size besides, as
/// little markup may stand for many nodes.
const PAGE_BYTES_MIN: u64 = 32 << 20;
const TIMES_MAX: u64 = 64;
const PAGE_BYTES_MAX: u64 = 1 << 30;

/// So much is parsed before it is looked at what came of it.
const PIECE_BYTES: usize = 4096;

/// Elements that have nothing in them, and no end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Can nothing be in an element of HTML of this name?
pub(super) fn is_void(name: &str) -> bool {
    VOID.contains(&name)
}

/// What is read: a document, with all that one has, or what may be anywhere in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Document,
    Part,
}

/// The JSON that stands for a page, to be read.
pub(crate) struct Json<R> {
    form: Form,
    depth_max: usize,
    /// What is read first, all of it.
    reader: Option<Limited<R>>,
    page: Option<Page>,
    /// For the document and each open element: what is written next.
    open: Vec<Option<u32>>,
    /// Is the next thing the first in what it is in?
    is_first: bool,
    /// JSON that was not taken yet, and how much of it was.
    json: String,
    taken: usize,
}

impl<R: BufRead> Json<R> {
    /// A document, in which objects and arrays may be so deep in one another.
    pub(crate) fn new(reader: R, depth_max: usize) -> Json<R> {
        Json::of(Form::Document, reader, depth_max)
    }

    pub(super) fn of(form: Form, reader: R, depth_max: usize) -> Json<R> {
        Json {
            form,
            depth_max,
            reader: Some(Limited::new(reader, "a page")),
            page: None,
            open: Vec::new(),
            is_first: true,
            json: String::new(),
            taken: 0,
        }
    }

    /// Writes one more thing.
    fn step(&mut self) -> io::Result<()> {
        if let Some(reader) = self.reader.take() {
            let page = build(self.form, reader, self.depth_max)?;
            let whole = page.first();
            self.open.push(match self.form {
                Form::Document => whole,
                // All that is in no element of its own is in one that stands for the document.
                Form::Part => whole.and_then(|root| page.first_in(root)),
            });
            self.page = Some(page);
            self.json.push('[');
        }
        let Some(page) = &self.page else { return Ok(()) };
        let Some(next) = self.open.last_mut() else { return Ok(()) };
        let Some(id) = *next else {
            self.open.pop();
            self.json.push_str(if self.open.is_empty() { "]" } else { "]}" });
            self.is_first = false;
            return Ok(());
        };
        *next = page.next(id);
        if !std::mem::replace(&mut self.is_first, false) {
            self.json.push(',');
        }
        match page.what(id) {
            What::Text(text) => write_value(ValueRef::Text(text), &mut self.json),
            What::Doctype(text) => only(DOCTYPE, text, &mut self.json),
            What::Comment(text) => only(COMMENT, text, &mut self.json),
            What::Element { .. } => {
                let first = page.first_in(id);
                if begin(page, id, first.is_none(), &mut self.json) {
                    self.open.push(first);
                    self.is_first = true;
                }
            }
            What::Parts => unreachable!("it is in nothing"),
        }
        Ok(())
    }

    fn is_ended(&self) -> bool {
        self.page.is_some() && self.open.is_empty()
    }
}

/// An object with one member.
fn only(name: &str, text: &str, json: &mut String) {
    json.push('{');
    write_value(ValueRef::Text(name), json);
    json.push(':');
    write_value(ValueRef::Text(text), json);
    json.push('}');
}

/// The beginning of an element: its name and attributes. Its children follow, if it can have some.
fn begin(page: &Page, id: u32, is_empty: bool, json: &mut String) -> bool {
    let What::Element { name, attributes, .. } = page.what(id) else { return false };
    json.push('{');
    let mut member = |name: &str, value: &str| {
        if !json.ends_with('{') {
            json.push(',');
        }
        write_value(ValueRef::Text(name), json);
        json.push(':');
        write_value(ValueRef::Text(value), json);
    };
    member(NAME, &name.local);
    let mut names: Vec<String> = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        let local = &attribute.name.local;
        let name = match &attribute.name.prefix {
            Some(prefix) => format!("{prefix}:{local}"),
            None => local.to_string(),
        };
        // Our own names begin so.
        let key = if name.starts_with('#') { format!("#{name}") } else { name.clone() };
        member(&key, &attribute.value);
        names.push(name);
    }
    if !names.is_sorted() {
        member(ORDER, &names.join(" "));
    }
    if is_empty && name.ns == ns!(html) && is_void(&name.local) {
        json.push('}');
        return false;
    }
    json.push(',');
    write_value(ValueRef::Text(CHILDREN), json);
    json.push_str(":[");
    true
}

/// Reads all of it.
fn build<R: BufRead>(form: Form, mut reader: Limited<R>, depth_max: usize) -> io::Result<Page> {
    // As browsers do that run scripts, which is how pages are meant: what is in `noscript` is text.
    let options = ParseOpts::default();
    let mut parser = match form {
        Form::Document => parse_document(Builder::new(), options),
        Form::Part => {
            // In a template may be whatever may be somewhere.
            let around = QualName::new(None, ns!(html), local_name!("template"));
            parse_fragment(Builder::new(), options, around, Vec::new(), false)
        }
    };
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let mut read: u64 = 0;
    loop {
        let before = piece.len();
        (&mut reader).take((PIECE_BYTES - before) as u64).read_to_end(&mut piece)?;
        let is_end = piece.len() == before;
        let whole = match std::str::from_utf8(&piece) {
            Ok(text) => text.len(),
            // The rest of a character may come.
            Err(error) if error.error_len().is_none() && !is_end => error.valid_up_to(),
            Err(error) => {
                let at = read + error.valid_up_to() as u64;
                return Err(invalid(format!("byte {at}: it is not UTF-8")));
            }
        };
        let text = std::str::from_utf8(&piece[..whole]).expect("it was looked at");
        parser.process(StrTendril::from_slice(text));
        read += whole as u64;
        piece.drain(..whole);
        check(&parser, read, depth_max)?;
        if is_end {
            let page = parser.finish();
            return Ok(page);
        }
    }
}

/// Is what came of it no more than it should be?
fn check(parser: &Parser<Builder>, read: u64, depth_max: usize) -> io::Result<()> {
    let (bytes, depth) = parser.tokenizer.sink.sink.size();
    // An element counts as two. How deep it all is in the end is looked at later: this is for what
    // costs more than its size for each that is open.
    if depth as usize > depth_max.saturating_add(1) / 2 + 1 {
        let what = format!("more than {depth_max} objects and arrays are in one another");
        return Err(invalid(format!(
            "byte {read}: {what} (an element counts as two; --depth-max accepts more)"
        )));
    }
    let bytes_max = (PAGE_BYTES_MIN + TIMES_MAX * read).min(PAGE_BYTES_MAX);
    if bytes > bytes_max {
        let what = "elements that are opened again and again make too much of it";
        return Err(invalid(format!("byte {read}: {what}")));
    }
    Ok(())
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl<R: BufRead> Read for Json<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.json.len() && !self.is_ended() {
            self.json.clear();
            self.taken = 0;
            self.step()?;
        }
        let rest = &self.json.as_bytes()[self.taken..];
        let taken = rest.len().min(bytes.len());
        bytes[..taken].copy_from_slice(&rest[..taken]);
        self.taken += taken;
        Ok(taken)
    }
}
