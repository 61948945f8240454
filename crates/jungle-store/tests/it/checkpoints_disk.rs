//! What checkpoints ask of the disk, and what is told when it refuses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jungle_db::Retention;
use jungle_store::disk::sim::{Call, CallKind, Fate, Keep, SimDisk};
use jungle_store::{BackupError, Durability, OpenOptions, Store};

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
        let ((), mut calls) = disk.record(run);
        calls.retain(|(kind, _)| kind.changes() && *kind != CallKind::Open);
        calls
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

/// The thread that writes checkpoints would be gone, and nobody would know.
#[test]
fn a_checkpoint_that_a_bug_ends_is_told_and_no_other_is_written() {
    let disk = SimDisk::new();
    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(2_000);
    let open = || options.clone().open_on(Arc::new(disk.clone())).unwrap();
    let store = open();
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(1)).unwrap();
    let checkpoints = store.checkpoints();
    // Outside of the engine, whose panics are errors already.
    disk.watch(|call, _| match call.kind {
        CallKind::Remove if call.name.starts_with("log/") => panic!("a planted panic"),
        _ => Fate::Go,
    });
    let until = Instant::now() + Duration::from_secs(60);
    while checkpoints.error().is_none() {
        tree.update(|tx| tx.append(&[])).unwrap();
        assert!(Instant::now() < until, "not within a minute");
    }
    let told = checkpoints.error().unwrap().to_string();
    assert!(told.contains("a planted panic"), "{told}");
    disk.unwatch();
    assert!(store.checkpoint().is_err(), "nobody knows how far it came");
    tree.update(|tx| tx.append(&[])).unwrap();
    let before = portrait(&store);
    drop((tree, store));
    let store = open();
    assert_eq!(portrait(&store), before);
    assert!(store.checkpoint().unwrap().slabs > 0);
}

/// However many of them only the log had.
#[test]
fn what_is_not_kept_is_dropped_when_a_long_log_is_opened() {
    let disk = SimDisk::new();
    let options = OpenOptions::new().checkpoint_every(u64::MAX).durability(Durability::Memory);
    let open = || options.clone().open_on(Arc::new(disk.clone())).unwrap();
    let store = open();
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(1)).unwrap();
    for n in 0..10_000 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    let before = portrait(&store);
    drop((tree, store));
    assert_eq!(portrait(&open()), before);
}

/// One commit that is kept alone, so that the log is trimmed by each checkpoint.
fn commit(store: &Store) {
    let tree = store.open_tree("t").unwrap();
    let long = "long ".repeat(200);
    tree.update(|tx| {
        let key = tx.append(&[])?;
        tx.put_attribute(&[key], "long", long.as_str())
    })
    .unwrap();
}

/// Whoever opens the folder again does not know that a call has failed, and finds what the system
/// shows, which need not be what is on the disk.
#[test]
fn what_a_failed_sync_left_is_not_built_upon() {
    let mut failed = 0;
    for at in 0.. {
        let disk = SimDisk::new();
        let open = |disk: &SimDisk| options().open_on(Arc::new(disk.clone())).unwrap();
        let store = open(&disk);
        let tree = store.create_tree("t").unwrap();
        tree.set_retention(Retention::Last(1)).unwrap();
        commit(&store);
        store.checkpoint().unwrap();
        commit(&store);
        let (count, says) = (AtomicU64::new(0), Arc::new(Mutex::new(String::new())));
        let what = Arc::clone(&says);
        disk.watch(move |call, _| {
            let is_sync = matches!(call.kind, CallKind::Sync | CallKind::SyncFolder);
            if !is_sync || count.fetch_add(1, Ordering::SeqCst) != at {
                return Fate::Go;
            }
            *what.lock().unwrap() = format!("{:?} {at} of {:?}", call.kind, call.name);
            Fate::Fail(5)
        });
        let _ = store.checkpoint().map(|_| store.compact());
        disk.unwatch();
        drop((store, tree));
        let says = std::mem::take(&mut *says.lock().unwrap());
        if says.is_empty() {
            break;
        }
        failed += 1;
        let store = open(&disk);
        for _ in 0..2 {
            commit(&store);
            let _ = store.checkpoint();
        }
        let ought = portrait(&store);
        drop(store);
        let found = disk.world().crash(Keep::Nothing, &mut |_| 0);
        let store = options().open_on(Arc::new(found));
        let store = store.unwrap_or_else(|error| panic!("{says}: {error:?}"));
        assert_eq!(portrait(&store), ought, "{says}");
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn pages_that_could_not_be_compacted_are_written_to_as_before() {
    const NO_SPACE: i32 = 28;
    let disk = SimDisk::new();
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    store.create_tree("t").unwrap();
    store.checkpoint().unwrap();
    // Some systems find out only then that there is no room.
    for full in [CallKind::Write, CallKind::Sync] {
        disk.watch(move |call, _| match call.kind {
            kind if kind == full && call.name == "pages.next" => Fate::Fail(NO_SPACE),
            _ => Fate::Go,
        });
        store.compact().unwrap_err();
        disk.unwatch();
        assert!(!disk.files().contains_key("pages.next"));
        commit(&store);
        store.checkpoint().unwrap();
    }
    store.compact().unwrap();
    store.verify().unwrap();

    // Not so when nobody knows which file has the name.
    commit(&store);
    disk.watch(|call, _| match call.kind {
        CallKind::SyncFolder => Fate::Fail(5),
        _ => Fate::Go,
    });
    store.compact().unwrap_err();
    disk.unwatch();
    store.checkpoint().unwrap_err();
}

/// The old ones are thrown away for them.
#[test]
fn compacted_pages_of_which_a_write_was_lost_do_not_take_the_place_of_the_old() {
    let disk = SimDisk::new();
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    every_kind_of_commit(&store);
    store.checkpoint().unwrap();
    let mut refused = 0;
    for at in 0.. {
        let is_write = |call: &Call<'_>| call.kind == CallKind::Write && call.name == "pages.next";
        let (compacted, is_met) = disk.inject_among(is_write, at, Fate::Lie, || store.compact());
        if !is_met {
            break;
        }
        refused += u32::from(compacted.is_err());
        store.verify().unwrap_or_else(|error| panic!("write {at} was lost: {error}"));
    }
    assert!(refused > 3, "{refused}");
}

#[test]
fn a_backup_for_which_there_is_no_room_is_no_damage() {
    const NO_SPACE: i32 = 28;
    let store = options().open_on(Arc::new(SimDisk::new())).unwrap();
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(10)).unwrap();
    (0..100).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    // A copy begins with the checkpoint.
    assert!(store.checkpoint().unwrap().segments > 0);
    let full = SimDisk::new();
    full.watch(|call, _| match call.kind {
        CallKind::Write if call.name.starts_with("pages") => Fate::Fail(NO_SPACE),
        _ => Fate::Go,
    });
    let error = store.backup_on(Arc::new(full)).unwrap_err();
    let BackupError::Pages(cause) = &error else { panic!("{error:?}") };
    assert!(!cause.is_damage(), "{cause:?}");
}

/// A folder with a complete log and a checkpoint, of which the head is damaged.
fn with_damaged_pages() -> (SimDisk, Vec<String>) {
    let disk = SimDisk::new();
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    every_kind_of_commit(&store);
    store.checkpoint().unwrap();
    let before = portrait(&store);
    store.close().unwrap();
    let mut files = disk.files();
    files.get_mut("pages").unwrap()[..1024].fill(0x55);
    (SimDisk::with_files(&files), before)
}

/// Power is lost at each call with which a damaged checkpoint is set aside, and a new one written.
#[test]
fn a_damaged_checkpoint_is_kept_whatever_happens_meanwhile() {
    let (disk, before) = with_damaged_pages();
    let damaged = disk.files()["pages"].clone();
    let crashed = Arc::new(Mutex::new(Vec::new()));
    let (images, mut dice) = (Arc::clone(&crashed), jungle_testkit::Rng::new(7));
    disk.watch(move |call, world| {
        for keep in [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random] {
            if call.kind.changes() {
                let image = world.crash(keep, &mut |below| dice.below(below));
                images.lock().unwrap().push(image);
            }
        }
        Fate::Go
    });
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    assert_eq!(store.report().kept_as, Some("pages.damaged"));
    assert_eq!(portrait(&store), before);
    store.create_tree("new").unwrap();
    store.checkpoint().unwrap();
    disk.unwatch();
    let after = portrait(&store);
    assert_eq!(disk.files()["pages.damaged"], damaged);
    let crashed = std::mem::take(&mut *crashed.lock().unwrap());
    assert!(crashed.len() > 40, "{}", crashed.len());
    for image in crashed {
        let store = options().open_on(Arc::new(image.clone())).unwrap();
        assert!([&before, &after].contains(&&portrait(&store)));
        assert_eq!(image.files()["pages.damaged"], damaged);
    }
}

#[test]
fn a_damaged_checkpoint_goes_with_the_log_that_is_not_kept() {
    let (disk, _) = with_damaged_pages();
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    store.checkpoint().unwrap();
    assert!(disk.files().contains_key("pages.damaged"));
    store.create_tree("short").unwrap().set_retention(Retention::Last(1)).unwrap();
    assert!(store.checkpoint().unwrap().segments > 0);
    assert!(!disk.files().contains_key("pages.damaged"));
}
