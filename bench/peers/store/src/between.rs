//! Two versions are compared: neighbours, and such that lie a thousand commits apart.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::apart::Edit;
use crate::support::{Failure, Folder, Options, Outcome, Rng, Value, checksum, median, value_of};
use crate::versions::{Change, Open, Place, Versions};

/// Commits of one value, how many of them lie between two versions, and how many pairs of these
/// are compared, twice, and when a slow one's turn is over.
const EDITS: u64 = 2_000;
const APART: u64 = 1_000;
const PAIRS: u64 = 50;
const TURN: Duration = Duration::from_secs(2);

/// What has versions that can be compared.
pub trait Compared {
    /// Loads all leaves at once, as revision 1.
    fn load(&mut self, values: &[Value]) -> Result<(), Failure>;
    /// Commits these values, each for itself.
    fn commit(&mut self, edits: &[Edit]) -> Result<(), Failure>;
    /// In what a revision differs from an earlier one.
    fn between(&mut self, from: u64, to: u64) -> Result<Vec<Change>, Failure>;
    /// The values of all leaves at the newest revision.
    fn values(&mut self, leaves: u32) -> Result<Vec<Value>, Failure>;
}

impl Compared for Box<dyn Versions> {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        (**self).load(values)
    }

    fn commit(&mut self, edits: &[Edit]) -> Result<(), Failure> {
        edits.iter().try_for_each(|(leaf, value)| (**self).commit(*leaf, value))
    }

    fn between(&mut self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        (**self).between(from, to)
    }

    fn values(&mut self, leaves: u32) -> Result<Vec<Value>, Failure> {
        (**self).values(leaves)
    }
}

/// [`run`] with a store of this system, of which nothing is synced.
pub fn run_opened(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let mut store = open(&options.system, Place::Unsynced(&folder.0))?;
    run(options, &mut store)
}

/// The median of the microseconds to compare a revision with that a thousand commits before;
/// `adjacent` = with the one before.
pub fn run(options: &Options, store: &mut dyn Compared) -> Result<Outcome, Failure> {
    let mut held: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&held)?;
    let mut random = Rng(options.seed);
    let edit = |stamp| {
        let leaf = random.below(options.leaves.into()) as u32;
        (leaf, value_of(leaf, stamp))
    };
    let edits: Vec<Edit> = (1..=EDITS).map(edit).collect();
    store.commit(&edits)?;
    let mut pairs = Pairs { store, seed: !options.seed, edits: &edits, wrong: 0 };
    pairs.compare(1)?;
    let adjacent = median(pairs.compare(1)?);
    pairs.compare(APART)?;
    let value = median(pairs.compare(APART)?);
    let Pairs { store, mut wrong, .. } = pairs;
    for (leaf, value) in &edits {
        held[*leaf as usize] = *value;
    }
    let values = store.values(options.leaves)?;
    wrong += values.len().abs_diff(held.len()) as u64;
    wrong += values.iter().zip(&held).filter(|(found, ought)| found != ought).count() as u64;
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} answers or values are wrong"),
    };
    let extra = vec![("adjacent", adjacent), ("checksum", checksum(values.into_iter()).into())];
    Ok(Outcome { value, unit: "us", seconds: 0.0, operations: EDITS, extra, check })
}

/// Compares two revisions again and again.
struct Pairs<'s> {
    store: &'s mut dyn Compared,
    seed: u64,
    /// What each revision from the second on changed.
    edits: &'s [Edit],
    wrong: u64,
}

impl Pairs<'_> {
    /// Such as lie so many commits apart. Gives the microseconds of each.
    fn compare(&mut self, apart: u64) -> Result<Vec<f64>, Failure> {
        let (mut random, mut times, turn) = (Rng(self.seed), Vec::new(), Instant::now());
        for _ in (0..PAIRS).take_while(|_| turn.elapsed() < TURN) {
            let from = random.below(self.edits.len() as u64 - apart + 1);
            let begun = Instant::now();
            let mut found = self.store.between(from + 1, from + apart + 1)?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            found.sort_unstable();
            // Of a leaf that several of them changed, the last one's value.
            let changed = &self.edits[from as usize..(from + apart) as usize];
            let ought: BTreeMap<u32, Value> = changed.iter().copied().collect();
            self.wrong += u64::from(!found.into_iter().eq(ought));
        }
        Ok(times)
    }
}
