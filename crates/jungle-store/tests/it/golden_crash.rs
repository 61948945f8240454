//! Power is lost while a folder that an older program wrote is opened and gone on with, which is
//! what an upgrade is: nothing is rewritten as it is opened, and the first checkpoint takes out of
//! the log what the audit is to have, before that is cut off.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::{CommitMeta, Retention};
use jungle_store::disk::sim::{Fate, Keep, SimDisk};
use jungle_store::{AuditQuery, OpenOptions, Store};
use jungle_testkit::{Rng, for_each_seed};

use crate::audit::listed;
use crate::older::{FOLDERS, files_of};
use crate::support::portrait;

const KEEPS: [Keep; 4] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random];

/// One call in so many is one in front of which power is lost.
const ONE_IN: u64 = 4;

fn open(disk: &SimDisk) -> Store {
    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
    options.open_on(Arc::new(disk.clone())).unwrap()
}

/// What can be seen of it, with what was done to its trees.
fn seen(store: &Store) -> (Vec<String>, (u64, Vec<String>)) {
    (portrait(store), listed(store, AuditQuery::default()))
}

/// Tells how often power was lost.
fn check(name: &str, rng: &mut Rng) -> usize {
    let disk = SimDisk::with_files(&files_of(name));
    let (images, done) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let (kept, at, mut fork) = (Arc::clone(&images), Arc::clone(&done), rng.fork());
    disk.watch(move |call, world| {
        if call.kind.changes() && fork.chance(1, ONE_IN) {
            let keep = *fork.pick(&KEEPS);
            let image = world.crash(keep, &mut |below| fork.below(below));
            kept.lock().unwrap().push((at.load(Ordering::SeqCst), keep, image));
        }
        Fate::Go
    });
    let store = open(&disk);
    let mut states = vec![seen(&store)];
    let mut acknowledged = |store: &Store| {
        states.push(seen(store));
        done.store(states.len() - 1, Ordering::SeqCst);
    };
    let tree = store.create_tree("goes on").unwrap();
    acknowledged(&store);
    tree.update(|tx| tx.append(&[])).unwrap();
    acknowledged(&store);
    // More than a segment of it, which is cut off by the checkpoint.
    let by_ana = store.by(&CommitMeta::new().author("ana"));
    for n in 0..6 {
        by_ana.create_tree(&format!("{n} {}", "long ".repeat(30))).unwrap();
        acknowledged(&store);
    }
    tree.set_retention(Retention::Last(1)).unwrap();
    acknowledged(&store);
    assert!(store.checkpoint().unwrap().segments > 0, "{name}");
    store.compact().unwrap();
    drop((tree, by_ana));
    store.close().unwrap();
    disk.unwatch();
    let images = std::mem::take(&mut *images.lock().unwrap());
    for (least, keep, image) in &images {
        let store = open(image);
        let found = seen(&store);
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
