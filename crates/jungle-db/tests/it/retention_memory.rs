//! What is not kept gives its memory back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jungle_db::{Clock, Jungle, Retention, Timestamp, TreeHandle};
use jungle_tree::Key;

use crate::support::{SharedClock, path, tree_in};

/// Memory stays bounded over many commits, one a microsecond, of which so many are kept.
#[track_caller]
fn check_bounded(retention: Retention, kept: usize) {
    let clock = SharedClock::default();
    let builder = Jungle::builder().clock(clock.clone()).retention(retention);
    let jungle = builder.build().unwrap();
    let tree = tree_in(&jungle, "t", 200);
    let mut commit = |i: u64| {
        clock.0.set(i as i64);
        let own = [Key::from(i * 7 % 200)];
        let text = "x".repeat((i % 50) as usize);
        tree.update(|tx| tx.put_attribute(&own, "text", &*text)).unwrap();
    };
    (0..2_000).for_each(&mut commit);
    let early = jungle.arena().usage();
    (2_000..50_000).for_each(&mut commit);
    let late = jungle.arena().usage();
    let bytes = |usage: jungle_tree::ArenaUsage| usage.structure_bytes + usage.payload_bytes;
    assert!(bytes(late) <= bytes(early) * 3 / 2 + (1 << 18), "{early:?} became {late:?}");
    assert_eq!(tree.history(..).count(), kept);
    let oldest = tree.history(..).last().unwrap().unwrap().revision;
    assert_eq!(tree.at(oldest).unwrap().root().recount(), 201);
}

#[test]
fn memory_stays_bounded_where_so_many_are_kept() {
    check_bounded(Retention::Last(100), 100);
}

#[test]
fn memory_stays_bounded_where_the_younger_ones_are_kept() {
    // The newest that is not younger is kept, too.
    check_bounded(Retention::ByAge(Duration::from_micros(100)), 101);
}

#[test]
fn a_window_can_be_read_while_it_moves() {
    let jungle = Jungle::builder().retention(Retention::Last(50)).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    for n in 0..5_000i64 {
        let committed = tree.update(|tx| tx.put_attribute(&path("/0"), "n", n)).unwrap();
        let back = committed.revision.number().saturating_sub(49);
        if n >= 49 {
            let old = tree.at(jungle_db::Revision::new(back)).unwrap();
            let found = old.root().child(&Key::from(0)).unwrap().attribute("n").unwrap().as_int();
            assert_eq!(found, Some(n - 49));
        }
    }
}

#[test]
fn what_was_kept_once_is_given_back() {
    let jungle = Jungle::new().unwrap();
    let tree = tree_in(&jungle, "t", 100);
    let kept = |jungle: &Jungle| {
        let usage = jungle.arena().usage();
        usage.structure_bytes + usage.payload_bytes
    };
    for i in 0..50_000u64 {
        let own = [Key::from(i % 100)];
        tree.update(|tx| tx.put_attribute(&own, "n", i as i64)).unwrap();
    }
    let all = kept(&jungle);
    let held = tree.at(jungle_db::Revision::new(20_000)).unwrap();
    jungle.collect().unwrap();
    assert!(kept(&jungle) >= all / 2, "what the history keeps was collected");
    for number in (100..50_000).step_by(777) {
        let old = tree.at(jungle_db::Revision::new(number)).unwrap();
        assert_eq!(old.root().recount(), 101);
    }
    let hash = held.root().content_hash();
    tree.set_retention(Retention::Last(1)).unwrap();
    jungle.collect().unwrap();
    assert!(kept(&jungle) < all / 4, "{} of {all} bytes are left", kept(&jungle));
    assert_eq!(held.root().content_hash(), hash);
    assert_eq!(tree.read().root().recount(), 101);
    let attribute =
        tree.read().root().child(&Key::from(99)).unwrap().attribute("n").unwrap().as_int();
    assert_eq!(attribute, Some(49_999));
}

#[test]
fn a_deleted_tree_is_given_back() {
    let jungle = Jungle::new().unwrap();
    let before = jungle.arena().usage();
    for _ in 0..3 {
        let tree = tree_in(&jungle, "t", 200_000);
        drop(tree);
        jungle.delete_tree("t").unwrap();
        jungle.collect().unwrap();
        let after = jungle.arena().usage();
        assert!(after.structure_bytes <= before.structure_bytes + (1 << 20), "{after:?}");
    }
}

#[test]
fn what_became_too_old_is_dropped_though_nothing_is_committed() {
    let clock = SharedClock::default();
    let age = Retention::ByAge(Duration::from_secs(10));
    let jungle = Jungle::builder().clock(clock.clone()).retention(age).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    let side = tree.branch("side", tree.snapshot().revision()).unwrap();
    for second in 1..=5 {
        clock.0.set(second * 1_000_000);
        for branch in [&tree, &side] {
            branch.update(|tx| tx.append(&[])).unwrap();
        }
    }
    clock.0.set(13_500_000);
    jungle.apply_retention().unwrap();
    // The newest before, and those since.
    assert_eq!((tree.history(..).count(), side.history(..).count()), (3, 3));
}

/// Each commit tells which it was in each child, and writes so much that it takes what
/// is free.
fn commit_numbered(tree: &TreeHandle, number: i64) {
    let numbered = |tx: &mut jungle_db::Draft| {
        (0..100).try_for_each(|child| tx.put_attribute(&[Key::from(child)], "n", number))
    };
    tree.update(numbered).unwrap();
}

/// That all that is listed is as it was committed; tells how many that are.
fn assert_as_committed(tree: &TreeHandle, newest: i64) -> usize {
    let listed: Vec<_> = tree.history(..).map(|info| info.unwrap().revision).collect();
    for (revision, number) in listed.iter().zip((0..=newest).rev()) {
        let old = tree.at(*revision).unwrap();
        for child in [0, 50, 99] {
            let found = old.root().child(&Key::from(child)).unwrap().attribute("n");
            assert_eq!(found.and_then(|n| n.as_int()), Some(number), "{child} of {revision:?}");
        }
    }
    listed.len()
}

#[test]
fn what_is_still_to_be_dropped_can_be_read_when_the_newest_alone_is_kept() {
    const COMMITS: i64 = 10_000;
    let jungle = Jungle::builder().retention(Retention::Last(20_000)).build().unwrap();
    let tree = tree_in(&jungle, "t", 100);
    (0..COMMITS).for_each(|number| commit_numbered(&tree, number));
    let checkpoint = jungle.checkpoint();
    tree.set_retention(Retention::Last(1)).unwrap();
    // A slice is dropped now, and one with each commit.
    drop(checkpoint);
    assert!(assert_as_committed(&tree, COMMITS - 1) > 5_000);
    commit_numbered(&tree, COMMITS);
    assert!(assert_as_committed(&tree, COMMITS) > 1_000);
    commit_numbered(&tree, COMMITS + 1);
    assert_eq!(assert_as_committed(&tree, COMMITS + 1), 1);
}

/// Commits when it is looked at without a lock while a rule is set, as another thread may.
#[derive(Clone, Default)]
struct Meanwhile(Arc<Mutex<(u32, Option<TreeHandle>)>>);

impl Clock for Meanwhile {
    fn now(&self) -> Timestamp {
        let tree = {
            let mut armed = self.0.lock().unwrap();
            armed.0 = armed.0.saturating_sub(1);
            if armed.0 == 0 { armed.1.take() } else { None }
        };
        if let Some(tree) = tree {
            (1..10).for_each(|number| commit_numbered(&tree, number));
        }
        Timestamp::from_micros(0)
    }
}

#[test]
fn a_wider_rule_keeps_what_is_committed_at_once() {
    let clock = Meanwhile::default();
    for wider in [Retention::All, Retention::Last(100), Retention::ByAge(Duration::from_secs(1))] {
        let jungle = Jungle::builder().clock(clock.clone()).retention(Retention::Last(1));
        let jungle = jungle.build().unwrap();
        let tree = tree_in(&jungle, "t", 100);
        commit_numbered(&tree, 0);
        // The first look is for the time of the rule itself, the second for what it drops.
        *clock.0.lock().unwrap() = (2, Some(tree.clone()));
        tree.set_retention(wider).unwrap();
        assert!(clock.0.lock().unwrap().1.is_none(), "nothing was committed meanwhile");
        assert_eq!(assert_as_committed(&tree, 9), 10);
    }
}

#[test]
fn old_revisions_of_what_was_deleted_are_not_listed_once_their_memory_is_given_back() {
    let jungle = Jungle::new().unwrap();
    let tree = tree_in(&jungle, "t", 100);
    let side = tree.branch("side", tree.snapshot().revision()).unwrap();
    for number in 0..50 {
        [&tree, &side].into_iter().for_each(|branch| commit_numbered(branch, number));
    }
    tree.delete_branch("side").unwrap();
    jungle.delete_tree("t").unwrap();
    // Nothing was given back so far; the oldest were made before the first that is numbered.
    let first = [&tree, &side].map(|branch| branch.history(..).nth(49).unwrap().unwrap().revision);
    assert!(tree.at(first[0]).is_ok() && side.at(first[1]).is_ok());
    jungle.collect().unwrap();
    let other = tree_in(&jungle, "other", 100);
    (0..50).for_each(|number| commit_numbered(&other, -number));
    for (branch, first) in [&tree, &side].into_iter().zip(first) {
        assert_eq!(assert_as_committed(branch, 49), 1);
        assert!(branch.at(first).is_err());
    }
}

#[test]
fn what_a_deleted_tree_kept_is_given_back_though_somebody_has_it() {
    let jungle = Jungle::builder().retention(Retention::Last(1_000)).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    let text = "x".repeat(10_000);
    let put = |tx: &mut jungle_db::Draft| tx.put_attribute(&path("/0"), "text", &*text);
    let other = |tx: &mut jungle_db::Draft| tx.put_attribute(&path("/0"), "text", "");
    for _ in 0..500 {
        tree.update(put).unwrap();
        tree.update(other).unwrap();
    }
    let kept = jungle.arena().usage().payload_bytes;
    jungle.delete_tree("t").unwrap();
    jungle.collect().unwrap();
    let left = jungle.arena().usage().payload_bytes;
    assert!(left < kept / 4, "{left} of {kept} bytes are left");
    assert_eq!(tree.read().root().recount(), 2);
}
