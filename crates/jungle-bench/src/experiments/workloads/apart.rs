//! Two branches that are edited apart and merged, of which none, or a tenth, of the edits are of
//! leaves that both edit.

use std::mem;
use std::time::{Duration, Instant};

use jungle::{CommitMeta, Conflict, Jungle, Memory, MergeOptions, Path, TreeHandle};

use crate::Failure;
use crate::experiments::Options;
use crate::experiments::commit::Floor;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::store_peers::{
    TREE, Value, checksum, leaves, path, plant, put, value, value_of,
};
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// How many merges there are, and how many values each branch has committed before each.
const MERGES: u64 = 3;
const EDITS: u64 = 1_000;

/// Every so many-th edit is of a leaf that the other branch edits as well, where they overlap.
const OVERLAP_EVERY: u64 = 10;

/// Where the syncs of merges are counted: both branches commit so few values so many times, and are
/// merged as often as there are tasks, so that all but merges is the same however many these are.
const COUNTED: &str = "merge-disk-syncs";
const COUNTED_TURNS: u64 = 60;
const COUNTED_EDITS: u64 = 2;

/// How long the disk's syncs are counted after each merge.
const FLOOR: Duration = Duration::from_millis(300);
const FLOOR_TINY: Duration = Duration::from_millis(5);

/// The median of the microseconds of a merge, until the result is committed: `merge-0`, `merge-10`
/// in memory, or `-disk`. `conflicts` = leaves that both had changed and that it told of; `floor` =
/// syncs a second of a bare file. In `merge-disk-syncs` somebody else counts syncs.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let size = Size::of(case, options);
    Ok(Some(match case {
        "merge-0" | "merge-10" => {
            merge(&Jungle::memory()?.create_tree(TREE)?, options, size, None)?
        }
        "merge-0-disk" | "merge-10-disk" | COUNTED => {
            let (folder, beside) = (Folder::new(case)?, Folder::new("merge-floor")?);
            let store = open_options().open(&folder.0)?;
            // Its syncs would be counted, too.
            let floor = (case != COUNTED).then(|| Floor::new(&beside.0)).transpose()?;
            let sample = merge(&store.create_tree(TREE)?, options, size, floor)?;
            store.close()?;
            sample
        }
        _ => return Ok(None),
    }))
}

/// How often both branches are edited, how much, and how often they are merged then.
#[derive(Clone, Copy)]
struct Size {
    turns: u64,
    edits: u64,
    merges: u64,
    is_overlapping: bool,
}

impl Size {
    fn of(case: &str, options: Options) -> Size {
        let is_overlapping = case.starts_with("merge-10");
        let (turns, edits, merges) = match case {
            COUNTED => (COUNTED_TURNS, COUNTED_EDITS, options.tasks.min(COUNTED_TURNS)),
            _ => (MERGES, EDITS, MERGES),
        };
        Size { turns, edits, merges, is_overlapping }
    }
}

/// A leaf, and which of its values it gets.
type Edit = (u32, u64);

/// What both branches do before a merge.
struct Turn {
    main: Vec<Edit>,
    side: Vec<Edit>,
    /// The leaves that both edit, in order.
    both: Vec<u32>,
}

impl Turn {
    /// No leaf twice on a branch; as the peers draw them.
    fn drawn(turn: u64, options: Options, size: Size) -> Turn {
        let edits = size.edits.min(u64::from(leaves(options)) / 10);
        let mut random = Random(options.seed + turn);
        let mut drawn = vec![false; leaves(options) as usize];
        let mut leaf = || {
            loop {
                let leaf = random.below(leaves(options).into()) as u32;
                if !mem::replace(&mut drawn[leaf as usize], true) {
                    return leaf;
                }
            }
        };
        let mut all = Turn { main: Vec::new(), side: Vec::new(), both: Vec::new() };
        for edit in 0..edits {
            let stamp = 2 * (turn * edits + edit) + 1;
            let main = leaf();
            let is_both = size.is_overlapping && edit % OVERLAP_EVERY == 0;
            let side = if is_both { main } else { leaf() };
            all.main.push((main, stamp));
            all.side.push((side, stamp + 1));
            all.both.extend(is_both.then_some(main));
        }
        all.both.sort_unstable();
        all
    }
}

fn merge(
    main: &TreeHandle,
    options: Options,
    size: Size,
    mut floor: Option<Floor>,
) -> Result<Sample, Failure> {
    plant(main, options)?;
    let mut held: Vec<Value> = (0..leaves(options)).map(|leaf| value_of(leaf, 0)).collect();
    let (mut times, mut told, mut wrong) = (Vec::new(), 0, 0);
    for number in 0..size.turns {
        let name = format!("side-{number}");
        let turn = Turn::drawn(number, options, size);
        let side = main.branch(&name, main.snapshot().revision())?;
        for (branch, edits) in [(main, &turn.main), (&side, &turn.side)] {
            edits.iter().try_for_each(|(leaf, stamp)| put(branch, *leaf, *stamp).map(drop))?;
        }
        if number >= size.merges {
            turn.main.iter().for_each(|(leaf, stamp)| {
                held[*leaf as usize] = value_of(*leaf, *stamp);
            });
            continue;
        }
        let begun = Instant::now();
        let merge = main.merge(&name, &MergeOptions::new())?;
        let found: Vec<Path> =
            merge.conflicts().iter().map(|it: &Conflict| it.path.clone()).collect();
        merge.commit(&CommitMeta::new())?;
        times.push(1e6 * begun.elapsed().as_secs_f64());
        told += found.len();
        let are_right = turn.both.len() == found.len()
            && turn.both.iter().all(|leaf| found.iter().any(|found| found[..] == path(*leaf)));
        wrong += u64::from(!are_right);
        for (leaf, stamp) in turn.side.iter().chain(&turn.main) {
            held[*leaf as usize] = value_of(*leaf, *stamp);
        }
        if let Some(floor) = &mut floor {
            floor.overwrite(if options.tiny { FLOOR_TINY } else { FLOOR })?;
        }
    }
    let merged = main.snapshot();
    let is_wrong = |(leaf, ought): &(u32, &Value)| {
        merged.root().at(&path(*leaf)).ok().and_then(value).as_ref() != Some(*ought)
    };
    wrong += (0..).zip(&held).filter(is_wrong).count() as u64;
    // Not what was to be done: how many syncs each of them has is worked out with it.
    let merges = times.len() as u64;
    let sample = Sample { operations: merges, ..Sample::value(median(&times), "us") }
        .with("conflicts", told as f64 / merges as f64)
        .with("checksum", checksum(main, leaves(options)).into());
    let sample = floor.iter().fold(sample, |all, floor| all.with("floor", floor.rate()));
    Ok(sample.check_none(wrong, "leaves or lists of conflicts are not as they ought to be"))
}

#[cfg(test)]
mod tests {
    use super::{COUNTED, Options, Size, Turn, sample};

    #[test]
    fn a_tenth_of_the_edits_overlap_if_any() {
        let options = Options { threads: 1, tasks: 1, seed: 7, quick: true, tiny: true };
        for (case, both) in [("merge-0", 0), ("merge-10-disk", 10)] {
            let turn = Turn::drawn(1, options, Size::of(case, options));
            let mut all: Vec<u32> = turn.main.iter().chain(&turn.side).map(|edit| edit.0).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!((turn.main.len(), turn.both.len(), all.len()), (100, both, 200 - both));
            let at_once = |leaf: &u32| {
                let place = |edits: &[(u32, u64)]| edits.iter().position(|edit| edit.0 == *leaf);
                place(&turn.main).is_some() && place(&turn.main) == place(&turn.side)
            };
            assert!(turn.both.iter().all(at_once));
        }
    }

    /// Else what is counted would not be of merges.
    #[test]
    fn only_merges_are_more_where_there_are_more_tasks() {
        let of = |tasks| {
            let options = Options { threads: 1, tasks, seed: 7, quick: true, tiny: true };
            let sample = sample(COUNTED, options).unwrap().unwrap();
            assert_eq!(sample.check, "ok");
            assert!(!sample.extra.contains_key("floor"), "it syncs, too");
            let Size { turns, edits, .. } = Size::of(COUNTED, options);
            (sample.operations, turns, edits)
        };
        assert_eq!((of(2), of(5)), ((2, 60, 2), (5, 60, 2)));
    }
}
