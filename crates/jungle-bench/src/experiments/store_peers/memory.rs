//! In memory, where documents can be measured as well: commits, and the merge of two branches.

use std::time::Instant;

use jungle::{CommitMeta, Jungle, Memory, MergeOptions, TreeHandle};

use super::{TREE, checksum, leaves, path, plant, put, value, value_of};
use crate::Failure;
use crate::experiments::Options;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// Commits of each task.
const TASK_EDITS: u64 = 100;

/// How many merges there are, and how many commits each branch has had before.
const MERGES: u64 = 5;
const EDITS: u64 = 1_000;

fn planted(options: Options) -> Result<TreeHandle, Failure> {
    let tree = Jungle::memory()?.create_tree(TREE)?;
    plant(&tree, options)?;
    Ok(tree)
}

/// Commits a second; all that was before is kept.
pub fn commit(options: Options) -> Result<Sample, Failure> {
    let tree = planted(options)?;
    let loaded = tree.snapshot().revision();
    let (mut random, edits) = (Random(options.seed), options.tasks * TASK_EDITS);
    let mut leaf = 0;
    let begun = Instant::now();
    for stamp in 1..=edits {
        leaf = random.below(leaves(options).into()) as u32;
        put(&tree, leaf, stamp)?;
    }
    let sample = Sample::rate(begun.elapsed().as_secs_f64(), edits);
    let lost = (loaded.number() + edits).abs_diff(tree.snapshot().revision().number());
    let first = value(tree.at(loaded)?.root().at(&path(leaf))?);
    let forgotten = u64::from(first != Some(value_of(leaf, 0)));
    let sample = sample.with("checksum", checksum(&tree, leaves(options)).into());
    Ok(sample.check_none(lost + forgotten, "commits are not there"))
}

/// The median of the microseconds in which a branch is merged into the one that it was made from.
pub fn merge(options: Options) -> Result<Sample, Failure> {
    let main = planted(options)?;
    let (mut random, mut times) = (Random(options.seed), Vec::new());
    let (mut held, mut wrong) = (vec![0; leaves(options) as usize], 0);
    for turn in 0..MERGES {
        let name = format!("side-{turn}");
        let side = main.branch(&name, main.snapshot().revision())?;
        for edit in 0..EDITS {
            let stamp = turn * EDITS + edit + 1;
            for (branch, half) in [(&main, 0), (&side, 1)] {
                let leaf = 2 * random.below(u64::from(leaves(options)) / 2) as u32 + half;
                put(branch, leaf, stamp)?;
                held[leaf as usize] = stamp;
            }
        }
        let begun = Instant::now();
        let merge = main.merge(&name, &MergeOptions::new())?;
        wrong += merge.conflicts().len();
        merge.commit(&CommitMeta::new())?;
        times.push(1e6 * begun.elapsed().as_secs_f64());
    }
    let merged = main.snapshot();
    let is_wrong = |leaf: &u32| {
        let found = merged.root().at(&path(*leaf)).ok().and_then(value);
        found != Some(value_of(*leaf, held[*leaf as usize]))
    };
    wrong += (0..leaves(options)).filter(is_wrong).count();
    let sample = Sample::value(median(&times), "us");
    let sample = sample.with("checksum", checksum(&main, leaves(options)).into());
    Ok(sample.check_none(wrong as u64, "leaves are not what was merged"))
}
