//! Many children under one node.

use std::time::{Duration, Instant};

use jungle_tree::{Arena, EditError, Key, Position, Tree};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::{Random, timed};

const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;
const PAGE: usize = 50;
/// Operations of a kind in one go, and how many goes.
const OPERATIONS: u64 = 100;
const GOES: u64 = 100;

pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    match case {
        "build" => build(options).map(Some),
        "all" => all(options).map(Some),
        _ => Ok(None),
    }
}

/// 100,000 children, one edit each, as the peers do.
fn build(options: Options) -> Result<Sample, Failure> {
    let (mut tree, children) =
        (Tree::new(&Arena::new()?), if options.tiny { 1000 } else { 100_000 });
    let (seconds, built) = timed(|| (0..children).try_for_each(|_| tree.add_child(&[]).map(drop)));
    built?;
    let wrong = tree.read().root().children().count().abs_diff(children as usize);
    Ok(Sample::rate(seconds, children).check_none(wrong as u64, "children too many or too few"))
}

/// Nanoseconds for each kind of operation, `NAME-few` and `NAME-many`, and how many times as long
/// it takes among many: `NAME`.
fn all(options: Options) -> Result<Sample, Failure> {
    let goes = if options.tiny { 2 } else { GOES };
    let few = measure(FEW, goes, options.seed)?;
    let many = measure(if options.tiny { 10 * FEW } else { MANY }, goes, options.seed)?;
    let mut sample = Sample::value(0.0, "x");
    for (name, few, many) in [
        ("append", few.append, many.append),
        ("insert", few.insert, many.insert),
        ("remove", few.remove, many.remove),
        ("page", few.page, many.page),
    ] {
        sample.value = sample.value.max(many / few);
        sample = sample.with_few_and_many(name, few, many);
    }
    let wrong = few.wrong + many.wrong;
    Ok(sample.check_none(wrong, "pages or counts are wrong"))
}

/// Nanoseconds an operation.
struct Times {
    append: f64,
    insert: f64,
    remove: f64,
    page: f64,
    wrong: u64,
}

/// Each kind in turn; each go undoes, off the clock, what it did, so the node stays as wide.
fn measure(children: u64, goes: u64, seed: u64) -> Result<Times, Failure> {
    let mut tree = Tree::new(&Arena::new()?);
    tree.edit(|editor| editor.cursor(&[])?.add_children(children).map(drop))?;
    let keys = (0..children).map(Key::from).collect();
    let mut wide = Wide { keys, tree, random: Random(seed), children, wrong: 0 };
    // The median of the goes: a few in which the thread lost its core must not count.
    let mut typical = |go: fn(&mut Wide) -> Result<Duration, EditError>| {
        let nanos = |spent: Duration| spent.as_nanos() as f64 / OPERATIONS as f64;
        let times = (0..goes).map(|_| go(&mut wide).map(nanos));
        times.collect::<Result<Vec<f64>, EditError>>().map(|times| median(&times))
    };
    let append = typical(Wide::append)?;
    let insert = typical(Wide::insert)?;
    let remove = typical(Wide::remove)?;
    let page = typical(Wide::page)?;
    let read = wide.tree.snapshot();
    wide.wrong += read.root().child_count().abs_diff(children);
    wide.wrong += (read.root().children().count() as u64).abs_diff(children);
    Ok(Times { append, insert, remove, page, wrong: wide.wrong })
}

/// A node of many children, and their keys.
struct Wide {
    tree: Tree,
    keys: Vec<Key>,
    random: Random,
    children: u64,
    wrong: u64,
}

impl Wide {
    fn append(&mut self) -> Result<Duration, EditError> {
        let mut added = Vec::with_capacity(OPERATIONS as usize);
        let start = Instant::now();
        for _ in 0..OPERATIONS {
            added.push([self.tree.add_child(&[])?]);
        }
        let spent = start.elapsed();
        added.iter().try_for_each(|path| self.tree.remove(path))?;
        Ok(spent)
    }

    /// In front of random siblings.
    fn insert(&mut self) -> Result<Duration, EditError> {
        let siblings: Vec<Position> = (0..OPERATIONS).map(|_| self.sibling()).collect();
        let mut added = Vec::with_capacity(OPERATIONS as usize);
        let start = Instant::now();
        for sibling in &siblings {
            added.push([self.tree.insert_before(&[], sibling)?]);
        }
        let spent = start.elapsed();
        added.iter().try_for_each(|path| self.tree.remove(path))?;
        Ok(spent)
    }

    fn sibling(&mut self) -> Position {
        let index = self.random.below(self.keys.len() as u64) as usize;
        match &self.keys[index] {
            Key::Position(position) => position.clone(),
            Key::Name(_) => unreachable!("no child has a name"),
        }
    }

    fn remove(&mut self) -> Result<Duration, EditError> {
        let doomed = |_| {
            let index = self.random.below(self.keys.len() as u64) as usize;
            [self.keys.swap_remove(index)]
        };
        let doomed: Vec<[Key; 1]> = (0..OPERATIONS).map(doomed).collect();
        let start = Instant::now();
        doomed.iter().try_for_each(|path| self.tree.remove(path))?;
        let spent = start.elapsed();
        for [key] in doomed {
            self.tree.insert_child(&[], &key)?;
            self.keys.push(key);
        }
        Ok(spent)
    }

    /// Pages that begin at random places.
    fn page(&mut self) -> Result<Duration, EditError> {
        let starts = (0..OPERATIONS).map(|_| Key::from(self.random.below(self.children / 2)));
        let starts: Vec<Key> = starts.collect();
        let reading = self.tree.read();
        let start = Instant::now();
        for key in &starts {
            let page = reading.root().children_from(key).take(PAGE);
            let read = page.filter(|(_, node)| !node.has_children()).count();
            self.wrong += u64::from(read != PAGE);
        }
        Ok(start.elapsed())
    }
}
