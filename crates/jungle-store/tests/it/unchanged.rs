//! Commits that change nothing: what they were told still is so after a loss of power.

use std::sync::Arc;

use jungle_db::{CommitMeta, CommitOptions, Durability, Isolation, Revision};
use jungle_store::disk::sim::{Keep, SimDisk};
use jungle_store::{OpenOptions, Store};
use jungle_tree::{EditError, MergeOptions};

fn open(disk: &SimDisk) -> Store {
    OpenOptions::new().without_checkpoint().open_on(Arc::new(disk.clone())).unwrap()
}

fn at(durability: Durability) -> CommitOptions {
    CommitOptions { durability: Some(durability), ..CommitOptions::default() }
}

/// A tree `t` with a branch `side` and an attribute `old`, put by the revision that is told; then
/// somebody commits, and does not wait for it: `title` is put, and `old` removed.
fn committed_in_haste(disk: &SimDisk) -> (Store, Revision) {
    let store = open(disk);
    let tree = store.create_tree("t").unwrap();
    tree.branch("side", tree.snapshot().revision()).unwrap();
    let old = tree.update(|tx| tx.put_attribute(&[], "old", 1)).unwrap();
    let hasty = tree.update_with(&at(Durability::Memory), |tx| {
        tx.put_attribute(&[], "title", "hello")?;
        tx.remove_attribute(&[], "old")
    });
    hasty.unwrap();
    (store, old.revision)
}

/// It gets the revision that put `old`.
type Answer = fn(&Store, Revision);

/// What changes nothing.
const ANSWERS: [(&str, Answer); 11] = [
    ("a read", |store, _| {
        let tree = store.open_tree("t").unwrap();
        let read = tree.update(|tx| tx.attribute(&[], "title").map(|it| it.is_some())).unwrap();
        assert!(read.value);
    }),
    ("a put", |store, _| {
        let tree = store.open_tree("t").unwrap();
        tree.update(|tx| tx.put_attribute(&[], "title", "hello")).unwrap();
    }),
    ("a removal", |store, _| {
        let tree = store.open_tree("t").unwrap();
        assert!(!tree.update(|tx| tx.remove_attribute(&[], "old")).unwrap().value);
    }),
    ("a removal that keeps to one version", |store, _| {
        let options = CommitOptions { isolation: Isolation::Snapshot, ..CommitOptions::default() };
        let tree = store.open_tree("t").unwrap();
        let removed = tree.update_with(&options, |tx| tx.remove_attribute(&[], "old")).unwrap();
        assert!(!removed.value);
    }),
    ("a transaction", |store, _| {
        let tx = store.open_tree("t").unwrap().begin(CommitOptions::default());
        assert!(tx.root().has_attributes());
        tx.commit().unwrap();
    }),
    ("a transaction that says so late", |store, _| {
        let mut tx = store.open_tree("t").unwrap().begin(at(Durability::Memory));
        tx.set_durability(Durability::Sync);
        tx.commit().unwrap();
    }),
    ("an update of several trees", |store, _| {
        let done = store.update(&CommitOptions::default(), |tx| {
            Ok::<_, EditError>(tx.tree("t").unwrap().root().has_attributes())
        });
        assert!(done.unwrap().value);
    }),
    ("a transaction of several trees", |store, _| {
        let tree = store.open_tree("t").unwrap();
        // Newer than what lasts.
        tree.update_with(&at(Durability::Memory), |tx| tx.append(&[])).unwrap();
        let mut tx = store.begin(at(Durability::Memory));
        tx.on(&tree).set_durability(Durability::Sync);
        assert_eq!(tx.commit().unwrap().revision, tree.snapshot().revision());
    }),
    ("a root", |store, _| {
        let tree = store.open_tree("t").unwrap();
        tree.set_root(&tree.snapshot(), &CommitMeta::new()).unwrap();
    }),
    ("a revert", |store, old| {
        let tree = store.open_tree("t").unwrap();
        tree.revert(old, &CommitMeta::new()).unwrap();
    }),
    ("a merge", |store, _| {
        let tree = store.open_tree("t").unwrap();
        tree.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
    }),
];

#[test]
fn what_changes_nothing_stands_on_what_lasts() {
    for (name, answer) in ANSWERS {
        let disk = SimDisk::new();
        let (store, old) = committed_in_haste(&disk);
        let lost = open(&disk.world().crash(Keep::Nothing, &mut |_| 0));
        assert!(lost.revision() < store.revision(), "{name}: it lasts anyhow");

        answer(&store, old);
        let newest = store.revision();
        let found = open(&disk.world().crash(Keep::Nothing, &mut |_| 0));
        assert_eq!(found.revision(), newest, "{name}");
        let tree = found.open_tree("t").unwrap();
        let root = tree.snapshot();
        let has = |key: &str| root.root().attribute(key).is_some();
        assert_eq!((has("title"), has("old")), (true, false), "{name}");

        // Now nothing is waited for, and nothing written.
        let before = store.log_stats();
        answer(&store, old);
        if store.revision() == newest {
            assert_eq!(store.log_stats(), before, "{name}");
        }
    }
}

#[test]
fn what_need_not_last_waits_for_nothing() {
    let disk = SimDisk::new();
    let (store, _) = committed_in_haste(&disk);
    let (tree, before) = (store.open_tree("t").unwrap(), store.log_stats());
    tree.update_with(&at(Durability::Memory), |tx| tx.attribute(&[], "title").map(drop)).unwrap();
    assert_eq!(store.log_stats(), before);
    tree.update_with(&at(Durability::Buffered), |tx| tx.attribute(&[], "title").map(drop)).unwrap();
    let after = store.log_stats();
    assert_eq!((after.groups, after.syncs), (before.groups + 1, before.syncs));
    // Who only asks may do so where nothing is taken any more.
    store.close().unwrap();
    for durability in [Durability::Memory, Durability::Sync] {
        let asked = tree.update_with(&at(durability), |tx| tx.attribute(&[], "n").map(drop));
        asked.unwrap();
    }
}
