//! Power is lost where a backup goes to: the copy is whole at every moment, unless it is the first
//! and begins with a checkpoint, and the next backup goes on from there.

use std::ops::RangeInclusive;
use std::sync::Arc;

use jungle_store::disk::sim::{Keep, SimDisk};
use jungle_store::{OpenError, Store};
use jungle_testkit::Rng;

use super::crash_images::{KEEPS, crash_images};
use super::workload::{Known, Portrait, open, portrait};

/// Crashes during a backup, and during another one onto the first; tells how many there were. The
/// store has what the last step left, and gets more.
pub fn run(store: &Store, known: &Known, segment_bytes: u64, rng: &mut Rng) -> u64 {
    let mut portraits = known.portraits.clone();
    let copy = SimDisk::new();
    let first = backup(store, &copy, rng);
    let had = store.revision().number();
    let mut points = check(store, &first, 0, &portraits, segment_bytes);
    for n in 0..rng.range(1..4) {
        store.create_tree(&format!("later {n}")).expect("an undisturbed disk");
        portraits.push(portrait(store).expect("an undisturbed disk"));
    }
    let second = backup(store, &copy, rng);
    points += check(store, &second, had, &portraits, segment_bytes);
    points
}

/// Copies it; gives what crashes on the way leave of the copy.
fn backup(store: &Store, copy: &SimDisk, rng: &mut Rng) -> Vec<SimDisk> {
    let keep = |rng: &mut Rng| rng.chance(1, 2).then(|| *rng.pick(&KEEPS));
    let back_up = || store.backup_on(Arc::new(copy.clone()));
    let (done, images) = crash_images(copy, rng, keep, back_up);
    done.unwrap_or_else(|error| panic!("undisturbed, but no backup: {error}"));
    images
}

/// Each has what was acknowledged of it, and takes what is missing.
fn check(
    store: &Store,
    images: &[SimDisk],
    least: u64,
    portraits: &[Portrait],
    segment_bytes: u64,
) -> u64 {
    let most = store.revision().number();
    for image in images {
        // Apart, since whoever looks at the image's files while its world is held waits for ever.
        let crashed = image.world().crash(Keep::All, &mut |_| 0);
        match open(&crashed, segment_bytes) {
            Ok(found) => check_open(&found, least..=most, portraits),
            // The log up to its checkpoint is not all there yet.
            Err(OpenError::Missing { .. }) if least == 0 && image.files().contains_key("pages") => {
            }
            Err(error) => panic!("a copy is refused: {error}"),
        }
        let done = store.backup_on(Arc::new(image.clone()));
        let done = done.unwrap_or_else(|error| panic!("no backup onto what was left: {error}"));
        assert_eq!(done.revision.number(), most, "all is copied then");
    }
    images.len() as u64
}

fn check_open(found: &Store, range: RangeInclusive<u64>, portraits: &[Portrait]) {
    let revision = found.revision().number();
    assert!(range.contains(&revision), "revision {revision} in a copy, of {range:?}");
    let is = portrait(found).unwrap_or_else(|error| panic!("revision {revision}: {error}"));
    let ought = &portraits[revision as usize];
    assert!(is == *ought, "revision {revision} of a copy is\n{is}and ought to be\n{ought}");
}
