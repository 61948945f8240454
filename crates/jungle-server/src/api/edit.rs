//! Edits as clients send them.

use std::collections::BTreeMap;

use jungle::{Draft, Key, Path, Position};
use serde::Deserialize;

use super::value::New;
use crate::problem::{Kind, Problem};
use crate::query;

/// One edit of a batch.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Edit {
    Append {
        path: Option<PathText>,
        under: Option<usize>,
        #[serde(default)]
        attributes: BTreeMap<String, New>,
    },
    Insert {
        path: PathText,
        under: Option<usize>,
        #[serde(default)]
        attributes: BTreeMap<String, New>,
    },
    InsertBefore {
        path: PathText,
        under: Option<usize>,
        #[serde(default)]
        attributes: BTreeMap<String, New>,
    },
    InsertAfter {
        path: PathText,
        under: Option<usize>,
        #[serde(default)]
        attributes: BTreeMap<String, New>,
    },
    Remove {
        path: PathText,
        under: Option<usize>,
    },
    Move {
        from: PathText,
        path: PathText,
    },
    Put {
        path: Option<PathText>,
        under: Option<usize>,
        attribute: String,
        value: New,
    },
    Unset {
        path: Option<PathText>,
        under: Option<usize>,
        attribute: String,
    },
    Test {
        path: PathText,
        attribute: Option<String>,
        value: Option<New>,
        exists: Option<bool>,
    },
}

/// A path, read and checked.
#[derive(Clone, Debug)]
pub(crate) struct PathText(pub(crate) Path);

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PathText, D::Error> {
        let text = String::deserialize(deserializer)?;
        query::path(&text).map(PathText).map_err(serde::de::Error::custom)
    }
}

/// What a batch has made so far: for each edit the path of its node.
pub(crate) type Created = Vec<Option<Path>>;

/// Does all edits, or tells which one cannot be done; the draft must be dropped then.
pub(crate) fn apply(draft: &mut Draft, edits: &[Edit]) -> Result<Created, Problem> {
    let mut created = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let made = one(draft, edit, &created);
        created.push(made.map_err(|problem| problem.within(format_args!("edit {index}")))?);
    }
    Ok(created)
}

fn one(draft: &mut Draft, edit: &Edit, created: &Created) -> Result<Option<Path>, Problem> {
    match edit {
        Edit::Append { path, under, attributes } => {
            let parent = place(path.as_ref(), *under, created)?;
            let child = parent.join(draft.append(&parent)?);
            fill(draft, child, attributes)
        }
        Edit::Insert { path, under, attributes } => {
            let path = place(Some(path), *under, created)?;
            let (key, parent) = split(&path)?;
            draft.insert_child(parent, key)?;
            fill(draft, path.clone(), attributes)
        }
        Edit::InsertBefore { path, under, attributes } => {
            beside(draft, &place(Some(path), *under, created)?, Side::Before, attributes)
        }
        Edit::InsertAfter { path, under, attributes } => {
            beside(draft, &place(Some(path), *under, created)?, Side::After, attributes)
        }
        Edit::Remove { path, under } => {
            draft.remove(&place(Some(path), *under, created)?)?;
            Ok(None)
        }
        Edit::Move { from, path } => {
            let (key, parent) = split(&path.0)?;
            draft.move_node(&from.0, parent, key)?;
            Ok(None)
        }
        Edit::Put { path, under, attribute, value: New(value) } => {
            draft.put_attribute(&place(path.as_ref(), *under, created)?, attribute, value)?;
            Ok(None)
        }
        Edit::Unset { path, under, attribute } => {
            draft.remove_attribute(&place(path.as_ref(), *under, created)?, attribute)?;
            Ok(None)
        }
        Edit::Test { path, attribute, value, exists } => {
            test(draft, &path.0, attribute.as_deref(), value.as_ref(), *exists)?;
            Ok(None)
        }
    }
}

/// The node that an edit is about.
fn place(
    path: Option<&PathText>,
    under: Option<usize>,
    created: &Created,
) -> Result<Path, Problem> {
    let below = || path.map_or_else(Path::root, |PathText(path)| path.clone());
    let Some(under) = under else {
        return Ok(below());
    };
    let base = created.get(under).and_then(Option::as_ref).ok_or_else(|| {
        Problem::bad(format_args!("under is {under}, and no edit before made a node there"))
    })?;
    Ok(base.iter().cloned().chain(below()).collect())
}

fn split(path: &Path) -> Result<(&Key, &[Key]), Problem> {
    path.split_last().ok_or_else(|| jungle::EditError::Root.into())
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

fn beside(
    draft: &mut Draft,
    sibling: &Path,
    side: Side,
    attributes: &BTreeMap<String, New>,
) -> Result<Option<Path>, Problem> {
    let (key, parent) = split(sibling)?;
    let position: &Position = match key {
        Key::Position(position) => position,
        Key::Name(_) => return Err(Problem::bad(format_args!("{sibling} has no position"))),
    };
    let key = match side {
        Side::Before => draft.insert_before(parent, position)?,
        Side::After => draft.insert_after(parent, position)?,
    };
    fill(draft, Path::from(parent).join(key), attributes)
}

fn fill(
    draft: &mut Draft,
    path: Path,
    attributes: &BTreeMap<String, New>,
) -> Result<Option<Path>, Problem> {
    for (key, New(value)) in attributes {
        draft.put_attribute(&path, key, value)?;
    }
    Ok(Some(path))
}

fn test(
    draft: &Draft,
    path: &Path,
    attribute: Option<&str>,
    value: Option<&New>,
    exists: Option<bool>,
) -> Result<(), Problem> {
    let failed = |is: &str| {
        let what = attribute.map_or_else(String::new, |key| format!(" @{key}"));
        Problem::new(Kind::TestFailed, format_args!("{path}{what} {is}"))
    };
    match (attribute, value, exists) {
        (Some(attribute), Some(New(wanted)), None) => {
            let found = draft.attribute(path, attribute)?;
            let is_met = found == Some(wanted.as_ref());
            if is_met { Ok(()) } else { Err(failed("has another value")) }
        }
        (attribute, None, Some(wanted)) => {
            let is_there = match attribute {
                None => draft.exists(path),
                Some(attribute) => draft.attribute(path, attribute).ok().flatten().is_some(),
            };
            let is = if is_there { "is there" } else { "is not there" };
            if is_there == wanted { Ok(()) } else { Err(failed(is)) }
        }
        _ => Err(Problem::bad("a test has an attribute and a value, or exists")),
    }
}
