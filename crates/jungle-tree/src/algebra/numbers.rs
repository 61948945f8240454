//! Nodes that have one position on one side of a merge, and another one on the other side.
//!
//! Where both sides append, ours gets another position as it is merged. From then on it is one node
//! under two keys, and what is said of it later is said of the key that it has there. So the next
//! merge begins from the common version as *either side numbers it*: what theirs did is found by
//! comparing with that in their numbers, and ours are taken one by one in ours, by identity as
//! always.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::ApplyError;
use crate::edit::{EditError, Editor};
use crate::key::Key;
use crate::node::Node;
use crate::path::Path;
use crate::signature::Signature;
use crate::snapshot::Snapshot;
use crate::tree::Tree;

/// A node that has another key on the other one of two branches, below the same parent: both have
/// given its position, each to a node of its own, before one was merged into the other.
///
/// ```
/// use jungle_tree::{Arena, MergeBase, Renumbered, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.add_child(&[])?;
/// let there = Renumbered { path: "/0".parse()?, key: 1.into() };
/// let base = MergeBase::of_ours(&tree.snapshot(), &[there])?;
/// assert!(base.ours().root().child(0).is_some());
/// assert!(base.theirs().root().child(1).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbered {
    /// Where it is, in the version that this is said of.
    pub path: Path,
    /// Its key on the other branch.
    pub key: Key,
}

/// The version from which both sides of a merge began, as either of them numbers its nodes: see
/// [`merge_again`](crate::merge_again).
#[derive(Clone, Debug)]
pub struct MergeBase {
    ours: Snapshot,
    theirs: Snapshot,
    /// By their paths in ours, with their keys in theirs.
    renumbered: Vec<Renumbered>,
    is_origin: bool,
}

/// Where a merge begins, as either side numbers it.
#[derive(Clone, Copy)]
pub(super) struct Start<'b> {
    pub(super) ours: &'b Snapshot,
    pub(super) theirs: &'b Snapshot,
    pub(super) renumbered: &'b [Renumbered],
    /// Did both sides begin there? Else one was merged into the other there, and either may have
    /// given positions before of which it says nothing.
    pub(super) is_origin: bool,
}

impl<'b> Start<'b> {
    /// Where both sides began.
    pub(super) fn new(base: &'b Snapshot) -> Start<'b> {
        Start { ours: base, theirs: base, renumbered: &[], is_origin: true }
    }
}

impl MergeBase {
    /// The version at which both sides began, before any was merged into the other: what it has
    /// given it has given on both.
    ///
    /// ```
    /// use jungle_tree::{Arena, MergeBase, Tree};
    /// let version = Tree::new(&Arena::new()?).snapshot();
    /// let base = MergeBase::new(&version);
    /// assert!(base.ours().root().is_same(base.theirs().root()));
    /// # Ok::<(), jungle_tree::ArenaError>(())
    /// ```
    #[must_use]
    pub fn new(base: &Snapshot) -> MergeBase {
        let (ours, theirs) = (base.clone(), base.clone());
        MergeBase { ours, theirs, renumbered: Vec::new(), is_origin: true }
    }

    /// A version of our side, at which one side was merged into the other; some of its nodes have
    /// other keys on theirs. Nodes that are not there are left out.
    ///
    /// # Errors
    /// When there is no room for the version in their numbers.
    ///
    /// ```
    /// use jungle_tree::{Arena, MergeBase, Renumbered, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// tree.put_attribute(&[0.into()], "n", 7)?;
    /// // They have exchanged their keys.
    /// let nodes = [("/0", 1), ("/1", 0)];
    /// let node = |(path, key): (&str, i64)| Renumbered {
    ///     path: path.parse().unwrap(),
    ///     key: key.into(),
    /// };
    /// let base = MergeBase::of_ours(&tree.snapshot(), &nodes.map(node))?;
    /// let second = base.theirs().root().at(&[1.into()])?;
    /// assert_eq!(second.attribute("n"), Some(7.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_ours(base: &Snapshot, renumbered: &[Renumbered]) -> Result<MergeBase, ApplyError> {
        let Numbered { version, forth, .. } = number(base, renumbered)?;
        let (ours, theirs) = (base.clone(), version);
        Ok(MergeBase { ours, theirs, renumbered: forth, is_origin: false })
    }

    /// A version of their side, at which one side was merged into the other; some of its nodes have
    /// other keys on ours.
    ///
    /// # Errors
    /// When there is no room for the version in our numbers.
    ///
    /// ```
    /// use jungle_tree::{Arena, MergeBase, Renumbered, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.add_child(&[])?;
    /// let there = Renumbered { path: "/0".parse()?, key: 1.into() };
    /// let base = MergeBase::of_theirs(&tree.snapshot(), &[there])?;
    /// assert!(base.ours().root().child(1).is_some());
    /// assert!(base.theirs().root().child(0).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_theirs(base: &Snapshot, renumbered: &[Renumbered]) -> Result<MergeBase, ApplyError> {
        let Numbered { version, back, .. } = number(base, renumbered)?;
        let (ours, theirs) = (version, base.clone());
        Ok(MergeBase { ours, theirs, renumbered: back, is_origin: false })
    }

    /// The version as our side numbers it.
    #[must_use]
    pub fn ours(&self) -> &Snapshot {
        &self.ours
    }

    /// The version as their side numbers it.
    #[must_use]
    pub fn theirs(&self) -> &Snapshot {
        &self.theirs
    }

    pub(super) fn start(&self) -> Start<'_> {
        let MergeBase { ours, theirs, renumbered, is_origin } = self;
        Start { ours, theirs, renumbered, is_origin: *is_origin }
    }
}

/// Which nodes of ours have other keys in the result of a merge: the next one of the same two sides
/// begins from ours, with these.
///
/// ```
/// use jungle_tree::{Change, MergeOptions, rebase};
/// let add = Change::ChildAdded { path: [0].into() };
/// let rebased = rebase(&[add.clone()], &[add], &MergeOptions::new());
/// let nodes = rebased.renumbering.then(&[]);
/// assert_eq!((nodes[0].path.to_string(), &nodes[0].key), ("/0".into(), &1.into()));
/// // Before it was committed, somebody else has appended, too.
/// let nodes = rebased.renumbering.then(&[([1].into(), [2].into())]);
/// assert_eq!((nodes[0].path.to_string(), &nodes[0].key), ("/0".into(), &2.into()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Renumbering {
    nodes: Vec<Renumbered>,
    /// Nodes that we gave a position, by their paths in ours, and where they are in the result, if
    /// that is another path.
    placed: Vec<(Path, Path)>,
}

impl Renumbering {
    pub(super) fn new(nodes: Vec<Renumbered>, placed: Vec<(Path, Path)>) -> Renumbering {
        Renumbering { nodes, placed }
    }

    /// The nodes, in the order of their paths in ours; where some, these or others, were `renamed`
    /// after the merge was worked out, from where they were in its result.
    #[must_use]
    pub fn then(&self, renamed: &[(Path, Path)]) -> Vec<Renumbered> {
        if self.nodes.is_empty() && renamed.is_empty() {
            return Vec::new();
        }
        let known = self.nodes.iter().map(|node| (node.path.clone(), node.key.clone()));
        let mut keys: BTreeMap<Path, Key> = known.collect();
        let placed = self.placed.iter().map(|(said, at)| (at, said));
        let placed: HashMap<&Path, &Path> = placed.collect();
        // The topmost of them, in order: what is in one is in the last that is not behind it.
        let mut others: Vec<&Path> = self.nodes.iter().map(|node| &node.path).collect();
        others.retain(|path| !path.is_empty());
        others.sort_unstable();
        others.dedup_by(|path, top| path.starts_with(top));
        // Is what ours calls so elsewhere? Then it is a node that ours does not have.
        let is_other = |at: &Path| {
            let end = others.partition_point(|other| *other <= at);
            others[..end].last().is_some_and(|other| at.starts_with(other))
        };
        for (at, now) in renamed {
            let said = match placed.get(at) {
                Some(said) => *said,
                None if is_other(at) => continue,
                None => at,
            };
            match now.last() {
                Some(key) if said.last() == Some(key) => keys.remove(said),
                Some(key) => keys.insert(said.clone(), key.clone()),
                None => None,
            };
        }
        keys.into_iter().map(|(path, key)| Renumbered { path, key }).collect()
    }
}

/// A version in the numbers of the other side.
struct Numbered {
    version: Snapshot,
    /// Which nodes have another key in it, by their paths in the first version; and the same by the
    /// paths that they have in it, with the keys in the first.
    forth: Vec<Renumbered>,
    back: Vec<Renumbered>,
}

fn number(base: &Snapshot, told: &[Renumbered]) -> Result<Numbered, ApplyError> {
    let forth = distinct(base.root(), told);
    let mut back = turned(&forth);
    if forth.is_empty() {
        return Ok(Numbered { version: base.clone(), forth, back });
    }
    let mut editor = Editor::new(base.clone());
    renumber(&mut editor, &forth, &back)?;
    let mut line = Tree::from_snapshot(base);
    line.publish(editor);
    back.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Numbered { version: line.snapshot(), forth, back })
}

/// Those that are there, in the order of their paths. No two siblings get one key: who has it
/// already, or is told of twice, gets a key that nobody gives, as one that is not there on the
/// other side: beside its own position, since it may be brought back there with what is around it;
/// else a name.
fn distinct(root: Node<'_>, told: &[Renumbered]) -> Vec<Renumbered> {
    let mut keys: BTreeMap<Path, Key> = BTreeMap::new();
    for Renumbered { path, key } in told {
        if path.last().is_some_and(|own| own != key) && root.at(path).is_ok() {
            keys.insert(path.clone(), key.clone());
        }
    }
    let (mut taken, mut aside) = (HashSet::new(), Vec::new());
    for (path, key) in &keys {
        let place = beside(path, key);
        if taken.contains(&place) {
            aside.push(path.clone());
        } else if !keys.contains_key(&place) && root.at(&place).is_ok() {
            aside.push(place.clone());
        }
        taken.insert(place);
    }
    let mut names = names("~");
    for path in aside {
        // One may have gone out of the way in a merge before, and be told with such a name.
        let is_free = |name: &Key| {
            let place = beside(&path, name);
            !taken.contains(&place) && root.at(&place).is_err()
        };
        let key = signed(&path).filter(&is_free).or_else(|| names.find(&is_free));
        keys.extend(key.map(|key| (path, key)));
    }
    keys.into_iter().map(|(path, key)| Renumbered { path, key }).collect()
}

/// The position of a node with the signature of a writer that is none.
fn signed(path: &Path) -> Option<Key> {
    let Some(Key::Position(position)) = path.last() else { return None };
    position.signed(&Signature::new(u64::MAX, 0)).ok().map(Key::Position)
}

fn names(begin: &'static str) -> impl Iterator<Item = Key> {
    (0_u64..).map(move |number| Key::from(format!("{begin}{number}")))
}

/// The path of a sibling.
fn beside(path: &Path, key: &Key) -> Path {
    let mut path = path.clone();
    path.pop();
    path.push(key.clone());
    path
}

/// The same nodes, one for one, as they are seen from where they have their other keys.
fn turned(forth: &[Renumbered]) -> Vec<Renumbered> {
    // Those that the next one is in.
    let mut above: Vec<&Renumbered> = Vec::new();
    let turned = forth.iter().map(|node| {
        while above.last().is_some_and(|last| !node.path.starts_with(&last.path)) {
            above.pop();
        }
        above.push(node);
        let mut path = node.path.to_vec();
        for one in &above {
            path[one.path.len() - 1] = one.key.clone();
        }
        let key = node.path.last().expect("the root has no key").clone();
        Renumbered { path: path.into(), key }
    });
    turned.collect()
}

/// Gives nodes their other keys.
fn renumber(
    editor: &mut Editor,
    forth: &[Renumbered],
    back: &[Renumbered],
) -> Result<(), EditError> {
    let (mut names, mut waiting) = (names("~~"), Vec::new());
    // What is further down first, so that the paths of those that are left stay what they are.
    for (node, there) in forth.iter().zip(back).rev() {
        let (_, parent) = node.path.split_last().expect("the root has no key");
        if !has(editor, parent, &node.key) {
            editor.move_node(&node.path, parent, &node.key)?;
            continue;
        }
        // Who has the key is still to get another one.
        let name = names.find(|name| !has(editor, parent, name));
        let name = name.expect("there are more names than children");
        editor.move_node(&node.path, parent, &name)?;
        waiting.push((beside(&there.path, &name), &there.path));
    }
    // Now what is further up first: the paths are those that there will be.
    for (from, to) in waiting.into_iter().rev() {
        let (key, parent) = to.split_last().expect("the root has no key");
        editor.move_node(&from, parent, key)?;
    }
    Ok(())
}

fn has(editor: &Editor, parent: &[Key], key: &Key) -> bool {
    editor.root().at(parent).is_ok_and(|parent| parent.child(key).is_some())
}
