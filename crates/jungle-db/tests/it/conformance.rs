//! The calls of the Haskell original, one test a row of the table in the specification; what the
//! Java version added is in `java`.
//!
//! In the original an edit takes a node and gives a node, and nothing is visible until an update
//! call: here an edit is made to a draft, and nothing is visible until its commit.

mod java;

use jungle_db::{CommitMeta, CommitOptions, Draft, Jungle, SetRootError, TreeHandle};
use jungle_tree::{EditError, Key, Path};

/// A path of the original: a list of positions.
fn at<const N: usize>(positions: [i64; N]) -> Path {
    positions.into()
}

/// A Jungle with a tree whose root has the children 0, 1, 2; 1 has the children 0, 1.
fn sample() -> (Jungle, TreeHandle) {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("tree").unwrap();
    edit(&tree, |tx| {
        for _ in 0..3 {
            tx.add_child(&[])?;
        }
        for _ in 0..2 {
            tx.add_child(&at([1]))?;
        }
        Ok(())
    });
    (jungle, tree)
}

fn edit(tree: &TreeHandle, f: impl Fn(&mut Draft) -> Result<(), EditError>) {
    tree.update(f).unwrap();
}

#[test]
fn create_jungle() {
    assert_eq!(Jungle::new().unwrap().list_trees().len(), 0);
}

#[test]
fn create_tree() {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("tree").unwrap();
    let root = tree.snapshot();
    assert_eq!((root.root().child_count(), root.root().has_attributes()), (0, false));
    assert_eq!(jungle.list_trees().join(" "), "tree");
}

#[test]
fn get_root_node() {
    let (jungle, tree) = sample();
    let root = jungle.open_tree("tree").unwrap().snapshot();
    edit(&tree, |tx| tx.remove(&at([0])));
    assert_eq!(root.root().child_count(), 3);
    assert_eq!(tree.read().root().child_count(), 2);
    assert_eq!(&*jungle.open_tree("missing").unwrap_err().name, "missing");
}

#[test]
fn update_root_node() {
    let (_jungle, tree) = sample();
    let root = tree.snapshot();
    edit(&tree, |tx| tx.remove(&at([0])));
    let set = tree.set_root(&root, &CommitMeta::new()).unwrap();
    assert_eq!(tree.read().root().child_count(), 3);
    // A node in, a node out: edited on its own, then made the newest.
    let mut ours = jungle_tree::Tree::from_snapshot(&root);
    ours.put_attribute(&[], "edited", true).unwrap();
    let set_again =
        tree.compare_and_set_root(&tree.snapshot(), &ours.snapshot(), &CommitMeta::new());
    assert!(tree.read().root().attribute("edited").is_some());
    let (newer, set) = (tree.at(set.revision).unwrap(), set_again.unwrap());
    let refused = tree.compare_and_set_root(&newer, &root, &CommitMeta::new()).unwrap_err();
    assert!(matches!(refused, SetRootError::Changed { newest } if newest == set.revision));
}

#[test]
fn update_root_node_with() {
    let (_jungle, tree) = sample();
    let done = tree.update(|tx| {
        let children = tx.child_count(&[]).unwrap();
        tx.put_attribute(&[], "children", i64::try_from(children).unwrap())
    });
    assert_eq!(done.unwrap().runs, 1);
    assert_eq!(tree.read().root().attribute("children").unwrap().as_int(), Some(3));
    // It runs again where somebody else changed what it read.
    let mut others = vec!["two", "one"];
    let done = tree.update(|tx| {
        let children = tx.child_count(&[]).unwrap();
        if let Some(name) = others.pop() {
            edit(&tree, |theirs| theirs.insert_child(&[], &name.into()));
        }
        tx.put_attribute(&[], "children", i64::try_from(children).unwrap())
    });
    assert_eq!(done.unwrap().runs, 3);
    assert_eq!(tree.read().root().attribute("children").unwrap().as_int(), Some(5));
}

#[test]
fn add_child_at() {
    let (_jungle, tree) = sample();
    let mut tx = tree.begin(CommitOptions::default());
    assert_eq!(tx.add_child(&at([1])), Ok(Key::from(2)));
    assert_eq!(tree.read().root().at(&at([1])).unwrap().child_count(), 2);
    tx.commit().unwrap();
    assert_eq!(tree.read().root().at(&at([1, 2])).unwrap().child_count(), 0);
    let missing = tree.begin(CommitOptions::default()).add_child(&at([1, 7, 0]));
    assert_eq!(missing, Err(EditError::NoSuchNode { path: at([1, 7]) }));
}

#[test]
fn delete_child_at() {
    let (_jungle, tree) = sample();
    edit(&tree, |tx| tx.remove(&at([1, 0])));
    let reading = tree.read();
    let keys: Vec<Key> =
        reading.root().at(&at([1])).unwrap().children().map(|c| c.0.into()).collect();
    assert_eq!(keys, [Key::from(1)]);
    // A position is never used again.
    edit(&tree, |tx| tx.remove(&at([1, 1])));
    let added = tree.update(|tx| tx.add_child(&at([1]))).unwrap();
    assert_eq!(added.value, Key::from(2));
    let missing = tree.begin(CommitOptions::default()).remove(&at([1, 0]));
    assert_eq!(missing, Err(EditError::NoSuchNode { path: at([1, 0]) }));
}

#[test]
fn put_attribute_and_delete_attribute() {
    let (_jungle, tree) = sample();
    edit(&tree, |tx| tx.put_attribute(&at([1, 0]), "key", "value"));
    let get = || {
        let reading = tree.read();
        let node = reading.root().at(&at([1, 0])).unwrap();
        node.attribute("key").map(|value| value.to_value())
    };
    assert_eq!(get(), Some("value".into()));
    assert!(tree.update(|tx| tx.remove_attribute(&at([1, 0]), "key")).unwrap().value);
    assert_eq!(get(), None);
    assert!(!tree.update(|tx| tx.remove_attribute(&at([1, 0]), "key")).unwrap().value);
    let mut tx = tree.begin(CommitOptions::default());
    let missing = EditError::NoSuchNode { path: at([3]) };
    assert_eq!(tx.put_attribute(&at([3, 0]), "key", "value"), Err(missing.clone()));
    assert_eq!(tx.remove_attribute(&at([3, 0]), "key"), Err(missing));
}

#[test]
fn get_attributes() {
    let (_jungle, tree) = sample();
    edit(&tree, |tx| tx.put_attribute(&at([2]), "key", 5));
    let reading = tree.read();
    let node = reading.root().at(&at([2])).unwrap();
    assert_eq!(node.attribute("key").unwrap().as_int(), Some(5));
    assert!(node.attribute("other").is_none());
    assert_eq!(*reading.root().at(&at([3, 0])).unwrap_err().path, at([3]));
}

#[test]
fn assoc_attribute() {
    let (_jungle, tree) = sample();
    edit(&tree, |tx| {
        tx.put_attribute(&at([2]), "b", 2)?;
        tx.put_attribute(&at([2]), "a", 1)
    });
    let reading = tree.read();
    let all = reading.root().at(&at([2])).unwrap().attributes();
    let all: Vec<_> = all.map(|(key, value)| (key, value.as_int().unwrap())).collect();
    assert_eq!(all, [("a", 1), ("b", 2)]);
    let tx = tree.begin(CommitOptions::default());
    assert_eq!(*tx.attributes(&at([3, 0])).err().unwrap().path, at([3]));
}

#[test]
fn get_children_and_assoc_children() {
    let (_jungle, tree) = sample();
    let reading = tree.read();
    let children: Vec<(Key, u64)> =
        reading.root().children().map(|(key, node)| (key.to_key(), node.child_count())).collect();
    assert_eq!(children, [(Key::from(0), 0), (Key::from(1), 2), (Key::from(2), 0)]);
    let below = reading.root().at(&at([1])).unwrap().children().map(|(key, _)| key.to_key());
    assert_eq!(below.collect::<Vec<_>>(), [Key::from(0), Key::from(1)]);
    assert_eq!(*reading.root().at(&at([1, 7])).unwrap_err().path, at([1, 7]));
}

#[test]
fn num_of_child() {
    let (_jungle, tree) = sample();
    let reading = tree.read();
    assert_eq!(reading.root().child_count(), 3);
    assert_eq!(reading.root().at(&at([1])).unwrap().child_count(), 2);
    assert_eq!(reading.root().at(&at([1, 1])).unwrap().child_count(), 0);
    let missing = tree.begin(CommitOptions::default()).child_count(&at([7])).unwrap_err();
    assert_eq!(*missing.path, at([7]));
}

#[test]
fn current_child() {
    let (_jungle, tree) = sample();
    let newest = |tree: &TreeHandle| {
        let reading = tree.read();
        reading.root().at(&at([1])).unwrap().last_child().map(|(key, _)| key.to_key())
    };
    assert_eq!(newest(&tree), Some(Key::from(1)));
    edit(&tree, |tx| tx.add_child(&at([1])).map(drop));
    assert_eq!(newest(&tree), Some(Key::from(2)));
    edit(&tree, |tx| (0..3).try_for_each(|i| tx.remove(&at([1, i]))));
    assert_eq!(newest(&tree), None);
    assert_eq!(tree.begin(CommitOptions::default()).last_child(&at([0])), Ok(None));
    let missing = tree.begin(CommitOptions::default()).last_child(&at([7, 0])).unwrap_err();
    assert_eq!(*missing.path, at([7]));
}
