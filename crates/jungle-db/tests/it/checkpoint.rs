//! What a Jungle is besides its arena, taken out and put together again.

mod beside;
mod handed_over;
mod indexes;
mod lazy;
mod nonsense;
mod random;
mod salvage;
mod slow;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::{
    Archive, ArchiveError, BranchId, Builder, Checkpoint, CommitMeta, HistoryEntry, Jungle,
    MemoryJournal, Retention, Revision, Timestamp,
};
use jungle_tree::MergeOptions;

use crate::support::{SharedClock, append, path, portrait, put, tree_in};

type Pieces = BTreeMap<(BranchId, u64), Arc<[HistoryEntry]>>;

/// An archive in memory that counts what it is asked for, and fails when it is told to.
#[derive(Default)]
pub struct Shelves {
    pieces: Mutex<Pieces>,
    asked: AtomicU64,
    fails: AtomicBool,
}

impl Archive for Shelves {
    fn piece(&self, branch: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            return Err(ArchiveError::new("the disk is gone"));
        }
        let found = self.pieces.lock().unwrap().get(&(branch, index)).cloned();
        found.ok_or_else(|| ArchiveError::new(format!("there is no piece {index} of {branch:?}")))
    }
}

impl Shelves {
    /// Takes in the pieces that are new since it did so last.
    fn save(&self, checkpoint: &Checkpoint) -> usize {
        let mut new = 0;
        for branch in checkpoint.state().trees.iter().flat_map(|tree| &tree.branches) {
            let mut pieces = self.pieces.lock().unwrap();
            let known = pieces.range((branch.id, 0)..=(branch.id, u64::MAX));
            let since = known.last().map_or(0, |((_, index), _)| index + 1);
            for piece in checkpoint.pieces_since(branch.id, since) {
                let (index, piece) = piece.unwrap();
                new += 1;
                assert!(pieces.insert((branch.id, index), piece).is_none());
            }
        }
        new
    }
}

/// Saves a Jungle and drops it; puts it together again in its arena.
fn reopen(jungle: Jungle, shelves: &Arc<Shelves>, builder: Builder) -> Jungle {
    let checkpoint = jungle.checkpoint();
    shelves.save(&checkpoint);
    let arena = jungle.arena().clone();
    drop(jungle);
    let archive = Arc::<Shelves>::clone(shelves);
    builder.restore(arena, checkpoint.state(), archive).unwrap()
}

/// Saves the histories of a Jungle that goes on, and leaves them to the archive.
fn hand_over(jungle: &Jungle, shelves: &Arc<Shelves>) {
    let checkpoint = jungle.checkpoint();
    shelves.save(&checkpoint);
    jungle.hand_over(checkpoint, Arc::<Shelves>::clone(shelves));
}

fn revision(number: u64) -> Revision {
    Revision::new(number)
}

/// Trees, branches, merges, tags and all kinds of retention.
fn varied(jungle: &Jungle, clock: &SharedClock) {
    let meta = CommitMeta::new().author("ana").message("a word");
    let long = tree_in(jungle, "long", 3);
    for i in 0..1_300 {
        clock.0.set(1_000 + i / 2 * 10);
        put(&long, "/1", "n", i);
    }
    long.tag("early", revision(17)).unwrap();
    let side = long.branch("side", revision(900)).unwrap();
    put(&side, "/2", "n", 5);
    let beyond = side.branch("beyond", jungle.revision()).unwrap();
    put(&beyond, "/0", "n", 7);
    long.merge("side", &MergeOptions::new()).unwrap().commit(&meta).unwrap();
    long.delete_branch("side").unwrap();
    let other = long.branch("other", jungle.revision()).unwrap();
    put(&other, "/0", "n", 6);
    long.merge("other", &MergeOptions::new()).unwrap().commit(&meta).unwrap();
    let few = tree_in(jungle, "few", 1);
    few.set_retention(Retention::Last(3)).unwrap();
    let newest = tree_in(jungle, "newest", 1);
    newest.set_retention(Retention::Last(1)).unwrap();
    let window = tree_in(jungle, "window", 1);
    window.set_retention(Retention::Last(700)).unwrap();
    for i in 0..1_500 {
        [&few, &newest, &window].into_iter().for_each(|tree| put(tree, "/0", "n", i));
    }
    few.tag("kept", jungle.revision()).unwrap();
    put(&few, "/0", "n", -1);
    put(&few, "/0", "n", -2);
    put(&few, "/0", "n", -3);
    jungle.rename_tree("newest", "renamed").unwrap();
}

#[test]
fn everything_is_as_it_was_and_goes_on() {
    let (journal, clock) = (Arc::new(MemoryJournal::default()), SharedClock::default());
    let builder = || Jungle::builder().journal(Arc::clone(&journal)).clock(clock.clone());
    let jungle = builder().build().unwrap();
    varied(&jungle, &clock);
    let (before, newest) = (portrait(&jungle), jungle.revision());
    let shelves = Arc::new(Shelves::default());
    let jungle = reopen(jungle, &shelves, builder());
    assert_eq!(shelves.asked.load(Ordering::SeqCst), 0, "it was restored without a look back");
    assert_eq!((jungle.revision(), portrait(&jungle)), (newest, before.clone()));
    jungle.collect().unwrap();
    assert_eq!(portrait(&jungle), before);

    let long = jungle.open_tree("long").unwrap();
    let by_time = long.at_time(Timestamp::from_micros(1_000 + 10 * 300 + 5)).unwrap();
    let value = by_time.root().at(&path("/1")).unwrap().attribute("n").unwrap().as_int();
    assert_eq!(value, Some(601));
    let mut watch = long.watch(&path("/1"), revision(500));
    for number in 501..520 {
        assert_eq!(watch.next().unwrap().unwrap().info.revision, revision(number));
    }
    let last: Vec<_> = journal.records().iter().map(|record| record.revision).collect();
    assert_eq!(last.last(), Some(&newest));
    let made = jungle.create_tree("made later").unwrap();
    assert!(made.id().0 > long.list_branches().len() as u64 + 8, "{:?}", made.id());
    let next = journal.records().last().unwrap().revision;
    assert_eq!(next, revision(newest.number() + 1));
    // "beyond" left "side", which is gone, and has it in common with "long" still.
    let merged = long.merge("beyond", &MergeOptions::new()).unwrap();
    assert_eq!(merged.conflicts().len(), 1, "both set /0 @n: {:?}", merged.conflicts());
    assert_eq!(merged.changes().to_string(), "", "what came over \"side\" is there");
    merged.commit(&CommitMeta::new()).unwrap();
    let nothing = long.merge("other", &MergeOptions::new()).unwrap();
    assert!(nothing.changes().is_empty(), "{}", nothing.changes());
    let old = long.branch("old", revision(250)).unwrap();
    put(&old, "/0", "n", 8);
    (0..600).for_each(|i| put(&old, "/0", "n", i));

    let before = portrait(&jungle);
    let jungle = reopen(jungle, &shelves, builder());
    assert_eq!(portrait(&jungle), before);
    let copy = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| copy.replay(record)).unwrap();
    for name in copy.list_trees() {
        let (a, b) = (copy.open_tree(&name).unwrap(), jungle.open_tree(&name).unwrap());
        assert_eq!(a.read().root().content_hash(), b.read().root().content_hash(), "{name}");
        assert_eq!((a.id(), a.list_branches()), (b.id(), b.list_branches()));
    }
}

#[test]
fn a_piece_is_given_out_once() {
    let (jungle, tree) = crate::support::tree_of(1);
    let shelves = Arc::new(Shelves::default());
    let numbers = RefCell::new(0..);
    let commit = |tree: &jungle_db::TreeHandle, count| {
        numbers.borrow_mut().by_ref().take(count).for_each(|n| put(tree, "/0", "n", n));
    };
    commit(&tree, 510);
    assert_eq!(shelves.save(&jungle.checkpoint()), 0, "512 revisions are one that is not past");
    commit(&tree, 1);
    assert_eq!(shelves.save(&jungle.checkpoint()), 1);
    commit(&tree, 1_000);
    assert_eq!(shelves.save(&jungle.checkpoint()), 1);
    drop(tree);
    let jungle = reopen(jungle, &shelves, Jungle::builder());
    let tree = jungle.open_tree("t").unwrap();
    commit(&tree, 100);
    let checkpoint = jungle.checkpoint();
    assert_eq!(shelves.save(&checkpoint), 1);
    let again = checkpoint.pieces_since(tree.branch_id(), 0).map(Result::unwrap);
    assert_eq!(
        again.map(|(index, piece)| (index, piece.len())).collect::<Vec<_>>(),
        [(0, 512), (1, 512), (2, 512)]
    );
    assert_eq!(checkpoint.pieces_since(BranchId(99), 0).count(), 0);
    assert_eq!(tree.history(..).map(Result::unwrap).count(), 1_613);
}

#[test]
fn what_a_checkpoint_names_is_there_until_it_is_dropped() {
    let clock = SharedClock::default();
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    varied(&jungle, &clock);
    let (before, checkpoint) = (portrait(&jungle), jungle.checkpoint());
    let few = jungle.open_tree("few").unwrap();
    let long = jungle.open_tree("long").unwrap();
    for i in 0..2_000 {
        [&few, &long].into_iter().for_each(|tree| put(tree, "/0", "n", i));
        put(&jungle.open_tree("renamed").unwrap(), "/0", "n", i);
    }
    long.set_retention(Retention::Last(1)).unwrap();
    long.delete_tag("early").unwrap();
    long.delete_branch("beyond").unwrap();
    jungle.delete_tree("window").unwrap();
    jungle.collect().unwrap();
    put(&long, "/0", "n", 0);
    let shelves = Arc::new(Shelves::default());
    shelves.save(&checkpoint);
    let arena = jungle.arena().clone();
    let then = Jungle::builder().restore(arena, checkpoint.state(), shelves).unwrap();
    assert_eq!(portrait(&then), before);
    drop((then, checkpoint));
    let kept = |tree: &jungle_db::TreeHandle| tree.history(..).map(Result::unwrap).count();
    assert_eq!((kept(&few), kept(&long)), (3, 1), "they are dropped when it is");
    let used = |jungle: &Jungle| {
        let usage = jungle.arena().usage();
        usage.structure_bytes + usage.payload_bytes
    };
    jungle.collect().unwrap();
    let settled = used(&jungle);
    (0..5_000).for_each(|i| append_and_remove(&few, i));
    assert!(used(&jungle) <= settled + (1 << 20), "{} of {settled} bytes", used(&jungle));
}

fn append_and_remove(tree: &jungle_db::TreeHandle, i: i64) {
    let key = append(tree, &[]);
    put(tree, "/0", "n", i);
    tree.update(|tx| tx.remove(std::slice::from_ref(&key))).unwrap();
}

#[test]
fn what_was_deleted_as_it_was_replayed_is_not_held_for_ever() {
    let (journal, shelves) = (Arc::new(MemoryJournal::default()), Arc::new(Shelves::default()));
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    (0..1_300).for_each(|n| put(&tree, "/0", "n", n));
    let checkpoint = jungle.checkpoint();
    shelves.save(&checkpoint);
    let saved = journal.records().len();
    put(&tree, "/0", "n", -1);
    jungle.delete_tree("t").unwrap();
    let arena = jungle.arena().clone();
    drop((tree, jungle));
    let archive = Arc::<Shelves>::clone(&shelves);
    let jungle = Jungle::builder().restore(arena, checkpoint.state(), archive).unwrap();
    let tree = jungle.open_tree("t").unwrap();
    journal.records()[saved..].iter().for_each(|record| jungle.replay(record).unwrap());
    jungle.end_replay();
    jungle.collect().unwrap();
    // Who has it still sees the newest, and nothing is listed whose memory was given back.
    assert_eq!(tree.history(..).count(), 1);
    assert!(tree.at(revision(10)).is_err());
    assert_eq!(tree.read().root().recount(), 2);
}
