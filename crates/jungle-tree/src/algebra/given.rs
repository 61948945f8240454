//! Positions that were given to children that are gone again: a diff says nothing of them.
//!
//! Where a branch gave one and took it away before it was merged, nothing of that comes to the
//! other branch, which would give it to another node. That node could not have it on the first
//! branch, and neither could any that comes after it have its own: they would have other keys there
//! for good. So the result of a merge takes what ours has given, by a child that comes and goes.

use std::collections::BTreeSet;

use super::diff::TOLD_NODES_MAX;
use super::numbers::Start;
use super::steps::{Count, Unbounded};
use super::{ApplyError, Change, ChangeSet};
use crate::edit::Editor;
use crate::key::{Key, KeyRef};
use crate::node::Node;
use crate::path::Path;
use crate::snapshot::Snapshot;

/// The keys of children that are to come and go in a node, so that it gives no position any more
/// that another one has given.
///
/// ```
/// use jungle_tree::{Arena, Tree, keys_to_skip};
/// let mut gave = Tree::new(&Arena::new()?);
/// gave.add_child(&[])?;
/// gave.remove(&[0.into()])?;
/// let mut tree = Tree::new(&Arena::new()?);
/// let keys = keys_to_skip(tree.snapshot().root(), gave.snapshot().root());
/// for key in keys {
///     tree.insert_child(&[], &key)?;
///     tree.remove(&[key])?;
/// }
/// assert_eq!(tree.add_child(&[])?, 1.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn keys_to_skip(node: Node<'_>, gave: Node<'_>) -> Vec<Key> {
    let (next, low, fractions) = gave.positions_given();
    let mut keys = Vec::new();
    if node.next_position() < next {
        keys.push(KeyRef::Position(next - 1, &[]).to_key());
    }
    if node.lowest_position() > low {
        keys.push(KeyRef::Position(low, &[]).to_key());
    }
    if node.fractions_taken() < fractions {
        // It ends with the number of those before it, and how many digits that has.
        let number = (fractions - 1).to_be_bytes();
        let digits = &number[number.iter().take(3).take_while(|&&digit| digit == 0).count()..];
        let fraction = |first| [&[first][..], digits, &[digits.len() as u8]].concat();
        let all = (0..=u8::MAX).map(fraction);
        let mut all = all.map(|fraction| KeyRef::Position(next - 1, &fraction).to_key());
        keys.extend(all.find(|key| node.child(key).is_none()));
    }
    keys
}

/// Lets the nodes of an editor give no position any more that those at the same paths have given
/// from one version to another, and tells by what changes: children that come and go, for those
/// that are gone again, of which [`diff`](crate::diff) says nothing. Of what was moved, and of more
/// than 16 nodes that were added as one, nothing is looked at; and where there is no room for a
/// child, not even for a moment, it is left.
///
/// # Errors
/// When there was room for a child, and is none for what is above it without it.
///
/// ```
/// use jungle_tree::{Arena, Editor, Tree, diff, skip_positions};
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// tree.add_child(&[])?;
/// tree.remove(&[0.into()])?;
/// let after = tree.snapshot();
/// assert!(diff(&before, &after).is_empty());
///
/// let mut editor = Editor::new(before.clone());
/// let changes = skip_positions(&mut editor, &before, &after)?;
/// assert_eq!(changes.to_string(), "+ /0\n- /0\n");
/// assert_eq!(editor.add_child(&[])?, 1.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn skip_positions(
    editor: &mut Editor,
    before: &Snapshot,
    after: &Snapshot,
) -> Result<ChangeSet, ApplyError> {
    let mut told = ChangeSet::new();
    let Ok(given) = since(before.root(), after.root(), &mut Unbounded);
    for gave in given {
        gave.skip(editor, &gave.path, &mut told)?;
    }
    Ok(told)
}

/// A node that has given positions.
pub(super) struct Gave<'a> {
    pub(super) path: Path,
    node: Node<'a>,
}

impl Gave<'_> {
    /// Lets the node at this path of an editor have given them as well.
    pub(super) fn skip(
        &self,
        editor: &mut Editor,
        path: &Path,
        told: &mut ChangeSet,
    ) -> Result<(), ApplyError> {
        let keys = match editor.root().at(path) {
            Ok(node) => keys_to_skip(node, self.node),
            Err(_) => return Ok(()),
        };
        for key in keys {
            // A merge that there is room for is not refused for this.
            if editor.insert_child(path, &key).is_err() {
                return Ok(());
            }
            let path = path.join(key);
            editor.remove(&path)?;
            told.push(Change::ChildAdded { path: path.clone() });
            told.push(Change::ChildRemoved { path });
        }
        Ok(())
    }
}

/// The nodes of ours that may have given positions which nothing of what it did tells.
pub(super) fn by_ours<'a, C: Count>(
    start: Start<'a>,
    ours: &'a Snapshot,
    count: &mut C,
) -> Result<Vec<Gave<'a>>, C::Over> {
    let mut found = since(start.ours.root(), ours.root(), count)?;
    // In our numbers the base seems to have given what it has given to nobody in theirs.
    let nodes = start.renumbered.iter();
    let parents = nodes.filter_map(|node| node.path.split_last().map(|(_, parent)| parent));
    let parents: BTreeSet<&[Key]> = parents.collect();
    found.extend(parents.into_iter().filter_map(|path| {
        let node = ours.root().at(path).ok()?;
        Some(Gave { path: path.into(), node })
    }));
    Ok(found)
}

/// Two nodes at one path, where the first one is there.
struct Pair<'a> {
    /// How many keys the path of the parent has.
    depth: usize,
    key: Option<KeyRef<'a>>,
    before: Option<Node<'a>>,
    after: Node<'a>,
}

/// The nodes that have given more positions than those at the same paths before, in the order of
/// their paths. What both share is skipped. Each path is kept whole, so its keys are counted.
fn since<'a, C: Count>(
    before: Node<'a>,
    after: Node<'a>,
    count: &mut C,
) -> Result<Vec<Gave<'a>>, C::Over> {
    let mut found: Vec<Gave<'a>> = Vec::new();
    if before.is_same(after) || !before.cell().shares_arena(after.cell()) {
        return Ok(found);
    }
    let mut path: Vec<KeyRef<'a>> = Vec::new();
    let mut stack = vec![Pair { depth: 0, key: None, before: Some(before), after }];
    while let Some(Pair { depth, key, before, after }) = stack.pop() {
        path.truncate(depth);
        path.extend(key);
        if has_given_more(after, before) {
            count.differs(path.iter().copied())?;
            found.push(Gave { path: path.iter().copied().collect(), node: after });
        }
        let depth = path.len();
        let pair = |(key, before, after)| Pair { depth, key: Some(key), before, after };
        let Some(before) = before else {
            stack.extend(after.children().map(|(key, child)| pair((key, None, child))));
            continue;
        };
        for (key, before, after) in before.differing_children(after) {
            count.take(1)?;
            // Where more was added it is told as one, and has what it has given with it.
            if let Some(after) = after
                && (before.is_some() || after.subtree_count() <= TOLD_NODES_MAX)
            {
                stack.push(pair((key, before, after)));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

fn has_given_more(after: Node<'_>, before: Option<Node<'_>>) -> bool {
    let was = before.map_or((0, 0, 0), Node::positions_given);
    let is = after.positions_given();
    is.0 > was.0 || is.1 < was.1 || is.2 > was.2
}
