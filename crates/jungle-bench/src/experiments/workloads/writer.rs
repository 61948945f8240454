//! Who commits to random leaves, and what they have then.

use jungle::TreeHandle;

use crate::experiments::Options;
use crate::experiments::store_peers::{Value, leaves, path, put, value, value_of};
use crate::workload::Random;

/// Commits to random leaves of a tree that was planted.
pub struct Writer<'t> {
    tree: &'t TreeHandle,
    /// What each leaf has.
    held: Vec<Value>,
    random: Random,
    pub commits: u64,
}

impl<'t> Writer<'t> {
    pub fn new(tree: &'t TreeHandle, options: Options, seed: u64) -> Writer<'t> {
        let held = (0..leaves(options)).map(|leaf| value_of(leaf, 0)).collect();
        Writer { tree, held, random: Random(seed), commits: 0 }
    }

    pub fn commit(&mut self) -> Result<(), String> {
        let leaf = self.random.below(self.held.len() as u64) as u32;
        self.commits += 1;
        self.held[leaf as usize] = value_of(leaf, self.commits);
        put(self.tree, leaf, self.commits).map(drop)
    }

    /// How many leaves have something else.
    pub fn wrong(&self) -> u64 {
        let newest = self.tree.snapshot();
        let found = |leaf: u32| newest.root().at(&path(leaf)).ok().and_then(value);
        let is_wrong = |(leaf, ought): &(u32, &Value)| found(*leaf) != Some(**ought);
        (0..).zip(&self.held).filter(is_wrong).count() as u64
    }
}
