//! What several tests need.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jungle_db::{Clock, Jungle, Timestamp, TreeHandle};
use jungle_tree::{ContentHash, EditError, Key, Path};

/// A clock that stands until it is set.
#[derive(Default)]
pub struct FakeClock(AtomicI64);

impl FakeClock {
    pub fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::SeqCst);
    }

    pub fn now_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
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

/// Everything that can be seen of a Jungle.
pub fn portrait(jungle: &Jungle) -> Vec<(String, ContentHash, String)> {
    let mut portrait = Vec::new();
    for name in jungle.list_trees() {
        let main = jungle.open_tree(&name).unwrap();
        for branch in main.list_branches() {
            let branch = main.on_branch(&branch).unwrap();
            let past: Vec<_> = branch.history(..).map(Result::unwrap).collect();
            for info in &past {
                let hash = branch.at(info.revision).unwrap().root().content_hash();
                portrait.push((
                    format!("{name} {}", branch.branch_name()),
                    hash,
                    format!("{info:?}"),
                ));
            }
        }
        for (tag, revision) in main.list_tags() {
            let hash = main.at_tag(&tag).unwrap().root().content_hash();
            portrait.push((format!("{name} {tag}"), hash, format!("{revision}")));
        }
    }
    portrait
}

pub type Edited = Result<(), EditError>;
