//! Many edits that become one version.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use super::{Cursor, Edit, EditError};
use crate::arena::Allocator;
use crate::block::{self, Content, Header, Record};
use crate::key::{Key, Position};
use crate::line::{Dead, Line, LineCell};
use crate::node::Node;
use crate::path::Path;
use crate::signature::Signature;
use crate::snapshot::Snapshot;
use crate::value::ValueRef;

/// A private copy of a version, being edited. Blocks it has copied once are changed in place from
/// then on, so many edits cost little more than the places they touch.
///
/// Nothing is visible to others until [`Tree::publish`](crate::Tree::publish); an editor that is
/// dropped leaves nothing behind.
///
/// ```
/// use jungle_tree::{Arena, Editor, Path, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let mut editor = Editor::new(tree.snapshot());
/// let child = editor.add_child(&[])?;
/// editor.put_attribute(&[child], "n", 1)?;
/// assert_eq!(editor.root().child_count(), 1);
/// assert_eq!(tree.read().root().child_count(), 0);
/// tree.publish(editor);
/// assert_eq!(tree.read().root().child_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Editor {
    base: Snapshot,
    version: u64,
    /// Was something of another line, or of an older version, put in?
    grafted: bool,
    /// In a cell, since a look at the root first brings the edit back to it.
    work: RefCell<Work>,
}

/// Where among its siblings a new child goes.
///
/// ```
/// use jungle_tree::{Arena, Editor, Key, Place, Tree};
/// let tree = Tree::new(&Arena::new()?);
/// let mut list = Editor::new(tree.snapshot());
/// list.add_child(&[])?;
/// list.add_child(&[])?;
/// list.add(&[], Place::Index(0), None)?;
/// let Key::Position(last) = list.add(&[], Place::Last, None)? else { unreachable!() };
/// list.add(&[], Place::Before(&last), None)?;
/// let keys = list.root().children().map(|(key, _)| key.to_string());
/// assert_eq!(keys.collect::<Vec<_>>(), ["-1", "0", "1", "1.80", "2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// Behind all that are there, and all that ever were.
    Last,
    /// Right in front of this one.
    Before(&'a Position),
    /// Right behind this one.
    After(&'a Position),
    /// So many positions are in front of it; behind the last when there are fewer.
    Index(u64),
}

/// What an editor works with.
struct Work {
    /// There until the editor ends.
    allocator: Option<Box<Allocator>>,
    root: u32,
}

impl Work {
    #[inline(always)]
    fn with<T>(&mut self, base: &Snapshot, version: u64, f: impl FnOnce(&mut Edit<'_>) -> T) -> T {
        let allocator = self.allocator.as_deref_mut().expect("there until the editor ends");
        let mut edit = Edit::new(base.cell().memory(), allocator, version, self.root);
        let value = f(&mut edit);
        self.root = edit.root;
        value
    }
}

impl Editor {
    /// An editor that begins with this version.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.add_child(&[])?;
    /// drop(editor); // Nobody sees it.
    /// assert!(!tree.read().root().has_children());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(base: Snapshot) -> Editor {
        let (mut allocator, version) = base.cell().arena.check_out();
        allocator.bringer.owner = base.cell().owner();
        let work = Work { allocator: Some(allocator), root: base.handle() };
        Editor { base, version, grafted: false, work: RefCell::new(work) }
    }

    /// Takes no attribute key that is new in the arena once so many have been brought in that are
    /// [counted](crate::Tree::count_keys) under the same number, by whatever editor; keys that are
    /// there it takes as ever. Without this it takes all, up to what an arena holds. Where they are
    /// not counted this changes nothing.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.count_keys(7);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.put_attribute(&[], "n", 1)?;
    /// editor.keys_max(1);
    /// assert!(editor.put_attribute(&[], "m", 1).is_err());
    /// editor.put_attribute(&[], "n", 2)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys_max(&mut self, keys_max: u32) {
        let allocator = self.work.get_mut().allocator.as_deref_mut();
        allocator.expect("there until the editor ends").bringer.keys_max = keys_max;
    }

    /// The version it began with.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.add_child(&[])?;
    /// let counts = [editor.base().root(), editor.root()].map(|root| root.child_count());
    /// assert_eq!(counts, [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// The root as edited so far.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        let (arena, root) = (self.base.cell().memory(), self.root_block());
        let content = block::content(arena, root, Header::load(arena, root), 0);
        Node::new(self.base.cell(), content)
    }

    /// Brings the edit back to the root, and gives the block that holds it.
    fn root_block(&self) -> u32 {
        let mut work = self.work.borrow_mut();
        work.with(&self.base, self.version, |edit| edit.leave_all());
        work.root
    }

    /// Has anything been edited?
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// assert!(!editor.is_changed());
    /// editor.put_attribute(&[], "n", 1)?;
    /// assert!(editor.is_changed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.root_block() != self.base.handle()
    }

    /// The node where the edit is.
    pub(super) fn node_here(&self) -> Node<'_> {
        let content = self.work.borrow_mut().with(&self.base, self.version, |edit| edit.here());
        Node::new(self.base.cell(), content)
    }

    /// Where the edit is.
    pub(super) fn position(&self) -> Path {
        self.work.borrow_mut().with(&self.base, self.version, |edit| edit.path().into())
    }

    #[inline(always)]
    pub(super) fn with<T>(&mut self, f: impl FnOnce(&mut Edit<'_>) -> T) -> T {
        self.work.get_mut().with(&self.base, self.version, f)
    }

    /// Adds an empty child to the node at `path`; its position counts up and is never used again.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let (first, second) = (editor.add_child(&[])?, editor.add_child(&[])?);
    /// editor.remove(&[second])?;
    /// let third = editor.add_child(&[])?;
    /// assert_eq!([first, third], [0.into(), 2.into()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn add_child(&mut self, path: &[Key]) -> Result<Key, EditError> {
        self.with(|edit| edit.op_add_child(path))
    }

    /// Adds a child with attributes; its position counts up and is never used again.
    ///
    /// # Errors
    /// When there is no such node, a key or a value is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let message = [("author", "ana".into()), ("stars", 3.into())];
    /// let key = editor.add_child_with(&[], &message)?;
    /// assert_eq!(editor.root().at(&[key])?.attribute("stars"), Some(3.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_child_with(
        &mut self,
        path: &[Key],
        attributes: &[(&str, ValueRef<'_>)],
    ) -> Result<Key, EditError> {
        self.with(|edit| {
            edit.go(path)?;
            edit.add_next_with(attributes)
        })
    }

    /// Adds an empty child with a key of the caller's.
    ///
    /// # Errors
    /// When there is no such node, the key is taken or beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Editor, Key, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.insert_child(&[], &Key::from("settings"))?;
    /// let refused = editor.insert_child(&[], &Key::from("settings"));
    /// assert!(matches!(refused, Err(EditError::ChildExists { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_child(&mut self, path: &[Key], key: &Key) -> Result<(), EditError> {
        self.with(|edit| edit.op_insert_child(path, key))
    }

    /// Adds an empty child right in front of a sibling.
    ///
    /// # Errors
    /// When there is no such node or sibling, or no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Position, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.cursor(&[])?.add_children(2)?;
    /// editor.insert_before(&[], &Position::new(1)?)?;
    /// editor.insert_before(&[], &Position::new(0)?)?;
    /// let keys: Vec<_> = editor.root().children().map(|(key, _)| key.to_string()).collect();
    /// assert_eq!(keys, ["-1", "0", "0.80", "1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_before(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.add(parent, Place::Before(sibling), None)
    }

    /// Adds an empty child right behind a sibling.
    ///
    /// # Errors
    /// When there is no such node or sibling, or no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Position, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.cursor(&[])?.add_children(2)?;
    /// let first = Position::new(0)?;
    /// let between = editor.insert_after(&[], &first)?;
    /// assert_eq!(between.to_string(), "0.80");
    /// // As a number, a fraction is not used again.
    /// editor.remove(&[between])?;
    /// assert_eq!(editor.insert_after(&[], &first)?.to_string(), "0.800101");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_after(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.add(parent, Place::After(sibling), None)
    }

    /// Adds an empty child so that it is the `index`-th among the positions (0: the first); behind
    /// the last when there are fewer. The place is found as by [`Node::children`]: next to
    /// nothing among a million that have no children of their own, else it may cost as much as to
    /// look at each sixteenth. Beside a sibling that is known
    /// ([`insert_before`](Editor::insert_before)) it always costs the same.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.cursor(&[])?.add_children(2)?;
    /// editor.insert_at(&[], 1)?;
    /// tree.publish(editor);
    /// let keys: Vec<_> = tree.snapshot().root().children().map(|c| c.0.to_string()).collect();
    /// assert_eq!(keys, ["0", "0.80", "1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_at(&mut self, parent: &[Key], index: u64) -> Result<Key, EditError> {
        self.add(parent, Place::Index(index), None)
    }

    /// The position that is the `index`-th of a node's children, if there are so many.
    fn position_at(&self, parent: &[Key], index: u64) -> Result<Option<Position>, EditError> {
        let node = self.root().at(parent).map_err(EditError::from)?;
        let found = node.children().nth(usize::try_from(index).unwrap_or(usize::MAX));
        Ok(found.and_then(|(key, _)| match key.to_key() {
            Key::Position(position) => Some(position),
            Key::Name(_) => None,
        }))
    }

    /// Adds an empty child in this place, at a position that the tree gives; with a signature it is
    /// one that nobody else gives, for writers who do not see each other.
    ///
    /// # Errors
    /// When there is no such node or sibling, or no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Place, Signature, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let [ours, theirs] = [1, 2].map(|writer| {
    ///     let mut editor = Editor::new(tree.snapshot());
    ///     editor.add(&[], Place::Index(1), Some(&Signature::new(writer, 0)))
    /// });
    /// assert_ne!(ours?, theirs?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(
        &mut self,
        parent: &[Key],
        place: Place<'_>,
        signature: Option<&Signature>,
    ) -> Result<Key, EditError> {
        let sibling;
        let place = match place {
            Place::Index(index) => {
                sibling = self.position_at(parent, index)?;
                sibling.as_ref().map_or(Place::Last, Place::Before)
            }
            place => place,
        };
        self.with(|edit| edit.op_add(parent, place, signature))
    }

    /// Removes the node at `path` and all below it. Its siblings keep their keys.
    ///
    /// # Errors
    /// When there is no such node, it is the root, or there is no room for what is above it without
    /// it: more is left for that than what is added leaves.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.cursor(&[])?.add_children(3)?;
    /// editor.remove(&[1.into()])?;
    /// let keys: Vec<_> = editor.root().children().map(|(key, _)| key.to_string()).collect();
    /// assert_eq!(keys, ["0", "2"]);
    /// assert_eq!(editor.remove(&[]), Err(EditError::Root));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.with(|edit| edit.op_remove(path))
    }

    /// Puts an attribute of the node at `path`.
    ///
    /// # Errors
    /// When there is no such node, the key or the value is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.put_attribute(&[], "title", "first")?;
    /// editor.put_attribute(&[], "title", "second")?;
    /// assert_eq!(editor.root().attribute("title"), Some("second".into()));
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
        self.with(|edit| edit.op_put_attribute(path, key, value))
    }

    /// Removes an attribute of the node at `path`; `false` when it has none of this key.
    ///
    /// # Errors
    /// When there is no such node, or no room for the other attributes, as in [`Editor::remove`].
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// editor.put_attribute(&[], "draft", true)?;
    /// assert!(editor.remove_attribute(&[], "draft")?);
    /// assert!(!editor.remove_attribute(&[], "draft")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_attribute(&mut self, path: &[Key], key: &str) -> Result<bool, EditError> {
        self.with(|edit| edit.op_remove_attribute(path, key))
    }

    /// Moves the node at `from`, with all below it, to be the child `key` of the node at `parent`
    /// (the path it has before the move). Costs two paths, whatever the size.
    ///
    /// # Errors
    /// When one of them is not there, the key is taken or beyond its limits, the new parent lies
    /// below the node, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.edit(|editor| {
    ///     editor.cursor(&[])?.add_children(2)?;
    ///     editor.put_attribute(&[0.into()], "text", "hello")?;
    ///     editor.move_node(&[0.into()], &[1.into()], &"moved".into())
    /// })?;
    /// let moved = tree.snapshot();
    /// let moved = moved.root().at(&[1.into(), "moved".into()])?;
    /// assert_eq!(moved.attribute("text"), Some("hello".into()));
    /// let refused = tree.edit(|editor| editor.move_node(&[1.into()], &[1.into()], &2.into()));
    /// assert!(matches!(refused, Err(EditError::MoveIntoItself { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn move_node(&mut self, from: &[Key], parent: &[Key], key: &Key) -> Result<(), EditError> {
        if from.is_empty() {
            return Err(EditError::Root);
        }
        if parent.starts_with(from) {
            return Err(EditError::MoveIntoItself { path: from.into() });
        }
        key.check().map_err(EditError::Key)?;
        let destination = self.root().at(parent).map_err(EditError::from)?;
        let same_place = from.split_last() == Some((key, parent));
        if destination.child(key).is_some() && !same_place {
            return Err(EditError::child_exists(parent, key));
        }
        self.with(|edit| edit.op_move(from, parent, key))
    }

    /// Replaces everything in the node at `path` by what `source` holds, which both share then:
    /// it costs the same whatever the size.
    ///
    /// # Errors
    /// When there is no such node, or no room; when the source is in another arena, or part of an
    /// edit that is not published yet.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Tree};
    /// let arena = Arena::new()?;
    /// let (mut tree, mut other) = (Tree::new(&arena), Tree::new(&arena));
    /// other.edit(|editor| editor.cursor(&[])?.add_children(1000))?;
    /// let source = other.snapshot();
    /// let page = [tree.add_child(&[])?];
    /// tree.edit(|editor| editor.set_subtree(&page, source.root()))?;
    /// assert_eq!(tree.read().root().subtree_count(), 1002);
    ///
    /// let elsewhere = Tree::new(&Arena::new()?).snapshot();
    /// let refused = tree.edit(|editor| editor.set_subtree(&page, elsewhere.root()));
    /// assert_eq!(refused, Err(EditError::OtherArena));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_subtree(&mut self, path: &[Key], source: Node<'_>) -> Result<(), EditError> {
        let content = self.graft(source)?;
        let was = self.with(|edit| edit.op_replace_content(path, content))?;
        self.with(|edit| edit.retire_subtree(was));
        Ok(())
    }

    /// Adds a child `key` that holds what `source` holds, as [`Editor::set_subtree`] does.
    ///
    /// # Errors
    /// As there; and when the key is taken or beyond its limits.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Tree};
    /// let arena = Arena::new()?;
    /// let (mut tree, mut template) = (Tree::new(&arena), Tree::new(&arena));
    /// template.edit(|editor| editor.cursor(&[])?.add_children(1000))?;
    /// let source = template.snapshot();
    /// tree.edit(|editor| editor.insert_subtree(&[], &"copy".into(), source.root()))?;
    /// let copied = tree.snapshot();
    /// assert!(copied.root().child("copy").unwrap().is_same(source.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_subtree(
        &mut self,
        parent: &[Key],
        key: &Key,
        source: Node<'_>,
    ) -> Result<(), EditError> {
        let content = self.graft(source)?;
        self.with(|edit| edit.op_insert_content(parent, key, content))
    }

    fn graft(&mut self, source: Node<'_>) -> Result<Content, EditError> {
        if !source.cell().shares_arena(self.base.cell()) {
            return Err(EditError::OtherArena);
        }
        let (kids, attrs) = (source.content().kids, source.content().attrs);
        let memory = source.cell().memory();
        let births = [
            if kids == 0 { 0 } else { block::birth(memory, kids) },
            if attrs == 0 { 0 } else { Record::load(memory, attrs).birth() },
        ];
        // Blocks that an edit has made hang only in blocks that it has made.
        if memory.session_versions().iter().any(|version| births.contains(version)) {
            return Err(EditError::Unpublished);
        }
        // Not while a collection notes who holds what: the source may be let go right after this.
        let arena = &self.base.cell().arena;
        let _lane = arena.hold_lane();
        arena.hold_graft(self.version, source.content());
        source.cell().share();
        self.grafted = true;
        Ok(source.content())
    }

    /// Makes a new root whose only child, under `key`, is the root so far. Costs the same
    /// whatever the size.
    ///
    /// # Errors
    /// When the key is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "title", "first")?;
    /// tree.edit(|editor| editor.push_root(&"old".into()))?;
    /// let pushed = tree.snapshot();
    /// assert!(!pushed.root().has_attributes());
    /// assert_eq!(pushed.root().child("old").unwrap().attribute("title"), Some("first".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_root(&mut self, key: &Key) -> Result<(), EditError> {
        key.check().map_err(EditError::Key)?;
        self.with(|edit| edit.op_push_root(key))
    }

    /// Makes the node at `path` the root; all else is removed.
    ///
    /// # Errors
    /// When there is no such node, or no room, as in [`Editor::remove`].
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let chapter = [tree.add_child(&[])?];
    /// tree.put_attribute(&chapter, "title", "one")?;
    /// tree.edit(|editor| editor.pop_root(&chapter))?;
    /// assert_eq!(tree.read().root().attribute("title"), Some("one".into()));
    /// assert_eq!(tree.read().root().subtree_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_root(&mut self, path: &[Key]) -> Result<(), EditError> {
        if path.is_empty() {
            return Ok(());
        }
        self.with(|edit| {
            let was = edit.op_pop_root(path)?;
            edit.retire_subtree(was);
            Ok(())
        })
    }

    /// A cursor at the node at `path`, for many edits near each other.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_tree::{Arena, Editor, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let mut editor = Editor::new(tree.snapshot());
    /// let mut cursor = editor.cursor(&[])?;
    /// for name in ["a", "b"] {
    ///     cursor.insert_child(&name.into())?;
    ///     cursor.enter(&name.into())?;
    ///     cursor.put_attribute("name", name)?;
    ///     cursor.leave();
    /// }
    /// assert_eq!(editor.root().child("b").unwrap().attribute("name"), Some("b".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cursor(&mut self, path: &[Key]) -> Result<Cursor<'_>, EditError> {
        self.with(|edit| edit.go(path))?;
        Ok(Cursor::new(self))
    }

    /// Publishes on a line; see [`Tree::publish`](crate::Tree::publish).
    pub(crate) fn publish(mut self, cell: &Arc<LineCell>, line: &mut Line) {
        assert!(cell.shares_arena(self.base.cell()), "an editor of another arena");
        let follows = Arc::ptr_eq(cell, self.base.cell()) && cell.head() == self.base.handle();
        let is_changed = self.is_changed();
        if follows && !is_changed {
            return;
        }
        let work = self.work.get_mut();
        let mut allocator = work.allocator.take().expect("there until the editor ends");
        let (mut root, mut version) = (work.root, self.version);
        if !follows {
            // Versions of a line go up, and the newest one may be younger than this edit.
            version = cell.arena.draw_versions(1);
            let was = root;
            root = Edit::copy_root(cell.memory(), &mut allocator, version, was);
            if is_changed {
                let header = Header::load(cell.memory(), was);
                allocator.free(cell.memory(), Dead::block(was, header));
            }
        }
        let mut dead = std::mem::take(&mut allocator.buffers.dead);
        // A collection that begins now waits until the new version is there.
        let lane = cell.arena.hold_lane();
        if !follows {
            // What it replaced belongs to another version than the newest: nothing is known of
            // who sees it. What it brings back may be queued: nothing older is the line's own.
            self.base.cell().share();
            dead.clear();
        }
        if self.grafted || !follows {
            line.raise_floor(cell);
        }
        line.publish(cell, root, version, &mut dead, &mut allocator);
        drop(lane);
        allocator.buffers.dead = dead;
        self.base.cell().arena.check_in(allocator, self.version);
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if self.work.get_mut().allocator.is_none() {
            return;
        }
        if std::thread::panicking() {
            // Half-way through a call, or because a part of the tree could not be loaded: what
            // was written so far is nobody's, and found by the next collection.
            self.with(|edit| edit.forget());
        } else if self.is_changed() {
            self.with(|edit| edit.abandon());
        }
        if let Some(mut allocator) = self.work.get_mut().allocator.take() {
            allocator.buffers.dead.clear();
            self.base.cell().arena.check_in(allocator, self.version);
        }
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.root().subtree_count();
        f.debug_struct("Editor").field("base", &self.base).field("nodes", &nodes).finish()
    }
}

/// Where something is missing, as an editing error.
impl From<crate::node::NoSuchNode> for EditError {
    fn from(error: crate::node::NoSuchNode) -> EditError {
        EditError::NoSuchNode { path: Path::clone(&error.path) }
    }
}
