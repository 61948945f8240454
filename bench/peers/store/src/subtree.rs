//! A subtree that is moved from one place to another: how long it takes, and what must be there
//! then.

use std::time::{Duration, Instant};

use crate::support::{Failure, Options, Outcome, Rng, Value, checksum, median, value_of};

/// Where it can be.
pub const PLACES: u32 = 10;

/// Steps of ten to a leaf of the subtree, and leaves: 11,111 nodes.
pub const DEPTH: u32 = 4;
pub const LEAVES: u32 = 10_000;

/// When a slow system's turn is over.
const TURN: Duration = Duration::from_secs(10);

/// Places, of which one has the subtree. Each move is a commit.
pub trait Subtree {
    /// Makes the places, and the subtree in the first one.
    fn load(&mut self, values: &[Value]) -> Result<(), Failure>;
    fn shift(&mut self, from: u32, to: u32) -> Result<(), Failure>;
    /// The value of a leaf in the subtree by its path, if the subtree is in this place.
    fn read(&mut self, place: u32, leaf: u32) -> Result<Option<Value>, Failure>;
    /// Where it was when it had been loaded: that is not forgotten. `None` of a system that does
    /// not keep what was.
    fn first_place(&mut self) -> Result<Option<u32>, Failure>;
}

/// The key in a step, from 0 on, to a leaf.
pub fn step(leaf: u32, depth: u32) -> u32 {
    leaf / 10u32.pow(DEPTH - 1 - depth) % 10
}

/// The median of the microseconds of a move, of which there are as many as tasks, or fewer if the
/// turn is over; then it comes home. `read` = of reading a leaf by its path where it is now.
pub fn run(options: &Options, store: &mut dyn Subtree) -> Result<Outcome, Failure> {
    let values: Vec<Value> = (0..LEAVES).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&values)?;
    let (mut random, mut times, mut reads) = (Rng(options.seed), Vec::new(), Vec::new());
    let (mut here, mut wrong, turn) = (0, 0, Instant::now());
    for _ in (0..options.tasks).take_while(|_| turn.elapsed() < TURN) {
        let to = (here + 1 + random.below(u64::from(PLACES) - 1) as u32) % PLACES;
        let begun = Instant::now();
        store.shift(here, to)?;
        times.push(1e6 * begun.elapsed().as_secs_f64());
        let leaf = random.below(LEAVES.into()) as u32;
        let begun = Instant::now();
        let found = store.read(to, leaf)?;
        reads.push(1e6 * begun.elapsed().as_secs_f64());
        wrong += u64::from(found != Some(value_of(leaf, 0)));
        wrong += u64::from(store.read(here, leaf)?.is_some());
        here = to;
    }
    if here != 0 {
        store.shift(here, 0)?;
    }
    let found = (0..LEAVES).map(|leaf| store.read(0, leaf)).collect::<Result<Vec<_>, _>>()?;
    wrong +=
        found.iter().zip(&values).filter(|(found, ought)| **found != Some(**ought)).count() as u64;
    wrong += u64::from(store.first_place()?.is_some_and(|place| place != 0));
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} leaves are not where they ought to be"),
    };
    let sum = checksum(found.into_iter().flatten());
    let (operations, seconds) = (times.len() as u64, turn.elapsed().as_secs_f64());
    let extra = vec![("read", median(reads)), ("checksum", sum.into())];
    Ok(Outcome { value: median(times), unit: "us", seconds, operations, extra, check })
}

/// A node as a row: its number, its parent's, its key there, and its value if it is a leaf.
pub type Row<'v> = (i64, i64, i64, Option<&'v Value>);

/// All nodes as rows: places are 1 to 10, with 0 as parent, the subtree's node is 100 and lies in
/// the first place, and all nodes below follow, level by level.
pub fn rows(values: &[Value]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> =
        (0..i64::from(PLACES)).map(|place| (place + 1, 0, place, None)).collect();
    rows.push((100, 1, 0, None));
    let (mut above, mut first) = (100, 101);
    for depth in 1..=DEPTH {
        let count = 10i64.pow(depth);
        let value = |at: i64| values.get(at as usize).filter(|_| depth == DEPTH);
        rows.extend((0..count).map(|at| (first + at, above + at / 10, at % 10, value(at))));
        (above, first) = (first, first + count);
    }
    rows
}
