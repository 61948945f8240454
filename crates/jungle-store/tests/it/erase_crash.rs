//! Power is lost, or a call fails, while something is erased: what is found is the old or the new.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::Retention;
use jungle_store::disk::sim::{Fate, Keep, SimDisk};
use jungle_testkit::{Rng, for_each_seed};

use crate::erase::{SECRET, as_it_is, options, query, secrets, without};

const KEEPS: [Keep; 5] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random, Keep::Random];

const EIO: i32 = 5;

/// What there is to be found.
struct Sides {
    old: Vec<String>,
    new: Vec<String>,
}

/// A small folder with secrets.
fn filled(rng: &mut Rng) -> (SimDisk, Sides) {
    let disk = SimDisk::new();
    let store = options().segment_bytes(700).open_on(Arc::new(disk.clone())).unwrap();
    secrets(&store, rng, 25);
    if rng.chance(1, 2) {
        // Then the log does not have it all.
        let tree = store.open_tree("people").unwrap();
        tree.set_retention(Retention::Last(10)).unwrap();
    }
    if rng.chance(2, 3) {
        store.checkpoint().unwrap();
    }
    let sides = Sides { old: as_it_is(&store), new: without(&store) };
    drop(store);
    (disk, sides)
}

fn is_in_a_file(disk: &SimDisk) -> bool {
    let has = |bytes: &Vec<u8>| bytes.windows(SECRET.len()).any(|at| at == SECRET.as_bytes());
    disk.files().values().any(has)
}

/// Opens what is there: tells whether it is the new side, of which nothing else is left.
fn check(disk: &SimDisk, sides: &Sides) -> bool {
    let store = options().open_on(Arc::new(disk.clone()));
    let store = store.unwrap_or_else(|error| panic!("refused: {error}"));
    let found = as_it_is(&store);
    let is_new = found == sides.new;
    assert!(is_new || found == sides.old, "neither the old one nor the new one");
    store.verify().unwrap();
    drop(store);
    let files = disk.files();
    let is_left = |name: &String| name.contains("erased") || name.starts_with("LOCK.");
    assert!(!files.keys().any(is_left), "{:?}", files.keys());
    assert_eq!(is_in_a_file(disk), !is_new);
    is_new
}

#[test]
fn power_loss_at_any_call_leaves_the_old_or_the_new() {
    let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    for_each_seed(3, |rng| {
        let (disk, sides) = filled(rng);
        let sides = Arc::new(sides);
        let (seen, counted, mut fork) = (Arc::clone(&sides), Arc::clone(&counts), rng.fork());
        disk.watch(move |call, world| {
            if call.kind.changes() {
                for keep in &KEEPS[..if world.has_pending() { KEEPS.len() } else { 1 }] {
                    let found = world.crash(*keep, &mut |below| fork.below(below));
                    if fork.chance(1, 4) {
                        twice(&found, &seen, &mut fork);
                    }
                    let is_new = check(&found, &seen);
                    counted[usize::from(is_new)].fetch_add(1, Ordering::SeqCst);
                }
            }
            Fate::Go
        });
        let erased = options().erase_on(Arc::new(disk.clone()), &query(), |_, _| ());
        assert!(erased.unwrap().erased.commits > 0);
        disk.unwatch();
        // What was acknowledged lasts.
        let found = disk.world().crash(Keep::Nothing, &mut |_| 0);
        assert!(check(&found, &sides));
    });
    let [old, new] = [0, 1].map(|side: usize| counts[side].load(Ordering::SeqCst));
    assert!(old > 300 && new > 50, "{old} {new}");
    println!("{old} crash points with the old one, {new} with the new one");
}

/// Power is lost again while what a crash left is opened.
fn twice(found: &SimDisk, sides: &Sides, rng: &mut Rng) {
    let images = Arc::new(Mutex::new(Vec::new()));
    let (kept, mut fork) = (Arc::clone(&images), rng.fork());
    let again = found.world().crash(Keep::All, &mut |_| 0);
    again.watch(move |call, world| {
        if call.kind.changes() && fork.chance(1, 2) {
            let keep = *fork.pick(&KEEPS);
            kept.lock().unwrap().push(world.crash(keep, &mut |below| fork.below(below)));
        }
        Fate::Go
    });
    drop(options().open_on(Arc::new(again.clone())).unwrap());
    again.unwatch();
    let is_new = check(&again, sides);
    for image in std::mem::take(&mut *images.lock().unwrap()) {
        assert_eq!(check(&image, sides), is_new);
    }
}

#[test]
fn any_call_may_fail() {
    for_each_seed(2, |rng| {
        let (disk, sides) = filled(rng);
        let image = disk.world().crash(Keep::All, &mut |_| 0);
        let calls = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&calls);
        image.watch(move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            Fate::Go
        });
        options().erase_on(Arc::new(image.clone()), &query(), |_, _| ()).unwrap();
        image.unwatch();
        for failing in 0..calls.load(Ordering::SeqCst) {
            let image = disk.world().crash(Keep::All, &mut |_| 0);
            let count = AtomicU64::new(0);
            image.watch(move |_, _| match count.fetch_add(1, Ordering::SeqCst) == failing {
                true => Fate::Fail(EIO),
                false => Fate::Go,
            });
            let erased = options().erase_on(Arc::new(image.clone()), &query(), |_, _| ());
            image.unwatch();
            let is_new = check(&image, &sides);
            assert!(is_new || erased.is_err(), "call {failing}");
        }
    });
}
