//! A reader of the newest values of a folder, alone and beside a writer at full speed, in turns.

use std::time::{Duration, Instant};

use jungle::TreeHandle;

use super::writer::Writer;
use crate::Failure;
use crate::experiments::Options;
use crate::experiments::commit::Floor;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::readers::slow;
use crate::experiments::store_peers::{TREE, Value, leaves, path, plant, value, value_of};
use crate::sample::Sample;
use crate::workload::{Random, beside};

const TURN: Duration = Duration::from_millis(200);
/// There is a turn of each kind for so many tasks.
const TURN_TASKS: u64 = 100;

/// Nanoseconds within which 99 of 100 reads of a random leaf are done beside a writer of durable
/// commits; `alone` = of a reader beside whom nobody writes; `commits` = commits a second beside
/// the reader, `commits-alone` = without it; `floor` = syncs a second of a bare file.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let (folder, other) = (Folder::new("readers-beside")?, Folder::new("readers-floor")?);
    let mut floor = Floor::new(&other.0)?;
    let store = open_options().open(&folder.0)?;
    let tree = store.create_tree(TREE)?;
    plant(&tree, options)?;
    let loaded = store.revision().number();
    let random = Random(options.seed);
    let mut reader = Reader { tree: &tree, leaves: leaves(options), random, wrong: 0 };
    let mut writer = Writer::new(&tree, options, !options.seed);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let (mut commits, mut commits_alone) = (Rate::default(), Rate::default());
    reader.read(&mut Vec::new());
    for _ in 0..options.tasks.div_ceil(TURN_TASKS) {
        reader.read(&mut alone);
        writer.beside(&mut commits, || reader.read(&mut beside))?;
        writer.beside(&mut commits_alone, || std::thread::sleep(TURN))?;
        floor.overwrite(TURN)?;
    }
    let lost = (loaded + writer.commits).abs_diff(store.revision().number());
    let wrong = reader.wrong + lost + writer.wrong();
    let sample = Sample { operations: writer.commits, ..Sample::value(slow(beside), "ns") }
        .with("alone", slow(alone))
        .with("commits", commits.value())
        .with("commits-alone", commits_alone.value())
        .with("floor", floor.rate());
    Ok(sample.check_none(wrong, "values or commits are not as they ought to be"))
}

fn now(tree: &TreeHandle, leaf: u32) -> Option<Value> {
    value(tree.read().root().at(&path(leaf)).ok()?)
}

/// So many in so many seconds.
#[derive(Default)]
struct Rate {
    count: u64,
    seconds: f64,
}

impl Rate {
    fn value(&self) -> f64 {
        self.count as f64 / self.seconds
    }
}

struct Reader<'t> {
    tree: &'t TreeHandle,
    leaves: u32,
    random: Random,
    wrong: u64,
}

impl Reader<'_> {
    /// Reads for a turn; notes how many nanoseconds each took.
    fn read(&mut self, times: &mut Vec<u32>) {
        let begun = Instant::now();
        while begun.elapsed() < TURN {
            let leaf = self.random.below(self.leaves.into()) as u32;
            let reading = Instant::now();
            let found = now(self.tree, leaf);
            times.push(reading.elapsed().as_nanos().try_into().unwrap_or(u32::MAX));
            let is_its = found.is_some_and(|found| found[..8] == value_of(leaf, 0)[..8]);
            self.wrong += u64::from(!is_its);
        }
    }
}

impl Writer<'_> {
    /// Commits while something else is done, and adds how many that were.
    fn beside(&mut self, rate: &mut Rate, other: impl FnOnce()) -> Result<(), Failure> {
        let (before, begun) = (self.commits, Instant::now());
        beside(|| self.commit(), other)?;
        rate.count += self.commits - before;
        rate.seconds += begun.elapsed().as_secs_f64();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    #[test]
    fn a_reader_sees_its_own_leaves_and_the_writer_loses_nothing() {
        let options = Options { threads: 1, tasks: 1, seed: 1, quick: true, tiny: true };
        let sample = sample(options).unwrap();
        assert_eq!(sample.check, "ok");
        assert!(sample.operations > 0 && sample.extra["alone"] > 0.0);
        assert!(sample.extra["floor"] > 0.0);
    }
}
