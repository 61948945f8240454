//! What differs between two versions.
//!
//! Both are walked side by side, down only where they differ, so every difference found lies
//! below nodes that both have, at the same place. That makes the differences independent of each
//! other: whatever is added takes a key that was free, whatever is moved goes from a key that only
//! the old version has to one that only the new version has. So they can be applied in any order,
//! as long as what is below an added or moved node comes after it.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::{Change, ChangeSet, Subtree};
use crate::attributes::Attributes;
use crate::key::{Key, KeyRef};
use crate::node::{NoSuchNode, Node};
use crate::path::Path;
use crate::snapshot::Snapshot;
use crate::value::ValueRef;

/// An added subtree of at most this many nodes is told node by node.
const TOLD_NODES_MAX: u64 = 16;

/// At most this many keys for the paths of a subtree that is told node by node.
const TOLD_KEYS_MAX: u64 = 1 << 16;

/// What happened from `a` to `b`: applied to `a`, it gives the content of `b`.
///
/// The cost is that of what differs: what both share is skipped. In different arenas nothing is
/// shared, and content hashes are compared instead. The changes come in document order; they can
/// be applied one after the other.
///
/// - A child added that is small is a [`Change::ChildAdded`] followed by what is in it; a larger
///   one is one [`Change::SubtreeSet`] that shares the version `b`.
/// - A child removed here and added there is one [`Change::Moved`]. It is recognised by its
///   children, or by its attributes when it has none (in different arenas: by its content), where
///   both parents are in `a` and in `b`; what lies deeper in something added or removed goes with
///   it.
///
/// Positions that were used and are free again are not content: they leave no trace in a diff.
///
/// ```
/// use jungle_tree::{Arena, Tree, diff};
/// let mut tree = Tree::new(&Arena::new()?);
/// let child = tree.add_child(&[])?;
/// let before = tree.snapshot();
/// tree.put_attribute(&[child], "title", "hello")?;
/// tree.add_child(&[])?;
/// let changes = diff(&before, &tree.snapshot());
/// assert_eq!(changes.to_string(), "~ /0 @title = \"hello\"\n+ /1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn diff(a: &Snapshot, b: &Snapshot) -> ChangeSet {
    differences(Vec::new(), a.root(), b)
}

/// What happened from `a` to `b` in the node at `path` and below; paths are from the root.
///
/// # Errors
/// When there is no such node in one of them.
pub fn diff_at(a: &Snapshot, b: &Snapshot, path: &[Key]) -> Result<ChangeSet, NoSuchNode> {
    let left = a.root().at(path)?;
    b.root().at(path)?;
    Ok(differences(path.iter().map(Key::as_ref).collect(), left, b))
}

/// A child that differs: what is on either side, where it is there.
struct Pair<'a> {
    /// How many keys the path of the parent has.
    depth: usize,
    key: Option<KeyRef<'a>>,
    left: Option<Node<'a>>,
    right: Option<Node<'a>>,
}

/// One difference.
enum Found<'a> {
    Put(&'a str, ValueRef<'a>),
    Dropped(&'a str),
    Removed(Node<'a>),
    Added(Node<'a>),
}

struct Differ<'a> {
    same_arena: bool,
    path: Vec<KeyRef<'a>>,
    stack: Vec<Pair<'a>>,
    found: Vec<(Path, Found<'a>)>,
}

fn differences<'a>(path: Vec<KeyRef<'a>>, left: Node<'a>, b: &'a Snapshot) -> ChangeSet {
    let start: Vec<Key> = path.iter().map(|key| key.to_key()).collect();
    let Ok(right) = b.root().at(&start) else {
        return ChangeSet::new();
    };
    if left.is_same(right) {
        return ChangeSet::new();
    }
    let mut differ = Differ {
        same_arena: Arc::ptr_eq(&left.cell().arena, &right.cell().arena),
        stack: vec![Pair { depth: path.len(), key: None, left: Some(left), right: Some(right) }],
        path,
        found: Vec::new(),
    };
    differ.run();
    tell(differ.found, differ.same_arena, b)
}

impl<'a> Differ<'a> {
    fn run(&mut self) {
        while let Some(pair) = self.stack.pop() {
            self.path.truncate(pair.depth);
            self.path.extend(pair.key);
            match (pair.left, pair.right) {
                (Some(left), Some(right)) => {
                    self.compare_attributes(left, right);
                    self.compare_children(left, right);
                }
                (Some(left), None) => self.push(Found::Removed(left)),
                (None, Some(right)) => self.push(Found::Added(right)),
                (None, None) => {}
            }
        }
    }

    fn push(&mut self, found: Found<'a>) {
        self.found.push((self.path.iter().copied().collect(), found));
    }

    fn compare_attributes(&mut self, left: Node<'a>, right: Node<'a>) {
        if left.has_same_attributes(right) {
            return;
        }
        compare_attributes(left.attributes(), right.attributes(), |found| self.push(found));
    }

    /// Pushes the children that differ, the first on top.
    fn compare_children(&mut self, left: Node<'a>, right: Node<'a>) {
        let depth = self.path.len();
        let from = self.stack.len();
        let pair = |(key, left, right)| Pair { depth, key: Some(key), left, right };
        if self.same_arena {
            self.stack.extend(left.differing_children(right).map(pair));
            let key = |pair: &Pair<'a>| pair.key;
            self.stack[from..].sort_unstable_by(|a, b| key(b).cmp(&key(a)));
        } else {
            self.stack.extend(Joined::new(left, right).map(pair));
            self.stack[from..].reverse();
        }
    }
}

fn compare_attributes<'a>(
    left: Attributes<'a>,
    right: Attributes<'a>,
    mut found: impl FnMut(Found<'a>),
) {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((l, _)), Some((r, _))) => l.cmp(r),
        };
        let old = if order.is_le() { left.next() } else { None };
        let new = if order.is_ge() { right.next() } else { None };
        match (old, new) {
            (Some((key, _)), None) => found(Found::Dropped(key)),
            (old, Some((key, value))) if old.map(|(_, value)| value) != Some(value) => {
                found(Found::Put(key, value));
            }
            _ => {}
        }
    }
}

/// The children in which two nodes of different arenas differ, in order.
struct Joined<'a> {
    left: std::iter::Peekable<crate::node::Children<'a>>,
    right: std::iter::Peekable<crate::node::Children<'a>>,
}

impl<'a> Joined<'a> {
    fn new(left: Node<'a>, right: Node<'a>) -> Joined<'a> {
        Joined { left: left.children().peekable(), right: right.children().peekable() }
    }
}

impl<'a> Iterator for Joined<'a> {
    type Item = (KeyRef<'a>, Option<Node<'a>>, Option<Node<'a>>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let order = match (self.left.peek(), self.right.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((l, _)), Some((r, _))) => l.cmp(r),
            };
            let left = if order.is_le() { self.left.next() } else { None };
            let right = if order.is_ge() { self.right.next() } else { None };
            match (left, right) {
                (Some((_, left)), Some((_, right))) if left.is_equal(right) => {}
                (Some((key, left)), right) => {
                    return Some((key, Some(left), right.map(|(_, right)| right)));
                }
                (None, right) => {
                    return right.map(|(key, right)| (key, None, Some(right)));
                }
            }
        }
    }
}

/// Says the differences as changes.
fn tell(found: Vec<(Path, Found<'_>)>, same_arena: bool, b: &Snapshot) -> ChangeSet {
    let mut from = if same_arena {
        moves(&found, |node| node.identity())
    } else {
        let bare = |node: &Node<'_>| !node.has_children() && !node.has_attributes();
        moves(&found, |node| (!bare(&node)).then(|| node.content_hash()))
    };
    let moved: std::collections::HashSet<usize> = from.values().copied().collect();
    let shared = OnceCell::new();
    let shared = || shared.get_or_init(|| Arc::new(b.clone()));
    let mut changes = Vec::with_capacity(found.len());
    let paths: Vec<&Path> = found.iter().map(|(path, _)| path).collect();
    for (at, (path, difference)) in found.iter().enumerate() {
        match difference {
            Found::Put(key, value) => changes.push(Change::AttributePut {
                path: path.clone(),
                key: (*key).into(),
                value: value.to_value(),
            }),
            Found::Dropped(key) => {
                changes.push(Change::AttributeRemoved { path: path.clone(), key: (*key).into() })
            }
            Found::Removed(_) if moved.contains(&at) => {}
            Found::Removed(_) => changes.push(Change::ChildRemoved { path: path.clone() }),
            Found::Added(node) => {
                match from.remove(&at).map(|left| (&found[left].1, paths[left])) {
                    Some((Found::Removed(left), from)) => {
                        tell_moved(&mut changes, from, path, *left, *node);
                    }
                    _ => tell_added(&mut changes, path, *node, shared),
                }
            }
        }
    }
    changes.into()
}

/// For each added node (by its place in the list) the removed one that it was.
fn moves<'a, I: Eq + Hash>(
    found: &[(Path, Found<'a>)],
    identity: impl Fn(Node<'a>) -> Option<I>,
) -> HashMap<usize, usize> {
    let mut moves = HashMap::new();
    let added = found.iter().any(|(_, found)| matches!(found, Found::Added(_)));
    if !added {
        return moves;
    }
    let mut removed: HashMap<I, Vec<usize>> = HashMap::new();
    for (at, (_, found)) in found.iter().enumerate().rev() {
        if let Found::Removed(node) = found
            && let Some(identity) = identity(*node)
        {
            removed.entry(identity).or_default().push(at);
        }
    }
    if removed.is_empty() {
        return moves;
    }
    for (at, (_, found)) in found.iter().enumerate() {
        if let Found::Added(node) = found
            && let Some(identity) = identity(*node)
            && let Some(from) = removed.get_mut(&identity).and_then(Vec::pop)
        {
            moves.insert(at, from);
        }
    }
    moves
}

/// A node that was moved; its children are the same, its attributes may not be.
fn tell_moved(changes: &mut Vec<Change>, from: &Path, to: &Path, left: Node<'_>, right: Node<'_>) {
    changes.push(Change::Moved { from: from.clone(), to: to.clone() });
    if left.has_same_attributes(right) {
        return;
    }
    let left: Vec<_> = left.attributes().collect();
    let right: Vec<_> = right.attributes().collect();
    for &(key, _) in left.iter().filter(|(key, _)| right.iter().all(|(other, _)| other != key)) {
        changes.push(Change::AttributeRemoved { path: to.clone(), key: key.into() });
    }
    for &(key, value) in right.iter().filter(|put| !left.contains(put)) {
        let (path, key) = (to.clone(), key.into());
        changes.push(Change::AttributePut { path, key, value: value.to_value() });
    }
}

fn tell_added<'s>(
    changes: &mut Vec<Change>,
    path: &Path,
    node: Node<'_>,
    shared: impl Fn() -> &'s Arc<Snapshot>,
) {
    let count = node.subtree_count();
    let keys = count.saturating_mul(path.len() as u64);
    if count > TOLD_NODES_MAX || (count > 1 && keys > TOLD_KEYS_MAX) {
        let subtree = Subtree::of(shared(), node);
        return changes.push(Change::SubtreeSet { path: path.clone(), subtree });
    }
    let mut walk = node.walk();
    while let Some(node) = walk.next() {
        let path: Path = path.iter().cloned().chain(walk.path()).collect();
        changes.push(Change::ChildAdded { path: path.clone() });
        changes.extend(node.attributes().map(|(key, value)| Change::AttributePut {
            path: path.clone(),
            key: key.into(),
            value: value.to_value(),
        }));
    }
}
