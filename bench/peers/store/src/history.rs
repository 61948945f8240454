//! A history of some length: what opening it, an old version, the newest commits and one more cost.

use std::time::{Duration, Instant};

use crate::support::{Failure, Folder, Options, Outcome, Rng, Value, checksum, median, value_of};
use crate::versions::{Open, Place, Versions};

const LEAVES: u32 = 1_000;

/// How often it is opened, and the newest commits listed; how many of these; how many old versions
/// are looked at, twice, and when a slow reader's turn is over; how many commits follow.
const OPENS: u64 = 10;
const LISTS: u64 = 20;
const LISTED: u64 = 100;
const READS: u64 = 2_000;
const TURN: Duration = Duration::from_secs(2);
const MORE: u64 = 100;

/// The median of the microseconds to read a leaf at a random one of the revisions, of which the
/// case `history-COUNT` says how many there are; `reopen` = to open the folder and read the value
/// that was committed last; `list` = to list the newest 100 commits, if it has such a list;
/// `commit` = one more. Nothing is synced.
pub fn run(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let count = options.case.strip_prefix("history-").ok_or("it is no such case")?.parse()?;
    let folder = Folder::new(&options.system)?;
    let open = || open(&options.system, Place::Unsynced(&folder.0));
    let mut store = open()?;
    let values: Vec<Value> = (0..LEAVES).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&values)?;
    let mut aged = Aged { random: Rng(options.seed), changed: Vec::new(), wrong: 0 };
    (0..count).try_for_each(|_: u64| aged.commit(&*store))?;
    let mut opens = Vec::new();
    for _ in 0..OPENS {
        store.close()?;
        let begun = Instant::now();
        store = open()?;
        let found = store.now(aged.last()?)?;
        opens.push(1e6 * begun.elapsed().as_secs_f64());
        aged.wrong += u64::from(found != value_of(aged.last()?, count));
    }
    aged.read(&*store, !options.seed)?;
    let read = median(aged.read(&*store, options.seed)?);
    let list = aged.list(&*store)?;
    let mut commits = Vec::new();
    for _ in 0..MORE {
        let begun = Instant::now();
        aged.commit(&*store)?;
        commits.push(1e6 * begun.elapsed().as_secs_f64());
    }
    let wrong = aged.wrong + (count + MORE + 1).abs_diff(store.newest()?);
    let sum = checksum(store.values(LEAVES)?.into_iter());
    let mut extra =
        vec![("reopen", median(opens)), ("commit", median(commits)), ("checksum", sum.into())];
    extra.extend(list.map(|list| ("list", list)));
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} answers are wrong"),
    };
    Ok(Outcome { value: read, unit: "us", seconds: 0.0, operations: count, extra, check })
}

/// What has happened.
struct Aged {
    random: Rng,
    /// The leaf that each revision from the second on changed.
    changed: Vec<u32>,
    wrong: u64,
}

impl Aged {
    fn commit(&mut self, store: &dyn Versions) -> Result<(), Failure> {
        let leaf = self.random.below(LEAVES.into()) as u32;
        self.changed.push(leaf);
        store.commit(leaf, &value_of(leaf, self.changed.len() as u64))
    }

    fn last(&self) -> Result<u32, Failure> {
        Ok(*self.changed.last().ok_or("nothing was committed")?)
    }

    /// Reads what random revisions changed, as it was then.
    fn read(&mut self, store: &dyn Versions, seed: u64) -> Result<Vec<f64>, Failure> {
        let (mut random, mut times, turn) = (Rng(seed), Vec::new(), Instant::now());
        for _ in (0..READS).take_while(|_| turn.elapsed() < TURN) {
            let at = random.below(self.changed.len() as u64) as usize;
            let leaf = self.changed[at];
            let begun = Instant::now();
            let found = store.read(at as u64 + 2, leaf)?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.wrong += u64::from(found != value_of(leaf, at as u64 + 1));
        }
        Ok(times)
    }

    /// The median of the microseconds to list the newest commits, if there is such a list.
    fn list(&mut self, store: &dyn Versions) -> Result<Option<f64>, Failure> {
        let newest = self.changed.len() as u64 + 1;
        let mut times = Vec::new();
        for _ in 0..LISTS {
            let begun = Instant::now();
            let Some(found) = store.list(LISTED)? else { return Ok(None) };
            times.push(1e6 * begun.elapsed().as_secs_f64());
            let ought = (newest - LISTED + 1..=newest).rev();
            self.wrong += u64::from(!ought.eq(found));
        }
        Ok(Some(median(times)))
    }
}
