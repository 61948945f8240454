//! What the Java version added, one test a row of its list. Of the rest of that list, the journal
//! on disk is `jungle-store`'s, the browser of trees `jungle-server`'s, the shell `jungle-cli`'s
//! and several servers are `jungle-cluster`'s: their tests are there.

use std::fmt::Debug;
use std::sync::Arc;

use jungle_db::{
    CommitError, CommitMeta, CommitOptions, Committed, CreateTreeError, DeleteTreeError, Event,
    IndexError, Jungle, MemoryJournal, NameError, NoSuchRevision, NotWritten, RenameTreeError,
    Retention, Revision, Snapshot, TreeHandle, UpdateError,
};
use jungle_tree::{
    Change, EditError, KEY_BYTES_MAX, Key, KeyError, MergeOptions, Node, Path, Position, Rule,
    VALUE_BYTES_MAX, Value, ValueError, ValueRef,
};

use super::{at, edit, sample};

/// Why the closure of an update failed.
#[track_caller]
fn refusal<T: Debug>(done: Result<Committed<T>, UpdateError<EditError>>) -> EditError {
    match done {
        Err(UpdateError::Closure(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The keys of a node's children, in order.
fn keys(node: Node<'_>) -> String {
    let keys: Vec<String> = node.children().map(|(key, _)| key.to_string()).collect();
    keys.join(" ")
}

/// Adds a child to the root, with this text.
fn post(tree: &TreeHandle, text: &str) -> Path {
    let posted = tree.update(|tx| {
        let path = Path::root().join(tx.append(&[])?);
        tx.put_attribute(&path, "text", text)?;
        Ok::<_, EditError>(path)
    });
    posted.unwrap().value
}

#[test]
fn create_tree_by_name() {
    let (jungle, _) = sample();
    let refused = jungle.create_tree("tree").unwrap_err();
    assert!(matches!(refused, CreateTreeError::Exists { name } if &*name == "tree"));
    let refused = jungle.create_tree("").unwrap_err();
    assert!(matches!(refused, CreateTreeError::Name(NameError::Empty)));
    assert_eq!(jungle.create_tree("other").unwrap().read().root().subtree_count(), 1);
}

#[test]
fn open_tree_by_name() {
    let (jungle, tree) = sample();
    let same = jungle.open_tree("tree").unwrap();
    assert_eq!((same.id(), same.snapshot().revision()), (tree.id(), tree.snapshot().revision()));
    assert_eq!(&*jungle.open_tree("missing").unwrap_err().name, "missing");
}

#[test]
fn list_trees_by_name() {
    let (jungle, _) = sample();
    jungle.create_tree("another").unwrap();
    assert_eq!(jungle.list_trees().join(" "), "another tree");
}

#[test]
fn rename_tree() {
    let (jungle, tree) = sample();
    jungle.create_tree("other").unwrap();
    jungle.rename_tree("tree", "new").unwrap();
    assert_eq!((&*tree.name(), jungle.list_trees().join(" ")), ("new", "new other".to_owned()));
    let refused = jungle.rename_tree("tree", "x").unwrap_err();
    assert!(matches!(refused, RenameTreeError::NoSuchTree(error) if &*error.name == "tree"));
    let refused = jungle.rename_tree("new", "other").unwrap_err();
    assert!(matches!(refused, RenameTreeError::Exists { name } if &*name == "other"));
}

#[test]
fn delete_tree() {
    let (jungle, tree) = sample();
    jungle.delete_tree("tree").unwrap();
    assert!(jungle.list_trees().is_empty());
    let refused = tree.update(|tx| tx.append(&[])).unwrap_err();
    assert!(matches!(refused, UpdateError::NotWritten(NotWritten::Deleted)));
    let refused = jungle.delete_tree("tree").unwrap_err();
    assert!(matches!(refused, DeleteTreeError::NoSuchTree(error) if &*error.name == "tree"));
}

#[test]
fn editor_commits_many_edits_once() {
    let (jungle, tree) = sample();
    let before = jungle.revision();
    let mut editor = tree.begin(CommitOptions::default());
    for _ in 0..100 {
        let child = [editor.append(&[]).unwrap()];
        editor.put_attribute(&child, "n", 1).unwrap();
    }
    assert_eq!((tree.read().root().child_count(), jungle.revision()), (3, before));
    let done = editor.commit().unwrap();
    assert_eq!(done.revision.number(), before.number() + 1);
    assert_eq!(tree.read().root().child_count(), 103);

    let mut editor = tree.begin(CommitOptions::default());
    editor.remove(&at([0])).unwrap();
    editor.abort();
    assert_eq!((tree.read().root().child_count(), jungle.revision()), (103, done.revision));
}

#[test]
fn errors_are_values() {
    let (jungle, tree) = sample();
    let before = jungle.revision();
    let path = at([1, 7]);
    let refused = refusal(tree.update(|tx| tx.put_attribute(&at([1, 7, 0]), "key", 1)));
    assert_eq!(refused, EditError::NoSuchNode { path: path.clone() });
    let refused = refusal(tree.update(|tx| tx.remove(&path)));
    assert_eq!(refused, EditError::NoSuchNode { path });
    let refused = refusal(tree.update(|tx| tx.insert_child(&at([1]), &Key::from(0))));
    assert_eq!(refused, EditError::ChildExists { path: at([1, 0]) });
    assert_eq!(refusal(tree.update(|tx| tx.remove(&[]))), EditError::Root);
    let refused = refusal(tree.update(|tx| tx.move_node(&at([1]), &at([1, 0]), &Key::from(0))));
    assert_eq!(refused, EditError::MoveIntoItself { path: at([1]) });
    let bytes = KEY_BYTES_MAX + 1;
    let long = Key::from("k".repeat(bytes).as_str());
    let refused = refusal(tree.update(|tx| tx.insert_child(&[], &long)));
    assert_eq!(refused, EditError::Key(KeyError::NameTooLong { bytes }));
    let bytes = VALUE_BYTES_MAX + 1;
    let long = "v".repeat(bytes);
    let refused = refusal(tree.update(|tx| tx.put_attribute(&[], "key", long.as_str())));
    assert_eq!(refused, EditError::Value(ValueError::TooLong { bytes }));
    assert_eq!(jungle.revision(), before, "what is refused is no commit");
}

#[test]
fn insert_child_at_any_place() {
    let (_jungle, tree) = sample();
    let second = Position::new(1).unwrap();
    tree.update(|tx| tx.insert_before(&[], &second)).unwrap();
    tree.update(|tx| tx.insert_after(&[], &second)).unwrap();
    tree.update(|tx| tx.insert_at(&[], 0)).unwrap();
    tree.update(|tx| tx.insert_at(&[], 99)).unwrap();
    // Who was there before keeps its position.
    assert_eq!(keys(tree.read().root()), "-1 0 0.80 1 1.80 2 3");
    let missing = refusal(tree.update(|tx| tx.insert_before(&[], &Position::new(9).unwrap())));
    assert_eq!(missing, EditError::NoSuchNode { path: at([9]) });
}

#[test]
fn move_child() {
    let (_jungle, tree) = sample();
    let before = tree.snapshot();
    edit(&tree, |tx| tx.move_node(&at([1]), &at([2]), &Key::from("moved")));
    let reading = tree.read();
    assert_eq!(keys(reading.root()), "0 2");
    let moved = reading.root().child(2).unwrap().child("moved").unwrap();
    assert!(moved.is_equal(before.root().child(1).unwrap()));
    let changes = tree.diff(before.revision(), tree.snapshot().revision()).unwrap();
    assert_eq!(changes.to_string(), "> /1 -> /2/moved\n");
}

#[test]
fn old_trees_by_version() {
    let jungle = Jungle::new().unwrap();
    let other = jungle.create_tree("other").unwrap();
    let tree = jungle.create_tree("tree").unwrap();
    let born = tree.snapshot().revision();
    let made: Vec<Revision> = (1..=20)
        .map(|n| tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap().revision)
        .collect();
    for (n, &revision) in (1..).zip(&made) {
        let old = tree.at(revision).unwrap();
        assert_eq!(old.root().attribute("n").unwrap().as_int(), Some(n));
    }
    let before = tree.at(other.snapshot().revision()).unwrap_err();
    assert_eq!(before, NoSuchRevision::NotBorn { first: born });
    let newest = jungle.revision();
    let later = tree.at(Revision::new(newest.number() + 1)).unwrap_err();
    assert_eq!(later, NoSuchRevision::NotYet { newest });
    tree.set_retention(Retention::Last(5)).unwrap();
    assert_eq!(tree.at(made[0]).unwrap_err(), NoSuchRevision::TooOld { oldest: made[15] });
}

#[test]
fn search_by_predicate() {
    let (_jungle, tree) = sample();
    edit(&tree, |tx| tx.put_attribute(&at([1, 1]), "wanted", true));
    let snapshot = tree.snapshot();
    let is_wanted = |node: Node<'_>| node.attribute("wanted") == Some(ValueRef::Bool(true));
    assert_eq!(snapshot.root().find(is_wanted).unwrap().0, at([1, 1]));
    assert!(snapshot.root().find(|node| node.child_count() > 3).is_none());
    // The traverser sees all nodes in order, and need not go into each.
    let mut walk = snapshot.root().walk();
    let mut seen = Vec::new();
    while let Some(node) = walk.next() {
        seen.push(walk.path());
        if node.child_count() == 2 {
            walk.skip_below();
        }
    }
    assert_eq!(seen, [Path::root(), at([0]), at([1]), at([2])]);
}

#[test]
fn index_of_each_version() {
    let (_jungle, tree) = sample();
    tree.create_index("colour").unwrap();
    let found = |version: &Snapshot, colour: &str| {
        let index = tree.index("colour", version).unwrap().unwrap();
        let paths = index.find(ValueRef::Text(colour)).map(|path| path.to_string());
        paths.collect::<Vec<_>>().join(" ")
    };
    edit(&tree, |tx| {
        tx.put_attribute(&at([0]), "colour", "red")?;
        tx.put_attribute(&at([1, 0]), "colour", "red")
    });
    let before = tree.snapshot();
    assert_eq!(found(&before, "red"), "/0 /1/0");
    edit(&tree, |tx| tx.put_attribute(&at([0]), "colour", "blue"));
    let now = tree.snapshot();
    assert_eq!((found(&now, "red").as_str(), found(&now, "blue").as_str()), ("/1/0", "/0"));
    assert_eq!(found(&before, "red"), "/0 /1/0");
    let index = tree.index("colour", &now).unwrap().unwrap();
    assert_eq!(index.range(Value::from("c")..).count(), 1);

    let refused = tree.create_index("colour").unwrap_err();
    assert!(matches!(refused, IndexError::Exists { key } if &*key == "colour"));
    let refused = tree.drop_index("size").unwrap_err();
    assert!(matches!(refused, IndexError::NoSuchIndex { key } if &*key == "size"));
    assert!(tree.index("size", &now).unwrap().is_none());
}

#[test]
fn parent_of_a_node() {
    let (_jungle, tree) = sample();
    edit(&tree, |tx| tx.put_attribute(&at([1, 1]), "key", "value"));
    let reading = tree.read();
    let (path, _) = reading.root().find(Node::has_attributes).unwrap();
    let parent = path.parent().unwrap();
    assert_eq!((&parent, keys(reading.root().at(&parent).unwrap())), (&at([1]), "0 1".into()));
    assert_eq!(Path::root().parent(), None);
}

#[test]
fn push_and_pop_the_root() {
    let (_jungle, tree) = sample();
    let before = tree.snapshot();
    edit(&tree, |tx| tx.push_root(&Key::from("old")));
    let reading = tree.read();
    assert_eq!(keys(reading.root()), "old");
    // It is not only equal: it is the same in memory, so this cost the same whatever is below.
    let old = reading.root().child("old").unwrap();
    assert!(old.is_same(before.root()));
    edit(&tree, |tx| tx.pop_root(&["old".into()]));
    assert!(tree.read().root().is_equal(before.root()));
    let missing = refusal(tree.update(|tx| tx.pop_root(&["old".into()])));
    assert_eq!(missing, EditError::NoSuchNode { path: Path::root().join("old") });
}

#[test]
fn append_to_a_long_list() {
    const LENGTH: i64 = 10_000;
    let tree = Jungle::new().unwrap().create_tree("log").unwrap();
    for n in 0..LENGTH {
        let added = tree.update(|tx| tx.append(&[])).unwrap();
        assert_eq!((added.value, added.runs), (Key::from(n), 1));
    }
    let reading = tree.read();
    assert_eq!(reading.root().last_child().unwrap().0.to_key(), Key::from(LENGTH - 1));
    assert!(reading.root().children().map(|(key, _)| key.to_key()).eq((0..LENGTH).map(Key::from)));
}

#[test]
fn children_in_order_of_their_names() {
    let tree = Jungle::new().unwrap().create_tree("dictionary").unwrap();
    let name = |n: u64| format!("{:04}", n * 7919 % 1000);
    edit(&tree, |tx| (0..1000).try_for_each(|n| tx.insert_child(&[], &name(n).as_str().into())));
    let reading = tree.read();
    let in_order = (0..1000).map(|n| format!("{n:04}"));
    assert!(reading.root().children().map(|(key, _)| key.to_key()).eq(in_order.map(Key::from)));
    let page = reading.root().children_from("05").take(2);
    let page: Vec<Key> = page.map(|(key, _)| key.to_key()).collect();
    assert_eq!(page, ["0500", "0501"].map(Key::from));
}

#[test]
fn edit_log_of_every_commit() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let tree = jungle.create_tree("tree").unwrap();
    let by = CommitOptions::from(&CommitMeta::new().author("ana").message("begin"));
    tree.update_with(&by, |tx| tx.append(&[])).unwrap();
    edit(&tree, |tx| tx.put_attribute(&at([0]), "key", 1));

    let told = journal.records().into_iter().filter_map(|record| match record.event {
        Event::Edited(edits) => Some((record.meta, edits[0].changes.clone())),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    let put = Change::AttributePut { path: at([0]), key: "key".into(), value: 1.into() };
    assert_eq!((told.len(), told[0].0.author_name()), (2, Some("ana")));
    assert_eq!(told[0].1[..], [Change::ChildAdded { path: at([0]) }]);
    assert_eq!(told[1].1[..], [put]);

    let copy = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| copy.replay(record)).unwrap();
    let copied = copy.open_tree("tree").unwrap();
    assert!(copied.read().root().is_equal(tree.read().root()));
}

#[test]
fn conflicts_by_an_applications_rule() {
    // Posts of two who do not see each other are both kept.
    let (_jungle, tree) = sample();
    let [mut one, mut two] = [(); 2].map(|()| tree.begin(CommitOptions::default()));
    one.append(&[]).unwrap();
    two.append(&[]).unwrap();
    one.commit().unwrap();
    assert_eq!(two.commit().unwrap().renamed, [(at([3]), at([4]))]);
    assert_eq!(keys(tree.read().root()), "0 1 2 3 4");

    // What cannot be both is a conflict, which has what was wanted.
    let [mut one, mut two] = [(); 2].map(|()| tree.begin(CommitOptions::default()));
    one.put_attribute(&[], "text", "one").unwrap();
    two.put_attribute(&[], "text", "other").unwrap();
    one.commit().unwrap();
    let Err(CommitError::Conflict(conflicts)) = two.commit() else { panic!("both were taken") };
    assert_eq!(conflicts.changes().next().unwrap().1.to_string(), "~ / @text = \"other\"\n");

    // A rule makes one value of both.
    let side = tree.branch("side", tree.snapshot().revision()).unwrap();
    for (branch, text) in [(&tree, "long"), (&side, "longest")] {
        edit(branch, |tx| tx.put_attribute(&[], "text", text));
    }
    let longest = Rule::function(|_, ours, theirs| ours.max(theirs).cloned());
    let merge = tree.merge("side", &MergeOptions::new().rule("text", longest)).unwrap();
    assert!(merge.conflicts().is_empty());
    merge.commit(&CommitMeta::new()).unwrap();
    assert_eq!(tree.read().root().attribute("text").unwrap().as_text(), Some("longest"));
}

/// The five functions of the bulletin board: a board is a tree, a message a child.
#[test]
fn bulletin_board() {
    let jungle = Jungle::new().unwrap();
    let board = jungle.create_tree("board").unwrap();
    assert_eq!(jungle.list_trees().join(" "), "board");
    let texts = |version: &Snapshot| {
        let texts = version.root().children().map(|(_, message)| message.attribute("text"));
        texts.map(|text| text.unwrap().as_text().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = post(&board, "hello");
    post(&board, "welcome");
    let before = board.snapshot();
    edit(&board, |tx| tx.put_attribute(&first, "text", "good-bye"));
    assert_eq!(texts(&board.snapshot()), ["good-bye", "welcome"]);
    assert_eq!(texts(&before), ["hello", "welcome"]);
}
