//! Differences as JSON.

use std::io::{self, Write};

use jungle_json::{ExportError, ExportOptions, Member, export, write_value};
use jungle_tree::ValueRef;

use super::{Difference, What, exact};

/// Writes a difference as an object of JSON on one line, without a line feed: `op`, `path`, and
/// what belongs to it. Values are written as they are, so that numbers keep their characters.
///
/// # Errors
/// When the writer fails.
///
/// ```
/// use jungle_tree::{Arena, Path, Tree};
/// use jungle_words::differences::{differences, write_json};
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// tree.put_attribute(&[], "stars", 7)?;
/// let after = tree.snapshot();
/// let found = differences(&before, &after, &Path::root()).expect("both have a root");
/// let mut line = Vec::new();
/// write_json(&mut line, &found[0])?;
/// assert_eq!(String::from_utf8(line)?, r#"{"op":"add","path":"/stars","value":7}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_json(out: &mut impl Write, difference: &Difference<'_>) -> io::Result<()> {
    let Difference { path, what } = difference;
    let path = quoted(&path.to_string());
    let sides = match what {
        What::Added(value) => {
            write!(out, r#"{{"op":"add","path":{path}"#)?;
            [None, Some(*value)]
        }
        What::Removed(old) => {
            write!(out, r#"{{"op":"remove","path":{path}"#)?;
            [Some(*old), None]
        }
        What::Changed(old, value) => {
            write!(out, r#"{{"op":"change","path":{path}"#)?;
            [Some(*old), Some(*value)]
        }
        What::Moved(from) => {
            let from = quoted(&from.to_string());
            return write!(out, r#"{{"op":"move","from":{from},"path":{path}}}"#);
        }
    };
    let sides = ["old", "value"].into_iter().zip(sides);
    let sides = sides.filter_map(|(name, side)| Some((name, side?)));
    for (name, side) in sides.clone() {
        write!(out, r#","{name}":"#)?;
        write_member(out, side)?;
    }
    for (name, side) in sides {
        if exact::is_needed(side) {
            write!(out, r#","{name}_tree":"#)?;
            exact::write(out, side)?;
        }
    }
    write!(out, "}}")
}

fn write_member(out: &mut impl Write, member: Member<'_>) -> io::Result<()> {
    match member {
        Member::Value(value) => out.write_all(text(value).as_bytes()),
        Member::Node(node) => {
            export(node, out, &ExportOptions::default()).map_err(|error| match error {
                ExportError::Write(error) => error,
                error => io::Error::other(error),
            })
        }
    }
}

/// A text as JSON.
pub(super) fn quoted(string: &str) -> String {
    text(ValueRef::Text(string))
}

/// A value as JSON.
pub(super) fn text(value: ValueRef<'_>) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}
