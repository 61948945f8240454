//! The cases.

use std::time::{Duration, Instant};

use crate::support::{
    Failure, Folder, Options, Outcome, Rng, Value, checksum, median, quantile, value_of,
};
use crate::versions::{Branches, Open, Place, Versions};

/// Milliseconds of committing for each task, and revisions.
const TASK_MS: u64 = 2;
const TASK_REVISIONS: u64 = 5;

/// Commits in memory of each task.
const TASK_EDITS: u64 = 100;

/// How many old revisions are read, and diffed, each twice, and when a slow system's turn is over.
const READS: u64 = 2_000;
const DIFFS: u64 = 500;
const TURN: Duration = Duration::from_secs(1);

/// How many merges there are, and how many commits each side has made before.
const MERGES: u64 = 5;
const EDITS: u64 = 1_000;

/// Runs the case that is asked for.
pub fn run(options: &Options, open: Open) -> Result<Outcome, Failure> {
    match options.case.as_str() {
        "commit" => commit(options, open),
        "commit-memory" => commit_memory(options, open),
        "kept" => kept(options, open),
        unknown => Err(format!("there is no case {unknown}").into()),
    }
}

fn load(store: &dyn Versions, options: &Options) -> Result<(), Failure> {
    let values: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&values)
}

/// Durable commits of one value, each the next revision.
fn commit(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let store = open(&options.system, Place::Folder(&folder.0))?;
    load(&*store, options)?;
    let committed = commit_all(options, |leaf, value| store.commit(leaf, value))?;
    let lost = (committed.count() + 1).abs_diff(store.newest()?);
    Ok(committed.outcome(check_none(lost, "commits are not there")))
}

/// What several clients have committed.
pub(crate) struct Committed {
    seconds: f64,
    /// Of each client the leaves and stamps, in its order.
    pub(crate) edits: Vec<Vec<(u32, u64)>>,
    /// The microseconds of each commit.
    times: Vec<f64>,
}

impl Committed {
    fn count(&self) -> u64 {
        self.times.len() as u64
    }

    /// Commits a second; `p50` and `p99` = the microseconds within which half of them were
    /// acknowledged, and 99 of 100.
    pub(crate) fn outcome(self, check: String) -> Outcome {
        let (operations, seconds, mut times) = (self.count(), self.seconds, self.times);
        times.sort_by(f64::total_cmp);
        let extra = vec![("p50", quantile(&times, 0.5)), ("p99", quantile(&times, 0.99))];
        let value = operations as f64 / seconds;
        Outcome { value, unit: "1/s", seconds, operations, extra, check }
    }
}

/// As many clients as there are threads put values of random leaves for a time, one at a time.
pub(crate) fn commit_all(
    options: &Options,
    put: impl Fn(u32, &Value) -> Result<(), Failure> + Sync,
) -> Result<Committed, Failure> {
    let turn = Duration::from_millis(options.tasks * TASK_MS);
    let begun = Instant::now();
    let client = |client: usize| {
        let mut random = Rng(options.seed + client as u64);
        let (mut edits, mut times) = (Vec::new(), Vec::new());
        // No value twice: DoltLite refuses a commit without a change.
        for stamp in (client as u64..).step_by(options.threads).skip(1) {
            if begun.elapsed() >= turn {
                break;
            }
            let leaf = random.below(options.leaves.into()) as u32;
            let committing = Instant::now();
            put(leaf, &value_of(leaf, stamp))?;
            times.push(1e6 * committing.elapsed().as_secs_f64());
            edits.push((leaf, stamp));
        }
        Ok::<_, Failure>((edits, times))
    };
    let done = std::thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> =
            (0..options.threads).map(|number| scope.spawn(move || client(number))).collect();
        let done = clients.into_iter().map(|client| client.join().expect("a panic aborts"));
        done.collect::<Result<Vec<_>, Failure>>()
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let (edits, times): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    Ok(Committed { seconds, edits, times: times.concat() })
}

/// Commits in memory, in one thread, a fixed number of them; all that was before is kept.
fn commit_memory(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let store = open(&options.system, Place::Memory)?;
    load(&*store, options)?;
    let (mut random, operations) = (Rng(options.seed), options.tasks * TASK_EDITS);
    let mut leaf = 0;
    let begun = Instant::now();
    for stamp in 1..=operations {
        leaf = random.below(options.leaves.into()) as u32;
        store.commit(leaf, &value_of(leaf, stamp))?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let lost = (operations + 1).abs_diff(store.newest()?);
    let forgotten = u64::from(store.read(1, leaf)? != value_of(leaf, 0));
    let check = check_none(lost + forgotten, "commits are not there");
    let values = store.values(options.leaves)?;
    let extra = vec![("checksum", checksum(values.into_iter()).into())];
    let value = operations as f64 / seconds;
    Ok(Outcome { value, unit: "1/s", seconds, operations, extra, check })
}

/// The median of the microseconds in which one takes in what the other has committed since they
/// parted, each to leaves of its own.
pub fn merge(options: &Options, ours: &impl Branches) -> Result<Outcome, Failure> {
    load(ours, options)?;
    let (mut random, mut times) = (Rng(options.seed), Vec::new());
    let mut held = vec![0; options.leaves as usize];
    for turn in 0..MERGES {
        let theirs = ours.fork()?;
        for edit in 0..EDITS {
            let stamp = turn * EDITS + edit + 1;
            for (side, half) in [(ours, 0), (&theirs, 1)] {
                let leaf = 2 * random.below(u64::from(options.leaves) / 2) as u32 + half;
                side.commit(leaf, &value_of(leaf, stamp))?;
                held[leaf as usize] = stamp;
            }
        }
        let begun = Instant::now();
        ours.merge(&theirs)?;
        times.push(1e6 * begun.elapsed().as_secs_f64());
    }
    let values = ours.values(options.leaves)?;
    let is_wrong = |(leaf, (found, stamp)): (u32, (&Value, &u64))| *found != value_of(leaf, *stamp);
    let wrong = (0..).zip(values.iter().zip(&held)).filter(|leaf| is_wrong(*leaf)).count();
    let check = check_none(wrong as u64, "leaves are not what was merged");
    let extra = vec![("checksum", checksum(values.into_iter()).into())];
    let (value, operations) = (median(times), MERGES);
    Ok(Outcome { value, unit: "us", seconds: 0.0, operations, extra, check })
}

pub(crate) fn check_none(wrong: u64, what: &str) -> String {
    if wrong == 0 { "ok".to_owned() } else { format!("{wrong} {what}") }
}

/// The median of the microseconds to read a leaf of an old revision; `diff` = of those to compare
/// a revision with the one before; `folder` = bytes on disk in the end; `growth` = by how much a
/// commit made them more.
fn kept(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let open = || open(&options.system, Place::Folder(&folder.0));
    let store = open()?;
    load(&*store, options)?;
    store.close()?;
    let loaded = folder.allocated()?;
    let store = open()?;
    let (mut random, revisions) = (Rng(options.seed), options.tasks * TASK_REVISIONS);
    let mut changed = Vec::new();
    for stamp in 1..=revisions {
        let leaf = random.below(options.leaves.into()) as u32;
        store.commit(leaf, &value_of(leaf, stamp))?;
        changed.push(leaf);
    }
    store.close()?;
    let allocated = folder.allocated()?;
    let store = open()?;
    let mut old = Old { store: &*store, options, changed: &changed, wrong: 0 };
    old.read(READS)?;
    let read = median(old.read(READS)?);
    old.diff(DIFFS)?;
    let diff = median(old.diff(DIFFS)?);
    let wrong = old.wrong;
    let newest = store.newest()?;
    let values = store.values(options.leaves)?;
    let extra = vec![
        ("diff", diff),
        ("folder", allocated as f64),
        ("growth", allocated.saturating_sub(loaded) as f64 / revisions as f64),
        ("checksum", checksum(values.into_iter()).into()),
    ];
    let wrong = wrong + newest.abs_diff(revisions + 1);
    let check = check_none(wrong, "answers are wrong");
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
        let turn = Instant::now();
        for _ in (0..reads).take_while(|_| turn.elapsed() < TURN) {
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
        let turn = Instant::now();
        for _ in (0..diffs).take_while(|_| turn.elapsed() < TURN) {
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
