//! Durable commits where nothing is kept of what was before.

use std::collections::HashMap;

use crate::run::{check_none, commit_all};
use crate::support::{Failure, Options, Outcome, Value, value_of};

/// A store of the values of numbered leaves, as they are.
pub trait Bare: Sync {
    /// Loads all leaves at once.
    fn load(&self, values: &[Value]) -> Result<(), Failure>;
    /// Puts a value, durably.
    fn put(&self, leaf: u32, value: &Value) -> Result<(), Failure>;
    /// The value of a leaf.
    fn get(&self, leaf: u32) -> Result<Value, Failure>;
}

/// What `commit` does, with no history. In the end each leaf must have what some client put there
/// last.
pub fn run(options: &Options, store: &dyn Bare) -> Result<Outcome, Failure> {
    let values: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&values)?;
    let committed = commit_all(options, |leaf, value| store.put(leaf, value))?;
    let last: Vec<HashMap<u32, u64>> =
        committed.edits.iter().map(|edits| edits.iter().copied().collect()).collect();
    let mut wrong = 0;
    for leaf in 0..options.leaves {
        let found = store.get(leaf)?;
        let mut stamps = last.iter().filter_map(|stamps| stamps.get(&leaf)).peekable();
        let is_it = match stamps.peek() {
            None => found == value_of(leaf, 0),
            Some(_) => stamps.any(|stamp| found == value_of(leaf, *stamp)),
        };
        wrong += u64::from(!is_it);
    }
    Ok(committed.outcome(check_none(wrong, "leaves are not what was put")))
}
