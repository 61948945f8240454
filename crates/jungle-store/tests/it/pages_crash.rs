//! Power is lost, or a call fails, while checkpoints are written: what is found is one of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jungle_store::Progress;
use jungle_store::disk::sim::{CallKind, Fate, Keep, SimDisk};
use jungle_store::pages::{Pages, PagesError};
use jungle_testkit::{Rng, for_each_seed};

use crate::pages::{Batch, State, batches, open, read, states, write};

const KEEPS: [Keep; 5] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random, Keep::Random];

const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Writes them all, with the pages opened anew after some, and counts those that were acknowledged.
fn perform(disk: &SimDisk, batches: &[Batch], done: &AtomicU64) -> Result<(), PagesError> {
    for part in batches.chunks(3) {
        let pages = open(disk.clone())?;
        for batch in part {
            done.store(write(&pages, batch)?, Ordering::SeqCst);
        }
    }
    Ok(())
}

/// One of the checkpoints, whole, and it goes on from there.
fn check(disk: &SimDisk, states: &[State], least: u64) -> u64 {
    let pages = open(disk.clone()).unwrap_or_else(|error| panic!("refused: {error}"));
    let number = pages.checkpoint().unwrap();
    assert!((least..=least + 1).contains(&number), "{number} after a crash, not {least}");
    assert!(read(&pages).unwrap() == states[number as usize], "checkpoint {number} is another");
    write(&pages, &vec![(jungle_store::pages::Table::State, 1, Some(vec![1; 5000]))]).unwrap();
    pages.check(&Progress::default()).unwrap();
    number
}

#[test]
fn power_loss_at_any_call_leaves_a_whole_checkpoint() {
    let points = Arc::new(AtomicU64::new(0));
    for_each_seed(4, |rng| {
        let batches = batches(rng, 5, 10);
        let states = Arc::new(states(&batches));
        let (disk, done) = (SimDisk::new(), Arc::new(AtomicU64::new(0)));
        let (counted, seen, mut fork) = (Arc::clone(&points), Arc::clone(&done), rng.fork());
        disk.watch(move |call, world| {
            if call.kind.changes() {
                for keep in &KEEPS[..if world.has_pending() { KEEPS.len() } else { 1 }] {
                    let found = world.crash(*keep, &mut |below| fork.below(below));
                    let least = seen.load(Ordering::SeqCst);
                    counted.fetch_add(1, Ordering::SeqCst);
                    if fork.chance(1, 20) {
                        counted
                            .fetch_add(twice(&found, &states, least, &mut fork), Ordering::SeqCst);
                    } else {
                        check(&found, &states, least);
                    }
                }
            }
            Fate::Go
        });
        perform(&disk, &batches, &done).unwrap();
        disk.unwatch();
    });
    let points = points.load(Ordering::SeqCst);
    assert!(points > 2_000, "{points}");
    println!("{points} crash points");
}

/// Power is lost again while what a crash left is opened and written to.
fn twice(found: &SimDisk, states: &[State], least: u64, rng: &mut Rng) -> u64 {
    let images = Arc::new(Mutex::new(Vec::new()));
    let (kept, mut fork) = (Arc::clone(&images), rng.fork());
    found.watch(move |call, world| {
        if call.kind.changes() && fork.chance(1, 3) {
            let keep = *fork.pick(&KEEPS);
            kept.lock().unwrap().push(world.crash(keep, &mut |below| fork.below(below)));
        }
        Fate::Go
    });
    let pages = open(found.clone()).unwrap();
    let number = pages.checkpoint().unwrap();
    assert!(read(&pages).unwrap() == states[number as usize]);
    drop(pages);
    found.unwatch();
    let images = std::mem::take(&mut *images.lock().unwrap());
    for image in &images {
        check(image, states, least);
    }
    images.len() as u64
}

fn fates(kind: CallKind, rng: &mut Rng) -> Vec<Fate> {
    let part = rng.below(5_000) as usize;
    match kind {
        CallKind::Read => vec![Fate::Fail(EIO), Fate::Fail(EINTR), Fate::Short(part % 40)],
        CallKind::Write => vec![
            Fate::Fail(EIO),
            Fate::Fail(EINTR),
            Fate::Short(part),
            Fate::PartThenFail(part, ENOSPC),
        ],
        CallKind::Sync | CallKind::SyncFolder => vec![Fate::Fail(EIO), Fate::Fail(ENOSPC)],
        _ => vec![Fate::Fail(EIO), Fate::Fail(ENOSPC)],
    }
}

/// The calls of a workload when nothing fails.
fn calls_of(batches: &[Batch]) -> Vec<CallKind> {
    let disk = SimDisk::new();
    let (done, calls) = disk.record(|| perform(&disk, batches, &AtomicU64::new(0)));
    done.unwrap();
    calls.into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn any_call_that_fails_is_told_and_leaves_a_whole_checkpoint() {
    let injected = AtomicU64::new(0);
    for_each_seed(2, |rng| {
        let batches = batches(rng, 4, 8);
        let states = states(&batches);
        for (at, kind) in calls_of(&batches).into_iter().enumerate() {
            for fate in fates(kind, rng) {
                injected.fetch_add(1, Ordering::Relaxed);
                let says = format!("{kind:?} call {at} with {fate:?}");
                fails_once(&batches, &states, (at as u64, fate), rng, &says);
            }
        }
    });
    println!("{} failing calls", injected.into_inner());
}

fn fails_once(
    batches: &[Batch],
    states: &[State],
    (at, fate): (u64, Fate),
    rng: &mut Rng,
    says: &str,
) {
    let (disk, done) = (SimDisk::new(), AtomicU64::new(0));
    let performed = disk.inject(at, fate, || perform(&disk, batches, &done));
    let is_harmless = matches!(fate, Fate::Short(_) | Fate::Fail(EINTR));
    assert!(performed.is_ok() || !is_harmless || says.starts_with("Sync"), "{says}: {performed:?}");
    let least = done.load(Ordering::SeqCst);
    let keep = *rng.pick(&KEEPS);
    let found = disk.world().crash(keep, &mut |below| rng.below(below));
    println!("{says}: {performed:?}, {least} were acknowledged; {keep:?}");
    let number = check(&found, states, least);
    assert!(number >= least, "{says}");
    // As it is, and what is then built upon lasts.
    check(&disk, states, least);
    let found = disk.world().crash(Keep::Nothing, &mut |_| 0);
    open(found).unwrap().check(&Progress::default()).unwrap();
}
