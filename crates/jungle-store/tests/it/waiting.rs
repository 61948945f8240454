//! Whoever opens a folder to write can wait for those who only read it.

use std::io::{self, Cursor};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
use jungle_store::disk::{Disk, Mode};
use jungle_store::{BackupError, BackupProgress, OpenError, OpenOptions, Progress, Store};

fn open(options: OpenOptions, disk: &SimDisk) -> Result<Store, OpenError> {
    options.open_on(Arc::new(disk.clone()))
}

fn patient() -> OpenOptions {
    OpenOptions::new().wait_for_readers(Duration::from_secs(600))
}

fn is_locked<T>(opened: Result<T, OpenError>) -> bool {
    matches!(opened, Err(OpenError::Locked { .. }))
}

/// Does some work, which waits for a reader of this disk. While it waits, something else is done,
/// and then the reader goes.
fn beside_a_reader<T: Send>(
    disk: &SimDisk,
    meanwhile: impl FnOnce(),
    work: impl FnOnce() -> T + Send,
) -> T {
    let reader = open(OpenOptions::new().read_only(), disk).unwrap();
    let (tell, told) = mpsc::channel();
    let (waits, mut locks) = (tell.clone(), 0);
    disk.watch(move |call, _| {
        locks += i32::from(call.kind == CallKind::Lock);
        // The first was refused, the second found that it is only read.
        if locks == 3 {
            let _ = waits.send(());
        }
        Fate::Go
    });
    let done = thread::scope(|scope| {
        let working = scope.spawn(move || {
            let done = work();
            let _ = tell.send(());
            done
        });
        told.recv().unwrap();
        meanwhile();
        drop(reader);
        working.join().unwrap()
    });
    disk.unwatch();
    done
}

#[test]
fn a_writer_waits_for_readers_and_not_for_another_writer() {
    let disk = SimDisk::new();
    open(OpenOptions::new(), &disk).unwrap().close().unwrap();
    let reader = open(OpenOptions::new().read_only(), &disk).unwrap();
    let brief = OpenOptions::new().wait_for_readers(Duration::from_millis(1));
    for options in [OpenOptions::new(), brief] {
        assert!(is_locked(open(options, &disk)));
    }
    drop(reader);
    let writer = beside_a_reader(&disk, || (), || open(patient(), &disk)).unwrap();
    assert!(is_locked(open(patient(), &disk)));
    writer.create_tree("t").unwrap();
}

#[test]
fn who_waits_locks_the_folder_that_is_there_in_the_end() {
    let disk = SimDisk::new();
    open(OpenOptions::new(), &disk).unwrap().close().unwrap();
    let replace = || {
        let mark = &disk.files()["LOCK"];
        let file = disk.open("new", Mode::CreateNew).unwrap();
        assert_eq!(file.write_at(mark, 0).unwrap(), mark.len());
        disk.rename("new", "LOCK").unwrap();
    };
    let writer = beside_a_reader(&disk, replace, || open(patient(), &disk)).unwrap();
    assert!(is_locked(open(OpenOptions::new(), &disk)));
    writer.create_tree("t").unwrap();
}

#[test]
fn a_backup_waits_for_those_who_read_the_copy() {
    let (disk, copy) = (SimDisk::new(), SimDisk::new());
    let backup = |store: &Store| store.backup_on(Arc::new(copy.clone()));
    let is_refused = |error| matches!(error, BackupError::Target(OpenError::Locked { .. }));
    let store = open(OpenOptions::new(), &disk).unwrap();
    store.create_tree("one").unwrap();
    backup(&store).unwrap();
    let reader = open(OpenOptions::new().read_only(), &copy).unwrap();
    assert!(is_refused(backup(&store).unwrap_err()));
    drop((reader, store));

    let store = open(patient(), &disk).unwrap();
    store.create_tree("two").unwrap();
    let report = beside_a_reader(&copy, || (), || backup(&store)).unwrap();
    assert_eq!((report.before.number(), report.revision.number()), (1, 2));

    store.create_tree("three").unwrap();
    let take = || {
        patient().take_backup_on(Arc::new(copy.clone()), BackupProgress::default(), |since| {
            let mut bytes = Vec::new();
            let written = store.write_backup(since, &mut bytes, Progress::default());
            written.map(|_| Cursor::new(bytes)).map_err(io::Error::other)
        })
    };
    let report = beside_a_reader(&copy, || (), take).unwrap();
    assert_eq!((report.before.number(), report.revision.number()), (2, 3));
}
