//! How long a reader and a writer wait while a store gives back space.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::apart::Edit;
use crate::support::{Failure, Folder, Options, Outcome, Rng, Value, value_of};
use crate::versions::{Open, Place, Versions};

/// Commits of each task, and revisions that are kept in the end, where any are forgotten; there are
/// twice as many at least.
const TASK_EDITS: u64 = 10;
const KEPT: u64 = 100;

/// For each task nothing is given back for so long, and at most so long.
const TASK_TURN: Duration = Duration::from_millis(1);
const TURN_MAX: Duration = Duration::from_secs(1);

/// After each read and each commit; and what takes longer is looked at.
const PAUSE: Duration = Duration::from_micros(50);
const LONG: Duration = Duration::from_micros(200);

/// Reads a leaf, as it is now.
pub type Read<'s> = Box<dyn FnMut(u32) -> Result<Value, Failure> + Send + 's>;

/// A store that is read, written to, and gives back space, all at once.
pub trait Busy: Sync {
    /// Loads all leaves, as revision 1, and commits these values, each for itself.
    fn fill(&self, values: &[Value], edits: &[Edit]) -> Result<(), Failure>;
    /// Somebody who reads.
    fn reader(&self) -> Result<Read<'_>, Failure>;
    /// Commits a value.
    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure>;
    /// Gives back space; forgets what was before this revision, if it can.
    fn reclaim(&self, from: u64) -> Result<(), Failure>;
    /// The newest revision.
    fn newest(&self) -> Result<u64, Failure>;
    /// The values of all leaves.
    fn values(&self, leaves: u32) -> Result<Vec<Value>, Failure>;
}

/// A store, and two more who use it, if it has such.
struct Opened {
    store: Box<dyn Versions>,
    reader: Option<Box<dyn Versions>>,
    keeper: Option<Box<dyn Versions>>,
}

impl Busy for Opened {
    fn fill(&self, values: &[Value], edits: &[Edit]) -> Result<(), Failure> {
        self.store.load(values)?;
        edits.iter().try_for_each(|(leaf, value)| self.store.commit(*leaf, value))
    }

    fn reader(&self) -> Result<Read<'_>, Failure> {
        let store = self.reader.as_deref().unwrap_or(&*self.store);
        Ok(Box::new(move |leaf| store.now(leaf)))
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        self.store.commit(leaf, value)
    }

    fn reclaim(&self, from: u64) -> Result<(), Failure> {
        self.keeper.as_deref().unwrap_or(&*self.store).forget(from)
    }

    fn newest(&self) -> Result<u64, Failure> {
        self.store.newest()
    }

    fn values(&self, leaves: u32) -> Result<Vec<Value>, Failure> {
        self.store.values(leaves)
    }
}

/// [`run`] with a store of this system, of which no commit is synced.
pub fn run_opened(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let store = open(&options.system, Place::Unsynced(&folder.0))?;
    let (reader, keeper) = (store.reader()?, store.reader()?);
    run(options, &Opened { store, reader, keeper })
}

/// The milliseconds of the longest read of a random leaf, and of the longest commit of one value
/// (`writer`), while space is given back, which took so long (`took`); `reader-beside` and
/// `writer-beside` = of those before. All without the time for which the thread waited for a
/// processor.
pub fn run(options: &Options, store: &dyn Busy) -> Result<Outcome, Failure> {
    let mut held: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    let (mut random, count) = (Rng(options.seed), (options.tasks * TASK_EDITS).max(2 * KEPT));
    let edit = |stamp| {
        let leaf = random.below(options.leaves.into()) as u32;
        (leaf, value_of(leaf, stamp))
    };
    let edits: Vec<Edit> = (1..=count).map(edit).collect();
    store.fill(&held, &edits)?;
    for (leaf, value) in &edits {
        held[*leaf as usize] = *value;
    }
    let leaves = options.leaves;
    let mut reader = Reader { read: store.reader()?, leaves, random: Rng(!options.seed), wrong: 0 };
    let mut writer = Writer { store, held, random: Rng(options.seed), stamp: count };
    let turn = (TASK_TURN * u32::try_from(options.tasks)?).min(TURN_MAX);
    let (_, reader_beside, writer_beside) = during(&mut reader, &mut writer, || {
        sleep(turn);
        Ok(())
    })?;
    let reclaim = || store.reclaim(count + 2 - KEPT);
    let (took, value, stalled) = during(&mut reader, &mut writer, reclaim)?;
    let mut wrong = reader.wrong + store.newest()?.abs_diff(writer.stamp + 1);
    let values = store.values(leaves)?;
    wrong += values.len().abs_diff(writer.held.len()) as u64;
    wrong += values.iter().zip(&writer.held).filter(|(found, ought)| found != ought).count() as u64;
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} values or commits are not as they ought to be"),
    };
    let extra = vec![
        ("writer", stalled),
        ("took", took),
        ("reader-beside", reader_beside),
        ("writer-beside", writer_beside),
    ];
    let (seconds, operations) = (1e-3 * took, writer.stamp);
    Ok(Outcome { value, unit: "ms", seconds, operations, extra, check })
}

/// Reads and commits while something else is done. Gives how many milliseconds that took, and those
/// of the longest read and commit.
fn during(
    reader: &mut Reader<'_>,
    writer: &mut Writer<'_>,
    other: impl FnOnce() -> Result<(), Failure>,
) -> Result<(f64, f64, f64), Failure> {
    let (stop, begun) = (AtomicBool::new(false), Instant::now());
    scope(|scope| {
        let reading = scope.spawn(|| longest(&stop, || reader.read()));
        let writing = scope.spawn(|| longest(&stop, || writer.commit()));
        let done = other();
        let took = 1e3 * begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let reader = reading.join().expect("a panic aborts");
        let writer = writing.join().expect("a panic aborts");
        done?;
        Ok((took, reader?, writer?))
    })
}

/// Of what is done again and again, with pauses, until it is to stop.
fn longest(
    stop: &AtomicBool,
    mut each: impl FnMut() -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let (told, mut longest) = (File::open("/proc/thread-self/schedstat").ok(), Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let (before, begun) = (waited(told.as_ref()), Instant::now());
        each()?;
        let took = begun.elapsed();
        if took > LONG {
            let waited = waited(told.as_ref()).saturating_sub(before);
            longest = longest.max(took.saturating_sub(waited));
        }
        sleep(PAUSE);
    }
    Ok(1e3 * longest.as_secs_f64())
}

/// For how long this thread has waited for a processor: the second of the numbers that Linux tells.
fn waited(told: Option<&File>) -> Duration {
    let nanoseconds = |told: &File| {
        let mut text = [0; 80];
        let bytes = told.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..bytes]).ok()?.split(' ').nth(1)?.parse::<u64>().ok()
    };
    Duration::from_nanos(told.and_then(nanoseconds).unwrap_or(0))
}

struct Reader<'s> {
    read: Read<'s>,
    leaves: u32,
    random: Rng,
    wrong: u64,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Failure> {
        let leaf = self.random.below(self.leaves.into()) as u32;
        let found = (self.read)(leaf)?;
        self.wrong += u64::from(found[..8] != value_of(leaf, 0)[..8]);
        Ok(())
    }
}

struct Writer<'s> {
    store: &'s dyn Busy,
    /// What each leaf has.
    held: Vec<Value>,
    random: Rng,
    stamp: u64,
}

impl Writer<'_> {
    fn commit(&mut self) -> Result<(), Failure> {
        let leaf = self.random.below(self.held.len() as u64) as u32;
        self.stamp += 1;
        let value = value_of(leaf, self.stamp);
        self.held[leaf as usize] = value;
        self.store.commit(leaf, &value)
    }
}
