//! A tree that is a table as a table of Markdown.

use std::io::{self, Write};

use jungle_tree::{Node, Path};

use crate::error::WriteError;
use crate::table;

/// Writes an array or object of objects of scalars, or nothing if there is anything else in it.
pub(crate) fn write(node: Node<'_>, path: &Path, out: &mut impl Write) -> Result<(), WriteError> {
    let mut is_header = true;
    table::write(node, path, |cells| {
        for cell in cells {
            write!(out, "| ")?;
            write_cell(cell, out)?;
            write!(out, " ")?;
        }
        writeln!(out, "|")?;
        if std::mem::replace(&mut is_header, false) {
            cells.iter().try_for_each(|_| write!(out, "| --- "))?;
            writeln!(out, "|")?;
        }
        Ok(())
    })
}

/// Writes a cell so that it is shown as the text that it is: on one line, and with a backslash in
/// front of what Markdown, or what extends it, would make something of.
fn write_cell(cell: &str, out: &mut impl Write) -> io::Result<()> {
    let is_special = |c: char| c.is_control() || "\\`*_[]<>|~&$".contains(c);
    let mut rest = cell;
    while let Some(at) = rest.find(is_special) {
        out.write_all(&rest.as_bytes()[..at])?;
        let mut after = rest[at..].chars();
        match after.next().expect("it was found") {
            // A line feed behind it belongs to it.
            '\r' if after.as_str().starts_with('\n') => {}
            '\r' | '\n' => out.write_all(b"<br>")?,
            // No page can have it.
            '\0' => out.write_all("\u{fffd}".as_bytes())?,
            control if control.is_control() => write!(out, "&#{};", u32::from(control))?,
            special => write!(out, "\\{special}")?,
        }
        rest = after.as_str();
    }
    out.write_all(rest.as_bytes())
}
