//! Our side of what `bench/peers/store` does: durable commits of one value among 100,000, reading
//! what was there before, comparing neighbours, and what is kept on disk; and what documents in
//! memory can do as well.

mod memory;

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use jungle::{Change, EditError, Key, Revision, Store, TreeHandle, UpdateError, ValueRef};

use super::Options;
use super::commit::Floor;
use super::folder::{Folder, options as open_options};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::{median, quantile};
use crate::workload::{Random, on_workers};

pub(super) const TREE: &str = "leaves";
pub(super) const KEY: &str = "value";
const LEAVES: u32 = 100_000;
const LEAVES_TINY: u32 = 1_000;

/// Milliseconds of committing for each task, and revisions.
const TASK_MS: u64 = 2;
const TASK_REVISIONS: u64 = 5;

/// How many old revisions are read, and compared, each twice.
const READS: u64 = 2_000;
const DIFFS: u64 = 500;

pub(super) type Value = [u8; 32];

/// `commit` = durable commits a second; `p50` and `p99` = the microseconds within which half of
/// them were acknowledged, and 99 of 100; `floor` = syncs a second of a bare file, just before and
/// just after. `kept` = the median of the microseconds to read a leaf of an old revision; `diff` =
/// to compare a revision with the one before; `folder` = bytes on disk in the end; `growth` = by
/// how much a commit made them more; `growth-used` = the same without the zeros that the log has
/// ready for commits to come, which weigh more the fewer commits there were. `commit-memory` and
/// `merge` are in memory.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    Ok(Some(match case {
        "commit" => commit(&Folder::new(case)?, options)?,
        "commit-memory" => memory::commit(options)?,
        "kept" => kept(&Folder::new(case)?, options)?,
        "merge" => memory::merge(options)?,
        _ => return Ok(None),
    }))
}

pub(super) fn leaves(options: Options) -> u32 {
    if options.tiny { LEAVES_TINY } else { LEAVES }
}

/// Five steps, each one of ten, but the first: that is one of as many as there are.
pub(super) fn path(leaf: u32) -> [Key; 5] {
    std::array::from_fn(|level| {
        let step = leaf / 10u32.pow(4 - level as u32);
        Key::from(u64::from(if level == 0 { step } else { step % 10 }))
    })
}

pub(super) fn value_of(leaf: u32, stamp: u64) -> Value {
    let mut value = [0x76; 32];
    value[..8].copy_from_slice(&u64::from(leaf).to_le_bytes());
    value[8..16].copy_from_slice(&stamp.to_le_bytes());
    value
}

fn load(folder: &Folder, options: Options) -> Result<(), Failure> {
    let store = open_options().open(&folder.0)?;
    plant(&store.create_tree(TREE)?, options)?;
    Ok(store.close()?)
}

pub(super) fn plant(tree: &TreeHandle, options: Options) -> Result<(), Failure> {
    tree.update(|tx| {
        for leaf in 0..leaves(options) {
            let path = path(leaf);
            for depth in 0..path.len() {
                if !tx.exists(&path[..=depth]) {
                    tx.insert_child(&path[..depth], &path[depth])?;
                }
            }
            tx.put_attribute(&path, KEY, &value_of(leaf, 0)[..])?;
        }
        Ok::<_, EditError>(())
    })?;
    Ok(())
}

fn open(folder: &Folder) -> Result<(Store, TreeHandle), Failure> {
    let store = open_options().open(&folder.0)?;
    let tree = store.open_tree(TREE)?;
    Ok((store, tree))
}

pub(super) fn put(tree: &TreeHandle, leaf: u32, stamp: u64) -> Result<Revision, String> {
    let (path, value) = (path(leaf), value_of(leaf, stamp));
    let put = tree.update(|tx| tx.put_attribute(&path, KEY, &value[..]));
    put.map(|put| put.revision).map_err(|error: UpdateError<EditError>| error.to_string())
}

fn commit(folder: &Folder, options: Options) -> Result<Sample, Failure> {
    load(folder, options)?;
    let (store, tree) = open(folder)?;
    let before = store.revision();
    let turn = Duration::from_millis(options.tasks * TASK_MS);
    let beside = Folder::new("commit-floor")?;
    let mut floor = Floor::new(&beside.0)?;
    floor.overwrite(turn / 4)?;
    let begun = Instant::now();
    let (seconds, results) = on_workers(options.threads, |client| {
        let (mut random, mut times) = (Random(options.seed + client as u64), Vec::new());
        for stamp in (client as u64..).step_by(options.threads).skip(1) {
            if begun.elapsed() >= turn {
                break;
            }
            let leaf = random.below(leaves(options).into()) as u32;
            let committing = Instant::now();
            put(&tree, leaf, stamp)?;
            times.push(1e6 * committing.elapsed().as_secs_f64());
        }
        Ok(times)
    });
    let times: Vec<f64> = results.into_iter().collect::<Result<Vec<_>, String>>()?.concat();
    floor.overwrite(turn / 4)?;
    let done = times.len() as u64;
    let lost = (before.number() + done).abs_diff(store.revision().number());
    let sample = Sample::rate(seconds, done)
        .with("p50", quantile(&times, 0.5))
        .with("p99", quantile(&times, 0.99))
        .with("floor", floor.rate());
    Ok(sample.check_none(lost, "commits are not there"))
}

fn kept(folder: &Folder, options: Options) -> Result<Sample, Failure> {
    load(folder, options)?;
    let loaded = taken(folder)?;
    let (mut random, revisions) = (Random(options.seed), options.tasks * TASK_REVISIONS);
    let (store, tree) = open(folder)?;
    let mut changed = Vec::new();
    for stamp in 1..=revisions {
        let leaf = random.below(leaves(options).into()) as u32;
        changed.push((put(&tree, leaf, stamp)?, leaf));
    }
    drop(tree);
    store.close()?;
    let taken = taken(folder)?;
    let (_store, tree) = open(folder)?;
    let mut old = Old { tree: &tree, seed: !options.seed, changed: &changed, wrong: 0 };
    old.read(READS);
    let read = median(&old.read(READS));
    old.diff(DIFFS);
    let diff = median(&old.diff(DIFFS));
    let grown = |now: u64, before: u64| now.saturating_sub(before) as f64 / revisions as f64;
    let sample = Sample { operations: revisions, ..Sample::value(read, "us") }
        .with("diff", diff)
        .with("folder", taken.allocated as f64)
        .with("growth", grown(taken.allocated, loaded.allocated))
        .with("growth-used", grown(taken.used, loaded.used))
        .with("checksum", checksum(&tree, leaves(options)).into());
    Ok(sample.check_none(old.wrong, "answers are wrong"))
}

/// Bytes that the disk has given for a folder, and how many of them have something in them.
struct Taken {
    allocated: u64,
    used: u64,
}

fn taken(folder: &Folder) -> io::Result<Taken> {
    let allocated = folder.size()?.allocated;
    Ok(Taken { allocated, used: allocated.saturating_sub(folder.ready()?) })
}

/// One number for the values of all leaves.
pub(super) fn checksum(tree: &TreeHandle, leaves: u32) -> u32 {
    let snapshot = tree.snapshot();
    let value = |leaf| snapshot.root().at(&path(leaf)).ok().and_then(value);
    let bytes = (0..leaves).filter_map(value).flatten();
    bytes.fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}

pub(super) fn value(node: jungle::Node<'_>) -> Option<Value> {
    node.attribute(KEY)?.as_bytes()?.try_into().ok()
}

/// Looks back.
struct Old<'t> {
    tree: &'t TreeHandle,
    seed: u64,
    /// The revisions, and the leaf that each changed.
    changed: &'t [(Revision, u32)],
    wrong: u64,
}

impl Old<'_> {
    /// What a leaf has after so many changes.
    fn ought(&self, leaf: u32, changes: usize) -> Value {
        let stamp = self.changed[..changes].iter().rposition(|(_, changed)| *changed == leaf);
        value_of(leaf, stamp.map_or(0, |stamp| stamp as u64 + 1))
    }

    fn random(&self, random: &mut Random) -> usize {
        random.below(self.changed.len() as u64) as usize
    }

    /// Reads a leaf that some revision changed, as it was at another random one. Gives the
    /// microseconds of each.
    fn read(&mut self, reads: u64) -> Vec<f64> {
        let mut random = Random(self.seed);
        let read = |_| {
            let (_, leaf) = self.changed[self.random(&mut random)];
            let at = self.random(&mut random);
            let begun = Instant::now();
            let found = self.tree.at(self.changed[at].0).ok();
            let found = found.and_then(|at| value(at.root().at(&path(leaf)).ok()?));
            let seconds = begun.elapsed().as_secs_f64();
            self.wrong += u64::from(found != Some(self.ought(leaf, at + 1)));
            1e6 * seconds
        };
        (0..reads).map(read).collect()
    }

    fn diff(&mut self, diffs: u64) -> Vec<f64> {
        let mut random = Random(self.seed);
        let diff = |_| {
            let at = self.random(&mut random);
            let (revision, leaf) = self.changed[at];
            let before = Revision::new(revision.number() - 1);
            let begun = Instant::now();
            let found = black_box(self.tree.diff(before, revision));
            let seconds = begun.elapsed().as_secs_f64();
            let ought = self.ought(leaf, at + 1);
            let is_it = found.is_ok_and(|changes| {
                changes.len() == 1 && changes.iter().all(|change| puts(change, leaf, &ought))
            });
            self.wrong += u64::from(!is_it);
            1e6 * seconds
        };
        (0..diffs).map(diff).collect()
    }
}

/// Does the change put this value on this leaf?
pub(super) fn puts(change: &Change, leaf: u32, ought: &Value) -> bool {
    match change {
        Change::AttributePut { path: at, value, .. } => {
            at[..] == path(leaf) && value.as_ref() == ValueRef::Bytes(ought)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    #[test]
    fn each_commit_is_timed() {
        let options = Options { threads: 8, tasks: 20, seed: 1, quick: true, tiny: true };
        let sample = sample("commit", options).unwrap().unwrap();
        let (half, most) = (sample.extra["p50"], sample.extra["p99"]);
        assert_eq!(sample.check, "ok");
        assert!(half > 0.0 && half <= most && most <= 1e6 * sample.seconds, "{sample:?}");
        // A client waits for one commit at a time.
        let each = 1e6 * sample.seconds * 8.0 / sample.operations as f64;
        assert!(half <= 2.0 * each, "{sample:?}");
    }
}
