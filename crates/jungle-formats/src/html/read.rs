//! HTML in, JSON out, in pieces. The page is built whole, since what comes late in it may change
//! what was before.

use std::fmt;
use std::io::{self, BufRead, Read};

use html5ever::ns;
use jungle_json::write_value;
use jungle_tree::ValueRef;

use super::super::limited::Limited;
use super::names::{CHILDREN, COMMENT, DOCTYPE, NAME, ORDER};
use super::page::{Page, What};
use super::tags::{ATTRIBUTES_MAX, Parser, TooMany};

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
pub(crate) enum Form {
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

    pub(crate) fn of(form: Form, reader: R, depth_max: usize) -> Json<R> {
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
    let mut parser = Parser::new(form);
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
                return Err(refused(read + error.valid_up_to() as u64, Why::NotUtf8));
            }
        };
        let text = std::str::from_utf8(&piece[..whole]).expect("it was looked at");
        parser.process(text).map_err(|TooMany(at)| refused(at, Why::Attributes))?;
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
fn check(parser: &Parser, read: u64, depth_max: usize) -> io::Result<()> {
    let size = parser.builder().size();
    // An element counts as two. How deep it all is in the end is looked at later: this is for what
    // costs more than its size for each that is open.
    if size.depth as usize > depth_max.saturating_add(1) / 2 + 1 {
        return Err(refused(read, Why::Deep(depth_max)));
    }
    // Tags for `html` and `body` add to those that are there.
    if size.attributes > ATTRIBUTES_MAX {
        return Err(refused(read, Why::Attributes));
    }
    if size.bytes > (PAGE_BYTES_MIN + TIMES_MAX * read).min(PAGE_BYTES_MAX) {
        return Err(refused(read, Why::Large));
    }
    Ok(())
}

/// A page that is not read further.
#[derive(Debug)]
pub(super) struct Refused {
    /// How far it was read, in bytes.
    at: u64,
    pub(super) why: Why,
}

#[derive(Debug)]
pub(super) enum Why {
    NotUtf8,
    /// More objects and arrays than so many are in one another.
    Deep(usize),
    /// An element has too many attributes.
    Attributes,
    /// What is built of it takes too much.
    Large,
}

fn refused(at: u64, why: Why) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Refused { at, why })
}

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: ", self.at)?;
        match self.why {
            Why::NotUtf8 => f.write_str("it is not UTF-8"),
            Why::Deep(max) => write!(
                f,
                "more than {max} objects and arrays are in one another (an element counts as two; \
                 --depth-max accepts more)"
            ),
            Why::Attributes => {
                write!(f, "an element has more than {ATTRIBUTES_MAX} attributes")
            }
            Why::Large => {
                f.write_str("elements that are opened again and again make too much of it")
            }
        }
    }
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
