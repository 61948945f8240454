//! What is loaded and committed: the same in all systems.

use super::super::Options;
use crate::workload::Random;

/// The tree that is measured, and the one before.
pub const TREE: &str = "leaves";
pub const WARM: &str = "warm";

/// The attribute of each leaf.
pub const KEY: &str = "value";

/// Leaves that are loaded in one commit.
pub const COMMIT_LEAVES: u32 = 1_000;

/// Steps to a leaf, each one of ten.
pub const DEPTH: u32 = 5;

const LEAVES: u32 = 100_000;
const LEAVES_TINY: u32 = 1_000;

/// Commits of each task by one client, and by several together; twice as many to warm up.
const TASK_EDITS: u64 = 5;
const TASK_EDITS_TOGETHER: u64 = 20;

/// The key in this step, from 1 on, to a leaf.
pub fn step(leaf: u32, depth: u32) -> u32 {
    leaf / 10u32.pow(DEPTH - depth) % 10
}

/// Is it the first leaf below the node of this depth on its path? All are loaded in their order.
pub fn is_first(leaf: u32, depth: u32) -> bool {
    leaf.is_multiple_of(10u32.pow(DEPTH - depth))
}

/// Whose value it is, and which of its values: 32 characters.
pub fn value_of(leaf: u32, stamp: u64) -> String {
    format!("{leaf:016x}{stamp:016x}")
}

/// One number for this value and all before it.
pub fn checksum(sum: u32, value: &str) -> u32 {
    value.bytes().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}

/// Which leaves there are, and which of them get new values, in this order.
pub struct Edits {
    pub seed: u64,
    /// Leaves of the tree.
    pub count: u32,
    pub clients: usize,
    /// The leaf of each edit, whose stamps count from 1.
    pub leaves: Vec<u32>,
}

impl Edits {
    pub fn new(options: Options) -> Edits {
        let each = if options.threads == 1 { TASK_EDITS } else { TASK_EDITS_TOGETHER };
        let count = if options.tiny { LEAVES_TINY } else { LEAVES };
        Edits::drawn(options.seed, count, options.threads, options.tasks * each)
    }

    /// Those before that are not counted.
    pub fn warm_up(&self) -> Edits {
        Edits::drawn(self.seed, self.count, self.clients, 2 * self.leaves.len() as u64)
    }

    /// So many edits of random leaves.
    pub fn drawn(seed: u64, count: u32, clients: usize, edits: u64) -> Edits {
        let mut random = Random(seed);
        let leaves = (0..edits).map(|_| random.below(count.into()) as u32).collect();
        Edits { seed, count, clients, leaves }
    }

    /// The stamps and leaves of a client. Each leaf has one client, so that all end with the same
    /// content, whoever is first.
    pub fn of(&self, client: usize) -> impl Iterator<Item = (u64, u32)> {
        let all = (1..).zip(self.leaves.iter().copied());
        all.filter(move |(_, leaf)| *leaf as usize % self.clients == client)
    }

    /// The last stamp of each leaf; 0 is what was loaded.
    pub fn held(&self) -> Vec<u64> {
        let mut held = vec![0; self.count as usize];
        for (stamp, leaf) in (1..).zip(&self.leaves) {
            held[*leaf as usize] = stamp;
        }
        held
    }

    /// A random edit: its leaf, and which it is, from 0 on.
    pub fn random(&self, random: &mut Random) -> (u32, usize) {
        let at = random.below(self.leaves.len() as u64) as usize;
        (self.leaves[at], at)
    }

    /// What a leaf has after this edit, if one client does them all.
    pub fn value_after(&self, leaf: u32, at: usize) -> String {
        let stamp = self.leaves[..=at].iter().rposition(|edited| *edited == leaf);
        value_of(leaf, stamp.map_or(0, |stamp| stamp as u64 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{Edits, checksum, is_first, step, value_of};

    #[test]
    fn clients_do_all_edits_and_no_leaf_has_two() {
        let edits = Edits::drawn(7, 100, 3, 500);
        let mut done: Vec<(u64, u32)> = (0..3).flat_map(|client| edits.of(client)).collect();
        done.sort_unstable();
        let all: Vec<(u64, u32)> = (1..).zip(edits.leaves.iter().copied()).collect();
        assert_eq!(done, all);
        assert!(edits.of(1).all(|(_, leaf)| leaf % 3 == 1) && edits.of(1).count() > 100);
    }

    #[test]
    fn values_are_those_of_the_last_edit() {
        let edits = Edits { seed: 1, count: 4, clients: 1, leaves: vec![2, 0, 2, 1] };
        assert_eq!(edits.held(), [2, 4, 3, 0]);
        assert_eq!(edits.value_after(2, 1), value_of(2, 1));
        assert_eq!(edits.value_after(1, 2), value_of(1, 0));
    }

    #[test]
    fn nodes_are_made_with_their_first_leaf() {
        let steps = |leaf| [1, 2, 3, 4, 5].map(|depth| step(leaf, depth));
        assert_eq!((steps(7), steps(12_345)), ([0, 0, 0, 0, 7], [1, 2, 3, 4, 5]));
        let made = |leaf| (1..=5).filter(|depth| is_first(leaf, *depth)).count();
        assert_eq!([0, 1, 10, 500, 12_000].map(made), [5, 1, 2, 3, 4]);
    }

    /// The peers have this number for these values, too.
    #[test]
    fn a_checksum_is_of_all_values_in_order() {
        let [a, b] = [value_of(0, 0), value_of(1, 255)];
        assert_eq!(b, "000000000000000100000000000000ff");
        let in_order = checksum(checksum(0, &a), &b);
        assert_ne!(in_order, checksum(checksum(0, &b), &a));
        assert_eq!(in_order, checksum(0, &(a + &b)));
    }
}
