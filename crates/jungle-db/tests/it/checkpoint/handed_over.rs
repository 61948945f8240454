//! A Jungle that leaves its histories to an archive goes on as if it had them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jungle_db::{
    CommitMeta, CommitOptions, HISTORY_PIECE, Jungle, Retention, RevisionInfo, Snapshot, TreeHandle,
};

use super::{Shelves, hand_over, revision};
use crate::support::{SharedClock, int, path, tree_in};

/// A tree whose pieces are too heavy to stay in memory once they are handed over.
struct Heavy {
    jungle: Jungle,
    tree: TreeHandle,
    shelves: Arc<Shelves>,
    clock: SharedClock,
    options: CommitOptions,
    next: i64,
}

impl Heavy {
    fn new() -> Heavy {
        let (clock, shelves) = (SharedClock::default(), Arc::new(Shelves::default()));
        let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
        let tree = tree_in(&jungle, "t", 1);
        let options = CommitOptions::from(&CommitMeta::new().message(&"x".repeat(128 << 10)));
        Heavy { jungle, tree, shelves, clock, options, next: 0 }
    }

    /// So many commits, two in a microsecond.
    fn commit(&mut self, count: i64) {
        let at = path("/0");
        for n in self.next..self.next + count {
            self.clock.0.set(n / 2);
            self.tree.update_with(&self.options, |tx| tx.put_attribute(&at, "n", n)).unwrap();
        }
        self.next += count;
    }

    fn hand_over(&self) {
        hand_over(&self.jungle, &self.shelves);
    }

    /// How often the archive was asked since the last time.
    fn asked(&self) -> u64 {
        self.shelves.asked.swap(0, Ordering::SeqCst)
    }
}

/// What a version says that was made by [`Heavy::commit`].
fn value(snapshot: &Snapshot) -> Option<i64> {
    let node = snapshot.root().at(&path("/0")).ok()?;
    node.attribute("n")?.as_int()
}

/// All that a look back shows, but for what is said of the revisions.
fn look_back(tree: &TreeHandle) -> Vec<String> {
    let past: Vec<_> = tree.history(..).map(Result::unwrap).collect();
    let mut seen: Vec<_> = past.iter().map(|info| look_at(tree, info)).collect();
    let oldest_first = tree.history(..).rev().map(|info| info.unwrap().revision.to_string());
    seen.extend(oldest_first);
    for pair in past.windows(2).step_by(97) {
        let changes = tree.diff(pair[1].revision, pair[0].revision).unwrap();
        seen.push(changes.to_string());
    }
    seen
}

fn look_at(tree: &TreeHandle, info: &RevisionInfo) -> String {
    let at = tree.at(info.revision).unwrap().root().content_hash();
    let then = tree.at_time(info.time).unwrap().revision();
    format!("{} {:?} {at:?} {then}", info.revision, info.time)
}

#[test]
fn a_look_back_shows_the_same() {
    let mut heavy = Heavy::new();
    for _ in 0..3 {
        heavy.commit(900);
        let before = look_back(&heavy.tree);
        heavy.hand_over();
        heavy.asked();
        assert_eq!(look_back(&heavy.tree), before);
        assert!(heavy.asked() > 0, "it was in memory still");
    }
}

#[test]
fn who_looks_back_already_notices_nothing() {
    let mut heavy = Heavy::new();
    heavy.commit(1_700);
    let tree = heavy.tree.clone();
    let all: Vec<_> = tree.history(..).map(|info| info.unwrap().revision).collect();
    let mut newest_first = tree.history(..).map(|info| info.unwrap().revision);
    let mut oldest_first = tree.history(..).rev().map(|info| info.unwrap().revision);
    let mut seen: Vec<_> = newest_first.by_ref().take(10).collect();
    let mut seen_back: Vec<_> = oldest_first.by_ref().take(10).collect();
    let held = tree.at(revision(300)).unwrap();
    let said = value(&held);
    let mut watch = tree.watch(&[], revision(100));
    heavy.hand_over();
    heavy.commit(700);
    heavy.hand_over();
    seen.extend(newest_first);
    assert_eq!(seen, all);
    seen_back.extend(oldest_first.take(all.len() - 10));
    seen_back.reverse();
    assert_eq!(seen_back, all);
    assert_eq!(value(&held), said);
    assert_eq!(watch.next().unwrap().unwrap().info.revision, revision(101));
}

#[test]
fn what_was_handed_over_is_undone_and_done_again() {
    let mut heavy = Heavy::new();
    heavy.commit(1_700);
    heavy.hand_over();
    let tree = &heavy.tree;
    let n = || int(tree, "/0", "n");
    tree.undo(600, &CommitMeta::new()).unwrap();
    assert_eq!(n(), Some(1_099));
    tree.redo(599, &CommitMeta::new()).unwrap();
    assert_eq!(n(), Some(1_698));
    assert!(heavy.asked() > 0, "it was in memory still");
}

#[test]
fn what_a_checkpoint_relies_on_stays_in_memory() {
    let mut heavy = Heavy::new();
    heavy.commit(1_200);
    let held = heavy.jungle.checkpoint();
    heavy.commit(600);
    heavy.hand_over();
    assert_eq!(value(&heavy.tree.at(revision(3)).unwrap()), Some(0));
    let pieces = held.pieces_since(heavy.tree.branch_id(), 0).map(Result::unwrap);
    assert_eq!((pieces.count(), heavy.asked()), (2, 0));
    drop(held);
    heavy.hand_over();
    assert_eq!(value(&heavy.tree.at(revision(3)).unwrap()), Some(0));
    assert_eq!(heavy.asked(), 1);
}

#[test]
fn a_list_of_the_newest_asks_no_archive() {
    let mut heavy = Heavy::new();
    heavy.commit(3 * HISTORY_PIECE as i64 - 2 + 200);
    heavy.hand_over();
    assert_eq!(heavy.tree.history(..).map(Result::unwrap).take(100).count(), 100);
    assert_eq!(heavy.asked(), 0);
}

#[test]
fn what_is_kept_in_the_archive_is_not_written_over() {
    for retention in [Retention::Last(1_500), Retention::ByAge(Duration::from_micros(750))] {
        let mut heavy = Heavy::new();
        heavy.tree.set_retention(retention).unwrap();
        for round in 0..8 {
            // What the archive does not tell is kept longer.
            heavy.shelves.fails.store(round % 4 == 3, Ordering::SeqCst);
            heavy.commit(700);
            heavy.shelves.fails.store(false, Ordering::SeqCst);
            heavy.hand_over();
            if round % 3 == 2 {
                heavy.jungle.collect().unwrap();
            }
            let kept = heavy.tree.history(..).map(|info| {
                let Ok(RevisionInfo { revision, .. }) = info else { panic!("{retention:?}") };
                value(&heavy.tree.at(revision).unwrap())
            });
            let kept: Vec<i64> = kept.flatten().collect();
            let last = heavy.next - 1;
            let ought: Vec<i64> = (0..=last).rev().take(kept.len()).collect();
            assert_eq!(kept, ought, "{retention:?} in round {round}");
            let most = heavy.next.min(1_500) as usize;
            assert!((most..most + 3).contains(&kept.len()), "{} by {retention:?}", kept.len());
        }
    }
}
