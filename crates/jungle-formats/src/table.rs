//! Trees that are tables: an array or object of objects of scalars, a row each.

use std::borrow::Cow;
use std::collections::HashMap;

use jungle_json::{Member, Members, Shape, shape, write_value};
use jungle_tree::{Key, KeyRef, Node, Path, ValueRef};

use crate::csv::COLUMNS_MAX;
use crate::error::WriteError;

/// The column that has the names of the rows, where they have names.
const NAME: &str = "";

/// Gives the cells of the header, and then those of each row. The table is gone through twice: for
/// the columns, and so that nothing is given if there is anything else in it. It may be empty.
pub(super) fn write(
    node: Node<'_>,
    path: &Path,
    mut write: impl FnMut(&[Cow<'_, str>]) -> std::io::Result<()>,
) -> Result<(), WriteError> {
    let columns = columns(node, path)?;
    if columns.is_empty() {
        return Ok(());
    }
    let mut cells: Vec<Cow<'_, str>> = vec![Cow::default(); columns.len()];
    for (name, &at) in &columns {
        cells[at] = Cow::Borrowed(name);
    }
    write(&cells)?;
    for (key, row) in rows(node).expect("the columns are of rows") {
        cells.fill(Cow::default());
        if let KeyRef::Name(name) = key {
            cells[columns[NAME]] = Cow::Borrowed(name);
        }
        for (name, member) in members(row).expect("it has columns") {
            cells[columns[name]] = cell(member).expect("it has a column");
        }
        write(&cells)?;
    }
    Ok(())
}

/// Is there nothing else than a table?
pub(super) fn fits(node: Node<'_>, path: &Path) -> Result<(), WriteError> {
    columns(node, path).map(drop)
}

/// The names of all columns, each with its place: in the order in which they first come.
fn columns<'t>(node: Node<'t>, path: &Path) -> Result<HashMap<&'t str, usize>, WriteError> {
    let rows = rows(node).ok_or_else(|| WriteError::no_place(path, "no array or object"))?;
    let mut columns = HashMap::new();
    let mut first = None;
    for (key, row) in rows {
        let path = path.join(key.to_key());
        let has_name = matches!(key, KeyRef::Name(_));
        if has_name {
            columns.insert(NAME, 0);
        }
        let members = members(row).ok_or_else(|| WriteError::no_place(&path, "no object"))?;
        for (name, member) in members {
            let wrong = match cell(member) {
                None => "no text, number, truth value or null",
                Some(_) if has_name && name == NAME => "in the column of the names",
                Some(_) => {
                    let next = columns.len();
                    columns.entry(name).or_insert(next);
                    continue;
                }
            };
            return Err(WriteError::no_place(&path.join(Key::from(name)), wrong));
        }
        first.get_or_insert(path);
    }
    match first {
        Some(path) if columns.is_empty() => {
            Err(WriteError::no_place(&path, "a row without columns"))
        }
        _ if columns.len() > COLUMNS_MAX => {
            Err(WriteError::no_place(path, "a table of more than 65,536 columns"))
        }
        _ => Ok(columns),
    }
}

type Rows<'t> = Box<dyn Iterator<Item = (KeyRef<'t>, Member<'t>)> + 't>;

fn rows(node: Node<'_>) -> Option<Rows<'_>> {
    match shape(node) {
        Shape::Array(rows) => Some(Box::new(rows.map(|(key, row)| (key, Member::Node(row))))),
        Shape::Object(rows) => Some(Box::new(rows.map(|(name, row)| (KeyRef::Name(name), row)))),
        _ => None,
    }
}

fn members(row: Member<'_>) -> Option<Members<'_>> {
    match row {
        Member::Node(node) => match shape(node) {
            Shape::Object(members) => Some(members),
            _ => None,
        },
        Member::Value(_) => None,
    }
}

/// What is written of a scalar; nothing of null, as of what is not there.
fn cell(member: Member<'_>) -> Option<Cow<'_, str>> {
    match member {
        Member::Value(ValueRef::Null) => Some(Cow::default()),
        Member::Value(ValueRef::Text(text)) => Some(Cow::Borrowed(text)),
        Member::Value(value) => {
            let mut json = String::new();
            write_value(value, &mut json);
            // Bytes, and floats that JSON does not have, are written as objects.
            (!json.starts_with('{')).then_some(Cow::Owned(json))
        }
        Member::Node(_) => None,
    }
}
