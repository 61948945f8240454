//! A line of versions with one writer, and any number of readers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::arena::{Arena, BIRTH_OLDEST};
use crate::block::{self, Header};
use crate::edit::{Edit, EditError, Editor, Place};
use crate::key::{Key, Position};
use crate::line::{History, Line, LineCell, is_queued};
use crate::snapshot::{self, Reading, Snapshot};
use crate::value::ValueRef;

/// A tree that is edited: a line of versions, the newest of which is its head.
///
/// Each editing call makes one new version by copying the path from the changed node to the root,
/// and publishes it; [`Tree::edit`] makes one version of many edits. Any version can be held by a
/// [`Snapshot`]; what no held version can see is reused at once. A version that nobody has looked
/// at, and nobody else can ([`Tree::reader`] was not asked for, and no [image](Arena::save) made),
/// is not copied: the next call goes on with it, under the same number.
///
/// ```
/// use jungle_tree::{Arena, Path, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let key = tree.add_child(&[])?;
/// let path = Path::root().join(key);
/// tree.put_attribute(&path, "title", "hello")?;
/// let seen = tree.snapshot();
/// tree.remove(&path)?;
/// assert_eq!(seen.root().at(&path)?.attribute("title").unwrap().as_text(), Some("hello"));
/// assert_eq!(tree.snapshot().root().child_count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tree {
    cell: Arc<LineCell>,
    line: Line,
    /// So many nodes it has of another tree, where they stay.
    shared: u64,
}

/// The reading end of a tree, for any thread: see [`Tree::reader`].
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let reader = tree.reader();
/// tree.add_child(&[])?;
/// let held = reader.snapshot();
/// tree.add_child(&[])?;
/// assert_eq!(held.root().child_count(), 1);
/// assert_eq!(reader.read().root().child_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TreeReader {
    cell: Arc<LineCell>,
}

impl TreeReader {
    /// Holds the newest version.
    #[must_use]
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::newest(&self.cell)
    }

    /// Looks at the newest version, for a short read.
    #[must_use]
    #[inline]
    pub fn read(&self) -> Reading<'_> {
        Reading::new(&self.cell)
    }

    /// Holds a version that is held already by the history of the tree; whoever calls makes sure
    /// that it is ([`VersionId`] is given out for such versions).
    #[must_use]
    pub fn held(&self, id: VersionId) -> Snapshot {
        let [held] = self.held_all([id]);
        held
    }

    /// As [`held`](TreeReader::held), of several: in less time than one after the other.
    ///
    /// ```
    /// use jungle_tree::{Arena, Keep, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.keep(Keep::All);
    /// let before = tree.version_id();
    /// tree.add_child(&[])?;
    /// let both = tree.reader().held_all([before, tree.version_id()]);
    /// assert_eq!(both.map(|version| version.root().child_count()), [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn held_all<const N: usize>(&self, ids: [VersionId; N]) -> [Snapshot; N] {
        Snapshot::held(&self.cell, ids)
    }
}

impl fmt::Debug for TreeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeReader({})", self.read().version())
    }
}

/// Where a version lies: what a history keeps of it. It does not hold the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VersionId {
    pub(crate) handle: u32,
    pub(crate) version: u64,
}

impl VersionId {
    /// The number of the version.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let before = tree.snapshot();
    /// tree.add_child(&[])?;
    /// assert!(tree.version_id().version() > before.version_id().version());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(self) -> u64 {
        self.version
    }

    /// The block of its root and its number, to be saved. They mean something only in the arena
    /// they came from, or in what was reopened from its image.
    #[must_use]
    pub fn to_parts(self) -> (u32, u64) {
        (self.handle, self.version)
    }

    /// What [`to_parts`](VersionId::to_parts) took apart.
    #[must_use]
    pub fn from_parts(handle: u32, version: u64) -> VersionId {
        VersionId { handle, version }
    }

    /// Can it be a version of this arena at all? `false` of one that was saved with another arena,
    /// for the most part.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let (arena, other) = (Arena::new()?, Arena::new()?);
    /// let mut tree = Tree::new(&arena);
    /// tree.add_child(&[])?;
    /// assert!(tree.version_id().is_drawn(&arena));
    /// assert!(!tree.version_id().is_drawn(&other));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_drawn(self, arena: &Arena) -> bool {
        self.handle != 0 && (1..arena.inner().versions_drawn()).contains(&self.version)
    }
}

/// Which versions of a tree stay readable without a [`Snapshot`] that holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// None but the newest.
    Newest,
    /// All.
    All,
    /// This version and every later one.
    From(VersionId),
}

impl Tree {
    /// A tree of one bare node.
    #[must_use]
    pub fn new(arena: &Arena) -> Tree {
        let inner = arena.inner();
        let mut lane = inner.lane();
        let version = inner.draw_versions(1);
        let root = Edit::empty(inner.memory(), lane.allocator(), version);
        let cell = LineCell::new(Arc::clone(inner), root, version, 0);
        Tree { cell, line: Line::default(), shared: 0 }
    }

    /// A tree that begins with this version, in its arena; they share all of it.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "title", "hello")?;
    /// let mut branch = Tree::from_snapshot(&tree.snapshot());
    /// branch.put_attribute(&[], "title", "draft")?;
    /// assert_eq!(tree.read().root().attribute("title"), Some("hello".into()));
    /// assert_eq!(branch.read().root().attribute("title"), Some("draft".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_snapshot(snapshot: &Snapshot) -> Tree {
        let arena = &snapshot.cell().arena;
        let mut lane = arena.lane();
        // From now on the snapshot's line is not alone in seeing what it sees now.
        snapshot.cell().share();
        let version = arena.draw_versions(1);
        let root = Edit::copy_root(arena.memory(), lane.allocator(), version, snapshot.handle());
        // What was born before is not this line's own.
        let cell = LineCell::new(Arc::clone(arena), root, version, version - 1);
        cell.set_owner(snapshot.cell().owner());
        let shared = u64::from(Header::load(arena.memory(), root).count());
        Tree { cell, line: Line::default(), shared }
    }

    /// A tree whose newest version is this very one, as saved and found again: `None` when no root
    /// of that version lies there. Whoever calls makes sure that it is a version of this arena
    /// which was not let go, and that no other tree goes on from it.
    ///
    /// The line itself never reuses anything of what was there before, which may be seen from
    /// elsewhere; tracing does, once nobody keeps it.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree, VersionId};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.add_child(&[])?;
    /// let (handle, version) = tree.version_id().to_parts();
    /// drop(tree);
    /// let mut again = Tree::from_version(&arena, VersionId::from_parts(handle, version)).unwrap();
    /// assert_eq!(again.read().version(), version);
    /// again.add_child(&[])?;
    /// assert_eq!(again.read().root().child_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_version(arena: &Arena, id: VersionId) -> Option<Tree> {
        let inner = arena.inner();
        let (memory, VersionId { handle, version }) = (inner.memory(), id);
        let mut header = Header::load(memory, handle);
        // The line that went on from here may have had it in its queue, and is gone; in an image
        // it is then as old as can be.
        if is_queued(header.birth()) || header.birth() == BIRTH_OLDEST {
            header = header.with_birth(version);
        }
        // A reader of the head waits for the block to have the version that the head says.
        if !id.is_drawn(arena) || header.birth() != version {
            return None;
        }
        header.store(memory, handle);
        // Somebody may hold this version, or come back to it.
        inner.seen_before.fetch_max(version + 1, Ordering::SeqCst);
        let floor = inner.draw_versions(1);
        let cell = LineCell::new(Arc::clone(inner), handle, version, floor);
        Some(Tree { cell, line: Line::default(), shared: 0 })
    }

    /// Counts under this number the attribute keys that are new in the arena when an [`Editor`] of
    /// this tree puts them, or one of a tree that is made [from a version](Tree::from_snapshot) of
    /// it from now on. An arena holds 1,048,576 keys and never gives them back, so a tree may have
    /// [a share](Editor::keys_max) of them. Edits of one call by the tree itself are not counted,
    /// nor is anything under 0. [`Arena::keys_brought`] tells how many there are, and so does an
    /// image where they are 1,024 or more.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.count_keys(7);
    /// let mut put = |key: &str| {
    ///     tree.edit(|editor| {
    ///         editor.keys_max(1);
    ///         editor.put_attribute(&[], key, 1)
    ///     })
    /// };
    /// put("n")?;
    /// assert_eq!(put("m"), Err(EditError::TooManyKeysOfTree { keys: 1, keys_max: 1 }));
    /// put("n")?;
    /// assert_eq!(arena.keys_brought(7), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count_keys(&mut self, owner: u64) {
        self.cell.set_owner(owner);
    }

    /// Holds the newest version.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let before = tree.snapshot();
    /// tree.add_child(&[])?;
    /// assert_eq!([before, tree.snapshot()].map(|version| version.root().child_count()), [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::newest(&self.cell)
    }

    /// Looks at the newest version, for a short read.
    #[must_use]
    #[inline]
    pub fn read(&self) -> Reading<'_> {
        Reading::new(&self.cell)
    }

    /// A handle for reading from other threads.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let reader = tree.reader();
    /// let waiting = std::thread::spawn(move || loop {
    ///     let found = reader.snapshot();
    ///     if found.root().has_children() {
    ///         return found.root().child_count();
    ///     }
    /// });
    /// tree.add_child(&[])?;
    /// assert_eq!(waiting.join().unwrap(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reader(&self) -> TreeReader {
        TreeReader { cell: Arc::clone(&self.cell) }
    }

    /// The arena it lives in.
    #[must_use]
    pub fn arena(&self) -> Arena {
        Arena::from_inner(Arc::clone(&self.cell.arena))
    }

    /// Where the newest version lies.
    #[must_use]
    pub fn version_id(&self) -> VersionId {
        let handle = self.cell.head();
        VersionId { handle, version: block::birth(self.cell.memory(), handle) }
    }

    /// Sets which old versions stay readable ([`TreeReader::held`]); at first only the newest.
    /// What is no longer kept is reused, as far as no snapshot holds it; what is let go after
    /// [`Keep::All`], at the next [`Arena::collect`].
    ///
    /// ```
    /// use jungle_tree::{Arena, Keep, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.keep(Keep::All);
    /// let mut history = vec![tree.version_id()];
    /// for _ in 0..3 {
    ///     tree.add_child(&[])?;
    ///     history.push(tree.version_id());
    /// }
    /// let reader = tree.reader();
    /// assert_eq!(reader.held(history[1]).root().child_count(), 1);
    /// tree.keep(Keep::From(history[2]));
    /// assert_eq!(reader.held(history[2]).root().child_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep(&mut self, keep: Keep) {
        self.keep_in_slices(keep, usize::MAX);
    }

    /// As [`Tree::keep`], and reuses no more than `most` blocks and values of what is no longer
    /// kept, nor held; tells whether it went through that many. Then there may be more of them, for
    /// another call: so what takes long is done in parts.
    ///
    /// ```
    /// use jungle_tree::{Arena, Keep, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.edit(|editor| editor.cursor(&[])?.add_children(1_000).map(drop))?;
    /// let held = tree.snapshot();
    /// tree.edit(|editor| {
    ///     (0..1_000_u64).try_for_each(|n| editor.add_child(&[n.into()]).map(drop))
    /// })?;
    /// drop(held);
    /// let mut slices = 1;
    /// while tree.keep_in_slices(Keep::Newest, 10) {
    ///     slices += 1;
    /// }
    /// // Of blocks with 16 children each 63 were replaced, and some above them.
    /// assert!(slices > 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_in_slices(&mut self, keep: Keep, most: usize) -> bool {
        let history = match keep {
            Keep::Newest => History::None,
            Keep::All => History::All,
            Keep::From(id) => History::From(id.version),
        };
        let mut lane = self.cell.arena.lane();
        self.line.set_history(&self.cell, history);
        self.line.reclaim_some(&self.cell, lane.allocator(), most.max(1))
    }

    /// Reuses now what nobody can see any more, rather than at some later edit.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.put_attribute(&[], "text", "x".repeat(1000).as_str())?;
    /// let held = tree.snapshot();
    /// tree.remove_attribute(&[], "text")?;
    /// drop(held);
    /// tree.reclaim();
    /// // Nothing is left for a collection.
    /// assert_eq!(arena.collect().payload_bytes, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reclaim(&mut self) {
        let mut lane = self.cell.arena.lane();
        self.line.reclaim(&self.cell, lane.allocator());
    }

    /// Leaves to the next [`Arena::collect`] what waits for a version that somebody holds, of
    /// whatever tree, but no more than `most` blocks and values; tells whether it was that many.
    /// Then there may be more. A collection finds out whether that version has any of it; what it
    /// has waits for the collection after it was let go.
    ///
    /// ```
    /// use jungle_tree::{Arena, Keep, Tree};
    /// let arena = Arena::new()?;
    /// let (mut tree, mut other) = (Tree::new(&arena), Tree::new(&arena));
    /// tree.edit(|editor| editor.put_attribute(&[], "text", "x".repeat(1000).as_str()))?;
    /// let held = tree.snapshot();
    /// other.edit(|editor| editor.add_child(&[]))?;
    /// let of_other = other.snapshot();
    /// tree.edit(|editor| editor.remove_attribute(&[], "text"))?;
    /// drop(held);
    /// // It lies between the two versions of the tree, and so may have something of the first.
    /// tree.keep(Keep::Newest);
    /// assert_eq!(arena.collect().payload_bytes, 0);
    /// while tree.leave_blocked(1_000) {}
    /// assert!(arena.collect().payload_bytes >= 1000);
    /// assert_eq!(of_other.root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leave_blocked(&mut self, most: usize) -> bool {
        self.line.leave_blocked(&self.cell, most.max(1))
    }

    /// Makes one new version of all the edits of `f`, or none when it fails.
    ///
    /// # Errors
    /// What `f` says.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let before = tree.version_id();
    /// let refused = tree.edit(|editor| {
    ///     editor.add_child(&[])?;
    ///     editor.remove(&[7.into()])
    /// });
    /// assert!(matches!(refused, Err(EditError::NoSuchNode { .. })));
    /// assert_eq!(tree.version_id(), before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit<T, E>(&mut self, f: impl FnOnce(&mut Editor) -> Result<T, E>) -> Result<T, E> {
        let mut editor = Editor::new(self.snapshot());
        let value = f(&mut editor)?;
        self.publish(editor);
        Ok(value)
    }

    /// Publishes what an editor made as the newest version, whatever was the newest before. An
    /// editor that changed nothing of the newest version makes none.
    ///
    /// # Panics
    /// When the editor works in another arena.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.cursor(&[])?.add_children(10)?;
    /// tree.publish(editor);
    /// assert_eq!(tree.read().root().child_count(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn publish(&mut self, editor: Editor) {
        editor.publish(&self.cell, &mut self.line);
    }

    /// One edit: short, so it borrows an allocator for just as long.
    #[inline(always)]
    fn one<T>(
        &mut self,
        f: impl FnOnce(&mut Edit<'_>) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let Tree { cell, line, .. } = self;
        let mut lane = cell.arena.lane();
        let allocator = lane.allocator();
        let head = cell.head();
        let unseen = line.unseen_version(cell);
        let version = unseen.unwrap_or_else(|| line.next_version(cell));
        let mut edit = Edit::once(cell.memory(), allocator, version, head);
        edit.forget();
        // Left behind by an edit that a failed load has ended.
        edit.allocator.buffers.dead.clear();
        let value = match f(&mut edit) {
            Ok(value) => value,
            Err(error) => {
                // Refused before anything was changed.
                edit.forget();
                return Err(error);
            }
        };
        edit.leave_all();
        let root = edit.root;
        if root != head || !allocator.buffers.dead.is_empty() {
            let mut dead = std::mem::take(&mut allocator.buffers.dead);
            line.publish(cell, root, version, &mut dead, allocator);
            allocator.buffers.dead = dead;
        }
        Ok(value)
    }

    /// Adds an empty child to the node at `path`; its position counts up and is never used again.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let first = tree.add_child(&[])?;
    /// let below = tree.add_child(&[first.clone()])?;
    /// assert!(tree.read().root().at(&[first, below]).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn add_child(&mut self, path: &[Key]) -> Result<Key, EditError> {
        self.one(|edit| edit.op_add_child(path))
    }

    /// Adds an empty child with a key of the caller's.
    ///
    /// # Errors
    /// When there is no such node, the key is taken or beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.insert_child(&[], &"settings".into())?;
    /// assert!(tree.read().root().child("settings").is_some());
    /// assert!(tree.insert_child(&[], &"settings".into()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_child(&mut self, path: &[Key], key: &Key) -> Result<(), EditError> {
        self.one(|edit| edit.op_insert_child(path, key))
    }

    /// Removes the node at `path` and all below it. Its siblings keep their keys.
    ///
    /// # Errors
    /// When there is no such node, it is the root, or there is no room for what is above it without
    /// it: more is left for that than what is added leaves.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let chapter = tree.add_child(&[])?;
    /// tree.add_child(&[chapter.clone()])?;
    /// tree.remove(&[chapter])?;
    /// assert_eq!(tree.read().root().subtree_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.one(|edit| edit.op_remove(path))
    }

    /// Puts an attribute of the node at `path`.
    ///
    /// # Errors
    /// When there is no such node, the key or the value is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "title", "hello")?;
    /// tree.put_attribute(&[], "stars", 3)?;
    /// assert_eq!(tree.read().root().attribute("stars"), Some(3.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn put_attribute<'v>(
        &mut self,
        path: &[Key],
        key: &str,
        value: impl Into<ValueRef<'v>>,
    ) -> Result<(), EditError> {
        let value = value.into();
        self.one(|edit| edit.op_put_attribute(path, key, value))
    }

    /// Removes an attribute of the node at `path`; `false` when it has none of this key.
    ///
    /// # Errors
    /// When there is no such node, or no room for the other attributes, as in [`Tree::remove`].
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "title", "hello")?;
    /// assert!(tree.remove_attribute(&[], "title")?);
    /// assert!(!tree.read().root().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_attribute(&mut self, path: &[Key], key: &str) -> Result<bool, EditError> {
        self.one(|edit| edit.op_remove_attribute(path, key))
    }

    /// Adds an empty child right in front of a sibling.
    ///
    /// # Errors
    /// When there is no such node, or the sibling has a name.
    ///
    /// ```
    /// use jungle_tree::{Arena, Position, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// assert_eq!(tree.insert_before(&[], &Position::new(1)?)?.to_string(), "0.80");
    /// assert_eq!(tree.insert_before(&[], &Position::new(0)?)?.to_string(), "-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_before(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.one(|edit| edit.op_add(parent, Place::Before(sibling), None))
    }

    /// Adds an empty child right behind a sibling.
    ///
    /// # Errors
    /// When there is no such node, or the sibling has a name.
    ///
    /// ```
    /// use jungle_tree::{Arena, Position, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// assert_eq!(tree.insert_after(&[], &Position::new(0)?)?.to_string(), "0.80");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_after(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.one(|edit| edit.op_add(parent, Place::After(sibling), None))
    }

    /// Puts many attributes, each in a version of its own, in order. Paths further ahead in the
    /// list are brought into the cache while the earlier ones are written, so a writer with a
    /// queue works at more than the speed of single calls.
    ///
    /// # Errors
    /// At the first put that is refused; those before it are published.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let (first, second) = ([0.into()], [1.into()]);
    /// tree.put_attributes_each(&[(&first, "n", 1.into()), (&second, "n", 2.into())])?;
    /// assert_eq!(tree.read().root().at(&second)?.attribute("n"), Some(2.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_attributes_each(
        &mut self,
        puts: &[(&[Key], &str, ValueRef<'_>)],
    ) -> Result<(), EditError> {
        const AHEAD: usize = 32;
        for group in puts.chunks(AHEAD) {
            let mut paths: [&[Key]; AHEAD] = [&[]; AHEAD];
            paths.iter_mut().zip(group).for_each(|(path, put)| *path = put.0);
            // Not pinned: only the owner of the line replaces its head.
            snapshot::root(&self.cell, self.cell.head()).prefetch_replaced(&paths[..group.len()]);
            for &(path, key, value) in group {
                self.one(|edit| edit.op_put_attribute(path, key, value))?;
            }
        }
        Ok(())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.line.end(&self.cell);
        // Nothing is loaded by what is dropped: if that failed, nobody could be told.
        let (memory, root) = (self.cell.memory(), self.cell.head());
        if block::is_loaded(memory, root) {
            let nodes = u64::from(Header::load(memory, root).count());
            self.cell.arena.add_garbage(nodes.saturating_sub(self.shared) * 8);
        }
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reading = self.read();
        f.debug_struct("Tree")
            .field("version", &reading.version())
            .field("nodes", &reading.root().subtree_count())
            .finish()
    }
}
