//! Children whose keys are in a range.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Bound, RangeBounds};

use crate::children::Direction;
use crate::key::{Key, KeyRef};
use crate::node::{Children, Node, show_keys};

impl<'a> Node<'a> {
    /// The children whose keys are in a range, in order. Where it begins and where it ends is
    /// looked up, whether there is a child or not. What ends before it begins has nothing in it.
    ///
    /// ```
    /// use jungle_tree::{Arena, Key, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..9).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// ["ant", "bee", "cat"].iter().try_for_each(|&name| tree.insert_child(&[], &name.into()))?;
    /// let snapshot = tree.snapshot();
    /// let root = snapshot.root();
    /// let page = root.children_in(Key::from(3)..Key::from(6)).map(|(key, _)| key.to_string());
    /// assert_eq!(page.collect::<Vec<_>>(), ["3", "4", "5"]);
    /// // All positions come before all names.
    /// let page = root.children_in(Key::from(7)..=Key::from("b")).map(|(key, _)| key.to_string());
    /// assert_eq!(page.collect::<Vec<_>>(), ["7", "8", "ant"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # What comes behind a key, up to another one
    ///
    /// ```
    /// use std::ops::Bound;
    ///
    /// use jungle_tree::{Arena, Key, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..9).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let (last_seen, newest) = (Key::from(3), Key::from(5));
    /// let snapshot = tree.snapshot();
    /// let range = (Bound::Excluded(&last_seen), Bound::Included(&newest));
    /// let page = snapshot.root().children_in(range).map(|(key, _)| key.to_string());
    /// assert_eq!(page.collect::<Vec<_>>(), ["4", "5"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn children_in(self, range: impl RangeBounds<Key>) -> ChildrenIn<'a> {
        self.between([range.start_bound(), range.end_bound()], Direction::Forward)
    }

    /// The children whose keys are in a range, from the last to the first.
    ///
    /// ```
    /// use jungle_tree::{Arena, Key, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..9).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// let page = snapshot.root().children_backward_in(Key::from(6)..);
    /// assert_eq!(page.map(|(key, _)| key.to_string()).collect::<Vec<_>>(), ["8", "7", "6"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn children_backward_in(self, range: impl RangeBounds<Key>) -> ChildrenIn<'a> {
        self.between([range.end_bound(), range.start_bound()], Direction::Backward)
    }

    fn between(self, [from, to]: [Bound<&Key>; 2], direction: Direction) -> ChildrenIn<'a> {
        let behind = match to {
            Bound::Unbounded => None,
            Bound::Included(last) => self.beginning(Bound::Excluded(last), direction).next(),
            Bound::Excluded(end) => self.beginning(Bound::Included(end), direction).next(),
        };
        let behind = behind.map(|(key, _)| key);
        ChildrenIn { children: self.beginning(from, direction), behind, direction }
    }

    fn beginning(self, bound: Bound<&Key>, direction: Direction) -> Children<'a> {
        let (key, is_left_out) = match (bound, direction) {
            (Bound::Unbounded, Direction::Forward) => return self.children(),
            (Bound::Unbounded, Direction::Backward) => return self.children_backward(),
            (Bound::Included(key), _) => (key, false),
            (Bound::Excluded(key), _) => (key, self.child(key).is_some()),
        };
        let mut children = match direction {
            Direction::Forward => self.children_from(key),
            Direction::Backward => self.children_backward_from(key),
        };
        if is_left_out {
            children.next(); // It is the first of them.
        }
        children
    }
}

/// The children of a node whose keys are in a range, with their keys, in order. To leave some out
/// costs as little as with [`Children`].
///
/// ```
/// use jungle_tree::{Arena, Key, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// (0..100).try_for_each(|_| tree.add_child(&[]).map(drop))?;
/// let snapshot = tree.snapshot();
/// let mut children = snapshot.root().children_in(Key::from(10)..Key::from(60));
/// let (key, _) = children.nth(40).unwrap();
/// assert_eq!(key, Key::from(50).as_ref());
/// assert_eq!(children.count(), 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ChildrenIn<'a> {
    children: Children<'a>,
    /// The first child behind the range.
    behind: Option<KeyRef<'a>>,
    direction: Direction,
}

impl ChildrenIn<'_> {
    fn has(&self, key: KeyRef<'_>) -> bool {
        self.behind.is_none_or(|behind| match self.direction {
            Direction::Forward => key < behind,
            Direction::Backward => key > behind,
        })
    }
}

impl<'a> Iterator for ChildrenIn<'a> {
    type Item = (KeyRef<'a>, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, child) = self.children.next()?;
        self.has(key).then_some((key, child))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        let (key, child) = self.children.nth(n)?;
        self.has(key).then_some((key, child))
    }
}

/// What comes after one that is behind the range is behind it, too.
impl FusedIterator for ChildrenIn<'_> {}

impl fmt::Debug for ChildrenIn<'_> {
    /// The keys of those that are left, up to a limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_keys(f, self.clone())
    }
}
