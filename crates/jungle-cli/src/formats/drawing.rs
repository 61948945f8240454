//! A tree drawn with lines, for people.

use std::io::{self, Write};
use std::iter::Peekable;

use jungle_json::Member;

use super::items::{Inside, Items, count, inside};
use super::shown::line;
use crate::output::grouped;

/// A line is cut to about this.
const LINE_CHARS_MAX: usize = 100;

/// So much is shown of what is far to the right, however long its line gets.
const ITEM_CHARS_MIN: usize = 40;

/// Something that is drawn line by line.
struct Open<'t> {
    items: Box<Peekable<Items<'t>>>,
    /// The bytes of the indent in front of its items.
    indent: usize,
}

/// Draws what is there, and what is below it down to so many levels.
pub(crate) fn write(
    name: &str,
    member: Member<'_>,
    depth_max: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut indent = String::new();
    let first = inside(member);
    writeln!(out, "{}", line(name, &first, LINE_CHARS_MAX))?;
    let mut next = Some(first);
    loop {
        if let Some(Inside::Items(items)) = next.take() {
            if depth_max.is_some_and(|max| open.len() >= max) {
                writeln!(out, "{indent}└─ … {} below", grouped(count(items)))?;
            } else {
                open.push(Open { items, indent: indent.len() });
            }
        }
        let Some(innermost) = open.last_mut() else { return Ok(()) };
        indent.truncate(innermost.indent);
        let Some((name, member)) = innermost.items.next() else {
            open.pop();
            continue;
        };
        let is_last = innermost.items.peek().is_none();
        let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let inside = inside(member);
        let left = LINE_CHARS_MAX.saturating_sub(3 * open.len()).max(ITEM_CHARS_MIN);
        writeln!(out, "{indent}{branch}{}", line(&name, &inside, left))?;
        indent.push_str(below);
        next = Some(inside);
    }
}

#[cfg(test)]
mod tests {
    use jungle_tree::{Arena, Tree};

    use super::*;

    #[test]
    fn what_json_has_no_form_for_is_drawn() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        let post = tree.add_child(&[]).unwrap();
        tree.put_attribute(&[], "title", "board").unwrap();
        tree.put_attribute(std::slice::from_ref(&post), "text", "hello\u{1b}[1m").unwrap();
        let answer = tree.add_child(std::slice::from_ref(&post)).unwrap();
        tree.put_attribute(&[post, answer], "", &b"\xff"[..]).unwrap();
        let snapshot = tree.snapshot();
        let mut drawn = Vec::new();
        write("t", Member::Node(snapshot.root()), None, &mut drawn).unwrap();
        let expected = r#"t
├─ title: "board"
└─ 0
   ├─ text: "hello\u001b[1m"
   └─ 0: {"$bytes":"/w=="}
"#;
        assert_eq!(String::from_utf8(drawn).unwrap(), expected);
    }
}
