//! One line of a patch, taken apart.

use std::fmt;

use jungle_tree::{ParsePathError, Path};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::What;
use super::value::Told;

/// Why a line is none of a patch.
#[derive(Debug)]
pub(super) enum LineError {
    Json(serde_json::Error),
    Path(String, ParsePathError),
    /// What is done needs this field, or has no place for it.
    Lacks(&'static str, &'static str),
    Extra(&'static str, &'static str),
    Root(&'static str),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Json(error) => error.fmt(f),
            LineError::Path(text, error) => write!(f, "{text:?}: {error}"),
            LineError::Lacks(op, field) => write!(f, "`{op}` lacks `{field}`"),
            LineError::Extra(op, field) => write!(f, "`{op}` has no `{field}`"),
            LineError::Root(op) => write!(f, "the root is always there: no `{op}` is about it"),
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    Add,
    Remove,
    Change,
    Move,
}

/// A line as it is written; the names of the fields are those of the JSON form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'l> {
    op: Op,
    path: String,
    from: Option<String>,
    #[serde(borrow, default, deserialize_with = "some")]
    old: Option<&'l RawValue>,
    #[serde(borrow, default, deserialize_with = "some")]
    value: Option<&'l RawValue>,
    #[serde(borrow)]
    old_tree: Option<&'l RawValue>,
    #[serde(borrow)]
    value_tree: Option<&'l RawValue>,
}

/// Of an optional field: null is a value, too.
fn some<'de, D: Deserializer<'de>>(field: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(field).map(Some)
}

/// Where, and what.
pub(super) fn parse(text: &str) -> Result<(Path, What), LineError> {
    let line: Line<'_> = serde_json::from_str(text).map_err(LineError::Json)?;
    let path = path(&line.path)?;
    let op = line.op.name();
    let has = [
        ("from", line.from.is_some(), matches!(line.op, Op::Move)),
        ("old", line.old.is_some(), matches!(line.op, Op::Remove | Op::Change)),
        ("value", line.value.is_some(), matches!(line.op, Op::Add | Op::Change)),
        ("old_tree", line.old_tree.is_some(), line.old.is_some()),
        ("value_tree", line.value_tree.is_some(), line.value.is_some()),
    ];
    if let Some((field, ..)) = has.into_iter().find(|(_, is_there, fits)| *is_there && !fits) {
        return Err(LineError::Extra(op, field));
    }
    if path.is_empty() && !matches!(line.op, Op::Change) {
        return Err(LineError::Root(op));
    }
    let old = || told("old", line.old, line.old_tree, op);
    let new = || told("value", line.value, line.value_tree, op);
    Ok((
        path,
        match line.op {
            Op::Add => What::Add(new()?),
            Op::Remove => What::Remove(old()?),
            Op::Change => What::Change { old: old()?, new: new()? },
            Op::Move => What::Move(origin(line.from.as_deref(), op)?),
        },
    ))
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::Add => "add",
            Op::Remove => "remove",
            Op::Change => "change",
            Op::Move => "move",
        }
    }
}

fn path(text: &str) -> Result<Path, LineError> {
    text.parse().map_err(|error| LineError::Path(text.into(), error))
}

fn origin(from: Option<&str>, op: &'static str) -> Result<Path, LineError> {
    let from = path(from.ok_or(LineError::Lacks(op, "from"))?)?;
    if from.is_empty() { Err(LineError::Root(op)) } else { Ok(from) }
}

fn told(
    name: &'static str,
    json: Option<&RawValue>,
    tree: Option<&RawValue>,
    op: &'static str,
) -> Result<Told, LineError> {
    let json = json.ok_or(LineError::Lacks(op, name))?;
    Ok(Told { name, json: json.get().into(), tree: tree.map(|tree| tree.get().into()) })
}
