//! Branches and tags.

use std::sync::Arc;

use jungle_db::{
    BranchError, CommitError, CommitMeta, Jungle, MemoryJournal, NoSuchRevision, Retention,
    Revision, TreeHandle, UpdateError,
};
use jungle_tree::{Key, MergeOptions, Position, Resolution};

use crate::support::{append, int, path, put, tree_in, tree_of};

#[test]
fn a_branch_begins_with_its_origin_and_goes_its_own_way() {
    let (jungle, main) = tree_of(1);
    put(&main, "/0", "n", 1);
    let origin = jungle.revision();
    put(&main, "/0", "n", 2);
    let side = main.branch("side", origin).unwrap();
    assert_eq!((int(&side, "/0", "n"), side.branch_name()), (Some(1), "side"));
    assert_eq!(side.snapshot().revision(), origin);
    put(&side, "/0", "n", 3);
    put(&main, "/0", "n", 4);
    assert_eq!((int(&side, "/0", "n"), int(&main, "/0", "n")), (Some(3), Some(4)));
    let again = main.on_branch("side").unwrap();
    assert_eq!(again.branch_id(), side.branch_id());
    assert_eq!(side.on_branch("main").unwrap().branch_id(), main.branch_id());
    let told: Vec<_> = side.history(..).rev().map(|info| info.unwrap().revision).collect();
    assert_eq!((told[0], told.len()), (origin, 2));
    assert_eq!(main.list_branches().join(" "), "main side");
}

#[test]
fn names_of_branches_and_tags_are_checked() {
    let (jungle, main) = tree_of(0);
    let now = jungle.revision();
    main.branch("b", now).unwrap();
    main.tag("t", now).unwrap();
    for taken in ["main", "b", "t"] {
        assert!(matches!(main.branch(taken, now), Err(BranchError::Exists { .. })));
        assert!(matches!(main.tag(taken, now), Err(BranchError::Exists { .. })));
    }
    assert!(matches!(main.branch("", now), Err(BranchError::Name(_))));
    let late = Revision::new(99);
    assert!(matches!(main.branch("x", late), Err(BranchError::NoSuchRevision(_))));
    assert!(matches!(main.delete_branch("main"), Err(BranchError::Main)));
    assert!(matches!(main.delete_branch("t"), Err(BranchError::NoSuchBranch(_))));
    main.delete_tag("t").unwrap();
    assert_eq!(*main.at_tag("t").unwrap_err().name, *"t");
}

#[test]
fn a_branch_is_merged_once_and_again() {
    let (jungle, main) = tree_of(3);
    let side = main.branch("side", jungle.revision()).unwrap();
    let merge = || {
        let merge = main.merge("side", &MergeOptions::new()).unwrap();
        assert_eq!(merge.conflicts(), []);
        merge.commit(&CommitMeta::new()).unwrap();
    };
    put(&side, "/0", "n", 1);
    put(&main, "/1", "n", 2);
    merge();
    assert_eq!((int(&main, "/0", "n"), int(&main, "/1", "n")), (Some(1), Some(2)));
    // What was merged is not merged again: what main made of it stays.
    put(&main, "/0", "n", 10);
    put(&side, "/2", "n", 3);
    merge();
    assert_eq!((int(&main, "/0", "n"), int(&main, "/2", "n")), (Some(10), Some(3)));
    let back = side.merge("main", &MergeOptions::new()).unwrap();
    assert_eq!(back.conflicts(), []);
    back.commit(&CommitMeta::new()).unwrap();
    assert!(side.read().root().is_equal(main.read().root()));
}

/// What both did is nothing to be done, but from then on it is what both begin from.
/// Nobody who has a path of a node comes to another node by it.
#[test]
fn what_main_gave_between_two_and_took_away_is_not_given_by_a_merge() {
    let (jungle, main) = tree_of(2);
    let first = Position::new(0).unwrap();
    let side = main.branch("side", jungle.revision()).unwrap();
    let insert = |tree: &TreeHandle| tree.update(|tx| tx.insert_after(&[], &first)).unwrap().value;
    let gone = insert(&main);
    main.update(|tx| tx.remove(std::slice::from_ref(&gone))).unwrap();
    let theirs = insert(&side);
    let merge = main.merge("side", &MergeOptions::new()).unwrap();
    let renamed = merge.commit(&CommitMeta::new()).unwrap().renamed;
    assert_eq!((&theirs, renamed.len()), (&gone, 1));
    assert!(main.read().root().child(&gone).is_none());
    let merged = renamed[0].1.last().unwrap().clone();
    let later = insert(&main);
    main.update(|tx| tx.remove(std::slice::from_ref(&merged))).unwrap();
    let given = [gone, merged, later, insert(&main), insert(&main)];
    let distinct: std::collections::HashSet<&Key> = given.iter().collect();
    assert_eq!(distinct.len(), given.len(), "{given:?}");
}

#[test]
fn what_a_branch_gave_and_took_away_is_not_given_by_a_merge_on_top_of_others() {
    let (jungle, main) = tree_of(0);
    let side = main.branch("side", jungle.revision()).unwrap();
    let gone = side.update(|tx| tx.append(&[])).unwrap().value;
    side.update(|tx| tx.remove(std::slice::from_ref(&gone))).unwrap();
    put(&side, "/", "n", 1);
    let merge = main.merge("side", &MergeOptions::new()).unwrap();
    put(&main, "/", "m", 2);
    merge.commit(&CommitMeta::new()).unwrap();
    assert_eq!((int(&main, "/", "n"), int(&main, "/", "m")), (Some(1), Some(2)));
    assert_ne!(main.update(|tx| tx.append(&[])).unwrap().value, gone);
}

#[test]
fn a_merge_that_changes_nothing_is_written_down() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let main = tree_in(&jungle, "t", 2);
    let side = main.branch("side", jungle.revision()).unwrap();
    let merge = |jungle: &Jungle| {
        let main = jungle.open_tree("t").unwrap();
        let before = jungle.revision();
        main.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
        jungle.revision() > before
    };
    put(&side, "/0", "n", 1);
    put(&main, "/0", "n", 1);
    assert!(merge(&jungle) && !merge(&jungle));
    // Main takes it away again, which side has not done since.
    main.update(|tx| tx.remove_attribute(&path("/0"), "n")).unwrap();
    put(&side, "/1", "n", 2);
    let again = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| again.replay(record)).unwrap();
    again.end_replay();
    for jungle in [jungle, again] {
        assert!(merge(&jungle) && !merge(&jungle));
        let main = jungle.open_tree("t").unwrap();
        assert_eq!((int(&main, "/0", "n"), int(&main, "/1", "n")), (None, Some(2)));
        // The other way round nothing is news for ever.
        let side = main.on_branch("side").unwrap();
        let back = |into: &TreeHandle, from: &str| {
            let merge = into.merge(from, &MergeOptions::new()).unwrap();
            merge.commit(&CommitMeta::new()).unwrap();
        };
        back(&side, "main");
        let before = jungle.revision();
        back(&main, "side");
        back(&side, "main");
        assert_eq!(jungle.revision(), before);
    }
}

#[test]
fn branches_of_one_branch_merge_over_where_they_parted() {
    let (jungle, main) = tree_of(3);
    let a = main.branch("a", jungle.revision()).unwrap();
    put(&main, "/0", "n", 1);
    let b = main.branch("b", jungle.revision()).unwrap();
    put(&a, "/1", "n", 2);
    put(&b, "/2", "n", 3);
    a.merge("b", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
    let found = ["/0", "/1", "/2"].map(|at| int(&a, at, "n"));
    assert_eq!(found, [Some(1), Some(2), Some(3)]);
}

#[test]
fn conflicts_are_seen_before_anything_happens() {
    let (jungle, main) = tree_of(1);
    let side = main.branch("side", jungle.revision()).unwrap();
    put(&side, "/0", "n", 1);
    put(&main, "/0", "n", 2);
    let before = jungle.revision();
    let options = MergeOptions::new().resolution(Resolution::Ours);
    let merge = main.merge("side", &options).unwrap();
    assert_eq!(merge.conflicts().len(), 1);
    assert_eq!((jungle.revision(), int(&main, "/0", "n")), (before, Some(2)));
    // What others commit meanwhile is built upon.
    append(&main, &[]);
    merge.commit(&CommitMeta::new().message("merge")).unwrap();
    assert_eq!((int(&main, "/0", "n"), main.read().root().child_count()), (Some(1), 2));
}

#[test]
fn a_conflict_that_went_to_theirs_is_not_found_again() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let main = tree_in(&jungle, "t", 1);
    let side = main.branch("side", jungle.revision()).unwrap();
    put(&side, "/0", "n", 1);
    put(&main, "/0", "n", 2);
    let before = jungle.revision();
    let merge = main.merge("side", &MergeOptions::new()).unwrap();
    assert_eq!((merge.conflicts().len(), merge.changes().len()), (1, 0));
    assert_eq!(merge.base().root().at(&[Key::from(0)]).unwrap().attribute("n"), None);
    assert!(merge.commit(&CommitMeta::new()).unwrap().revision > before);
    let copy = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| copy.replay(record)).unwrap();
    for main in [main, copy.open_tree("t").unwrap()] {
        let merge = main.merge("side", &MergeOptions::new()).unwrap();
        assert_eq!(merge.conflicts(), []);
    }
}

#[test]
fn a_deleted_branch_is_written_by_nobody() {
    let (jungle, main) = tree_of(1);
    let side = main.branch("side", jungle.revision()).unwrap();
    main.delete_branch("side").unwrap();
    let refused = side.update(|tx| tx.append(&[]));
    assert!(matches!(refused, Err(UpdateError::NotWritten(_))));
    assert_eq!(*main.on_branch("side").unwrap_err().name, *"side");
    assert_eq!(side.read().root().child_count(), 1);
}

#[test]
fn a_tag_outlives_what_is_kept() {
    let jungle = Jungle::builder().retention(Retention::Last(2)).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    put(&tree, "/0", "n", 0);
    let tagged = jungle.revision();
    tree.tag("first", tagged).unwrap();
    (1..2000).for_each(|n| put(&tree, "/0", "n", n));
    assert!(matches!(tree.at(tagged), Err(NoSuchRevision::TooOld { .. })));
    let old = tree.at_tag("first").unwrap();
    let n = old.root().at(&path("/0")).unwrap().attribute("n").unwrap().as_int();
    assert_eq!((n, old.revision()), (Some(0), tagged));
    let tags = tree.list_tags();
    assert_eq!(tags, [("first".into(), tagged)]);
}

#[test]
fn a_merge_is_committed_once() {
    let (jungle, main) = tree_of(0);
    let side = main.branch("side", jungle.revision()).unwrap();
    append(&side, &[]);
    let prepare = |into: &TreeHandle, from| into.merge(from, &MergeOptions::new()).unwrap();
    let (first, second) = (prepare(&main, "side"), prepare(&main, "side"));
    let crossed = prepare(&side, "main");
    first.commit(&CommitMeta::new()).unwrap();
    let refused = second.commit(&CommitMeta::new());
    assert!(matches!(refused, Err(CommitError::Conflict(_))), "{refused:?}");
    assert_eq!(main.read().root().child_count(), 1);
    // It was worked out as nothing of the main branch was on the other.
    append(&main, &[]);
    let unchanged = jungle.revision();
    crossed.commit(&CommitMeta::new()).unwrap();
    assert_eq!(jungle.revision(), unchanged, "nothing was to be merged then");
    prepare(&side, "main").commit(&CommitMeta::new()).unwrap();
    assert_eq!([&main, &side].map(|it| it.read().root().child_count()), [2, 2]);
}

#[test]
fn what_is_merged_is_kept_until_that_is_written() {
    let (jungle, main) = tree_of(0);
    let side = main.branch("side", jungle.revision()).unwrap();
    side.set_retention(Retention::Last(1)).unwrap();
    append(&side, &[]);
    let merge = main.merge("side", &MergeOptions::new()).unwrap();
    append(&side, &[]);
    let refused = merge.commit(&CommitMeta::new());
    assert!(matches!(refused, Err(CommitError::Conflict(_))), "{refused:?}");
    main.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
    assert_eq!(main.read().root().child_count(), 2);
    main.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
    assert_eq!(main.read().root().child_count(), 2);
}
