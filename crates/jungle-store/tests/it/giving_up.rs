//! What takes long is given up at each of its calls of the disk, and then done again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jungle_db::Retention;
use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
use jungle_store::{
    BackupError, BackupProgress, CheckpointError, OpenOptions, Progress, Store, VerifyError,
};
use jungle_testkit::Rng;

use crate::secrets::{SECRET, as_it_is, query, secrets};
use crate::support::{every_kind_of_commit, portrait};

/// What is done with a store, and the disk of a backup; says whether it was given up.
type Work = fn(&Store, &SimDisk, &Progress) -> bool;

/// Nothing is written in the background.
fn options() -> OpenOptions {
    OpenOptions::new().segment_bytes(8 << 10).checkpoint_every(u64::MAX)
}

/// A folder with a checkpoint, before which the log has been removed, and commits since.
fn folder() -> SimDisk {
    let disk = SimDisk::new();
    let store = options().open_on(Arc::new(disk.clone())).unwrap();
    every_kind_of_commit(&store);
    let tree = store.create_tree("long").unwrap();
    tree.set_retention(Retention::Last(1000)).unwrap();
    let commit = |n: i64| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap());
    (0..600).for_each(commit);
    store.checkpoint().unwrap();
    (600..1200).for_each(commit);
    drop(tree);
    store.close().unwrap();
    disk
}

/// The files that lie there.
fn names(disk: &SimDisk) -> BTreeSet<String> {
    disk.files().into_keys().collect()
}

/// Gives it up at each call of either disk; says how often it was.
#[track_caller]
fn check(work: Work) -> u64 {
    let files = folder().files();
    let mut given_up = 0;
    for at in 0.. {
        let (disk, copy) = (SimDisk::with_files(&files), SimDisk::new());
        let store = options().open_on(Arc::new(disk.clone())).unwrap();
        let (before, ought) = (names(&disk), portrait(&store));
        let (flag, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        for disk in [&disk, &copy] {
            let (flag, calls) = (Arc::clone(&flag), Arc::clone(&calls));
            disk.watch(move |_, _| {
                if calls.fetch_add(1, Ordering::SeqCst) == at {
                    flag.store(true, Ordering::SeqCst);
                }
                Fate::Go
            });
        }
        let is_given_up = work(&store, &copy, &Progress::default().until(Arc::clone(&flag)));
        [&disk, &copy].into_iter().for_each(SimDisk::unwatch);
        if !flag.load(Ordering::SeqCst) {
            return given_up;
        }
        if is_given_up {
            given_up += 1;
            assert_eq!(names(&disk), before, "given up at call {at}");
        }
        store.verify().unwrap_or_else(|error| panic!("given up at call {at}: {error}"));
        assert!(!work(&store, &copy, &Progress::default()), "again after call {at}");
        store.close().unwrap();
        let store = options().open_on(Arc::new(disk)).unwrap();
        assert_eq!(portrait(&store), ought, "given up at call {at}");
    }
    unreachable!("it ends some time")
}

fn checkpoint(store: &Store, _: &SimDisk, progress: &Progress) -> bool {
    let written = store.checkpoint_telling(progress);
    written.inspect_err(|error| assert!(error.is_given_up(), "{error}")).is_err()
}

fn compact(store: &Store, _: &SimDisk, progress: &Progress) -> bool {
    let compacted = store.compact_telling(progress);
    compacted
        .inspect_err(|error: &CheckpointError| assert!(error.is_given_up(), "{error}"))
        .is_err()
}

fn verify(store: &Store, _: &SimDisk, progress: &Progress) -> bool {
    let verified = store.verify_telling(progress);
    verified.inspect_err(|error: &VerifyError| assert!(error.is_given_up(), "{error}")).is_err()
}

fn survey(store: &Store, _: &SimDisk, progress: &Progress) -> bool {
    let damages = store.survey(progress).map(|survey| survey.damages);
    // That it was given up is no damage.
    assert!(damages.as_ref().is_ok_and(Vec::is_empty) || damages.is_err(), "{damages:?}");
    damages.is_err()
}

fn backup(store: &Store, copy: &SimDisk, progress: &Progress) -> bool {
    let (copying, checking) = (progress.clone(), progress.clone());
    let to = Arc::new(copy.clone());
    let copied = store.backup_on_telling(to, BackupProgress { copying, checking });
    copied.inspect_err(|error: &BackupError| assert!(error.is_given_up(), "{error}")).is_err()
}

#[test]
fn a_checkpoint_that_is_given_up_leaves_the_one_before() {
    assert!(check(checkpoint) > 5);
}

#[test]
fn pages_that_are_not_compacted_to_the_end_stay_as_they_were() {
    assert!(check(compact) > 5);
}

#[test]
fn a_folder_that_is_not_verified_to_the_end_is_not_called_damaged() {
    assert!(check(verify) > 5);
}

#[test]
fn a_survey_that_is_given_up_tells_of_no_damage() {
    assert!(check(survey) > 5);
}

#[test]
fn a_backup_that_is_given_up_is_completed_by_the_next_from_wherever_it_was() {
    assert!(check(backup) > 5);
}

/// A folder with something to be erased.
fn with_secrets(retention: Retention) -> SimDisk {
    let disk = SimDisk::new();
    let options = crate::secrets::options().segment_bytes(300);
    let store = options.open_on(Arc::new(disk.clone())).unwrap();
    secrets(&store, &mut Rng::new(7), 20);
    let tree = store.open_tree("people").unwrap();
    tree.set_retention(retention).unwrap();
    tree.update(|tx| tx.put_attribute(&[], "ana", SECRET)).unwrap();
    store.checkpoint().unwrap();
    drop(tree);
    store.close().unwrap();
    disk
}

/// Gives an erasure up at each call of the disk. The log goes back to the first revision or not.
#[track_caller]
fn check_erasure(retention: Retention, log_is_complete: bool) {
    let start = with_secrets(retention);
    let (files, before) = (start.files(), names(&start));
    let open = |disk: SimDisk| crate::secrets::options().open_on(Arc::new(disk)).unwrap();
    let ought = as_it_is(&open(SimDisk::with_files(&files)));
    let mut given_up = 0;
    for at in 0_u64.. {
        let disk = SimDisk::with_files(&files);
        let flag = Arc::new(AtomicBool::new(false));
        let counts_at = Arc::new(AtomicU64::new(u64::MAX));
        let (set, counts, mut calls) = (Arc::clone(&flag), Arc::clone(&counts_at), 0);
        disk.watch(move |call, _| {
            if call.kind == CallKind::Rename && call.name == "LOCK.erased" {
                counts.store(calls, Ordering::SeqCst);
            }
            set.fetch_or(calls == at, Ordering::SeqCst);
            calls += 1;
            Fate::Go
        });
        let progress = Progress::default().until(Arc::clone(&flag));
        let options = crate::secrets::options().progress(progress);
        let erased = options.erase_on(Arc::new(disk.clone()), &query(), |_, _| ());
        disk.unwatch();
        let counts_at = counts_at.load(Ordering::SeqCst);
        match erased {
            Ok(report) => {
                assert_eq!(report.log_was_complete, log_is_complete);
                // Before it counts, both folders are synced; then it is done to its end.
                assert!(at + 2 >= counts_at, "given up at call {at}, but done");
            }
            Err(error) => {
                assert!(error.is_given_up() && counts_at == u64::MAX, "at call {at}: {error}");
                assert_eq!(names(&disk), before, "given up at call {at}");
                assert_eq!(as_it_is(&open(disk)), ought, "given up at call {at}");
                given_up += 1;
            }
        }
        if !flag.load(Ordering::SeqCst) {
            break;
        }
    }
    assert!(given_up > 20, "{given_up}");
}

#[test]
fn an_erasure_that_is_given_up_leaves_all_as_it_was_until_it_counts() {
    check_erasure(Retention::All, true);
    check_erasure(Retention::Last(10), false);
}
