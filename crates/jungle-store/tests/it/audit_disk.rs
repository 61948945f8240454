//! What was done is told, whatever call of the disk fails, and whenever power is lost, while a
//! checkpoint takes it over and the log that has it is removed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jungle_db::Retention;
use jungle_store::disk::sim::{Fate, Keep, SimDisk};
use jungle_store::{AuditQuery, OpenOptions, Store};
use jungle_testkit::Rng;

use crate::audit::{act, line, listed};

const EIO: i32 = 5;

fn open(disk: &SimDisk) -> Store {
    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
    options.open_on(Arc::new(disk.clone())).unwrap()
}

/// A folder that has a checkpoint, and more behind it, and what was done in it. With the next one
/// most of the log goes.
fn folder() -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let (disk, mut done, mut rng) = (SimDisk::new(), Vec::new(), Rng::new(5));
    let store = open(&disk);
    for step in 0..200 {
        act(&store, step, &mut rng, &mut done);
        if step == 50 {
            store.checkpoint().unwrap();
        }
    }
    let cut = store.create_tree("cut").unwrap();
    done.push(line(store.revision(), "nobody", "creates tree cut", "cut", None));
    cut.set_retention(Retention::Last(1)).unwrap();
    done.push(line(store.revision(), "nobody", "keeps Last(1)", "cut", Some("main")));
    store.close().unwrap();
    (disk.files(), done)
}

#[test]
fn nothing_is_lost_whatever_call_of_a_checkpoint_fails() {
    let (files, done) = folder();
    for at in 0.. {
        let disk = SimDisk::with_files(&files);
        let store = open(&disk);
        let (written, is_met) =
            disk.inject_among(|_| true, at, Fate::Fail(EIO), || store.checkpoint());
        drop(store);
        let (store, mut ought) = (open(&disk), done.clone());
        assert_eq!(listed(&store, AuditQuery::default()), (1, ought.clone()), "call {at}");
        store.create_tree("more").unwrap();
        ought.push(line(store.revision(), "nobody", "creates tree more", "more", None));
        store.checkpoint().unwrap();
        assert_eq!(listed(&store, AuditQuery::default()), (1, ought), "behind call {at}");
        if !is_met {
            assert!(written.unwrap().segments > 5 && at > 20, "{at} calls");
            return;
        }
    }
}

#[test]
fn nothing_is_lost_whenever_power_is() {
    let (files, done) = folder();
    let (disk, images) = (SimDisk::with_files(&files), Arc::new(Mutex::new(Vec::new())));
    let store = open(&disk);
    let (kept, mut rng) = (Arc::clone(&images), Rng::new(6));
    disk.watch(move |call, world| {
        if call.kind.changes() {
            let keep = *rng.pick(&[Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random]);
            kept.lock().unwrap().push(world.crash(keep, &mut |below| rng.below(below)));
        }
        Fate::Go
    });
    assert!(store.checkpoint().unwrap().segments > 5);
    store.compact().unwrap();
    disk.unwatch();
    drop(store);
    let images = std::mem::take(&mut *images.lock().unwrap());
    assert!(images.len() > 20, "{}", images.len());
    for (at, image) in images.iter().enumerate() {
        assert_eq!(listed(&open(image), AuditQuery::default()), (1, done.clone()), "call {at}");
    }
}
