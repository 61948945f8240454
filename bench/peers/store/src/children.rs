//! One node of many ordered children: what is done to it, what must come out, and how long it
//! takes.

use std::time::{Duration, Instant};

use crate::support::{Failure, Options, Outcome, Rng, checksum, median};

/// How often each is done, how many children a page has, and when a slow reader's turn is over.
const OPERATIONS: u64 = 1_000;
pub const PAGE: usize = 50;
const TURN: Duration = Duration::from_secs(1);

/// Where a child is put: each system looks at what it goes by.
pub struct Place {
    /// So many are in front of it then; where a child is moved, without itself.
    pub index: usize,
    /// The one right in front of it, if it is not the first.
    pub after: Option<u32>,
    /// The one right behind it, if it is not the last.
    pub before: Option<u32>,
}

/// Ordered children of one node, which have numbers. Each call that changes something commits.
pub trait Children {
    /// Makes so many at once, 0 first.
    fn load(&mut self, count: u32) -> Result<(), Failure>;
    fn insert(&mut self, child: u32, place: &Place) -> Result<(), Failure>;
    /// Moves a child that has so many in front of it.
    fn shift(&mut self, child: u32, from: usize, place: &Place) -> Result<(), Failure>;
    /// A page that begins with this child, which has so many in front of it.
    fn page(&mut self, first: u32, index: usize) -> Result<Vec<u32>, Failure>;
    /// The same for whoever only knows how many are in front of it.
    fn page_at(&mut self, index: usize) -> Result<Vec<u32>, Failure>;
    /// All of them.
    fn all(&mut self) -> Result<Vec<u32>, Failure>;
    /// How many there were when they had been loaded: that is not forgotten.
    fn loaded(&mut self) -> Result<u64, Failure>;
}

/// Medians of the microseconds of each, in the case `children-COUNT`: to put a child in front of
/// all (`front`), in the `middle` of them, at the `end`, to `move` one from any place to any, to
/// read a page that begins with a child that is known (`page`) or after so many (`page-at`).
pub fn run(options: &Options, store: &mut dyn Children) -> Result<Outcome, Failure> {
    let count = options.case.strip_prefix("children-").ok_or("it is no such case")?;
    let count = count.parse::<u32>()? / if options.leaves < 100_000 { 100 } else { 1 };
    store.load(count)?;
    let mut list = List { store, held: (0..count).collect(), random: Rng(options.seed), wrong: 0 };
    let front = list.insert(|_| 0)?;
    let middle = list.insert(|count| count / 2)?;
    let end = list.insert(|count| count)?;
    let shift = list.shift()?;
    let page = list.pages(|store, first, index| store.page(first, index))?;
    let page_at = list.pages(|store, _, index| store.page_at(index))?;
    let List { store, held, mut wrong, .. } = list;
    let all = store.all()?;
    wrong += u64::from(all != held) + u64::from(store.loaded()? != count.into());
    let sum = checksum(all.into_iter().map(u32::to_le_bytes));
    let extra = vec![
        ("front", front),
        ("end", end),
        ("move", shift),
        ("page", page),
        ("page-at", page_at),
        ("checksum", sum.into()),
    ];
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} pages or lists are not as they ought to be"),
    };
    let operations = 4 * OPERATIONS;
    Ok(Outcome { value: middle, unit: "us", seconds: 0.0, operations, extra, check })
}

/// The children, and what they ought to be.
struct List<'s> {
    store: &'s mut dyn Children,
    held: Vec<u32>,
    random: Rng,
    wrong: u64,
}

impl List<'_> {
    fn place(&self, index: usize) -> Place {
        let before = self.held.get(index).copied();
        let after = index.checked_sub(1).and_then(|at| self.held.get(at)).copied();
        Place { index, after, before }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit as u64) as usize
    }

    /// New ones, each where `at` says of how many there are.
    fn insert(&mut self, at: fn(usize) -> usize) -> Result<f64, Failure> {
        let mut times = Vec::new();
        for _ in 0..OPERATIONS {
            let (child, index) = (self.held.len() as u32, at(self.held.len()));
            let place = self.place(index);
            let begun = Instant::now();
            self.store.insert(child, &place)?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.held.insert(index, child);
        }
        Ok(median(times))
    }

    fn shift(&mut self) -> Result<f64, Failure> {
        let mut times = Vec::new();
        for _ in 0..OPERATIONS {
            let (from, to) = (self.below(self.held.len()), self.below(self.held.len()));
            let child = self.held.remove(from);
            let place = self.place(to);
            let begun = Instant::now();
            self.store.shift(child, from, &place)?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.held.insert(to, child);
        }
        Ok(median(times))
    }

    fn pages(
        &mut self,
        page: fn(&mut dyn Children, u32, usize) -> Result<Vec<u32>, Failure>,
    ) -> Result<f64, Failure> {
        let (mut times, turn) = (Vec::new(), Instant::now());
        for _ in (0..OPERATIONS).take_while(|_| turn.elapsed() < TURN) {
            let index = self.below(self.held.len() - PAGE);
            let first = self.held[index];
            let begun = Instant::now();
            let found = page(self.store, first, index)?;
            times.push(1e6 * begun.elapsed().as_secs_f64());
            self.wrong += u64::from(found != self.held[index..index + PAGE]);
        }
        Ok(median(times))
    }
}
