//! Trees are made, found, renamed and deleted by name.

use std::sync::Arc;

use jungle_db::{
    CommitMeta, CreateTreeError, DeleteTreeError, Jungle, MemoryJournal, NameError, NotWritten,
    RenameTreeError, Retention, UpdateError,
};

use crate::support::{put, tree_of};

fn names(jungle: &Jungle) -> String {
    jungle.list_trees().join(" ")
}

#[test]
fn trees_are_listed_in_order_of_name() {
    let jungle = Jungle::new().unwrap();
    for name in ["b", "a", "c"] {
        jungle.create_tree(name).unwrap();
    }
    assert_eq!(names(&jungle), "a b c");
    assert_eq!(&*jungle.open_tree("b").unwrap().name(), "b");
    assert_eq!(jungle.open_tree("x").unwrap_err().to_string(), r#"there is no tree "x""#);
}

#[test]
fn a_name_is_taken_once_and_limited() {
    let (jungle, _) = tree_of(0);
    let create = |name: &str| jungle.create_tree(name).map(drop).unwrap_err();
    assert!(matches!(create("t"), CreateTreeError::Exists { .. }));
    assert!(matches!(create(""), CreateTreeError::Name(NameError::Empty)));
    assert!(matches!(create("a\nb"), CreateTreeError::Name(NameError::ControlCharacter { .. })));
    let long = "é".repeat(128);
    assert!(matches!(create(&long), CreateTreeError::Name(NameError::TooLong { bytes: 256 })));
    assert!(jungle.create_tree(&long[2..]).is_ok());
}

#[test]
fn a_handle_follows_its_tree_through_a_new_name() {
    let (jungle, tree) = tree_of(1);
    jungle.create_tree("other").unwrap();
    jungle.rename_tree("t", "new").unwrap();
    assert_eq!((names(&jungle).as_str(), &*tree.name()), ("new other", "new"));
    put(&tree, "/0", "n", 1);
    let error = jungle.rename_tree("new", "other").unwrap_err();
    assert!(matches!(error, RenameTreeError::Exists { .. }));
    let error = jungle.rename_tree("t", "x").unwrap_err();
    assert!(matches!(error, RenameTreeError::NoSuchTree(_)));
}

#[test]
fn a_deleted_tree_is_read_by_who_has_it_and_written_by_nobody() {
    let (jungle, tree) = tree_of(3);
    jungle.delete_tree("t").unwrap();
    assert_eq!(tree.read().root().child_count(), 3);
    let error = tree.update(|tx| tx.append(&[])).unwrap_err();
    assert!(matches!(error, UpdateError::NotWritten(NotWritten::Deleted)), "{error}");
    let error = jungle.delete_tree("t").unwrap_err();
    assert!(matches!(error, DeleteTreeError::NoSuchTree(_)));
    let again = jungle.create_tree("t").unwrap();
    assert_ne!(again.id(), tree.id());
    assert_eq!(again.read().root().child_count(), 0);
}

#[test]
fn what_is_no_edit_has_an_author_too() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let ana = CommitMeta::new().author("ana").message("as agreed");
    let by_ana = jungle.by(&ana);
    let tree = by_ana.create_tree("t").unwrap().by(&ana);
    let first = jungle.revision();
    let side = tree.branch("side", first).unwrap();
    side.tag("tag", first).unwrap();
    let main = side.on_branch("main").unwrap();
    main.delete_tag("tag").unwrap();
    main.delete_branch("side").unwrap();
    main.create_index("n").unwrap();
    main.drop_index("n").unwrap();
    main.set_retention(Retention::Last(3)).unwrap();
    by_ana.rename_tree("t", "u").unwrap();
    by_ana.delete_tree("u").unwrap();
    let records = journal.records();
    assert_eq!(records.len(), 10);
    records.iter().for_each(|record| assert_eq!(record.meta, ana, "{record:?}"));
    // Edits say it themselves, and so do other handles.
    let tree = by_ana.create_tree("t").unwrap();
    tree.by(&ana).update(|tx| tx.append(&[])).unwrap();
    jungle.open_tree("t").unwrap().tag("tag", jungle.revision()).unwrap();
    for record in &journal.records()[11..] {
        assert_eq!(record.meta, CommitMeta::new(), "{record:?}");
    }
    let again = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| again.replay(record)).unwrap();
    let tree = again.open_tree("t").unwrap();
    let made = tree.history(..).last().unwrap().unwrap();
    assert_eq!(made.meta, ana);
}
