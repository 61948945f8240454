//! What is held against each other takes turns in one process; each measurement is the median of
//! many turns.

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;

/// So many turns of each measurement.
pub(super) fn turns(options: Options) -> usize {
    match (options.tiny, options.quick) {
        (true, _) => 1,
        (_, true) => 10,
        _ => 40,
    }
}

/// What is measured in turns: a name, and what gives seconds.
pub(super) type Turn<'t> = (&'static str, Box<dyn FnMut() -> Result<f64, Failure> + 't>);

/// Measures all in turns, once without counting; the median of each, times `unit`.
pub(super) fn in_turns(
    count: usize,
    unit: f64,
    mut all: Vec<Turn<'_>>,
) -> Result<Vec<(&'static str, f64)>, Failure> {
    let mut samples = vec![Vec::new(); all.len()];
    for turn in 0..=count {
        for ((_, measure), samples) in all.iter_mut().zip(&mut samples) {
            let seconds = measure()?;
            if turn > 0 {
                samples.push(unit * seconds);
            }
        }
    }
    Ok(all.iter().zip(samples).map(|((name, _), samples)| (*name, median(&samples))).collect())
}

/// The numbers by their names; the first is also the value.
pub(super) fn named(unit: &str, numbers: &[(&'static str, f64)]) -> Sample {
    let first = numbers.first().map_or(0.0, |(_, number)| *number);
    numbers
        .iter()
        .fold(Sample::value(first, unit), |sample, (name, value)| sample.with(name, *value))
}

pub(super) fn number(numbers: &[(&'static str, f64)], name: &str) -> f64 {
    numbers.iter().find(|(other, _)| *other == name).map_or(f64::NAN, |(_, number)| *number)
}
