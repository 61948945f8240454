//! Whoever watches is told of each revision, in order, and waits for nothing that has happened.

use jungle_db::{Draft, Retention, Revision, WatchError};
use jungle_testkit::Rng;
use jungle_tree::{Editor, Tree, apply};
use shuttle::sync::Mutex;
use shuttle::thread;

use super::world::{World, at};

const WRITERS: usize = 2;
const COMMITS: usize = 2;

pub fn sees_all(rng: &mut Rng) {
    let world = World::new(rng);
    let tree = world.tree("t", WRITERS as u64, 0);
    tree.set_retention(Retention::All).expect("all is in memory");
    let begin = tree.snapshot();
    let committed: Mutex<Vec<Revision>> = Mutex::default();
    let seen: Mutex<Vec<Revision>> = Mutex::default();
    thread::scope(|scope| {
        for own in 0..WRITERS {
            let (tree, committed) = (&tree, &committed);
            scope.spawn(move || {
                for i in 1..=COMMITS as i64 {
                    let put = |tx: &mut Draft| tx.put_attribute(&at(own), "n", i);
                    let done = tree.update(put).expect("there is room");
                    committed.lock().expect("nobody panics").push(done.revision);
                }
            });
        }
        let (tree, begin, seen) = (&tree, &begin, &seen);
        scope.spawn(move || {
            let mut watch = tree.watch(&[], begin.revision());
            let mut copy = Tree::from_snapshot(begin);
            for _ in 0..WRITERS * COMMITS {
                let event = watch.wait(None).expect("all is kept").expect("it waits for ever");
                let mut editor = Editor::new(copy.snapshot());
                apply(&mut editor, &event.changes).expect("they fit");
                copy.publish(editor);
                let is_same = copy.read().root().is_equal(event.snapshot.root());
                assert!(is_same, "the changes of {} lead elsewhere", event.info.revision);
                seen.lock().expect("nobody panics").push(event.info.revision);
            }
            assert!(watch.next().expect("all is kept").is_none());
        });
    });
    let mut committed = committed.into_inner().expect("nobody panicked");
    committed.sort();
    assert_eq!(seen.into_inner().expect("nobody panicked"), committed);
    world.end();
}

/// Who waits is told that the tree was deleted; who writes then is refused.
pub fn ends(rng: &mut Rng) {
    let world = World::new(rng);
    let tree = world.tree("t", 1, 0);
    let begin = tree.snapshot().revision();
    thread::scope(|scope| {
        let tree = &tree;
        scope.spawn(move || {
            let mut watch = tree.watch(&[], begin);
            loop {
                match watch.wait(None) {
                    Ok(event) => assert!(event.is_some(), "it waits for ever"),
                    Err(WatchError::Deleted) => break,
                    Err(WatchError::TooOld { oldest, .. }) => watch = tree.watch(&[], oldest),
                    Err(error) => panic!("{error}"),
                }
            }
        });
        scope.spawn(move || {
            let mut is_there = true;
            for i in 1..4 {
                let put = |tx: &mut Draft| tx.put_attribute(&at(0), "n", i);
                let done = tree.update(put).is_ok();
                assert!(is_there || !done, "it came back");
                is_there = done;
            }
        });
        scope.spawn(|| world.jungle.delete_tree("t").expect("it is there"));
    });
    assert!(world.jungle.open_tree("t").is_err());
    world.end();
}
