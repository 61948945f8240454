//! Backups through a stream: all of it, what is new, and streams that break off or are damaged.

use std::io::{self, Cursor};

use jungle_db::{Retention, Revision, TreeHandle};
use jungle_store::{
    BackupError, BackupProgress, BackupReport, OpenOptions, Progress, STREAM_BYTES_MAX, Store,
    StreamError,
};

use crate::support::{Folder, every_kind_of_commit, portrait, with_checkpoint_of};

/// Small segments, so that there are many.
fn open(folder: &Folder) -> Store {
    OpenOptions::new().segment_bytes(300).open(folder.path()).unwrap()
}

/// With a log that does not go back to its first revision, so that a copy begins with a checkpoint.
fn open_cut(folder: &Folder) -> (Store, TreeHandle) {
    let store = open(folder);
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(3)).unwrap();
    (0..100).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    store.checkpoint().unwrap();
    (store, tree)
}

fn written(store: &Store, since: Revision) -> Result<Vec<u8>, BackupError> {
    let mut bytes = Vec::new();
    store.write_backup(since, &mut bytes, Progress::default()).map(|_| bytes)
}

fn take(store: &Store, copy: &Folder) -> Result<BackupReport, BackupError> {
    OpenOptions::new().take_backup(copy.path(), BackupProgress::default(), |since| {
        written(store, since).map(Cursor::new).map_err(io::Error::other)
    })
}

#[track_caller]
fn check(store: &Store, copy: &Folder) {
    let copy = OpenOptions::new().read_only().open(copy.path()).unwrap();
    assert_eq!(portrait(&copy), portrait(store));
    assert!(copy.report().was_closed && copy.report().cut.is_none());
    copy.verify().unwrap();
}

#[test]
fn everything_comes_through_and_then_only_what_is_new() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    // There may be nothing yet.
    assert_eq!(take(&store, &copy).unwrap().revision.number(), 0);
    check(&store, &copy);
    every_kind_of_commit(&store);
    let all = take(&store, &copy).unwrap();
    assert_eq!((all.before.number(), all.revision), (0, store.revision()));
    check(&store, &copy);
    let tree = store.open_tree("t").unwrap();
    for round in 0..20_u64 {
        (0..round % 4).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
        let before = all.revision.number() + (0..round).map(|round| round % 4).sum::<u64>();
        let report = take(&store, &copy).unwrap();
        assert_eq!((report.before.number(), report.revision), (before, store.revision()));
        assert_eq!(report.bytes > 0, round % 4 > 0, "{report:?}");
        assert!(report.bytes < all.bytes / 2, "{report:?}, {all:?}");
        check(&store, &copy);
    }
    // It is the same copy that is made without a stream.
    assert_eq!(store.backup(copy.path()).unwrap().bytes, 0);
}

#[test]
fn what_the_log_has_no_more_comes_as_a_checkpoint() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let (store, tree) = open_cut(&folder);
    take(&store, &copy).unwrap();
    check(&store, &copy);
    tree.update(|tx| tx.append(&[])).unwrap();
    assert_eq!(take(&store, &copy).unwrap().revision, store.revision());
    check(&store, &copy);

    for since in [5, store.revision().number() + 1] {
        let error = written(&store, Revision::new(since)).unwrap_err();
        assert!(matches!(error, BackupError::OutOfReach { .. }), "{error}");
    }
    // All of it may be sent each time: a copy that has something goes on by the log.
    let take_all = |copy: &Folder| {
        let all = written(&store, Revision::new(0)).unwrap();
        let progress = BackupProgress::default();
        OpenOptions::new().take_backup(copy.path(), progress, |_| Ok(Cursor::new(all)))
    };
    let before = store.revision();
    tree.update(|tx| tx.append(&[])).unwrap();
    let report = take_all(&copy).unwrap();
    assert_eq!((report.before, report.revision), (before, store.revision()));
    check(&store, &copy);
    // It gets no checkpoint of another one put over it.
    let (elsewhere, theirs) = (Folder::new(), Folder::new());
    let other = open(&elsewhere);
    other.create_tree("theirs").unwrap();
    other.backup(theirs.path()).unwrap();
    let taken = take_all(&theirs);
    assert!(matches!(taken, Err(BackupError::Other { .. })), "{taken:?}");
    check(&other, &theirs);
}

#[test]
fn what_cannot_be_asked_for_is_told_and_nothing_is_there() {
    let copy = Folder::new();
    let check_refusal = || {
        let refusal = |since| -> io::Result<io::Empty> {
            assert_eq!(since, Revision::new(0));
            Err(io::Error::other("it is not for you"))
        };
        let progress = BackupProgress::default();
        let refused = OpenOptions::new().take_backup(copy.path(), progress, refusal);
        assert!(matches!(refused, Err(BackupError::Stream(StreamError::Io(_)))), "{refused:?}");
    };
    check_refusal();
    assert!(!copy.path().exists());
    std::fs::create_dir(copy.path()).unwrap();
    check_refusal();
    assert_eq!(std::fs::read_dir(copy.path()).unwrap().count(), 0);
    for (bytes, is_short) in [("JUNG", true), ("something else", false)] {
        let error = refused(STREAM_BYTES_MAX, &copy, bytes.as_bytes());
        let is_expected = match error {
            StreamError::Short => is_short,
            StreamError::NoBackup => !is_short,
            _ => false,
        };
        assert!(is_expected, "{error}");
    }
    let opened = OpenOptions::new().read_only().open(copy.path());
    assert!(opened.is_ok_and(|copy| copy.revision().number() == 0));
}

#[test]
fn a_checkpoint_in_front_of_all_of_the_log_is_gone_before_that_comes() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let (store, (other, _tree)) = (open(&folder), open_cut(&elsewhere));
    every_kind_of_commit(&store);
    let whole = written(&store, Revision::new(0)).unwrap();
    let made_up = with_checkpoint_of(&written(&other, Revision::new(0)).unwrap(), &whole);
    assert!(made_up.len() > whole.len());
    // In the middle of the log; at its end; and with a hash that is of something else.
    for missing in [whole.len() / 2, 40, 0] {
        let copy = Folder::new();
        let error = refused(STREAM_BYTES_MAX, &copy, &made_up[..made_up.len() - missing]);
        assert!(matches!(error, StreamError::Short | StreamError::Hash), "{error:?}");
        assert!(!copy.path().join("pages").exists(), "{missing} bytes did not come");
        let opened = OpenOptions::new().read_only().open(copy.path()).unwrap();
        assert!((1..=store.revision().number()).contains(&opened.revision().number()));
        drop(opened);
        take(&store, &copy).unwrap();
        check(&store, &copy);
    }
}

fn take_at_most(most: u64, copy: &Folder, stream: &[u8]) -> Result<BackupReport, BackupError> {
    let options = OpenOptions::new().stream_bytes_max(most);
    options.take_backup(copy.path(), BackupProgress::default(), |_| Ok(stream))
}

/// Why the stream is not taken.
#[track_caller]
fn refused(most: u64, copy: &Folder, stream: &[u8]) -> StreamError {
    match take_at_most(most, copy, stream) {
        Err(BackupError::Stream(error)) => error,
        taken => panic!("{taken:?}"),
    }
}

#[track_caller]
fn check_too_much(most: u64, copy: &Folder, stream: &[u8]) {
    let error = refused(most, copy, stream);
    assert!(matches!(error, StreamError::TooMuch { .. }), "{error:?}");
}

/// It is too much, and nothing of it is where nothing was.
#[track_caller]
fn check_nothing_is_taken(most: u64, copy: &Folder, stream: &[u8]) {
    check_too_much(most, copy, stream);
    let segments = std::fs::read_dir(copy.path().join("log")).unwrap().count();
    assert_eq!((segments, copy.path().join("pages").exists()), (0, false));
}

/// The stream, which says that the copy gets nothing.
fn understated(mut stream: Vec<u8>) -> Vec<u8> {
    stream[20..28].fill(0);
    stream
}

#[test]
fn a_stream_that_unpacks_to_too_much_leaves_nothing_where_nothing_was() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    every_kind_of_commit(&store);
    let stream = written(&store, Revision::new(0)).unwrap();
    // It is refused by what it says, or, where it says nothing, by what comes.
    for stream in [&stream, &understated(stream.clone())] {
        check_nothing_is_taken(1_000, &copy, stream);
    }
    // A limit that is enough for all the files is enough.
    let bytes = store.disk_usage().unwrap().log_bytes;
    check_nothing_is_taken(bytes - 1, &copy, &stream);
    assert_eq!(take_at_most(bytes, &copy, &stream).unwrap().revision, store.revision());
    check(&store, &copy);
}

#[test]
fn a_checkpoint_that_unpacks_to_too_much_leaves_nothing() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let (store, _tree) = open_cut(&folder);
    // A slab has 65,536 bytes, however few come.
    let stream = understated(written(&store, Revision::new(0)).unwrap());
    check_nothing_is_taken(100_000, &copy, &stream);
    take(&store, &copy).unwrap();
    check(&store, &copy);
}

#[test]
fn what_a_copy_had_stays_when_what_is_new_is_too_much() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = open(&folder);
    let tree = store.create_tree("t").unwrap();
    let had = take(&store, &copy).unwrap().revision;
    (0..100).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    let stream = understated(written(&store, had).unwrap());
    check_too_much(1_000, &copy, &stream);
    let opened = OpenOptions::new().read_only().open(copy.path()).unwrap();
    assert!((had..store.revision()).contains(&opened.revision()));
    assert!(!opened.report().was_closed);
    drop(opened);
    assert_eq!(take(&store, &copy).unwrap().revision, store.revision());
    check(&store, &copy);
}

/// Whatever becomes of a stream on its way: it is told, what a copy had is there, and the next one
/// completes it.
#[cfg(feature = "sim")]
#[test]
fn a_stream_that_breaks_off_or_is_damaged_is_never_taken_for_a_backup() {
    use std::sync::Arc;

    use jungle_store::OpenError;
    use jungle_store::disk::sim::SimDisk;
    use jungle_testkit::for_each_seed;

    let folder = Folder::new();
    let store = open(&folder);
    let tree = store.create_tree("t").unwrap();
    let first = SimDisk::new();
    store.backup_on(Arc::new(first.clone())).unwrap();
    (0..30).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    let take = |to: &SimDisk, bytes: &[u8]| {
        let progress = BackupProgress::default();
        OpenOptions::new().take_backup_on(Arc::new(to.clone()), progress, |_| Ok(bytes))
    };
    let read = |disk: &SimDisk| OpenOptions::new().read_only().open_on(Arc::new(disk.clone()));
    for_each_seed(150, |rng| {
        let (start, had) = if rng.below(2) == 0 { (SimDisk::new(), 0) } else { (first.clone(), 1) };
        let bytes = written(&store, Revision::new(had)).unwrap();
        let mut damaged = bytes.clone();
        match rng.below(4) {
            0 => damaged.truncate(rng.index(bytes.len())),
            1 => damaged.truncate(bytes.len() - 1 - rng.index(40)),
            2 => damaged.push(0),
            _ => damaged[rng.index(bytes.len())] ^= 1 << rng.below(8),
        }
        let to = SimDisk::with_files(&start.files());
        let error = take(&to, &damaged).unwrap_err();
        assert!(matches!(error, BackupError::Stream(_) | BackupError::Source(_)), "{error:?}");
        match read(&to) {
            Ok(copy) => {
                let revision = copy.revision().number();
                assert!(revision >= had && copy.revision() <= store.revision(), "{revision}");
                assert!(!copy.report().was_closed || revision == had, "{revision}");
            }
            // Nothing was there, and nothing came.
            Err(OpenError::Nothing { .. }) => assert_eq!(had, 0),
            Err(error) => panic!("{error}"),
        }
        let (again, progress) = (Arc::new(to.clone()), BackupProgress::default());
        let completed = OpenOptions::new().take_backup_on(again, progress, |since| {
            written(&store, since).map(Cursor::new).map_err(io::Error::other)
        });
        assert_eq!(completed.unwrap().revision, store.revision());
        let copy = read(&to).unwrap();
        assert!(copy.report().was_closed);
        assert_eq!(portrait(&copy), portrait(&store));
    });
}

/// The same where the checkpoint comes first: nothing of one that was not all there stays.
#[cfg(feature = "sim")]
#[test]
fn a_checkpoint_that_breaks_off_or_is_damaged_is_made_good_by_the_next_one() {
    use std::sync::Arc;

    use jungle_store::disk::sim::SimDisk;
    use jungle_testkit::for_each_seed;

    let folder = Folder::new();
    let (store, _tree) = open_cut(&folder);
    let bytes = written(&store, Revision::new(0)).unwrap();
    for_each_seed(60, |rng| {
        let to = SimDisk::new();
        let take = |bytes: &[u8]| {
            let progress = BackupProgress::default();
            OpenOptions::new().take_backup_on(Arc::new(to.clone()), progress, |_| Ok(bytes))
        };
        let read = || OpenOptions::new().read_only().open_on(Arc::new(to.clone()));
        let mut damaged = bytes.clone();
        match rng.below(2) {
            0 => damaged.truncate(rng.index(bytes.len())),
            _ => damaged[rng.index(bytes.len())] ^= 1 << rng.below(8),
        }
        take(&damaged).unwrap_err();
        if let Ok(copy) = read() {
            // Where nothing is, nothing was left open.
            assert!(copy.revision().number() == 0 || !copy.report().was_closed);
        }
        assert_eq!(take(&bytes).unwrap().revision, store.revision());
        let copy = read().unwrap();
        assert!(copy.report().was_closed);
        assert_eq!(portrait(&copy), portrait(&store));
    });
}
