//! 1,000 writers on one tree, through the database: each works a while, then changes something.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_db::{Jungle, TreeHandle};
use jungle_tree::{EditError, Key};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{Random, on_workers, timed};

/// Steps of the closure's own work: counted, not timed, so that a thread that has to wait for a
/// core does not seem to have worked meanwhile; and always as many, so that one thread and two do
/// the same. The bar is of 100 µs or more, which is about what they take (`disjoint-work`): the
/// less it is, the more of the time is the database's.
const STEPS: u64 = 35_000;

/// How many writers there are, whatever the number of tasks.
const WRITERS: u64 = 1000;

/// Commits a second; `runs` = runs of the closure for each commit; `work` = microseconds of its
/// own work.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    if case == "work-alone" {
        return Ok(Some(work_alone(options)));
    }
    let place: fn(u64) -> Key = match case {
        "disjoint" => Key::from,
        "overlapping" => |_| Key::from(0),
        _ => return Ok(None),
    };
    let writers = if options.tiny { 20 } else { WRITERS };
    let work = 1e6 * timed(|| (0..10).for_each(spin)).0 / 10.0;
    let tree = Jungle::new()?.create_tree("hot")?;
    tree.update(|tx| (0..writers).try_for_each(|_| tx.add_child(&[]).map(drop)))?;
    let (next, runs) = (AtomicU64::new(0), AtomicU64::new(0));
    let (seconds, results) = on_workers(options.threads, |_| -> Result<(), String> {
        loop {
            let writer = next.fetch_add(1, Ordering::SeqCst);
            if writer >= writers {
                return Ok(());
            }
            write(&tree, &place(writer), writer, &runs)?;
        }
    });
    results.into_iter().collect::<Result<(), String>>()?;
    let counted: i64 = {
        let snapshot = tree.snapshot();
        let count = |key| snapshot.root().child(&key)?.attribute("n")?.as_int();
        (0..writers).map(|position| count(Key::from(position)).unwrap_or(0)).sum()
    };
    let runs = runs.into_inner() as f64 / writers as f64;
    let sample = Sample::rate(seconds, writers).with("runs", runs).with("work", work);
    Ok(Some(sample.check_none((writers as i64).abs_diff(counted), "writes are lost or doubled")))
}

/// The closures' own work and nothing else: what 2 threads can gain at all on this machine now.
fn work_alone(options: Options) -> Sample {
    let writers = if options.tiny { 20 } else { WRITERS };
    let next = AtomicU64::new(0);
    let (seconds, _) = on_workers(options.threads, |_| {
        while next.fetch_add(1, Ordering::SeqCst) < writers {
            spin(options.seed);
        }
    });
    Sample::rate(seconds, writers)
}

fn write(tree: &TreeHandle, place: &Key, writer: u64, runs: &AtomicU64) -> Result<(), String> {
    let path = [place.clone()];
    let committed = tree.update(|tx| {
        runs.fetch_add(1, Ordering::SeqCst);
        spin(writer);
        let count = tx.attribute(&path, "n").ok().flatten().and_then(|n| n.as_int()).unwrap_or(0);
        tx.put_attribute(&path, "n", count + 1)
    });
    committed.map(drop).map_err(|error: jungle_db::UpdateError<EditError>| error.to_string())
}

fn spin(seed: u64) {
    let mut random = Random(seed);
    // Each step waits for the one before it.
    black_box((0..STEPS).fold(0, |last, _| {
        random.0 ^= last;
        random.bits()
    }));
}
