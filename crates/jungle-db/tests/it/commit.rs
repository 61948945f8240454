//! Commits: what others do in other places does not matter, what they do in the same place does.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use jungle_db::{
    CommitError, CommitMeta, CommitOptions, Draft, Isolation, Jungle, Retention, SetRootError,
    TreeHandle, UpdateError,
};
use jungle_testkit::Rng;
use jungle_tree::{EditError, Key, Position};

use crate::driver::Follower;
use crate::support::{Edited, append, int, path, put, tree_of};

/// Runs an update during whose first run others commit; tells how often it ran.
fn runs(
    tree: &TreeHandle,
    isolation: Isolation,
    ours: impl Fn(&mut Draft) -> Edited,
    theirs: impl Fn(&mut Draft) -> Edited,
) -> u32 {
    let first = Cell::new(true);
    let options = CommitOptions { isolation, ..CommitOptions::default() };
    let committed = tree.update_with(&options, |tx| {
        ours(tx)?;
        if first.replace(false) {
            tree.update(&theirs).unwrap();
        }
        Ok::<_, EditError>(())
    });
    committed.unwrap().runs
}

/// As `runs`, in the tree that has three children, each with an attribute `n` of 0.
fn check(
    expected: u32,
    ours: impl Fn(&mut Draft) -> Edited,
    theirs: impl Fn(&mut Draft) -> Edited,
) -> TreeHandle {
    let (_jungle, tree) = tree_of(3);
    for child in ["/0", "/1", "/2"] {
        put(&tree, child, "n", 0);
    }
    assert_eq!(runs(&tree, Isolation::Serializable, ours, theirs), expected);
    tree
}

fn set(at: &'static str, value: i64) -> impl Fn(&mut Draft) -> Edited {
    move |tx| tx.put_attribute(&path(at), "n", value)
}

#[test]
fn disjoint_edits_are_rebased() {
    let tree = check(1, set("/0", 1), set("/1", 2));
    assert_eq!((int(&tree, "/0", "n"), int(&tree, "/1", "n")), (Some(1), Some(2)));
}

#[test]
fn edits_of_the_same_attribute_run_again() {
    let tree = check(2, set("/0", 1), set("/0", 2));
    assert_eq!(int(&tree, "/0", "n"), Some(1));
}

#[test]
fn a_changed_read_runs_again() {
    let copy = |tx: &mut Draft| {
        let n = tx.attribute(&path("/1"), "n").unwrap().unwrap().as_int().unwrap();
        tx.put_attribute(&path("/0"), "n", n)
    };
    let tree = check(2, copy, set("/1", 7));
    assert_eq!(int(&tree, "/0", "n"), Some(7));
}

#[test]
fn a_read_of_something_else_does_not_matter() {
    let copy = |tx: &mut Draft| {
        let n = tx.attribute(&path("/1"), "n").unwrap().unwrap().as_int().unwrap();
        let _ = tx.exists(&path("/2"));
        tx.put_attribute(&path("/0"), "n", n + 1)
    };
    check(1, copy, set("/2", 7));
    check(1, copy, |tx| tx.put_attribute(&path("/1"), "m", 7));
    check(1, copy, |tx| tx.append(&[]).map(drop));
    check(2, copy, |tx| tx.remove(&path("/2")));
}

#[test]
fn a_read_of_a_subtree_is_a_read_of_all_of_it() {
    let read = |tx: &mut Draft| {
        let nodes = tx.get(&path("/1")).unwrap().subtree_count();
        tx.put_attribute(&path("/0"), "n", i64::try_from(nodes).unwrap())
    };
    check(1, read, set("/2", 7));
    check(2, read, set("/1", 7));
    let tree = check(2, read, |tx| tx.append(&path("/1")).map(drop));
    assert_eq!(int(&tree, "/0", "n"), Some(2));
}

#[test]
fn a_read_of_the_children_sees_new_ones_and_not_their_content() {
    let count = |tx: &mut Draft| {
        let children = tx.child_keys(&[]).unwrap().count();
        tx.put_attribute(&[], "children", i64::try_from(children).unwrap())
    };
    check(1, count, set("/2", 7));
    check(2, count, |tx| tx.append(&[]).map(drop));
    check(2, count, |tx| tx.remove(&path("/1")));
}

#[test]
fn what_was_missing_is_a_read() {
    let try_it = |tx: &mut Draft| {
        let there = tx.put_attribute(&path("/3"), "n", 1).is_ok();
        tx.put_attribute(&path("/0"), "there", there)
    };
    let tree = check(2, try_it, |tx| tx.append(&[]).map(drop));
    assert_eq!(int(&tree, "/3", "n"), Some(1));
}

/// Only one of two gets what both take, and only one of two makes what both make.
#[test]
fn what_others_did_already_is_not_done_again() {
    let take = |tx: &mut Draft| tx.remove(&path("/1"));
    let try_to_take = |tx: &mut Draft| match take(tx) {
        Err(EditError::NoSuchNode { .. }) => tx.put_attribute(&path("/0"), "late", true),
        done => done,
    };
    let tree = check(2, try_to_take, take);
    assert!(tree.read().root().at(&path("/0")).unwrap().attribute("late").is_some());
    let lock = |tx: &mut Draft| tx.insert_child(&[], &Key::from("lock"));
    let try_to_lock = |tx: &mut Draft| match lock(tx) {
        Err(EditError::ChildExists { .. }) => tx.put_attribute(&path("/0"), "late", true),
        done => done,
    };
    let tree = check(2, try_to_lock, lock);
    assert!(tree.read().root().at(&path("/0")).unwrap().attribute("late").is_some());
    let carry = |tx: &mut Draft| tx.move_node(&path("/1"), &path("/0"), &Key::from("x"));
    let try_to_carry = |tx: &mut Draft| match carry(tx) {
        Err(_) => tx.put_attribute(&path("/2"), "late", true),
        done => done,
    };
    let tree = check(2, try_to_carry, carry);
    assert!(tree.read().root().at(&path("/2")).unwrap().attribute("late").is_some());
}

/// Who is told that there is nothing to remove finds nothing there until others put it later.
#[test]
fn a_removal_that_finds_nothing_runs_again_if_there_is_something_by_then() {
    let remove = |tx: &mut Draft| tx.remove_attribute(&path("/0"), "m").map(drop);
    let theirs = |tx: &mut Draft| tx.put_attribute(&path("/0"), "m", 1);
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let (_jungle, tree) = tree_of(3);
        assert_eq!(runs(&tree, isolation, remove, set("/0", 1)), 1);
        assert_eq!(runs(&tree, isolation, remove, theirs), 2);
        assert_eq!(int(&tree, "/0", "m"), None);
        let mut ours = tree.begin(CommitOptions { isolation, ..CommitOptions::default() });
        assert!(!ours.remove_attribute(&path("/0"), "m").unwrap());
        put(&tree, "/0", "m", 1);
        let refused = ours.commit().unwrap_err();
        assert!(matches!(&refused, CommitError::Conflict(why) if *why.reads()[0] == path("/0")));
    }
}

#[test]
fn what_others_removed_does_not_come_back_by_a_move() {
    let (_jungle, tree) = tree_of(2);
    append(&tree, &path("/0"));
    let carry = |tx: &mut Draft| {
        tx.put_attribute(&path("/0/0"), "n", 1).or_else(|_| tx.append(&[]).map(drop))?;
        tx.move_node(&path("/0"), &path("/1"), &Key::from("x"))
    };
    assert_eq!(runs(&tree, Isolation::Serializable, carry, |tx| tx.remove(&path("/0/0"))), 2);
    assert!(tree.read().root().at(&path("/1/x/0")).is_err());
}

#[test]
fn a_copy_beside_a_removal_is_no_move() {
    let (_jungle, tree) = tree_of(2);
    append(&tree, &path("/0"));
    let held = tree.snapshot();
    let replace = |tx: &mut Draft| {
        tx.insert_subtree(&path("/1"), &Key::from("copy"), held.root().at(&path("/0")).unwrap())?;
        tx.remove(&path("/0"))
    };
    assert_eq!(runs(&tree, Isolation::Serializable, replace, set("/0/0", 1)), 2);
    assert_eq!(int(&tree, "/1/copy/0", "n"), None);
}

#[test]
fn a_move_takes_what_was_read_along() {
    let read = |tx: &mut Draft| {
        tx.move_node(&path("/1"), &path("/0"), &Key::from("x"))?;
        let n = tx.attribute(&path("/0/x"), "n").unwrap().unwrap().as_int();
        tx.put_attribute(&path("/2"), "n", n.unwrap())
    };
    let tree = check(2, read, set("/1", 7));
    assert_eq!(int(&tree, "/2", "n"), Some(7));
}

#[test]
fn own_edits_are_no_reads() {
    let ours = |tx: &mut Draft| {
        let own = [tx.append(&[])?];
        tx.put_attribute(&own, "n", 1)?;
        let n = tx.attribute(&own, "n").unwrap().unwrap().as_int().unwrap();
        tx.put_attribute(&own, "n", n + 1)
    };
    let tree = check(1, ours, |tx| tx.append(&[]).map(drop));
    assert_eq!((int(&tree, "/3", "n"), int(&tree, "/4", "n")), (None, Some(2)));
}

#[test]
fn appends_are_both_kept_and_the_new_key_is_told() {
    let (_jungle, tree) = tree_of(3);
    let first = Cell::new(true);
    let committed = tree.update(|tx| {
        let key = tx.append(&[])?;
        tx.put_attribute(std::slice::from_ref(&key), "who", 1)?;
        if first.replace(false) {
            append(&tree, &[]);
        }
        Ok::<_, EditError>(key)
    });
    let committed = committed.unwrap();
    assert_eq!((committed.runs, committed.value), (1, Key::from(3)));
    assert_eq!(committed.renamed, [(path("/3"), path("/4"))]);
    assert_eq!((int(&tree, "/3", "who"), int(&tree, "/4", "who")), (None, Some(1)));
}

#[test]
fn a_position_that_others_gave_and_took_is_not_given_again() {
    let come_and_go = |tx: &mut Draft| {
        let gone = tx.append(&[])?;
        tx.append(&[])?;
        tx.remove(&[gone])
    };
    let (_jungle, tree) = tree_of(1);
    let first = Cell::new(true);
    let committed = tree.update(|tx| {
        let key = tx.append(&[])?;
        tx.put_attribute(&[key], "n", 1)?;
        if first.replace(false) {
            tree.update(come_and_go).unwrap();
        }
        Ok::<_, EditError>(())
    });
    assert_eq!(committed.unwrap().renamed, [(path("/1"), path("/3"))]);
    assert_eq!(int(&tree, "/3", "n"), Some(1));
}

#[test]
fn a_new_child_whose_key_counts_runs_again() {
    let tree = check(2, |tx| tx.add_child(&[]).map(drop), |tx| tx.append(&[]).map(drop));
    assert_eq!(tree.read().root().child_count(), 5);
    check(1, |tx| tx.add_child(&[]).map(drop), set("/0", 7));
}

/// Each moves what it reads in the one place to the other: the classic write skew.
#[test]
fn snapshot_isolation_allows_write_skew_and_serializable_does_not() {
    let swap = |from: &'static str, to: &'static str| {
        move |tx: &mut Draft| {
            let n = tx.attribute(&path(from), "n").unwrap().unwrap().as_int().unwrap();
            tx.put_attribute(&path(to), "n", n)
        }
    };
    let prepare = || {
        let (jungle, tree) = tree_of(2);
        put(&tree, "/0", "n", 0);
        put(&tree, "/1", "n", 1);
        (jungle, tree)
    };
    let (_jungle, tree) = prepare();
    assert_eq!(runs(&tree, Isolation::Snapshot, swap("/0", "/1"), swap("/1", "/0")), 1);
    assert_eq!((int(&tree, "/0", "n"), int(&tree, "/1", "n")), (Some(1), Some(0)));
    let (_jungle, tree) = prepare();
    assert_eq!(runs(&tree, Isolation::Serializable, swap("/0", "/1"), swap("/1", "/0")), 2);
    assert_eq!((int(&tree, "/0", "n"), int(&tree, "/1", "n")), (Some(1), Some(1)));
}

#[test]
fn a_closure_that_fails_changes_nothing() {
    let (jungle, tree) = tree_of(1);
    let before = jungle.revision();
    let failed = tree.update(|tx| {
        tx.append(&[]).unwrap();
        Err::<(), _>("no")
    });
    assert!(matches!(failed, Err(UpdateError::Closure("no"))));
    assert_eq!((jungle.revision(), tree.read().root().child_count()), (before, 1));
    let nothing = tree.update(|tx| Ok::<_, EditError>(tx.root().child_count())).unwrap();
    assert_eq!((nothing.revision, jungle.revision()), (before, before));
}

#[test]
fn threads_in_different_places_never_run_a_closure_twice() {
    const EACH: i64 = 300;
    let (_jungle, tree) = tree_of(4);
    let (start, extra) = (Barrier::new(4), AtomicU32::new(0));
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let (tree, start, extra) = (&tree, &start, &extra);
            scope.spawn(move || {
                start.wait();
                for i in 0..EACH {
                    let done = tree.update(|tx| {
                        let own = [Key::from(thread)];
                        let n = tx.attribute(&own, "n").unwrap().and_then(|n| n.as_int());
                        assert_eq!(n.unwrap_or(0), i);
                        tx.append(&own)?;
                        tx.put_attribute(&own, "n", i + 1)
                    });
                    extra.fetch_add(done.unwrap().runs - 1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(extra.into_inner(), 0);
    for (_, child) in tree.read().root().children() {
        assert_eq!(child.attribute("n").unwrap().as_int(), Some(EACH));
        assert_eq!(child.child_count(), EACH as u64);
    }
}

#[test]
fn threads_in_the_same_place_lose_nothing() {
    const EACH: i64 = 200;
    let (_jungle, tree) = tree_of(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let add = |tx: &mut Draft| {
                        let n = tx.attribute(&[], "n").unwrap().and_then(|n| n.as_int());
                        tx.append(&[])?;
                        tx.put_attribute(&[], "n", n.unwrap_or(0) + 1)
                    };
                    tree.update(add).unwrap();
                }
            });
        }
    });
    assert_eq!(int(&tree, "/", "n"), Some(4 * EACH));
    assert_eq!(tree.read().root().child_count(), 4 * EACH as u64);
}

#[test]
fn a_transaction_reads_its_own_writes_and_can_be_aborted() {
    let (_jungle, tree) = tree_of(1);
    let mut tx = tree.begin(CommitOptions::default());
    tx.put_attribute(&path("/0"), "n", 5).unwrap();
    assert_eq!(tx.attribute(&path("/0"), "n").unwrap().unwrap().as_int(), Some(5));
    assert_eq!(int(&tree, "/0", "n"), None);
    tx.abort();
    assert_eq!(int(&tree, "/0", "n"), None);
    let mut tx = tree.begin(CommitOptions::default());
    tx.put_attribute(&path("/0"), "n", 5).unwrap();
    tx.describe(CommitMeta::new().author("ana").message("five"));
    let revision = tx.commit().unwrap().revision;
    assert_eq!(int(&tree, "/0", "n"), Some(5));
    let info = tree.history(..).next().unwrap().unwrap();
    assert_eq!((info.revision, info.meta.author_name()), (revision, Some("ana")));
}

#[test]
fn a_conflict_is_a_value_with_the_changes() {
    let (_jungle, tree) = tree_of(1);
    let mut tx = tree.begin(CommitOptions::default());
    tx.put_attribute(&path("/0"), "n", 5).unwrap();
    put(&tree, "/0", "n", 6);
    let Err(CommitError::Conflict(conflicts)) = tx.commit() else { panic!("it should not commit") };
    assert_eq!(conflicts.list().len(), 1);
    let (branch, changes) = conflicts.changes().next().unwrap();
    assert_eq!((branch, changes.to_string().trim()), (tree.branch_id(), "~ /0 @n = 5"));
    let mut tx = tree.begin(CommitOptions::default());
    assert_eq!(tx.child_count(&[]), Ok(1));
    tx.put_attribute(&path("/0"), "n", 5).unwrap();
    append(&tree, &[]);
    let Err(CommitError::Conflict(conflicts)) = tx.commit() else { panic!("it should not commit") };
    assert_eq!(conflicts.reads(), [&path("/")]);
    assert_eq!(int(&tree, "/0", "n"), Some(6));
}

#[test]
fn the_root_is_set_whatever_was_or_only_if_it_is_as_expected() {
    let (_jungle, tree) = tree_of(2);
    let old = tree.snapshot();
    append(&tree, &[]);
    let newer = tree.snapshot();
    let meta = CommitMeta::new();
    let error = tree.compare_and_set_root(&old, &old, &meta).unwrap_err();
    assert!(matches!(error, SetRootError::Changed { newest } if newest == newer.revision()));
    let revision = tree.compare_and_set_root(&newer, &old, &meta).unwrap().revision;
    assert_eq!(tree.snapshot().revision(), revision);
    assert_eq!(tree.read().root().child_count(), 2);
    tree.set_root(&newer, &meta).unwrap();
    assert_eq!(tree.read().root().child_count(), 3);
    let (_other, stranger) = tree_of(1);
    let error = tree.set_root(&stranger.snapshot(), &meta).unwrap_err();
    assert!(matches!(error, SetRootError::Edit(EditError::OtherArena)));
}

#[test]
fn a_version_of_another_jungle_is_never_the_expected_one() {
    let [(_jungle, tree), (_other, stranger)] = [tree_of(2), tree_of(2)];
    let (ours, theirs) = (tree.snapshot(), stranger.snapshot());
    assert_eq!(ours.version(), theirs.version(), "each Jungle counts from the same number");
    append(&tree, &[]);
    tree.set_root(&ours, &CommitMeta::new()).unwrap();
    append(&stranger, &[]);
    stranger.set_root(&theirs, &CommitMeta::new()).unwrap();
    let now = stranger.snapshot();
    assert_eq!(tree.snapshot().version(), now.version());
    let error = tree.compare_and_set_root(&now, &ours, &CommitMeta::new()).unwrap_err();
    assert!(matches!(error, SetRootError::Changed { .. }));
    assert!(tree.compare_and_set_root(&tree.snapshot(), &ours, &CommitMeta::new()).is_ok());
}

#[test]
fn an_update_inside_of_another_is_an_ordinary_competitor() {
    let (_jungle, tree) = tree_of(1);
    let tries = Cell::new(0);
    let done = tree.update(|tx| {
        tries.set(tries.get() + 1);
        if tries.get() <= 6 {
            put(&tree, "/0", "n", tries.get());
        }
        tx.put_attribute(&path("/0"), "n", 100)
    });
    assert_eq!((done.unwrap().runs, int(&tree, "/0", "n")), (7, Some(100)));
}

#[test]
fn what_is_written_as_it_was_is_written_still() {
    let tree = check(2, set("/0", 0), set("/0", 7));
    assert_eq!(int(&tree, "/0", "n"), Some(0));
    let remake = |tx: &mut Draft| {
        tx.remove(&path("/0"))?;
        tx.insert_child(&[], &Key::from(0))
    };
    let tree = check(2, remake, |tx| tx.put_attribute(&path("/0"), "m", 7));
    assert_eq!(int(&tree, "/0", "m"), None);
}

#[test]
fn putting_what_is_there_makes_no_revision() {
    let (jungle, tree) = tree_of(2);
    put(&tree, "/0", "n", 1);
    let other = jungle.create_tree("other").unwrap();
    let before = tree.snapshot().revision();
    let same = tree.update(set("/0", 1)).unwrap();
    let mut tx = tree.begin(CommitOptions::default());
    set("/0", 1)(&mut tx).unwrap();
    assert_eq!((same.revision, tx.commit().unwrap().revision), (before, before));
    let mut tx = jungle.begin(CommitOptions::default());
    set("/0", 1)(tx.tree("t").unwrap()).unwrap();
    let _ = tx.on(&other).root();
    assert_eq!(tx.commit().unwrap().revision, other.snapshot().revision());
    assert_eq!((tree.snapshot().revision(), other.history(..).count()), (before, 1));
    // What another says is told beside it, and an edit in between is not forgotten.
    let committed = tree.update(|tx| set("/0", 1)(tx).and_then(|()| set("/1", 1)(tx))).unwrap();
    let changes = tree.diff(before, committed.revision).unwrap();
    assert_eq!(changes.to_string(), "~ /1 @n = 1\n");
    tree.update(|tx| set("/0", 2)(tx).and_then(|()| set("/0", 1)(tx))).unwrap();
    assert_eq!(int(&tree, "/0", "n"), Some(1));
    // Values of other bits are others.
    let newest = tree.snapshot().revision();
    tree.update(|tx| tx.put_attribute(&path("/0"), "n", -0.0)).unwrap();
    tree.update(|tx| tx.put_attribute(&path("/0"), "n", 0.0)).unwrap();
    assert_eq!(tree.snapshot().revision().number(), newest.number() + 2);
    // A node that was made anew has nothing.
    put(&tree, "/0", "n", 1);
    tree.update(|tx| {
        tx.remove(&path("/0"))?;
        tx.insert_child(&[], &Key::from(0))?;
        set("/0", 1)(tx)
    })
    .unwrap();
    assert_eq!(int(&tree, "/0", "n"), Some(1));
}

#[test]
fn a_transaction_that_puts_what_is_there_finds_out_that_it_is_not() {
    let (jungle, tree) = tree_of(1);
    put(&tree, "/0", "n", 0);
    let mut one = tree.begin(CommitOptions::default());
    let mut many = jungle.begin(CommitOptions::default());
    set("/0", 0)(&mut one).unwrap();
    set("/0", 0)(many.tree("t").unwrap()).unwrap();
    put(&tree, "/0", "n", 7);
    for refused in [one.commit().map(drop), many.commit().map(drop)] {
        let Err(CommitError::Conflict(why)) = refused else { panic!("{refused:?}") };
        assert_eq!((why.list().len(), why.reads()[0].to_string()), (0, "/0".to_owned()));
    }
    // As long as it is there it may be in another revision.
    let mut late = tree.begin(CommitOptions::default());
    set("/0", 7)(&mut late).unwrap();
    append(&tree, &[]);
    assert_eq!(late.commit().unwrap().revision, tree.snapshot().revision());
}

/// What others have put may not be known here yet: the log decides which comes last.
#[test]
fn with_a_sequencer_what_is_there_is_put_again() {
    let jungles = [Jungle::new().unwrap(), Jungle::new().unwrap()];
    let (records, mut rng) = (Arc::default(), Rng::new(0));
    let followers = jungles.each_ref().map(|jungle| Follower::new(&records, jungle, &mut rng));
    let here = jungles[0].create_tree("t").unwrap();
    put(&here, "/", "n", 1);
    followers[1].catch_up();
    put(&here, "/", "n", 2);
    let there = jungles[1].open_tree("t").unwrap();
    put(&there, "/", "n", 1);
    followers[0].catch_up();
    assert_eq!([&here, &there].map(|tree| int(tree, "/", "n")), [Some(1); 2]);
    followers.iter().for_each(|follower| follower.end());
}

#[test]
fn that_something_could_be_done_is_an_answer_though_it_is_gone_by_the_end() {
    let put = |tx: &mut Draft| drop(tx.put_attribute(&path("/0/x"), "n", 1));
    let add = |tx: &mut Draft| drop(tx.append(&path("/0/x")));
    for done in [put as fn(&mut Draft), add] {
        let (_jungle, tree) = tree_of(1);
        tree.update(|tx| tx.insert_child(&path("/0"), &Key::from("x"))).unwrap();
        let ours = |tx: &mut Draft| {
            done(tx);
            tx.remove(&path("/0"))
        };
        let theirs = |tx: &mut Draft| tx.remove(&path("/0/x"));
        assert_eq!(runs(&tree, Isolation::Serializable, ours, theirs), 2);
    }
}

#[test]
fn many_edits_and_moves_are_rebased_too() {
    let many = |tx: &mut Draft| (0..200).try_for_each(|_| tx.append(&path("/0")).map(drop));
    let tree = check(1, many, |tx| tx.append(&[]).map(drop));
    assert_eq!(tree.read().root().at(&path("/0")).unwrap().child_count(), 200);
    let carry = |tx: &mut Draft| tx.move_node(&path("/1"), &path("/0"), &Key::from("x"));
    let tree = check(1, carry, |tx| tx.put_attribute(&path("/1"), "m", 7));
    assert_eq!(int(&tree, "/0/x", "m"), Some(7));
    let set = |tx: &mut Draft| {
        let copy = tx.base().clone();
        tx.insert_subtree(&path("/2"), &Key::from("copy"), copy.root())
    };
    let tree = check(1, set, |tx| tx.put_attribute(&path("/1"), "m", 7));
    assert_eq!(tree.read().root().at(&path("/2/copy")).unwrap().child_count(), 3);
}

#[test]
fn more_reads_than_are_kept_count_as_a_read_of_everything() {
    const KEPT: u64 = 1 << 16;
    let (_jungle, tree) = tree_of(KEPT + 2);
    let commit_after_reading = |reads: u64| {
        let mut tx = tree.begin(CommitOptions::default());
        for child in 0..reads {
            assert!(tx.attribute(&[Key::from(child as i64)], "n").unwrap().is_none());
        }
        // What is not read, and not written by it either.
        put(&tree, &format!("/{}", KEPT + 1), "other", reads as i64);
        tx.put_attribute(&[Key::from(0)], "m", reads as i64).unwrap();
        tx.commit()
    };
    assert!(commit_after_reading(KEPT).is_ok());
    assert!(matches!(commit_after_reading(KEPT + 1), Err(CommitError::Conflict(_))));
}

#[test]
fn another_last_child_is_what_a_reader_of_the_last_one_cares_for() {
    let copies_last = |tx: &mut Draft| {
        let last = tx.last_child(&[])?.map_or(String::new(), |key| key.to_string());
        tx.put_attribute(&[], "last", last.as_str())
    };
    check(1, copies_last, |tx| tx.remove(&path("/0")));
    let tree = check(2, copies_last, |tx| tx.append(&[]).map(drop));
    assert_eq!(tree.read().root().attribute("last").unwrap().as_text(), Some("3"));
}

/// What is added to two children is not given again once others gave it, and took it away.
#[track_caller]
fn check_is_not_given_again(add: impl Fn(&mut Draft) -> Result<Key, EditError>) {
    let (_jungle, tree) = tree_of(2);
    let mut ours = tree.begin(CommitOptions::default());
    let told = add(&mut ours).unwrap();
    let theirs = tree.update(&add).unwrap().value;
    assert_eq!(told, theirs);
    tree.update(|tx| tx.remove(std::slice::from_ref(&theirs))).unwrap();
    assert!(matches!(ours.commit(), Err(CommitError::Conflict(_))));
    assert_ne!(tree.update(&add).unwrap().value, theirs);
}

#[test]
fn a_fraction_that_others_gave_and_took_away_is_not_given() {
    let first = Position::new(0).unwrap();
    check_is_not_given_again(|tx| tx.insert_after(&[], &first));
}

#[test]
fn a_position_in_front_that_others_gave_and_took_away_is_not_given() {
    let first = Position::new(0).unwrap();
    check_is_not_given_again(|tx| tx.insert_before(&[], &first));
}

/// Nor at the end: who was told it, and wrote it down, had the key of nothing.
#[test]
fn a_position_at_the_end_that_others_gave_and_took_away_is_not_told() {
    let (_jungle, tree) = tree_of(2);
    let last = Position::new(1).unwrap();
    for at_the_end in [true, false] {
        let mut ours = tree.begin(CommitOptions::default());
        let told = match at_the_end {
            true => ours.insert_at(&[], 9).unwrap(),
            false => ours.insert_after(&[], &last).unwrap(),
        };
        ours.put_attribute(&[], "newest", told.to_string().as_str()).unwrap();
        let theirs = append(&tree, &[]);
        assert_eq!(told, theirs);
        tree.update(|tx| tx.remove(std::slice::from_ref(&theirs))).unwrap();
        assert!(matches!(ours.commit(), Err(CommitError::Conflict(_))));
    }
}

#[test]
fn the_last_child_behind_one_that_was_removed_is_asked_for_again() {
    let remember_the_last = |tx: &mut Draft| {
        tx.remove(&path("/2"))?;
        let last = tx.last_child(&[]).unwrap().map_or(-1, |key| key.to_string().parse().unwrap());
        tx.put_attribute(&[], "last", last)
    };
    let tree = check(2, remember_the_last, |tx| tx.remove(&path("/1")));
    assert_eq!(int(&tree, "/", "last"), Some(0));
}

/// What it was worked out on would be kept, and all that others have removed since.
#[test]
fn with_a_sequencer_what_is_refused_keeps_no_memory() {
    let jungles = [Jungle::new().unwrap(), Jungle::new().unwrap()];
    let (records, mut rng) = (Arc::default(), Rng::new(0));
    let followers = jungles.each_ref().map(|jungle| Follower::new(&records, jungle, &mut rng));
    let here = jungles[0].create_tree("t").unwrap();
    here.set_retention(Retention::Last(1)).unwrap();
    followers[1].catch_up();
    let there = jungles[1].open_tree("t").unwrap();
    let mut late = here.begin(CommitOptions::default());
    late.put_attribute(&[], "n", 1).unwrap();
    put(&there, "/", "n", 2);
    assert!(matches!(late.commit(), Err(CommitError::Conflict(_))));
    let before = jungles[0].arena().usage().structure_bytes;
    let many = |tx: &mut Draft| {
        tx.insert_child(&[], &Key::from("many"))?;
        tx.cursor(&path("/many"))?.add_children(1_000_000).map(drop)
    };
    there.update(many).unwrap();
    there.update(|tx| tx.remove(&path("/many"))).unwrap();
    followers[0].catch_up();
    assert_eq!(here.read().root().recount(), 1);
    jungles[0].collect().unwrap();
    let after = jungles[0].arena().usage().structure_bytes;
    assert!(after < before + (1 << 20), "{before} became {after}");
    followers.iter().for_each(|follower| follower.end());
}
