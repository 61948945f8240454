//! The end of a log that was not closed, on a simulated disk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use jungle_db::{NotWritten, UpdateError};
use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
use jungle_store::{Damage, LogError, OpenError, OpenOptions, Store};

const SEGMENT: &str = "log/00000000000000000001.log";

fn open(disk: &SimDisk) -> Result<Store, OpenError> {
    open_segments(disk, 4096)
}

fn open_segments(disk: &SimDisk, bytes: u64) -> Result<Store, OpenError> {
    OpenOptions::new().segment_bytes(bytes).open_on(Arc::new(disk.clone()))
}

fn children(store: &Store) -> u64 {
    store.open_tree("t").unwrap().read().root().child_count()
}

type Files = BTreeMap<String, Vec<u8>>;

/// The files of a log with eight commits, and where each of them begins.
fn log(close: bool) -> (Files, Vec<usize>) {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let mut begins = vec![36];
    let mut note = || begins.push(36 + store.log_stats().bytes as usize);
    let tree = store.create_tree("t").unwrap();
    note();
    for _ in 0..7 {
        tree.update(|tx| tx.append(&[])).unwrap();
        note();
    }
    let files = disk.files();
    drop((store, tree));
    (if close { disk.files() } else { files }, begins)
}

fn with(files: &Files, damage: impl FnOnce(&mut [u8])) -> SimDisk {
    let mut files = files.clone();
    damage(files.get_mut(SEGMENT).unwrap());
    SimDisk::with_files(&files)
}

#[test]
fn a_torn_end_is_cut_off_and_told() {
    let (files, begins) = log(false);
    let torn = with(&files, |bytes| bytes[begins[7] + 30..].fill(0));
    let store = open(&torn).unwrap();
    let cut = store.report().cut.clone().unwrap();
    assert_eq!((&*cut.file, cut.offset), (SEGMENT, begins[7] as u64));
    assert_eq!((children(&store), store.report().was_closed), (6, false));
    store.open_tree("t").unwrap().update(|tx| tx.append(&[])).unwrap();
    drop(store);
    let store = open(&torn).unwrap();
    assert_eq!((children(&store), &store.report().cut), (7, &None));
}

#[test]
fn damage_of_what_was_synced_is_told_by_its_place() {
    let (files, begins) = log(false);
    for (frame, &begin) in begins.iter().enumerate().take(7) {
        for at in [0, 4, 9, 30] {
            let at = begin + at;
            let error = open(&with(&files, |bytes| bytes[at] ^= 4)).unwrap_err();
            let OpenError::Damaged { file, offset, revision, what } = error else {
                panic!("{error}");
            };
            assert_eq!((&*file, offset), (SEGMENT, begin as u64));
            assert_eq!(revision.map_or(0, |it| it.number()), frame as u64);
            assert_eq!(what, Damage::Checksum);
        }
    }
}

#[test]
fn a_log_that_was_closed_is_held_to_its_last_byte() {
    let (files, begins) = log(true);
    assert_eq!(children(&open(&SimDisk::with_files(&files)).unwrap()), 7);
    for at in begins[7]..begins[8] {
        let error = open(&with(&files, |bytes| bytes[at] ^= 16)).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { what: Damage::Checksum, .. }), "{error}");
    }
    let error = open(&with(&files, |bytes| bytes[begins[5]..].fill(0))).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { what: Damage::EndsEarly, .. }), "{error}");
    let behind = open(&with(&files, |bytes| bytes[begins[8] + 100] = 1)).unwrap();
    assert_eq!((children(&behind), behind.report().cut.is_some()), (7, true));
}

#[test]
fn frames_that_are_missing_twice_there_or_in_another_order_are_told() {
    let (files, begins) = log(false);
    let frame = |at: usize| begins[at]..begins[at + 1];
    // All but the first have one length, since they say much the same.
    let missing = with(&files, |bytes| bytes.copy_within(begins[3]..begins[8], begins[2]));
    let twice = with(&files, |bytes| bytes.copy_within(frame(3), begins[4]));
    let swapped = with(&files, |bytes| {
        let first = bytes[frame(3)].to_vec();
        bytes.copy_within(frame(4), begins[3]);
        bytes[frame(4)].copy_from_slice(&first);
    });
    for disk in [missing, twice, swapped] {
        let error = open(&disk).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { what: Damage::Chain, .. }), "{error}");
    }
}

#[test]
fn a_missing_segment_is_told() {
    let disk = SimDisk::new();
    let store = OpenOptions::new().segment_bytes(256).open_on(Arc::new(disk.clone())).unwrap();
    let tree = store.create_tree("t").unwrap();
    for _ in 0..20 {
        tree.update(|tx| tx.append(&[])).unwrap();
    }
    let files = disk.files();
    let segments: Vec<&String> = files.keys().filter(|name| name.ends_with(".log")).collect();
    assert!(segments.len() > 3);
    for missing in &segments {
        let mut files = files.clone();
        files.remove(*missing);
        let error = open(&SimDisk::with_files(&files)).unwrap_err();
        assert!(matches!(error, OpenError::Missing { .. }), "{missing}: {error}");
    }
}

#[test]
fn a_failed_sync_ends_all_writing_and_closing_gives_the_folder_free() {
    const EIO: i32 = 5;
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let tree = store.create_tree("t").unwrap();
    disk.watch(|call, _| match call.kind {
        CallKind::Sync => Fate::Fail(EIO),
        _ => Fate::Go,
    });
    let refused = tree.update(|tx| tx.append(&[])).unwrap_err();
    disk.unwatch();
    let UpdateError::NotWritten(NotWritten::Unsafe(error)) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("cannot sync log/0"), "{error}");
    assert!(tree.update(|tx| tx.append(&[])).is_err());
    assert!(matches!(store.close(), Err(LogError::Io(_))));
    // What was not acknowledged may be there or not; it is not half there.
    let store = open(&disk).unwrap();
    assert!(!store.report().was_closed && children(&store) <= 1);
    assert_eq!(tree.read().root().child_count(), 1);
}

/// All in one segment.
fn open_large(disk: &SimDisk) -> Result<Store, OpenError> {
    open_segments(disk, 1 << 20)
}

/// The files of a log whose second commit is a large one, where that begins and ends, and what is
/// there when another one follows.
fn large_commit(text: &[u8]) -> (Files, Files, Range<usize>) {
    let disk = SimDisk::new();
    let store = open_large(&disk).unwrap();
    let tree = store.create_tree("t").unwrap();
    let begin = 36 + store.log_stats().bytes as usize;
    tree.update(|tx| {
        (0..3_000).try_for_each(|n: i64| {
            let child = tx.append(&[])?;
            tx.put_attribute(std::slice::from_ref(&child), "n", n * n)?;
            tx.put_attribute(&[child], "text", &format!("message {n}"))
        })?;
        tx.put_attribute(&[], "bytes", text)
    })
    .unwrap();
    let end = 36 + store.log_stats().bytes as usize;
    let files = disk.files();
    tree.update(|tx| tx.append(&[])).unwrap();
    (files, disk.files(), begin..end)
}

/// Beginnings of frames that cannot be told from real ones but by their checksum.
fn headers() -> Vec<u8> {
    let header = |n: u32| {
        let mut header = [0; 24];
        header[..4].copy_from_slice(&(24 + n % 50_000).to_le_bytes());
        header[16..].copy_from_slice(&3_u64.to_le_bytes());
        header
    };
    (0..4_000).flat_map(header).collect()
}

#[test]
fn a_large_commit_that_is_torn_anywhere_is_cut_off() {
    for text in [vec![], headers()] {
        let (files, _, commit) = large_commit(&text);
        assert!(commit.len() > 100_000);
        for kept in [30, 4_096, 5_000, commit.len() / 2, commit.len() - 1] {
            let torn = with(&files, |bytes| bytes[commit.start + kept..commit.end].fill(0));
            let store = open_large(&torn).unwrap();
            assert_eq!(store.report().cut.clone().unwrap().offset, commit.start as u64);
            assert_eq!(children(&store), 0);
        }
        // Blocks reach the disk in any order.
        let torn = with(&files, |bytes| bytes[commit.start + 100..commit.start + 5_000].fill(0));
        assert!(open_large(&torn).unwrap().report().cut.is_some());
    }
}

#[test]
fn damage_of_a_large_commit_that_another_follows_is_told() {
    for text in [vec![], headers()] {
        let (_, files, commit) = large_commit(&text);
        for at in [0, 4_096, commit.len() / 2, commit.len() - 1] {
            let error =
                open_large(&with(&files, |bytes| bytes[commit.start + at] ^= 8)).unwrap_err();
            let OpenError::Damaged { offset, what: Damage::Checksum, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(offset, commit.start as u64);
        }
    }
}
