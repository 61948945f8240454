//! The log on a simulated disk.

use jungle_db::CommitOptions;

use super::segment::SEGMENT_HEADER;
use super::*;
use crate::disk::sim::{CallKind, Fate, Keep, SimDisk};
use crate::error::doing;
use crate::{OpenOptions, Store};

fn open(disk: &SimDisk) -> Store {
    open_by(OpenOptions::new(), disk)
}

/// The same with short segments.
fn open_short(disk: &SimDisk) -> Store {
    open_by(OpenOptions::new().segment_bytes(512), disk)
}

fn open_by(options: OpenOptions, disk: &SimDisk) -> Store {
    let options = options.checkpoint_every(u64::MAX).durability(Durability::Buffered);
    let opened = options.open_on(Arc::new(disk.clone()));
    opened.expect("a simulated disk that was not damaged")
}

fn segments(disk: &SimDisk) -> usize {
    disk.files().keys().filter(|name| name.ends_with(".log")).count()
}

fn fail_syncs(disk: &SimDisk) {
    const EIO: i32 = 5;
    disk.watch(|call, _| match call.kind {
        CallKind::Sync if call.name.starts_with("log/") => Fate::Fail(EIO),
        _ => Fate::Go,
    });
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
    let store = open_short(&disk);
    let tree = store.create_tree("t").unwrap();
    // Whoever failed has not told the others yet.
    let lost = doing("sync", "log")(std::io::Error::other("the disk is gone"));
    let failed: Result<(), LogError> = store.log().syncs.alone(|| Err(lost.into()));
    assert!(failed.is_err());
    assert!((0..100).any(|_| tree.update(|tx| tx.append(&[])).is_err()));
    assert_eq!(segments(&disk), 1);
}

#[test]
fn what_was_synced_to_begin_a_segment_counts_as_synced() {
    let disk = SimDisk::new();
    let store = open_short(&disk);
    let tree = store.create_tree("t").unwrap();
    while segments(&disk) == 1 {
        tree.update(|tx| tx.append(&[])).unwrap();
    }
    let state = store.log().lock();
    let in_segment = state.position.offset - SEGMENT_HEADER as u64;
    assert_eq!(state.position.bytes - state.synced_bytes, in_segment);
}

#[test]
fn nobody_syncs_after_a_leader_who_failed_to() {
    let disk = SimDisk::new();
    let store = open(&disk);
    store.create_tree("t").unwrap();
    fail_syncs(&disk);
    assert!(store.wait_until(store.revision(), Durability::Sync).is_err());
    disk.unwatch();
    // Nor does who has not been told that the log is over.
    assert!(matches!(store.log().syncs.alone(|| Ok(())), Err(LogError::Io(_))));
}

#[test]
fn nothing_is_taken_after_a_failed_sync_ahead() {
    let disk = SimDisk::new();
    let store = open(&disk);
    let tree = store.create_tree("t").unwrap();
    fail_syncs(&disk);
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
