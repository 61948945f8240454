//! Indexes of a tree.

use std::sync::Arc;

use jungle_db::{
    IndexError, Jungle, MemoryJournal, ReplayError, Retention, Revision, Snapshot, TreeHandle,
};
use jungle_tree::{ATTRIBUTE_KEY_BYTES_MAX, AttributeIndex, Key, Value};

use crate::support::{append, put, tree_of};

/// What an index finds, as text.
pub fn found(tree: &TreeHandle, key: &str, of: &Snapshot, value: i64) -> Vec<String> {
    let index = tree.index(key, of).unwrap().expect("there is one");
    index.find(Value::from(value).as_ref()).map(|path| path.to_string()).collect()
}

/// The same, by looking at each node.
pub fn scanned(key: &str, of: &Snapshot, value: i64) -> Vec<String> {
    let (mut walk, mut found) = (of.root().walk(), Vec::new());
    while let Some(node) = walk.next() {
        if node.attribute(key).and_then(|value| value.as_int()) == Some(value) {
            found.push(walk.path().to_string());
        }
    }
    found
}

#[test]
fn an_index_finds_in_every_version_of_every_branch() {
    let (jungle, main) = tree_of(4);
    main.create_index("n").unwrap();
    put(&main, "/0", "n", 7);
    put(&main, "/2", "n", 7);
    let old = main.snapshot();
    assert_eq!(found(&main, "n", &old, 7), ["/0", "/2"]);
    let side = main.branch("side", jungle.revision()).unwrap();
    put(&side, "/3", "n", 7);
    put(&main, "/2", "n", 8);
    assert_eq!(found(&side, "n", &side.snapshot(), 7), ["/0", "/2", "/3"]);
    assert_eq!(found(&main, "n", &main.snapshot(), 7), ["/0"]);
    assert_eq!(found(&main, "n", &main.snapshot(), 8), ["/2"]);
    assert_eq!(found(&main, "n", &old, 7), ["/0", "/2"]);
    assert_eq!(found(&main, "n", &main.at(old.revision()).unwrap(), 7), ["/0", "/2"]);
    assert_eq!(found(&main, "n", &main.snapshot(), 7), ["/0"]);
}

#[test]
fn keys_of_indexes_are_checked() {
    let (jungle, main) = tree_of(0);
    main.create_index("").unwrap();
    main.create_index("n").unwrap();
    assert!(matches!(main.create_index("n"), Err(IndexError::Exists { .. })));
    let long = "n".repeat(ATTRIBUTE_KEY_BYTES_MAX + 1);
    assert!(matches!(main.create_index(&long), Err(IndexError::KeyTooLong { .. })));
    assert!(matches!(main.drop_index("m"), Err(IndexError::NoSuchIndex { .. })));
    assert_eq!(main.list_indexes(), ["".into(), "n".into()]);
    main.drop_index("n").unwrap();
    assert!(main.index("n", &main.snapshot()).unwrap().is_none());
    assert_eq!(main.list_indexes(), ["".into()]);
    jungle.delete_tree("t").unwrap();
    assert!(matches!(main.create_index("n"), Err(IndexError::NotWritten(_))));
}

#[test]
fn a_journal_has_which_indexes_there_are() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let main = jungle.create_tree("t").unwrap();
    for key in ["a", "b", "c"] {
        main.create_index(key).unwrap();
    }
    main.drop_index("b").unwrap();
    let key = append(&main, &[]);
    main.update(|tx| tx.put_attribute(std::slice::from_ref(&key), "c", 5)).unwrap();

    let copy = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| copy.replay(record)).unwrap();
    copy.end_replay();
    let again = copy.open_tree("t").unwrap();
    assert_eq!(again.list_indexes(), ["a".into(), "c".into()]);
    assert_eq!(found(&again, "c", &again.snapshot(), 5), ["/0"]);
    // What was done twice does not fit.
    let mut record = journal.records()[1].clone();
    record.revision = Revision::new(copy.revision().number() + 1);
    assert!(matches!(copy.replay(&record), Err(ReplayError::DoesNotFit { .. })));
}

#[test]
fn an_index_holds_no_old_version_for_long() {
    let (jungle, main) = tree_of(0);
    main.set_retention(Retention::Last(1)).unwrap();
    main.create_index("n").unwrap();
    main.update(|tx| {
        let list = tx.append(&[])?;
        for i in 0..20_000 {
            let key = tx.append(std::slice::from_ref(&list))?;
            tx.put_attribute(&[list.clone(), key], "n", i)?;
        }
        Ok::<_, jungle_tree::EditError>(())
    })
    .unwrap();
    assert_eq!(found(&main, "n", &main.snapshot(), 19_999), ["/0/19999"]);
    main.update(|tx| tx.remove(&[0.into()])).unwrap();
    let collected = jungle.collect().unwrap();
    assert!(collected.payload_bytes > 400_000, "{collected:?}");
    assert_eq!(found(&main, "n", &main.snapshot(), 19_999), [""; 0]);
}

#[test]
fn what_an_index_replaced_is_given_back_where_nobody_asks_for_it_any_more() {
    const COUNT: u64 = 2_000;
    let (jungle, main) = tree_of(COUNT);
    main.set_retention(Retention::Last(1)).unwrap();
    main.create_index("text").unwrap();
    main.update(|tx| {
        (0..COUNT).try_for_each(|n| {
            let text = format!("{n}{}", "x".repeat(1_000));
            tx.put_attribute(&[Key::from(n)], "text", &*text)
        })
    })
    .unwrap();
    main.index("text", &main.snapshot()).unwrap();
    main.update(|tx| {
        (0..COUNT).try_for_each(|n| tx.remove_attribute(&[Key::from(n)], "text").map(drop))
    })
    .unwrap();
    jungle.collect().unwrap();
    let left = jungle.arena().usage().payload_bytes;
    assert!(left < 1 << 20, "{left} bytes are left");
}

#[test]
fn who_asks_while_others_write_gets_that_of_their_version() {
    let (_, main) = tree_of(64);
    main.create_index("n").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..400 {
                put(&main, &format!("/{}", i % 64), "n", i % 5);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for i in 0..200 {
                    let of = main.snapshot();
                    assert_eq!(found(&main, "n", &of, i % 5), scanned("n", &of, i % 5));
                }
            });
        }
    });
    let newest = main.snapshot();
    let kept = main.index("n", &newest).unwrap().unwrap();
    let built = AttributeIndex::build(&newest, "n").unwrap();
    assert!(kept.as_snapshot().root().is_equal(built.as_snapshot().root()));
}
