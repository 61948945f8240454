//! What a history took is given back: all revisions but the newest are forgotten.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Failure, Folder, Options, Outcome, Rng, Value, checksum, value_of};
use crate::versions::{Open, Place};

/// Commits of each task, and revisions that are kept in the end; there are twice as many at least.
const TASK_EDITS: u64 = 10;
const KEPT: u64 = 100;

/// How often it is looked how large the folder is.
const LOOK: Duration = Duration::from_millis(5);

/// Milliseconds until all but the newest revisions are forgotten, their place is given back to the
/// disk, and the folder is closed; `before` and `after` = bytes that the disk has given for it,
/// `peak` = the most of them meanwhile, over those before.
pub fn run(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let folder = Folder::new(&options.system)?;
    let store = open(&options.system, Place::Unsynced(&folder.0))?;
    let mut held: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&held)?;
    let (mut random, edits) = (Rng(options.seed), (options.tasks * TASK_EDITS).max(2 * KEPT));
    let mut changed = Vec::new();
    for stamp in 1..=edits {
        let leaf = random.below(options.leaves.into()) as u32;
        held[leaf as usize] = value_of(leaf, stamp);
        store.commit(leaf, &held[leaf as usize])?;
        changed.push(leaf);
    }
    store.close()?;
    let before = folder.allocated()?;
    let mut store = open(&options.system, Place::Folder(&folder.0))?;
    let (done, begun) = (AtomicBool::new(false), Instant::now());
    let (seconds, most) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut most = before;
            while !done.load(Ordering::Relaxed) {
                // A file may be gone when it is looked at.
                most = most.max(folder.allocated().unwrap_or(0));
                std::thread::sleep(LOOK);
            }
            most
        });
        // Revision 1 is what was loaded.
        let kept = store.keep(edits + 2 - KEPT).and_then(|()| store.close());
        let seconds = begun.elapsed().as_secs_f64();
        done.store(true, Ordering::Relaxed);
        let most = looking.join().expect("a panic aborts");
        kept.map(|()| (seconds, most))
    })?;
    let after = folder.allocated()?;
    let store = open(&options.system, Place::Folder(&folder.0))?;
    let mut wrong = store.newest()?.abs_diff(edits + 1);
    for stamp in edits + 1 - KEPT..=edits {
        let leaf = changed[stamp as usize - 1];
        wrong += u64::from(store.read(stamp + 1, leaf)? != value_of(leaf, stamp));
    }
    let values = store.values(options.leaves)?;
    wrong += values.iter().zip(&held).filter(|(found, ought)| found != ought).count() as u64;
    let check = match wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} values are not as they ought to be"),
    };
    let extra = vec![
        ("before", before as f64),
        ("after", after as f64),
        ("peak", most as f64 / before as f64),
        ("checksum", checksum(values.into_iter()).into()),
    ];
    Ok(Outcome { value: 1e3 * seconds, unit: "ms", seconds, operations: edits, extra, check })
}
