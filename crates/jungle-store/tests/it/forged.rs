//! A checkpoint whose slabs somebody changed, with all hashes as they should be: that is told, or
//! it makes no difference, and nothing panics.

use std::collections::BTreeMap;
use std::sync::Arc;

use jungle_db::{Retention, Revision};
use jungle_store::disk::sim::SimDisk;
use jungle_store::pages::{EnginePages, Pages, PagesOptions, Table};
use jungle_store::{BackupError, BackupProgress, OpenOptions, Progress, Store, StreamError};
use jungle_testkit::{Rng, for_each_seed};

use crate::support::{every_kind_of_commit, with_checkpoint_of};

type Files = BTreeMap<String, Vec<u8>>;

fn options() -> OpenOptions {
    OpenOptions::new().checkpoint_every(u64::MAX)
}

/// A folder with indexes in its checkpoint, and commits behind it if `tail` says so.
fn folder(tail: i64) -> Files {
    let disk = SimDisk::new();
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    every_kind_of_commit(&store);
    let tree = store.open_tree("t").unwrap();
    tree.create_index("b").unwrap();
    tree.index("b", &tree.snapshot()).unwrap();
    store.checkpoint().unwrap();
    for n in 0..tail {
        tree.update(|tx| tx.append(&[]).and_then(|key| tx.put_attribute(&[key], "b", n))).unwrap();
    }
    drop(tree);
    store.close().unwrap();
    disk.files()
}

/// What is newest on each branch, and what the indexes find on the main one.
fn newest(store: &Store) -> Vec<String> {
    let mut seen = Vec::new();
    for name in store.list_trees() {
        let main = store.open_tree(&name).unwrap();
        for branch in main.list_branches() {
            let head = main.on_branch(&branch).unwrap();
            let version = head.snapshot();
            seen.push(format!("{name} {branch} {}", version.root().content_hash()));
        }
        for key in main.list_indexes() {
            let index = main.index(&key, &main.snapshot()).unwrap().unwrap();
            let paths: Vec<String> = index.range(..).map(|path| path.to_string()).collect();
            seen.push(format!("{key:?} {paths:?}"));
        }
    }
    seen
}

fn open_pages(disk: &SimDisk) -> EnginePages {
    EnginePages::open(Arc::new(disk.clone()), PagesOptions::default()).unwrap()
}

/// The folder with one or two words of one slab changed.
fn forged(files: &Files, rng: &mut Rng) -> SimDisk {
    let disk = SimDisk::with_files(files);
    let pages = open_pages(&disk);
    let key = *rng.pick(&pages.keys(Table::Slabs, 0..=u64::MAX).unwrap());
    let mut slab = pages.get(Table::Slabs, key).unwrap().unwrap();
    // Slabs of what was freed are empty.
    let used: Vec<usize> = (0..slab.len()).filter(|&at| at < 64 || slab[at] != 0).collect();
    for _ in 0..rng.range(1..3) {
        let at = *rng.pick(&used);
        slab[at] = [0, 1, 0xff, slab[at] ^ 1 << rng.below(8), rng.below(256) as u8][rng.index(5)];
    }
    let mut checkpoint = pages.begin().unwrap();
    checkpoint.put(Table::Slabs, key, &slab).unwrap();
    checkpoint.commit().unwrap();
    drop(pages);
    disk
}

#[test]
fn a_forged_checkpoint_is_told_by_verify_and_survey() {
    let files = [0, 30].map(folder);
    let whole = files.each_ref().map(|files| {
        let store = options().open_on(Arc::new(SimDisk::with_files(files))).unwrap();
        newest(&store)
    });
    for_each_seed(300, |rng| {
        let which = rng.index(2);
        let disk = forged(&files[which], rng);
        let checked = || options().read_only().checked().open_on(Arc::new(disk.clone()));
        if let Ok(store) = checked() {
            let verified = store.verify();
            let surveyed = store.survey(&Progress::default()).unwrap();
            // A survey looks at a checkpoint that cannot be opened, too.
            assert!(verified.is_ok() || !surveyed.damages.is_empty(), "{verified:?}");
            // What looking at indexes has changed may use what another tree says it has.
            if verified.is_ok() {
                assert_eq!(newest(&checked().unwrap()), whole[which], "it was found whole");
            }
        }
        // For writing, too.
        drop(options().open_on(Arc::new(disk.clone())));
    });
}

/// A folder with a checkpoint, of which the log does not go back to the first revision.
fn cut_folder() -> Files {
    let disk = SimDisk::new();
    let store = options().segment_bytes(300).open_on(Arc::new(disk.clone())).unwrap();
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(3)).unwrap();
    (0..100).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    store.checkpoint().unwrap();
    drop(tree);
    store.close().unwrap();
    disk.files()
}

fn written(store: &Store) -> Vec<u8> {
    let mut stream = Vec::new();
    store.write_backup(Revision::new(0), &mut stream, Progress::default()).unwrap();
    stream
}

/// What a stream brings is forged as easily. What is taken is no worse than what is opened as
/// checked.
#[test]
fn a_forged_checkpoint_that_a_stream_brings_is_looked_at() {
    let files = cut_folder();
    for_each_seed(100, |rng| {
        let store = options().read_only().open_on(Arc::new(forged(&files, rng)));
        let Ok(store) = store else { return };
        let stream = written(&store);
        let (copy, progress) = (SimDisk::new(), BackupProgress::default());
        let to = Arc::new(copy.clone());
        let taken = options().take_backup_on(to, progress, |_| Ok(stream.as_slice()));
        match taken {
            Ok(_) => {
                options().read_only().checked().open_on(Arc::new(copy)).unwrap();
            }
            Err(error) => assert!(matches!(error, BackupError::Target(_)), "{error}"),
        }
    });
}

/// So is one of which the rest did not come, also where it is no stream that completes the copy.
#[test]
fn a_forged_checkpoint_of_a_stream_that_broke_off_is_looked_at() {
    let files = cut_folder();
    let disk = Arc::new(SimDisk::with_files(&files));
    let store = options().segment_bytes(300).open_on(disk).unwrap();
    let tree = store.open_tree("t").unwrap();
    (0..30).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    let whole = written(&store);
    for_each_seed(100, |rng| {
        let theirs = options().read_only().open_on(Arc::new(forged(&files, rng)));
        let Ok(theirs) = theirs else { return };
        let stream = with_checkpoint_of(&written(&theirs), &whole);
        let (copy, progress) = (SimDisk::new(), BackupProgress::default());
        let to = Arc::new(copy.clone());
        let broken_off = &stream[..stream.len() - 40];
        let taken = options().take_backup_on(to, progress, |_| Ok(broken_off));
        assert!(matches!(taken, Err(BackupError::Stream(StreamError::Short))), "{taken:?}");
        match store.backup_on(Arc::new(copy.clone())) {
            Ok(_) => drop(options().read_only().checked().open_on(Arc::new(copy)).unwrap()),
            Err(error) => assert!(matches!(error, BackupError::Target(_)), "{error}"),
        }
    });
}

#[test]
fn a_checkpoint_that_says_the_log_goes_on_behind_its_next_revision_is_none() {
    let mut files = folder(0);
    // Not closed, so that nothing else says where the log ends.
    files.insert("LOCK".to_owned(), Vec::new());
    let disk = SimDisk::with_files(&files);
    let pages = open_pages(&disk);
    let mut state = pages.get(Table::State, 0).unwrap().unwrap();
    // Segment, offset, checksum, and the next revision, which is less than 128.
    let ends = state.iter().enumerate().filter(|(_, byte)| **byte < 0x80).map(|(at, _)| at);
    let next = ends.clone().nth(2).unwrap() + 1;
    assert_eq!(Some(next), ends.clone().nth(3));
    state[next] += 5;
    let mut writing = pages.begin().unwrap();
    writing.put(Table::State, 0, &state).unwrap();
    writing.commit().unwrap();
    drop(pages);
    let store = options().checked().open_on(Arc::new(disk)).unwrap();
    assert!(store.report().ignored.is_some());
    store.create_tree("new").unwrap();
}

#[test]
fn content_of_an_older_version_is_held_against_the_log_when_that_is_asked_for() {
    let disk = SimDisk::new();
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    let tree = store.create_tree("u").unwrap();
    for text in ["the first text", "the second text"] {
        tree.update(|tx| tx.put_attribute(&[], "text", text)).unwrap();
    }
    for n in 0..20 {
        let branch = if n % 2 == 0 { tree.clone() } else { tree.on_branch("other").unwrap() };
        branch.update(|tx| tx.append(&[]).map(drop)).unwrap();
        if n == 0 {
            tree.branch("other", tree.snapshot().revision()).unwrap();
        }
    }
    every_kind_of_commit(&store);
    store.checkpoint().unwrap();
    store.verify_deep(&Progress::default()).unwrap();
    drop(tree);
    store.close().unwrap();

    let pages = open_pages(&disk);
    let mut writing = pages.begin().unwrap();
    for key in pages.keys(Table::Slabs, 0..=u64::MAX).unwrap() {
        let mut slab = pages.get(Table::Slabs, key).unwrap().unwrap();
        let text = b"the first text";
        if let Some(at) = slab.windows(text.len()).position(|window| window == text) {
            slab[at + 4..at + 9].copy_from_slice(b"other");
            writing.put(Table::Slabs, key, &slab).unwrap();
        }
    }
    writing.commit().unwrap();
    drop(pages);
    let store = options().open_on(Arc::new(disk)).unwrap();
    store.verify().unwrap();
    let error = store.verify_deep(&Progress::default()).unwrap_err();
    let told = "the checkpoint is not what the log says: revision 2 of tree \"u\", branch \"main\"";
    assert_eq!((error.to_string().as_str(), error.file()), (told, Some("pages")));
}
