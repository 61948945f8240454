//! The turn of an update that keeps losing: how long others wait for it.

use std::cell::Cell;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use jungle_db::{CommitOptions, CommitRecord, Durability, Journal, JournalError, Jungle, Revision};

use crate::support::{int, path, put, tree_in};

/// A disk that syncs only when a second commit has joined the first.
#[derive(Default)]
struct SyncsTwo {
    newest: Mutex<u64>,
    appended: Condvar,
}

impl Journal for SyncsTwo {
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
        *self.newest.lock().unwrap() = record.revision.number();
        self.appended.notify_all();
        Ok(())
    }

    fn wait(&self, revision: Revision, durability: Durability) -> Result<(), JournalError> {
        if durability == Durability::Memory {
            return Ok(());
        }
        let newest = self.newest.lock().unwrap();
        let is_alone = |newest: &mut u64| *newest <= revision.number();
        // So long only when it fails.
        let limit = Duration::from_secs(20);
        let (_newest, waited) = self.appended.wait_timeout_while(newest, limit, is_alone).unwrap();
        match waited.timed_out() {
            true => Err(JournalError::new("nobody else could commit meanwhile")),
            false => Ok(()),
        }
    }
}

#[test]
fn others_commit_while_the_disk_is_waited_for() {
    let journal = Arc::new(SyncsTwo::default());
    let builder = Jungle::builder().journal(Arc::clone(&journal));
    let jungle = builder.durability(Durability::Memory).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    let begin = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            begin.wait();
            put(&tree, "/0", "m", 1);
        });
        let tries = Cell::new(0);
        let options =
            CommitOptions { durability: Some(Durability::Sync), ..CommitOptions::default() };
        let done = tree.update_with(&options, |tx| {
            tries.set(tries.get() + 1);
            match tries.get() {
                // Loses until it gets its turn.
                lost @ 1..=3 => put(&tree, "/0", "n", lost),
                _ => drop(begin.wait()),
            }
            tx.put_attribute(&path("/0"), "n", 100)
        });
        assert_eq!(done.unwrap().runs, 4);
        other.join().unwrap();
    });
    assert_eq!((int(&tree, "/0", "n"), int(&tree, "/0", "m")), (Some(100), Some(1)));
}
