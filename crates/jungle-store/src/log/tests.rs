//! The log on a simulated disk.

use jungle_db::CommitOptions;

use super::*;
use crate::disk::sim::{CallKind, Fate, Keep, SimDisk};
use crate::error::doing;
use crate::{OpenOptions, Store};

fn open(disk: &SimDisk) -> Store {
    let options = OpenOptions::new().checkpoint_every(u64::MAX);
    let opened = options.durability(Durability::Buffered).open_on(Arc::new(disk.clone()));
    opened.expect("a simulated disk that was not damaged")
}

#[test]
fn only_those_are_expected_again_who_have_asked_for_a_sync() {
    let store = open(&SimDisk::new());
    let tree = store.create_tree("t").unwrap();
    for durability in [Durability::Memory, Durability::Buffered, Durability::Sync] {
        for _ in 0..3 {
            let durability = Some(durability);
            let options = CommitOptions { durability, ..CommitOptions::default() };
            tree.update_with(&options, |tx| tx.append(&[])).unwrap();
        }
        store.wait_until(store.revision(), Durability::Sync).unwrap();
        let expected = store.log().lock().expected;
        assert!(!expected.are_there(0) && expected.are_there(1), "{durability:?}");
    }
}

#[test]
fn what_was_synced_ahead_lasts() {
    let disk = SimDisk::new();
    let store = open(&disk);
    store.create_tree("t").unwrap();
    assert!(open(&disk.world().crash(Keep::Nothing, &mut |_| 0)).list_trees().is_empty());
    store.log().sync_ahead().unwrap();
    assert_eq!(open(&disk.world().crash(Keep::Nothing, &mut |_| 0)).list_trees().len(), 1);
}

#[test]
fn what_is_synced_ahead_is_not_synced_so_again() {
    let disk = SimDisk::new();
    let store = open(&disk);
    store.create_tree("t").unwrap();
    let calls = || disk.record(|| store.log().sync_ahead().unwrap()).1;
    assert!(!calls().is_empty());
    assert_eq!(calls(), []);
}

#[test]
fn no_segment_is_begun_behind_one_that_could_not_be_synced_ahead() {
    let disk = SimDisk::new();
    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
    let options = options.durability(Durability::Buffered);
    let store = options.open_on(Arc::new(disk.clone())).unwrap();
    let tree = store.create_tree("t").unwrap();
    // Whoever failed has not told the others yet.
    let lost = doing("sync", "log")(std::io::Error::other("the disk is gone"));
    *store.log().ahead.lock().unwrap() = Some(lost.into());
    assert!((0..100).any(|_| tree.update(|tx| tx.append(&[])).is_err()));
    assert_eq!(disk.files().keys().filter(|name| name.ends_with(".log")).count(), 1);
}

#[test]
fn nothing_is_taken_after_a_failed_sync_ahead() {
    const EIO: i32 = 5;
    let disk = SimDisk::new();
    let store = open(&disk);
    let tree = store.create_tree("t").unwrap();
    disk.watch(|call, _| match call.kind {
        CallKind::Sync if call.name.starts_with("log/") => Fate::Fail(EIO),
        _ => Fate::Go,
    });
    assert!(matches!(store.log().sync_ahead(), Err(LogError::Io(_))));
    disk.unwatch();
    assert!(tree.update(|tx| tx.append(&[])).is_err());
    assert!(matches!(store.close(), Err(LogError::Io(_))));
}

#[test]
fn who_has_waited_for_others_writes_nothing_behind_one_who_failed() {
    let disk = SimDisk::new();
    let store = open(&disk);
    store.create_tree("t").unwrap();
    let log = store.log();
    let mut state = log.lock();
    let writer = state.writer.take().unwrap();
    log.fail(&mut state, LogError::Broken);
    let (state, calls) = disk.record(|| log.lead(state, writer, true));
    assert_eq!(calls, []);
    assert!(state.writer.is_some());
}
