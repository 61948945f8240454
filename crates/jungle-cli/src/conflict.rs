//! Conflicts in terms of documents.

use std::io::{self, Write};

use jungle::{Change, Conflict, ConflictKind, Node, Path};
use jungle_json::value_at;
use serde_json::Value;

use crate::output::{json, short};

/// Longer values are cut on a line.
const VALUE_CHARS_MAX: usize = 100;

/// The member of the document that a conflict is about.
pub(crate) fn member_of(conflict: &Conflict) -> Path {
    match (&conflict.kind, &conflict.ours) {
        (
            ConflictKind::Attribute,
            Change::AttributePut { key, .. } | Change::AttributeRemoved { key, .. },
        ) if !key.is_empty() && !key.starts_with('\0') => conflict.path.join(&**key),
        _ => conflict.path.clone(),
    }
}

/// A conflict of this kind at a member as a line of JSON, with what is there on each side, if
/// anything is.
pub(crate) fn print_json(
    out: &mut impl Write,
    (path, kind): (&Path, &str),
    sides: [(&str, Node<'_>); 3],
) -> io::Result<()> {
    let (text, kind) = (Value::from(path.to_string()), Value::from(kind));
    write!(out, r#"{{"conflict":{text},"kind":{kind}"#)?;
    for (side, root) in sides {
        if let Some(value) = value_at(root, path) {
            write!(out, r#","{side}":{}"#, json(value))?;
        }
    }
    writeln!(out, "}}")
}

/// What is at the member on each side, for people, a line each.
pub(crate) fn print_sides(
    out: &mut impl Write,
    path: &Path,
    sides: [(&str, Node<'_>); 3],
) -> io::Result<()> {
    for (side, root) in sides {
        let value = value_at(root, path);
        let value = value.map_or_else(|| "nothing".into(), |value| short(value, VALUE_CHARS_MAX));
        writeln!(out, "  {side:<6}  {value}")?;
    }
    Ok(())
}
