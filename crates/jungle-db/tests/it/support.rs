//! What several tests need.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jungle_db::{Clock, Jungle, Timestamp, TreeHandle};
use jungle_tree::{EditError, Key, Path};

/// A clock that stands until it is set.
#[derive(Default)]
pub struct FakeClock(AtomicI64);

impl FakeClock {
    pub fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::SeqCst);
    }
}

/// A handle of a fake clock, for a Jungle.
#[derive(Clone, Default)]
pub struct SharedClock(pub Arc<FakeClock>);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.0.load(Ordering::SeqCst))
    }
}

/// A Jungle with a tree `t` whose root has this many bare children.
pub fn tree_of(children: u64) -> (Jungle, TreeHandle) {
    let jungle = Jungle::new().unwrap();
    let tree = tree_in(&jungle, "t", children);
    (jungle, tree)
}

pub fn tree_in(jungle: &Jungle, name: &str, children: u64) -> TreeHandle {
    let tree = jungle.create_tree(name).unwrap();
    let add = |tx: &mut jungle_db::Draft| (0..children).try_for_each(|_| tx.append(&[]).map(drop));
    if children > 0 {
        tree.update(add).unwrap();
    }
    tree
}

pub fn path(text: &str) -> Path {
    text.parse().unwrap()
}

/// Puts an attribute in a commit of its own.
pub fn put(tree: &TreeHandle, at: &str, key: &str, value: i64) {
    let at = path(at);
    tree.update(|tx| tx.put_attribute(&at, key, value)).unwrap();
}

pub fn int(tree: &TreeHandle, at: &str, key: &str) -> Option<i64> {
    tree.read().root().at(&path(at)).unwrap().attribute(key)?.as_int()
}

pub fn append(tree: &TreeHandle, parent: &[Key]) -> Key {
    tree.update(|tx| tx.append(parent)).unwrap().value
}

pub type Edited = Result<(), EditError>;
