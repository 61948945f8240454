//! What a version holds, as a plain map: deliberately simple, and copied as a whole.

use std::collections::BTreeMap;

use jungle_db::Snapshot;
use jungle_tree::{Key, Node, Path, Value};

/// All nodes by their paths, with their attributes.
pub type Content = BTreeMap<Path, Attributes>;
pub type Attributes = BTreeMap<String, Value>;

/// One bare node.
pub fn bare() -> Content {
    Content::from([(Path::root(), Attributes::new())])
}

pub fn of(root: Node<'_>) -> Content {
    let mut content = Content::new();
    let mut walk = root.walk();
    while let Some(node) = walk.next() {
        let attributes = node.attributes().map(|(key, value)| (key.into(), value.to_value()));
        content.insert(walk.path(), attributes.collect());
    }
    content
}

/// As [`of`], of a version that is whole.
#[track_caller]
pub fn whole(snapshot: &Snapshot) -> Content {
    let checked = snapshot.check();
    let report = checked.unwrap_or_else(|e| panic!("revision {}: {e}", snapshot.revision()));
    let content = of(snapshot.root());
    assert_eq!(report.nodes, content.len() as u64, "nodes that the checker saw");
    content
}

/// The node at a path and all below it, by their paths from there.
pub fn below(content: &Content, path: &[Key]) -> Content {
    let inside = content.iter().filter_map(|(at, attributes)| {
        at.strip_prefix(path).map(|rest| (Path::from(rest), attributes.clone()))
    });
    inside.collect()
}

/// Do both have the same at a path and below it?
pub fn is_same_below(one: &Content, other: &Content, path: &[Key]) -> bool {
    inside(one, path).eq(inside(other, path))
}

fn inside<'c>(
    content: &'c Content,
    path: &'c [Key],
) -> impl Iterator<Item = (&'c Path, &'c Attributes)> {
    content.iter().filter(move |(at, _)| at.starts_with(path))
}

/// How many nodes there are at a path and below it.
pub fn count(content: &Content, path: &[Key]) -> u64 {
    inside(content, path).count() as u64
}

/// Takes out the node at a path and all below it, and gives them.
pub fn cut(content: &mut Content, path: &[Key]) -> Content {
    let taken = below(content, path);
    remove(content, path);
    taken
}

/// Takes out the node at a path and all below it.
pub fn remove(content: &mut Content, path: &[Key]) {
    content.retain(|at, _| !at.starts_with(path));
}

/// Puts a node and all below it at a path.
pub fn put(content: &mut Content, path: &[Key], node: Content) {
    for (rest, attributes) in node {
        content.insert(Path::from([path, &rest].concat()), attributes);
    }
}

/// The keys of the children, in order.
pub fn keys(content: &Content, path: &[Key]) -> Vec<Key> {
    let child = |at: &Path| match at.strip_prefix(path) {
        Some([key]) => Some(key.clone()),
        _ => None,
    };
    let mut keys: Vec<Key> = content.keys().filter_map(child).collect();
    keys.sort();
    keys
}

/// A position behind all children.
pub fn free(content: &Content, path: &[Key]) -> Key {
    let keys = keys(content, path);
    let mut positions = keys.iter().rev().filter_map(|key| match key {
        Key::Position(position) => Some(position.index() + 1),
        Key::Name(_) => None,
    });
    Key::from(positions.next().unwrap_or(0))
}
