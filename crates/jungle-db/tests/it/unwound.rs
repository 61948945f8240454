//! Commits that wait for their places, while one of them ends by a panic as it is worked out: as
//! where part of a tree cannot be read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use jungle_db::{
    CommitMeta, CommitOptions, CommitRecord, Jungle, NotWritten, SequenceError, Sequencer,
    Timestamp, TreeHandle, UpdateError,
};
use jungle_tree::{Change, ChangeSet, Editor, Key, Path, Tree};

use crate::support::{int, put};

/// A log of one Jungle.
struct Held {
    jungle: Mutex<Option<Jungle>>,
    /// Records have their places only when that is said, after it was told that they are there.
    is_held: AtomicBool,
    came: Sender<()>,
    go_on: Mutex<Receiver<()>>,
    /// Whoever asks for the time panics.
    is_broken: AtomicBool,
}

impl Held {
    /// What is asked for meanwhile panics, behind all else that it takes to work it out.
    fn broken<T>(&self, ask: impl FnOnce() -> T) -> thread::Result<T> {
        self.is_broken.store(true, Ordering::SeqCst);
        let asked = catch_unwind(AssertUnwindSafe(ask));
        self.is_broken.store(false, Ordering::SeqCst);
        asked
    }
}

impl Sequencer for Held {
    fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
        if self.is_held.load(Ordering::SeqCst) {
            self.came.send(()).unwrap();
            self.go_on.lock().unwrap().recv().unwrap();
        }
        let jungle = self.jungle.lock().unwrap().clone().unwrap();
        records.iter().try_for_each(|record| jungle.follow(record)).unwrap();
        Ok(records.len())
    }

    fn time(&self, clock: Timestamp) -> Timestamp {
        assert!(!self.is_broken.load(Ordering::SeqCst), "as the time is asked for");
        clock
    }
}

/// A Jungle that follows such a log, with the tree `t`; when records are there, and to let them go
/// on.
fn held() -> (Arc<Held>, TreeHandle, Receiver<()>, Sender<()>) {
    let jungle = Jungle::new().unwrap();
    let ((came, comes), (goes_on, go_on)) = (channel(), channel());
    let log = Arc::new(Held {
        jungle: Mutex::new(Some(jungle.clone())),
        is_held: AtomicBool::new(false),
        came,
        go_on: Mutex::new(go_on),
        is_broken: AtomicBool::new(false),
    });
    assert!(jungle.sequence_with(Arc::clone(&log) as Arc<dyn Sequencer>));
    let tree = jungle.create_tree("t").unwrap();
    (log, tree, comes, goes_on)
}

#[test]
fn nothing_is_worked_out_on_what_no_record_says() {
    let (log, tree, comes, goes_on) = held();
    log.is_held.store(true, Ordering::SeqCst);
    let is_seen = thread::scope(|scope| {
        // Gone where this fails, so that nobody waits for it.
        let goes_on = goes_on;
        let first = scope.spawn(|| put(&tree, "/", "n", 1));
        comes.recv().unwrap();
        let ended = log.broken(|| tree.update(|tx| tx.append(&[])));
        let (sees, seen) = channel();
        let tree = &tree;
        let next = scope.spawn(move || {
            tree.update(|tx| {
                let _ = sees.send(tx.exists(&[Key::from(0)]));
                tx.put_attribute(&[], "m", 2)
            })
        });
        let is_seen = seen.recv().unwrap();
        log.is_held.store(false, Ordering::SeqCst);
        goes_on.send(()).unwrap();
        first.join().unwrap();
        next.join().unwrap().unwrap();
        assert!(ended.is_err());
        is_seen
    });
    assert!(!is_seen, "a node that nobody has added");
    assert_eq!((int(&tree, "/", "n"), int(&tree, "/", "m")), (Some(1), Some(2)));
    assert_eq!(tree.read().root().child_count(), 0);
    log.jungle.lock().unwrap().take();
}

#[test]
fn nothing_is_added_to_a_series_behind_what_has_no_record() {
    let (log, tree, _comes, _goes_on) = held();
    let add = |path: &str| {
        let changes = vec![Change::ChildAdded { path: path.parse().unwrap() }];
        vec![(&tree, ChangeSet::from(changes))]
    };
    let jungle = log.jungle.lock().unwrap().clone().unwrap();
    let placed = jungle.in_series(&[&tree], |series| {
        series.commit(&CommitMeta::new(), add("/~a")).unwrap();
        let ended = log.broken(|| series.commit(&CommitMeta::new(), add("/~b")));
        assert!(ended.is_err() && series.is_full());
    });
    assert_eq!(placed.unwrap().unwrap().commits, 1);
    // All that has gathered was decided: it goes on with what is there.
    put(&tree, "/", "n", 1);
    assert_eq!(tree.read().root().child_count(), 1);
    log.jungle.lock().unwrap().take();
}

#[test]
fn a_limit_of_attribute_keys_ends_with_its_update_in_a_series() {
    let (log, tree, _comes, _goes_on) = held();
    let jungle = log.jungle.lock().unwrap().clone().unwrap();
    let placed = jungle.in_series(&[&tree], |series| {
        let limited = series.update(&tree, &CommitOptions::default(), |tx| {
            tx.keys_max(0);
            tx.append(&[])
        });
        limited.unwrap();
        let (path, key) = (Path::root(), "new".into());
        let changes = vec![Change::AttributePut { path, key, value: 1.into() }];
        series.commit(&CommitMeta::new(), vec![(&tree, changes.into())]).unwrap();
    });
    assert_eq!(placed.unwrap().unwrap().commits, 2);
    assert_eq!(int(&tree, "/", "new"), Some(1));
    log.jungle.lock().unwrap().take();
}

#[test]
fn nothing_is_added_to_a_series_that_began_with_something_else() {
    let (log, tree, _comes, _goes_on) = held();
    let jungle = log.jungle.lock().unwrap().clone().unwrap();
    put(&tree, "/", "n", 1);
    let other = Tree::new(jungle.arena());
    let placed = jungle.in_series(&[&tree], |series| {
        let added = series.update(&tree, &CommitOptions::default(), |tx| {
            tx.bulk(|editor| {
                *editor = Editor::new(other.snapshot());
                editor.remove_attribute(&[], "n")?;
                editor.add_child(&[])
            })
        });
        assert!(matches!(added, Err(UpdateError::NotWritten(NotWritten::OtherJungle))));
    });
    assert_eq!(placed.unwrap().unwrap().commits, 0);
    put(&tree, "/", "n", 2);
    assert_eq!(tree.read().root().child_count(), 0);
    log.jungle.lock().unwrap().take();
}
