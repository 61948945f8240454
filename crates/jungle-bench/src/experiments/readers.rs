//! A reader of a folder's tree, alone and beside a writer at full speed, in turns.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use jungle::{CommitOptions, Durability, EditError, LogStats, TreeHandle};

use super::Options;
use super::folder::{self, Folder};
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{
    KEY, LeafPath, Payload, Random, Shape, beside, leaf_path, number_of, value_of,
};

/// So many out of a thousand reads are at least as fast.
const PART: usize = 990;

/// How long the file is that is written to where nothing is committed.
const FILE_BYTES: u64 = 16 << 20;

/// Nanoseconds within which 99 of 100 reads of a random leaf are done: `readers-alone`, and beside
/// a writer of durable commits, `readers-beside`, or of buffered ones, `readers-buffered-beside`;
/// and how many times as long that is: `readers`, `readers-buffered`. Two more tell what of that is
/// the machine's: beside a thread that only counts, `readers-counting`, and beside one that only
/// writes as many bytes a second to a file, in as many calls, as buffered commits did,
/// `readers-writing`.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let (turns, turn, shape) = match options.tiny {
        true => (2, Duration::from_millis(5), Shape::READ_TINY),
        false => (if options.quick { 5 } else { 15 }, Duration::from_millis(200), Shape::READ),
    };
    let folder = Folder::new("readers")?;
    let store = folder::options().open(&folder.0)?;
    let tree = store.create_tree("read")?;
    tree.update(|tx| tx.bulk(|editor| shape.grow(editor, Payload::Attribute)))?;
    let mut reader = Reader { tree: &tree, shape, random: Random(options.seed), wrong: 0 };
    let mut writer = Writer { tree: &tree, shape, random: Random(!options.seed), commits: 0 };
    let (mut alone, mut beside, mut buffered) = (Vec::new(), Vec::new(), Vec::new());
    let (mut counting, mut writing) = (Vec::new(), Vec::new());
    let of_file = Folder::new("readers-file")?;
    let mut file = Overwritten::new(&of_file)?;
    reader.read(turn, &mut Vec::new());
    for _ in 0..turns {
        reader.read(turn, &mut alone);
        writer.beside(Durability::Sync, || reader.read(turn, &mut beside))?;
        let before = store.log_stats();
        writer.beside(Durability::Buffered, || reader.read(turn, &mut buffered))?;
        let pace = Pace::of(turn, before, store.log_stats());
        count_beside(|| reader.read(turn, &mut counting))?;
        file.write_beside(pace, || reader.read(turn, &mut writing))?;
    }
    let [alone, beside, buffered] = [alone, beside, buffered].map(slow);
    let [counting, writing] = [counting, writing].map(slow);
    let sample = Sample::value(beside / alone, "x")
        .with("readers", beside / alone)
        .with("readers-buffered", buffered / alone)
        .with("readers-counting", counting / alone)
        .with("readers-writing", writing / alone)
        .with("readers-alone", alone)
        .with("readers-beside", beside)
        .with("readers-buffered-beside", buffered)
        .with("commits", writer.commits as f64);
    Ok(sample.check_none(reader.wrong, "leaves have another's value"))
}

/// What the slowest but one in a hundred took.
pub(super) fn slow(mut times: Vec<u32>) -> f64 {
    let at = times.len() * PART / 1000;
    f64::from(*times.select_nth_unstable(at).1)
}

struct Reader<'t> {
    tree: &'t TreeHandle,
    shape: Shape,
    random: Random,
    wrong: u64,
}

impl Reader<'_> {
    /// Reads random leaves of the newest version; notes how many nanoseconds each took.
    fn read(&mut self, turn: Duration, times: &mut Vec<u32>) {
        let (begun, mut path) = (Instant::now(), leaf_path());
        while begun.elapsed() < turn {
            let number = self.shape.random_leaf(&mut self.random, &mut path);
            let reading = Instant::now();
            let found = self.leaf(&path);
            times.push(reading.elapsed().as_nanos().try_into().unwrap_or(u32::MAX));
            self.wrong += u64::from(found != Some(number));
        }
    }

    fn leaf(&self, path: &LeafPath) -> Option<u64> {
        let reading = self.tree.read();
        let leaf = reading.root().at(path).ok()?;
        black_box(number_of(leaf.attribute(KEY)?.as_bytes()?))
    }
}

struct Writer<'t> {
    tree: &'t TreeHandle,
    shape: Shape,
    random: Random,
    commits: u64,
}

impl Writer<'_> {
    /// Writes random leaves, each in a commit, while something else is done.
    fn beside(&mut self, durability: Durability, other: impl FnOnce()) -> Result<(), Failure> {
        beside(|| self.write(durability), other)
    }

    fn write(&mut self, durability: Durability) -> Result<(), String> {
        let mut path = leaf_path();
        let number = self.shape.random_leaf(&mut self.random, &mut path);
        self.commits += 1;
        let value = value_of(number, self.commits);
        let options = CommitOptions { durability: Some(durability), ..CommitOptions::default() };
        let put = self.tree.update_with(&options, |tx| tx.put_attribute(&path, KEY, &value[..]));
        put.map(drop).map_err(|error: jungle::UpdateError<EditError>| error.to_string())
    }
}

/// Counts while something else is done.
fn count_beside(other: impl FnOnce()) -> Result<(), Failure> {
    let mut count = 0_u64;
    let again = || {
        for _ in 0..1_000 {
            count = black_box(count + 1);
        }
        Ok::<_, String>(())
    };
    beside(again, other)
}

/// How often, and how much at a time, a log was written to.
#[derive(Clone, Copy)]
struct Pace {
    every: Duration,
    bytes: usize,
}

impl Pace {
    fn of(turn: Duration, before: LogStats, after: LogStats) -> Pace {
        let writes = (after.groups - before.groups).max(1);
        let bytes = (after.bytes - before.bytes) / writes;
        Pace { every: turn.div_f64(writes as f64), bytes: bytes as usize }
    }
}

/// A file of zeros, which was synced.
struct Overwritten {
    file: File,
    at: u64,
}

impl Overwritten {
    fn new(folder: &Folder) -> io::Result<Overwritten> {
        let file = File::create(folder.0.join("file"))?;
        file.write_all_at(&vec![0; FILE_BYTES as usize], 0)?;
        file.sync_all()?;
        Ok(Overwritten { file, at: 0 })
    }

    /// Writes over it from its beginning to its end, again and again, while something else is done.
    fn write_beside(&mut self, pace: Pace, other: impl FnOnce()) -> Result<(), Failure> {
        let (bytes, begun) = (vec![1_u8; pace.bytes], Instant::now());
        let mut due = Duration::ZERO;
        let write = || {
            if begun.elapsed() < due {
                std::hint::spin_loop();
                return Ok(());
            }
            due += pace.every;
            let written = self.file.write_all_at(&bytes, self.at % FILE_BYTES);
            self.at += bytes.len() as u64;
            written.map_err(|error| error.to_string())
        };
        beside(write, other)
    }
}
