//! What checkpoints ask of the disk, and what is told when it refuses.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
use jungle_store::{Durability, OpenOptions};

use crate::support::{every_kind_of_commit, portrait};

/// Nothing is written in the background.
fn options() -> OpenOptions {
    OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX)
}

#[test]
fn opening_a_closed_folder_syncs_its_mark_only() {
    let disk = SimDisk::new();
    let open = || options().open_on(Arc::new(disk.clone())).unwrap();
    let calls = |run: &mut dyn FnMut()| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let of_disk = Arc::clone(&seen);
        disk.watch(move |call, _| {
            if call.kind.changes() && call.kind != CallKind::Open {
                of_disk.lock().unwrap().push((call.kind, call.name.to_owned()));
            }
            Fate::Go
        });
        run();
        disk.unwatch();
        std::mem::take(&mut *seen.lock().unwrap())
    };
    let store = open();
    every_kind_of_commit(&store);
    store.checkpoint().unwrap();
    store.close().unwrap();
    let mut opened = None;
    let made = calls(&mut || opened = Some(open()));
    let lock = || "LOCK".to_owned();
    let pages = || "pages".to_owned();
    let expected = [CallKind::Write, CallKind::Sync].map(|kind| (kind, lock()));
    let made: Vec<_> = made.into_iter().filter(|(_, name)| name != "log/next").collect();
    assert_eq!(made, expected);

    // What the engine puts in order as it opens its file is written with the first checkpoint.
    let store = opened.unwrap();
    let before = portrait(&store);
    assert_eq!(calls(&mut || assert_eq!(portrait(&store), before)), []);
    store.create_tree("new").unwrap();
    let made = calls(&mut || assert!(store.checkpoint().unwrap().slabs > 0));
    assert!(made.iter().filter(|call| **call == (CallKind::Sync, pages())).count() > 2);
    let before = portrait(&store);
    store.close().unwrap();
    assert_eq!(portrait(&open()), before);
}

#[test]
fn a_checkpoint_that_fails_in_the_background_is_told() {
    const ENOSPC: i32 = 28;
    let disk = SimDisk::new();
    let options = OpenOptions::new().checkpoint_every(2_000).durability(Durability::Buffered);
    let store = options.open_on(Arc::new(disk.clone())).unwrap();
    let tree = store.create_tree("t").unwrap();
    assert!(store.checkpoint_error().is_none());
    disk.watch(|call, _| match call.kind {
        CallKind::Write if call.name.starts_with("pages") => Fate::Fail(ENOSPC),
        _ => Fate::Go,
    });
    let commit_until = |is_so: &dyn Fn() -> bool| {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            tree.update(|tx| tx.append(&[])).unwrap();
            assert!(Instant::now() < until, "not within a minute");
        }
    };
    commit_until(&|| store.checkpoint_error().is_some());
    let told = store.checkpoint_error().unwrap().to_string();
    assert!(told.contains("pages"), "{told}");
    assert_eq!(store.checkpointed().number(), 0);

    disk.unwatch();
    commit_until(&|| store.checkpointed().number() > 0);
    assert!(store.checkpoint_error().is_none(), "the next one was written");
}
