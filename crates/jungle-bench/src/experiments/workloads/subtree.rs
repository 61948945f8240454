//! A subtree of 11,111 nodes that is moved from one place to another, in memory; each move is a
//! commit, and all of them are kept.

use std::time::Instant;

use jungle::{EditError, Jungle, Key, Memory, Snapshot};

use super::checksum;
use crate::Failure;
use crate::experiments::Options;
use crate::experiments::store_peers::{KEY, TREE, Value, value, value_of};
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// Where it can be.
const PLACES: u32 = 10;

/// Steps of ten to a leaf of the subtree, and leaves.
const DEPTH: u32 = 4;
const LEAVES: u32 = 10_000;

/// The median of the microseconds of a move, of which there are as many as tasks; then it comes
/// home. `read` = of reading a leaf by its path where it is now.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let tree = Jungle::memory()?.create_tree(TREE)?;
    tree.update(|tx| {
        (0..PLACES).try_for_each(|place| tx.insert_child(&[], &key(place)))?;
        tx.insert_child(&[key(0)], &key(0))?;
        for leaf in 0..LEAVES {
            let path = path(0, leaf);
            for depth in (1..=DEPTH).filter(|depth| leaf % 10u32.pow(DEPTH - depth) == 0) {
                let above = depth as usize + 1;
                tx.insert_child(&path[..above], &path[above])?;
            }
            tx.put_attribute(&path, KEY, &value_of(leaf, 0)[..])?;
        }
        Ok::<_, EditError>(())
    })?;
    let loaded = tree.snapshot();
    let (mut random, mut times, mut reads) = (Random(options.seed), Vec::new(), Vec::new());
    let (mut here, mut wrong) = (0, 0);
    let shift = |from: u32, to: u32| {
        tree.update(|tx| tx.move_node(&[key(from), key(0)], &[key(to)], &key(0)))
    };
    for _ in 0..options.tasks {
        let to = (here + 1 + random.below(u64::from(PLACES) - 1) as u32) % PLACES;
        let begun = Instant::now();
        shift(here, to)?;
        times.push(1e6 * begun.elapsed().as_secs_f64());
        let leaf = random.below(LEAVES.into()) as u32;
        let begun = Instant::now();
        let found = read(&tree.snapshot(), to, leaf);
        reads.push(1e6 * begun.elapsed().as_secs_f64());
        wrong += u64::from(found != Some(value_of(leaf, 0)));
        wrong += u64::from(read(&tree.snapshot(), here, leaf).is_some());
        here = to;
    }
    if here != 0 {
        shift(here, 0)?;
    }
    let home = tree.snapshot();
    let found: Vec<Value> = (0..LEAVES).filter_map(|leaf| read(&home, 0, leaf)).collect();
    let is_wrong = |(leaf, found): &(u32, &Value)| **found != value_of(*leaf, 0);
    wrong += (0..).zip(&found).filter(is_wrong).count() as u64;
    // As it was, at the revision it was then.
    wrong += u64::from(read(&tree.at(loaded.revision())?, 0, 0).is_none());
    let sum = checksum(found.into_iter().flatten());
    let sample = Sample { operations: options.tasks, ..Sample::value(median(&times), "us") }
        .with("read", median(&reads))
        .with("checksum", sum.into());
    Ok(sample.check_none(wrong, "leaves are not where they ought to be"))
}

fn key(number: u32) -> Key {
    Key::from(u64::from(number))
}

/// The place, the subtree's node, and the steps.
fn path(place: u32, leaf: u32) -> [Key; 6] {
    let step = |depth: u32| key(leaf / 10u32.pow(DEPTH - depth) % 10);
    [key(place), key(0), step(1), step(2), step(3), step(4)]
}

fn read(snapshot: &Snapshot, place: u32, leaf: u32) -> Option<Value> {
    value(snapshot.root().at(&path(place, leaf)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    /// What the peers hold in the end, too.
    #[test]
    fn a_subtree_comes_home() {
        let options = Options { threads: 1, tasks: 9, seed: 1, quick: true, tiny: true };
        let sample = sample(options).unwrap();
        assert_eq!((sample.check.as_str(), sample.extra["checksum"]), ("ok", 903_755_640.0));
    }
}
