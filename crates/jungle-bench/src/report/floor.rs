//! How often the machine itself makes something last, told beside each bar of the Store.

use crate::lab::Raw;
use crate::results::{Row, find};
use crate::stats::spread;
use crate::systems::System;
use crate::table::quantity;

/// What measures it, or will.
const EXPERIMENTS: [&str; 2] = ["commit", "store-peers"];

/// The floor of a run of one of these experiments, or else the newest that was measured on such a
/// processor; `None` where there is none, or none of them was run.
pub fn beside(experiments: &[&str], raws: &[Raw]) -> Option<String> {
    let own: Vec<&Raw> =
        raws.iter().filter(|raw| experiments.contains(&&*raw.experiment)).collect();
    let is_alike =
        |raw: &&Raw| own.iter().any(|own| own.machine.processor == raw.machine.processor);
    let others = raws.iter().filter(is_alike).filter(|raw| floor(raw).is_some());
    let newest = others.max_by(|a, b| a.conditions.taken.cmp(&b.conditions.taken));
    let raw = own.iter().copied().find(|raw| floor(raw).is_some()).or(newest)?;
    let row = floor(raw)?;
    let (low, high) = spread(&row.samples);
    let [middle, low, high] = [row.value, low, high].map(|value| quantity(value, row.unit));
    let (experiment, taken) = (&raw.experiment, &raw.conditions.taken);
    Some(format!("floor of {experiment} at {taken}: {middle} ({low} to {high})"))
}

/// One thread that writes 4 KiB and syncs them, over and over.
fn floor(raw: &Raw) -> Option<&Row> {
    let name = EXPERIMENTS.into_iter().find(|name| *name == raw.experiment)?;
    find(&raw.rows, (name, "floor"), System::Machine, 1)
}
