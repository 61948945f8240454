//! Records as bytes: there and back, and whatever else the bytes are.

use std::sync::Arc;

use jungle_db::{CommitRecord, Event, Jungle, MemoryJournal, OtherKeys, Retention, Revision};
use jungle_store::{decode, encode};
use jungle_testkit::for_each_seed;
use jungle_tree::{Arena, Change, Editor, Key, Subtree, Tree};

use crate::support::{check_renumbered, every_kind_of_commit, portrait, renumbered};

fn records() -> (Arc<MemoryJournal>, Jungle) {
    records_keeping(Retention::All)
}

fn records_keeping(retention: Retention) -> (Arc<MemoryJournal>, Jungle) {
    let journal = Arc::new(MemoryJournal::default());
    let builder = Jungle::builder().journal(Arc::clone(&journal)).retention(retention);
    let jungle = builder.build().unwrap();
    every_kind_of_commit(&jungle);
    renumbered(&jungle);
    (journal, jungle)
}

fn encoded(record: &CommitRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(record, &mut bytes).unwrap();
    bytes
}

#[test]
fn every_kind_of_record_comes_back() {
    comes_back(Retention::All);
    comes_back(Retention::Last(1_000));
}

fn comes_back(retention: Retention) {
    let (journal, jungle) = records_keeping(retention);
    let copy = Jungle::new().unwrap();
    for record in journal.records() {
        let bytes = encoded(&record);
        let again = decode(&bytes, record.revision, copy.arena()).unwrap();
        assert_eq!(encoded(&again), bytes, "{record:?}");
        copy.replay(&again).unwrap();
    }
    assert_eq!(
        copy.open_tree("t").unwrap().retention(),
        jungle.open_tree("t").unwrap().retention()
    );
    assert_eq!(portrait(&copy), portrait(&jungle));
    let next = |jungle: &Jungle| {
        let tree = jungle.open_tree("t").unwrap().snapshot();
        let node = tree.root().at(&[Key::from("graft"), Key::from(0)]).unwrap();
        node.next_position()
    };
    assert_eq!((next(&copy), next(&jungle)), (41, 41));
    check_renumbered(&copy, 1);
}

/// Programs that were built before read all other merges, and refuse this one by its kind.
#[test]
fn only_a_merge_of_nodes_with_other_keys_is_of_the_new_kind() {
    let (journal, jungle) = records();
    let record = journal.records().pop().unwrap();
    let mut plain = record.clone();
    let Event::Edited(edits) = &mut plain.event else { panic!("{record:?}") };
    let merged = edits[0].merged.as_mut().unwrap();
    assert_eq!(merged.renumbered.nodes().len(), 1);
    merged.renumbered = OtherKeys::default();
    let (plain, bytes) = (encoded(&plain), encoded(&record));
    let differs = plain.iter().zip(&bytes).find(|(a, b)| a != b);
    assert_eq!(differs, Some((&1, &2)));
    let again = decode(&plain, record.revision, jungle.arena()).unwrap();
    let Event::Edited(edits) = again.event else { panic!("an edit") };
    assert_eq!(edits[0].merged.as_ref().unwrap().renumbered, OtherKeys::default());
}

#[test]
fn that_other_keys_are_too_many_is_read_as_it_was_written() {
    let (journal, jungle) = records();
    let mut record = journal.records().pop().unwrap();
    let Event::Edited(edits) = &mut record.event else { panic!("an edit") };
    edits[0].merged.as_mut().unwrap().renumbered = OtherKeys::TooMany;
    let again = decode(&encoded(&record), record.revision, jungle.arena()).unwrap();
    let Event::Edited(edits) = again.event else { panic!("an edit") };
    assert_eq!(edits[0].merged.as_ref().unwrap().renumbered, OtherKeys::TooMany);
}

#[test]
fn a_record_of_one_attribute_is_small() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    tree.update(|tx| tx.put_attribute(&[], "title", "hello")).unwrap();
    assert!(encoded(&journal.records()[1]).len() < 40);
}

#[test]
fn a_very_deep_subtree_comes_back() {
    let arena = Arena::new().unwrap();
    let mut tree = Tree::new(&arena);
    let mut editor = Editor::new(tree.snapshot());
    let mut cursor = editor.cursor(&[]).unwrap();
    for _ in 0..300_000 {
        let key = cursor.add_child().unwrap();
        cursor.enter(&key).unwrap();
    }
    tree.publish(editor);
    let subtree = Subtree::new(&tree.snapshot(), &[]).unwrap();
    let change = Change::SubtreeSet { path: ["deep"].map(Key::from).into(), subtree };
    let (journal, _) = records();
    let mut record = journal.records()[1].clone();
    let Event::Edited(edits) = &mut record.event else {
        panic!("{record:?}");
    };
    edits[0].changes = vec![change].into();
    let again = decode(&encoded(&record), record.revision, &arena).unwrap();
    let Event::Edited(edits) = again.event else {
        panic!("an edit");
    };
    let Change::SubtreeSet { subtree, .. } = &edits[0].changes[0] else {
        panic!("a subtree");
    };
    assert!(subtree.node().is_equal(tree.snapshot().root()));
}

#[test]
fn mutated_records_are_refused_or_read_but_never_panic() {
    let kept = [Retention::All, Retention::Last(1_000)].map(|kept| records_keeping(kept).0);
    let records = kept.iter().flat_map(|journal| journal.records());
    let bytes: Vec<Vec<u8>> = records.map(|record| encoded(&record)).collect();
    let arena = Arena::new().unwrap();
    let mut refused = 0;
    for_each_seed(20_000, |rng| {
        let mut bytes = rng.pick(&bytes).clone();
        for _ in 0..rng.range(1..4) {
            let at = rng.index(bytes.len());
            match rng.below(5) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes[at] = *rng.pick(&[0, 0x7f, 0x80, 0xff]),
                2 => bytes.truncate(at.max(1)),
                3 => bytes.insert(at, rng.next_u64() as u8),
                _ => {
                    let from = rng.index(bytes.len());
                    bytes[at] = bytes[from];
                }
            }
        }
        refused += u32::from(decode(&bytes, Revision::new(1), &arena).is_err());
    });
    assert!(refused > 0);
}

#[test]
fn what_is_declared_costs_nothing_until_it_is_there() {
    let arena = Arena::new().unwrap();
    let before = arena.usage();
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let edited = [0, 0, 0, 1];
    let changes = [&edited[..], &[1, 2, 0], &huge].concat();
    let edits = [&[0, 0, 0][..], &huge].concat();
    let path = [&edited[..], &[1, 2, 0, 1, 0], &huge].concat();
    let name = [&edited[..], &[1, 2, 0, 1, 0, 1], &[0xfe, 0xff, 0xff, 0xff, 0x7f]].concat();
    let attributes = [&edited[..], &[1, 2, 0, 1, 5, 0], &huge].concat();
    let children = [&edited[..], &[1, 2, 0, 1, 5, 0, 1], &huge, &[0]].concat();
    let renumbered = [&edited[..], &[1, 2, 2, 0, 0], &huge].concat();
    for bytes in [changes, edits, path, name, attributes, children, renumbered] {
        decode(&bytes, Revision::new(1), &arena).unwrap_err();
    }
    assert!(arena.usage().structure_bytes <= before.structure_bytes + (1 << 20));
}
