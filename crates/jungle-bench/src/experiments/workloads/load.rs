//! Very many leaves are loaded, durably, a thousand in a commit.

use std::ops::Range;
use std::time::Duration;

use jungle::{EditError, TreeHandle};

use crate::Failure;
use crate::experiments::Options;
use crate::experiments::commit::Floor;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::store_peers::{KEY, TREE, checksum, path, value, value_of};
use crate::sample::Sample;
use crate::workload::timed;

/// Leaves of a commit.
const COMMIT: u32 = 1_000;

/// Where programs are tried there are so many times fewer.
const TINY: u32 = 100;

/// How long a bare file is synced before, and after.
const FLOOR: Duration = Duration::from_millis(250);

/// Leaves a second, with the nodes above them; the case `load-COUNT` says how many there are.
/// `folder` = bytes that the disk has given for them in the end, `floor` = syncs a second of a bare
/// file.
pub fn sample(case: &str, options: Options) -> Result<Sample, Failure> {
    let count: u32 = case.trim_start_matches("load-").parse()?;
    let count = if options.tiny { count / TINY } else { count };
    let (folder, other) = (Folder::new("load")?, Folder::new("load-floor")?);
    let mut floor = Floor::new(&other.0)?;
    floor.overwrite(FLOOR)?;
    let store = open_options().open(&folder.0)?;
    let tree = store.create_tree(TREE)?;
    let before = store.revision().number();
    let (seconds, loaded) = timed(|| load(&tree, count));
    loaded?;
    floor.overwrite(FLOOR)?;
    let made = store.revision().number() - before;
    drop(tree);
    store.close()?;
    let allocated = folder.size()?.allocated;
    let store = open_options().open(&folder.0)?;
    let tree = store.open_tree(TREE)?;
    let snapshot = tree.snapshot();
    let found = |leaf| snapshot.root().at(&path(leaf)).ok().and_then(value);
    let lost = (0..count).filter(|leaf| found(*leaf) != Some(value_of(*leaf, 0))).count() as u64;
    let wrong = lost + made.abs_diff(u64::from(count.div_ceil(COMMIT)));
    let sample = Sample::rate(seconds, count.into())
        .with("folder", allocated as f64)
        .with("floor", floor.rate())
        .with("checksum", checksum(&tree, count).into());
    Ok(sample.check_none(wrong, "leaves or commits are not there"))
}

fn load(tree: &TreeHandle, count: u32) -> Result<(), Failure> {
    let mut firsts = (0..count).step_by(COMMIT as usize);
    firsts.try_for_each(|first| add(tree, first..count.min(first + COMMIT)))
}

/// Makes these leaves, and the nodes above them that the leaves before have not, in one commit.
fn add(tree: &TreeHandle, leaves: Range<u32>) -> Result<(), Failure> {
    tree.update(|tx| {
        for leaf in leaves.clone() {
            let path = path(leaf);
            let is_first = |depth: &usize| leaf % 10u32.pow(4 - *depth as u32) == 0;
            for depth in (0..path.len()).filter(is_first) {
                tx.insert_child(&path[..depth], &path[depth])?;
            }
            tx.put_attribute(&path, KEY, &value_of(leaf, 0)[..])?;
        }
        Ok::<_, EditError>(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    #[test]
    fn leaves_are_all_there_also_more_than_five_steps_of_ten_have() {
        let options = Options { threads: 1, tasks: 1, seed: 1, quick: true, tiny: true };
        let sum = |case| {
            let sample = sample(case, options).unwrap();
            assert_eq!(sample.check, "ok");
            assert!(sample.extra["folder"] > 0.0 && sample.extra["floor"] > 0.0);
            (sample.operations, sample.extra["checksum"])
        };
        // A hundredth of each.
        let (few, many) = (sum("load-100000"), sum("load-10100000"));
        assert_eq!((few.0, many.0), (1_000, 101_000));
        assert_ne!(few.1, many.1);
    }
}
