//! A history of some length in a folder: what opening it, an old revision, the newest commits and
//! one more cost.

use std::time::Instant;

use jungle::{Durability, Revision, Store, TreeHandle};

use crate::Failure;
use crate::experiments::Options;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::store_peers::{TREE, checksum, leaves, path, plant, put, value, value_of};
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// How often it is opened, and the newest commits listed; how many of these; how many old revisions
/// are looked at, twice; how many commits are added.
const OPENS: u64 = 10;
const LISTS: u64 = 20;
const LISTED: usize = 100;
const READS: u64 = 2_000;
const MORE: u64 = 100;

/// The median of the microseconds to read a leaf at a random one of the revisions, of which the
/// case `history-COUNT` says how many there are; `reopen` = to open the folder and read the value
/// that was committed last; `list` = to list the newest 100 commits; `commit` = one more. Nothing
/// is synced.
pub fn sample(case: &str, options: Options) -> Result<Sample, Failure> {
    let count: u64 = case.trim_start_matches("history-").parse()?;
    // A thousand leaves.
    let options = Options { tiny: true, ..options };
    let folder = Folder::new(case)?;
    let (mut store, tree) = {
        let store = open(&folder)?;
        let tree = store.create_tree(TREE)?;
        (store, tree)
    };
    plant(&tree, options)?;
    let mut aged = Aged {
        tree,
        leaves: leaves(options),
        random: Random(options.seed),
        made: Vec::new(),
        wrong: 0,
    };
    (0..count).try_for_each(|_| aged.commit())?;
    let mut opens = Vec::new();
    for _ in 0..OPENS {
        store.close()?;
        let begun = Instant::now();
        store = open(&folder)?;
        aged.tree = store.open_tree(TREE)?;
        let is_right = aged.is_right(None, aged.made.len() - 1);
        opens.push(1e6 * begun.elapsed().as_secs_f64());
        aged.wrong += u64::from(!is_right);
    }
    aged.read(!options.seed);
    let read = median(&aged.read(options.seed));
    let list = aged.list();
    let mut commits = Vec::new();
    for _ in 0..MORE {
        let begun = Instant::now();
        aged.commit()?;
        commits.push(1e6 * begun.elapsed().as_secs_f64());
    }
    let sample = Sample { operations: count, ..Sample::value(read, "us") }
        .with("reopen", median(&opens))
        .with("list", list)
        .with("commit", median(&commits))
        .with("checksum", checksum(&aged.tree, aged.leaves).into());
    Ok(sample.check_none(aged.wrong, "answers are wrong"))
}

fn open(folder: &Folder) -> Result<Store, Failure> {
    Ok(open_options().durability(Durability::Buffered).open(&folder.0)?)
}

/// What has happened.
struct Aged {
    tree: TreeHandle,
    leaves: u32,
    random: Random,
    /// The revision of each commit, and the leaf that it changed.
    made: Vec<(Revision, u32)>,
    wrong: u64,
}

impl Aged {
    fn commit(&mut self) -> Result<(), Failure> {
        let leaf = self.random.below(self.leaves.into()) as u32;
        self.made.push((put(&self.tree, leaf, self.made.len() as u64 + 1)?, leaf));
        Ok(())
    }

    /// Is it at this revision, or now, what was committed by this commit?
    fn is_right(&self, at: Option<Revision>, commit: usize) -> bool {
        let leaf = self.made[commit].1;
        let snapshot = match at {
            Some(revision) => self.tree.at(revision).ok(),
            None => Some(self.tree.snapshot()),
        };
        let found = snapshot.and_then(|there| value(there.root().at(&path(leaf)).ok()?));
        found == Some(value_of(leaf, commit as u64 + 1))
    }

    /// Reads what random revisions changed, as it was then.
    fn read(&mut self, seed: u64) -> Vec<f64> {
        let (mut random, mut times) = (Random(seed), Vec::new());
        for _ in 0..READS {
            let at = random.below(self.made.len() as u64) as usize;
            let begun = Instant::now();
            let is_right = self.is_right(Some(self.made[at].0), at);
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.wrong += u64::from(!is_right);
        }
        times
    }

    /// The median of the microseconds to list the newest commits.
    fn list(&mut self) -> f64 {
        let mut times = Vec::new();
        for _ in 0..LISTS {
            let begun = Instant::now();
            let listed = self.tree.history(..).take(LISTED).filter_map(Result::ok);
            let listed: Vec<Revision> = listed.map(|info| info.revision).collect();
            times.push(1e6 * begun.elapsed().as_secs_f64());
            let made = self.made.iter().rev().take(LISTED).map(|(revision, _)| revision);
            self.wrong += u64::from(!made.eq(listed.iter()));
        }
        median(&times)
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    #[test]
    fn every_revision_holds_what_was_committed() {
        let options = Options { threads: 1, tasks: 1, seed: 1, quick: true, tiny: true };
        assert_eq!(sample("history-200", options).unwrap().check, "ok");
    }
}
