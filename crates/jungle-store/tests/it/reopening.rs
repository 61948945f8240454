//! What was committed is there again.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::{Clock, CommitOptions, Retention, Timestamp};
use jungle_store::{Durability, OpenOptions, Progress, Store};
use jungle_tree::Key;

use crate::support::{Folder, every_kind_of_commit, portrait};

/// Counts up.
#[derive(Default)]
struct Steps(AtomicI64);

impl Clock for Steps {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1_000_003, Ordering::Relaxed))
    }
}

#[test]
fn every_kind_of_commit_is_there_again() {
    for segment_bytes in [256, 4096, 1 << 20] {
        let folder = Folder::new();
        let options = || OpenOptions::new().segment_bytes(segment_bytes).clock(Steps::default());
        let store = options().open(folder.path()).unwrap();
        every_kind_of_commit(&store);
        let before = portrait(&store);
        store.close().unwrap();

        let store = options().open(folder.path()).unwrap();
        assert_eq!(portrait(&store), before);
        assert!(store.report().was_closed && store.report().cut.is_none());
        let tree = store.open_tree("t").unwrap();
        let committed = tree.update(|tx| tx.append(&[Key::from("graft"), Key::from(0)]));
        committed.unwrap();
        let more = portrait(&store);
        drop((store, tree));
        let store = options().read_only().open(folder.path()).unwrap();
        assert_eq!(portrait(&store), more);
    }
}

/// Also where the folder is opened without that rule.
#[test]
fn trees_and_branches_keep_what_they_were_made_to_keep() {
    let folder = Folder::new();
    let store = OpenOptions::new().retention(Retention::Last(3)).open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    let side = tree.branch("side", store.revision()).unwrap();
    for branch in [&tree, &side].repeat(10) {
        branch.update(|tx| tx.append(&[])).unwrap();
    }
    drop((store, tree, side));
    let store = OpenOptions::new().without_checkpoint().open(folder.path()).unwrap();
    let tree = store.open_tree("t").unwrap();
    for branch in [tree.on_branch("side").unwrap(), tree] {
        assert_eq!(branch.retention(), Retention::Last(3));
        assert_eq!(branch.history(..).count(), 3);
    }
    assert_eq!(store.create_tree("new").unwrap().retention(), Retention::All);
}

#[test]
fn weaker_commits_are_there_after_a_clean_end() {
    for durability in [Durability::Memory, Durability::Buffered] {
        let folder = Folder::new();
        let store = OpenOptions::new().durability(durability).open(folder.path()).unwrap();
        let tree = store.create_tree("t").unwrap();
        for _ in 0..10 {
            tree.update(|tx| tx.append(&[])).unwrap();
        }
        let written = store.log_stats();
        assert_eq!(written.groups, if durability == Durability::Memory { 0 } else { 11 });
        assert_eq!(written.syncs, 0);
        drop((store, tree));
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.open_tree("t").unwrap().read().root().child_count(), 10);
    }
}

#[test]
fn a_stronger_commit_takes_the_weaker_ones_before_it_along() {
    let folder = Folder::new();
    let store = OpenOptions::new().durability(Durability::Memory).open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    let options = |durability| CommitOptions { durability, ..CommitOptions::default() };
    tree.update(|tx| tx.append(&[])).unwrap();
    tree.update_with(&options(Some(Durability::Sync)), |tx| tx.append(&[])).unwrap();
    let stats = store.log_stats();
    assert_eq!((stats.groups, stats.syncs), (1, 1));
    tree.update_with(&options(Some(Durability::Sync)), |tx| tx.append(&[])).unwrap();
    let stats = store.log_stats();
    assert_eq!((stats.groups, stats.syncs), (2, 2));
}

#[test]
fn many_writers_share_syncs_and_lose_nothing() {
    let folder = Folder::new();
    let options = || OpenOptions::new().segment_bytes(4096);
    let store = options().open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let tree = &tree;
            scope.spawn(move || {
                for n in 0..50 {
                    let durability = [Durability::Sync, Durability::Buffered, Durability::Memory];
                    let durability = Some(durability[(writer + n) % 3]);
                    let options = CommitOptions { durability, ..CommitOptions::default() };
                    let key = format!("{writer}");
                    tree.update_with(&options, |tx| tx.put_attribute(&[], &key, n as i64)).unwrap();
                    tree.update_with(&options, |tx| tx.append(&[])).unwrap();
                }
            });
        }
    });
    let stats = store.log_stats();
    assert!(stats.syncs <= stats.groups && stats.groups <= 801, "{stats:?}");
    let before = portrait(&store);
    store.close().unwrap();
    drop(tree);
    let store = options().open(folder.path()).unwrap();
    assert_eq!(portrait(&store), before);
    assert!(store.report().segments > 1);
}

#[test]
fn memory_that_waits_is_written_when_it_is_much() {
    let folder = Folder::new();
    let store = OpenOptions::new().durability(Durability::Memory).checkpoint_every(u64::MAX);
    let store = store.open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    let long = "x".repeat(1 << 20);
    for n in 0..6 {
        let value = format!("{n}{long}");
        tree.update(|tx| tx.put_attribute(&[], "long", value.as_str())).unwrap();
    }
    let stats = store.log_stats();
    assert_eq!((stats.groups, stats.syncs), (1, 0));
    assert!(stats.bytes > 4 << 20);
}

#[test]
fn who_reads_much_is_told_how_far() {
    let folder = Folder::new();
    let store = OpenOptions::new().durability(Durability::Buffered).open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    (0..3_000).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    drop(tree);
    store.close().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let (opening, checking) = (Arc::clone(&told), Arc::clone(&told));
    let progress = Progress::new(move |done, total| opening.lock().unwrap().push((done, total)));
    let options = OpenOptions::new().without_checkpoint().read_only().progress(progress);
    let store = options.open(folder.path()).unwrap();
    assert_eq!(*told.lock().unwrap(), [(1_024, 3_001), (2_048, 3_001)]);
    let progress = Progress::new(move |done, total| checking.lock().unwrap().push((done, total)));
    store.verify_telling(&progress).unwrap();
    assert_eq!(told.lock().unwrap().len(), 4);
}
