//! A checkpoint as a stream, and put into a folder.

use jungle_db::{Jungle, Retention};
use jungle_store::{
    AdoptError, OpenError, OpenOptions, Store, StreamError, check_checkpoint, read_checkpoint,
    write_checkpoint,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::ArenaOptions;

use crate::support::{Folder, every_kind_of_commit, portrait};

fn written(jungle: &Jungle) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_checkpoint(jungle, &jungle.checkpoint(), &mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<Jungle, StreamError> {
    read_checkpoint(Jungle::builder(), &ArenaOptions::default(), bytes)
}

/// With histories of several pieces.
fn some_jungle() -> Jungle {
    let jungle = Jungle::new().unwrap();
    every_kind_of_commit(&jungle);
    let tree = jungle.create_tree("long").unwrap();
    for n in 0..1200 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    jungle
}

#[test]
fn everything_comes_back() {
    let jungle = some_jungle();
    let before = portrait(&jungle);
    let bytes = written(&jungle);
    check_checkpoint(&*bytes).unwrap();
    drop(jungle);
    let again = read(&bytes).unwrap();
    assert_eq!(portrait(&again), before);
    // It goes on, and is written again.
    let tree = again.open_tree("long").unwrap();
    tree.set_retention(Retention::Last(10)).unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();
    again.collect().unwrap();
    assert_eq!(portrait(&read(&written(&again)).unwrap()), portrait(&again));
}

#[test]
fn what_was_not_loaded_yet_is_in_it() {
    let folder = Folder::new();
    let store = Store::open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    let before = portrait(&store);
    store.checkpoint().unwrap();
    store.close().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let bytes = written(&store);
    assert_eq!(portrait(&read(&bytes).unwrap()), before);
    // The store's own checkpoints go on as before.
    store.open_tree("t").unwrap().update(|tx| tx.put_attribute(&[], "later", 1)).unwrap();
    let more = portrait(&store);
    store.checkpoint().unwrap();
    store.verify().unwrap();
    store.close().unwrap();
    assert_eq!(portrait(&Store::open(folder.path()).unwrap()), more);
}

#[test]
fn whatever_is_damaged_is_refused() {
    let jungle = Jungle::new().unwrap();
    every_kind_of_commit(&jungle);
    let bytes = written(&jungle);
    for_each_seed(200, |rng: &mut Rng| {
        let mut damaged = bytes.clone();
        match rng.below(4) {
            0 => damaged.truncate(rng.index(bytes.len())),
            1 => {
                let (from, to) = (rng.index(bytes.len()), rng.index(bytes.len()));
                damaged[to] = damaged[to].wrapping_add(1).wrapping_add(bytes[from] & 1);
            }
            // Lengths, most likely.
            2 => damaged[12 + rng.index(4)] ^= 1 << rng.below(8),
            _ => {
                let at = rng.index(bytes.len());
                damaged[at] ^= 1 << rng.below(8);
            }
        }
        assert!(read(&damaged).is_err());
        assert!(check_checkpoint(&*damaged).is_err());
    });
    assert!(matches!(read(b"JUNGCKP"), Err(StreamError::Short)));
    assert!(matches!(read(b"something else"), Err(StreamError::NoCheckpoint)));
    let newer = b"JUNGCKP\n\x02\0\0\0";
    assert!(matches!(read(newer), Err(StreamError::UnknownFormat { found: 2 })));
}

#[test]
fn a_folder_takes_in_a_whole_jungle() {
    let (folder, jungle) = (Folder::new(), some_jungle());
    let before = portrait(&jungle);
    let open = || OpenOptions::new().open(folder.path()).unwrap();
    // Into one that is not there, and in the place of something else.
    for _ in 0..2 {
        OpenOptions::new().adopt(folder.path(), &jungle).unwrap();
        let store = open();
        assert_eq!((portrait(&store), store.report().was_closed), (before.clone(), true));
        store.verify().unwrap();
        store.open_tree("long").unwrap().update(|tx| tx.append(&[])).unwrap();
        let more = portrait(&store);
        let locked = OpenOptions::new().adopt(folder.path(), &jungle);
        assert!(matches!(locked, Err(AdoptError::Open(OpenError::Locked { .. }))));
        drop(store);
        assert_eq!(portrait(&open()), more);
    }
    // One that is empty.
    OpenOptions::new().adopt(folder.path(), &Jungle::new().unwrap()).unwrap();
    assert_eq!(open().revision().number(), 0);
}

#[cfg(feature = "sim")]
#[test]
fn a_jungle_that_somebody_commits_to_meanwhile_is_not_put_into_a_folder() {
    use std::sync::Arc;

    use jungle_store::disk::sim::{CallKind, Fate, SimDisk};

    let (disk, jungle) = (SimDisk::new(), some_jungle());
    let mut committing = Some(jungle.open_tree("long").unwrap());
    disk.watch(move |call, _| {
        if call.kind == CallKind::Rename
            && let Some(tree) = committing.take()
        {
            tree.update(|tx| tx.append(&[])).unwrap();
        }
        Fate::Go
    });
    let adopt = || OpenOptions::new().adopt_on(Arc::new(disk.clone()), &jungle);
    let refused = adopt();
    assert!(matches!(refused, Err(AdoptError::Changed)), "{refused:?}");
    disk.unwatch();
    adopt().unwrap();
    let store = OpenOptions::new().open_on(Arc::new(disk.clone())).unwrap();
    assert_eq!(portrait(&store), portrait(&jungle));
}
