//! A reader of the newest values, alone and beside a writer at full speed, in turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Failure, Folder, Options, Outcome, Rng, Value, value_of};
use crate::versions::{Open, Place, Versions};

const TURN: Duration = Duration::from_millis(200);
/// There is a turn of each kind for so many tasks.
const TURN_TASKS: u64 = 100;

/// So many out of a thousand reads are at least as fast.
const PART: usize = 990;

/// Nanoseconds within which 99 of 100 reads of a random leaf are done beside a writer of durable
/// commits; `alone` = of a reader beside whom nobody writes; `commits` = commits a second beside
/// the reader, `commits-alone` = without it.
pub fn run(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let store = open(&options.system, Place::Folder(&folder.0))?;
    let held: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&held)?;
    let own = store.reader()?;
    let from = own.as_deref().unwrap_or(&*store);
    let leaves = options.leaves;
    let mut reader = Reader { store: from, leaves, random: Rng(options.seed), wrong: 0 };
    let random = Rng(!options.seed);
    let mut writer = Writer { store: &*store, held, random, commits: 0, seconds: 0.0 };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let (mut commits, mut commits_alone) = ((0, 0.0), (0, 0.0));
    reader.read(&mut Vec::new())?;
    for _ in 0..options.tasks.div_ceil(TURN_TASKS) {
        reader.read(&mut alone)?;
        writer.beside(&mut commits, || reader.read(&mut beside))?;
        writer.beside(&mut commits_alone, || {
            std::thread::sleep(TURN);
            Ok(())
        })?;
    }
    let mut wrong = reader.wrong + store.newest()?.abs_diff(writer.commits + 1);
    let values = store.values(leaves)?;
    wrong += values.iter().zip(&writer.held).filter(|(found, ought)| found != ought).count() as u64;
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} values or commits are not as they ought to be"),
    };
    let [alone, beside] = [alone, beside].map(slow);
    let rate = |(commits, seconds): (u64, f64)| commits as f64 / seconds;
    let extra =
        vec![("alone", alone), ("commits", rate(commits)), ("commits-alone", rate(commits_alone))];
    let (operations, seconds) = (writer.commits, writer.seconds);
    Ok(Outcome { value: beside, unit: "ns", seconds, operations, extra, check })
}

/// What the slowest but one in a hundred took.
fn slow(mut times: Vec<u32>) -> f64 {
    let at = times.len() * PART / 1000;
    f64::from(*times.select_nth_unstable(at).1)
}

struct Reader<'s> {
    store: &'s dyn Versions,
    leaves: u32,
    random: Rng,
    wrong: u64,
}

impl Reader<'_> {
    /// Reads for a turn; notes how many nanoseconds each took.
    fn read(&mut self, times: &mut Vec<u32>) -> Result<(), Failure> {
        let begun = Instant::now();
        while begun.elapsed() < TURN {
            let leaf = self.random.below(self.leaves.into()) as u32;
            let reading = Instant::now();
            let found = self.store.now(leaf)?;
            times.push(reading.elapsed().as_nanos().try_into().unwrap_or(u32::MAX));
            self.wrong += u64::from(found[..8] != value_of(leaf, 0)[..8]);
        }
        Ok(())
    }
}

struct Writer<'s> {
    store: &'s dyn Versions,
    /// What each leaf has.
    held: Vec<Value>,
    random: Rng,
    commits: u64,
    seconds: f64,
}

impl Writer<'_> {
    /// Commits while something else is done; adds how many there were, and the seconds.
    fn beside(
        &mut self,
        done: &mut (u64, f64),
        other: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (stop, before, begun) = (AtomicBool::new(false), self.commits, Instant::now());
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    self.commit()?;
                }
                Ok::<_, Failure>(())
            });
            let other = other();
            stop.store(true, Ordering::Relaxed);
            writing.join().expect("a panic aborts")?;
            other
        })?;
        let seconds = begun.elapsed().as_secs_f64();
        self.seconds += seconds;
        done.0 += self.commits - before;
        done.1 += seconds;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let leaf = self.random.below(self.held.len() as u64) as u32;
        self.commits += 1;
        let value = value_of(leaf, self.commits);
        self.held[leaf as usize] = value;
        self.store.commit(leaf, &value)
    }
}
