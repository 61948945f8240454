//! What a history took is given back: all revisions but the newest are forgotten.

use std::time::{Duration, Instant};

use jungle::{Durability, Retention, Store, TreeHandle};

use crate::Failure;
use crate::experiments::Options;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::store_peers::{TREE, checksum, leaves, path, plant, put, value, value_of};
use crate::sample::Sample;
use crate::workload::Random;

/// Commits of each task, and revisions that are kept in the end; there are twice as many at least.
const TASK_EDITS: u64 = 10;
const KEPT: usize = 100;

/// How often it is looked how large the folder is.
const LOOK: Duration = Duration::from_millis(5);

/// Milliseconds until all but the newest revisions are forgotten, their place is given back to the
/// disk, and the folder is closed; `before` and `after` = bytes that the disk has given for it,
/// `peak` = the most of them meanwhile, over those before.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("space")?;
    let edits = (options.tasks * TASK_EDITS).max(2 * KEPT as u64);
    let mut made = Vec::new();
    let loaded = {
        let store = open_options().durability(Durability::Buffered).open(&folder.0)?;
        let tree = store.create_tree(TREE)?;
        plant(&tree, options)?;
        let (loaded, mut random) = (tree.snapshot().revision(), Random(options.seed));
        for stamp in 1..=edits {
            let leaf = random.below(leaves(options).into()) as u32;
            made.push((put(&tree, leaf, stamp)?, leaf, stamp));
        }
        drop(tree);
        store.close()?;
        loaded
    };
    let before = folder.size()?.allocated;
    let store = open_options().open(&folder.0)?;
    let tree = store.open_tree(TREE)?;
    let begun = Instant::now();
    let (seconds, most) = std::thread::scope(|scope| {
        let keeping = scope.spawn(|| keep(store, tree).map(|()| begun.elapsed().as_secs_f64()));
        let mut most = before;
        while !keeping.is_finished() {
            most = most.max(folder.size().map_or(0, |size| size.allocated));
            std::thread::sleep(LOOK);
        }
        let seconds = keeping.join().map_err(|_| "it panicked")??;
        Ok::<_, Failure>((seconds, most))
    })?;
    let after = folder.size()?.allocated;
    let store = open_options().open(&folder.0)?;
    let tree = store.open_tree(TREE)?;
    let is_wrong = |(revision, leaf, stamp): &&(_, u32, u64)| {
        let then = tree.at(*revision).ok();
        let found = then.and_then(|then| value(then.root().at(&path(*leaf)).ok()?));
        found != Some(value_of(*leaf, *stamp))
    };
    let lost = made.iter().rev().take(KEPT).filter(is_wrong).count() as u64;
    let remembered = u64::from(tree.at(loaded).is_ok());
    let sample = Sample { operations: edits, seconds, ..Sample::value(1e3 * seconds, "ms") }
        .with("before", before as f64)
        .with("after", after as f64)
        .with("peak", most as f64 / before as f64)
        .with("checksum", checksum(&tree, leaves(options)).into());
    Ok(sample.check_none(lost + remembered, "values are not as they ought to be"))
}

fn keep(store: Store, tree: TreeHandle) -> Result<(), Failure> {
    tree.set_retention(Retention::Last(KEPT))?;
    store.collect()?;
    store.checkpoint()?;
    store.compact()?;
    drop(tree);
    Ok(store.close()?)
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    #[test]
    fn what_is_kept_is_there_and_takes_less() {
        let options = Options { threads: 1, tasks: 200, seed: 1, quick: true, tiny: true };
        let sample = sample(options).unwrap();
        assert_eq!(sample.check, "ok");
        assert!(sample.extra["after"] < sample.extra["before"], "{sample:?}");
    }
}
