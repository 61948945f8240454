//! A long history: what a revision costs to make, to open and to compare with its neighbour.

use std::hint::black_box;
use std::time::Instant;

use jungle_db::{Jungle, Revision, TreeHandle};
use jungle_tree::{EditError, Key};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// How long the short history is, and the long one.
pub(super) const FEW: usize = 100;
const MANY: usize = 1_000_000;
/// How wide the tree is.
const CHILDREN: u64 = 1000;
/// The revisions that are opened and compared; fewer than the fewest there are.
const CHOSEN: usize = 64;
/// How often, and how many commits are timed.
const REPEATS: usize = 200;

/// Nanoseconds for each, `NAME-few` and `NAME-many`, and how many times as long it takes with a
/// long history: `NAME`. `open-cold` is each of the revisions opened for the first time since it
/// was made, `open` the same ones again and again.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    if case != "all" {
        return Ok(None);
    }
    let (few, many) = (measure(FEW, options.seed)?, measure(many(options), options.seed)?);
    let mut sample = Sample::value(0.0, "x");
    for (name, few, many) in [
        ("commit", few.commit, many.commit),
        ("open", few.open, many.open),
        ("open-cold", few.open_cold, many.open_cold),
        ("diff", few.diff, many.diff),
    ] {
        sample.value = sample.value.max(many / few);
        sample = sample.with_few_and_many(name, few, many);
    }
    let wrong = few.wrong + many.wrong;
    Ok(Some(sample.check_none(wrong, "revisions do not hold what was committed")))
}

/// How long the long history is: with `--quick`, too, or its bars would be held against less.
pub(super) fn many(options: Options) -> usize {
    if options.tiny { 10 * FEW } else { MANY }
}

/// Nanoseconds an operation.
struct Times {
    commit: f64,
    open: f64,
    open_cold: f64,
    diff: f64,
    wrong: u64,
}

fn measure(revisions: usize, seed: u64) -> Result<Times, Failure> {
    let tree = Jungle::new()?.create_tree("history")?;
    tree.update(|tx| (0..CHILDREN).try_for_each(|_| tx.add_child(&[]).map(drop)))?;
    let mut history = History { tree, random: Random(seed), made: Vec::new() };
    for _ in 0..revisions {
        history.commit()?;
    }
    let chosen = history.choose();
    let mut wrong = 0;
    let open_cold = time(&chosen, 1, |one| wrong += history.wrong_at(one));
    let open = time(&chosen, REPEATS, |one| wrong += history.wrong_at(one));
    let diff = time(&chosen, REPEATS, |one| wrong += history.wrong_diff(one));
    let commit = time(&[(); FEW], REPEATS / 10, |()| wrong += u64::from(history.commit().is_err()));
    Ok(Times { commit, open, open_cold, diff, wrong })
}

/// Nanoseconds that `f` takes for each of the items: the median of so many repeats, so that a few
/// in which the thread lost its core do not count.
fn time<T>(items: &[T], repeats: usize, mut f: impl FnMut(&T)) -> f64 {
    let repeat = |_| {
        let start = Instant::now();
        items.iter().for_each(&mut f);
        start.elapsed().as_nanos() as f64 / items.len() as f64
    };
    median(&(0..repeats).map(repeat).collect::<Vec<f64>>())
}

/// A revision that is opened and compared, copied before the clock starts: the benchmark's own
/// notes of a million revisions would take cache lines that those of a hundred do not.
struct Chosen {
    before: Revision,
    revision: Revision,
    key: Key,
    number: i64,
}

/// A tree, and what each of its revisions changed.
struct History {
    tree: TreeHandle,
    random: Random,
    made: Vec<(Revision, Key)>,
}

impl History {
    /// Puts the number of the commit on a random child.
    fn commit(&mut self) -> Result<(), Failure> {
        let (number, path) = (self.made.len() as i64, [Key::from(self.random.below(CHILDREN))]);
        let made = self.tree.update(|tx| tx.put_attribute(&path, "n", number));
        let made = made.map_err(|error: jungle_db::UpdateError<EditError>| error.to_string())?;
        let [key] = path;
        self.made.push((made.revision, key));
        Ok(())
    }

    /// None twice, so that of a short history as many are looked at as of a long one; and not the
    /// first, which has no neighbour before it.
    fn choose(&mut self) -> Vec<Chosen> {
        let mut places: Vec<usize> = Vec::new();
        while places.len() < CHOSEN {
            let at = 1 + self.random.below(self.made.len() as u64 - 1) as usize;
            if !places.contains(&at) {
                places.push(at);
            }
        }
        let chosen = |at: usize| {
            let (revision, key) = self.made[at].clone();
            Chosen { before: self.made[at - 1].0, revision, key, number: at as i64 }
        };
        places.into_iter().map(chosen).collect()
    }

    fn wrong_at(&self, chosen: &Chosen) -> u64 {
        let Ok(snapshot) = self.tree.at(chosen.revision) else { return 1 };
        let found = snapshot.root().child(&chosen.key);
        let found = found.and_then(|node| node.attribute("n")?.as_int());
        u64::from(found != Some(chosen.number))
    }

    fn wrong_diff(&self, chosen: &Chosen) -> u64 {
        let found = self.tree.diff(chosen.before, chosen.revision);
        u64::from(black_box(found).map_or(true, |changes| changes.len() != 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{MANY, Options, many};

    #[test]
    fn the_long_history_is_as_long_where_it_is_to_be_quick() {
        let options = |quick| Options { threads: 1, tasks: 1, seed: 1, quick, tiny: false };
        assert_eq!([true, false].map(|quick| many(options(quick))), [MANY; 2]);
    }
}
