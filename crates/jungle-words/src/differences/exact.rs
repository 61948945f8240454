//! What lies in a tree otherwise than an import of its JSON would: how exactly it lies there, so
//! that a patch can make it again.
//!
//! Each node is `{"$attributes":{…},"$children":{…}}`, children under their keys as in a path; a
//! value that JSON lacks is an object as an export writes it. In here that is no ambiguity:
//! attributes are scalars only.

use std::fmt::Write as _;
use std::io::{self, Write};

use jungle_json::{Member, ORDER_KEY, Shape, shape, write_value};
use jungle_tree::{KeyRef, Node, ValueRef};

use super::json::{quoted, text};

/// Does its JSON not tell how a member lies in its tree?
pub(super) fn is_needed(member: Member<'_>) -> bool {
    match member {
        Member::Value(value) => is_special(value),
        Member::Node(node) => is_unusual(node),
    }
}

/// Writes how a member lies in its tree.
pub(super) fn write(out: &mut impl Write, member: Member<'_>) -> io::Result<()> {
    match member {
        Member::Value(value) => out.write_all(text(value).as_bytes()),
        Member::Node(node) => whole(out, node),
    }
}

/// Has JSON no form for it?
fn is_special(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Float(_) | ValueRef::Bytes(_)) && text(value).starts_with('{')
}

/// Would an import of its JSON make something else of a node, or of what is below it?
fn is_unusual(node: Node<'_>) -> bool {
    for node in node.walk() {
        let is_unusual = match shape(node) {
            Shape::Mixed => true,
            Shape::Scalar(value) => is_special(value),
            Shape::Array(elements) => {
                elements.enumerate().any(|(index, (key, _))| !is_at(key, index))
            }
            Shape::Object(_) => node.attributes().any(|(key, value)| match key {
                ORDER_KEY => !matches!(value, ValueRef::Bytes(_)),
                key => key.starts_with('\0') || is_special(value),
            }),
        };
        if is_unusual {
            return true;
        }
    }
    false
}

fn is_at(key: KeyRef<'_>, index: usize) -> bool {
    matches!(key, KeyRef::Position(at, fraction) if fraction.is_empty() && at == index as i64)
}

fn whole(out: &mut impl Write, node: Node<'_>) -> io::Result<()> {
    let (mut text, mut open) = (String::new(), 0);
    let mut walk = node.walk();
    while let Some(node) = walk.next() {
        let has_sibling = open > walk.depth();
        close(&mut text, &mut open, walk.depth());
        if let Some(key) = walk.key() {
            let comma = if has_sibling { "," } else { "" };
            // A string takes everything.
            let _ = write!(text, "{comma}{}:", quoted(&key.to_string()));
        }
        text.push_str(r#"{"$attributes":{"#);
        for (index, (key, value)) in node.attributes().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(text, "{comma}{}:", quoted(key));
            write_value(value, &mut text);
        }
        text.push_str(r#"},"$children":{"#);
        open += 1;
        // It may be as large as the tree, and is not held whole.
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    close(&mut text, &mut open, 0);
    out.write_all(text.as_bytes())
}

/// Ends the nodes that are open, down to this many.
fn close(text: &mut String, open: &mut usize, left: usize) {
    while *open > left {
        text.push_str("}}");
        *open -= 1;
    }
}
