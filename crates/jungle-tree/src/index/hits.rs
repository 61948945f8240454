//! What an index has of one value: the paths of the nodes that have it, as a tree.

use std::cmp::Ordering;

use crate::key::{Key, KeyRef};
use crate::node::Node;
use crate::path::Path;
use crate::walk::Walk;

/// The nodes with one value, as an index has them; see [`AttributeIndex::values`].
///
/// [`AttributeIndex::values`]: crate::AttributeIndex::values
///
/// ```
/// use jungle_tree::{Arena, AttributeIndex, Key, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// for age in [30, 41, 30] {
///     let person = tree.add_child(&[])?;
///     tree.put_attribute(&[person], "age", age)?;
/// }
/// let index = AttributeIndex::build(&tree.snapshot(), "age")?;
/// let hits = index.values(..).next().unwrap();
/// let behind = [Key::from(0)];
/// let mut walk = hits.walk(&[], Some(&behind));
/// let entry = walk.next().unwrap();
/// assert!(entry.is_hit() && walk.path().to_string() == "/2");
/// assert!(walk.next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hits<'a> {
    /// The value in the tree of the index.
    value: Node<'a>,
}

impl<'a> Hits<'a> {
    pub(super) fn new(value: Node<'a>) -> Hits<'a> {
        Hits { value }
    }

    /// Their paths, in document order.
    pub(super) fn paths(self) -> impl Iterator<Item = Path> {
        let mut walk = self.walk(&[], None);
        std::iter::from_fn(move || {
            while let Some(entry) = walk.next() {
                if entry.is_hit() {
                    return Some(walk.path());
                }
            }
            None
        })
    }

    /// Goes through what is at `within` and below it in document order: all of it, or what is
    /// behind the node at `behind`, a path from there, as [`Node::walk_behind`] does. To get there
    /// costs the way there.
    #[must_use]
    pub fn walk(self, within: &'a [Key], behind: Option<&[Key]>) -> HitsWalk<'a> {
        let node = within.iter().try_fold(self.value, |node, key| node.child(key));
        let walk = node.map(|node| match behind {
            Some(behind) => node.walk_behind(behind),
            None => node.walk(),
        });
        HitsWalk { within, walk }
    }
}

/// A walk over what an index has of one value; see [`Hits::walk`].
#[derive(Debug)]
pub struct HitsWalk<'a> {
    within: &'a [Key],
    walk: Option<Walk<'a>>,
}

impl<'a> HitsWalk<'a> {
    /// The path of the node that the entry given last is of.
    #[must_use]
    pub fn path(&self) -> Path {
        self.keys().map(KeyRef::to_key).collect()
    }

    /// Does that node come before the one at `path` in document order?
    #[must_use]
    pub fn is_before(&self, path: &[Key]) -> bool {
        let mut rest = path.iter();
        for key in self.keys() {
            let Some(other) = rest.next() else { return false };
            match key.cmp(&other.as_ref()) {
                Ordering::Equal => {}
                order => return order.is_lt(),
            }
        }
        !rest.as_slice().is_empty()
    }

    fn keys(&self) -> impl Iterator<Item = KeyRef<'a>> {
        let below = self.walk.iter().flat_map(|walk| walk.keys().iter().copied());
        self.within.iter().map(Key::as_ref).chain(below)
    }
}

impl<'a> Iterator for HitsWalk<'a> {
    type Item = HitsEntry<'a>;

    fn next(&mut self) -> Option<HitsEntry<'a>> {
        let node = self.walk.as_mut()?.next()?;
        Some(HitsEntry { node })
    }
}

/// What an index has of a node for one value: the node has it, or one below.
#[derive(Clone, Copy, Debug)]
pub struct HitsEntry<'a> {
    node: Node<'a>,
}

impl HitsEntry<'_> {
    /// Has the node the value?
    #[must_use]
    pub fn is_hit(self) -> bool {
        // A leaf is there for itself alone.
        !self.node.has_children() || self.node.has_attributes()
    }

    /// Has its child of this key the value?
    ///
    /// ```
    /// use jungle_tree::{Arena, AttributeIndex, Key, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.insert_child(&[], &"age".into())?;
    /// tree.put_attribute(&["age".into()], "value", 30)?;
    /// let index = AttributeIndex::build(&tree.snapshot(), "value")?;
    /// let root = index.values(..).next().unwrap().walk(&[], None).next().unwrap();
    /// assert!(root.is_child_hit(&Key::from("age")) && !root.is_hit());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_child_hit(self, key: &Key) -> bool {
        self.node.child(key).is_some_and(|node| HitsEntry { node }.is_hit())
    }
}
