//! 1,000 writers on one tree, through the database: each works a while, then changes something.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_db::{Jungle, TreeHandle};
use jungle_tree::{EditError, Key};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::{Random, on_workers, timed};

/// Steps of the closure's own work, or the first of [`steps`]: counted, not timed, so that a thread
/// that has to wait for a core does not seem to have worked meanwhile. The less they take, the more
/// of the time is the database's: not much more than [`WORK_US_MIN`], but enough of it on a
/// processor that is a third quicker than those of `docs/measurements/core.md`.
const STEPS: u64 = 45_000;

/// The bar is of closures whose own work takes so many microseconds, or more.
const WORK_US_MIN: f64 = 100.0;

/// How often a number of steps is tried before it is said that it takes too little: the quickest
/// time is that of a processor that does nothing else.
const TRIES: u64 = 20;

/// How many writers there are, whatever the number of tasks.
const WRITERS: u64 = 1000;

/// So many steps take as long on this machine as the bar speaks of: [`STEPS`], or twice as many,
/// and so on. Whoever starts all the runs finds it once and tells each of them, so that one thread
/// and two do the same.
pub fn steps() -> u64 {
    static STEPS_HERE: OnceLock<u64> = OnceLock::new();
    let work = |steps| {
        let times = (0..TRIES).map(|seed| 1e6 * timed(|| spin(seed, steps)).0);
        times.fold(f64::INFINITY, f64::min)
    };
    *STEPS_HERE.get_or_init(|| enough(work))
}

/// The first number of steps that takes so many microseconds.
fn enough(work: impl Fn(u64) -> f64) -> u64 {
    let mut steps = STEPS;
    while work(steps) < WORK_US_MIN {
        steps *= 2;
    }
    steps
}

/// Commits a second; `runs` = runs of the closure for each commit; `work` = microseconds of its
/// own work in these very runs, the median. Where that is less than the bar speaks of, `disjoint`
/// is no result.
pub fn sample(case: &str, options: Options, told: Option<u64>) -> Result<Option<Sample>, Failure> {
    let steps = told.unwrap_or_else(|| if options.tiny { STEPS } else { steps() });
    if case == "work-alone" {
        return Ok(Some(work_alone(options, steps)));
    }
    let place: fn(u64) -> Key = match case {
        "disjoint" => Key::from,
        "overlapping" => |_| Key::from(0),
        _ => return Ok(None),
    };
    let writers = if options.tiny { 20 } else { WRITERS };
    let tree = Jungle::new()?.create_tree("hot")?;
    tree.update(|tx| (0..writers).try_for_each(|_| tx.add_child(&[]).map(drop)))?;
    let (next, runs) = (AtomicU64::new(0), AtomicU64::new(0));
    let (seconds, results) = on_workers(options.threads, |_| -> Result<Vec<f64>, String> {
        let mut worked = Vec::new();
        loop {
            let writer = next.fetch_add(1, Ordering::SeqCst);
            if writer >= writers {
                return Ok(worked);
            }
            worked.push(write(&tree, &place(writer), (writer, steps), &runs)?);
        }
    });
    let worked = results.into_iter().collect::<Result<Vec<_>, String>>()?.concat();
    let work = 1e6 * median(&worked);
    let counted: i64 = {
        let snapshot = tree.snapshot();
        let count = |key| snapshot.root().child(&key)?.attribute("n")?.as_int();
        (0..writers).map(|position| count(Key::from(position)).unwrap_or(0)).sum()
    };
    let runs = runs.into_inner() as f64 / writers as f64;
    let sample = Sample::rate(seconds, writers).with("runs", runs).with("work", work);
    let wrong = (writers as i64).abs_diff(counted);
    let sample = sample.check_none(wrong, "writes are lost or doubled");
    let is_judged = case == "disjoint" && !options.tiny;
    Ok(Some(sample.check(too_little(work, steps).filter(|_| is_judged))))
}

/// What is wrong with closures whose own work takes so many microseconds.
fn too_little(work: f64, steps: u64) -> Option<String> {
    (work < WORK_US_MIN).then(|| {
        format!(
            "the closures' own work took {work:.1} µs each, of {WORK_US_MIN} or more: this \
             processor wants more than {steps} steps"
        )
    })
}

/// The closures' own work and nothing else: what 2 threads can gain at all on this machine now.
fn work_alone(options: Options, steps: u64) -> Sample {
    let writers = if options.tiny { 20 } else { WRITERS };
    let next = AtomicU64::new(0);
    let (seconds, _) = on_workers(options.threads, |_| {
        while next.fetch_add(1, Ordering::SeqCst) < writers {
            spin(options.seed, steps);
        }
    });
    Sample::rate(seconds, writers)
}

/// Gives the seconds that the closure of a writer, with so many steps, worked when it ran last.
fn write(
    tree: &TreeHandle,
    place: &Key,
    (writer, steps): (u64, u64),
    runs: &AtomicU64,
) -> Result<f64, String> {
    let (path, mut worked) = ([place.clone()], 0.0);
    let committed = tree.update(|tx| {
        runs.fetch_add(1, Ordering::SeqCst);
        worked = timed(|| spin(writer, steps)).0;
        let count = tx.attribute(&path, "n").ok().flatten().and_then(|n| n.as_int()).unwrap_or(0);
        tx.put_attribute(&path, "n", count + 1)
    });
    let committed = committed.map(|_| worked);
    committed.map_err(|error: jungle_db::UpdateError<EditError>| error.to_string())
}

fn spin(seed: u64, steps: u64) {
    let mut random = Random(seed);
    // Each step waits for the one before it.
    black_box((0..steps).fold(0, |last, _| {
        random.0 ^= last;
        random.bits()
    }));
}

#[cfg(test)]
mod tests {
    use super::{STEPS, enough, too_little};

    #[test]
    fn closures_that_work_less_than_the_bar_speaks_of_are_told() {
        assert_eq!(too_little(100.0, STEPS), None);
        let told = too_little(99.9, STEPS).unwrap();
        assert!(told.starts_with("the closures' own work took 99.9 µs each"), "{told}");
    }

    #[test]
    fn steps_are_doubled_until_they_take_long_enough() {
        let on = |steps_a_us: u64| enough(|steps| (steps / steps_a_us) as f64);
        assert_eq!([on(450), on(451), on(1000)], [STEPS, 2 * STEPS, 4 * STEPS]);
    }
}
