//! One node of many ordered children, in memory; each change is a commit, and all of them are kept.

use std::time::Instant;

use jungle::{EditError, Jungle, Key, Memory, Position, Revision, TreeHandle, ValueRef};

use super::checksum;
use crate::Failure;
use crate::experiments::Options;
use crate::experiments::store_peers::TREE;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// How often each is done, and how many children a page has.
const OPERATIONS: u64 = 1_000;
const PAGE: usize = 50;

/// Children that are loaded in one commit.
const LOAD: u32 = 10_000;

/// The attribute that tells which child it is.
const ID: &str = "id";

/// Medians of the microseconds of each, in the case `children-COUNT`: to put a child in the middle
/// of all (the value), in `front` of them, at the `end`, to `move` one from any place to any, to
/// read a page that begins with a child that is known (`page`) or after so many (`page-at`).
pub fn sample(case: &str, options: Options) -> Result<Sample, Failure> {
    let count: u32 = case.trim_start_matches("children-").parse()?;
    let mut list = List::load(count / if options.tiny { 100 } else { 1 }, options.seed)?;
    let front = list.insert(|_| 0)?;
    let middle = list.insert(|count| count / 2)?;
    let end = list.insert(|count| count)?;
    let shift = list.shift()?;
    let page = list.pages(List::page);
    let page_at = list.pages(|list, index| list.page_at(index));
    let all = numbers(list.tree.snapshot().root().children());
    let loaded = list.tree.at(list.loaded)?.root().child_count();
    let wrong = list.wrong
        + u64::from(all != list.held)
        + u64::from(loaded + 3 * OPERATIONS != all.len() as u64);
    let sum = checksum(all.into_iter().flat_map(u32::to_le_bytes));
    let sample = Sample { operations: 4 * OPERATIONS, ..Sample::value(middle, "us") }
        .with("front", front)
        .with("end", end)
        .with("move", shift)
        .with("page", page)
        .with("page-at", page_at)
        .with("checksum", sum.into());
    Ok(sample.check_none(wrong, "pages or lists are not as they ought to be"))
}

/// The children, and what they ought to be.
struct List {
    tree: TreeHandle,
    /// When all of them had been loaded.
    loaded: Revision,
    /// Where each child is, as whoever has seen it knows.
    positions: Vec<Position>,
    held: Vec<u32>,
    random: Random,
    wrong: u64,
}

impl List {
    fn load(count: u32, seed: u64) -> Result<List, Failure> {
        let tree = Jungle::memory()?.create_tree(TREE)?;
        for first in (0..count).step_by(LOAD as usize) {
            tree.update(|tx| {
                for child in first..count.min(first + LOAD) {
                    let key = tx.add_child(&[])?;
                    tx.put_attribute(&[key], ID, i64::from(child))?;
                }
                Ok::<_, EditError>(())
            })?;
        }
        let positions = (0..i64::from(count)).map(Position::new).collect::<Result<_, _>>()?;
        let (loaded, held) = (tree.snapshot().revision(), (0..count).collect());
        Ok(List { tree, loaded, positions, held, random: Random(seed), wrong: 0 })
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit as u64) as usize
    }

    fn position(&self, index: usize) -> Option<&Position> {
        self.held.get(index).map(|child| &self.positions[*child as usize])
    }

    /// New ones, each where `at` says of how many there are.
    fn insert(&mut self, at: fn(usize) -> usize) -> Result<f64, Failure> {
        let mut times = Vec::new();
        for _ in 0..OPERATIONS {
            let (child, index) = (self.held.len() as u32, at(self.held.len()));
            let before = self.position(index);
            let begun = Instant::now();
            let done = self.tree.update(|tx| {
                let key = match before {
                    Some(sibling) => tx.insert_before(&[], sibling)?,
                    None => tx.add_child(&[])?,
                };
                tx.put_attribute(std::slice::from_ref(&key), ID, i64::from(child))?;
                Ok::<_, EditError>(key)
            })?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            let Key::Position(position) = done.value else { return Err("it has a name".into()) };
            self.positions.push(position);
            self.held.insert(index, child);
        }
        Ok(median(&times))
    }

    fn shift(&mut self) -> Result<f64, Failure> {
        let mut times = Vec::new();
        for _ in 0..OPERATIONS {
            let (from, to) = (self.below(self.held.len()), self.below(self.held.len()));
            let child = self.held.remove(from);
            let after = to.checked_sub(1).and_then(|at| self.position(at));
            let begun = Instant::now();
            let position = Position::between(after, self.position(to))?;
            let key = Key::Position(position.clone());
            let was = [Key::Position(self.positions[child as usize].clone())];
            self.tree.update(|tx| tx.move_node(&was, &[], &key))?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.positions[child as usize] = position;
            self.held.insert(to, child);
        }
        Ok(median(&times))
    }

    fn pages(&mut self, page: fn(&List, usize) -> Vec<u32>) -> f64 {
        let mut times = Vec::new();
        for _ in 0..OPERATIONS {
            let index = self.below(self.held.len() - PAGE);
            let begun = Instant::now();
            let found = page(self, index);
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.wrong += u64::from(found != self.held[index..index + PAGE]);
        }
        median(&times)
    }

    /// From the child on that is there, which is known.
    fn page(&self, index: usize) -> Vec<u32> {
        let first = self.position(index).map(|position| Key::Position(position.clone()));
        let snapshot = self.tree.snapshot();
        first.map_or(Vec::new(), |first| numbers(snapshot.root().children_from(&first).take(PAGE)))
    }

    fn page_at(&self, index: usize) -> Vec<u32> {
        numbers(self.tree.snapshot().root().children().skip(index).take(PAGE))
    }
}

fn numbers<'n>(children: impl Iterator<Item = (jungle::KeyRef<'n>, jungle::Node<'n>)>) -> Vec<u32> {
    let number = |node: jungle::Node<'_>| match node.attribute(ID)? {
        ValueRef::Int(number) => u32::try_from(number).ok(),
        _ => None,
    };
    children.filter_map(|(_, node)| number(node)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    /// What the peers hold after the same, too.
    #[test]
    fn all_children_are_where_they_ought_to_be() {
        let options = Options { threads: 1, tasks: 1, seed: 1, quick: true, tiny: true };
        let sample = sample("children-10000", options).unwrap();
        assert_eq!((sample.check.as_str(), sample.extra["checksum"]), ("ok", 1_680_737_430.0));
    }
}
