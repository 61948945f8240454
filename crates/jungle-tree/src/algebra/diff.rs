//! What differs between two versions.
//!
//! Both are walked side by side, down only where they differ, so every difference found lies
//! below nodes that both have, at the same place. That makes the differences independent of each
//! other: whatever is added takes a key that was free, whatever is moved goes from a key that only
//! the old version has to one that only the new version has. So they can be applied in any order,
//! as long as what is below an added or moved node comes after it. A node that was moved is
//! compared with what it was, as if both had been where it is now: that is the next *level*.

mod differ;
mod tell;

use self::differ::differing;
pub(super) use self::differ::{Found, Place};
use self::tell::Added;
use super::steps::{Count, Ended, First, Unbounded};
use super::transparent::transparent;
use super::{ChangeSet, Steps, TooManySteps};
use crate::key::{Key, KeyRef};
use crate::node::{NoSuchNode, Node};
use crate::snapshot::Snapshot;

/// An added subtree of at most this many nodes is told node by node.
pub(super) const TOLD_NODES_MAX: u64 = 16;

/// What happened from `a` to `b`: applied to `a`, it gives the content of `b`.
///
/// The cost is that of what differs: what both share is skipped. In different arenas nothing is
/// shared, and content hashes are compared instead. The changes come in document order, but for
/// those in something moved, which come after it; they can be applied one after the other.
///
/// - A child added that is small is a [`Change::ChildAdded`](super::Change::ChildAdded) followed by
///   what is in it; a larger one is one [`Change::SubtreeSet`](super::Change::SubtreeSet) that
///   shares the version `b`.
/// - A child removed here and added there is one [`Change::Moved`](super::Change::Moved), followed
///   by what else was done to it. It is recognised by the memory it shares with what it was: its
///   children as they are or, where something below was edited, at least half of the children and
///   attributes of the nearest hundred nodes below, at the same places in it; without children, by
///   its attributes. (In different arenas: by its content, all of it.) A leaf that was moved and
///   edited, and a bare one, are told as removed and added.
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
