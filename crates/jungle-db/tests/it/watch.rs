//! Watching: in order, without gaps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jungle_db::{Draft, Retention, Revision, WatchError};
use jungle_tree::{Editor, Key, Tree, apply};

use crate::support::{append, path, put, tree_of};

#[test]
fn only_what_happens_below_the_path_is_told() {
    let (jungle, tree) = tree_of(3);
    let mut watch = tree.watch(&path("/1"), jungle.revision());
    put(&tree, "/0", "n", 1);
    put(&tree, "/1", "n", 2);
    let expected = jungle.revision();
    put(&tree, "/2", "n", 3);
    append(&tree, &path("/1"));
    let event = watch.next().unwrap().unwrap();
    assert_eq!((event.info.revision, event.changes.to_string().trim()), (expected, "~ /1 @n = 2"));
    assert_eq!(event.snapshot.revision(), expected);
    assert_eq!(watch.next().unwrap().unwrap().changes.to_string().trim(), "+ /1/0");
    assert!(watch.next().unwrap().is_none());
    assert_eq!(watch.seen(), jungle.revision());
}

#[test]
fn moves_in_and_out_and_the_end_of_the_path_are_told() {
    let (jungle, tree) = tree_of(3);
    append(&tree, &path("/0"));
    put(&tree, "/0/0", "n", 1);
    let mut watch = tree.watch(&path("/1"), jungle.revision());
    tree.update(|tx| tx.move_node(&path("/0/0"), &path("/1"), &Key::from("x"))).unwrap();
    assert_eq!(watch.next().unwrap().unwrap().changes.to_string().trim(), "> /0/0 -> /1/x");
    tree.update(|tx| tx.remove(&path("/1"))).unwrap();
    assert_eq!(watch.next().unwrap().unwrap().changes.to_string().trim(), "- /1");
    put(&tree, "/0", "n", 1);
    assert!(watch.next().unwrap().is_none());
}

#[test]
fn a_watch_may_begin_in_the_past() {
    let (_jungle, tree) = tree_of(3);
    let mut watch = tree.watch(&[], Revision::new(0));
    let event = watch.next().unwrap().unwrap();
    assert_eq!(event.changes.to_string(), "+ /0\n+ /1\n+ /2\n");
}

#[test]
fn a_gap_is_told() {
    let (jungle, tree) = tree_of(0);
    tree.set_retention(Retention::Last(5)).unwrap();
    let seen = jungle.revision();
    let mut watch = tree.watch(&[], seen);
    for _ in 0..4 {
        append(&tree, &[]);
    }
    for _ in 0..4 {
        assert!(watch.next().unwrap().is_some());
    }
    let seen = watch.seen();
    for _ in 0..5 {
        append(&tree, &[]);
    }
    let oldest = Revision::new(seen.number() + 1);
    assert_eq!(watch.next().unwrap_err(), WatchError::TooOld { seen, oldest });
    let mut anew = tree.watch(&[], oldest);
    for _ in 0..4 {
        assert!(anew.next().unwrap().is_some());
    }
    assert!(anew.next().unwrap().is_none());
}

#[test]
fn what_takes_too_many_steps_to_tell_is_named_and_stays_the_next() {
    let (jungle, tree) = tree_of(2);
    let (few, seen) = (tree.steps_max(100), jungle.revision());
    let (mut watch, mut aside) = (few.watch(&[], seen), few.watch(&path("/1"), seen));
    let below = path("/0");
    let append = tree.update(|tx| (0..100).try_for_each(|_| tx.append(&below).map(drop)));
    let much = append.unwrap().revision;
    for _ in 0..2 {
        let refused = watch.next().unwrap_err();
        let WatchError::TooManySteps { revision, .. } = refused else { panic!("{refused}") };
        assert_eq!((revision, watch.seen()), (much, seen));
    }
    put(&tree, "/1", "n", 1);
    // Whom it does not concern, and who goes on behind it, is told what comes.
    for watch in [&mut aside, &mut few.watch(&[], much)] {
        assert_eq!(watch.next().unwrap().unwrap().changes.to_string().trim(), "~ /1 @n = 1");
    }
    assert_eq!(tree.watch(&[], seen).next().unwrap().unwrap().changes.len(), 100);
}

#[test]
fn what_takes_too_many_steps_to_tell_is_found_out_once() {
    let (jungle, tree) = tree_of(1);
    let (first, below) = (jungle.revision(), path("/0"));
    for _ in 0..2 {
        tree.update(|tx| (0..1_000).try_for_each(|_| tx.append(&below).map(drop))).unwrap();
    }
    let seen = [first, Revision::new(first.number() + 1)];
    let too_few = |steps| {
        let watches = |path: &[Key]| seen.map(|seen| tree.steps_max(steps).watch(path, seen));
        let [a, b] = [watches(&[]), watches(&below)].map(|watches| {
            watches.map(|mut watch| match watch.next().unwrap_err() {
                WatchError::TooManySteps { source, .. } => source.most,
                error => panic!("{error}"),
            })
        });
        assert_eq!(a, b);
        a
    };
    assert_eq!(too_few(1_000), [1_000; 2]);
    // That these are not enough is known, without another look.
    assert_eq!(too_few(100), [1_000; 2]);
    assert_eq!(too_few(1_500), [1_500; 2]);
    assert_eq!(too_few(1_000), [1_500; 2]);
    // Who has more looks again.
    for all in [tree.steps_max(100_000), tree.clone()] {
        assert_eq!(all.watch(&[], first).next().unwrap().unwrap().changes.len(), 1_000);
    }
}

#[test]
fn what_takes_too_many_steps_elsewhere_ends_no_watch() {
    let (jungle, tree) = tree_of(3);
    append(&tree, &path("/0"));
    put(&tree, "/0/0", "n", 1);
    let (few, seen) = (tree.steps_max(100), jungle.revision());
    let much = |tx: &mut Draft| (0..100).try_for_each(|_| tx.append(&path("/2")).map(drop));
    let both = tree.update(|tx| {
        tx.put_attribute(&path("/1"), "n", 1)?;
        tx.move_node(&path("/0/0"), &path("/1"), &Key::from("x"))?;
        much(tx)
    });
    let event = few.watch(&path("/1"), seen).next().unwrap().unwrap();
    assert_eq!(event.info.revision, both.unwrap().revision);
    // Nobody has looked where it came from.
    assert_eq!(event.changes.to_string(), "~ /1 @n = 1\n+ /1/x\n~ /1/x @n = 1\n");
    assert_eq!(few.watch(&path("/0"), seen).next().unwrap().unwrap().changes.len(), 1);
    let gone = tree.update(|tx| {
        tx.remove(&path("/1"))?;
        much(tx)
    });
    let seen = event.info.revision;
    for (at, refused) in [("/1", gone.unwrap().revision), ("/2", seen)] {
        let before = Revision::new(refused.number() - 1);
        let found = few.watch(&path(at), before).next().unwrap_err();
        assert!(matches!(found, WatchError::TooManySteps { revision, .. } if revision == refused));
    }
}

#[test]
fn the_end_of_the_tree_ends_the_watch() {
    let (jungle, tree) = tree_of(0);
    let mut watch = tree.watch(&[], jungle.revision());
    append(&tree, &[]);
    jungle.delete_tree("t").unwrap();
    assert!(watch.wait(None).unwrap().is_some());
    assert_eq!(watch.wait(None).unwrap_err(), WatchError::Deleted);
}

#[test]
fn waiting_ends_with_the_timeout() {
    let (jungle, tree) = tree_of(1);
    let mut watch = tree.watch(&[], jungle.revision());
    assert!(watch.wait(Some(Duration::from_millis(1))).unwrap().is_none());
    put(&tree, "/0", "n", 1);
    assert!(watch.wait(Some(Duration::from_millis(1))).unwrap().is_some());
}

/// Whoever applies what a watch tells has the same tree in the end.
#[test]
fn followers_of_several_writers_end_equal() {
    const EACH: u64 = 200;
    let (jungle, tree) = tree_of(3);
    let (mut copy, start) = (Tree::from_snapshot(&tree.snapshot()), jungle.revision());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let mut watch = tree.watch(&[], start);
            let mut events = 0;
            while events < 3 * EACH {
                let event = watch.wait(None).unwrap().unwrap();
                let mut editor = Editor::new(copy.snapshot());
                apply(&mut editor, &event.changes).unwrap();
                copy.publish(editor);
                assert!(copy.read().root().is_equal(event.snapshot.root()));
                events += 1;
            }
            done.store(true, Ordering::SeqCst);
        });
        for writer in 0..3u64 {
            let tree = &tree;
            scope.spawn(move || {
                for _ in 0..EACH {
                    append(tree, &[Key::from(writer)]);
                }
            });
        }
        follower.join().unwrap();
    });
    assert!(done.into_inner());
    assert!(copy.read().root().is_equal(tree.read().root()));
}
