//! How many attribute keys a tree has brought in is known again.

use jungle_db::UpdateError;
use jungle_store::{OpenOptions, Store};
use jungle_tree::{EditError, Tree};

use crate::support::{Folder, portrait};

/// More than a checkpoint forgets.
const KEYS_MAX: u32 = 1_100;

/// Nothing is written in the background.
fn options() -> OpenOptions {
    OpenOptions::new().checkpoint_every(u64::MAX)
}

/// Puts attributes of so many different keys.
fn put(store: &Store, tree: &str, name: &str, count: u32) -> Result<(), EditError> {
    let put = store.open_tree(tree).unwrap().update(|tx| {
        tx.keys_max(KEYS_MAX);
        (0..count).try_for_each(|n| {
            let node = [tx.append(&[])?];
            tx.put_attribute(&node, &format!("{name} {n}"), 1)
        })
    });
    match put {
        Ok(_) => Ok(()),
        Err(UpdateError::Closure(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn tree_that_may_bring_in_no_more_keys_may_not_when_it_is_opened_again() {
    let refused = || Err(EditError::TooManyKeysOfTree { keys: KEYS_MAX, keys_max: KEYS_MAX });
    for by_log in [true, false] {
        let folder = Folder::new();
        let store = options().open(folder.path()).unwrap();
        store.create_tree("t").unwrap();
        store.create_tree("other").unwrap();
        put(&store, "t", "a", KEYS_MAX - 10).unwrap();
        let before = portrait(&store);
        assert_eq!(put(&store, "t", "b", 11), refused());
        assert_eq!(portrait(&store), before);
        // Those of the refused one are in the table, and are the tree's.
        put(&store, "t", "b", 10).unwrap();
        assert_eq!(put(&store, "t", "c", 1), refused());
        put(&store, "other", "c", 1).unwrap();
        put(&store, "t", "c", 1).unwrap();
        if !by_log {
            store.checkpoint().unwrap();
        }
        let before = portrait(&store);
        drop(store);

        let options = if by_log { options().without_checkpoint() } else { options() };
        let store = options.open(folder.path()).unwrap();
        assert_eq!(portrait(&store), before, "what was acknowledged is there");
        assert_eq!(put(&store, "t", "d", 1), refused(), "by the log: {by_log}");
        put(&store, "other", "d", 1).unwrap();
    }
}

#[test]
fn keys_of_a_subtree_in_the_log_are_those_of_its_tree() {
    let folder = Folder::new();
    let store = options().open(folder.path()).unwrap();
    let tree = store.create_tree("t").unwrap();
    let mut made = Tree::new(store.arena());
    made.put_attribute(&[], "new", 1).unwrap();
    let source = made.snapshot();
    tree.update(|tx| tx.insert_subtree(&[], &"graft".into(), source.root())).unwrap();
    let id = tree.id().0;
    drop((source, made, tree, store));
    let store = options().without_checkpoint().open(folder.path()).unwrap();
    assert_eq!(store.arena().keys_brought(id), 1);
}
