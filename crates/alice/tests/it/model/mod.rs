//! Random operations on several keys, beside a sequential model: equal answers, equal runs of the
//! code segments, equal queues after every step.

mod real;
mod sequential;

use std::num::NonZeroUsize;

use alice::{Bound, WhenFull};
use jungle_testkit::{Rng, for_each_seed};

use real::Real;
use sequential::Model;

/// An input: the number of a key, and how it is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    Take(usize),
    Peek(usize),
    Newer(usize, u64),
    Many(usize, usize),
}

/// A code segment: it adds up its inputs, and puts the sum, unless it fails.
#[derive(Clone, Debug)]
pub struct Plan {
    pub asks: Vec<Ask>,
    pub output: Option<usize>,
    pub priority: u8,
    pub repeats: bool,
}

#[derive(Clone, Debug)]
pub enum Step {
    Put(usize, u32),
    Update(usize, u32),
    /// From one key to another.
    Flip(usize, usize),
    Ask(Vec<Ask>),
    Declare(Plan),
    /// The code segment of this number.
    Cancel(usize),
    Bound(usize, Option<Bound>),
}

/// What a step gives: an index, or the data segments with their indexes; none if refused.
pub type Answer = Option<Vec<(u64, u32)>>;

/// What happened besides: which code segment ran with what, or failed with what.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Ran(usize, Vec<(u64, u32)>),
    Failed(usize, Vec<(u64, u32)>),
}

/// Whether a code segment with this sum fails.
pub fn fails(sum: u32) -> bool {
    sum % 7 == 3
}

impl Ask {
    pub fn key(self) -> usize {
        match self {
            Ask::Take(key) | Ask::Peek(key) | Ask::Newer(key, _) | Ask::Many(key, _) => key,
        }
    }

    /// Whether it gives something else the next time.
    pub fn consumes(self) -> bool {
        !matches!(self, Ask::Peek(_))
    }
}

#[test]
fn one_key_does_what_the_model_does() {
    for_each_seed(400, |rng| run(rng, 1, 60));
}

#[test]
fn several_keys_do_what_the_model_does() {
    for_each_seed(1500, |rng| run(rng, 5, 80));
}

fn run(rng: &mut Rng, keys: usize, steps: usize) {
    let (mut model, mut real) = (Model::new(keys), Real::new(keys));
    for number in 0..steps {
        let step = step(rng, keys, model.code_count());
        let expected = (model.step(&step), std::mem::take(&mut model.events), model.queues());
        let got = (real.step(&step), real.events(), real.queues());
        assert_eq!(got, expected, "step {number}: {step:?}");
    }
}

fn step(rng: &mut Rng, keys: usize, codes: usize) -> Step {
    let (key, data) = (rng.index(keys), rng.below(100) as u32);
    match rng.below(20) {
        0..=6 => Step::Put(key, data),
        7 => Step::Update(key, data),
        8 => Step::Flip(key, rng.index(keys)),
        9..=13 => Step::Ask(asks(rng, keys)),
        14..=16 => Step::Declare(plan(rng, keys)),
        17 | 18 => Step::Cancel(rng.index(codes + 1)),
        _ => Step::Bound(key, bound(rng)),
    }
}

fn bound(rng: &mut Rng) -> Option<Bound> {
    let segments_max = NonZeroUsize::new(rng.range(1..4) as usize)?;
    let when_full = *rng.pick(&[WhenFull::Refuse, WhenFull::DropOldest]);
    rng.chance(2, 3).then_some(Bound { segments_max, when_full })
}

fn asks(rng: &mut Rng, keys: usize) -> Vec<Ask> {
    let mut numbers: Vec<usize> = (0..keys).collect();
    rng.shuffle(&mut numbers);
    let count = 1 + rng.index(keys.min(4));
    if count == 1 && rng.chance(1, 4) {
        return vec![Ask::Many(numbers[0], 1 + rng.index(3))];
    }
    let ask = |key| match rng.below(6) {
        0..=3 => Ask::Take(key),
        4 => Ask::Peek(key),
        _ => Ask::Newer(key, rng.below(8)),
    };
    numbers.into_iter().take(count).map(ask).collect()
}

/// Its output lies behind its inputs, so that nothing goes round for ever.
fn plan(rng: &mut Rng, keys: usize) -> Plan {
    let asks = asks(rng, keys);
    let last = asks.iter().map(|ask| ask.key()).max().unwrap_or(0);
    let output = (last + 1 < keys).then(|| rng.range(last as u64 + 1..keys as u64) as usize);
    let repeats = rng.chance(1, 2) && asks.iter().any(|ask| ask.consumes());
    Plan { asks, output, priority: rng.below(3) as u8, repeats }
}
