//! How long a reader and a writer wait while what a history took is given back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{ScopedJoinHandle, scope, sleep};
use std::time::{Duration, Instant};

use jungle::{Durability, Retention, Store, TreeHandle};

use super::writer::Writer;
use crate::Failure;
use crate::experiments::Options;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::longest::Longest;
use crate::experiments::store_peers::{TREE, leaves, path, plant, value, value_of};
use crate::sample::Sample;
use crate::workload::Random;

/// Commits of each task, and revisions that are kept in the end; there are twice as many at least.
const TASK_EDITS: u64 = 10;
const KEPT: usize = 100;

/// For each task nothing is given back for so long, and at most so long.
const TASK_TURN: Duration = Duration::from_millis(1);
const TURN_MAX: Duration = Duration::from_secs(1);

/// After each read and each commit.
const PAUSE: Duration = Duration::from_micros(50);

/// The milliseconds of the longest read of a random leaf, and of the longest commit of one value
/// (`writer`), while all but the newest revisions are forgotten and their place is given back,
/// which took so long (`took`); `reader-beside` and `writer-beside` = of those before. All without
/// the time for which the thread waited for a processor. No commit is synced.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("stall")?;
    let store = open_options().durability(Durability::Buffered).open(&folder.0)?;
    let tree = store.create_tree(TREE)?;
    plant(&tree, options)?;
    let loaded = tree.snapshot().revision();
    let (random, count) = (Random(!options.seed), leaves(options));
    let mut reader = Reader { tree: &tree, leaves: count, random, wrong: 0 };
    let mut writer = Writer::new(&tree, options, options.seed);
    let edits = (options.tasks * TASK_EDITS).max(2 * KEPT as u64);
    (0..edits).try_for_each(|_| writer.commit())?;
    let turn = (TASK_TURN * u32::try_from(options.tasks)?).min(TURN_MAX);
    let beside = during(&mut reader, &mut writer, || {
        sleep(turn);
        Ok(())
    })?;
    let stalled = during(&mut reader, &mut writer, || reclaim(&store, &tree))?;
    let wrong = writer.wrong() + reader.wrong + u64::from(tree.at(loaded).is_ok());
    let sample = Sample { operations: writer.commits, ..Sample::value(stalled.reader, "ms") }
        .with("writer", stalled.writer)
        .with("took", stalled.took)
        .with("reader-beside", beside.reader)
        .with("writer-beside", beside.writer);
    Ok(sample.check_none(wrong, "values are not as they ought to be"))
}

fn reclaim(store: &Store, tree: &TreeHandle) -> Result<(), Failure> {
    tree.set_retention(Retention::Last(KEPT))?;
    store.collect()?;
    store.checkpoint()?;
    Ok(store.compact()?)
}

/// How long something took, and the longest read and commit meanwhile.
struct Stalls {
    took: f64,
    reader: f64,
    writer: f64,
}

/// Reads and commits while something else is done.
fn during(
    reader: &mut Reader<'_>,
    writer: &mut Writer<'_>,
    other: impl FnOnce() -> Result<(), Failure>,
) -> Result<Stalls, Failure> {
    let (stop, begun) = (AtomicBool::new(false), Instant::now());
    scope(|scope| {
        let reading = scope.spawn(|| Longest::with_pauses(&stop, PAUSE, || reader.read()));
        let writing = scope.spawn(|| Longest::with_pauses(&stop, PAUSE, || Ok(writer.commit()?)));
        let done = other();
        let took = 1e3 * begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let [reading, writing] = [reading, writing].map(ScopedJoinHandle::join);
        done?;
        let reader = reading.map_err(|_| "the reader panicked")??.without_waiting;
        let writer = writing.map_err(|_| "the writer panicked")??.without_waiting;
        Ok(Stalls { took, reader, writer })
    })
}

struct Reader<'t> {
    tree: &'t TreeHandle,
    leaves: u32,
    random: Random,
    wrong: u64,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Failure> {
        let leaf = self.random.below(self.leaves.into()) as u32;
        let reading = self.tree.read();
        let found = value(reading.root().at(&path(leaf))?);
        let is_its = found.is_some_and(|found| found[..8] == value_of(leaf, 0)[..8]);
        self.wrong += u64::from(!is_its);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    #[test]
    fn a_reader_and_a_writer_go_on_while_space_is_given_back() {
        let options = Options { threads: 1, tasks: 30, seed: 1, quick: true, tiny: true };
        let sample = sample(options).unwrap();
        assert_eq!(sample.check, "ok");
        assert!(sample.operations > 300, "the writer stood still: {sample:?}");
        assert!(sample.extra["took"] > 0.0);
    }
}
