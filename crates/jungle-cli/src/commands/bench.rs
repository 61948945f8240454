//! `jungle bench`: how quick commits and reads are on this machine, in less than a minute. What is
//! held against other systems and bars is measured by the crate `jungle-bench`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use jungle::{CommitOptions, Durability, EditError, Key, Store, TreeHandle, UpdateError, ValueRef};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder;
use crate::interrupt;
use crate::output::{Format, grouped, json_line, stdout};

const HELP: &str = "\
Each is repeated five times, and told by the second: the median, the least and the most. What was \
committed and read is looked at, too. How quick `sync` is depends on the disk: say a folder on the \
one that counts. Nothing is left there.";

/// Measure commits and reads on this machine
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Where a folder is made to measure in, and removed
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// How long each of five rounds takes
    #[arg(long, value_name = "MS", default_value_t = 600)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=60_000))]
    round_ms: u64,
}

const ROUNDS: usize = 5;

/// Clients that wait for the disk together.
const CLIENTS: usize = 64;

/// Nodes of the tree that is read.
const NODES: i64 = 10_000;

/// Reads between two looks at the clock.
const BATCH: u64 = 64;

/// Where the positions that are read begin: they are the same each time.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// What was measured, by the second; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    median: f64,
    least: f64,
    most: f64,
}

/// A folder that is removed at the end, however that comes.
struct Made(PathBuf);

impl Made {
    /// What is there already is not taken: it would be removed.
    fn within(dir: &Path) -> Result<Made, Failure> {
        let place = dir.join(format!("jungle-bench-{}", std::process::id()));
        let not_made = |error| {
            Failure::new(Exit::Error, format_args!("cannot make {}: {error}", place.display()))
        };
        fs::create_dir(&place).map_err(not_made)?;
        Ok(Made(place))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let given_up = interrupt::flag();
    let bench = Bench { time: Duration::from_millis(args.round_ms), given_up: &given_up };
    let made = Made::within(&args.dir)?;
    let store = folder::open(&made.0.to_string_lossy(), context.opening.clone())?;
    let (written, read) = (store.create_tree("written").map_err(failed)?, plant(&store)?);
    let mut out = stdout();
    if context.format == Format::Text {
        writeln!(out, "{:<28} {:>12} {:>12} {:>12}", "by the second", "median", "least", "most")?;
    }
    let mut measure = |name, round: &dyn Fn() -> Result<u64, Failure>| -> Result<(), Failure> {
        let row = bench.measure(name, round)?;
        match context.format {
            Format::Json => json_line(&mut out, &row)?,
            Format::Text => row.print(&mut out)?,
        }
        // The next one takes its time.
        Ok(out.flush()?)
    };
    for (name, level, clients) in [
        ("commits, sync, 1 client", Durability::Sync, 1),
        ("commits, sync, 64 clients", Durability::Sync, CLIENTS),
        ("commits, buffered, 1 client", Durability::Buffered, 1),
        ("commits, memory, 1 client", Durability::Memory, 1),
    ] {
        measure(name, &|| bench.commit(&written, level, clients))?;
    }
    measure("reads of a node by its path", &|| Ok(bench.read(&read)))?;
    measure("nodes listed", &|| Ok(bench.list(&read)))
}

/// A tree whose nodes have their positions as an attribute.
fn plant(store: &Store) -> Result<TreeHandle, Failure> {
    let tree = store.create_tree("read").map_err(failed)?;
    let planted = tree.update(|tx| {
        (0..NODES).try_for_each(|n| {
            let key = tx.append(&[])?;
            tx.put_attribute(&[key], "n", n)
        })
    });
    planted.map_err(failed)?;
    Ok(tree)
}

/// How it is measured: each round takes so long, unless it is given up.
struct Bench<'b> {
    time: Duration,
    given_up: &'b AtomicBool,
}

impl Bench<'_> {
    /// A round says how much it did.
    fn measure(
        &self,
        name: &'static str,
        round: &dyn Fn() -> Result<u64, Failure>,
    ) -> Result<Row, Failure> {
        let mut rates = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let done = round()?;
            rates.push(done as f64 / begun.elapsed().as_secs_f64());
            if interrupt::flow(self.given_up).is_break() {
                return Err(interrupt::given_up());
            }
        }
        rates.sort_by(f64::total_cmp);
        Ok(Row { name, median: rates[ROUNDS / 2], least: rates[0], most: rates[ROUNDS - 1] })
    }

    fn is_over(&self, begun: Instant) -> bool {
        begun.elapsed() >= self.time || interrupt::flow(self.given_up).is_break()
    }

    /// Appends, a commit each, by several who do not wait for each other.
    fn commit(&self, tree: &TreeHandle, level: Durability, clients: usize) -> Result<u64, Failure> {
        let options = CommitOptions { durability: Some(level), ..CommitOptions::default() };
        let (begun, before) = (Instant::now(), tree.read().root().child_count());
        let append = || -> Result<u64, UpdateError<EditError>> {
            let mut done = 0;
            loop {
                tree.update_with(&options, |tx| tx.append(&[]))?;
                done += 1;
                if self.is_over(begun) {
                    return Ok(done);
                }
            }
        };
        let done = thread::scope(|scope| {
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(append)).collect();
            let done = clients.into_iter().map(|client| client.join().expect("a commit is no bug"));
            done.sum::<Result<u64, _>>()
        });
        let done = done.map_err(failed)?;
        assert_eq!(tree.read().root().child_count(), before + done, "each commit is there once");
        Ok(done)
    }

    /// Reads nodes here and there.
    fn read(&self, tree: &TreeHandle) -> u64 {
        let begun = Instant::now();
        let (mut random, mut done) = (SEED, 0);
        while done == 0 || !self.is_over(begun) {
            for _ in 0..BATCH {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let n = (random % NODES as u64) as i64;
                let reading = tree.read();
                let node = reading.root().at(&[Key::from(n)]).ok();
                let value = node.and_then(|node| node.attribute("n")).and_then(ValueRef::as_int);
                assert_eq!(value, Some(n), "the node is the one that was asked for");
            }
            done += BATCH;
        }
        done
    }

    /// Goes through all nodes, again and again.
    fn list(&self, tree: &TreeHandle) -> u64 {
        let begun = Instant::now();
        let mut done = 0;
        while done == 0 || !self.is_over(begun) {
            let reading = tree.read();
            let numbers = reading.root().children().filter_map(|(_, node)| node.attribute("n"));
            let sum: i64 = numbers.filter_map(ValueRef::as_int).sum();
            assert_eq!(sum, NODES * (NODES - 1) / 2, "each node was seen once");
            done += NODES as u64;
        }
        done
    }
}

impl Row {
    fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        let [median, least, most] =
            [self.median, self.least, self.most].map(|rate| grouped(rate.round() as u64));
        writeln!(out, "{:<28} {median:>12} {least:>12} {most:>12}", self.name)
    }
}
