//! The cases.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Failure, Folder, Options, Outcome, Rng, Value, checksum, median, value_of};
use crate::versions::{Versions, open};

/// Milliseconds of committing for each task, and revisions.
const TASK_MS: u64 = 2;
const TASK_REVISIONS: u64 = 5;

/// How many old revisions are read, and diffed, each twice.
const READS: u64 = 2_000;
const DIFFS: u64 = 500;

fn load(store: &dyn Versions, options: &Options) -> Result<(), Failure> {
    let values: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&values)
}

/// Durable commits of one value a second.
pub fn commit(options: &Options) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let store = open(&options.system, &folder.0)?;
    load(&*store, options)?;
    let turn = Duration::from_millis(options.tasks * TASK_MS);
    let (begun, done) = (Instant::now(), AtomicU64::new(0));
    let client = |client: usize| {
        let mut random = Rng(options.seed + client as u64);
        // No value twice: DoltLite refuses a commit without a change.
        for stamp in (client as u64..).step_by(options.threads).skip(1) {
            if begun.elapsed() >= turn {
                break;
            }
            let leaf = random.below(options.leaves.into()) as u32;
            store.commit(leaf, &value_of(leaf, stamp))?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok::<_, Failure>(())
    };
    std::thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> =
            (0..options.threads).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().try_for_each(|client| client.join().expect("a panic aborts"))
    })?;
    let (seconds, operations) = (begun.elapsed().as_secs_f64(), done.into_inner());
    let lost = (operations + 1).abs_diff(store.newest()?);
    let check = if lost == 0 { "ok".to_owned() } else { format!("{lost} commits are not there") };
    let value = operations as f64 / seconds;
    Ok(Outcome { value, unit: "1/s", seconds, operations, extra: Vec::new(), check })
}

/// The median of the microseconds to read a leaf of an old revision; `diff` = of those to compare
/// a revision with the one before; `folder` = bytes on disk in the end; `growth` = by how much a
/// commit made them more.
pub fn kept(options: &Options) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let store = open(&options.system, &folder.0)?;
    load(&*store, options)?;
    drop(store);
    let loaded = folder.allocated()?;
    let store = open(&options.system, &folder.0)?;
    let (mut random, revisions) = (Rng(options.seed), options.tasks * TASK_REVISIONS);
    let mut changed = Vec::new();
    for stamp in 1..=revisions {
        let leaf = random.below(options.leaves.into()) as u32;
        store.commit(leaf, &value_of(leaf, stamp))?;
        changed.push(leaf);
    }
    drop(store);
    let allocated = folder.allocated()?;
    let store = open(&options.system, &folder.0)?;
    let mut old = Old { store: &*store, options, changed: &changed, wrong: 0 };
    old.read(READS)?;
    let read = median(old.read(READS)?);
    old.diff(DIFFS)?;
    let diff = median(old.diff(DIFFS)?);
    let wrong = old.wrong;
    let newest = store.newest()?;
    let values: Result<Vec<Value>, Failure> =
        (0..options.leaves).map(|leaf| store.read(newest, leaf)).collect();
    let extra = vec![
        ("diff", diff),
        ("folder", allocated as f64),
        ("growth", allocated.saturating_sub(loaded) as f64 / revisions as f64),
        ("checksum", checksum(values?.into_iter()).into()),
    ];
    let check = if wrong == 0 { "ok".to_owned() } else { format!("{wrong} answers are wrong") };
    Ok(Outcome { value: read, unit: "us", seconds: 0.0, operations: revisions, extra, check })
}

/// Looks back.
struct Old<'s> {
    store: &'s dyn Versions,
    options: &'s Options,
    /// The leaf that each revision from the second on changed.
    changed: &'s [u32],
    wrong: u64,
}

impl Old<'_> {
    /// A random one of the revisions that changed something; of these, the first is 0.
    fn random(&self, random: &mut Rng) -> usize {
        random.below(self.changed.len() as u64) as usize
    }

    /// What a leaf has after so many changes.
    fn value(&self, leaf: u32, changes: usize) -> Value {
        let stamp = self.changed[..changes].iter().rposition(|changed| *changed == leaf);
        value_of(leaf, stamp.map_or(0, |stamp| stamp as u64 + 1))
    }

    /// Reads a leaf that some revision changed, as it was then or at another random one. Gives the
    /// microseconds of each.
    fn read(&mut self, reads: u64) -> Result<Vec<f64>, Failure> {
        let (mut random, mut times) = (Rng(!self.options.seed), Vec::new());
        for _ in 0..reads {
            let leaf = self.changed[self.random(&mut random)];
            let at = self.random(&mut random);
            let begun = Instant::now();
            let found = self.store.read(at as u64 + 2, leaf)?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.wrong += u64::from(found != self.value(leaf, at + 1));
        }
        Ok(times)
    }

    fn diff(&mut self, diffs: u64) -> Result<Vec<f64>, Failure> {
        let (mut random, mut times) = (Rng(!self.options.seed), Vec::new());
        for _ in 0..diffs {
            let at = self.random(&mut random);
            let begun = Instant::now();
            let found = self.store.diff(at as u64 + 2)?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            let leaf = self.changed[at];
            let ought = (leaf, self.value(leaf, at + 1));
            self.wrong += u64::from(found != [ought]);
        }
        Ok(times)
    }
}
