//! Diff and merge in a tree of 1,000,000 nodes: their cost against what changed.

use std::time::Instant;

use jungle_tree::{Arena, EditError, Key, MergeOptions, Snapshot, Tree, diff, merge};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::{KEY, Payload, Random, Shape, value_of};

/// The case is how many attributes are changed. Microseconds, the median of several.
pub fn sample(experiment: &str, case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let Ok(changes) = case.parse::<usize>() else { return Ok(None) };
    let shape = options.shape(Shape::MILLION, Shape::MILLION_TINY);
    let mut tree = shape.plant(&Arena::new()?, Payload::Attribute)?;
    let mut changer = Changer { shape, random: Random(options.seed), path: Vec::new(), stamp: 0 };
    let rounds = (20_000 / changes).clamp(20, 2000);
    let (mut times, mut wrong) = (Vec::with_capacity(rounds), 0);
    for _ in 0..rounds {
        let base = tree.snapshot();
        let (micros, is_right) = match experiment {
            "diff" => time_diff(&base, &mut tree, &mut changer, changes)?,
            _ => time_merge(&base, &mut tree, &mut changer, changes)?,
        };
        times.push(micros);
        wrong += u64::from(!is_right);
    }
    let sample = Sample { operations: rounds as u64, ..Sample::value(median(&times), "us") };
    Ok(Some(sample.check_none(wrong, "results do not tell what changed")))
}

/// Changes leaves at random, no leaf twice in a version.
struct Changer {
    shape: Shape,
    random: Random,
    path: Vec<Key>,
    stamp: u64,
}

/// Which half of the leaves: two sides that change different halves cannot meet.
#[derive(Clone, Copy)]
enum Half {
    Even,
    Odd,
}

impl Changer {
    fn change(&mut self, tree: &mut Tree, changes: usize, half: Half) -> Result<(), EditError> {
        let mut numbers = std::collections::BTreeSet::new();
        let halves = self.shape.leaves() / 2;
        while numbers.len() < changes.min(halves as usize) {
            numbers.insert(2 * self.random.below(halves) + half as u64);
        }
        self.stamp += 1;
        tree.edit(|editor| {
            numbers.iter().try_for_each(|&number| {
                self.shape.leaf(number, &mut self.path);
                editor.put_attribute(&self.path, KEY, &value_of(number, self.stamp)[..])
            })
        })
    }

    /// How many changes there can be.
    fn limit(&self, changes: usize) -> usize {
        changes.min(self.shape.leaves() as usize / 2)
    }
}

fn time_diff(
    base: &Snapshot,
    tree: &mut Tree,
    changer: &mut Changer,
    changes: usize,
) -> Result<(f64, bool), Failure> {
    changer.change(tree, changes, Half::Even)?;
    let after = tree.snapshot();
    let start = Instant::now();
    let found = diff(base, &after);
    let micros = start.elapsed().as_secs_f64() * 1e6;
    Ok((micros, found.len() == changer.limit(changes)))
}

fn time_merge(
    base: &Snapshot,
    theirs: &mut Tree,
    changer: &mut Changer,
    changes: usize,
) -> Result<(f64, bool), Failure> {
    let mut ours = Tree::from_snapshot(base);
    changer.change(&mut ours, changes, Half::Even)?;
    changer.change(theirs, changes, Half::Odd)?;
    let (a, b) = (ours.snapshot(), theirs.snapshot());
    let start = Instant::now();
    let merged = merge(base, &a, &b, &MergeOptions::new())?;
    let micros = start.elapsed().as_secs_f64() * 1e6;
    let is_right = merged.conflicts.is_empty() && merged.changes.len() == changer.limit(changes);
    theirs.publish(merged.editor);
    // Each side's changes are there, and nothing else.
    let all = diff(base, &theirs.snapshot()).len();
    Ok((micros, is_right && all == 2 * changer.limit(changes)))
}
