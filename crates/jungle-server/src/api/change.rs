//! Changes and conflicts as JSON.

use std::borrow::Borrow;

use jungle::{Change, Conflict, Node, Path, Snapshot};
use jungle_words::conflict;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

use super::value::short;
use crate::access::View;

/// Changes, or conflicts, that are told at once, where there are no pages of them.
pub(crate) const CHANGES_MAX: usize = 1000;

/// A change; with the version before it, what it replaced is told as well.
pub(crate) struct Shown<'a> {
    pub(crate) change: &'a Change,
    pub(crate) before: Option<&'a Snapshot>,
    /// For whom. Where the other end of a move is none of theirs, the node has come, or has gone.
    pub(crate) view: &'a View,
}

impl Shown<'_> {
    fn nodes(&self, path: &Path, node: Node<'_>) -> Option<u64> {
        // How large a tree is that they may read a part of is not theirs to know either.
        self.view.reads(path).then(|| node.subtree_count())
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut begin = |op: &str, path: &Path| {
            map.serialize_entry("op", op)?;
            map.serialize_entry("path", &path.to_string())
        };
        let root = self.before.map(|before| before.root());
        let old = |path: &Path| root?.at(path).ok();
        match self.change {
            Change::ChildAdded { path } => begin("add", path)?,
            Change::ChildRemoved { path } => {
                begin("remove", path)?;
                if let Some(nodes) = old(path).and_then(|node| self.nodes(path, node)) {
                    map.serialize_entry("nodes", &nodes)?;
                }
            }
            Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
                let is_put = matches!(self.change, Change::AttributePut { .. });
                begin(if is_put { "put" } else { "unset" }, path)?;
                map.serialize_entry("attribute", key)?;
                if let Change::AttributePut { value, .. } = self.change {
                    map.serialize_entry("value", &short(value.as_ref()))?;
                }
                if let Some(value) = old(path).and_then(|node| node.attribute(key)) {
                    map.serialize_entry("old", &short(value))?;
                }
            }
            Change::Moved { from, to } if !self.view.knows(from) => begin("set", to)?,
            Change::Moved { from, to } if !self.view.knows(to) => begin("remove", from)?,
            Change::Moved { from, to } => {
                begin("move", to)?;
                map.serialize_entry("from", &from.to_string())?;
            }
            Change::SubtreeSet { path, subtree } => {
                // Without the version before nobody knows whether it is new.
                let is_new = root.is_some() && old(path).is_none();
                begin(if is_new { "add" } else { "set" }, path)?;
                if let Some(nodes) = self.nodes(path, subtree.node()) {
                    map.serialize_entry("nodes", &nodes)?;
                }
            }
            other => begin("other", other.path())?,
        }
        map.end()
    }
}

/// A change for whoever may read everything.
pub(crate) fn whole(change: &Change) -> Shown<'_> {
    Shown { change, before: None, view: &View::WHOLE }
}

/// A conflict.
pub(crate) struct ShownConflict<'a>(pub(crate) &'a Conflict);

impl Serialize for ShownConflict<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Conflict { path, kind, ours, theirs, base, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("path", &path.to_string())?;
        if let Some(attribute) = attribute(self.0) {
            map.serialize_entry("attribute", attribute)?;
        }
        map.serialize_entry("kind", conflict::name(*kind))?;
        map.serialize_entry("ours", &whole(ours))?;
        map.serialize_entry("theirs", &whole(theirs))?;
        if let Some(base) = base {
            map.serialize_entry("base", &short(base.as_ref()))?;
        }
        map.end()
    }
}

/// The first conflicts, as JSON.
pub(crate) fn conflicts(conflicts: impl Iterator<Item: Borrow<Conflict>>) -> Json {
    let shown = conflicts.take(CHANGES_MAX).map(|one| json!(ShownConflict(one.borrow())));
    Json::Array(shown.collect())
}

/// The attribute that a conflict is about, if it is about one.
pub(crate) fn attribute(conflict: &Conflict) -> Option<&str> {
    if conflict.kind != jungle::ConflictKind::Attribute {
        return None;
    }
    match &conflict.ours {
        Change::AttributePut { key, .. } | Change::AttributeRemoved { key, .. } => Some(key),
        _ => None,
    }
}
