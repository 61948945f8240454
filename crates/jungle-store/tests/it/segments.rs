//! How long segments of the log are, and when they are filled ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jungle_db::TreeHandle;
use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
use jungle_store::{Durability, OpenOptions, Store};

fn open(disk: &SimDisk) -> Store {
    let options = OpenOptions::new().durability(Durability::Buffered).checkpoint_every(u64::MAX);
    options.open_on(Arc::new(disk.clone())).unwrap()
}

/// Commits some bytes that were not there before.
fn put(tree: &TreeHandle, bytes: usize) {
    let text = format!("{}{}", tree.snapshot().revision(), "x".repeat(bytes));
    tree.update(|tx| tx.put_attribute(&[], "text", text.as_str())).unwrap();
}

/// The lengths of all segments, and of what becomes one.
fn lengths(disk: &SimDisk) -> Vec<(String, usize)> {
    let files = disk.files().into_iter().filter(|(name, _)| name.starts_with("log/"));
    files.map(|(name, bytes)| (name, bytes.len())).collect()
}

#[test]
fn a_piece_is_filled_ahead_at_a_time() {
    const PIECE: usize = 1 << 20;
    let disk = SimDisk::new();
    let store = open(&disk);
    let tree = store.create_tree("t").unwrap();
    // Segments of 1/4, 1/2, 1, 2, 4 MiB, and almost all of one of 8 MiB.
    while lengths(&disk).iter().all(|(name, len)| *len < 8 << 20 || name == "log/next") {
        put(&tree, 100_000);
    }
    (0..70).for_each(|_| put(&tree, 100_000));
    drop(tree);
    store.close().unwrap();
    assert!(lengths(&disk).iter().all(|(name, _)| name != "log/next"), "closing removes it");

    let store = open(&disk);
    let tree = store.open_tree("t").unwrap();
    let filled = Arc::new(AtomicUsize::new(0));
    let of_disk = Arc::clone(&filled);
    disk.watch(move |call, _| {
        if call.kind == CallKind::Write && call.name == "log/next" {
            of_disk.fetch_add(call.len, Ordering::SeqCst);
        }
        Fate::Go
    });
    for pieces in 1..=8 {
        put(&tree, 10);
        assert_eq!(filled.load(Ordering::SeqCst), pieces * PIECE);
    }
    disk.unwatch();
}

#[test]
fn a_long_commit_does_not_make_the_next_segment_long() {
    let disk = SimDisk::new();
    let store = open(&disk);
    put(&store.create_tree("t").unwrap(), 4 << 20);
    store.close().unwrap();
    let store = open(&disk);
    let tree = store.open_tree("t").unwrap();
    (0..3).for_each(|_| put(&tree, 10));
    drop(tree);
    store.close().unwrap();
    let lengths: Vec<usize> = lengths(&disk).into_iter().map(|(_, len)| len).collect();
    assert!(matches!(lengths[..], [262_144, 4_194_000..4_200_000, 1_048_576]), "{lengths:?}");
}

/// Opens a folder on a disk on which nothing can be filled ahead while the flag is set.
fn on_full_disk() -> (SimDisk, Store, Arc<AtomicBool>) {
    const NO_SPACE: i32 = 28;
    let (disk, is_full) = (SimDisk::new(), Arc::new(AtomicBool::new(true)));
    open(&disk).create_tree("t").unwrap();
    // Its segment is opened under its own name.
    let store = open(&disk);
    let of_disk = Arc::clone(&is_full);
    disk.watch(move |call, _| match call.kind {
        CallKind::Write if call.name == "log/next" && of_disk.load(Ordering::SeqCst) => {
            Fate::PartThenFail(1000, NO_SPACE)
        }
        _ => Fate::Go,
    });
    (disk, store, is_full)
}

#[test]
fn a_log_goes_on_that_found_the_disk_full_ahead_of_itself() {
    let (disk, store, is_full) = on_full_disk();
    let tree = store.open_tree("t").unwrap();
    let has_no_room_ahead = || store.log_stats().has_no_room_ahead;
    put(&tree, 10_000);
    assert!(!has_no_room_ahead(), "nothing is filled ahead yet");
    // More than half of the first segment, at which the next is begun.
    (0..19).for_each(|_| put(&tree, 10_000));
    assert!(has_no_room_ahead());
    is_full.store(false, Ordering::SeqCst);
    put(&tree, 10_000);
    assert!(!has_no_room_ahead(), "there is room again");
    (0..39).for_each(|_| put(&tree, 10_000));
    let newest = store.revision();
    drop(tree);
    store.close().unwrap();
    disk.unwatch();
    let store = open(&disk);
    assert_eq!(store.revision(), newest);
    store.verify().unwrap();
}

#[test]
fn a_disk_that_stays_full_ends_the_log_when_its_segment_is() {
    let (disk, store, _) = on_full_disk();
    let tree = store.open_tree("t").unwrap();
    let mut newest = store.revision();
    let text = |n: usize| format!("{n} {}", "x".repeat(10_000));
    let refused = (0..30).find_map(|n| {
        let done = tree.update(|tx| tx.put_attribute(&[], "text", text(n).as_str()));
        done.map(|done| newest = done.revision).err()
    });
    assert!(refused.is_some() && newest.number() > 20, "{refused:?} after {newest}");
    drop((tree, store));
    disk.unwatch();
    assert_eq!(open(&disk).revision(), newest);
}
