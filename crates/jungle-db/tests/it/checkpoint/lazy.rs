//! Histories stay where they are until somebody looks.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jungle_db::{
    Archive, ArchiveError, BranchError, BranchId, CommitMeta, CommitOptions, HISTORY_PIECE,
    HistoryAnchor, HistoryEntry, Jungle, JungleState, NoSuchRevision, NotWritten, RequestId,
    Retention, RetentionError, SavedHistory, Timestamp, TreeHandle, UpdateError, WatchError,
};
use jungle_tree::Arena;

use super::{Shelves, reopen, revision};
use crate::support::{SharedClock, put, tree_in, tree_of};

/// A tree with this many revisions, a microsecond apart, most of them in the archive.
fn long(count: i64) -> (Jungle, TreeHandle, Arc<Shelves>, SharedClock) {
    let (clock, shelves) = (SharedClock::default(), Arc::new(Shelves::default()));
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    for i in 2..count {
        clock.0.set(i);
        put(&tree, "/0", "n", i);
    }
    drop(tree);
    let jungle = reopen(jungle, &shelves, Jungle::builder().clock(clock.clone()));
    let tree = jungle.open_tree("t").unwrap();
    (jungle, tree, shelves, clock)
}

#[test]
fn request_from_before_is_read_when_one_is_looked_for() {
    let ids = [7, 8].map(|key| RequestId { key, fingerprint: 1 });
    let asked = |at: usize| CommitOptions::from(&CommitMeta::new().asked_by(ids[at]));
    let jungle = Jungle::new().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    let first = tree.update_with(&asked(0), |tx| tx.append(&[])).unwrap().revision;
    (0..1_100).for_each(|n| put(&tree, "/0", "n", n));
    let second = tree.update_with(&asked(1), |tx| tx.append(&[])).unwrap().revision;
    drop(tree);
    let shelves = Arc::new(Shelves::default());
    let jungle = reopen(jungle, &shelves, Jungle::builder());
    let tree = jungle.open_tree("t").unwrap();
    assert_eq!(shelves.asked.load(Ordering::SeqCst), 0);
    shelves.fails.store(true, Ordering::SeqCst);
    let told = tree.update_with(&asked(0), |tx| tx.append(&[])).unwrap_err();
    assert!(matches!(told, UpdateError::NotWritten(NotWritten::NotLookedUp(_))), "{told}");
    // Whoever asks by none is not concerned.
    put(&tree, "/0", "n", 0);
    shelves.fails.store(false, Ordering::SeqCst);
    let before = shelves.asked.load(Ordering::SeqCst);
    for (request, revision) in ids.into_iter().zip([first, second]) {
        assert_eq!(tree.find_request(request).unwrap(), Some(revision));
    }
    assert_eq!(shelves.asked.load(Ordering::SeqCst) - before, 2);
}

#[test]
fn who_looks_back_is_told_when_the_archive_fails() {
    let (jungle, tree, shelves, clock) = long(2_000);
    shelves.fails.store(true, Ordering::SeqCst);
    let failed = tree.at(revision(300)).unwrap_err();
    assert!(matches!(failed, NoSuchRevision::NotRead(_)), "{failed}");
    assert_eq!(failed.to_string(), "the history cannot be read: the disk is gone");
    let then = tree.at_time(Timestamp::from_micros(300));
    assert!(matches!(then, Err(NoSuchRevision::NotRead(_))));
    assert!(matches!(tree.diff(revision(300), revision(301)), Err(NoSuchRevision::NotRead(_))));
    let not_read = |done: Result<(), BranchError>| {
        let Err(BranchError::NoSuchRevision(error)) = done else { panic!("{done:?}") };
        assert!(matches!(error, NoSuchRevision::NotRead(_)), "{error}");
    };
    not_read(tree.branch("x", revision(300)).map(drop));
    not_read(tree.tag("x", revision(300)));
    let past: Vec<_> = tree.history(..).collect();
    let told = past.iter().filter(|info| info.is_err()).count();
    assert!(past.len() > 100 && told == 1 && past.last().unwrap().is_err());
    let mut past = tree.history(..).rev();
    assert!(past.next().unwrap().is_err() && past.next().is_none());
    let mut watch = tree.watch(&[], revision(300));
    assert!(matches!(watch.next().unwrap_err(), WatchError::NotRead(_)));
    let _: ArchiveError = jungle.collect().unwrap_err();
    let by_age = Retention::ByAge(Duration::from_micros(1_500));
    let refused = tree.set_retention(by_age);
    assert!(matches!(refused, Err(RetentionError::NotRead(_))));
    // Whoever does not look back is not concerned.
    clock.0.set(2_000);
    put(&tree, "/0", "n", 0);
    assert!(tree.at(revision(1_990)).is_ok());
    tree.tag("x", revision(1_990)).unwrap();
    let checkpoint = jungle.checkpoint();
    assert_eq!(checkpoint.state().trees[0].branches[0].history.dropped, 0, "it is kept");
    drop(checkpoint);

    shelves.fails.store(false, Ordering::SeqCst);
    assert_eq!(watch.next().unwrap().unwrap().info.revision, revision(301));
    put(&tree, "/0", "n", 1);
    let oldest = tree.history(..).next_back().unwrap().unwrap();
    assert_eq!(oldest.time, Timestamp::from_micros(500));
    jungle.collect().unwrap();
    assert!(tree.at(oldest.revision).unwrap().root().recount() == 2);
}

/// An archive of what is dropped, and gone, while it is read.
#[derive(Default)]
struct Gone(Mutex<Option<TreeHandle>>);

impl Archive for Gone {
    fn piece(&self, _: BranchId, _: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        let tree = self.0.lock().unwrap().take().expect("it is asked once");
        tree.set_retention(Retention::Last(10)).unwrap();
        Err(ArchiveError::new("it is gone"))
    }
}

#[test]
fn what_is_dropped_while_it_is_read_is_no_failure() {
    let restored = || {
        let (jungle, tree) = tree_of(1);
        (0..1_300).for_each(|n| put(&tree, "/0", "n", n));
        let (arena, checkpoint) = (jungle.arena().clone(), jungle.checkpoint());
        drop((tree, jungle));
        let gone = Arc::new(Gone::default());
        let archive = Arc::<Gone>::clone(&gone);
        let jungle = Jungle::builder().restore(arena, checkpoint.state(), archive).unwrap();
        let tree = jungle.open_tree("t").unwrap();
        *gone.0.lock().unwrap() = Some(tree.clone());
        tree
    };
    let early = restored().at(revision(100)).unwrap_err();
    assert!(matches!(early, NoSuchRevision::TooOld { .. }), "{early}");
    let oldest_first: Vec<_> = restored().history(..).rev().map(Result::unwrap).collect();
    assert_eq!(oldest_first.len(), 10);
}

#[test]
fn what_lies_in_the_archive_is_dropped_as_what_lies_in_memory() {
    let (jungle, tree, shelves, clock) = long(3_000);
    let oldest = revision(jungle.revision().number() - 2_499);
    tree.set_retention(Retention::Last(2_500)).unwrap();
    assert_eq!(shelves.asked.load(Ordering::SeqCst), 0, "numbers suffice for that");
    let early = tree.at(revision(oldest.number() - 1)).unwrap_err();
    assert_eq!(early, NoSuchRevision::TooOld { oldest });
    assert_eq!(tree.at(oldest).unwrap().revision(), oldest);
    let mut watch = tree.watch(&[], revision(10));
    assert_eq!(watch.next().unwrap_err(), WatchError::TooOld { seen: revision(10), oldest });
    jungle.collect().unwrap();
    let count = |tree: &TreeHandle| tree.history(..).map(Result::unwrap).count();
    assert_eq!(count(&tree), 2_500);
    tree.set_retention(Retention::ByAge(Duration::from_micros(1_000))).unwrap();
    for time in 3_000..3_600 {
        clock.0.set(time);
        put(&tree, "/0", "n", time);
        let oldest = tree.history(..).next_back().unwrap().unwrap();
        assert_eq!(oldest.time, Timestamp::from_micros(time - 1_000));
    }
    drop(tree);
    let jungle = reopen(jungle, &shelves, Jungle::builder().clock(clock));
    let tree = jungle.open_tree("t").unwrap();
    assert_eq!(
        (count(&tree), tree.retention()),
        (1_001, { Retention::ByAge(Duration::from_micros(1_000)) })
    );
    tree.set_retention(Retention::Last(1)).unwrap();
    jungle.collect().unwrap();
    assert_eq!(tree.read().root().recount(), 2);
    assert_eq!(tree.at(jungle.revision()).unwrap().root().recount(), 2);
}

#[test]
fn uneven_times_are_found_in_few_steps() {
    let (clock, shelves) = (SharedClock::default(), Arc::new(Shelves::default()));
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    // Most of it at once, some centuries of nothing, the rest in bursts.
    let time = |i: i64| if i < 20_000 { i / 5_000 } else { (1 << 50) + i / 300 * 1_000_000 };
    for i in 0..40_000 {
        clock.0.set(time(i));
        put(&tree, "/0", "n", i);
    }
    drop(tree);
    let jungle = reopen(jungle, &shelves, Jungle::builder());
    let tree = jungle.open_tree("t").unwrap();
    let mut most = 0;
    for i in (0..40_000).step_by(271) {
        let asked = shelves.asked.load(Ordering::SeqCst);
        let found = tree.at_time(Timestamp::from_micros(time(i))).unwrap();
        most = most.max(shelves.asked.load(Ordering::SeqCst) - asked);
        let n = found.root().at(&crate::support::path("/0")).unwrap().attribute("n");
        let n = n.unwrap().as_int().unwrap();
        let is_last = n == 39_999 || time(n + 1) > time(i);
        assert!(n >= i && time(n) == time(i) && is_last, "{i} became {n}");
    }
    assert!(most <= 12, "{most} pieces for one time");
}

/// An archive of a history as long as you like.
struct Endless(HistoryEntry);

impl Endless {
    fn entry(&self, index: u64) -> HistoryEntry {
        let time = Timestamp::from_micros(index as i64 * 7);
        HistoryEntry { revision: revision(index + 1), time, ..self.0.clone() }
    }
}

/// Counts what is asked of the archive behind it.
struct Counted(Endless, Shelves);

impl Archive for Counted {
    fn piece(&self, _: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        self.1.asked.fetch_add(1, Ordering::SeqCst);
        let first = index * HISTORY_PIECE;
        Ok((first..first + HISTORY_PIECE).map(|i| self.0.entry(i)).collect())
    }
}

/// A history of this length that is in an archive but for its last piece.
fn endless(count: u64) -> (Arena, JungleState, Arc<Counted>) {
    let jungle = Jungle::new().unwrap();
    tree_in(&jungle, "t", 0);
    let checkpoint = jungle.checkpoint();
    let (arena, mut state) = (jungle.arena().clone(), checkpoint.state().clone());
    let history = &mut state.trees[0].branches[0].history;
    let endless = Endless(history.last[0].clone());
    let pieces = (count - 1) / HISTORY_PIECE;
    let anchor = HistoryAnchor { index: 0, revision: revision(1), time: Timestamp::default() };
    let last = (pieces * HISTORY_PIECE..count).map(|i| endless.entry(i)).collect();
    *history = SavedHistory { dropped: 0, pieces, anchor, last };
    let state = JungleState { revision: revision(count), ..state };
    (arena, state, Arc::new(Counted(endless, Shelves::default())))
}

#[test]
fn pieces_that_are_used_stay_in_memory() {
    let count = 250_000;
    let (arena, state, archive) = endless(count);
    let jungle = Jungle::builder().restore(arena, &state, Arc::<Counted>::clone(&archive)).unwrap();
    let tree = jungle.open_tree("t").unwrap();
    let mut asked = [0; 2];
    for asked in &mut asked {
        for number in (1..=count).step_by(HISTORY_PIECE as usize) {
            assert_eq!(tree.at(revision(number)).unwrap().revision(), revision(number));
        }
        *asked = archive.1.asked.swap(0, Ordering::SeqCst);
    }
    assert_eq!(asked, [count / HISTORY_PIECE, 0]);
}

/// What doing something costs with a history of this length: pieces asked for, and nanoseconds.
fn costs(count: u64) -> [(&'static str, u64, f64); 5] {
    let (arena, state, archive) = endless(count);
    let asked = || archive.1.asked.swap(0, Ordering::SeqCst);
    let restore = || {
        let archive = Arc::<Counted>::clone(&archive);
        Jungle::builder().restore(arena.clone(), &state, archive).unwrap()
    };
    let mut jungle = None;
    let restored = median(|_| jungle = Some(restore()));
    let restored = ("restore", asked(), restored);
    let jungle = jungle.unwrap();
    let tree = jungle.open_tree("t").unwrap();
    let each = |name, one: &dyn Fn(u64)| {
        one(1);
        let pieces = asked();
        let nanos = median(one);
        asked();
        (name, pieces, nanos)
    };
    let spread = |i: u64| count * (i % 8 + 1) / 9;
    [
        restored,
        each("open by number", &|i| drop(tree.at(revision(spread(i))).unwrap())),
        each("open by time", &|i| {
            let time = Timestamp::from_micros(spread(i) as i64 * 7);
            drop(tree.at_time(time).unwrap());
        }),
        each("list 100", &|_| {
            assert_eq!(tree.history(..).map(Result::unwrap).take(100).count(), 100);
        }),
        each("commit", &|i| put(&tree, "/", "n", i as i64)),
    ]
}

/// Nanoseconds: the median of many.
#[expect(clippy::disallowed_methods, reason = "times are printed and nothing depends on them")]
fn median(mut f: impl FnMut(u64)) -> f64 {
    let once = |i| {
        let start = Instant::now();
        f(i);
        start.elapsed().as_nanos() as f64
    };
    let mut nanos: Vec<f64> = (0..201).map(once).collect();
    nanos.sort_by(f64::total_cmp);
    nanos[100]
}

#[test]
fn a_million_revisions_cost_as_much_as_a_hundred() {
    let (few, many) = (costs(100), costs(1_000_000));
    let mut asked = Vec::new();
    for ((name, none, few), (_, pieces, many)) in few.into_iter().zip(many) {
        println!("{name}: {few:.0} ns became {many:.0} ns ({:.2}), {pieces} pieces", many / few);
        asked.push((name, none, pieces));
    }
    // What is looked for is one piece away, the first time; nothing else depends on the length.
    assert_eq!(
        asked,
        [
            ("restore", 0, 0),
            ("open by number", 0, 1),
            ("open by time", 0, 0),
            ("list 100", 0, 1),
            ("commit", 0, 0),
        ]
    );
}
