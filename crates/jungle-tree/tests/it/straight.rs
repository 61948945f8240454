//! Single calls copy a path on the way down. What is refused half way down has changed nothing,
//! and what was copied by then is used again. Reading follows such paths without a look at the end.

use jungle_tree::{Arena, EditError, Key, Path, Tree, ValueRef};

fn at(path: &str) -> Path {
    path.parse().expect("a path")
}

/// Nodes that count their children down to `/0/1`, which has 20 of them and a name.
fn planted(arena: &Arena) -> Tree {
    let mut tree = Tree::new(arena);
    for path in ["/", "/", "/0", "/0", "/0/1", "/0/1/0", "/0/1/0/0", "/0/1/0/0/0"] {
        tree.add_child(&at(path)).expect("there");
    }
    (1..20).for_each(|_| drop(tree.add_child(&at("/0/1")).expect("there")));
    tree.insert_child(&at("/0/1"), &Key::from("named")).expect("there");
    tree
}

type Call = fn(&mut Tree, &Path) -> Result<(), EditError>;

const PUT: Call = |tree, path| tree.put_attribute(path, "key", 1);
const PUT_TOO_LONG: Call = |tree, path| tree.put_attribute(path, &"k".repeat(1 << 16), 1);
const ADD: Call = |tree, path| tree.add_child(path).map(drop);

#[track_caller]
fn refused(tree: &mut Tree, path: &str, call: Call) {
    let before = (tree.version_id(), tree.snapshot().root().content_hash());
    assert!(call(tree, &at(path)).is_err(), "{path}");
    assert_eq!((tree.version_id(), tree.snapshot().root().content_hash()), before, "{path}");
    tree.snapshot().check().expect("whole");
}

fn refuse_all(tree: &mut Tree) {
    let missing = ["/7", "/0/7", "/0/1/77", "/0/1/0/5", "/0/1/0/0/0/0/0", "/0/1/x", "/1/named"];
    for path in missing {
        refused(tree, path, PUT);
        refused(tree, path, ADD);
    }
    for path in ["/", "/1", "/0/0", "/0/1", "/0/1/0/0/0", "/0/1/19", "/0/1/named"] {
        refused(tree, path, PUT_TOO_LONG);
    }
}

#[test]
fn a_refused_call_has_changed_nothing_of_a_version_that_is_seen() {
    let arena = Arena::new().unwrap();
    let mut tree = planted(&arena);
    let _reader = tree.reader();
    refuse_all(&mut tree);
}

/// From here on the upper part of most paths belongs to the version that is edited in place, since
/// nobody looks at it, and the rest does not.
fn own_upper_part(tree: &mut Tree, turn: i64) {
    drop(tree.snapshot());
    tree.put_attribute(&at("/0/0"), "own", turn).expect("there");
}

#[test]
fn a_refused_call_has_changed_nothing_of_a_version_edited_in_place() {
    let arena = Arena::new().unwrap();
    let mut tree = planted(&arena);
    let nodes = tree.read().root().subtree_count();
    let missing = ["/7", "/0/7", "/0/1/0/5", "/0/1/77", "/0/1/x", "/0/1/0/0/0/0/0"];
    for (turn, path) in missing.into_iter().enumerate() {
        for call in [PUT, ADD] {
            own_upper_part(&mut tree, turn as i64);
            let before = tree.version_id();
            assert!(call(&mut tree, &at(path)).is_err(), "{path}");
            assert_eq!(tree.version_id(), before);
            tree.snapshot().check().unwrap();
            assert_eq!(tree.read().root().subtree_count(), nodes);
        }
    }
    refuse_all(&mut tree);
}

#[test]
fn a_version_edited_in_place_counts_what_is_added_below() {
    let arena = Arena::new().unwrap();
    let mut tree = planted(&arena);
    let nodes = tree.read().root().subtree_count();
    let paths = ["/", "/0", "/0/1", "/0/1/0", "/0/1/0/0/0/0", "/0/1/19", "/0/1/named", "/1"];
    for (turn, path) in paths.into_iter().enumerate() {
        own_upper_part(&mut tree, turn as i64);
        let before = tree.version_id();
        (0..2).for_each(|_| drop(tree.add_child(&at(path)).unwrap()));
        assert_eq!(tree.version_id().version(), before.version(), "edited in place");
        tree.snapshot().check().unwrap();
        assert_eq!(tree.read().root().subtree_count(), nodes + 2 * (turn as u64 + 1));
    }
}

#[test]
fn refused_calls_take_no_memory() {
    let arena = Arena::new().unwrap();
    let mut tree = planted(&arena);
    let _reader = tree.reader();
    refuse_all(&mut tree);
    let before = arena.usage();
    let path = at("/0/1/0/0/0/3");
    for _ in 0..100_000 {
        assert!(tree.put_attribute(&path, "key", ValueRef::Null).is_err());
    }
    assert_eq!(arena.usage(), before);
}

#[test]
fn a_path_goes_on_where_it_stops_being_straight() {
    let arena = Arena::new().unwrap();
    let mut tree = planted(&arena);
    let _reader = tree.reader();
    let nodes = tree.read().root().subtree_count();
    let paths = ["/", "/0", "/0/1", "/0/1/0", "/0/1/0/0/0/0", "/0/1/19", "/0/1/named"];
    for (added, path) in paths.into_iter().enumerate() {
        let (before, path) = (tree.snapshot(), at(path));
        tree.put_attribute(&path, "here", added as i64).unwrap();
        let key = tree.add_child(&path).unwrap();
        tree.snapshot().check().unwrap();
        before.check().unwrap();
        let reading = tree.read();
        assert_eq!(reading.root().subtree_count(), nodes + added as u64 + 1);
        let node = reading.root().at(&path).unwrap();
        assert_eq!(node.attribute("here"), Some(ValueRef::Int(added as i64)));
        assert!(node.child(&key).is_some());
        assert_eq!(before.root().at(&path).unwrap().attribute("here"), None);
    }
}

#[test]
fn a_path_that_leads_nowhere_says_how_far_it_goes() {
    let arena = Arena::new().unwrap();
    let tree = planted(&arena);
    let reading = tree.read();
    for (path, there) in [
        ("/7/0/1", "/7"),
        ("/0/7", "/0/7"),
        ("/0/1/0/0/0/0/5/3/3", "/0/1/0/0/0/0/5"),
        ("/0/1/19/0", "/0/1/19/0"),
        ("/0/1/77/1", "/0/1/77"),
        ("/0/1/named/x/1", "/0/1/named/x"),
        ("/1/x", "/1/x"),
    ] {
        let error = reading.root().at(&at(path)).unwrap_err();
        assert_eq!(error.path.to_string(), there, "{path}");
        assert!(reading.root().at_many(&[&at(path)])[0].is_none());
    }
}
