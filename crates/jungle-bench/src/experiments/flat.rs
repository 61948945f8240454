//! A folder with a long history beside one with a short history: what a commit, an old revision,
//! the newest hundred and opening it cost in each.
//!
//! Both are in one process and take turns, so that a machine that changes its pace changes both.

use std::time::Instant;

use jungle::{Durability, EditError, Key, Revision, Store, TreeHandle, UpdateError};

use super::Options;
use super::folder::{Folder, Size, options};
use super::revisions::{FEW, many};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// How wide the tree is.
const CHILDREN: u64 = 1000;
/// How many revisions are opened, and commits made, in a turn.
const TURN: usize = 100;
/// Turns of commits: so many that most of those of the short history are in a long segment of the
/// log, as those of the long one are. The first segments are short, so that the processor still has
/// the zeros that were filled in ahead: the first 10,000 commits cost 0.7 µs less each.
const COMMIT_TURNS: usize = 300;
/// So many revisions are opened again and again.
const CHOSEN: u64 = 64;
/// The newest so many are listed.
const LISTED: usize = 100;

/// Microseconds for each, `NAME-few` and `NAME-many`, and how many times as long it takes with a
/// long history: `NAME`. `open` takes random revisions of all, so that with a long history the
/// processor has to fetch each from memory; `open-again` takes the same few again. `bytes` and
/// `bytes-allocated`: by how much a commit makes the folder larger, between half of the long
/// history and all of it.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    if case != "all" {
        return Ok(None);
    }
    let revisions = many(options);
    let (turns, commits) = match (options.tiny, options.quick) {
        (true, _) => (3, 3),
        (_, true) => (30, COMMIT_TURNS),
        _ => (100, COMMIT_TURNS),
    };
    let mut few = Aged::build("few", FEW, options.seed)?;
    let mut many = Aged::build("many", revisions, options.seed)?;
    let mut pair = [&mut few, &mut many];
    let mut sample = Sample::value(0.0, "x");
    for (name, turns, turn) in [
        ("reopen", turns.min(20), Aged::reopen as fn(&mut Aged) -> Result<Vec<f64>, Failure>),
        ("open-first", 1, Aged::open_some),
        ("open", turns, Aged::open_some),
        ("open-again", turns, Aged::open_again),
        ("list", turns, Aged::list),
        ("commit-first", 1, Aged::commit_some),
        ("commit", commits, Aged::commit_some),
        ("checkpoint", 5, Aged::checkpoint),
    ] {
        let [few, many] = in_turns(&mut pair, turns, turn)?;
        sample = sample.with_few_and_many(name, few, many);
    }
    let bytes = |of: fn(Size) -> u64| {
        (of(many.end) as f64 - of(many.half) as f64) / (revisions - revisions / 2) as f64
    };
    let sample = sample
        .with("bytes", bytes(|size| size.bytes))
        .with("bytes-allocated", bytes(|size| size.allocated));
    let wrong = few.wrong + many.wrong;
    Ok(Some(sample.check_none(wrong, "revisions do not hold what was committed")))
}

/// The median of what the turns of each took, in microseconds.
fn in_turns(
    pair: &mut [&mut Aged; 2],
    turns: usize,
    turn: fn(&mut Aged) -> Result<Vec<f64>, Failure>,
) -> Result<[f64; 2], Failure> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..turns {
        for (aged, times) in pair.iter_mut().zip(&mut times) {
            times.extend(turn(aged)?);
        }
    }
    Ok(times.map(|times| 1e6 * median(&times)))
}

/// A folder with a tree, and what each of its revisions changed.
struct Aged {
    folder: Folder,
    /// Always, but while it is closed.
    open: Option<(Store, TreeHandle)>,
    random: Random,
    /// What is opened.
    chosen: Random,
    made: Vec<(Revision, Key)>,
    half: Size,
    end: Size,
    wrong: u64,
}

impl Aged {
    fn build(name: &str, revisions: usize, seed: u64) -> Result<Aged, Failure> {
        let folder = Folder::new(&format!("flat-{name}"))?;
        let store = options().durability(Durability::Buffered).open(&folder.0)?;
        let tree = store.create_tree("history")?;
        tree.update(|tx| (0..CHILDREN).try_for_each(|_| tx.add_child(&[]).map(drop)))?;
        let (random, chosen) = (Random(seed), Random(!seed));
        let (made, half, end) = (Vec::new(), Size::default(), Size::default());
        let open = Some((store, tree));
        let mut aged = Aged { folder, open, random, chosen, made, half, end, wrong: 0 };
        aged.half = aged.grow(revisions / 2)?;
        aged.end = aged.grow(revisions)?;
        Ok(aged)
    }

    /// Commits until there are so many, and closes the folder: gives its size.
    fn grow(&mut self, revisions: usize) -> Result<Size, Failure> {
        while self.made.len() < revisions {
            self.commit()?;
        }
        self.close()?;
        let size = self.folder.size()?;
        self.open()?;
        Ok(size)
    }

    fn close(&mut self) -> Result<(), Failure> {
        if let Some((store, tree)) = self.open.take() {
            drop(tree);
            store.close()?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), Failure> {
        let store = options().durability(Durability::Buffered).open(&self.folder.0)?;
        let tree = store.open_tree("history")?;
        self.open = Some((store, tree));
        Ok(())
    }

    fn tree(&self) -> &TreeHandle {
        let (_, tree) = self.open.as_ref().expect("closed only by what opens it again");
        tree
    }

    /// Puts the number of the commit on a random child.
    fn commit(&mut self) -> Result<(), Failure> {
        let (number, path) = (self.made.len() as i64, [Key::from(self.random.below(CHILDREN))]);
        let made = self.tree().update(|tx| tx.put_attribute(&path, "n", number));
        let made = made.map_err(|error: UpdateError<EditError>| error.to_string())?;
        let [key] = path;
        self.made.push((made.revision, key));
        Ok(())
    }

    /// Is it at this revision what was committed then?
    fn is_right(&self, at: usize) -> bool {
        self.holds(at, &self.made[at])
    }

    /// Is it at this revision what was committed as this number?
    fn holds(&self, at: usize, (revision, key): &(Revision, Key)) -> bool {
        let Ok(snapshot) = self.tree().at(*revision) else { return false };
        let found = snapshot.root().child(key).and_then(|node| node.attribute("n")?.as_int());
        found == Some(at as i64)
    }

    /// Closes the folder; the seconds to open it, and to read what was committed last.
    fn reopen(&mut self) -> Result<Vec<f64>, Failure> {
        self.close()?;
        let begun = Instant::now();
        self.open()?;
        self.wrong += u64::from(!self.is_right(self.made.len() - 1));
        Ok(vec![begun.elapsed().as_secs_f64()])
    }

    /// The seconds to open each of some random revisions, and to read a node there.
    fn open_some(&mut self) -> Result<Vec<f64>, Failure> {
        let revisions = self.made.len() as u64;
        let chosen = (0..TURN).map(|_| self.chosen.below(revisions)).collect();
        Ok(self.open_each(chosen))
    }

    /// As [`Aged::open_some`], of the same ones each time.
    fn open_again(&mut self) -> Result<Vec<f64>, Failure> {
        let revisions = self.made.len() as u64;
        Ok(self.open_each((0..CHOSEN).map(|i| i * revisions / CHOSEN).collect()))
    }

    fn open_each(&mut self, chosen: Vec<u64>) -> Vec<f64> {
        let timed = |at| {
            // What was made then has to be fetched as well, but is not the store's.
            let made = self.made[at as usize].clone();
            let begun = Instant::now();
            let is_right = self.holds(at as usize, &made);
            self.wrong += u64::from(!is_right);
            begun.elapsed().as_secs_f64()
        };
        chosen.into_iter().map(timed).collect()
    }

    /// The seconds to list the newest revisions.
    fn list(&mut self) -> Result<Vec<f64>, Failure> {
        let begun = Instant::now();
        let listed = self.tree().history(..).take(LISTED).filter_map(Result::ok);
        let listed: Vec<Revision> = listed.map(|info| info.revision).collect();
        let seconds = begun.elapsed().as_secs_f64();
        let made = self.made.iter().rev().take(LISTED).map(|(revision, _)| revision);
        self.wrong += u64::from(!made.eq(listed.iter()));
        Ok(vec![seconds])
    }

    /// The seconds for each of some commits.
    fn commit_some(&mut self) -> Result<Vec<f64>, Failure> {
        let begun = Instant::now();
        for _ in 0..TURN {
            self.commit()?;
        }
        Ok(vec![begun.elapsed().as_secs_f64() / TURN as f64])
    }

    /// The seconds for a checkpoint of some commits.
    fn checkpoint(&mut self) -> Result<Vec<f64>, Failure> {
        self.commit_some()?;
        let (store, _) = self.open.as_ref().expect("closed only by what opens it again");
        let begun = Instant::now();
        store.checkpoint()?;
        Ok(vec![begun.elapsed().as_secs_f64()])
    }
}
