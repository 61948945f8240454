//! A server whose folder cannot be read any more, which it notices only as it looks for something
//! in it.

use std::sync::Arc;
use std::time::Duration;

use jungle_cluster::{Cluster, Fault, Log};
use jungle_db::{CommitOptions, Jungle, NotWritten, Revision, TreeHandle, UpdateError};
use jungle_store::disk::Disk;
use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
use jungle_store::{OpenOptions, Store};
use jungle_testkit::Rng;
use jungle_tree::{Key, loading};

use crate::memory::Engine;
use crate::support::{options, server};

const LONG: Duration = Duration::from_secs(30);
/// So many take more than the engine below keeps of what it reads as it opens a file: that is all
/// of it, where it checks itself.
const NODES: i64 = 60_000;
/// What a disk says that is broken.
const EIO: i32 = 5;

fn open(disk: &SimDisk) -> Store {
    let options = OpenOptions::new().checkpoint_every(u64::MAX);
    options.open_on(Arc::new(disk.clone()) as Arc<dyn Disk>).unwrap()
}

/// A server with the tree `t`, and then `last`; and one that has all of it in the checkpoint of a
/// folder that it cannot read any more.
fn world() -> (Jungle, Cluster, TreeHandle, Store, Cluster) {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (jungle, cluster) = server(&engine.connect(rng, 0), "ours");
    let tree = jungle.create_tree("t").unwrap();
    let filled = tree.update(|tx| {
        (0..NODES).try_for_each(|_| {
            let key = tx.append(&[])?;
            // Longer than a few bytes, and not to be made shorter.
            let text = [(); 8].map(|()| format!("{:x}", rng.below(u64::MAX))).concat();
            tx.put_attribute(&[key], "text", &*text)
        })
    });
    filled.unwrap();
    // What was done last is looked for in the log as a server joins.
    jungle.create_tree("last").unwrap();
    let mut follow = |store: &Store| {
        let log = engine.connect(rng, 0) as Arc<dyn Log>;
        Cluster::follow(log, store, &options("unread")).unwrap()
    };
    let disk = SimDisk::new();
    let store = open(&disk);
    drop(follow(&store));
    store.checkpoint().unwrap();
    drop(store);
    let store = open(&disk);
    // What it takes to edit the roots is there.
    for name in ["t", "last"] {
        let mut tx = store.open_tree(name).unwrap().begin(CommitOptions::default());
        tx.put_attribute(&[], "n", 0).unwrap();
    }
    disk.watch(|call, _| match (call.kind, call.name) {
        (CallKind::Read, "pages") => Fate::Fail(EIO),
        _ => Fate::Go,
    });
    let unread = follow(&store);
    (jungle, cluster, tree, store, unread)
}

#[test]
fn a_server_that_cannot_read_what_a_message_changes_follows_no_further() {
    let (_jungle, _cluster, tree, _store, unread) = world();
    assert!(unread.fault().is_none());
    let put =
        tree.update(|tx| (0..NODES).try_for_each(|at| tx.put_attribute(&[Key::from(at)], "n", 1)));
    put.unwrap();
    // Nothing more comes.
    assert!(!unread.wait_for(Revision::new(u64::MAX), LONG));
    let fault = unread.fault().unwrap();
    assert!(matches!(*fault, Fault::NotLoaded { sequence: 4, .. }), "{fault:?}");
}

/// A message says which content the branches have that it changes.
#[test]
fn a_commit_to_what_cannot_be_read_is_refused_and_others_are_done() {
    let (_jungle, _cluster, _tree, store, unread) = world();
    let tree = store.open_tree("t").unwrap();
    let told = loading(|| tree.update(|tx| tx.put_attribute(&[], "n", 1)));
    let is_refused = matches!(told, Ok(Err(UpdateError::NotWritten(NotWritten::Refused(_)))));
    assert!(is_refused, "{told:?}");
    store.open_tree("last").unwrap().update(|tx| tx.put_attribute(&[], "n", 1)).unwrap();
    assert!(unread.fault().is_none());
}
