//! Ours beside etcd and ZooKeeper, over HTTP from a server in a process of its own, and beside
//! Jackrabbit Oak, in one process. All load the same leaves, commit the same values, durably, and
//! are asked the same; the peers in `bench/peers` do it alike. etcd and ZooKeeper also beside ours
//! where three servers are one cluster, and etcd, which keeps what was and tells what changed,
//! where a thousand watch, where a hundred do while the server is killed, and where old revisions
//! are forgotten.

mod draws;
mod embedded;
mod reclaimed;
mod resumed;
mod served;
mod three;

use std::ops::Range;
use std::time::{Duration, Instant};

use self::draws::{COMMIT_LEAVES, Edits, TREE, WARM, checksum, value_of};
use super::Options;
use super::board::watchers;
use super::commit::Floor;
use super::folder::Folder;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::{median, quantile};
use crate::workload::{Random, on_workers, timed};

/// Old revisions that are read, and compared with the one before, each twice.
const OLD_READS: u64 = 2_000;
const DIFFS: u64 = 500;

/// Syncs of a bare file before the commits, and after. Not a time: `served-syncs` counts from
/// outside, and these must be as many in each of its runs.
const FLOOR_SYNCS: u64 = 300;
const FLOOR_SYNCS_TINY: u64 = 3;

/// For each task the tree that is watched is written to for so long.
const TASK_WATCHED: Duration = Duration::from_millis(30);

/// Tasks for each time that a server is killed, and how often it is at most.
const TASKS_KILL: u64 = 25;
const KILLS_MAX: u64 = 4;

/// Commits a second of as many clients as `threads` says; `p50` and `p99` = the microseconds within
/// which half of them were acknowledged, and 99 of 100; `load` = leaves a second, a thousand in a
/// commit; `folder` = bytes on disk in the end; `growth` = of these, what a commit added; `floor` =
/// syncs a second of a bare file, just before the commits and just after. With one
/// client also the median microseconds to read a leaf at the head (`read`), at a random old
/// revision (`read-old`), and to compare a revision with the one before (`diff`).
/// `watched` is [`watchers`] with durable commits; `resumed`, `three` and `reclaimed` are
/// [`resumed::sample`], [`three::sample`] and [`reclaimed::sample`].
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    Ok(Some(match case {
        "served" => {
            let folder = Folder::new("neighbours-served")?;
            measure(served::Served::start(&folder)?, &folder, options)?
        }
        "watched" => {
            let length = (TASK_WATCHED * options.tasks as u32).max(Duration::from_secs(1));
            watchers::sample(&["--durability", "sync"], length, options)?
        }
        "resumed" => resumed::sample(options)?,
        "three" => three::sample(options)?,
        "reclaimed" => reclaimed::sample(options)?,
        "embedded" => {
            let folder = Folder::new("neighbours-embedded")?;
            measure(embedded::Embedded::open(&folder)?, &folder, options)?
        }
        _ => return Ok(None),
    }))
}

/// How often a server is killed.
fn kills(options: Options) -> u64 {
    (options.tasks / TASKS_KILL).clamp(1, KILLS_MAX)
}

/// A Jungle with the two trees, each of one node.
trait Store: Sync {
    /// Somebody who uses it.
    fn user(&self) -> Result<Box<dyn User + '_>, Failure>;
    /// Ends it in order.
    fn close(self) -> Result<(), Failure>;
}

/// Somebody who uses a store: a thread, or a connection.
trait User {
    /// Makes these leaves, and the nodes above them that the leaves before have not, in one commit.
    fn load(&mut self, tree: &str, leaves: Range<u32>) -> Result<(), Failure>;
    /// Commits a value; gives the revision.
    fn put(&mut self, tree: &str, leaf: u32, value: &str) -> Result<u64, Failure>;
    /// The value of a leaf, at a revision or the newest one.
    fn read(&mut self, tree: &str, leaf: u32, at: Option<u64>) -> Result<String, Failure>;
    /// Does the revision differ from the one before by this value of this leaf, and nothing else?
    fn is_change(
        &mut self,
        tree: &str,
        revision: u64,
        leaf: u32,
        value: &str,
    ) -> Result<bool, Failure>;
}

fn measure(store: impl Store, folder: &Folder, options: Options) -> Result<Sample, Failure> {
    let edits = Edits::new(options);
    let wrong = warm_up(&store, &edits.warm_up())?;
    let (load, loaded) = timed(|| load(&store, TREE, &edits));
    loaded?;
    let before = folder.size()?.allocated;
    let other = Folder::new("neighbours-floor")?;
    let mut floor = Floor::new(&other.0)?;
    let floor_syncs = if options.tiny { FLOOR_SYNCS_TINY } else { FLOOR_SYNCS };
    floor.overwrite_blocks(floor_syncs)?;
    let Committed { seconds, revisions, times } = commit(&store, TREE, &edits)?;
    floor.overwrite_blocks(floor_syncs)?;
    let mut sample = Sample::rate(seconds, edits.leaves.len() as u64)
        .with("p50", quantile(&times, 0.5))
        .with("p99", quantile(&times, 0.99))
        .with("load", f64::from(edits.count) / load)
        .with("floor", floor.rate());
    let mut back = Back::new(&store, TREE, &edits, &revisions)?;
    if options.threads == 1 {
        let read = median(&back.read(2 * edits.leaves.len() as u64)?);
        back.read_old(OLD_READS)?;
        let read_old = median(&back.read_old(OLD_READS)?);
        back.diff(DIFFS)?;
        let diff = median(&back.diff(DIFFS)?);
        sample = sample.with("read", read).with("read-old", read_old).with("diff", diff);
    }
    let sum = back.checksum()?;
    let wrong = wrong + back.wrong;
    drop(back);
    store.close()?;
    let allocated = folder.size()?.allocated;
    let growth = allocated.saturating_sub(before) as f64 / edits.leaves.len() as f64;
    let sample =
        sample.with("folder", allocated as f64).with("growth", growth).with("checksum", sum.into());
    Ok(sample.check_none(wrong, "answers are wrong"))
}

/// All of it once before, in another tree, for those that are slow at first. Gives how many answers
/// were wrong.
fn warm_up(store: &impl Store, edits: &Edits) -> Result<u64, Failure> {
    load(store, WARM, edits)?;
    commit(store, WARM, edits)?;
    let mut back = Back::new(store, WARM, edits, &[])?;
    back.read(edits.leaves.len() as u64)?;
    Ok(back.wrong)
}

fn load(store: &impl Store, tree: &str, edits: &Edits) -> Result<(), Failure> {
    let mut user = store.user()?;
    for first in (0..edits.count).step_by(COMMIT_LEAVES as usize) {
        user.load(tree, first..edits.count.min(first + COMMIT_LEAVES))?;
    }
    Ok(())
}

/// What came of commits.
struct Committed {
    /// That all of them took.
    seconds: f64,
    /// In order, if there is one client.
    revisions: Vec<u64>,
    /// The microseconds of each.
    times: Vec<f64>,
}

/// All edits, by all clients at once.
fn commit(store: &impl Store, tree: &str, edits: &Edits) -> Result<Committed, Failure> {
    let (seconds, done) = on_workers(edits.clients, |client| {
        let mut user = store.user()?;
        let put = |(stamp, leaf)| {
            let (value, begun) = (value_of(leaf, stamp), Instant::now());
            let revision = user.put(tree, leaf, &value)?;
            Ok((revision, 1e6 * begun.elapsed().as_secs_f64()))
        };
        edits.of(client).map(put).collect::<Result<Vec<(u64, f64)>, Failure>>()
    });
    let done = done.into_iter().collect::<Result<Vec<_>, Failure>>()?.concat();
    let (revisions, times) = done.into_iter().unzip();
    Ok(Committed { seconds, revisions, times })
}

/// One who looks at what was committed.
struct Back<'s> {
    user: Box<dyn User + 's>,
    tree: &'static str,
    edits: &'s Edits,
    /// Of each edit.
    revisions: &'s [u64],
    wrong: u64,
}

impl<'s> Back<'s> {
    fn new(
        store: &'s impl Store,
        tree: &'static str,
        edits: &'s Edits,
        revisions: &'s [u64],
    ) -> Result<Back<'s>, Failure> {
        Ok(Back { user: store.user()?, tree, edits, revisions, wrong: 0 })
    }

    /// Reads random leaves as they are now. Gives the microseconds of each.
    fn read(&mut self, reads: u64) -> Result<Vec<f64>, Failure> {
        let (mut random, held) = (Random(!self.edits.seed), self.edits.held());
        let read = |_| {
            let leaf = random.below(self.edits.count.into()) as u32;
            let begun = Instant::now();
            let found = self.user.read(self.tree, leaf, None)?;
            let seconds = begun.elapsed().as_secs_f64();
            self.wrong += u64::from(found != value_of(leaf, held[leaf as usize]));
            Ok(1e6 * seconds)
        };
        (0..reads).map(read).collect()
    }

    /// Reads leaves that were edited, as they were after another random edit.
    fn read_old(&mut self, reads: u64) -> Result<Vec<f64>, Failure> {
        let mut random = Random(!self.edits.seed);
        let read = |_| {
            let (leaf, _) = self.edits.random(&mut random);
            let (_, at) = self.edits.random(&mut random);
            let begun = Instant::now();
            let found = self.user.read(self.tree, leaf, Some(self.revisions[at]))?;
            let seconds = begun.elapsed().as_secs_f64();
            self.wrong += u64::from(found != self.edits.value_after(leaf, at));
            Ok(1e6 * seconds)
        };
        (0..reads).map(read).collect()
    }

    fn diff(&mut self, diffs: u64) -> Result<Vec<f64>, Failure> {
        let mut random = Random(!self.edits.seed);
        let diff = |_| {
            let (leaf, at) = self.edits.random(&mut random);
            let value = self.edits.value_after(leaf, at);
            let begun = Instant::now();
            let is_it = self.user.is_change(self.tree, self.revisions[at], leaf, &value)?;
            let seconds = begun.elapsed().as_secs_f64();
            self.wrong += u64::from(!is_it);
            Ok(1e6 * seconds)
        };
        (0..diffs).map(diff).collect()
    }

    /// One number for the values of all leaves, each of which is looked at.
    fn checksum(&mut self) -> Result<u32, Failure> {
        let held = self.edits.held();
        let mut sum = 0;
        for leaf in 0..self.edits.count {
            let found = self.user.read(self.tree, leaf, None)?;
            self.wrong += u64::from(found != value_of(leaf, held[leaf as usize]));
            sum = checksum(sum, &found);
        }
        Ok(sum)
    }
}
