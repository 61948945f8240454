//! What differs between two versions.
//!
//! Both are walked side by side, down only where they differ, so every difference found lies
//! below nodes that both have, at the same place. That makes the differences independent of each
//! other: whatever is added takes a key that was free, whatever is moved goes from a key that only
//! the old version has to one that only the new version has. So they can be applied in any order,
//! as long as what is below an added or moved node comes after it. A node that was moved is
//! compared with what it was, as if both had been where it is now: that is the next *level*.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::moves::{self, Moves};
use super::steps::{Count, Ended, First, Unbounded};
use super::transparent::transparent;
use super::{Change, ChangeSet, Steps, Subtree, TooManySteps};
use crate::attributes::Attributes;
use crate::children::Differences;
use crate::key::{Key, KeyRef};
use crate::node::{NoSuchNode, Node};
use crate::path::Path;
use crate::snapshot::Snapshot;
use crate::value::ValueRef;

/// An added subtree of at most this many nodes is told node by node.
pub(super) const TOLD_NODES_MAX: u64 = 16;

/// Nodes moved out of or into nodes that were moved, and so on: so deep they are looked for.
const MOVES_IN_MOVES_MAX: usize = 16;

/// There is room for the path of a node so deep from the beginning.
const DEPTH_USUAL: usize = 8;

/// At most this many keys for the paths of a subtree that is told node by node.
const TOLD_KEYS_MAX: u64 = 1 << 16;

/// At most so many keys for the paths of what is told node by node as both sides of a merge have
/// added it: what is too large, or too deep, is told whole.
const MERGED_KEYS_MAX: u64 = 1 << 20;

/// What happened from `a` to `b`: applied to `a`, it gives the content of `b`.
///
/// The cost is that of what differs: what both share is skipped. In different arenas nothing is
/// shared, and content hashes are compared instead. The changes come in document order, but for
/// those in something moved, which come after it; they can be applied one after the other.
///
/// - A child added that is small is a [`Change::ChildAdded`] followed by what is in it; a larger
///   one is one [`Change::SubtreeSet`] that shares the version `b`.
/// - A child removed here and added there is one [`Change::Moved`], followed by what else was done
///   to it. It is recognised by the memory it shares with what it was: its children as they are or,
///   where something below was edited, at least half of the children and attributes of the nearest
///   hundred nodes below, at the same places in it; without children, by its attributes. (In
///   different arenas: by its content, all of it.) A leaf that was moved and edited, and a bare
///   one, are told as removed and added.
/// - Both parents are in `a` and in `b`; what lies deeper in something added or removed goes with
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
    let Ok(changes) = changes(Vec::new(), a.root(), b, &mut Unbounded);
    changes
}

/// What happened from the base to ours and to theirs, for a merge, from the base as either side
/// numbers it: what both added under one name is told node by node, so that both can put something
/// in it.
pub(super) fn diffs_to_merge<C: Count>(
    bases: [&Snapshot; 2],
    [ours, theirs]: [&Snapshot; 2],
    count: &mut C,
) -> Result<(ChangeSet, ChangeSet), C::Over> {
    let mine = differing(Vec::new(), bases[0].root(), ours, count)?;
    let others = differing(Vec::new(), bases[1].root(), theirs, count)?;
    Ok((
        mine.tell(ours, &others.added(), Order::RemovedFirst, count)?,
        others.tell(theirs, &mine.added(), Order::Document, count)?,
    ))
}

/// In which order changes of one level are told.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Document,
    /// What was removed before what was not: whatever goes on the other side of a merge with what
    /// ours removes is gone then, and takes no key from what ours moves or adds.
    RemovedFirst,
}

/// What happened from `a` to `b` in the node at `path` and below; paths are from the root.
///
/// # Errors
/// When there is no such node in one of them.
///
/// ```
/// use jungle_tree::{Arena, Tree, diff_at};
/// let mut tree = Tree::new(&Arena::new()?);
/// let (a, b) = (tree.add_child(&[])?, tree.add_child(&[])?);
/// let before = tree.snapshot();
/// tree.put_attribute(&[a], "n", 1)?;
/// tree.put_attribute(&[b.clone()], "n", 2)?;
/// let changes = diff_at(&before, &tree.snapshot(), &[b])?;
/// assert_eq!(changes.to_string(), "~ /1 @n = 2\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff_at(a: &Snapshot, b: &Snapshot, path: &[Key]) -> Result<ChangeSet, NoSuchNode> {
    let left = in_both(a, b, path)?;
    let Ok(changes) = changes(path.iter().map(Key::as_ref).collect(), left, b, &mut Unbounded);
    Ok(changes)
}

/// Why two versions were not compared.
///
/// ```
/// use jungle_tree::{Arena, DiffError, Steps, Tree, diff_within};
/// let version = Tree::new(&Arena::new()?).snapshot();
/// let nowhere = diff_within(&version, &version, &[0.into()], &mut Steps::new(100));
/// assert!(matches!(nowhere, Err(DiffError::NoSuchNode(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiffError {
    /// One of them does not have the node.
    NoSuchNode(NoSuchNode),
    /// It takes more steps than it may.
    TooManySteps(TooManySteps),
}

transparent!(DiffError { NoSuchNode(NoSuchNode), TooManySteps(TooManySteps) });

/// As [`diff_at`] (and so, at the root, as [`diff`]), for versions that anybody may have made: it
/// is given up where it takes more [`Steps`] than there are. Versions in different arenas are not
/// for it: their content hashes are made before anything is counted.
///
/// # Errors
/// When there is no such node in one of them, or there are not steps enough.
///
/// ```
/// use jungle_tree::{Arena, DiffError, Steps, Tree, diff_within};
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// tree.put_attribute(&[], "title", "hello")?;
/// let after = tree.snapshot();
/// let changes = |steps| diff_within(&before, &after, &[], &mut Steps::new(steps));
/// assert_eq!(changes(10)?.len(), 1);
/// assert!(matches!(changes(1), Err(DiffError::TooManySteps(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff_within(
    a: &Snapshot,
    b: &Snapshot,
    path: &[Key],
    steps: &mut Steps,
) -> Result<ChangeSet, DiffError> {
    let left = in_both(a, b, path)?;
    Ok(changes(path.iter().map(Key::as_ref).collect(), left, b, steps)?)
}

/// Does anything differ in the node at `path` and below? It is told as soon as something does,
/// however much more there is; of children that both have, all that may differ are looked at before
/// what is in them.
///
/// # Errors
/// As [`diff_within`].
///
/// ```
/// use jungle_tree::{Arena, Steps, Tree, differs_within};
/// let mut tree = Tree::new(&Arena::new()?);
/// let child = tree.add_child(&[])?;
/// let before = tree.snapshot();
/// tree.put_attribute(&[], "n", 1)?;
/// let (after, mut steps) = (tree.snapshot(), Steps::new(100));
/// assert_eq!(differs_within(&before, &after, &[], &mut steps), Ok(true));
/// assert_eq!(differs_within(&before, &after, &[child], &mut steps), Ok(false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn differs_within(
    a: &Snapshot,
    b: &Snapshot,
    path: &[Key],
    steps: &mut Steps,
) -> Result<bool, DiffError> {
    let left = in_both(a, b, path)?;
    let found = differing(path.iter().map(Key::as_ref).collect(), left, b, &mut First(steps));
    match found {
        Ok(_) => Ok(false),
        Err(Ended::Differs) => Ok(true),
        Err(Ended::Over(error)) => Err(error.into()),
    }
}

/// The node in the first of two versions, which both have.
fn in_both<'a>(a: &'a Snapshot, b: &Snapshot, path: &[Key]) -> Result<Node<'a>, NoSuchNode> {
    let left = a.root().at(path)?;
    b.root().at(path)?;
    Ok(left)
}

/// What happened in the node at `path`, from what it was to what it is in `b`.
fn changes<C: Count>(
    path: Vec<KeyRef<'_>>,
    left: Node<'_>,
    b: &Snapshot,
    count: &mut C,
) -> Result<ChangeSet, C::Over> {
    differing(path, left, b, count)?.tell(b, &Added::new(), Order::Document, count)
}

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
pub(super) enum Found<'a> {
    Put(&'a str, ValueRef<'a>),
    Dropped(&'a str),
    Removed(Node<'a>),
    Added(Node<'a>),
}

/// One difference, and where.
pub(super) struct Place<'a> {
    path: Vec<KeyRef<'a>>,
    /// In how many moved nodes it is. Paths are those after all moves of lower levels.
    level: u32,
    pub(super) found: Found<'a>,
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
struct Differing<'a> {
    places: Vec<Place<'a>>,
    moves: Moves,
}

/// The nodes that one side added under names that both could choose, by their paths.
type Added<'a> = BTreeMap<&'a [KeyRef<'a>], Node<'a>>;

fn differing<'a, C: Count>(
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

impl Differing<'_> {
    /// Of what lies in something moved the path is not the same on both sides.
    fn added(&self) -> Added<'_> {
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
    fn tell<C: Count>(
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
