//! Two versions are compared: neighbours, and such that lie a thousand commits apart.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use jungle::{ChangeSet, Durability, Revision, TreeHandle};

use crate::Failure;
use crate::experiments::Options;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::store_peers::{
    TREE, Value, checksum, leaves, path, plant, put, puts, value, value_of,
};
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// Commits of one value, how many of them lie between two versions, and how many pairs of these
/// are compared, twice.
const EDITS: u64 = 2_000;
const APART: usize = 1_000;
const PAIRS: u64 = 50;

/// The median of the microseconds to compare a revision with that a thousand commits before;
/// `adjacent` = with the one before. Nothing is synced.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("between")?;
    let store = open_options().durability(Durability::Buffered).open(&folder.0)?;
    let tree = store.create_tree(TREE)?;
    plant(&tree, options)?;
    let mut random = Random(options.seed);
    let mut pairs = Pairs {
        tree: &tree,
        seed: !options.seed,
        revisions: vec![tree.snapshot().revision()],
        edits: Vec::new(),
        wrong: 0,
    };
    for stamp in 1..=EDITS {
        let leaf = random.below(leaves(options).into()) as u32;
        pairs.revisions.push(put(&tree, leaf, stamp)?);
        pairs.edits.push((leaf, value_of(leaf, stamp)));
    }
    pairs.compare(1);
    let adjacent = median(&pairs.compare(1));
    pairs.compare(APART);
    let apart = median(&pairs.compare(APART));
    let held: BTreeMap<u32, Value> = pairs.edits.iter().copied().collect();
    let newest = tree.snapshot();
    let is_wrong = |(leaf, ought): &(&u32, &Value)| {
        newest.root().at(&path(**leaf)).ok().and_then(value).as_ref() != Some(*ought)
    };
    let wrong = pairs.wrong + held.iter().filter(is_wrong).count() as u64;
    let sample = Sample { operations: EDITS, ..Sample::value(apart, "us") }
        .with("adjacent", adjacent)
        .with("checksum", checksum(&tree, leaves(options)).into());
    Ok(sample.check_none(wrong, "answers or values are wrong"))
}

/// Compares two revisions again and again.
struct Pairs<'t> {
    tree: &'t TreeHandle,
    seed: u64,
    /// What was loaded, and what each commit made of it.
    revisions: Vec<Revision>,
    /// The leaf that each commit changed, and its value from then on.
    edits: Vec<(u32, Value)>,
    wrong: u64,
}

impl Pairs<'_> {
    /// Such as lie so many commits apart. Gives the microseconds of each.
    fn compare(&mut self, apart: usize) -> Vec<f64> {
        let (mut random, mut times) = (Random(self.seed), Vec::new());
        for _ in 0..PAIRS {
            let from = random.below((self.edits.len() - apart + 1) as u64) as usize;
            let [before, after] = [from, from + apart].map(|at| self.revisions[at]);
            let begun = Instant::now();
            let found = black_box(self.tree.diff(before, after));
            times.push(1e6 * begun.elapsed().as_secs_f64());
            let is_right = found.is_ok_and(|found| tells(&found, &self.edits[from..from + apart]));
            self.wrong += u64::from(!is_right);
        }
        times
    }
}

/// Are the changes what these edits, one after the other, came to?
fn tells(changes: &ChangeSet, edits: &[(u32, Value)]) -> bool {
    // Of a leaf that several of them changed, the last one's value.
    let ought: BTreeMap<u32, Value> = edits.iter().copied().collect();
    let mut both = changes.iter().zip(&ought);
    changes.len() == ought.len() && both.all(|(change, (leaf, value))| puts(change, *leaf, value))
}

#[cfg(test)]
mod tests {
    use jungle::{Jungle, Memory};

    use super::{Options, TREE, plant, put, sample, tells, value_of};

    const OPTIONS: Options = Options { threads: 1, tasks: 1, seed: 1, quick: true, tiny: true };

    /// Among a thousand leaves many are changed twice between two versions.
    #[test]
    fn versions_differ_by_what_was_committed_between() {
        let sample = sample(OPTIONS).unwrap();
        assert_eq!(sample.check, "ok");
        assert!(sample.extra["adjacent"] > 0.0 && sample.value > sample.extra["adjacent"]);
    }

    #[test]
    fn another_value_another_leaf_or_one_too_few_is_wrong() {
        let tree = Jungle::memory().unwrap().create_tree(TREE).unwrap();
        plant(&tree, OPTIONS).unwrap();
        let before = tree.snapshot().revision();
        let edits = [(7, 1), (980, 2), (7, 3)];
        let made = edits.map(|(leaf, stamp)| put(&tree, leaf, stamp).unwrap());
        let changes = tree.diff(before, made[2]).unwrap();
        let edits = edits.map(|(leaf, stamp)| (leaf, value_of(leaf, stamp)));
        assert!(tells(&changes, &edits));
        assert!(!tells(&changes, &edits[..2]), "leaf 7 has its second value");
        assert!(!tells(&changes, &edits[1..2]));
        let [first, _, last] = edits;
        assert!(!tells(&changes, &[first, (981, value_of(981, 2)), last]));
    }
}
