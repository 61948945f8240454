//! What a checkpoint has is not read from the log again, and is the same.

use std::fs;
use std::time::{Duration, Instant};

use jungle_db::{CommitOptions, Retention};
use jungle_store::{BackupError, Durability, OpenError, OpenOptions, Progress, Store};
use jungle_testkit::Rng;
use jungle_tree::{EditError, Key};

use crate::support::{Folder, check_renumbered, every_kind_of_commit, portrait, renumbered};

/// Nothing is written in the background.
fn options() -> OpenOptions {
    OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX)
}

#[test]
fn every_kind_of_commit_is_there_again() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    let written = store.checkpoint().unwrap();
    assert_eq!(written.revision, store.revision());
    assert_eq!(store.checkpointed(), store.revision());
    let before = portrait(&store);
    assert_eq!(store.checkpoint().unwrap().slabs, 0, "nothing is new");
    store.close().unwrap();

    let store = options().open(folder.path()).unwrap();
    assert_eq!(store.report().checkpoint, written.revision);
    assert_eq!(portrait(&store), before);
    let tree = store.open_tree("t").unwrap();
    tree.update(|tx| tx.append(&[Key::from("graft"), Key::from(0)])).unwrap();
    tree.merge("side", &jungle_tree::MergeOptions::new()).unwrap();
    let more = portrait(&store);
    drop((store, tree));

    let store = options().open(folder.path()).unwrap();
    assert_eq!(store.report().checkpoint, written.revision);
    assert_eq!(portrait(&store), more);
    store.checkpoint().unwrap();
    store.close().unwrap();
    let store = options().without_checkpoint().open(folder.path()).unwrap();
    assert_eq!(store.report().checkpoint.number(), 0);
    assert_eq!(portrait(&store), more);
}

#[test]
fn keys_on_other_branches_are_known_again_by_the_log_and_by_a_checkpoint() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    renumbered(&store);
    drop(store);
    let store = options().open(folder.path()).unwrap();
    check_renumbered(&store, 1);
    let written = store.checkpoint().unwrap();
    drop(store);
    let store = options().open(folder.path()).unwrap();
    assert_eq!(store.report().checkpoint, written.revision);
    check_renumbered(&store, 2);
    store.open_tree("renumbered").unwrap().create_index("n").unwrap();
    let written = store.checkpoint().unwrap();
    store.close().unwrap();
    let store = options().open(folder.path()).unwrap();
    assert_eq!(store.report().checkpoint, written.revision);
    check_renumbered(&store, 3);
    store.verify().unwrap();
}

#[test]
fn a_folder_that_is_only_read_stays_as_it_is() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    store.checkpoint().unwrap();
    store.create_tree("later").unwrap();
    let before = portrait(&store);
    drop(store);

    let bytes = || fs::read(folder.path().join("pages")).unwrap();
    let was = bytes();
    let readers = [(); 2].map(|()| options().read_only().open(folder.path()).unwrap());
    for reader in &readers {
        assert_eq!(portrait(reader), before);
        assert!(reader.report().checkpoint.number() > 0 && reader.checkpoint().is_err());
    }
    assert!(bytes() == was);
}

#[test]
fn random_histories_are_the_same_with_checkpoints_and_without() {
    for seed in 0..24 {
        let mut rng = Rng::new(0xC4EC + seed);
        let rng = &mut rng;
        let folder = Folder::new();
        let mut store = options().open(folder.path()).unwrap();
        let mut checkpoints = 0;
        for step in 0..rng.range(20..120) {
            match rng.below(12) {
                0 => checkpoints += store.checkpoint().unwrap().slabs,
                1 => {
                    let before = portrait(&store);
                    drop(store);
                    let options = options();
                    let left_out = rng.chance(1, 8);
                    let options = if left_out { options.without_checkpoint() } else { options };
                    store = options.open(folder.path()).unwrap();
                    assert_eq!(portrait(&store), before);
                }
                _ => change(&store, step, rng),
            }
        }
        let before = portrait(&store);
        drop(store);
        assert_eq!(portrait(&options().open(folder.path()).unwrap()), before);
        let without = options().without_checkpoint().open(folder.path()).unwrap();
        assert_eq!(portrait(&without), before, "after {checkpoints} slabs");
    }
}

/// A commit of some kind.
fn change(store: &Store, step: u64, rng: &mut Rng) {
    let names = store.list_trees();
    if names.is_empty() || rng.chance(1, 16) {
        store.create_tree(&format!("tree {step}")).unwrap();
        return;
    }
    let name = rng.pick(&names).clone();
    let tree = store.open_tree(&name).unwrap();
    let branches = tree.list_branches();
    let branch = rng.pick(&branches[..]).clone();
    let branch = tree.on_branch(&branch).unwrap();
    match rng.below(16) {
        0 if names.len() > 2 => store.delete_tree(&name).unwrap(),
        1 => drop(tree.branch(&format!("b{step}"), branch.snapshot().revision())),
        2 => drop(tree.tag(&format!("t{step}"), tree.snapshot().revision())),
        3 if branches.len() > 1 && branch.branch_name() != "main" => {
            tree.delete_branch(branch.branch_name()).unwrap();
        }
        4 => {
            let text = "x".repeat(rng.index(100_000));
            branch.update(|tx| tx.put_attribute(&[], "large", text.as_str())).unwrap();
        }
        5 => {
            let count = rng.range(100..5000);
            let filled = branch.update(|tx| {
                let many = tx.append(&[])?;
                tx.bulk(|editor| {
                    editor.cursor(&[many])?.add_children(count)?;
                    Ok::<_, EditError>(())
                })
            });
            filled.unwrap();
        }
        6 if branch.snapshot().root().child_count() > 0 => {
            let snapshot = branch.snapshot();
            let first = snapshot.root().children().next().unwrap().0.to_key();
            branch.update(|tx| tx.remove(std::slice::from_ref(&first))).unwrap();
        }
        _ => {
            let added = branch.update(|tx| {
                let child = tx.append(&[])?;
                tx.put_attribute(&[child], "step", step as i64)
            });
            added.unwrap();
        }
    }
}

#[test]
fn damaged_checkpoint_is_left_out_while_the_log_is_whole() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    store.checkpoint().unwrap();
    let before = portrait(&store);
    store.close().unwrap();

    let pages = folder.path().join("pages");
    let mut bytes = fs::read(&pages).unwrap();
    bytes[..1024].fill(0x55);
    fs::write(&pages, &bytes).unwrap();
    let store = options().read_only().open(folder.path()).unwrap();
    assert!(store.report().ignored.is_some() && store.report().kept_as.is_none());
    assert_eq!(portrait(&store), before);
    drop(store);
    let store = options().open(folder.path()).unwrap();
    assert!(store.report().ignored.is_some() && store.report().checkpoint.number() == 0);
    assert_eq!(portrait(&store), before);
    store.checkpoint().unwrap();
    store.close().unwrap();
    let store = options().open(folder.path()).unwrap();
    assert!(store.report().ignored.is_none() && store.report().checkpoint.number() > 0);
    assert_eq!(portrait(&store), before);
    store.close().unwrap();

    // Without the beginning of the log there is nothing to go back to.
    fs::remove_file(folder.path().join("log/00000000000000000001.log")).unwrap();
    let store = options().open(folder.path()).unwrap();
    assert_eq!(portrait(&store), before);
    drop(store);
    fs::write(&pages, bytes).unwrap();
    let refused = options().open(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenError::Checkpoint(_)), "{refused}");
}

#[test]
fn checkpoints_are_written_in_the_background() {
    let folder = Folder::new();
    let options = OpenOptions::new().checkpoint_every(2_000).durability(Durability::Buffered);
    let store = options.open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while store.checkpointed().number() < 3 {
        tree.update(|tx| tx.append(&[])).unwrap();
        assert!(Instant::now() < until, "no checkpoint in a minute");
    }
    let (count, newest) = (tree.read().root().child_count(), store.revision());
    drop((store, tree));
    let store = Store::open(folder.path()).unwrap();
    assert!(store.report().checkpoint.number() >= 3 && store.revision() == newest);
    assert_eq!(store.open_tree("t").unwrap().read().root().child_count(), count);
}

#[test]
fn long_histories_are_read_piece_by_piece() {
    let folder = Folder::new();
    let store = options().durability(Durability::Memory).open(folder.path()).unwrap();
    let (all, some) = (store.create_tree("all").unwrap(), store.create_tree("some").unwrap());
    some.set_retention(Retention::Last(700)).unwrap();
    let count = |tree: &jungle_db::TreeHandle| tree.read().root().child_count();
    for n in 0..6_000 {
        all.update(|tx| tx.append(&[])).unwrap();
        some.update(|tx| tx.append(&[])).unwrap();
        if n % 900 == 0 {
            store.checkpoint().unwrap();
        }
    }
    drop((store, all, some));
    for _ in 0..2 {
        let store = options().durability(Durability::Memory).open(folder.path()).unwrap();
        assert!(store.report().checkpoint.number() > 10_000);
        let (all, some) = (store.open_tree("all").unwrap(), store.open_tree("some").unwrap());
        for n in [1, 2, 511, 512, 513, 2_000, 5_900, 5_999] {
            // Two trees were made, one was told what to keep, and each grew in turn.
            let snapshot = all.at(jungle_db::Revision::new(4 + 2 * n - 2)).unwrap();
            assert_eq!(snapshot.root().child_count(), n);
        }
        assert_eq!(count(&all), count(&some));
        assert!(some.at(jungle_db::Revision::new(100)).is_err());
        assert!((700..800).contains(&some.history(..).count()));
        let meta = CommitOptions::default();
        all.update_with(&meta, |tx| tx.append(&[])).unwrap();
        some.update_with(&meta, |tx| tx.append(&[])).unwrap();
        store.checkpoint().unwrap();
    }
}

#[test]
fn verifying_reads_the_whole_log_and_the_whole_checkpoint() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    store.checkpoint().unwrap();
    store.create_tree("later").unwrap();
    let found = store.verify().unwrap();
    assert!(found.log_is_complete && found.values > 0 && found.trees == 3);
    assert_eq!((found.revision, found.checkpoint), (store.revision(), store.checkpointed()));
    store.close().unwrap();

    let verify = || options().read_only().open(folder.path()).unwrap().verify();
    assert_eq!(verify().unwrap().revision, found.revision);
    // Opening reads neither what the checkpoint has of the log, nor values that nobody looks at.
    let first = folder.path().join("log/00000000000000000001.log");
    let mut bytes = fs::read(&first).unwrap();
    bytes[40] ^= 1;
    fs::write(&first, &bytes).unwrap();
    assert!(verify().is_err());
    bytes[40] ^= 1;
    fs::write(&first, &bytes).unwrap();
    verify().unwrap();
}

/// A folder whose log does not go back to the first revision, with a last segment behind the
/// checkpoint.
fn trimmed(folder: &Folder) -> Store {
    let small = options().segment_bytes(2_000).durability(Durability::Buffered);
    let store = small.open(folder.path()).unwrap();
    let all = store.create_tree("all").unwrap();
    let few = store.create_tree("few").unwrap();
    let commit = |tree: &jungle_db::TreeHandle, n: i64| {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    };
    (0..500).for_each(|n| commit(&all, n));
    assert_eq!(store.checkpoint().unwrap().segments, 0, "everything is kept");
    few.set_retention(Retention::Last(3)).unwrap();
    (0..500).for_each(|n| commit(&few, n));
    assert!(store.checkpoint().unwrap().segments > 5);
    (500..600).for_each(|n| commit(&few, n));
    store
}

fn log_bytes(folder: &Folder) -> u64 {
    let files = fs::read_dir(folder.path().join("log")).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn what_is_not_kept_goes_out_of_the_log_too() {
    let folder = Folder::new();
    let store = trimmed(&folder);
    let (before, told) = (store.revision(), portrait(&store));
    assert!(!store.verify().unwrap().log_is_complete);
    drop(store);
    assert!(log_bytes(&folder) < 20_000, "{}", log_bytes(&folder));
    for _ in 0..2 {
        let store = options().open(folder.path()).unwrap();
        assert_eq!((store.revision(), portrait(&store)), (before, told.clone()));
        let few = store.open_tree("few").unwrap();
        assert_eq!((few.retention(), few.history(..).count()), (Retention::Last(3), 3));
        assert_eq!(store.open_tree("all").unwrap().history(..).count(), 501);
        let verified = store.verify().unwrap();
        assert!(!verified.log_is_complete && verified.revision == before);
    }
    let error = options().without_checkpoint().open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");
    fs::write(folder.path().join("pages"), [0; 9_000]).unwrap();
    let error = options().open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::Checkpoint(_)), "{error}");
}

#[test]
fn a_backup_of_what_has_no_whole_log_begins_with_the_checkpoint() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let store = trimmed(&folder);
    let few = store.open_tree("few").unwrap();
    store.backup(copy.path()).unwrap();
    for n in 0..20 {
        let report = store.backup(copy.path()).unwrap();
        assert_eq!((report.revision, report.bytes > 0), (store.revision(), n > 0));
        let opened = options().read_only().open(copy.path()).unwrap();
        assert_eq!(portrait(&opened), portrait(&store));
        opened.verify().unwrap();
        few.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    // The copy of a copy.
    let again = Folder::new();
    let opened = options().read_only().open(copy.path()).unwrap();
    opened.backup(again.path()).unwrap();
    assert_eq!(portrait(&options().open(again.path()).unwrap()), portrait(&opened));
    // When the log is gone that the copy lacks, it stays what it was.
    for n in 0..500 {
        few.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    store.checkpoint().unwrap();
    let told = portrait(&opened);
    drop(opened);
    let error = store.backup(copy.path()).unwrap_err();
    let BackupError::Trimmed { revision, oldest, .. } = error else { panic!("{error}") };
    assert!(revision < oldest && oldest.number() <= store.revision().number() + 1, "{error}");
    assert!(error.to_string().contains("retention has let go"), "{error}");
    assert_eq!(portrait(&options().open(copy.path()).unwrap()), told);
}

#[test]
fn how_new_the_newest_is_can_be_asked_while_the_log_is_read() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    (0..1100).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    store.checkpoint().unwrap();
    let (status, expected) = (store.checkpoints(), store.revision());
    let (tell, told) = std::sync::mpsc::channel();
    let progress = Progress::new(move |_, _| tell.send(status.newest()).unwrap());
    // Nobody may write a checkpoint while the log is read; who only looks does not wait for that.
    store.verify_telling(&progress).unwrap();
    assert_eq!(told.iter().next(), Some(expected));
}
