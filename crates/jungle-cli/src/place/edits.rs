//! What was done to a part of a tree, as the edits that do it to all of it on a server.

use jungle_server::typed;
use jungle_tree::{Change, ChangeSet, Path, Snapshot};
use serde_json::{Map, Value as Json, json};

use super::partial::UNKNOWN;
use crate::failure::{Exit, Failure};

/// The nodes that were changed although it is not known what is in them. They must be: what has to
/// be taken away is told one by one.
pub(super) fn unknown(changes: &ChangeSet) -> Vec<Path> {
    let unknown = changes.iter().filter_map(|change| match change {
        Change::AttributeRemoved { path, key } if **key == *UNKNOWN => Some(path.clone()),
        _ => None,
    });
    unknown.collect()
}

/// The edits of a batch.
pub(super) fn edits(before: &Snapshot, changes: &ChangeSet) -> Result<Vec<Json>, Failure> {
    let mut edits = Vec::new();
    let mut gone: Vec<&Path> = Vec::new();
    for change in changes {
        match change {
            Change::ChildAdded { path } => edits.push(insert(path, Map::new())),
            Change::ChildRemoved { path } => {
                edits.push(remove(path));
                gone.push(path);
            }
            Change::AttributePut { path, key, value } => edits.push(json!({
                "op": "put",
                "path": path.to_string(),
                "attribute": &**key,
                "value": typed(value.as_ref()),
            })),
            Change::AttributeRemoved { path, key } => edits.push(json!({
                "op": "unset",
                "path": path.to_string(),
                "attribute": &**key,
            })),
            Change::Moved { from, to } => edits.push(json!({
                "op": "move",
                "from": from.to_string(),
                "path": to.to_string(),
            })),
            Change::SubtreeSet { path, subtree } if path.depth() > 0 => {
                let is_gone = gone.iter().any(|gone| path.starts_with(gone));
                if !is_gone && before.root().at(path).is_ok() {
                    edits.push(remove(path));
                }
                let mut walk = subtree.node().walk();
                while let Some(node) = walk.next() {
                    let below = walk.path();
                    let place: Path = path.iter().chain(below.iter()).cloned().collect();
                    let attributes = node.attributes();
                    let attributes = attributes.map(|(key, value)| (key.to_owned(), typed(value)));
                    edits.push(insert(&place, attributes.collect()));
                }
            }
            change => {
                let message = format_args!("a server has no edit that does this: {change}");
                return Err(Failure::new(Exit::Error, message));
            }
        }
    }
    Ok(edits)
}

fn insert(path: &Path, attributes: Map<String, Json>) -> Json {
    json!({"op": "insert", "path": path.to_string(), "attributes": attributes})
}

fn remove(path: &Path) -> Json {
    json!({"op": "remove", "path": path.to_string()})
}
