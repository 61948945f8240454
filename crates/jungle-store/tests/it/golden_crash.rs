//! Power is lost while a folder that an older program wrote is opened and gone on with: what an
//! upgrade is, as long as there is one format.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jungle_store::disk::sim::{Fate, Keep, SimDisk};
use jungle_store::{OpenOptions, Store};
use jungle_testkit::{Rng, for_each_seed};

use crate::older::{FOLDERS, files_of};
use crate::support::portrait;

const KEEPS: [Keep; 4] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random];

/// One call in so many is one in front of which power is lost.
const ONE_IN: u64 = 4;

fn open(disk: &SimDisk) -> Store {
    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
    options.open_on(Arc::new(disk.clone())).unwrap()
}

/// Tells how often power was lost.
fn check(name: &str, rng: &mut Rng) -> usize {
    let disk = SimDisk::with_files(&files_of(name));
    let (images, done) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let (kept, seen, mut fork) = (Arc::clone(&images), Arc::clone(&done), rng.fork());
    disk.watch(move |call, world| {
        if call.kind.changes() && fork.chance(1, ONE_IN) {
            let keep = *fork.pick(&KEEPS);
            let image = world.crash(keep, &mut |below| fork.below(below));
            kept.lock().unwrap().push((seen.load(Ordering::SeqCst), keep, image));
        }
        Fate::Go
    });
    let store = open(&disk);
    let mut states = vec![portrait(&store)];
    let mut acknowledged = |store: &Store| {
        states.push(portrait(store));
        done.store(states.len() - 1, Ordering::SeqCst);
    };
    let tree = store.create_tree("goes on").unwrap();
    acknowledged(&store);
    tree.update(|tx| tx.append(&[])).unwrap();
    acknowledged(&store);
    store.checkpoint().unwrap();
    store.compact().unwrap();
    drop(tree);
    store.close().unwrap();
    disk.unwatch();
    let images = std::mem::take(&mut *images.lock().unwrap());
    for (least, keep, image) in &images {
        let store = open(image);
        let found = portrait(&store);
        let at = states.iter().position(|state| *state == found);
        assert!(at >= Some(*least), "{name}: {at:?} of {least} commits, {keep:?} of the rest");
        store.verify().unwrap();
    }
    images.len()
}

#[test]
fn power_loss_leaves_what_an_older_program_wrote_and_what_came_behind_it() {
    for_each_seed(1, |rng| {
        let points: usize = FOLDERS.iter().map(|name| check(name, rng)).sum();
        assert!(points > 50, "{points}");
    });
}
