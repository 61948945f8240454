//! Backups: full, of what is new, and interrupted ones.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::{Durability, Retention, Revision};
use jungle_store::{BackupError, BackupProgress, OpenError, OpenOptions, Progress, Store};

use crate::support::{Folder, every_kind_of_commit, portrait};

/// Small segments, so that there are many.
fn open(folder: &Folder) -> Store {
    OpenOptions::new().segment_bytes(300).open(folder.path()).unwrap()
}

#[track_caller]
fn check(store: &Store, copy: &Folder) {
    let copy = OpenOptions::new().read_only().open(copy.path()).unwrap();
    assert_eq!(portrait(&copy), portrait(store));
    assert!(copy.report().was_closed && copy.report().cut.is_none());
}

#[test]
fn a_backup_has_all_that_was_committed_and_goes_on_as_its_own() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    every_kind_of_commit(&store);
    let report = store.backup(copy.path()).unwrap();
    assert_eq!((report.revision, report.before.number()), (store.revision(), 0));
    check(&store, &copy);
    assert!(OpenOptions::new().read_only().open(copy.path()).unwrap().report().segments > 3);
    let other = Store::open(copy.path()).unwrap();
    other.create_tree("only here").unwrap();
    drop(other);
    let error = store.backup(copy.path()).unwrap_err();
    assert!(matches!(error, BackupError::Other { .. }), "{error}");
    assert_eq!(Store::open(copy.path()).unwrap().list_trees().len(), 3);
}

#[test]
fn only_what_is_new_is_copied() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    let tree = store.create_tree("t").unwrap();
    let mut all = 0;
    for round in 0..40_u64 {
        let before = store.backup(copy.path()).unwrap().revision;
        for _ in 0..round % 4 {
            tree.update(|tx| tx.append(&[])).unwrap();
        }
        let report = store.backup(copy.path()).unwrap();
        assert_eq!((report.before, report.revision), (before, store.revision()));
        assert_eq!(report.bytes > 0, round % 4 > 0, "{report:?}");
        all += report.bytes;
        check(&store, &copy);
    }
    assert!(store.report().segments == 0 && all < 60 * 100, "{all} bytes for 60 commits");
}

/// How many bytes are read of both disks for a backup that has nothing to copy but a commit, behind
/// a history of so many.
#[cfg(feature = "sim")]
fn bytes_read_behind(commits: usize) -> usize {
    use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
    use std::sync::atomic::AtomicUsize;

    let (from, to) = (SimDisk::new(), SimDisk::new());
    let options = OpenOptions::new().segment_bytes(4096);
    let store = options.open_on(Arc::new(from.clone())).unwrap();
    let tree = store.create_tree("t").unwrap();
    (0..commits).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    store.backup_on(Arc::new(to.clone())).unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();

    let bytes = Arc::new(AtomicUsize::new(0));
    for disk in [&from, &to] {
        let read = Arc::clone(&bytes);
        disk.watch(move |call, _| {
            let len = if call.kind == CallKind::Read { call.len } else { 0 };
            read.fetch_add(len, Ordering::Relaxed);
            Fate::Go
        });
    }
    let report = store.backup_on(Arc::new(to.clone())).unwrap();
    assert_eq!(report.revision.number(), report.before.number() + 1);
    [from, to].iter().for_each(SimDisk::unwatch);
    bytes.load(Ordering::Relaxed)
}

#[cfg(feature = "sim")]
#[test]
fn what_is_read_for_a_backup_does_not_grow_with_what_is_there() {
    let (short, long) = (bytes_read_behind(200), bytes_read_behind(4_000));
    assert!(long <= short + 2 * 4096 && long < 10 * 4096, "{short} and {long} bytes");
}

#[test]
fn a_segment_that_a_backup_has_lost_is_missed() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    every_kind_of_commit(&store);
    store.backup(copy.path()).unwrap();
    let log = fs::read_dir(copy.path().join("log")).unwrap();
    let mut segments: Vec<_> = log.map(|file| file.unwrap().path()).collect();
    segments.sort_unstable();
    fs::remove_file(&segments[1]).unwrap();
    let error = store.backup(copy.path()).unwrap_err();
    assert!(matches!(error, BackupError::Target(OpenError::Missing { .. })), "{error}");
}

/// What the copying of a backup tells.
fn told_of_copying(store: &Store, copy: &Folder) -> Vec<(u64, u64)> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let copying = Progress::new(move |done, total| telling.lock().unwrap().push((done, total)));
    let progress = BackupProgress { copying, ..BackupProgress::default() };
    store.backup_telling(copy.path(), progress).unwrap();
    Arc::into_inner(told).expect("it is dropped then").into_inner().unwrap()
}

#[test]
fn copying_is_told_up_to_all_there_is() {
    let (folder, first, second) = (Folder::new(), Folder::new(), Folder::new());
    let store = open(&folder);
    every_kind_of_commit(&store);
    let log = told_of_copying(&store, &first);
    assert!(log.len() > 3 && log.is_sorted(), "{log:?}");
    let usage = store.disk_usage().unwrap();
    assert_eq!(log.last(), Some(&(usage.log_bytes, usage.log_bytes)));
    // Of what is there already only the last segment is gone through.
    let again = told_of_copying(&store, &first);
    assert_eq!(again, [(again[0].1, again[0].1)]);
    assert!(again[0].1 < usage.log_bytes / 3, "{again:?}, {usage:?}");
    store.create_tree("short").unwrap().set_retention(Retention::Last(1)).unwrap();
    store.checkpoint().unwrap();
    let both = told_of_copying(&store, &second);
    let (usage, &(done, total)) = (store.disk_usage().unwrap(), both.last().unwrap());
    assert!(both.is_sorted() && done == total && total <= usage.total(), "{both:?}, {usage:?}");
    assert!(total > usage.pages_bytes / 2, "the checkpoint is copied, too");
}

#[test]
fn what_was_acknowledged_in_memory_only_is_backed_up_too() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let options = OpenOptions::new().durability(Durability::Memory);
    let store = options.open(folder.path()).unwrap();
    store.create_tree("t").unwrap();
    store.backup(copy.path()).unwrap();
    check(&store, &copy);
}

#[test]
fn a_read_only_jungle_is_backed_up_without_a_torn_end() {
    let (folder, copy) = (Folder::new(), Folder::new());
    every_kind_of_commit(&open(&folder));
    fs::write(folder.path().join("LOCK"), "").unwrap();
    let log = folder.path().join("log");
    let files = fs::read_dir(&log).unwrap().map(|file| file.unwrap().path());
    let last = files.filter(|path| path.extension().is_some()).max().unwrap();
    let mut bytes = fs::read(&last).unwrap();
    bytes.extend_from_slice(b"torn");
    fs::write(&last, bytes).unwrap();
    let store = OpenOptions::new().read_only().open(folder.path()).unwrap();
    assert!(store.report().cut.is_some());
    store.backup(copy.path()).unwrap();
    check(&store, &copy);
}

#[test]
fn a_folder_that_has_lost_its_log_is_not_taken_for_a_copy_that_is_begun() {
    let (folder, other) = (Folder::new(), Folder::new());
    let store = open(&folder);
    every_kind_of_commit(&store);
    let mut stream = Vec::new();
    store.write_backup(Revision::new(0), &mut stream, Progress::default()).unwrap();

    let damaged = Store::open(other.path()).unwrap();
    damaged.create_tree("only here").unwrap();
    damaged.checkpoint().unwrap();
    damaged.close().unwrap();
    for segment in fs::read_dir(other.path().join("log")).unwrap() {
        fs::remove_file(segment.unwrap().path()).unwrap();
    }
    let pages = || fs::read(other.path().join("pages")).unwrap();
    let before = pages();
    let taken = OpenOptions::new()
        .take_backup(other.path(), BackupProgress::default(), |_| Ok(&stream[..]));
    for copied in [store.backup(other.path()), taken] {
        let error = copied.unwrap_err();
        assert!(matches!(error, BackupError::Target(OpenError::Missing { .. })), "{error}");
    }
    assert!(pages() == before, "what was left is gone");
}

#[test]
fn other_folders_are_left_alone() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    every_kind_of_commit(&store);
    fs::create_dir_all(copy.path()).unwrap();
    fs::write(copy.path().join("letter"), "Dear").unwrap();
    let target = |error| matches!(error, BackupError::Target(OpenError::NotAJungle { .. }));
    assert!(target(store.backup(copy.path()).unwrap_err()));
    assert_eq!(fs::read_dir(copy.path()).unwrap().count(), 1);

    let locked = |error| matches!(error, BackupError::Target(OpenError::Locked { .. }));
    assert!(locked(store.backup(folder.path()).unwrap_err()));
    let elsewhere = Folder::new();
    let other = Store::open(elsewhere.path()).unwrap();
    other.create_tree("theirs").unwrap();
    assert!(locked(store.backup(elsewhere.path()).unwrap_err()));
    drop(other);
    let error = store.backup(elsewhere.path()).unwrap_err();
    assert!(matches!(error, BackupError::Other { .. }), "{error}");
    assert_eq!(Store::open(elsewhere.path()).unwrap().list_trees().len(), 1);
}

/// Power is lost at each call that changes the disk of the copy: what is there is always a Jungle,
/// with no less than before, and the next backup completes it.
#[cfg(feature = "sim")]
#[test]
fn an_interrupted_backup_is_whole_and_completed_by_the_next() {
    use jungle_store::disk::sim::{Fate, Keep, SimDisk};
    use jungle_testkit::Rng;
    use std::sync::{Arc, Mutex};

    let open =
        |disk: &SimDisk| OpenOptions::new().segment_bytes(300).open_on(Arc::new(disk.clone()));
    let from = SimDisk::new();
    let store = open(&from).unwrap();
    let tree = store.create_tree("t").unwrap();
    let first = SimDisk::new();
    store.backup_on(Arc::new(first.clone())).unwrap();
    for _ in 0..12 {
        tree.update(|tx| tx.append(&[])).unwrap();
    }
    let mut crashes = 0;
    for (before, start) in [(0, SimDisk::new()), (1, first)] {
        for call in 0.. {
            let target = SimDisk::with_files(&start.files());
            let left = Arc::new(Mutex::new(call));
            target.watch(move |call, _| {
                let mut left = left.lock().unwrap();
                match (call.kind.changes(), *left) {
                    (true, 0) => Fate::Fail(5),
                    (true, _) => {
                        *left -= 1;
                        Fate::Go
                    }
                    _ => Fate::Go,
                }
            });
            let done = store.backup_on(Arc::new(target.clone()));
            target.unwatch();
            for (seed, keep) in
                [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random].into_iter().enumerate()
            {
                let mut rng = Rng::new(seed as u64 + 100 * call);
                let crashed = target.world().crash(keep, &mut |n| rng.below(n));
                let what = format!("call {call}, {keep:?}, from revision {before}");
                let copy = open(&crashed).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(copy.revision().number() >= before, "{what}");
                assert!(done.is_err() || copy.revision() == store.revision(), "{what}");
                drop(copy);
                let crashed = target.world().crash(keep, &mut |n| rng.below(n));
                store.backup_on(Arc::new(crashed.clone())).unwrap();
                assert_eq!(portrait(&open(&crashed).unwrap()), portrait(&store), "{what}");
                crashes += 1;
            }
            if done.is_ok() {
                break;
            }
        }
    }
    assert!(crashes > 100, "{crashes}");
}

#[test]
fn a_backup_that_is_given_up_is_whole_and_completed_by_the_next() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    let tree = store.create_tree("t").unwrap();
    store.backup(copy.path()).unwrap();
    (0..1100).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    let given_up = Arc::new(AtomicBool::new(true));
    let error = store
        .backup_telling(copy.path(), BackupProgress::default().until(Arc::clone(&given_up)))
        .unwrap_err();
    assert!(matches!(error, BackupError::Source(OpenError::GivenUp)), "{error}");
    let opened = OpenOptions::new().read_only().open(copy.path()).unwrap();
    assert_eq!(opened.revision().number(), 1);
    drop(opened);

    // All of a first one is copied then, and not yet opened.
    let copy = Folder::new();
    given_up.store(false, Ordering::SeqCst);
    let giving_up = Arc::clone(&given_up);
    let checking = Progress::new(move |_, _| giving_up.store(true, Ordering::SeqCst));
    let progress = BackupProgress { checking, ..BackupProgress::default() };
    let error = store.backup_telling(copy.path(), progress.until(given_up)).unwrap_err();
    assert!(matches!(error, BackupError::Target(OpenError::GivenUp)), "{error}");
    // So the next one does that, and only that one.
    for checks in [true, false] {
        let opened = Arc::new(AtomicBool::new(false));
        let opening = Arc::clone(&opened);
        let checking = Progress::new(move |_, _| opening.store(true, Ordering::SeqCst));
        let progress = BackupProgress { checking, ..BackupProgress::default() };
        let report = store.backup_telling(copy.path(), progress).unwrap();
        assert_eq!((report.before, report.revision), (store.revision(), store.revision()));
        assert_eq!(opened.load(Ordering::SeqCst), checks);
        check(&store, &copy);
    }
}

#[test]
fn a_backup_says_that_the_log_is_damaged_though_nothing_follows_that() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = Store::open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    (0..9).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    let log = folder.path().join("log/00000000000000000001.log");
    let mut bytes = fs::read(&log).unwrap();
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[last - 30] ^= 1;
    fs::write(&log, bytes).unwrap();
    let error = store.backup(copy.path()).unwrap_err();
    assert!(matches!(error, BackupError::Source(OpenError::Damaged { .. })), "{error}");
}

/// What is done behind the back of a backup, once, at such a call to the disk it goes to.
#[cfg(feature = "sim")]
fn meanwhile(
    to: &jungle_store::disk::sim::SimDisk,
    at: jungle_store::disk::sim::CallKind,
    done: impl FnOnce() + Send + 'static,
) {
    let mut done = Some(done);
    to.watch(move |call, _| {
        if call.kind == at
            && let Some(done) = done.take()
        {
            done();
        }
        jungle_store::disk::sim::Fate::Go
    });
}

#[cfg(feature = "sim")]
#[test]
fn what_may_be_lost_with_the_power_is_not_backed_up() {
    use jungle_store::disk::sim::{CallKind, Keep, SimDisk};

    for (segment_bytes, more, is_first) in
        [300, 4096].into_iter().flat_map(|bytes| (1..9i64).map(move |n| (bytes, n, n % 2 == 0)))
    {
        let options =
            || OpenOptions::new().segment_bytes(segment_bytes).durability(Durability::Buffered);
        let (from, to) = (SimDisk::new(), SimDisk::new());
        let store = options().open_on(Arc::new(from.clone())).unwrap();
        let tree = store.create_tree("t").unwrap();
        if !is_first {
            store.backup_on(Arc::new(to.clone())).unwrap();
        }
        tree.update(|tx| tx.put_attribute(&[], "n", -1)).unwrap();
        let newest = store.revision();
        // Written, and not synced, behind what the backup waited for.
        meanwhile(&to, CallKind::CreateFolder, move || {
            (0..more).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
        });
        let report = store.backup_on(Arc::new(to.clone())).unwrap();
        to.unwatch();
        let what = format!("{more} more, segments of {segment_bytes} bytes");
        assert_eq!(report.revision, newest, "{what}");
        assert_eq!(store.revision().number(), newest.number() + more as u64, "{what}");

        let left = from.world().crash(Keep::Nothing, &mut |_| 0);
        drop(store);
        let store = options().open_on(Arc::new(left)).unwrap();
        assert!(store.revision() >= newest, "{what}");
        let tree = store.open_tree("t").unwrap();
        tree.update(|tx| tx.put_attribute(&[], "other", true)).unwrap();
        let again = store.backup_on(Arc::new(to.clone()));
        let again = again.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((again.before, again.revision), (newest, store.revision()), "{what}");
        let copy = OpenOptions::new().read_only().open_on(Arc::new(to)).unwrap();
        assert_eq!(portrait(&copy), portrait(&store), "{what}");
    }
}

/// It was written, and nobody has synced it.
#[cfg(feature = "sim")]
#[test]
fn what_a_killed_process_has_left_lasts_once_it_is_backed_up() {
    use jungle_store::disk::sim::{CallKind, Fate, Keep, SimDisk};

    for is_stream in [false, true] {
        let options = || OpenOptions::new().durability(Durability::Buffered);
        let (from, to) = (SimDisk::new(), SimDisk::new());
        let store = options().open_on(Arc::new(from.clone())).unwrap();
        store.create_tree("t").unwrap().update(|tx| tx.append(&[])).unwrap();
        let newest = store.revision();
        // Nothing comes to the disk any more, but for its lock that is given back.
        from.watch(|call, _| match call.kind {
            CallKind::Sync | CallKind::SyncFolder => Fate::Lie,
            kind if kind.changes() => Fate::Fail(5),
            _ => Fate::Go,
        });
        drop(store);
        from.unwatch();

        let killed = OpenOptions::new().read_only().open_on(Arc::new(from.clone())).unwrap();
        assert!(!killed.report().was_closed && killed.revision() == newest);
        let back_up = |store: &Store, since| {
            if !is_stream {
                return store.backup_on(Arc::new(to.clone())).unwrap().revision;
            }
            let mut bytes = Vec::new();
            store.write_backup(since, &mut bytes, Progress::default()).unwrap();
            let (to, progress) = (Arc::new(to.clone()), BackupProgress::default());
            let taken = OpenOptions::new().take_backup_on(to, progress, |_| Ok(&bytes[..]));
            taken.unwrap().revision
        };
        assert_eq!(back_up(&killed, Revision::new(0)), newest);
        drop(killed);
        let left = from.world().crash(Keep::Nothing, &mut |_| 0);
        let store = options().open_on(Arc::new(left)).unwrap();
        assert_eq!(store.revision(), newest);
        store.open_tree("t").unwrap().update(|tx| tx.append(&[])).unwrap();
        assert_eq!(back_up(&store, newest), store.revision());
    }
}

#[cfg(feature = "sim")]
#[test]
fn a_backup_has_all_of_a_checkpoint_that_is_written_as_it_begins() {
    use jungle_store::disk::sim::{CallKind, SimDisk};

    let to = SimDisk::new();
    let options = OpenOptions::new().segment_bytes(300).checkpoint_every(u64::MAX);
    let store = Arc::new(options.open_on(Arc::new(SimDisk::new())).unwrap());
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(2)).unwrap();
    let writing = Arc::clone(&store);
    meanwhile(&to, CallKind::Lock, move || {
        (0..9).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
        assert!(writing.checkpoint().unwrap().segments > 0);
    });
    store.backup_on(Arc::new(to.clone())).unwrap();
    to.unwatch();
    let copy = OpenOptions::new().read_only().open_on(Arc::new(to)).unwrap();
    assert_eq!(portrait(&copy), portrait(&store));
}

/// A first copy begins with the checkpoint, which may be ahead of the segment that comes first.
#[cfg(feature = "sim")]
#[test]
fn a_first_copy_that_is_interrupted_is_whole_or_misses_segments_and_is_not_damaged() {
    use jungle_store::disk::sim::{Fate, Keep, SimDisk};

    // What is in memory only reaches the log in one group as a checkpoint is written, which knows
    // its place in the log by then.
    let options = OpenOptions::new().segment_bytes(300).checkpoint_every(u64::MAX);
    let store = options.durability(Durability::Memory).open_on(Arc::new(SimDisk::new())).unwrap();
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(2)).unwrap();
    let mut trimmed = 0;
    for n in 0..40_i64 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
        if n % 10 == 9 {
            trimmed += store.checkpoint().unwrap().segments;
        }
    }
    assert!(trimmed > 0);
    let (to, images) = (SimDisk::new(), Arc::new(Mutex::new(Vec::new())));
    let kept = Arc::clone(&images);
    to.watch(move |call, world| {
        if call.kind.changes() {
            kept.lock().unwrap().push(world.crash(Keep::All, &mut |_| 0));
        }
        Fate::Go
    });
    store.backup_on(Arc::new(to.clone())).unwrap();
    to.unwatch();
    let mut missing = 0;
    for image in images.lock().unwrap().iter() {
        let has_checkpoint = image.files().contains_key("pages");
        let copy = Arc::new(SimDisk::with_files(&image.files()));
        match OpenOptions::new().open_on(copy) {
            Ok(_) => {}
            Err(OpenError::Missing { .. }) if has_checkpoint => missing += 1,
            Err(error) => panic!("{error}"),
        }
        store.backup_on(Arc::new(image.clone())).unwrap();
        let copy = OpenOptions::new().read_only().open_on(Arc::new(image.clone())).unwrap();
        assert_eq!(portrait(&copy), portrait(&store));
    }
    assert!(missing > 0);
}

/// Opening a copy reads a part of its checkpoint only.
#[cfg(feature = "sim")]
#[test]
fn a_copy_of_a_checkpoint_of_which_a_write_was_lost_is_no_backup() {
    use jungle_store::disk::sim::{Call, CallKind, Fate, SimDisk};

    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
    let store = options.open_on(Arc::new(SimDisk::new())).unwrap();
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(600)).unwrap();
    (0..1200_i64).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    // A copy begins with the checkpoint.
    assert!(store.checkpoint().unwrap().segments > 0);
    let mut refused = 0;
    for at in 0.. {
        let to = SimDisk::new();
        let is_write =
            |call: &Call<'_>| call.kind == CallKind::Write && call.name.starts_with("pages");
        let (copied, is_met) =
            to.inject_among(is_write, at, Fate::Lie, || store.backup_on(Arc::new(to.clone())));
        if !is_met {
            break;
        }
        if copied.is_err() {
            refused += 1;
            continue;
        }
        let copy = OpenOptions::new().read_only().open_on(Arc::new(to)).unwrap();
        copy.verify().unwrap_or_else(|error| panic!("write {at} was lost: {error}"));
    }
    assert!(refused > 3, "{refused}");
}
