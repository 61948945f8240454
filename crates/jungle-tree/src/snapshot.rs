//! Looking at one version: held for ever ([`Snapshot`]) or for a short read ([`Reading`]).

use std::fmt;
use std::sync::Arc;

use crate::arena::Arena;
use crate::block::{self, Header};
use crate::line::LineCell;
use crate::node::Node;
use crate::root::Pinned;
use crate::tree::VersionId;

/// One version of a tree, complete and unchanging, for as long as it is held.
///
/// A snapshot costs a slot in a table and no memory besides: what it shares with other versions
/// is shared. Readers of a snapshot never wait and are never waited for.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// tree.add_child(&[])?;
/// assert_eq!(before.root().subtree_count(), 1);
/// assert_eq!(tree.snapshot().root().subtree_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Snapshot {
    cell: Arc<LineCell>,
    pinned: Pinned,
}

impl Snapshot {
    #[inline]
    pub(crate) fn newest(cell: &Arc<LineCell>) -> Snapshot {
        Snapshot { pinned: cell.pin(), cell: Arc::clone(cell) }
    }

    /// A version that something else holds while this is called.
    pub(crate) fn held<const N: usize>(
        cell: &Arc<LineCell>,
        versions: [VersionId; N],
    ) -> [Snapshot; N] {
        cell.pin_held(versions).map(|pinned| Snapshot { pinned, cell: Arc::clone(cell) })
    }

    /// The root node.
    #[must_use]
    #[inline]
    pub fn root(&self) -> Node<'_> {
        root(&self.cell, self.pinned.handle)
    }

    /// The number of this version: it grows along a tree's versions, and is used once in an arena.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let before = tree.snapshot();
    /// tree.add_child(&[])?;
    /// assert!(before.version() < tree.snapshot().version());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> u64 {
        self.pinned.version
    }

    /// Where this version lies.
    ///
    /// ```
    /// use jungle_tree::{Arena, Keep, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.keep(Keep::All);
    /// let old = tree.snapshot().version_id();
    /// tree.add_child(&[])?;
    /// assert!(!tree.reader().held(old).root().has_children());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version_id(&self) -> VersionId {
        VersionId { handle: self.pinned.handle, version: self.pinned.version }
    }

    /// The arena it lives in.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut notes = Tree::new(&tree.snapshot().arena());
    /// // What is in the same arena can be put in without a copy.
    /// notes.edit(|edit| edit.insert_subtree(&[], &"tree".into(), tree.snapshot().root()))?;
    /// assert_eq!(notes.read().root().subtree_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn arena(&self) -> Arena {
        Arena::from_inner(Arc::clone(&self.cell.arena))
    }

    /// Do both show the very same version? Those of different arenas never do, whatever their
    /// numbers.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let (one, other) = (Tree::new(&Arena::new()?), Tree::new(&Arena::new()?));
    /// assert!(one.snapshot().is_same(&one.snapshot()));
    /// assert_eq!(one.snapshot().version(), other.snapshot().version());
    /// assert!(!one.snapshot().is_same(&other.snapshot()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_same(&self, other: &Snapshot) -> bool {
        self.cell.shares_arena(&other.cell) && self.pinned.version == other.pinned.version
    }

    /// Does it lie in this arena? What lies in another one can neither be compared with what is in
    /// this one, nor follow it in a tree.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let (here, elsewhere) = (Arena::new()?, Arena::new()?);
    /// let snapshot = Tree::new(&here).snapshot();
    /// assert!(snapshot.is_in(&here) && !snapshot.is_in(&elsewhere));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_in(&self, arena: &Arena) -> bool {
        Arc::ptr_eq(&self.cell.arena, arena.inner())
    }

    pub(crate) fn cell(&self) -> &Arc<LineCell> {
        &self.cell
    }

    pub(crate) fn handle(&self) -> u32 {
        self.pinned.handle
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        let [again] = Snapshot::held(&self.cell, [self.version_id()]);
        again
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.cell.arena.pins.clear(self.pinned.slot);
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("version", &self.pinned.version)
            .field("nodes", &self.root().subtree_count())
            .finish()
    }
}

/// The newest version at the time of the call, for a short read: it touches no shared count.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "stars", 3)?;
/// let reading = tree.read();
/// let stars = reading.root().attribute("stars").and_then(|stars| stars.as_int());
/// assert_eq!(stars, Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reading<'t> {
    cell: &'t LineCell,
    pinned: Pinned,
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl<'t> Reading<'t> {
    #[inline]
    pub(crate) fn new(cell: &'t LineCell) -> Reading<'t> {
        Reading { cell, pinned: cell.pin() }
    }

    /// The root node.
    #[must_use]
    #[inline]
    pub fn root(&self) -> Node<'_> {
        root(self.cell, self.pinned.handle)
    }

    /// The number of this version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.pinned.version
    }
}

impl Drop for Reading<'_> {
    #[inline]
    fn drop(&mut self) {
        self.cell.arena.pins.clear(self.pinned.slot);
    }
}

#[inline]
pub(crate) fn root(cell: &LineCell, handle: u32) -> Node<'_> {
    let header = Header::load(cell.memory(), handle);
    Node::new(cell, block::content(cell.memory(), handle, header, 0))
}
