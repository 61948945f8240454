//! Writing a node as JSON, streaming.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use jungle_tree::{Attributes, Children, Node, ValueRef};

use crate::shape::{Member, Members, Shape, shape};
use crate::{base64, number};

/// How JSON is laid out.
///
/// ```
/// use jungle_json::{ExportOptions, Layout, export};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "stars", 7)?;
/// let mut out = Vec::new();
/// export(tree.snapshot().root(), &mut out, &ExportOptions { layout: Layout::Pretty })?;
/// assert_eq!(String::from_utf8(out)?, "{\n  \"stars\": 7\n}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// No white space at all.
    #[default]
    Compact,
    /// A line for each value, indented by two spaces a level.
    Pretty,
}

/// What an export is told.
///
/// ```
/// use jungle_json::{ExportOptions, Layout, export};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "stars", 3)?;
/// let options = ExportOptions { layout: Layout::Pretty };
/// let mut text = Vec::new();
/// export(tree.snapshot().root(), &mut text, &options)?;
/// assert_eq!(String::from_utf8(text)?, "{\n  \"stars\": 3\n}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// How the JSON is laid out.
    pub layout: Layout,
}

/// Why a node was not exported.
///
/// ```
/// use std::io::ErrorKind;
/// use jungle_json::{ExportError, ExportOptions, export};
/// use jungle_tree::{Arena, Tree};
/// let tree = Tree::new(&Arena::new()?);
/// let mut no_room: &mut [u8] = &mut [];
/// let written = export(tree.snapshot().root(), &mut no_room, &ExportOptions::default());
/// let Err(ExportError::Write(error)) = written else { panic!("it has no room") };
/// assert_eq!(error.kind(), ErrorKind::WriteZero);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// It could not be written.
    Write(io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExportError::Write(error) = self;
        error.fmt(f)
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let ExportError::Write(error) = self;
        Some(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Write(error)
    }
}

/// Writes a node as JSON, in pieces, whatever its size and depth. There is no line feed at the end.
///
/// What came from JSON comes out as it was (see the [crate]'s page). What JSON has no form for:
///
/// - bytes that are not the text of a number: `{"$bytes":"<base64>"}`;
/// - a float that is not finite: `{"$float":"NaN"}`, `"inf"` or `"-inf"`;
/// - a [`Shape::Mixed`] node: `{"$attributes":{…},"$children":{…}}`, with the children under their
///   keys as they are written in a path.
///
/// # Errors
/// When the writer fails.
///
/// ```
/// use jungle_json::{ExportOptions, export};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let key = tree.add_child(&[])?;
/// tree.put_attribute(&[key], "", &[0_u8, 255][..])?;
/// tree.put_attribute(&[], "title", "bytes")?;
/// let mut out = Vec::new();
/// export(tree.snapshot().root(), &mut out, &ExportOptions::default())?;
/// let text = r#"{"$attributes":{"title":"bytes"},"$children":{"0":{"$bytes":"AP8="}}}"#;
/// assert_eq!(String::from_utf8(out)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(
    node: Node<'_>,
    writer: impl Write,
    options: &ExportOptions,
) -> Result<(), ExportError> {
    let mut out =
        Out { writer, text: String::with_capacity(2 * PIECE_BYTES), layout: options.layout };
    let mut open = Vec::new();
    out.value(crate::shape::member(node), &mut open)?;
    while let Some(innermost) = open.last_mut() {
        let Some((name, member)) = innermost.items.next() else {
            let Open { is_empty, end, .. } = *innermost;
            open.pop();
            if !is_empty {
                out.new_line(open.len());
            }
            out.text.push(end);
            // Where it is indented, the ends of what is deep are as much as its beginnings.
            out.flush_piece()?;
            continue;
        };
        if !std::mem::replace(&mut innermost.is_empty, false) {
            out.text.push(',');
        }
        out.new_line(open.len());
        if let Some(name) = name {
            write_text(&name, &mut out.text);
            out.text.push_str(if out.layout == Layout::Pretty { ": " } else { ":" });
        }
        out.value(member, &mut open)?;
    }
    out.flush()?;
    Ok(())
}

/// Writes a value as [`export`] writes it.
///
/// ```
/// use jungle_json::write_value;
/// use jungle_tree::ValueRef;
/// let mut text = String::new();
/// write_value(ValueRef::Text("a\n"), &mut text);
/// assert_eq!(text, r#""a\n""#);
/// ```
pub fn write_value(value: ValueRef<'_>, text: &mut String) {
    match value {
        ValueRef::Null => text.push_str("null"),
        ValueRef::Bool(bool) => text.push_str(if bool { "true" } else { "false" }),
        ValueRef::Int(int) => {
            // A string takes everything.
            let _ = fmt::Write::write_fmt(text, format_args!("{int}"));
        }
        ValueRef::Float(float) if float.is_finite() => number::write_float(float, text),
        ValueRef::Float(float) => {
            text.push_str(r#"{"$float":""#);
            number::write_float(float, text);
            text.push_str(r#""}"#);
        }
        ValueRef::Text(string) => write_text(string, text),
        ValueRef::Bytes(bytes) => match number::literal(bytes) {
            Some(literal) => text.push_str(literal),
            None => {
                text.push_str(r#"{"$bytes":""#);
                base64::encode(bytes, text);
                text.push_str(r#""}"#);
            }
        },
    }
}

/// What is written at once, about.
const PIECE_BYTES: usize = 64 << 10;

struct Out<W> {
    writer: W,
    text: String,
    layout: Layout,
}

/// An object or array that is being written.
struct Open<'a> {
    items: Items<'a>,
    is_empty: bool,
    end: char,
}

enum Items<'a> {
    Elements(Children<'a>),
    Members(Members<'a>),
    /// The two parts of a mixed node, the next one first.
    Parts(Node<'a>, &'static [Part]),
    Attributes(Attributes<'a>),
    Keyed(Children<'a>),
}

#[derive(Clone, Copy)]
enum Part {
    Attributes,
    Children,
}

enum Item<'a> {
    Member(Member<'a>),
    Part(Node<'a>, Part),
}

impl<'a> Items<'a> {
    fn next(&mut self) -> Option<(Option<Cow<'a, str>>, Item<'a>)> {
        Some(match self {
            Items::Elements(children) => {
                (None, Item::Member(crate::shape::member(children.next()?.1)))
            }
            Items::Members(members) => {
                let (name, member) = members.next()?;
                (Some(name.into()), Item::Member(member))
            }
            Items::Parts(node, parts) => {
                let (&part, rest) = parts.split_first()?;
                *parts = rest;
                let name = match part {
                    Part::Attributes => "$attributes",
                    Part::Children => "$children",
                };
                (Some(name.into()), Item::Part(*node, part))
            }
            Items::Attributes(attributes) => {
                let (key, value) = attributes.next()?;
                (Some(key.into()), Item::Member(Member::Value(value)))
            }
            Items::Keyed(children) => {
                let (key, node) = children.next()?;
                let member = crate::shape::member(node);
                (Some(key.to_string().into()), Item::Member(member))
            }
        })
    }
}

impl<W: Write> Out<W> {
    /// Writes a scalar, or the beginning of anything else, which is then the innermost one open.
    fn value<'a>(&mut self, item: impl Into<Item<'a>>, open: &mut Vec<Open<'a>>) -> io::Result<()> {
        let items = match item.into() {
            Item::Member(Member::Value(value)) => {
                write_value(value, &mut self.text);
                return self.flush_piece();
            }
            Item::Member(Member::Node(node)) => match shape(node) {
                Shape::Scalar(value) => {
                    write_value(value, &mut self.text);
                    return self.flush_piece();
                }
                Shape::Array(elements) => Items::Elements(elements),
                Shape::Object(members) => Items::Members(members),
                Shape::Mixed => Items::Parts(node, &[Part::Attributes, Part::Children]),
            },
            Item::Part(node, Part::Attributes) => Items::Attributes(node.attributes()),
            Item::Part(node, Part::Children) => Items::Keyed(node.children()),
        };
        let (begin, end) = match items {
            Items::Elements(_) => ('[', ']'),
            _ => ('{', '}'),
        };
        self.text.push(begin);
        open.push(Open { items, is_empty: true, end });
        self.flush_piece()
    }

    fn new_line(&mut self, depth: usize) {
        if self.layout == Layout::Pretty {
            self.text.push('\n');
            (0..depth).for_each(|_| self.text.push_str("  "));
        }
    }

    #[inline]
    fn flush_piece(&mut self) -> io::Result<()> {
        if self.text.len() >= PIECE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}

impl<'a> From<Member<'a>> for Item<'a> {
    fn from(member: Member<'a>) -> Item<'a> {
        Item::Member(member)
    }
}

/// Writes a string: only what must be escaped is.
fn write_text(string: &str, text: &mut String) {
    text.push('"');
    let mut rest = string;
    while let Some(at) = rest.bytes().position(is_escaped) {
        text.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            8 => text.push_str("\\b"),
            12 => text.push_str("\\f"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            byte => {
                let _ = fmt::Write::write_fmt(text, format_args!("\\u{byte:04x}"));
            }
        }
        rest = &rest[at + 1..];
    }
    text.push_str(rest);
    text.push('"');
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}
