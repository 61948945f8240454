//! Reading: a node, its attributes, its children.

use std::fmt;

use crate::attributes::{self, Attributes, SHOWN_MAX};
use crate::block::{self, Content, Directory};
use crate::children::{self, Children as Iter, Differences, Direction, directory, locate};
use crate::key::{Key, KeyRef};
use crate::line::LineCell;
use crate::path::Path;
use crate::value::ValueRef;

/// A node of one version, borrowed from the [`Snapshot`](crate::Snapshot) that holds it. Copying
/// it is free.
///
/// ```
/// use jungle_tree::{Arena, Node, Tree};
/// /// The titles of all children that have one.
/// fn titles(list: Node<'_>) -> Vec<&str> {
///     list.children().filter_map(|(_, post)| post.attribute("title")?.as_text()).collect()
/// }
/// let mut tree = Tree::new(&Arena::new()?);
/// let post = [tree.add_child(&[])?];
/// tree.put_attribute(&post, "title", "hello")?;
/// assert_eq!(titles(tree.snapshot().root()), ["hello"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Node<'a> {
    cell: &'a LineCell,
    content: Content,
}

/// There is no node at a path.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.insert_child(&[], &"posts".into())?;
/// let error = tree.read().root().at(&["posts".into(), 3.into(), 0.into()]).unwrap_err();
/// assert_eq!(error.path.to_string(), "/posts/3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchNode {
    /// The path up to and including the key that is not there.
    pub path: Box<Path>,
}

impl fmt::Display for NoSuchNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no node at {}", self.path)
    }
}

impl std::error::Error for NoSuchNode {}

impl<'a> Node<'a> {
    #[inline(always)]
    pub(crate) fn new(cell: &'a LineCell, content: Content) -> Node<'a> {
        Node { cell, content }
    }

    #[inline(always)]
    pub(crate) fn content(self) -> Content {
        self.content
    }

    pub(crate) fn cell(self) -> &'a LineCell {
        self.cell
    }

    #[inline(always)]
    fn with(self, content: Content) -> Node<'a> {
        Node { cell: self.cell, content }
    }

    /// The node at a path from here.
    ///
    /// # Errors
    /// When it is not there; the error says how far the path goes.
    ///
    /// ```
    /// use jungle_tree::{Arena, Path, Tree};
    /// let tree = Tree::new(&Arena::new()?);
    /// let path: Path = "/7/title".parse()?;
    /// let error = tree.read().root().at(&path).unwrap_err();
    /// assert_eq!(error.to_string(), "there is no node at /7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn at(self, path: &[Key]) -> Result<Node<'a>, NoSuchNode> {
        let arena = self.cell.memory();
        let Some((last, parents)) = path.split_last() else { return Ok(self) };
        let mut kids = self.content.kids;
        for key in parents {
            kids = children::kids_of_child(arena, kids, key);
            block::prefetch_rest(arena, kids);
        }
        let Some(content) = children::child(arena, kids, last) else {
            return Err(self.no_such_node(path));
        };
        block::prefetch_record(arena, content.attrs);
        Ok(self.with(content))
    }

    /// Says how far a path goes that leads nowhere.
    #[cold]
    fn no_such_node(self, path: &[Key]) -> NoSuchNode {
        let mut node = Some(self);
        let there = path.iter().map_while(|key| {
            node = node?.child(key);
            node
        });
        let depth = there.count();
        NoSuchNode { path: Box::new(path[..=depth].into()) }
    }

    /// The nodes at many paths from here, each where it is there. The paths are followed side by
    /// side, so that waiting for memory for one is used to ask for the others: for 16 paths it is
    /// several times as quick as one after the other.
    ///
    /// ```
    /// use jungle_tree::{Arena, Path, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let child = Path::root().join(tree.add_child(&[])?);
    /// let missing: Path = "/7".parse()?;
    /// let snapshot = tree.snapshot();
    /// let found = snapshot.root().at_many(&[&child, &missing, &[]]);
    /// assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn at_many(self, paths: &[&[Key]]) -> Vec<Option<Node<'a>>> {
        let mut found = Vec::with_capacity(paths.len());
        children::each_at(self.cell.memory(), self.content, paths, |content| {
            found.push(content.map(|content| self.with(content)));
        });
        found
    }

    /// Brings the nodes at many paths near, and their attributes, which are about to be replaced.
    pub(crate) fn prefetch_replaced(self, paths: &[&[Key]]) {
        let arena = self.cell.memory();
        children::each_at(arena, self.content, paths, |content| {
            block::prefetch_replaced(arena, content.unwrap_or_default().attrs);
        });
    }

    /// The child with this key.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.insert_child(&[], &"settings".into())?;
    /// let snapshot = tree.snapshot();
    /// assert!(snapshot.root().child("settings").is_some());
    /// assert!(snapshot.root().child(0).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn child<'k>(self, key: impl Into<KeyRef<'k>>) -> Option<Node<'a>> {
        let content = locate(self.cell.memory(), self.content.kids, key.into(), |_| ())?;
        Some(self.with(content))
    }

    /// The children with their keys, in order: positions, then names.
    ///
    /// To leave some out (`skip`, `nth`) costs less than to step over them: next to nothing where
    /// all have positions without gaps, or none has children; else as much as to step over each
    /// sixteenth, and over all where whole positions and others change between each other. Where
    /// the key of the first one wanted is known, [`children_from`](Node::children_from) is there at
    /// once.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.insert_child(&[], &"settings".into())?;
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// let keys: Vec<_> = snapshot.root().children().map(|(key, _)| key.to_string()).collect();
    /// assert_eq!(keys, ["0", "1", "settings"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn children(self) -> Children<'a> {
        let iter = Iter::new(self.cell.memory(), self.content.kids, Direction::Forward);
        Children { node: self, iter }
    }

    /// The children from the last to the first.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..3).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// let newest = snapshot.root().children_backward().map(|(key, _)| key.to_string());
    /// assert_eq!(newest.take(2).collect::<Vec<_>>(), ["2", "1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn children_backward(self) -> Children<'a> {
        let iter = Iter::new(self.cell.memory(), self.content.kids, Direction::Backward);
        Children { node: self, iter }
    }

    /// The children from this key on (or from the next one that is there). With `take(50)` it is
    /// a page of 50; the last key of a page leads to the next. [`children_in`](Node::children_in)
    /// is what there is up to another key.
    ///
    /// ```
    /// use jungle_tree::{Arena, Key, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..5).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// let page = snapshot.root().children_from(&Key::from(3));
    /// assert_eq!(page.map(|(key, _)| key.to_string()).collect::<Vec<_>>(), ["3", "4"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn children_from<'k>(self, key: impl Into<KeyRef<'k>>) -> Children<'a> {
        self.starting_at(key.into(), Direction::Forward)
    }

    /// The children from this key backward to the first.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..3).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// let page = snapshot.root().children_backward_from(1).map(|(key, _)| key.to_string());
    /// assert_eq!(page.collect::<Vec<_>>(), ["1", "0"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn children_backward_from<'k>(self, key: impl Into<KeyRef<'k>>) -> Children<'a> {
        self.starting_at(key.into(), Direction::Backward)
    }

    fn starting_at(self, key: KeyRef<'_>, direction: Direction) -> Children<'a> {
        let iter = Iter::from_key(self.cell.memory(), self.content.kids, key, direction);
        Children { node: self, iter }
    }

    /// The child with the greatest position, which is the one that was
    /// [added](crate::Tree::add_child) last and is still there: what is inserted at a place comes
    /// in front of it.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.insert_child(&[], &"settings".into())?;
    /// (0..3).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// assert_eq!(snapshot.root().last_child().unwrap().0.to_string(), "2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn last_child(self) -> Option<(KeyRef<'a>, Node<'a>)> {
        let after_all = KeyRef::Position(i64::MAX, &[]);
        self.starting_at(after_all, Direction::Backward).next()
    }

    /// How many children it has.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..3).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// assert_eq!(snapshot.root().child_count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn child_count(self) -> u64 {
        directory(self.cell.memory(), self.content.kids).children
    }

    /// The position that the next child added gets.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..3).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// tree.remove(&[2.into()])?;
    /// assert_eq!(tree.read().root().next_position(), 3);
    /// assert_eq!(tree.add_child(&[])?, 3.into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next_position(self) -> i64 {
        directory(self.cell.memory(), self.content.kids).next
    }

    /// How many children with a fraction in their position were removed or moved away, or more if
    /// one of them had been put there by hand and looked like what comes later: while this is the
    /// same, the tree gives the same fractions in the same places.
    ///
    /// ```
    /// use jungle_tree::{Arena, Position, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let between = tree.insert_after(&[], &Position::new(0)?)?;
    /// tree.remove(&[between])?;
    /// assert_eq!(tree.read().root().fractions_taken(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fractions_taken(self) -> u32 {
        directory(self.cell.memory(), self.content.kids).taken
    }

    /// No position in front of this one was ever given to a child: the next one that goes in front
    /// of all gets the one before it.
    ///
    /// ```
    /// use jungle_tree::{Arena, Position, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.add_child(&[])?;
    /// let before = tree.insert_before(&[], &Position::new(0)?)?;
    /// assert_eq!(before.to_string(), "-1");
    /// tree.remove(&[before])?;
    /// assert_eq!(tree.read().root().lowest_position(), -1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lowest_position(self) -> i64 {
        directory(self.cell.memory(), self.content.kids).low
    }

    /// The next position, the lowest, and the fractions taken: what a new child gets depends on
    /// nothing else of the children that were here before.
    pub(crate) fn positions_given(self) -> (i64, i64, u32) {
        let Directory { next, low, taken, .. } = directory(self.cell.memory(), self.content.kids);
        (next, low, taken)
    }

    /// Has it children?
    #[must_use]
    #[inline]
    pub fn has_children(self) -> bool {
        block::count(self.cell.memory(), self.content.kids) > 0
    }

    /// How many nodes there are in its subtree, itself included. Costs the same whatever the size.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let chapter = tree.add_child(&[])?;
    /// tree.add_child(&[chapter])?;
    /// assert_eq!(tree.read().root().subtree_count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn subtree_count(self) -> u64 {
        1 + u64::from(block::count(self.cell.memory(), self.content.kids))
    }

    /// One attribute.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "stars", 3)?;
    /// let snapshot = tree.snapshot();
    /// assert_eq!(snapshot.root().attribute("stars").and_then(|stars| stars.as_int()), Some(3));
    /// assert_eq!(snapshot.root().attribute("title"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn attribute(self, key: &str) -> Option<ValueRef<'a>> {
        attributes::find(self.cell.memory(), self.content.attrs, key)
    }

    /// All attributes, in key order.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "stars", 3)?;
    /// tree.put_attribute(&[], "author", "ana")?;
    /// let snapshot = tree.snapshot();
    /// let told: Vec<_> = snapshot.root().attributes().map(|(k, v)| format!("{k}={v}")).collect();
    /// assert_eq!(told, ["author=\"ana\"", "stars=3"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn attributes(self) -> Attributes<'a> {
        Attributes::new(self.cell.memory(), self.content.attrs)
    }

    /// Has it attributes?
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let child = [tree.add_child(&[])?];
    /// tree.put_attribute(&child, "done", true)?;
    /// let snapshot = tree.snapshot();
    /// let (root, child) = (snapshot.root(), snapshot.root().at(&child)?);
    /// assert!(root.has_children() && !root.has_attributes());
    /// assert!(child.has_attributes() && !child.has_children());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn has_attributes(self) -> bool {
        self.content.attrs != 0
    }

    /// Are both the same in memory? If so their subtrees are equal; if not they may be, still.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..2).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// tree.put_attribute(&[1.into()], "n", 1)?;
    /// let before = tree.snapshot();
    /// tree.put_attribute(&[0.into()], "n", 1)?;
    /// let after = tree.snapshot();
    /// let is_same = |key: i64| {
    ///     let [old, new] = [&before, &after].map(|version| version.root().child(key).unwrap());
    ///     old.is_same(new)
    /// };
    /// assert_eq!([is_same(0), is_same(1)], [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn is_same(self, other: Node<'_>) -> bool {
        self.cell.shares_arena(other.cell) && self.content == other.content
    }

    /// Do both have the same attribute record in memory? If so their attributes are equal.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "title", "hello")?;
    /// let before = tree.snapshot();
    /// tree.add_child(&[])?;
    /// let after = tree.snapshot();
    /// let (old, new) = (before.root(), after.root());
    /// assert!(new.has_same_attributes(old) && !new.is_same(old));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn has_same_attributes(self, other: Node<'_>) -> bool {
        self.cell.shares_arena(other.cell) && self.content.attrs == other.content.attrs
    }

    /// Something that is the same for two nodes only if they share their children, or, having
    /// none, their attributes: for finding where a subtree went. `None` for a bare leaf.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// let draft = tree.add_child(&[])?;
    /// tree.put_attribute(&[draft.clone()], "title", "hello")?;
    /// let before = tree.snapshot();
    /// tree.edit(|edit| edit.move_node(&[draft.clone()], &[], &"published".into()))?;
    /// let after = tree.snapshot();
    /// let moved = after.root().child("published").unwrap();
    /// assert_eq!(before.root().child(&draft).unwrap().identity(), moved.identity());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn identity(self) -> Option<u64> {
        self.children_identity().or_else(|| self.attributes_identity())
    }

    /// Something that is the same for two nodes only if they share all their children.
    pub(crate) fn children_identity(self) -> Option<u64> {
        (self.content.kids != 0).then(|| u64::from(self.content.kids))
    }

    /// Something that is the same for two nodes only if they share their attributes; of no value
    /// that stands for children.
    pub(crate) fn attributes_identity(self) -> Option<u64> {
        (self.content.attrs != 0).then(|| 1 << 32 | u64::from(self.content.attrs))
    }

    /// The children in which two nodes of an arena differ, with what is on either side, in no
    /// particular order. What they share is skipped, so it costs what differs.
    ///
    /// # Panics
    /// When the nodes are of different arenas.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..1000).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let before = tree.snapshot();
    /// tree.put_attribute(&[7.into()], "n", 1)?;
    /// tree.remove(&[9.into()])?;
    /// let after = tree.snapshot();
    /// let told = before.root().differing_children(after.root());
    /// let mut told: Vec<_> = told.map(|(key, _, new)| (key.to_string(), new.is_some())).collect();
    /// told.sort();
    /// assert_eq!(told, [("7".into(), true), ("9".into(), false)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn differing_children(
        self,
        other: Node<'a>,
    ) -> impl Iterator<Item = (KeyRef<'a>, Option<Node<'a>>, Option<Node<'a>>)> {
        let arena = self.cell.memory();
        assert!(self.cell.shares_arena(other.cell), "nodes of different arenas");
        let mut differences = Differences::new(arena);
        differences.begin(self.content.kids, other.content.kids);
        differences.map(move |(key, left, right)| {
            (key, left.map(|content| self.with(content)), right.map(|content| other.with(content)))
        })
    }

    /// Do both hold the same attributes and children, all the way down?
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let (mut one, mut other) = (Tree::new(&Arena::new()?), Tree::new(&Arena::new()?));
    /// one.put_attribute(&[], "title", "hello")?;
    /// other.put_attribute(&[], "title", "draft")?;
    /// other.put_attribute(&[], "title", "hello")?;
    /// assert!(one.read().root().is_equal(other.read().root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_equal(self, other: Node<'_>) -> bool {
        self.is_same(other) || self.content_hash() == other.content_hash()
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("attributes", &self.attributes().collect::<Vec<_>>())
            .field("children", &self.child_count())
            .field("nodes", &self.subtree_count())
            .finish()
    }
}

/// The children of a node with their keys, in order.
///
/// ```
/// use jungle_tree::{Arena, Key, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// (0..100).try_for_each(|_| tree.add_child(&[]).map(drop))?;
/// let snapshot = tree.snapshot();
/// let mut children = snapshot.root().children();
/// let (key, _) = children.nth(40).unwrap();
/// assert_eq!(key, Key::from(40).as_ref());
/// assert_eq!(children.count(), 59);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Children<'a> {
    node: Node<'a>,
    iter: children::Children<'a>,
}

impl fmt::Debug for Children<'_> {
    /// The keys of those that are left, up to a limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_keys(f, self.clone())
    }
}

/// Shows the keys of some children, up to a limit.
pub(crate) fn show_keys<'a>(
    f: &mut fmt::Formatter<'_>,
    mut rest: impl Iterator<Item = (KeyRef<'a>, Node<'a>)>,
) -> fmt::Result {
    let mut shown = f.debug_list();
    shown.entries(rest.by_ref().take(SHOWN_MAX).map(|(key, _)| key));
    if rest.next().is_some() { shown.finish_non_exhaustive() } else { shown.finish() }
}

impl<'a> Iterator for Children<'a> {
    type Item = (KeyRef<'a>, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.iter.next().map(|(key, content)| (key, self.node.with(content)))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.iter.nth(n).map(|(key, content)| (key, self.node.with(content)))
    }
}

impl std::iter::FusedIterator for Children<'_> {}
