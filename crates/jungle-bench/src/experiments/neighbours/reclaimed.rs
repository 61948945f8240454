//! A server that forgets all but the newest revisions, and gives their place back to the disk,
//! while one reads and one commits: how long either must wait, and what the folder takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use super::draws::{Edits, TREE, value_of};
use super::served::Served;
use super::{Committed, Store, commit, load};
use crate::Failure;
use crate::experiments::Options;
use crate::experiments::folder::Folder;
use crate::experiments::longest::Longest;
use crate::experiments::reclaim::watched;
use crate::sample::Sample;
use crate::workload::Random;

/// Commits of each task before, and revisions that are kept; there are twice as many at least.
const TASK_EDITS: u64 = 5;
const KEPT: u64 = 100;

/// The newest commits, which must be known afterwards: there are fewer than are kept.
const NEWEST: usize = 10;

/// For each task nothing is given back for so long, and at most so long.
const TASK_TURN: Duration = Duration::from_millis(1);
const TURN_MAX: Duration = Duration::from_secs(1);

/// After each read and each commit.
const PAUSE: Duration = Duration::from_micros(50);

/// The milliseconds of the longest read of a random leaf, and of the longest durable commit of one
/// value (`writer`), while all but the newest revisions are forgotten and their place is given
/// back, which took so long (`took`); `reader-beside` and `writer-beside` = of those before;
/// `before` and `after` = bytes that the disk has given for the folder, `peak` = the most of them
/// meanwhile, over those before.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("neighbours-reclaimed")?;
    let store = Served::start(&folder)?;
    let edits = (options.tasks * TASK_EDITS).max(2 * KEPT);
    let edits = Edits::drawn(options.seed, Edits::new(options).count, 1, edits);
    load(&store, TREE, &edits)?;
    let Committed { revisions, .. } = commit(&store, TREE, &edits)?;
    let stamp = edits.leaves.len() as u64;
    let (held, made) = (edits.held(), Vec::new());
    let mut both = Both { store: &store, seed: options.seed, held, stamp, made, wrong: 0 };
    let turn = (TASK_TURN * u32::try_from(options.tasks)?).min(TURN_MAX);
    let beside = both.during(|| {
        sleep(turn);
        Ok(())
    })?;
    let before = folder.size()?.allocated;
    let (mut most, mut took) = (before, 0.0);
    let meanwhile = both.during(|| {
        let begun = Instant::now();
        let (seen, ()) = watched(&folder, || store.reclaim(KEPT))?;
        (most, took) = (most.max(seen), 1e3 * begun.elapsed().as_secs_f64());
        Ok(())
    })?;
    let after = folder.size()?.allocated;
    let wrong = both.wrong()? + u64::from(store.user()?.read(TREE, 0, Some(revisions[0])).is_ok());
    let sample = Sample { operations: both.stamp, ..Sample::value(meanwhile.reader, "ms") }
        .with("writer", meanwhile.writer)
        .with("took", took)
        .with("reader-beside", beside.reader)
        .with("writer-beside", beside.writer)
        .with("before", before as f64)
        .with("after", after as f64)
        .with("peak", most as f64 / before as f64);
    store.close()?;
    Ok(sample.check_none(wrong, "values or revisions are not as they ought to be"))
}

/// The milliseconds of the longest read and of the longest commit.
struct Stalls {
    reader: f64,
    writer: f64,
}

/// One who reads and one who commits, each with a connection.
struct Both<'s, S> {
    store: &'s S,
    seed: u64,
    /// The last stamp of each leaf, and of all.
    held: Vec<u64>,
    stamp: u64,
    /// The revision, the leaf and the stamp of each commit.
    made: Vec<(u64, u32, u64)>,
    wrong: u64,
}

impl<S: Store> Both<'_, S> {
    /// They go on while something else is done.
    fn during(&mut self, other: impl FnOnce() -> Result<(), Failure>) -> Result<Stalls, Failure> {
        let (store, seed, count) = (self.store, self.seed, self.held.len() as u64);
        let Both { held, stamp, made, wrong, .. } = self;
        let stop = AtomicBool::new(false);
        let read = || {
            let (mut user, mut random) = (store.user()?, Random(!seed));
            Longest::with_pauses(&stop, PAUSE, || {
                let leaf = random.below(count) as u32;
                let found = user.read(TREE, leaf, None)?;
                *wrong += u64::from(!found.starts_with(&format!("{leaf:016x}")));
                Ok(())
            })
        };
        let write = || {
            let (mut user, mut random) = (store.user()?, Random(seed));
            Longest::with_pauses(&stop, PAUSE, || {
                let leaf = random.below(count) as u32;
                *stamp += 1;
                let revision = user.put(TREE, leaf, &value_of(leaf, *stamp))?;
                held[leaf as usize] = *stamp;
                made.push((revision, leaf, *stamp));
                Ok(())
            })
        };
        scope(|scope| {
            let (reading, writing) = (scope.spawn(read), scope.spawn(write));
            let done = other();
            stop.store(true, Ordering::Relaxed);
            let reader = reading.join().map_err(|_| "the reader panicked")??.wall;
            let writer = writing.join().map_err(|_| "the writer panicked")??.wall;
            done?;
            Ok(Stalls { reader, writer })
        })
    }

    /// How many leaves have something else, or had at the newest revisions.
    fn wrong(&self) -> Result<u64, Failure> {
        let (mut user, mut wrong) = (self.store.user()?, self.wrong);
        for (leaf, stamp) in (0..).zip(&self.held) {
            wrong += u64::from(user.read(TREE, leaf, None)? != value_of(leaf, *stamp));
        }
        for (revision, leaf, stamp) in self.made.iter().rev().take(NEWEST) {
            let found = user.read(TREE, *leaf, Some(*revision))?;
            wrong += u64::from(found != value_of(*leaf, *stamp));
        }
        Ok(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::super::embedded::Embedded;
    use super::{Both, Edits, Folder, Store, TREE, commit, load};

    #[test]
    fn a_leaf_with_another_value_is_wrong_and_so_is_a_revision() {
        let folder = Folder::new("neighbours-both").unwrap();
        let store = Embedded::open(&folder).unwrap();
        let edits = Edits::drawn(1, 1_000, 1, 200);
        load(&store, TREE, &edits).unwrap();
        commit(&store, TREE, &edits).unwrap();
        let (held, made) = (edits.held(), Vec::new());
        let mut both = Both { store: &store, seed: 1, held, stamp: 200, made, wrong: 0 };
        // It may be over before the writer has begun.
        while both.made.is_empty() {
            both.during(|| Ok(())).unwrap();
        }
        assert_eq!((both.wrong().unwrap(), both.stamp), (0, 200 + both.made.len() as u64));
        both.held[7] += 1;
        assert_eq!(both.wrong().unwrap(), 1);
        both.made.last_mut().unwrap().2 += 1;
        assert_eq!(both.wrong().unwrap(), 2);
        store.close().unwrap();
    }
}
