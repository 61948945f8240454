//! The folder: who may open it, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use jungle_db::{NotWritten, UpdateError};
use jungle_store::{LogError, OpenError, OpenOptions, Spill, Store};
#[cfg(target_os = "linux")]
use jungle_testkit::spilled_files;
use jungle_tree::{ArenaOptions, EditError, loading};

use crate::support::Folder;

#[test]
fn a_second_opener_is_told() {
    let folder = Folder::new();
    let store = Store::open(folder.path()).unwrap();
    let locked = |error| matches!(error, OpenError::Locked { .. });
    assert!(locked(Store::open(folder.path()).unwrap_err()));
    assert!(locked(OpenOptions::new().read_only().open(folder.path()).unwrap_err()));
    drop(store);
    let reader = || OpenOptions::new().read_only().open(folder.path());
    let readers = [reader().unwrap(), reader().unwrap()];
    assert!(locked(Store::open(folder.path()).unwrap_err()));
    drop(readers);
    Store::open(folder.path()).unwrap();
}

#[test]
fn nothing_is_made_in_a_folder_of_somebody_else() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    fs::write(folder.path().join("letter.txt"), "Dear").unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::NotAJungle { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The names of all that is in a folder, and in the folders in it.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    let below: Vec<PathBuf> =
        names.iter().filter(|name| name.is_dir()).flat_map(|name| self::names(name)).collect();
    names.extend(below);
    names.sort();
    names
}

#[test]
fn nothing_is_made_beside_a_lock_or_a_log_of_another_program() {
    for files in [&["LOCK", "CURRENT", "000004.log"][..], &["log/syslog"], &["log/x", "LOCK"]] {
        let folder = Folder::new();
        fs::create_dir_all(folder.path().join("log")).unwrap();
        files.iter().for_each(|file| fs::write(folder.path().join(file), "").unwrap());
        // Others write into it who has it.
        for lock in ["", "1234\n"] {
            if files.contains(&"LOCK") {
                fs::write(folder.path().join("LOCK"), lock).unwrap();
            }
            let before = names(folder.path());
            let error = Store::open(folder.path()).unwrap_err();
            assert!(matches!(error, OpenError::NotAJungle { .. }), "{error}");
            assert_eq!(names(folder.path()), before);
        }
    }
}

#[test]
fn a_folder_is_made_to_its_end_that_was_begun() {
    for files in [&["LOCK"][..], &["LOCK", "log/next"], &["log/next"], &["LOCK", "pages.next"]] {
        let folder = Folder::new();
        fs::create_dir_all(folder.path().join("log")).unwrap();
        files.iter().for_each(|file| fs::write(folder.path().join(file), "").unwrap());
        Store::open(folder.path()).unwrap().create_tree("t").unwrap();
    }
}

#[test]
fn a_jungle_without_its_mark_opens_with_whatever_lies_beside_it() {
    let folder = Folder::new();
    Store::open(folder.path()).unwrap().create_tree("t").unwrap();
    fs::write(folder.path().join("LOCK"), [0; 32]).unwrap();
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    assert!(Store::open(folder.path()).unwrap().open_tree("t").is_ok());
}

#[test]
fn a_reader_makes_nothing() {
    let folder = Folder::new();
    let open = || OpenOptions::new().read_only().open(folder.path());
    assert!(matches!(open().unwrap_err(), OpenError::Nothing { .. }));
    assert!(!folder.path().exists());
    Store::open(folder.path()).unwrap().create_tree("t").unwrap();
    let names = || {
        let files = fs::read_dir(folder.path().join("log")).unwrap();
        files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect::<Vec<_>>()
    };
    let before = names();
    let store = open().unwrap();
    let tree = store.open_tree("t").unwrap();
    let refused = tree.update(|tx| tx.append(&[]).map_err(drop::<EditError>)).unwrap_err();
    let UpdateError::NotWritten(NotWritten::Refused(error)) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("read only"), "{error}");
    drop((store, tree));
    assert_eq!(names(), before);
}

#[test]
fn what_spills_is_the_same_and_leaves_nothing() {
    let folder = Folder::new();
    let names = || {
        let files = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    drop(Store::open(folder.path()).unwrap());
    let before = names();
    let open = |spill| OpenOptions::new().spill(spill).open(folder.path()).unwrap();
    let store = open(Spill::Always);
    assert!(store.report().spilling.spills);
    assert_eq!(names(), before);
    let tree = store.create_tree("t").unwrap();
    let path = tree.update(|tx| tx.append(&[])).unwrap().value;
    tree.update(|tx| tx.put_attribute(std::slice::from_ref(&path), "n", 7)).unwrap();
    let hash = tree.snapshot().root().content_hash();
    drop(tree);
    store.checkpoint().unwrap();
    store.close().unwrap();
    let before = names();
    let looks = [OpenOptions::new().read_only(), OpenOptions::new().beside_a_writer()];
    for look in looks.map(|look| look.spill(Spill::Always)) {
        let store = look.open(folder.path()).unwrap();
        assert_eq!(names(), before);
        let found = loading(|| store.open_tree("t").unwrap().snapshot().root().content_hash());
        assert_eq!(found.unwrap(), hash);
    }
    for spill in [Spill::Always, Spill::Auto, Spill::WhereLimited, Spill::Never] {
        let store = open(spill);
        assert_eq!(names(), before);
        match spill {
            // What it has is half of no memory.
            Spill::Auto | Spill::Never => assert!(!store.report().spilling.spills),
            Spill::Always => assert!(store.report().spilling.spills),
            // Who runs this may have a limit, or not.
            _ => {}
        }
        let found = loading(|| store.open_tree("t").unwrap().snapshot().root().content_hash());
        assert_eq!(found.unwrap(), hash);
        store.close().unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_folder_that_spills_is_held_against_spills_too() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jungle_store::{BackupProgress, Durability, Progress};

    let (folder, copy) = (Folder::new(), Folder::new());
    let options = OpenOptions::new().spill(Spill::Always).durability(Durability::Buffered);
    let store = options.checkpoint_every(u64::MAX).open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    // More than are made again before that is told.
    for n in 0..1_100_i64 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    let own = spilled_files(folder.path());
    assert!(own > 0);
    let most = Arc::new(AtomicUsize::new(0));
    let progress = || {
        let (most, place) = (Arc::clone(&most), folder.path().to_owned());
        Progress::new(move |_, _| {
            most.fetch_max(spilled_files(&place), Ordering::SeqCst);
        })
    };
    let check = |what: &str| assert!(most.swap(0, Ordering::SeqCst) > own, "{what}");
    store.verify_telling(&progress()).unwrap();
    check("verify");
    store.survey(&progress()).unwrap();
    check("survey");
    let checking = BackupProgress { checking: progress(), ..BackupProgress::default() };
    store.backup_telling(copy.path(), checking).unwrap();
    check("backup");
}

#[test]
fn that_there_is_no_room_for_it_is_no_damage() {
    let folder = Folder::new();
    let options = || OpenOptions::new().checkpoint_every(u64::MAX);
    let store = options().open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    for n in 0..20 {
        let text = format!("{n} {}", "x".repeat(1 << 20));
        tree.update(|tx| tx.put_attribute(&[], "text", text.as_str())).unwrap();
    }
    drop((store, tree));
    let small = ArenaOptions { payload_bytes: 1 << 24, ..ArenaOptions::default() };
    let refused = options().arena(small.clone()).open(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenError::NoRoom(_)), "{refused:?}");
    let refused = options().arena(small).survey(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenError::NoRoom(_)), "{refused:?}");
    options().open(folder.path()).unwrap().verify().unwrap();
}

#[test]
fn handles_read_on_after_closing_and_write_no_more() {
    let folder = Folder::new();
    let store = Store::open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    store.close().unwrap();
    let again = Store::open(folder.path()).unwrap();
    assert!(tree.update(|tx| tx.append(&[])).is_err());
    assert_eq!(tree.read().root().child_count(), 0);
    again.open_tree("t").unwrap().update(|tx| tx.append(&[])).unwrap();
    let closed = again.close();
    assert!(!matches!(closed, Err(LogError::Closed)));
}

#[test]
fn a_missing_lock_is_made_again_and_a_missing_log_is_told() {
    let folder = Folder::new();
    Store::open(folder.path()).unwrap().create_tree("t").unwrap();
    fs::remove_file(folder.path().join("LOCK")).unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert!(store.open_tree("t").is_ok() && !store.report().was_closed);
    drop(store);
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_made_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    Store::open(folder.path()).unwrap().create_tree("t").unwrap();
    for (name, wanted) in
        [("", 0o700), ("log", 0o700), ("LOCK", 0o600), ("log/00000000000000000001.log", 0o600)]
    {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, wanted, "{name}");
    }
}
