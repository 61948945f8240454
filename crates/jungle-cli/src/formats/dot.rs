//! A tree as a graph for Graphviz.

use std::borrow::Cow;
use std::io::{self, Write};
use std::iter::Peekable;

use jungle_json::Member;

use super::items::{Inside, Items, count, inside};
use super::shown::line;
use crate::output::grouped;

/// What stands in a box is cut to about this.
const LABEL_CHARS_MAX: usize = 60;

/// Something of which the items are written.
struct Open<'t> {
    items: Box<Peekable<Items<'t>>>,
    /// The number of its box.
    number: u64,
}

/// Writes what is there, and what is below it down to so many levels.
pub(crate) fn write(
    name: &str,
    member: Member<'_>,
    depth_max: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "digraph {{\n  rankdir=LR;\n  node [shape=box];")?;
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut number = 0;
    let mut next = Some((Cow::Borrowed(name), member));
    while let Some((name, member)) = next {
        let inside = inside(member);
        write_box(number, &line(&name, &inside, LABEL_CHARS_MAX), "", out)?;
        if let Some(parent) = open.last() {
            writeln!(out, "  n{} -> n{number};", parent.number)?;
        }
        if let Inside::Items(items) = inside {
            if depth_max.is_some_and(|max| open.len() >= max) {
                let below = format!("… {} below", grouped(count(items)));
                write_box(number + 1, &below, ", shape=plaintext", out)?;
                writeln!(out, "  n{number} -> n{};", number + 1)?;
                number += 1;
            } else {
                open.push(Open { items, number });
            }
        }
        number += 1;
        next = following(&mut open);
    }
    writeln!(out, "}}")
}

/// The next item of the innermost that has one.
fn following<'t>(open: &mut Vec<Open<'t>>) -> Option<<Items<'t> as Iterator>::Item> {
    while let Some(innermost) = open.last_mut() {
        if let Some(item) = innermost.items.next() {
            return Some(item);
        }
        open.pop();
    }
    None
}

/// In a label a backslash begins an escape, and an ampersand an entity.
fn write_box(number: u64, label: &str, rest: &str, out: &mut impl Write) -> io::Result<()> {
    let label = label.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;");
    writeln!(out, "  n{number} [label=\"{label}\"{rest}];")
}
