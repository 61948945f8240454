//! The pages' file is damaged: what is read is what was put, or an error, and nothing panics.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jungle_store::disk::sim::SimDisk;
use jungle_store::pages::{EnginePages, PageDamage, Pages, PagesError, Table};
use jungle_testkit::{Rng, for_each_seed};

use crate::pages::{State, batches, open, states, write};

/// What the engine reads and writes at once, at least.
const BLOCK: usize = 4096;

/// Where the checksums of the first blocks are.
const SUMS: usize = 8 * BLOCK;

/// Damages of one file.
const DAMAGES: u64 = 150;

const FILE: &str = "pages";

/// What came of the damages.
#[derive(Debug, Default)]
struct Seen {
    /// Opened, and everything is as it was.
    harmless: u64,
    /// Refused when opened.
    refused: u64,
    /// Opened, and at least one value is an error.
    told: u64,
    /// Opened, and an older checkpoint, which says so by its number.
    older: u64,
}

/// The file after each checkpoint.
fn history(rng: &mut Rng) -> (Vec<Vec<u8>>, Vec<State>) {
    let batches = batches(rng, 12, 20);
    let disk = SimDisk::new();
    let mut files = Vec::new();
    for batch in &batches {
        write(&open(disk.clone()).unwrap(), batch).unwrap();
        files.push(disk.files()[FILE].clone());
    }
    (files, states(&batches))
}

/// Damages a file in one place; tells how.
fn damage(file: &mut Vec<u8>, history: &[Vec<u8>], rng: &mut Rng) -> String {
    let blocks = file.len() / BLOCK;
    let (at, other) = (rng.index(blocks) * BLOCK, rng.index(blocks) * BLOCK);
    match rng.below(6) {
        0 | 1 => {
            // Most of a file is values; the engine's own blocks are at its beginning.
            let at = if rng.chance(1, 3) { rng.index(2 * BLOCK) } else { rng.index(file.len()) };
            file[at] ^= 1 << rng.below(8);
            format!("a flipped bit at {at}")
        }
        2 => {
            file[at..at + BLOCK].fill(0);
            format!("zeros at {at}")
        }
        3 => {
            let moved = file[at..at + BLOCK].to_vec();
            file.copy_within(other..other + BLOCK, at);
            file[other..other + BLOCK].copy_from_slice(&moved);
            format!("{at} and {other} swapped")
        }
        4 => {
            let old = rng.pick(history);
            // A leaf where a leaf is, so that it may pass for what is looked for.
            let is_leaf = |at: &usize| file[*at] == 1 && old.get(*at) == Some(&1);
            let leaves = (0..blocks).map(|block| block * BLOCK).filter(is_leaf);
            let changed = |at: &usize| file[*at..at + BLOCK] != old[*at..at + BLOCK];
            let leaves: Vec<usize> = leaves.filter(changed).collect();
            let at = if leaves.is_empty() { at } else { *rng.pick(&leaves) };
            let end = (at + rng.range(1..4) as usize * BLOCK).min(file.len()).min(old.len());
            if at < end {
                file[at..end].copy_from_slice(&old[at..end]);
            }
            format!("{at} as it was before")
        }
        _ => {
            file.truncate(if rng.chance(1, 2) { at } else { at + rng.index(BLOCK) });
            format!("cut at {}", file.len())
        }
    }
}

/// Reads all there ought to be; tells whether all of it is there.
fn is_all_there(pages: &EnginePages, states: &[State], what: &str) -> bool {
    let Ok(number) = pages.checkpoint() else {
        return false;
    };
    let state = &states[number as usize];
    let mut all = true;
    for table in Table::ALL {
        for key in 0..1600 {
            match pages.get(table, key) {
                Ok(value) => {
                    let ought = state.get(&(table, key));
                    assert!(value.as_ref() == ought, "SILENT: {table:?} {key} after {what}");
                }
                Err(_) => all = false,
            }
        }
    }
    all
}

fn try_it(file: Vec<u8>, states: &[State], what: &str, seen: &mut Seen) {
    let disk = SimDisk::with_files(&BTreeMap::from([(FILE.to_owned(), file)]));
    let Ok(pages) = open(disk.clone()) else {
        seen.refused += 1;
        return;
    };
    let newest = states.len() as u64 - 1;
    match (is_all_there(&pages, states, what), pages.checkpoint().ok() == Some(newest)) {
        (true, true) => seen.harmless += 1,
        (true, false) => seen.older += 1,
        (false, _) => seen.told += 1,
    }
    // A file that nobody knows to be damaged is written to.
    let Ok(number) = pages.checkpoint() else {
        return;
    };
    let value = vec![7; 9_000];
    let batch = vec![(Table::Slabs, 2, Some(value.clone())), (Table::Image, 3, None)];
    let mut after = states[..=number as usize].to_vec();
    let mut state = after[number as usize].clone();
    state.insert((Table::Slabs, 2), value);
    state.remove(&(Table::Image, 3));
    after.push(state);
    if write(&pages, &batch).is_ok() {
        is_all_there(&pages, &after, what);
    }
    drop(pages);
    if let Ok(pages) = open(disk) {
        is_all_there(&pages, &after, what);
    }
}

#[test]
fn damage_is_told_and_never_an_answer() {
    let seen = std::sync::Mutex::new(Seen::default());
    for_each_seed(4, |rng| {
        let (history, states) = history(rng);
        let mut mine = Seen::default();
        for _ in 0..DAMAGES {
            let mut file = history.last().unwrap().clone();
            let what = damage(&mut file, &history, rng);
            let run = || try_it(file, &states, &what, &mut mine);
            let done = catch_unwind(AssertUnwindSafe(run));
            assert!(done.is_ok(), "panicked after {what}");
        }
        let mut seen = seen.lock().unwrap();
        seen.harmless += mine.harmless;
        seen.refused += mine.refused;
        seen.told += mine.told;
        seen.older += mine.older;
    });
    let seen = seen.into_inner().unwrap();
    println!("{seen:?}");
    // With its own assertions the engine reads all of the file as it opens it.
    assert!(seen.told > 60 || cfg!(debug_assertions), "{seen:?}");
    assert!(seen.refused + seen.told > 200 && seen.harmless > 60, "{seen:?}");
}

/// All values fit into a leaf or two, which come back to where they were before.
#[test]
fn any_block_of_an_older_checkpoint_is_told() {
    let value = |number: u64| (0..100).map(|i| (number * 31 + i) as u8).collect::<Vec<u8>>();
    let batch = |number: u64| {
        let put = |key| (Table::State, key, Some(value(number + key)));
        (0..20).map(put).collect::<Vec<_>>()
    };
    let disk = SimDisk::new();
    let pages = open(disk.clone()).unwrap();
    let mut history = Vec::new();
    for number in 1..=8 {
        write(&pages, &batch(number)).unwrap();
        history.push(disk.files()[FILE].clone());
    }
    let newest = history.pop().unwrap();
    let mut stale = 0;
    for (old, with_sums) in history.iter().flat_map(|old| [(old, false), (old, true)]) {
        for at in (0..newest.len().min(old.len())).step_by(BLOCK) {
            if at == SUMS || old[at..at + BLOCK] == newest[at..at + BLOCK] {
                continue;
            }
            let mut file = newest.clone();
            file[at..at + BLOCK].copy_from_slice(&old[at..at + BLOCK]);
            if with_sums {
                // Its checksum as it was, too: what the engine gives is old then.
                let sum = SUMS + (at / BLOCK - usize::from(at > SUMS)) * 4;
                file[sum..sum + 4].copy_from_slice(&old[sum..sum + 4]);
            }
            let disk = SimDisk::with_files(&BTreeMap::from([(FILE.to_owned(), file)]));
            let Ok(pages) = open(disk) else {
                continue;
            };
            let number = pages.checkpoint().unwrap();
            for key in 0..20 {
                match pages.get(Table::State, key) {
                    Ok(found) => assert_eq!(found.unwrap(), value(number + key), "SILENT: {at}"),
                    Err(PagesError::Damaged { what: PageDamage::Stale { .. }, .. }) => stale += 1,
                    Err(_) => {}
                }
            }
        }
    }
    assert!(stale > 20, "{stale}");
}
