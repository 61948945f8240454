//! What takes up space is the same when the folder is opened again, and not in memory yet.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jungle_db::{Clock, Draft, NoSuchRevision, Retention, SpaceQuery, Timestamp, TreeHandle};
use jungle_store::{OpenOptions, Store};
use jungle_tree::{Key, Measured, loading};

use crate::support::{Folder, every_kind_of_commit};

#[test]
fn reopening_changes_nothing_of_what_is_told() {
    let folder = Folder::new();
    let query = SpaceQuery::new().policy(Retention::Last(100));
    let store = Store::open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    let tree = store.open_tree("t").unwrap();
    for n in 0..2000i64 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    let told = store.space(&query, |_, _| Continue(())).unwrap();
    assert!(told.freed().bytes() > 100_000, "{told:?}");
    store.checkpoint().unwrap();
    drop((tree, store));

    let store = OpenOptions::new().read_only().open(folder.path()).unwrap();
    let again = loading(|| store.space(&query, |_, _| Continue(()))).unwrap().unwrap();
    assert_eq!(again, told);
    let usage = store.disk_usage().unwrap();
    assert_eq!(usage.total(), store.disk_bytes().unwrap());
    assert!(usage.pages_bytes > 0 && usage.segments > 0 && usage.older_log_bytes < usage.log_bytes);
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_gone_is_named() {
    let folder = Folder::new();
    let store = Store::open(folder.path()).unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(store.disk_usage().unwrap_err().to_string(), "cannot list the folder");
}

#[test]
fn folders_of_others_count_by_what_is_in_them() {
    let folder = Folder::new();
    let store = Store::open(folder.path()).unwrap();
    store.create_tree("t").unwrap();
    let before = store.disk_usage().unwrap();
    let (above, below) = (folder.path().join("acme"), folder.path().join("acme/keys"));
    std::fs::create_dir_all(&below).unwrap();
    std::fs::create_dir(folder.path().join("outbox")).unwrap();
    std::fs::write(above.join("account"), [1; 10]).unwrap();
    // Not what its name says.
    std::fs::write(below.join("00000000000000000001.log"), [1; 1000]).unwrap();
    let now = store.disk_usage().unwrap();
    assert_eq!(now.other_bytes, before.other_bytes + 1010);
    assert_eq!((now.log_bytes, now.segments), (before.log_bytes, before.segments));
}

#[cfg(unix)]
#[test]
fn what_links_lead_to_counts_only_if_it_is_the_log() {
    use std::os::unix::fs::symlink;

    let (folder, other) = (Folder::new(), Folder::new());
    let store = Store::open(folder.path()).unwrap();
    store.create_tree("t").unwrap();
    let before = store.disk_usage().unwrap();
    let (below, large) = (folder.path().join("acme"), other.path().join("large"));
    for made in [below.as_path(), other.path()] {
        std::fs::create_dir_all(made).unwrap();
    }
    std::fs::write(&large, [1; 1000]).unwrap();
    symlink(folder.path(), below.join("above")).unwrap();
    symlink(other.path(), below.join("other")).unwrap();
    symlink(&large, folder.path().join("large")).unwrap();
    let [log, moved] = [folder.path(), other.path()].map(|at| at.join("log"));
    std::fs::rename(&log, &moved).unwrap();
    symlink(&moved, &log).unwrap();
    assert_eq!(store.disk_usage().unwrap(), before);
}

/// Tells the time that it is set to.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicI64>);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[test]
fn what_only_became_old_is_dropped_for_good() {
    let (folder, clock) = (Folder::new(), Hand::default());
    let keep = Retention::ByAge(Duration::from_secs(1));
    let options = || OpenOptions::new().clock(clock.clone()).retention(keep).segment_bytes(4096);
    let store = options().open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    let first = store.revision();
    (0..2000_i64).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    store.checkpoint().unwrap();
    let newest = store.revision();

    // Nothing is committed, so the newest checkpoint is one of the newest revision already.
    clock.0.store(2_000_000, Ordering::SeqCst);
    store.apply_retention().unwrap();
    store.collect().unwrap();
    let report = store.checkpoint().unwrap();
    assert!(report.revision == newest && report.pieces > 0, "{report:?}");
    assert_eq!(store.checkpoint().unwrap().slabs, 0, "there is nothing new");
    drop((tree, store));

    let store = options().open(folder.path()).unwrap();
    let tree = store.open_tree("t").unwrap();
    let at = tree.at(first);
    assert!(matches!(at, Err(NoSuchRevision::TooOld { oldest }) if oldest == newest), "{at:?}");
    let n = loading(|| tree.read().root().attribute("n").unwrap().as_int()).unwrap();
    assert_eq!(n, Some(1999));
}

#[test]
fn a_held_snapshot_outlives_what_is_kept_and_gives_back_what_it_held() {
    const TEXT_BYTES: u64 = 100 * 10_000;
    let text = |number: u64| format!("{number:0>10000}");
    let put_all = |tree: &TreeHandle, number: u64| {
        let put = |tx: &mut Draft| {
            let mut children = (0..100).map(|child: u64| [Key::from(child)]);
            children.try_for_each(|child| tx.put_attribute(&child, "text", &*text(number)))
        };
        tree.update(put).unwrap();
    };
    let folder = Folder::new();
    let store = Store::open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    tree.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    put_all(&tree, 0);
    let old = tree.snapshot().revision();
    (1..5).for_each(|number| put_all(&tree, number));
    store.checkpoint().unwrap();
    drop((tree, store));

    // Nothing of it is in memory yet.
    let store = Store::open(folder.path()).unwrap();
    let tree = store.open_tree("t").unwrap();
    let held = tree.at(old).unwrap();
    tree.set_retention(Retention::Last(1)).unwrap();
    store.apply_retention().unwrap();
    store.collect().unwrap();
    store.checkpoint().unwrap();
    store.compact().unwrap();
    let at = tree.at(old);
    assert!(matches!(at, Err(NoSuchRevision::TooOld { .. })), "{at:?}");
    for child in 0..100u64 {
        let is_it = loading(|| {
            let child = held.root().child(&Key::from(child)).unwrap();
            child.attribute("text").unwrap().as_text() == Some(&*text(0))
        });
        assert!(is_it.unwrap(), "{child}");
    }
    let snapshots = || {
        let told = loading(|| store.space(&SpaceQuery::new(), |_, _| Continue(())));
        told.unwrap().unwrap().snapshots
    };
    let told = snapshots();
    assert!(told.payload_bytes >= TEXT_BYTES, "{told:?}");
    drop(held);
    let given_back = store.collect().unwrap().payload_bytes as u64;
    assert!(given_back >= TEXT_BYTES, "{given_back} of {told:?}");
    assert_eq!(snapshots(), Measured::default());
}
