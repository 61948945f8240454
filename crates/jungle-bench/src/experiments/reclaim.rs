//! A reader and a writer while what a long history held is given back: how long either must wait.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jungle::{CommitOptions, Durability, Retention, Store, TreeHandle};

use super::Options;
use super::folder::{self, Folder};
use super::longest::Longest;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{KEY, LeafPath, Payload, Random, Shape, leaf_path, number_of, value_of};

/// What is kept in the end.
const KEPT: usize = 100;
/// Between the writer's commits: a writer at full speed would fill the disk rather than wait.
const PAUSE: Duration = Duration::from_micros(50);
/// How often it is looked how large the folder is.
const LOOK: Duration = Duration::from_millis(5);

/// The longest read, and the longest buffered commit, while revisions are dropped, memory is
/// collected and a checkpoint is written, in milliseconds: `reader` and `writer`, without the time
/// for which the thread waited for a processor; `-wall` with it, and `-beside` beside a thread that
/// only counts. `disk` = how much the folder grew meanwhile, over what it was. Behind that, and
/// beside nobody, the checkpoint's file is made smaller, which takes `compact-took` milliseconds:
/// `compact-disk` and `compact-after` = the folder then at its largest, and in the end, over what
/// it was before that.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    if case != "all" {
        return Ok(None);
    }
    let turn = Duration::from_millis(match (options.tiny, options.quick) {
        (true, _) => 20,
        (_, true) => 1_000,
        _ => 3_000,
    });
    let (revisions, shape) = history(options);
    let folder = Folder::new("reclaim")?;
    let store = folder::options().open(&folder.0)?;
    let tree = store.create_tree("reclaim")?;
    tree.update(|tx| tx.bulk(|editor| shape.grow(editor, Payload::Attribute)))?;
    let mut both = Both { tree: &tree, shape, seed: options.seed, wrong: 0 };
    let mut writer = Worker::new(&both, !options.seed);
    (0..revisions).try_for_each(|_| writer.write())?;
    store.checkpoint()?;
    let before = folder.size()?.allocated;
    let beside = both.during(|| {
        let (begun, mut count) = (Instant::now(), 0_u64);
        while begun.elapsed() < turn {
            count = black_box(count + 1);
        }
        Ok(())
    })?;
    let (mut most, mut took) = (before, 0.0);
    let reclaiming = both.during(|| {
        let (seen, milliseconds) = watched(&folder, || reclaim(&store, &tree))?;
        (most, took) = (most.max(seen), milliseconds);
        Ok(())
    })?;
    let after = folder.size()?.allocated;
    let (compact_most, compact_took) = watched(&folder, || compact(&store))?;
    let compacted = folder.size()?.allocated;
    let wrong = both.wrong;
    drop(tree);
    store.close()?;
    let sample = Sample::value(reclaiming.reader.without_waiting, "ms")
        .with("writer", reclaiming.writer.without_waiting)
        .with("reader-wall", reclaiming.reader.wall)
        .with("writer-wall", reclaiming.writer.wall)
        .with("reader-beside", beside.reader.without_waiting)
        .with("writer-beside", beside.writer.without_waiting)
        .with("reader-wall-beside", beside.reader.wall)
        .with("writer-wall-beside", beside.writer.wall)
        .with("took", took)
        .with("disk", most as f64 / before as f64)
        .with("disk-after", after as f64 / before as f64)
        .with("compact-took", compact_took)
        .with("compact-disk", compact_most as f64 / after as f64)
        .with("compact-after", compacted as f64 / after as f64);
    Ok(Some(sample.check_none(wrong, "leaves have another's value")))
}

/// How many revisions there are, and of what a tree: with `--quick`, too, where the longest stall
/// is held against the same bar.
fn history(options: Options) -> (u64, Shape) {
    if options.tiny { (500, Shape::READ_TINY) } else { (200_000, Shape::READ) }
}

/// Drops all but a few revisions, and gives back what they held; tells how many milliseconds.
fn reclaim(store: &Store, tree: &TreeHandle) -> Result<f64, Failure> {
    let begun = Instant::now();
    tree.set_retention(Retention::Last(KEPT))?;
    let collected = store.collect()?;
    store.checkpoint()?;
    if collected.structure_bytes == 0 {
        return Err("nothing was given back".into());
    }
    Ok(1e3 * begun.elapsed().as_secs_f64())
}

/// Copies what the checkpoint's file holds into a new one; tells how many milliseconds.
fn compact(store: &Store) -> Result<f64, Failure> {
    let begun = Instant::now();
    store.compact()?;
    Ok(1e3 * begun.elapsed().as_secs_f64())
}

/// The most that the disk has given for the folder, as far as it is seen, while something is done
/// on a thread of its own; and what that gives.
pub(super) fn watched<T: Send>(
    folder: &Folder,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<(u64, T), Failure> {
    let mut most = folder.size()?.allocated;
    std::thread::scope(|scope| {
        let working = scope.spawn(work);
        while !working.is_finished() {
            most = most.max(folder.size().map_or(0, |size| size.allocated));
            std::thread::sleep(LOOK);
        }
        Ok((most, working.join().map_err(|_| "it panicked")??))
    })
}

/// Those of a reader and a writer.
struct Stalls {
    reader: Longest,
    writer: Longest,
}

struct Both<'t> {
    tree: &'t TreeHandle,
    shape: Shape,
    seed: u64,
    wrong: u64,
}

impl Both<'_> {
    /// Reads and writes while something else is done.
    fn during(&mut self, other: impl FnOnce() -> Result<(), Failure>) -> Result<Stalls, Failure> {
        let stop = AtomicBool::new(false);
        let (mut reader, mut writer) =
            (Worker::new(self, self.seed), Worker::new(self, !self.seed));
        let stalls = std::thread::scope(|scope| {
            let reading = scope.spawn(|| Longest::until(&stop, || reader.read()));
            let writing = scope.spawn(|| Longest::until(&stop, || writer.write_and_pause()));
            let done = other();
            stop.store(true, Ordering::Relaxed);
            let [reading, writing] = [reading, writing].map(std::thread::ScopedJoinHandle::join);
            done?;
            let reader = reading.map_err(|_| "the reader panicked")??;
            let writer = writing.map_err(|_| "the writer panicked")??;
            Ok::<_, Failure>(Stalls { reader, writer })
        })?;
        self.wrong += reader.wrong + writer.wrong;
        Ok(stalls)
    }
}

struct Worker<'t> {
    tree: &'t TreeHandle,
    shape: Shape,
    random: Random,
    path: LeafPath,
    stamp: u64,
    wrong: u64,
}

impl<'t> Worker<'t> {
    fn new(both: &Both<'t>, seed: u64) -> Worker<'t> {
        let Both { tree, shape, .. } = *both;
        Worker { tree, shape, random: Random(seed), path: leaf_path(), stamp: 0, wrong: 0 }
    }

    fn read(&mut self) -> Result<(), Failure> {
        let number = self.shape.random_leaf(&mut self.random, &mut self.path);
        let reading = self.tree.read();
        let leaf = reading.root().at(&self.path).ok();
        let found = leaf.and_then(|leaf| number_of(leaf.attribute(KEY)?.as_bytes()?));
        self.wrong += u64::from(black_box(found) != Some(number));
        Ok(())
    }

    fn write(&mut self) -> Result<(), Failure> {
        let number = self.shape.random_leaf(&mut self.random, &mut self.path);
        self.stamp += 1;
        let value = value_of(number, self.stamp);
        let durability = Some(Durability::Buffered);
        let options = CommitOptions { durability, ..CommitOptions::default() };
        Ok(self
            .tree
            .update_with(&options, |tx| tx.put_attribute(&self.path, KEY, &value[..]))
            .map(drop)?)
    }

    fn write_and_pause(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + PAUSE;
        self.write()?;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, history};

    #[test]
    fn what_is_given_back_is_as_much_where_it_is_to_be_quick() {
        let of = |quick| {
            let options = Options { threads: 1, tasks: 1, seed: 1, quick, tiny: false };
            let (revisions, shape) = history(options);
            (revisions, shape.nodes())
        };
        assert_eq!(of(true), of(false));
    }
}
