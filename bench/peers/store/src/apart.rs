//! Two branches that are edited apart and merged: what both do, what must come out, and how long
//! it takes.

use std::time::Instant;

use crate::support::{Failure, Options, Outcome, Rng, Value, checksum, median, value_of};

/// How many merges there are, and how many values each branch has committed before each.
const MERGES: u64 = 3;
const EDITS: u64 = 1_000;

/// Every so many-th edit is of a leaf that the other branch edits as well, where they overlap.
const OVERLAP_EVERY: u64 = 10;

/// Where the syncs of merges are counted: both branches commit so few values so many times, and are
/// merged as often as there are tasks, so that all but merges is the same however many these are.
pub const COUNTED: &str = "merge-disk-syncs";
const COUNTED_TURNS: u64 = 60;
const COUNTED_EDITS: u64 = 2;

/// A leaf, and its value from then on.
pub type Edit = (u32, Value);

/// Two branches: what is merged into, and what is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Main,
    Side,
}

/// What can be edited on two branches.
pub trait Apart {
    /// Loads all leaves at once, on the main branch.
    fn load(&mut self, values: &[Value]) -> Result<(), Failure>;
    /// Makes the other branch, where the main one is now; the one before is not used any more.
    fn part(&mut self) -> Result<(), Failure>;
    /// Commits these values on a branch, each for itself.
    fn commit(&mut self, side: Side, edits: &[Edit]) -> Result<(), Failure>;
    /// Merges the other branch into the main one and commits; where both have changed a leaf, the
    /// main one prevails. Gives the leaves of which it says so, or `None` if it says nothing.
    fn merge(&mut self) -> Result<Option<Vec<u32>>, Failure>;
    /// The values of all leaves on the main branch.
    fn values(&mut self, leaves: u32) -> Result<Vec<Value>, Failure>;
}

/// What both branches do before a merge.
struct Turn {
    main: Vec<Edit>,
    side: Vec<Edit>,
    /// The leaves that both edit, in order.
    both: Vec<u32>,
}

impl Turn {
    /// No leaf twice on a branch. A leaf that both edit has its turn at the same time on either, so
    /// that who decides by clocks decides by names, of which the main branch has the greater one.
    fn drawn(turn: u64, options: &Options, edits: u64) -> Turn {
        let is_overlapping = options.case.starts_with("merge-10");
        let edits = edits.min(u64::from(options.leaves) / 10);
        let mut random = Rng(options.seed + turn);
        let mut drawn = vec![false; options.leaves as usize];
        let mut leaf = || loop {
            let leaf = random.below(options.leaves.into()) as u32;
            if !std::mem::replace(&mut drawn[leaf as usize], true) {
                return leaf;
            }
        };
        let mut all = Turn { main: Vec::new(), side: Vec::new(), both: Vec::new() };
        for edit in 0..edits {
            let stamp = 2 * (turn * edits + edit) + 1;
            let main = leaf();
            let is_both = is_overlapping && edit % OVERLAP_EVERY == 0;
            let side = if is_both { main } else { leaf() };
            all.main.push((main, value_of(main, stamp)));
            all.side.push((side, value_of(side, stamp + 1)));
            all.both.extend(is_both.then_some(main));
        }
        all.both.sort_unstable();
        all
    }
}

/// The median of the microseconds of a merge, until the result is committed; `conflicts` = leaves
/// that both had changed and that it told of. The case is `merge-0` or `merge-10`, with `-disk`
/// where that is said: how many of a hundred edits of a branch are of leaves of both. Or it is
/// [`COUNTED`].
pub fn run(options: &Options, store: &mut dyn Apart) -> Result<Outcome, Failure> {
    let mut held: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&held)?;
    let (mut times, mut told, mut wrong) = (Vec::new(), 0, 0);
    let (turns, edits, merges) = match options.case.as_str() {
        COUNTED => (COUNTED_TURNS, COUNTED_EDITS, options.tasks.min(COUNTED_TURNS)),
        _ => (MERGES, EDITS, MERGES),
    };
    for number in 0..turns {
        let turn = Turn::drawn(number, options, edits);
        store.part()?;
        store.commit(Side::Main, &turn.main)?;
        store.commit(Side::Side, &turn.side)?;
        if number >= merges {
            turn.main.iter().for_each(|(leaf, value)| held[*leaf as usize] = *value);
            continue;
        }
        let begun = Instant::now();
        let found = store.merge()?;
        times.push(1e6 * begun.elapsed().as_secs_f64());
        if let Some(mut found) = found {
            found.sort_unstable();
            told += found.len();
            wrong += u64::from(found != turn.both);
        }
        for (leaf, value) in turn.side.iter().chain(&turn.main) {
            held[*leaf as usize] = *value;
        }
    }
    let values = store.values(options.leaves)?;
    wrong += values.len().abs_diff(held.len()) as u64;
    wrong += values.iter().zip(&held).filter(|(found, ought)| found != ought).count() as u64;
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} leaves or lists of conflicts are not as they ought to be"),
    };
    let sum = checksum(values.into_iter());
    let operations = times.len() as u64;
    let extra = vec![("conflicts", told as f64 / operations as f64), ("checksum", sum.into())];
    let value = median(times);
    Ok(Outcome { value, unit: "us", seconds: 0.0, operations, extra, check })
}
