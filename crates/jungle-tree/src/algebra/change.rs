//! Changes, lists of them, and the subtrees they hold.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::block::Content;
use crate::key::Key;
use crate::node::{NoSuchNode, Node};
use crate::path::Path;
use crate::snapshot::Snapshot;
use crate::value::Value;

/// One thing that happened to a tree.
///
/// ```
/// use jungle_tree::Change;
/// let change = Change::AttributePut {
///     path: "/posts/3".parse()?,
///     key: "title".into(),
///     value: "hello".into(),
/// };
/// assert_eq!(change.to_string(), r#"~ /posts/3 @title = "hello""#);
/// # Ok::<(), jungle_tree::ParsePathError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A bare child was added.
    ChildAdded {
        /// Its path.
        path: Path,
    },
    /// A child was removed, with all below it.
    ChildRemoved {
        /// Its path.
        path: Path,
    },
    /// An attribute was put.
    AttributePut {
        /// The node.
        path: Path,
        /// The key of the attribute.
        key: Box<str>,
        /// Its value from now on.
        value: Value,
    },
    /// An attribute was removed.
    AttributeRemoved {
        /// The node.
        path: Path,
        /// The key of the attribute.
        key: Box<str>,
    },
    /// A node was moved, with all below it.
    Moved {
        /// Its path before.
        from: Path,
        /// Its path after.
        to: Path,
    },
    /// The node now holds exactly this; it was created if it was not there.
    SubtreeSet {
        /// The node.
        path: Path,
        /// What it holds.
        subtree: Subtree,
    },
}

impl Change {
    /// The node it is about: of a move, where it went.
    ///
    /// ```
    /// use jungle_tree::Change;
    /// let moved = Change::Moved { from: [0].into(), to: ["archive"].into() };
    /// assert_eq!(moved.path().to_string(), "/archive");
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Change::ChildAdded { path }
            | Change::ChildRemoved { path }
            | Change::AttributePut { path, .. }
            | Change::AttributeRemoved { path, .. }
            | Change::Moved { to: path, .. }
            | Change::SubtreeSet { path, .. } => path,
        }
    }

    /// Does it concern the node at `path` or what is below: is it a change there, or of something
    /// that the node is in?
    ///
    /// ```
    /// use jungle_tree::Change;
    /// let change = Change::ChildRemoved { path: [1].into() };
    /// assert!(change.concerns(&[]) && change.concerns(&[1.into(), 2.into()]));
    /// assert!(!change.concerns(&[2.into()]));
    /// ```
    #[must_use]
    pub fn concerns(&self, path: &[Key]) -> bool {
        let is_below = |other: &[Key]| other.starts_with(path);
        match self {
            Change::AttributePut { path, .. } | Change::AttributeRemoved { path, .. } => {
                is_below(path)
            }
            Change::Moved { from, to } => {
                [from, to].iter().any(|end| is_below(end) || path.starts_with(end))
            }
            other => is_below(other.path()) || path.starts_with(other.path()),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::ChildAdded { path } => write!(f, "+ {path}"),
            Change::ChildRemoved { path } => write!(f, "- {path}"),
            Change::AttributePut { path, key, value } => write!(f, "~ {path} @{key} = {value}"),
            Change::AttributeRemoved { path, key } => write!(f, "~ {path} @{key} removed"),
            Change::Moved { from, to } => write!(f, "> {from} -> {to}"),
            Change::SubtreeSet { path, subtree } => {
                let nodes = subtree.node().subtree_count();
                let unit = if nodes == 1 { "node" } else { "nodes" };
                write!(f, "= {path} ({nodes} {unit})")
            }
        }
    }
}

/// Changes, in the order in which they happened: the path of each is meant after those before it.
///
/// It can be used as the slice of its changes, and prints one line a change.
///
/// ```
/// use jungle_tree::{Arena, Tree, diff};
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// let post = [tree.add_child(&[])?];
/// tree.put_attribute(&post, "title", "hello")?;
/// let changes = diff(&before, &tree.snapshot());
/// assert_eq!(changes.len(), 2);
/// assert_eq!(changes.to_string(), "+ /0\n~ /0 @title = \"hello\"\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeSet(Vec<Change>);

impl ChangeSet {
    /// No changes.
    #[must_use]
    pub fn new() -> ChangeSet {
        ChangeSet::default()
    }

    /// Adds a change behind the others.
    ///
    /// ```
    /// use jungle_tree::{Change, ChangeSet};
    /// let mut changes = ChangeSet::new();
    /// changes.push(Change::ChildAdded { path: [0].into() });
    /// changes.push(Change::ChildRemoved { path: [0].into() });
    /// assert_eq!(changes.to_string(), "+ /0\n- /0\n");
    /// ```
    pub fn push(&mut self, change: Change) {
        self.0.push(change);
    }

    /// The changes, as a vector.
    #[must_use]
    pub fn into_vec(self) -> Vec<Change> {
        self.0
    }
}

impl Deref for ChangeSet {
    type Target = [Change];

    fn deref(&self) -> &[Change] {
        &self.0
    }
}

impl From<Vec<Change>> for ChangeSet {
    fn from(changes: Vec<Change>) -> ChangeSet {
        ChangeSet(changes)
    }
}

impl FromIterator<Change> for ChangeSet {
    fn from_iter<I: IntoIterator<Item = Change>>(changes: I) -> ChangeSet {
        ChangeSet(changes.into_iter().collect())
    }
}

impl Extend<Change> for ChangeSet {
    fn extend<I: IntoIterator<Item = Change>>(&mut self, changes: I) {
        self.0.extend(changes);
    }
}

impl IntoIterator for ChangeSet {
    type Item = Change;
    type IntoIter = std::vec::IntoIter<Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ChangeSet {
    type Item = &'a Change;
    type IntoIter = std::slice::Iter<'a, Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for ChangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|change| writeln!(f, "{change}"))
    }
}

/// A subtree of some version, held for as long as this lives: it costs the same whatever the size.
///
/// Two are equal when they hold the same content, wherever it lies.
///
/// ```
/// use jungle_tree::{Arena, Subtree, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let child = tree.add_child(&[])?;
/// let subtree = Subtree::new(&tree.snapshot(), &[child.clone()])?;
/// tree.put_attribute(&[child], "n", 1)?;
/// assert!(!subtree.node().has_attributes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Subtree {
    /// Holds the version in which `content` lies.
    snapshot: Arc<Snapshot>,
    content: Content,
}

impl Subtree {
    /// The subtree of the node at `path`.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn new(snapshot: &Snapshot, path: &[Key]) -> Result<Subtree, NoSuchNode> {
        let content = snapshot.root().at(path)?.content();
        let snapshot = Arc::new(snapshot.clone());
        Ok(Subtree { snapshot, content })
    }

    /// The subtree of a node that was found in `snapshot`.
    pub(crate) fn of(snapshot: &Arc<Snapshot>, node: Node<'_>) -> Subtree {
        Subtree { snapshot: Arc::clone(snapshot), content: node.content() }
    }

    /// The topmost node of the subtree.
    #[must_use]
    pub fn node(&self) -> Node<'_> {
        Node::new(self.snapshot.cell(), self.content)
    }

    /// The subtree of a child, if there is one of this key.
    pub(crate) fn child(&self, key: &Key) -> Option<Subtree> {
        let node = self.node().child(key)?;
        Some(Subtree::of(&self.snapshot, node))
    }
}

impl PartialEq for Subtree {
    fn eq(&self, other: &Subtree) -> bool {
        self.node().is_equal(other.node())
    }
}

impl fmt::Debug for Subtree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subtree")
            .field("version", &self.snapshot.version())
            .field("nodes", &self.node().subtree_count())
            .finish()
    }
}
