//! Paths of 8 steps and one attribute: reads, and updates that are each published, of a tree; and
//! the same through the database, where each update is a commit.

use jungle_db::{Jungle, Retention, TreeHandle};
use jungle_tree::{Arena, Key, Node, Reading, TreeReader};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{
    KEY, LeafPath, Overwriter, Payload, QueuedOverwriter, Random, Shape, leaf_path, number_of,
    on_workers, share, timed, wrong_leaves,
};

/// How many paths are read at a time.
const MANY: usize = 16;
/// How long a writer's queue is.
const QUEUE: usize = 64;

pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    Ok(match case {
        "update" | "update-ahead" => Some(update(case, options)?),
        "read" => Some(read(options, read_each)?),
        "read-16" => Some(read(options, read_many)?),
        "db-update" => Some(commit(options)?),
        "db-read" => Some(read_in_jungle(options)?),
        _ => None,
    })
}

fn update(case: &str, options: Options) -> Result<Sample, Failure> {
    let shape = options.read_shape();
    let mut tree = shape.plant(&Arena::new()?, Payload::Attribute)?;
    // Whoever has a reader may look at any version, so each is one of its own.
    let reader = tree.reader();
    let mut updates = options.tasks * 1000;
    let (seconds, written) = if case == "update" {
        let mut writer = Overwriter::new(shape, options.seed);
        timed(|| (0..updates).try_for_each(|_| writer.publish_one(&mut tree)))
    } else {
        let mut writer = QueuedOverwriter::<QUEUE>::new(shape, options.seed);
        let groups = updates.div_ceil(QUEUE as u64);
        updates = groups * QUEUE as u64;
        timed(|| (0..groups).try_for_each(|_| writer.publish_all(&mut tree)))
    };
    written?;
    let wrong = wrong_leaves(shape, options.seed, updates, reader.snapshot().root());
    Ok(Sample::rate(seconds, updates).check_none(wrong, "leaves are wrong or missing"))
}

/// Through the database, which keeps the newest revision.
fn commit(options: Options) -> Result<Sample, Failure> {
    let (shape, updates) = (options.read_shape(), options.tasks * 1000);
    let tree = plant_in_jungle(shape)?;
    let mut writer = Overwriter::new(shape, options.seed);
    let mut update = |_| {
        let (path, value) = writer.draw();
        tree.update(|tx| tx.put_attribute(path, KEY, &value[..])).map(drop)
    };
    let (seconds, written) = timed(|| (0..updates).try_for_each(&mut update));
    written?;
    let wrong = wrong_leaves(shape, options.seed, updates, tree.snapshot().root());
    Ok(Sample::rate(seconds, updates).check_none(wrong, "leaves are wrong or missing"))
}

fn plant_in_jungle(shape: Shape) -> Result<TreeHandle, Failure> {
    let jungle = Jungle::builder().retention(Retention::Last(1)).build()?;
    let tree = jungle.create_tree("points")?;
    tree.update(|tx| tx.bulk(|editor| shape.grow(editor, Payload::Attribute)))?;
    Ok(tree)
}

/// So many reads; gives how many found a wrong value.
pub type Reads = fn(&TreeReader, Shape, Random, u64) -> u64;

fn read(options: Options, reads: Reads) -> Result<Sample, Failure> {
    let shape = options.read_shape();
    let tree = shape.plant(&Arena::new()?, Payload::Attribute)?;
    Ok(on_threads(options, |random, count| reads(&tree.reader(), shape, random, count)))
}

fn read_in_jungle(options: Options) -> Result<Sample, Failure> {
    let shape = options.read_shape();
    let tree = plant_in_jungle(shape)?;
    Ok(on_threads(options, |random, count| read_newest(|| tree.read(), shape, random, count)))
}

/// The rate of reads, each thread its share of them.
fn on_threads(options: Options, reads: impl Fn(Random, u64) -> u64 + Sync) -> Sample {
    // A whole number of groups for each thread.
    let count = |worker| share(options.tasks * 1000, options.threads, worker) / 16 * 16;
    let (seconds, wrongs) = on_workers(options.threads, |worker| {
        reads(Random(options.seed.wrapping_add(worker as u64)), count(worker))
    });
    let total = (0..options.threads).map(count).sum();
    Sample::rate(seconds, total).check_none(wrongs.iter().sum(), "reads found a wrong value")
}

/// One by one, the newest version looked up anew for each.
pub fn read_each(reader: &TreeReader, shape: Shape, random: Random, reads: u64) -> u64 {
    read_newest(|| reader.read(), shape, random, reads)
}

fn read_newest<'t>(
    newest: impl Fn() -> Reading<'t>,
    shape: Shape,
    mut random: Random,
    reads: u64,
) -> u64 {
    let (mut path, mut wrong) = (leaf_path(), 0);
    for _ in 0..reads {
        let number = shape.random_leaf(&mut random, &mut path);
        let reading = newest();
        wrong += u64::from(number_at(reading.root().at(&path).ok()) != Some(number));
    }
    wrong
}

/// In groups; the newest version is looked up anew for each group.
pub fn read_many(reader: &TreeReader, shape: Shape, mut random: Random, reads: u64) -> u64 {
    let mut paths: [LeafPath; MANY] = std::array::from_fn(|_| leaf_path());
    let (mut numbers, mut wrong) = ([0; MANY], 0);
    for _ in 0..reads / MANY as u64 {
        for (number, path) in numbers.iter_mut().zip(&mut paths) {
            *number = shape.random_leaf(&mut random, path);
        }
        let reading = reader.read();
        let paths: [&[Key]; MANY] = std::array::from_fn(|i| &paths[i][..]);
        let nodes = reading.root().at_many(&paths);
        let found = nodes.into_iter().map(number_at).zip(numbers);
        wrong += found.filter(|(found, number)| *found != Some(*number)).count() as u64;
    }
    wrong
}

#[inline]
fn number_at(node: Option<Node<'_>>) -> Option<u64> {
    node?.attribute(KEY)?.as_bytes().and_then(number_of)
}
