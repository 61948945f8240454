//! Edits as clients send them.

use std::collections::BTreeMap;

use jungle::{Draft, Key, Path, Position};
use serde::Deserialize;

use super::value::New;
use crate::access::{Need, Visitor};
use crate::limits::MADE_BYTES_MAX;
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

/// The edits of a batch, with who makes them, in which tree.
pub(crate) struct Edits<'b> {
    pub(crate) batch: &'b [Edit],
    pub(crate) app: &'b Visitor,
    pub(crate) tree: &'b str,
}

impl Edits<'_> {
    /// Does all edits, or tells which one cannot be done; the draft must be dropped then.
    pub(crate) fn apply(&self, draft: &mut Draft) -> Result<Created, Problem> {
        self.apply_beside(draft, &mut 0)
    }

    /// The same beside other batches, whose paths have taken so many bytes, as these do then.
    pub(super) fn apply_beside(
        &self,
        draft: &mut Draft,
        bytes: &mut usize,
    ) -> Result<Created, Problem> {
        draft.keys_max(self.app.keys_max());
        let mut created = Vec::with_capacity(self.batch.len());
        for (index, edit) in self.batch.iter().enumerate() {
            let made = self.one(draft, edit, &created).and_then(|made| {
                *bytes += made.as_ref().map_or(0, made_bytes);
                limit_made(*bytes)?;
                Ok(made)
            });
            let refused =
                |problem: Problem| problem.full(self.tree).within(format_args!("edit {index}"));
            created.push(made.map_err(refused)?);
        }
        Ok(created)
    }

    /// The same, and whether anything was changed.
    pub(super) fn all(&self, draft: &mut Draft) -> Result<(Created, bool), Problem> {
        Ok((self.apply(draft)?, draft.is_changed()))
    }

    fn one(
        &self,
        draft: &mut Draft,
        edit: &Edit,
        created: &Created,
    ) -> Result<Option<Path>, Problem> {
        let place = |path, under: &Option<usize>| self.place(path, *under, created);
        match edit {
            Edit::Append { path, under, attributes } => {
                let parent = place(path.as_ref(), under)?;
                let child = query::reachable(parent.join(draft.append(&parent)?))?;
                return self.fill(draft, child, attributes);
            }
            Edit::Insert { path, under, attributes } => {
                let path = place(Some(path), under)?;
                let (key, parent) = split(&path)?;
                draft.insert_child(parent, key)?;
                return self.fill(draft, path.clone(), attributes);
            }
            Edit::InsertBefore { path, under, attributes } => {
                let sibling = place(Some(path), under)?;
                return self.beside(draft, &sibling, Side::Before, attributes);
            }
            Edit::InsertAfter { path, under, attributes } => {
                let sibling = place(Some(path), under)?;
                return self.beside(draft, &sibling, Side::After, attributes);
            }
            Edit::Remove { path, under } => draft.remove(&place(Some(path), under)?)?,
            Edit::Move { from, path } => {
                let (from, path) = (place(Some(from), &None)?, place(Some(path), &None)?);
                let (key, parent) = split(&path)?;
                draft.move_node(&from, parent, key)?;
            }
            Edit::Put { path, under, attribute, value } => {
                let value = value.within(&self.app.options.limits)?;
                draft.put_attribute(&place(path.as_ref(), under)?, attribute, value)?;
            }
            Edit::Unset { path, under, attribute } => {
                draft.remove_attribute(&place(path.as_ref(), under)?, attribute)?;
            }
            Edit::Test { path: PathText(path), attribute, value, exists } => {
                self.app.check(self.tree, Need::read(path))?;
                test(draft, path, attribute.as_deref(), value.as_ref(), *exists)?;
            }
        }
        Ok(None)
    }

    /// The node that an edit changes, if that is allowed.
    fn place(
        &self,
        path: Option<&PathText>,
        under: Option<usize>,
        created: &Created,
    ) -> Result<Path, Problem> {
        let place = place(path, under, created)?;
        self.app.check(self.tree, Need::write(&place))?;
        Ok(place)
    }

    /// Makes a sibling: that changes the node above.
    fn beside(
        &self,
        draft: &mut Draft,
        sibling: &Path,
        side: Side,
        attributes: &BTreeMap<String, New>,
    ) -> Result<Option<Path>, Problem> {
        let (key, parent) = split(sibling)?;
        self.app.check(self.tree, Need::write(parent))?;
        let position: &Position = match key {
            Key::Position(position) => position,
            Key::Name(_) => return Err(Problem::bad(format_args!("{sibling} has no position"))),
        };
        let key = match side {
            Side::Before => draft.insert_before(parent, position)?,
            Side::After => draft.insert_after(parent, position)?,
        };
        self.fill(draft, query::reachable(Path::from(parent).join(key))?, attributes)
    }

    fn fill(
        &self,
        draft: &mut Draft,
        path: Path,
        attributes: &BTreeMap<String, New>,
    ) -> Result<Option<Path>, Problem> {
        for (key, value) in attributes {
            draft.put_attribute(&path, key, value.within(&self.app.options.limits)?)?;
        }
        Ok(Some(path))
    }
}

/// The node that an edit names.
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
    query::reachable(base.iter().cloned().chain(below()).collect())
}

/// About how much memory the path of a node that was made takes, here and in the answer.
fn made_bytes(path: &Path) -> usize {
    path.depth() * size_of::<Key>() + query::text_bytes(path)
}

/// A short batch can make nodes deep below one another: their paths are longer than all of it.
fn limit_made(bytes: usize) -> Result<(), Problem> {
    if bytes <= MADE_BYTES_MAX {
        return Ok(());
    }
    let detail = format_args!("the paths of what is made take more than {MADE_BYTES_MAX} bytes");
    Err(Problem::bad(detail).hint("make what lies deep in several commits"))
}

fn split(path: &Path) -> Result<(&Key, &[Key]), Problem> {
    path.split_last().ok_or_else(|| jungle::EditError::Root.into())
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
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
