//! What was erased is in no revision and in no file, and all else is as it was.

use std::fs;
use std::path::Path as FilePath;
use std::sync::Arc;

use jungle_db::Retention;
use jungle_store::disk::FolderDisk;
use jungle_store::pages::{EnginePages, Pages, PagesOptions, Table};
use jungle_store::{EraseError, EraseQuery, EraseReport, OpenError, Store};
use jungle_testkit::for_each_seed;
#[cfg(target_os = "linux")]
use jungle_testkit::spilled_files;
use jungle_tree::{EditError, Key, Path};

use crate::secrets::{SECRET, as_it_is, options, query, secrets, without};
use crate::support::{Folder, every_kind_of_commit};

fn has(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
}

/// The files in a folder, and below.
fn files(folder: &FilePath) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path().display().to_string(), fs::read(entry.path()).unwrap()));
        }
    }
    found
}

/// Is it in a file, or in what a checkpoint has compressed?
fn is_anywhere(folder: &FilePath) -> bool {
    let mut options = PagesOptions::default();
    options.read_only = true;
    let pages = EnginePages::open_if_there(Arc::new(FolderDisk::new(folder)), options);
    let values = pages.unwrap().into_iter().flat_map(|pages| {
        let keys = Table::ALL.map(|table| (table, pages.keys(table, 0..=u64::MAX).unwrap()));
        let keys =
            keys.into_iter().flat_map(|(table, keys)| keys.into_iter().map(move |k| (table, k)));
        keys.filter_map(|(table, key)| pages.get(table, key).unwrap()).collect::<Vec<_>>()
    });
    values.into_iter().any(|value| has(&value))
        || files(folder).iter().any(|(name, bytes)| has(name.as_bytes()) || has(bytes))
}

fn erase(folder: &Folder) -> Result<EraseReport, EraseError> {
    options().erase(folder.path(), &query(), |done, total| assert!(done <= total))
}

#[test]
fn every_revision_stays_without_it_and_no_file_has_it() {
    for_each_seed(12, |rng| {
        let folder = Folder::new();
        let store = options().open(folder.path()).unwrap();
        every_kind_of_commit(&store);
        secrets(&store, rng, 150);
        if rng.chance(2, 3) {
            store.checkpoint().unwrap();
            secrets_more(&store);
        }
        let ought = without(&store);
        assert_ne!(as_it_is(&store), ought);
        drop(store);
        // Left by a damage of long ago.
        fs::write(folder.path().join("pages.damaged"), SECRET).unwrap();
        assert!(is_anywhere(folder.path()));

        let report = erase(&folder).unwrap();
        assert!(report.erased.commits > 10 && report.erased.moves.is_empty());
        assert!(!is_anywhere(folder.path()));
        let store = options().read_only().open(folder.path()).unwrap();
        assert!(store.report().was_closed && store.report().checkpoint == store.revision());
        assert_eq!(as_it_is(&store), ought);
        assert_eq!(store.revision(), report.revision);
        assert!(store.verify().unwrap().log_is_complete);
        drop(store);

        // It goes on.
        let store = options().open(folder.path()).unwrap();
        secrets_more(&store);
        store.checkpoint().unwrap();
        store.verify().unwrap();
        let names: Vec<String> = files(folder.path()).into_iter().map(|(name, _)| name).collect();
        assert!(!names.iter().any(|name| name.ends_with(".erased")), "{names:?}");
    });
}

fn secrets_more(store: &Store) {
    let tree = store.open_tree("people").unwrap();
    for n in 0..3i64 {
        tree.update(|tx| {
            tx.put_attribute(&[], "ana", &*format!("{SECRET} {n} more"))?;
            tx.put_attribute(&[], "n", n)?;
            Ok::<_, EditError>(())
        })
        .unwrap();
    }
}

#[test]
fn where_the_log_is_cut_what_is_kept_is_copied() {
    for_each_seed(12, |rng| {
        let folder = Folder::new();
        let store = options().open(folder.path()).unwrap();
        every_kind_of_commit(&store);
        secrets(&store, rng, 700);
        let tree = store.open_tree("people").unwrap();
        let appended = tree.update(|tx| (0..5).try_for_each(|_| tx.append(&[]).map(drop)));
        appended.unwrap();
        tree.update(|tx| tx.remove(&[Key::from(4)])).unwrap();
        tree.set_retention(Retention::Last(rng.range(3..600) as usize)).unwrap();
        store.checkpoint().unwrap();
        secrets_more(&store);
        let ought = without(&store);
        assert_ne!(as_it_is(&store), ought);
        drop((tree, store));
        assert!(is_anywhere(folder.path()));

        assert!(erase(&folder).unwrap().erased.commits > 2);
        assert!(!is_anywhere(folder.path()));
        let store = options().open(folder.path()).unwrap();
        assert_eq!(as_it_is(&store), ought);
        assert!(!store.verify().unwrap().log_is_complete);
        let tree = store.open_tree("people").unwrap();
        assert_eq!(tree.update(|tx| tx.append(&[])).unwrap().value, Key::from(5));
        let more = as_it_is(&store);
        drop((tree, store));
        let store = options().open(folder.path()).unwrap();
        assert_eq!(as_it_is(&store), more);
        store.verify().unwrap();
    });
}

/// Its records are in the segment that is written to, and what the pages have free was it.
#[test]
fn where_the_log_is_cut_what_is_not_kept_any_more_goes_too() {
    for_each_seed(4, |rng| {
        let folder = Folder::new();
        let store = options().segment_bytes(16 << 10).open(folder.path()).unwrap();
        let tree = store.create_tree("people").unwrap();
        tree.set_retention(Retention::Last(10)).unwrap();
        let commit = |n: u64| drop(tree.update(|tx| tx.put_attribute(&[], "n", n as i64)).unwrap());
        while store.checkpoint().unwrap().segments == 0 {
            (0..20).for_each(commit);
        }
        let ana = [Key::from("ana")];
        tree.update(|tx| tx.insert_child(&[], &ana[0])).unwrap();
        let text = format!("{SECRET} once");
        tree.update(|tx| tx.put_attribute(&ana, "text", &*text)).unwrap();
        if rng.chance(1, 2) {
            store.checkpoint().unwrap();
        }
        tree.update(|tx| tx.remove(&ana)).unwrap();
        (0..20).for_each(commit);
        store.checkpoint().unwrap();
        let ought = as_it_is(&store);
        assert_eq!(without(&store), ought, "nothing that is kept has it");
        drop((tree, store));
        assert!(is_anywhere(folder.path()));

        let report = erase(&folder).unwrap();
        assert_eq!((report.erased.commits, report.log_was_complete), (0, false));
        assert!(!is_anywhere(folder.path()));
        let store = options().open(folder.path()).unwrap();
        assert_eq!(as_it_is(&store), ought);
        store.verify().unwrap();
    });
}

#[test]
fn what_was_never_there_leaves_the_folder_as_it_is() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    store.create_tree("people").unwrap();
    store.close().unwrap();
    let before = files(folder.path());
    let report = erase(&folder).unwrap();
    assert_eq!((report.erased.commits, report.bytes_before), (0, report.bytes_after));
    assert!(report.log_was_complete);
    assert!(files(folder.path()) == before);
}

#[test]
fn what_cannot_be_erased_is_told() {
    let folder = Folder::new();
    assert!(matches!(erase(&folder), Err(EraseError::Open(OpenError::Nothing { .. }))));
    let store = options().open(folder.path()).unwrap();
    assert!(matches!(erase(&folder), Err(EraseError::Open(OpenError::Locked { .. }))));
    drop(store);
    assert!(matches!(erase(&folder), Err(EraseError::NoSuchTree(_))));
    options().open(folder.path()).unwrap().create_tree("people").unwrap();
    let root = EraseQuery::new("people", Path::root());
    let refused = options().erase(folder.path(), &root, |_, _| ());
    assert!(matches!(refused, Err(EraseError::Root(_))));
}

#[test]
fn finishing_one_leaves_the_file_that_is_locked_in_its_place() {
    let folder = Folder::new();
    drop(Store::open(folder.path()).unwrap());
    let mark = folder.path().join("LOCK");
    // As if an erasure that counts had been left with the mark of another one beside it.
    for name in ["LOCK.erased", "LOCK.rename"] {
        fs::copy(&mark, folder.path().join(name)).unwrap();
    }
    let store = Store::open(folder.path()).unwrap();
    store.create_tree("board").unwrap();
    let second = Store::open(folder.path());
    assert!(matches!(second, Err(OpenError::Locked { .. })), "{:?}", second.err());
    drop(store);
    assert_eq!(*Store::open(folder.path()).unwrap().list_trees(), ["board".into()]);
    assert_eq!(files(folder.path()).iter().filter(|(name, _)| name.contains("LOCK")).count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn what_it_is_erased_from_may_be_larger_than_memory() {
    use jungle_store::Spill;

    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    let people = store.create_tree("people").unwrap();
    people.update(|tx| tx.insert_child(&[], &Key::from("ana"))).unwrap();
    let ana: Path = "/ana".parse().unwrap();
    // More than are made again before that is told.
    for n in 0..1_100_i64 {
        people.update(|tx| tx.put_attribute(&ana, "n", n)).unwrap();
    }
    drop((people, store));
    let mut was_spilled = false;
    let erased = options().spill(Spill::Always).erase(folder.path(), &query(), |_, _| {
        was_spilled |= spilled_files(folder.path()) > 0;
    });
    assert!(erased.unwrap().erased.commits > 1_000 && was_spilled);
}
