//! An erasure, or an adoption, was ended while what it made took the place of what was there; then
//! power is lost while it is gone on with, or behind that. What was seen of the first time may not
//! have lasted.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::{Durability, Jungle};
use jungle_store::disk::sim::{CallKind, Fate, Keep, SimDisk};
use jungle_testkit::Rng;

use crate::secrets::{as_it_is, options, query, secrets, without};

/// What takes the place of what is there.
type Make = fn(&SimDisk) -> Result<(), String>;

fn erase(disk: &SimDisk) -> Result<(), String> {
    let erased = options().erase_on(Arc::new(disk.clone()), &query(), |_, _| ());
    erased.map(drop).map_err(|error| error.to_string())
}

fn adopt(disk: &SimDisk) -> Result<(), String> {
    let adopted = options().adopt_on(Arc::new(disk.clone()), &stranger());
    adopted.map_err(|error| error.to_string())
}

/// The same each time.
fn stranger() -> Jungle {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("people").unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();
    jungle
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The process, at this call.
    Killed,
    /// This call failed, and no other.
    Failed,
}

/// The calls of an undisturbed one, from the first on that makes it count.
fn calls(start: &SimDisk, make: Make) -> Range<usize> {
    let disk = copy(start);
    let (made, calls) = disk.record(|| make(&disk));
    made.unwrap();
    let counts = (CallKind::Rename, "LOCK.erased".to_owned());
    calls.iter().position(|call| *call == counts).unwrap()..calls.len()
}

fn copy(disk: &SimDisk) -> SimDisk {
    disk.world().crash(Keep::All, &mut |_| 0)
}

/// Ended at this call.
fn ended(start: &SimDisk, make: Make, at: usize, end: End) -> SimDisk {
    let disk = copy(start);
    let mut count = 0;
    disk.watch(move |_, _| {
        count += 1;
        match end {
            End::Killed if count > at => Fate::Fail(5),
            End::Failed if count == at + 1 => Fate::Fail(5),
            _ => Fate::Go,
        }
    });
    let _ = make(&disk);
    disk.unwatch();
    disk
}

/// What is seen of a Jungle.
type Seen = Vec<String>;

/// Opens it and commits; tells what was there first, and after the commit, and what a loss of power
/// leaves at each call that changes the disk, with how many commits were acknowledged.
fn gone_on_with(disk: &SimDisk, rng: &mut Rng) -> (Vec<Seen>, Vec<(SimDisk, usize)>) {
    let images = Arc::new(Mutex::new(Vec::new()));
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let (kept, known, mut fork) = (Arc::clone(&images), Arc::clone(&acknowledged), rng.fork());
    disk.watch(move |call, world| {
        if call.kind.changes() {
            for keep in [Keep::Nothing, Keep::Random] {
                let image = world.crash(keep, &mut |below| fork.below(below));
                kept.lock().unwrap().push((image, known.load(Ordering::SeqCst)));
            }
        }
        Fate::Go
    });
    let store = options().durability(Durability::Sync).open_on(Arc::new(disk.clone())).unwrap();
    let mut states = vec![as_it_is(&store)];
    store.open_tree("people").unwrap().update(|tx| tx.append(&[])).unwrap();
    acknowledged.fetch_add(1, Ordering::SeqCst);
    states.push(as_it_is(&store));
    drop(store);
    disk.unwatch();
    let images = std::mem::take(&mut *images.lock().unwrap());
    (states, images)
}

fn check(make: Make, new: impl Fn(&Jungle) -> Seen) {
    let mut rng = Rng::new(7);
    let start = SimDisk::new();
    let store = options().open_on(Arc::new(start.clone())).unwrap();
    secrets(&store, &mut rng, 30);
    store.checkpoint().unwrap();
    let (old, new) = (as_it_is(&store), new(&store));
    drop(store);
    let mut lost = 0;
    for at in calls(&start, make) {
        for end in [End::Killed, End::Failed] {
            let (states, images) = gone_on_with(&ended(&start, make, at, end), &mut rng);
            let what = format!("{end:?} at call {at}");
            assert!(states[0] == old || states[0] == new, "{what}: {:?}", states[0]);
            for (point, (image, acknowledged)) in images.into_iter().enumerate() {
                let what = format!("{what}, then at point {point}");
                let store = options().open_on(Arc::new(image));
                let store = store.unwrap_or_else(|error| panic!("{what}: {error}"));
                let is = as_it_is(&store);
                // Until somebody was told, either may count.
                let may_be_either = acknowledged == 0 && (is == old || is == new);
                assert!(may_be_either || states[acknowledged..].contains(&is), "{what}: {is:?}");
                store.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
                lost += 1;
            }
        }
    }
    assert!(lost > 1_000, "{lost}");
}

#[test]
fn an_erasure_that_is_gone_on_with_survives_a_loss_of_power() {
    check(erase, without);
}

#[test]
fn what_is_adopted_survives_a_loss_of_power_while_that_is_gone_on_with() {
    check(adopt, |_| as_it_is(&stranger()));
}
