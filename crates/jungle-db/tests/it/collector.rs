//! What is collected without being asked for.

use jungle_db::{Collector, CommitMeta, Jungle, Retention, TreeHandle};
use jungle_tree::{Key, MergeOptions};

use crate::support::tree_in;

fn taken(jungle: &Jungle) -> usize {
    let usage = jungle.arena().usage();
    usage.structure_bytes + usage.payload_bytes
}

/// A tree with so many revisions that have more than the slack together.
fn much(jungle: &Jungle, revisions: u64) {
    let tree = tree_in(jungle, "t", 100);
    for n in 0..revisions {
        let text = format!("{n}{}", "x".repeat(2_000));
        tree.update(|tx| tx.put_attribute(&[Key::from(n % 100)], "text", &*text)).unwrap();
    }
    assert!(taken(jungle) > 20 << 20, "{}", taken(jungle));
}

#[test]
fn what_is_alive_is_not_gone_through() {
    let jungle = Jungle::new().unwrap();
    let mut collector = Collector::new();
    assert!(collector.look(&jungle).unwrap().is_none());
    much(&jungle, 10_000);
    // It may all be garbage, for all that is known.
    assert!(collector.look(&jungle).unwrap().is_some());
    for _ in 0..3 {
        assert!(collector.look(&jungle).unwrap().is_none());
    }
}

#[test]
fn revisions_that_are_let_go_are_given_back() {
    let jungle = Jungle::new().unwrap();
    much(&jungle, 10_000);
    // As after a restart: nothing of what is there can be used again without a tracing.
    let mut collector = Collector::new();
    assert!(collector.look(&jungle).unwrap().is_none());
    let before = taken(&jungle);
    let tree = jungle.open_tree("t").unwrap();
    tree.set_retention(Retention::Last(6_000)).unwrap();
    assert!(collector.look(&jungle).unwrap().is_none(), "it is not worth it");
    tree.set_retention(Retention::Last(4_000)).unwrap();
    assert!(collector.look(&jungle).unwrap().is_some());
    assert!(collector.look(&jungle).unwrap().is_none());
    assert!(taken(&jungle) < before, "{before} became {}", taken(&jungle));
}

const TEXT_BYTES: usize = 1 << 20;

/// A collection leaves nothing of a text that long.
#[track_caller]
fn text_is_given_back(jungle: &Jungle) {
    let payload = |jungle: &Jungle| jungle.arena().usage().payload_bytes;
    assert!(payload(jungle) >= TEXT_BYTES);
    jungle.collect().unwrap();
    assert!(payload(jungle) < TEXT_BYTES, "{} bytes are left", payload(jungle));
}

/// A tree that had such a text once, and what was done while it had.
fn forgetful(jungle: &Jungle, between: impl FnOnce(&TreeHandle)) -> TreeHandle {
    let tree = tree_in(jungle, "t", 0);
    let text = "x".repeat(TEXT_BYTES);
    tree.update(|tx| tx.put_attribute(&[], "text", &*text)).unwrap();
    between(&tree);
    tree.update(|tx| tx.remove_attribute(&[], "text")).unwrap();
    tree
}

#[test]
fn what_was_held_is_given_back_where_nobody_commits_any_more() {
    let jungle = Jungle::builder().retention(Retention::Last(1)).build().unwrap();
    let mut held = None;
    let _tree = forgetful(&jungle, |tree| held = Some(tree.snapshot()));
    jungle.collect().unwrap();
    assert!(held.take().unwrap().root().has_attributes(), "it is held");
    text_is_given_back(&jungle);
}

#[test]
fn what_a_version_of_another_tree_lies_between_is_given_back() {
    let jungle = Jungle::builder().retention(Retention::Last(1)).build().unwrap();
    let mut held = None;
    let _tree = forgetful(&jungle, |_| held = Some(tree_in(&jungle, "other", 1).snapshot()));
    text_is_given_back(&jungle);
    assert_eq!(held.unwrap().root().child_count(), 1);
}

#[test]
fn the_last_that_was_dropped_is_given_back_where_nobody_commits_any_more() {
    const KEPT: i64 = 64;
    let jungle = Jungle::builder().retention(Retention::Last(KEPT as usize)).build().unwrap();
    let tree = forgetful(&jungle, |_| ());
    // A commit looks at what was dropped when that is an eighth of this.
    for n in 0..KEPT {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    text_is_given_back(&jungle);
    assert_eq!(tree.history(..).count() as i64, KEPT);
}

#[test]
fn what_was_merged_is_given_back_with_its_tree_whoever_has_a_handle() {
    let jungle = Jungle::builder().retention(Retention::Last(1)).build().unwrap();
    let tree = forgetful(&jungle, |tree| {
        let side = tree.branch("side", jungle.revision()).unwrap();
        side.update(|tx| tx.append(&[])).unwrap();
        tree.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
    });
    jungle.delete_tree("t").unwrap();
    text_is_given_back(&jungle);
    assert!(!tree.read().root().has_attributes(), "its newest version stays");
}
