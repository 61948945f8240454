//! Saying what differs as changes, node by node or as whole subtrees.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::steps::Count;
use super::super::{Change, ChangeSet, Subtree};
use super::differ::{Differing, Found, Place};
use super::{Order, TOLD_NODES_MAX};
use crate::key::{Key, KeyRef};
use crate::node::Node;
use crate::path::Path;
use crate::snapshot::Snapshot;

/// At most this many keys for the paths of a subtree that is told node by node.
const TOLD_KEYS_MAX: u64 = 1 << 16;

/// At most so many keys for the paths of what is told node by node as both sides of a merge have
/// added it: what is too large, or too deep, is told whole.
const MERGED_KEYS_MAX: u64 = 1 << 20;

/// The nodes that one side added under names that both could choose, by their paths.
pub(super) type Added<'a> = BTreeMap<&'a [KeyRef<'a>], Node<'a>>;

impl Differing<'_> {
    /// Of what lies in something moved the path is not the same on both sides.
    pub(super) fn added(&self) -> Added<'_> {
        let places = self.places.iter().enumerate();
        let added = places.filter_map(|(at, place)| match place {
            Place { path, level: 0, found: Found::Added(node) }
                if self.moves.from(at).is_none() && is_name(path.last()) =>
            {
                Some((&**path, *node))
            }
            _ => None,
        });
        added.collect()
    }

    /// Says the differences as changes: what is in moved nodes after what is not.
    pub(super) fn tell<C: Count>(
        &self,
        b: &Snapshot,
        others: &Added<'_>,
        order: Order,
        count: &mut C,
    ) -> Result<ChangeSet, C::Over> {
        let Differing { places, moves } = self;
        let shared = OnceCell::new();
        let shared = || shared.get_or_init(|| Arc::new(b.clone()));
        let path_of = |place: &Place<'_>| place.path.iter().copied().collect::<Path>();
        let level = |at: &usize| {
            let from = moves.from(*at).map_or(0, |from| places[from].level);
            let stays = !matches!(places[*at].found, Found::Removed(_));
            (places[*at].level.max(from), order == Order::RemovedFirst && stays)
        };
        let mut all: Vec<usize> = (0..places.len()).collect();
        all.sort_by_key(level);
        let changes = Vec::with_capacity(places.len());
        let mut teller = Teller { changes, keys: MERGED_KEYS_MAX, count };
        for at in all {
            let place = &places[at];
            let path = path_of(place);
            match &place.found {
                Found::Put(key, value) => {
                    let (key, value) = ((*key).into(), value.to_value());
                    teller.changes.push(Change::AttributePut { path, key, value });
                }
                Found::Dropped(key) => {
                    teller.changes.push(Change::AttributeRemoved { path, key: (*key).into() });
                }
                Found::Removed(_) if moves.is_from(at) => {}
                Found::Removed(_) => teller.changes.push(Change::ChildRemoved { path }),
                Found::Added(node) => match moves.from(at) {
                    Some(from) => {
                        let from = path_of(&places[from]);
                        teller.changes.push(Change::Moved { from, to: path });
                    }
                    None => {
                        let twin = others.get(&*place.path).filter(|_| place.level == 0);
                        teller.added(path, *node, twin.copied(), shared)?;
                    }
                },
            }
        }
        Ok(teller.changes.into())
    }
}

fn is_name(key: Option<&KeyRef<'_>>) -> bool {
    matches!(key, Some(KeyRef::Name(_)))
}

/// Tells what was added.
struct Teller<'c, C> {
    changes: Vec<Change>,
    /// How many keys there may still be in paths of what both added.
    keys: u64,
    count: &'c mut C,
}

impl<C: Count> Teller<'_, C> {
    /// A node that was added, of which `twin` is what the other side has added there: node by node
    /// as far as they can be one.
    fn added<'s>(
        &mut self,
        path: Path,
        node: Node<'_>,
        twin: Option<Node<'_>>,
        shared: impl Fn() -> &'s Arc<Snapshot>,
    ) -> Result<(), C::Over> {
        let mut stack = vec![(path, node, twin)];
        while let Some((path, node, twin)) = stack.pop() {
            let twin = match twin {
                Some(twin) if self.can_be_merged(&path, node, twin)? => twin,
                _ => {
                    self.whole(&path, node, &shared)?;
                    continue;
                }
            };
            self.node(&path, node)?;
            let from = stack.len();
            stack.extend(node.children().map(|(key, child)| {
                let twin = is_name(Some(&key)).then(|| twin.child(&key.to_key())).flatten();
                (path.join(key.to_key()), child, twin)
            }));
            stack[from..].reverse();
        }
        Ok(())
    }

    /// Is it worth telling a node and its children one by one?
    fn can_be_merged(
        &mut self,
        path: &Path,
        node: Node<'_>,
        twin: Node<'_>,
    ) -> Result<bool, C::Over> {
        let is_bare = |node: Node<'_>| !node.has_children() && !node.has_attributes();
        if node.subtree_count() <= TOLD_NODES_MAX || is_bare(twin) || self.are_equal(node, twin)? {
            return Ok(false);
        }
        let told = 1 + node.attributes().count() as u64 + node.child_count();
        let left = self.keys.checked_sub(told.saturating_mul(path.len() as u64 + 1));
        let Some(left) = left else { return Ok(false) };
        // Two nodes at one position are two: what both made of one source would be there twice.
        let mut positions = node.children().take_while(|(key, _)| !is_name(Some(key)));
        if positions.any(|(key, _)| twin.child(&key.to_key()).is_some()) {
            return Ok(false);
        }
        self.keys = left;
        Ok(true)
    }

    /// Do both hold the same, all the way down? It is counted, since all of both may have to be
    /// hashed for it.
    fn are_equal(&mut self, node: Node<'_>, twin: Node<'_>) -> Result<bool, C::Over> {
        let nodes = node.subtree_count();
        if node.is_same(twin) || nodes != twin.subtree_count() {
            return Ok(node.is_same(twin));
        }
        self.count.take(nodes as usize)?;
        Ok(node.is_equal(twin))
    }

    fn whole<'s>(
        &mut self,
        path: &Path,
        node: Node<'_>,
        shared: impl Fn() -> &'s Arc<Snapshot>,
    ) -> Result<(), C::Over> {
        let count = node.subtree_count();
        let keys = count.saturating_mul(path.len() as u64);
        if count > TOLD_NODES_MAX || (count > 1 && keys > TOLD_KEYS_MAX) {
            let subtree = Subtree::of(shared(), node);
            self.changes.push(Change::SubtreeSet { path: path.clone(), subtree });
            return Ok(());
        }
        let mut walk = node.walk();
        while let Some(node) = walk.next() {
            self.node(&path.iter().cloned().chain(walk.path()).collect(), node)?;
        }
        Ok(())
    }

    fn node(&mut self, path: &Path, node: Node<'_>) -> Result<(), C::Over> {
        self.count.differs(path.iter().map(Key::as_ref))?;
        self.changes.push(Change::ChildAdded { path: path.clone() });
        for (key, value) in node.attributes() {
            self.count.differs(path.iter().map(Key::as_ref))?;
            let (path, key, value) = (path.clone(), key.into(), value.to_value());
            self.changes.push(Change::AttributePut { path, key, value });
        }
        Ok(())
    }
}
