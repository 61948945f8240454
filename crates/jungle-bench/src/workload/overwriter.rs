//! A writer that overwrites random leaves of tree R.

use jungle_tree::{EditError, Key, Node, Tree, ValueRef};

use super::payload::{KEY, VALUE_BYTES, number_of, stamp_of, value_of};
use super::random::Random;
use super::shape::{LeafPath, Shape, leaf_path};

/// What it overwrites next, and with which stamp.
pub struct Overwriter {
    shape: Shape,
    random: Random,
    path: LeafPath,
    /// How many it has done.
    pub stamp: u64,
}

impl Overwriter {
    /// One that begins with this seed.
    pub fn new(shape: Shape, seed: u64) -> Overwriter {
        Overwriter { shape, random: Random(seed), path: leaf_path(), stamp: 0 }
    }

    /// The next leaf to overwrite, and with what.
    #[inline]
    pub fn draw(&mut self) -> (&[Key], [u8; VALUE_BYTES]) {
        self.stamp += 1;
        let number = self.shape.random_leaf(&mut self.random, &mut self.path);
        (&self.path[..], value_of(number, self.stamp))
    }

    /// Overwrites one leaf: a new value, a new version.
    ///
    /// # Errors
    /// When there is no room.
    #[inline]
    pub fn publish_one(&mut self, tree: &mut Tree) -> Result<(), EditError> {
        let (path, value) = self.draw();
        tree.put_attribute(path, KEY, &value[..])
    }
}

/// As [`Overwriter`], with a queue of `N` that the tree may look through.
pub struct QueuedOverwriter<const N: usize> {
    shape: Shape,
    random: Random,
    paths: Box<[LeafPath; N]>,
    values: Box<[[u8; VALUE_BYTES]; N]>,
    stamp: u64,
}

impl<const N: usize> QueuedOverwriter<N> {
    /// One that begins with this seed.
    pub fn new(shape: Shape, seed: u64) -> Self {
        let paths = Box::new(std::array::from_fn(|_| leaf_path()));
        let values = Box::new([[0; VALUE_BYTES]; N]);
        QueuedOverwriter { shape, random: Random(seed), paths, values, stamp: 0 }
    }

    /// Overwrites `N` leaves, each in a version of its own.
    ///
    /// # Errors
    /// When there is no room.
    pub fn publish_all(&mut self, tree: &mut Tree) -> Result<(), EditError> {
        for (path, value) in self.paths.iter_mut().zip(&mut *self.values) {
            self.stamp += 1;
            *value = value_of(self.shape.random_leaf(&mut self.random, path), self.stamp);
        }
        let puts: [(&[Key], &str, ValueRef<'_>); N] =
            std::array::from_fn(|i| (&self.paths[i][..], KEY, ValueRef::Bytes(&self.values[i])));
        tree.put_attributes_each(&puts)
    }
}

/// Compares every leaf with what the same random draws, done again, say it must hold.
pub fn wrong_leaves(shape: Shape, seed: u64, updates: u64, root: Node<'_>) -> u64 {
    let mut stamps = vec![0; shape.leaves() as usize];
    let (mut random, mut path) = (Random(seed), leaf_path());
    for stamp in 1..=updates {
        stamps[shape.random_leaf(&mut random, &mut path) as usize] = stamp;
    }
    let (mut leaves, mut wrong) = (0, 0);
    root.visit(|node| {
        if node.has_children() {
            return;
        }
        leaves += 1;
        let value = node.attribute(KEY).and_then(|value| value.as_bytes()).unwrap_or_default();
        let expected = number_of(value).and_then(|number| stamps.get_mut(number as usize));
        // Taken, so that no two leaves can bear one number.
        let expected = expected.map(|stamp| std::mem::replace(stamp, u64::MAX));
        wrong += u64::from(expected.is_none() || expected != stamp_of(value));
    });
    wrong + shape.leaves().abs_diff(leaves)
}
