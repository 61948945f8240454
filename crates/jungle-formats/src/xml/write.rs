//! A tree that is XML as XML, streaming.

use std::collections::HashMap;
use std::io::{self, Write};

use jungle_json::{Member, Shape, shape};
use jungle_tree::{Children, KeyRef, Node, Path, ValueRef};

use super::names::{
    CDATA, CHILDREN, COMMENT, DECLARATION, DOCTYPE, ENTITY, INSTRUCTION, NAME, ORDER,
};
use crate::error::WriteError;

/// There is something that XML has no form for.
fn not_xml(path: &Path) -> WriteError {
    WriteError::no_place(path, "not XML")
}

/// An element that is being written, or the document.
struct Open<'t> {
    children: Children<'t>,
    /// The key of the child that is being written.
    here: Option<KeyRef<'t>>,
    /// The name of the element; the document has none.
    name: Option<&'t str>,
}

/// Writes a document, or an element of one, without a line feed at its end.
pub(crate) fn write(node: Node<'_>, path: &Path, out: &mut impl Write) -> Result<(), WriteError> {
    let mut open = Vec::new();
    match shape(node) {
        Shape::Array(children) => open.push(Open { children, here: None, name: None }),
        _ => item(node, out, &mut open)?.ok_or_else(|| not_xml(path))?,
    }
    while let Some(innermost) = open.last_mut() {
        if let Some((key, child)) = innermost.children.next() {
            innermost.here = Some(key);
            if item(child, out, &mut open)?.is_none() {
                return Err(not_xml(&whole_path(path, &open)));
            }
        } else {
            if let Some(name) = innermost.name {
                write!(out, "</{name}>")?;
            }
            open.pop();
        }
    }
    Ok(())
}

/// Where the writing is.
fn whole_path(path: &Path, open: &[Open<'_>]) -> Path {
    let mut whole = path.clone();
    for (depth, open) in open.iter().enumerate() {
        if depth > 0 || open.name.is_some() {
            whole.push(CHILDREN);
        }
        if let Some(key) = open.here {
            whole.push(key.to_key());
        }
    }
    whole
}

/// Writes one thing, or opens it; `None` if it is not XML.
fn item<'t>(
    node: Node<'t>,
    out: &mut impl Write,
    open: &mut Vec<Open<'t>>,
) -> io::Result<Option<()>> {
    let members = match shape(node) {
        // Outside of all elements white space may be, but no reference.
        Shape::Scalar(ValueRef::Text(text))
            if text.trim_ascii().is_empty() && open.last().is_none_or(|it| it.name.is_none()) =>
        {
            return out.write_all(text.as_bytes()).map(Some);
        }
        Shape::Scalar(ValueRef::Text(text)) => return escape(text, IN_TEXT, out).map(Some),
        Shape::Object(members) => members,
        _ => return Ok(None),
    };
    let (mut name, mut only, mut order, mut children) = (None, None, None, None);
    let mut attributes = Vec::new();
    for (key, member) in members {
        match (key, member) {
            (NAME, Member::Value(ValueRef::Text(text))) => name = Some(text),
            (ORDER, Member::Value(ValueRef::Text(text))) => order = Some(text),
            (CHILDREN, Member::Node(node)) => match shape(node) {
                Shape::Array(elements) => children = Some(elements),
                _ => return Ok(None),
            },
            (key, Member::Value(ValueRef::Text(text))) if key.starts_with('#') => {
                if only.replace((key, text)).is_some() {
                    return Ok(None);
                }
            }
            (key, Member::Value(ValueRef::Text(text))) if is_name(key) => {
                attributes.push((key, text));
            }
            _ => return Ok(None),
        }
    }
    match (name, only) {
        (None, Some((key, text))) if attributes.is_empty() && children.is_none() => {
            write_only(key, text, out)
        }
        (Some(name), None) if is_name(name) => {
            let names = order.into_iter().flat_map(|all| all.split(' '));
            let ranks: HashMap<&str, usize> = names.zip(0..).collect();
            attributes.sort_by_key(|(key, _)| ranks.get(key));
            write!(out, "<{name}")?;
            for (key, value) in attributes {
                write!(out, " {key}=\"")?;
                escape(value, IN_ATTRIBUTE, out)?;
                write!(out, "\"")?;
            }
            match children {
                None => write!(out, "/>")?,
                Some(children) => {
                    write!(out, ">")?;
                    open.push(Open { children, here: None, name: Some(name) });
                }
            }
            Ok(Some(()))
        }
        _ => Ok(None),
    }
}

/// Writes what has no children, unless it would end too early.
fn write_only(key: &str, text: &str, out: &mut impl Write) -> io::Result<Option<()>> {
    let (begin, end, forbidden) = match key {
        COMMENT => ("<!--", "-->", "--"),
        CDATA => ("<![CDATA[", "]]>", "]]>"),
        INSTRUCTION => ("<?", "?>", "?>"),
        DECLARATION => ("<?xml", "?>", "?>"),
        DOCTYPE => ("<!DOCTYPE ", ">", "\0"),
        ENTITY if is_name(text) => ("&", ";", ";"),
        _ => return Ok(None),
    };
    if text.contains(forbidden) {
        return Ok(None);
    }
    write!(out, "{begin}{text}{end}").map(Some)
}

/// Could this be the name of an element, an attribute or an entity?
fn is_name(text: &str) -> bool {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "<>&\"'/=?!#;".contains(c);
    !text.is_empty() && !text.contains(is_bad)
}

const IN_TEXT: &[char] = &['&', '<', '>', '\r'];
const IN_ATTRIBUTE: &[char] = &['&', '<', '>', '"', '\t', '\n', '\r'];

fn escape(text: &str, special: &[char], out: &mut impl Write) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(special) {
        out.write_all(&rest.as_bytes()[..at])?;
        let character = rest.as_bytes()[at];
        match character {
            b'&' => out.write_all(b"&amp;")?,
            b'<' => out.write_all(b"&lt;")?,
            b'>' => out.write_all(b"&gt;")?,
            b'"' => out.write_all(b"&quot;")?,
            other => write!(out, "&#{other};")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_all(rest.as_bytes())
}
