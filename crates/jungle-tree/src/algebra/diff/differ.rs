//! Finding what differs, and what of it was moved.

use std::cmp::Ordering;

use super::super::moves::{self, Moves};
use super::super::steps::Count;
use crate::attributes::Attributes;
use crate::children::Differences;
use crate::key::{Key, KeyRef};
use crate::node::Node;
use crate::snapshot::Snapshot;
use crate::value::ValueRef;

/// Nodes moved out of or into nodes that were moved, and so on: so deep they are looked for.
const MOVES_IN_MOVES_MAX: usize = 16;

/// There is room for the path of a node so deep from the beginning.
const DEPTH_USUAL: usize = 8;

/// A child that differs: what is on either side, where it is there.
struct Pair<'a> {
    /// How many keys the path of the parent has.
    depth: usize,
    key: Option<KeyRef<'a>>,
    left: Option<Node<'a>>,
    right: Option<Node<'a>>,
}

impl Pair<'_> {
    #[inline(always)]
    fn counted<C: Count>(self, count: &mut C) -> Result<Self, C::Over> {
        count.take(1)?;
        if self.left.is_none() || self.right.is_none() {
            count.is_on_one_side()?;
        }
        Ok(self)
    }
}

/// One difference.
pub(in super::super) enum Found<'a> {
    Put(&'a str, ValueRef<'a>),
    Dropped(&'a str),
    Removed(Node<'a>),
    Added(Node<'a>),
}

/// One difference, and where.
pub(in super::super) struct Place<'a> {
    pub(super) path: Vec<KeyRef<'a>>,
    /// In how many moved nodes it is. Paths are those after all moves of lower levels.
    pub(super) level: u32,
    pub(in super::super) found: Found<'a>,
}

struct Differ<'a, 'c, C> {
    /// Within one arena.
    differences: Option<Differences<'a>>,
    path: Vec<KeyRef<'a>>,
    stack: Vec<Pair<'a>>,
    level: u32,
    places: Vec<Place<'a>>,
    count: &'c mut C,
}

/// All that differs, and what of it was moved.
pub(super) struct Differing<'a> {
    pub(super) places: Vec<Place<'a>>,
    pub(super) moves: Moves,
}

pub(super) fn differing<'a, C: Count>(
    mut path: Vec<KeyRef<'a>>,
    left: Node<'a>,
    b: &'a Snapshot,
    count: &mut C,
) -> Result<Differing<'a>, C::Over> {
    let (stack, places) = (Vec::new(), Vec::new());
    let start: Vec<Key> = path.iter().map(|key| key.to_key()).collect();
    let right = b.root().at(&start).ok().filter(|right| !left.is_same(*right));
    let Some(right) = right else {
        return Ok(Differing { places, moves: Moves::default() });
    };
    let same_arena = left.cell().shares_arena(right.cell());
    let differences = same_arena.then(|| Differences::new(left.cell().memory()));
    let mut differ = Differ { differences, path: Vec::new(), stack, level: 0, places, count };
    path.reserve(DEPTH_USUAL);
    differ.compare(path, left, right)?;
    let moves = differ.find_moves()?;
    Ok(Differing { places: differ.places, moves })
}

impl<'a, C: Count> Differ<'a, '_, C> {
    /// Notes in what two nodes differ, of which the path is given.
    fn compare(
        &mut self,
        path: Vec<KeyRef<'a>>,
        left: Node<'a>,
        right: Node<'a>,
    ) -> Result<(), C::Over> {
        self.count.take(1)?;
        let depth = path.len();
        self.path = path;
        let mut first = Some(Pair { depth, key: None, left: Some(left), right: Some(right) });
        while let Some(pair) = first.take().or_else(|| self.stack.pop()) {
            self.path.truncate(pair.depth);
            self.path.extend(pair.key);
            match (pair.left, pair.right) {
                (Some(mut left), Some(mut right)) => {
                    self.compare_attributes(left, right)?;
                    while let Some((key, l, r)) = self.only_child(left, right) {
                        self.count.take(1)?;
                        self.path.push(key);
                        (left, right) = (l, r);
                        self.compare_attributes(left, right)?;
                    }
                    self.compare_children(left, right)?;
                }
                (Some(left), None) => self.push(Found::Removed(left))?,
                (None, Some(right)) => self.push(Found::Added(right))?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn push(&mut self, found: Found<'a>) -> Result<(), C::Over> {
        self.count.differs(self.path.iter().copied())?;
        self.places.push(Place { path: self.path.clone(), level: self.level, found });
        Ok(())
    }

    /// For each added node (by its place in the list) the removed one that it was. What differs in
    /// a node that was moved joins the list, and may have been moved in its turn.
    fn find_moves(&mut self) -> Result<Moves, C::Over> {
        let mut moves = Moves::default();
        for _ in 0..MOVES_IN_MOVES_MAX {
            let new = if self.differences.is_some() {
                moves::by_memory(&self.places, &moves)
            } else {
                moves::by_content(&self.places, &moves)
            };
            if new.is_empty() {
                break;
            }
            for (to, from) in new {
                moves.add(to, from);
                let (added, removed) = (&self.places[to], &self.places[from]);
                if let (Found::Added(right), Found::Removed(left)) = (&added.found, &removed.found)
                {
                    self.level = added.level.max(removed.level) + 1;
                    self.compare(added.path.clone(), *left, *right)?;
                }
            }
        }
        Ok(moves)
    }

    /// The child in which two nodes differ, where it is quickly seen to be the only one: most
    /// versions differ in one place, and nothing need be noted on the way there.
    fn only_child(
        &self,
        left: Node<'a>,
        right: Node<'a>,
    ) -> Option<(KeyRef<'a>, Node<'a>, Node<'a>)> {
        let differences = self.differences.as_ref()?;
        let (key, l, r) = differences.only(left.content().kids, right.content().kids)?;
        Some((key, Node::new(left.cell(), l), Node::new(right.cell(), r)))
    }

    fn compare_attributes(&mut self, left: Node<'a>, right: Node<'a>) -> Result<(), C::Over> {
        if left.has_same_attributes(right) {
            return Ok(());
        }
        compare_attributes(left.attributes(), right.attributes(), |found| {
            self.count.take(1)?;
            found.map_or(Ok(()), |found| self.push(found))
        })
    }

    /// Pushes the children that differ, the first on top. They are counted as they come: of those
    /// of one node there may be more than there is room for.
    fn compare_children(&mut self, left: Node<'a>, right: Node<'a>) -> Result<(), C::Over> {
        let depth = self.path.len();
        let from = self.stack.len();
        if let Some(differences) = &mut self.differences {
            differences.begin(left.content().kids, right.content().kids);
            for (key, l, r) in differences {
                let node = |of: Node<'a>, content| Node::new(of.cell(), content);
                let left = l.map(|content| node(left, content));
                let right = r.map(|content| node(right, content));
                let pair = Pair { depth, key: Some(key), left, right };
                self.stack.push(pair.counted(self.count)?);
            }
            let key = |pair: &Pair<'a>| pair.key;
            self.stack[from..].sort_unstable_by(|a, b| key(b).cmp(&key(a)));
        } else {
            for (key, left, right) in Joined::new(left, right) {
                let pair = Pair { depth, key: Some(key), left, right };
                self.stack.push(pair.counted(self.count)?);
            }
            self.stack[from..].reverse();
        }
        Ok(())
    }
}

/// Tells of each attribute whether it differs.
fn compare_attributes<'a, E>(
    left: Attributes<'a>,
    right: Attributes<'a>,
    mut tell: impl FnMut(Option<Found<'a>>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((l, _)), Some((r, _))) => l.cmp(r),
        };
        let old = if order.is_le() { left.next() } else { None };
        let new = if order.is_ge() { right.next() } else { None };
        tell(match (old, new) {
            (Some((key, _)), None) => Some(Found::Dropped(key)),
            (old, Some((key, value))) if old.map(|(_, value)| value) != Some(value) => {
                Some(Found::Put(key, value))
            }
            _ => None,
        })?;
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
