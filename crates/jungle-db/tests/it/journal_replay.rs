//! The journal: what it was told makes an equal Jungle, and nothing is visible that it refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use jungle_db::{
    BranchEdit, BranchId, CommitMeta, CommitOptions, CommitRecord, CreateTreeError, Draft,
    Durability, Event, Journal, JournalError, Jungle, MemoryJournal, NoSuchRevision, NotWritten,
    ReplayError, Retention, Revision, TreeHandle, TreeId, UpdateError,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Change, EditError, Key, MergeOptions, Path};

use crate::support::{SharedClock, append, path, portrait, put, tree_in};

fn journaled() -> (Arc<MemoryJournal>, Jungle, SharedClock) {
    let journal = Arc::new(MemoryJournal::default());
    let clock = SharedClock::default();
    let builder = Jungle::builder().journal(Arc::clone(&journal)).clock(clock.clone());
    (journal, builder.build().unwrap(), clock)
}

/// What all that the journal was told makes.
fn replayed(journal: &MemoryJournal) -> Jungle {
    let copy = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| copy.replay(record)).unwrap();
    copy
}

fn check_replay(journal: &MemoryJournal, jungle: &Jungle) {
    let copy = replayed(journal);
    assert_eq!(copy.revision(), jungle.revision());
    assert_eq!(portrait(&copy), portrait(jungle));
}

#[test]
fn what_is_not_kept_is_dropped_when_all_is_replayed() {
    let (journal, jungle, clock) = journaled();
    let tree = tree_in(&jungle, "t", 1);
    let by_age = Retention::ByAge(Duration::from_micros(2));
    for retention in [Retention::Last(1), Retention::All, by_age, Retention::Last(2)] {
        tree.set_retention(retention).unwrap();
        for n in 0..5 {
            clock.0.set(clock.0.now_micros() + 1);
            put(&tree, "/0", "n", n);
        }
        let copy = replayed(&journal);
        copy.end_replay();
        assert_eq!(portrait(&copy), portrait(&jungle), "{retention:?}");
    }
    let held = tree.snapshot().revision();
    let checkpoint = jungle.checkpoint();
    for n in 2..9 {
        put(&tree, "/0", "n", n);
    }
    // Only the checkpoint keeps it.
    tree.tag("held", held).unwrap();
    drop(checkpoint);
    assert!(matches!(tree.at(held), Err(NoSuchRevision::TooOld { .. })));
    let copy = replayed(&journal);
    let again = copy.open_tree("t").unwrap();
    assert_eq!((again.retention(), again.history(..).count()), (Retention::Last(2), 29));
    copy.end_replay();
    assert_eq!(again.history(..).count(), 2);
    assert_eq!(portrait(&copy), portrait(&jungle));
    put(&again, "/0", "n", 9);
    assert_eq!(again.history(..).count(), 2);
    let kept = [&tree, &again].map(|tree| tree.at_tag("held").unwrap().root().content_hash());
    assert_eq!(kept[0], kept[1]);
}

#[test]
fn every_kind_of_commit_is_replayed() {
    let (journal, jungle, clock) = journaled();
    let tree = tree_in(&jungle, "t", 3);
    clock.0.set(1_000);
    put(&tree, "/0", "n", 1);
    let meta = CommitMeta::new().author("ana").message("move");
    let options = CommitOptions { meta: meta.clone(), ..CommitOptions::default() };
    let moved =
        tree.update_with(&options, |tx| tx.move_node(&path("/0"), &path("/1"), &Key::from("x")));
    let at = moved.unwrap().revision;
    let side = tree.branch("side", at).unwrap();
    tree.tag("before", at).unwrap();
    put(&side, "/1/x", "n", 5);
    append(&tree, &path("/2"));
    tree.merge("side", &MergeOptions::new()).unwrap().commit(&meta).unwrap();
    put(&side, "/2", "n", 6);
    tree.merge("side", &MergeOptions::new()).unwrap().commit(&meta).unwrap();
    tree.restore(at, &meta).unwrap();
    let other = tree_in(&jungle, "other", 1);
    let mut both = jungle.begin(CommitOptions::default());
    both.tree("t").unwrap().put_attribute(&[], "n", 1).unwrap();
    both.tree("other").unwrap().put_attribute(&[], "n", -1).unwrap();
    both.commit().unwrap();
    put(&other, "/", "n", -1);
    jungle.rename_tree("other", "another").unwrap();
    jungle.create_tree("short").unwrap();
    jungle.delete_tree("short").unwrap();
    tree.tag("gone", at).unwrap();
    tree.delete_tag("gone").unwrap();
    tree.branch("gone", at).unwrap();
    tree.delete_branch("gone").unwrap();
    check_replay(&journal, &jungle);
}

#[test]
fn a_replayed_jungle_goes_on_as_the_first_would() {
    let (journal, jungle, _) = journaled();
    let tree = tree_in(&jungle, "t", 2);
    let side = tree.branch("side", jungle.revision()).unwrap();
    put(&side, "/0", "n", 1);
    let copy = replayed(&journal);
    for jungle in [&jungle, &copy] {
        let tree = jungle.open_tree("t").unwrap();
        tree.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
        tree.branch("more", jungle.revision()).unwrap();
    }
    assert_eq!(portrait(&jungle), portrait(&copy));
    let records = journal.records();
    let error = copy.replay(&records[0]).unwrap_err();
    assert!(matches!(error, ReplayError::NotNext { found, .. } if found == Revision::new(1)));
}

#[test]
fn ids_that_are_taken_or_leave_no_room_are_refused() {
    let (journal, jungle, _) = journaled();
    let tree = tree_in(&jungle, "t", 0);
    tree.branch("side", jungle.revision()).unwrap();
    let (id, main) = (tree.id(), tree.branch_id());
    let retention = Retention::All;
    let created = |tree, branch| {
        let name = "other".into();
        Event::TreeCreated { tree, branch, name, retention }
    };
    let branched = |branch| {
        let (name, at) = ("other".into(), Revision::new(1));
        Event::BranchCreated { tree: id, branch, name, from: main, at, retention }
    };
    let side = tree.on_branch("side").unwrap().branch_id();
    let elsewhere = tree_in(&jungle, "elsewhere", 0).branch_id();
    let largest = (TreeId(u64::MAX), BranchId(u64::MAX));
    for event in [
        created(TreeId(100), BranchId(100)),
        created(TreeId(100), side),
        created(TreeId(side.0), BranchId(100)),
        branched(BranchId(id.0)),
        branched(elsewhere),
        created(largest.0, BranchId(100)),
        created(TreeId(100), largest.1),
        created(id, BranchId(100)),
        branched(largest.1),
        branched(side),
        branched(main),
    ] {
        let copy = replayed(&journal);
        let record = CommitRecord {
            revision: Revision::new(copy.revision().number() + 1),
            event,
            ..journal.records()[0].clone()
        };
        let refused = copy.replay(&record).unwrap_err();
        assert!(matches!(refused, ReplayError::DoesNotFit { .. }), "{record:?} gave {refused}");
        copy.create_tree("other").unwrap();
        assert_eq!(copy.open_tree("t").unwrap().list_branches().len(), 2);
    }
}

#[test]
fn a_tree_gets_no_name_that_another_one_has_or_none_can_have() {
    let (journal, jungle, _) = journaled();
    let [id, _] = ["a", "b"].map(|name| tree_in(&jungle, name, 1).id());
    let copy = replayed(&journal);
    for name in ["b", ""] {
        let name = Arc::from(name);
        let (other, branch) = (TreeId(100), BranchId(101));
        let retention = Retention::All;
        for event in [
            Event::TreeRenamed { tree: id, name: Arc::clone(&name) },
            Event::TreeCreated { tree: other, branch, name, retention },
        ] {
            let record = CommitRecord {
                revision: Revision::new(copy.revision().number() + 1),
                event,
                ..journal.records()[0].clone()
            };
            let refused = copy.replay(&record).unwrap_err();
            assert!(matches!(refused, ReplayError::DoesNotFit { .. }), "{record:?} gave {refused}");
            assert_eq!(copy.list_trees(), ["a".into(), "b".into()]);
        }
    }
    assert_eq!(portrait(&copy), portrait(&jungle));
}

/// Else it waits for itself.
#[test]
fn a_branch_is_in_a_record_once() {
    let (journal, jungle, _) = journaled();
    let trees = ["a", "b"].map(|name| tree_in(&jungle, name, 0));
    let follow = |trees: &[&TreeHandle]| {
        let put = Change::AttributePut { path: Path::root(), key: "n".into(), value: 1_i64.into() };
        let edit = |tree: &&TreeHandle| BranchEdit {
            tree: tree.id(),
            branch: tree.branch_id(),
            changes: vec![put.clone()].into(),
            merged: None,
        };
        let record = CommitRecord {
            revision: Revision::new(jungle.revision().number() + 1),
            event: Event::Edited(trees.iter().map(edit).collect()),
            ..journal.records()[0].clone()
        };
        let (jungle, (tell, told)) = (jungle.clone(), channel());
        thread::spawn(move || tell.send(jungle.follow(&record)).unwrap());
        told.recv_timeout(Duration::from_secs(30)).expect("it waits for itself")
    };
    follow(&[&trees[1], &trees[0]]).unwrap();
    let refused = follow(&[&trees[0], &trees[0]]).unwrap_err();
    assert!(matches!(refused, ReplayError::DoesNotFit { .. }), "{refused}");
}

#[test]
fn branches_are_found_by_their_ids_whatever_was_renamed_or_deleted() {
    let (journal, jungle, _) = journaled();
    for name in ["a", "b"] {
        let tree = tree_in(&jungle, name, 1);
        for branch in ["x", "y", "z"] {
            put(&tree.branch(branch, jungle.revision()).unwrap(), "/0", branch, 1);
        }
        tree.delete_branch("y").unwrap();
        put(&tree.branch("y", jungle.revision()).unwrap(), "/0", "again", 1);
    }
    jungle.rename_tree("a", "c").unwrap();
    jungle.rename_tree("b", "a").unwrap();
    jungle.delete_tree("c").unwrap();
    let tree = jungle.open_tree("a").unwrap();
    ["x", "y", "z"].iter().for_each(|name| put(&tree.on_branch(name).unwrap(), "/0", "n", 2));
    check_replay(&journal, &jungle);
}

#[test]
fn concurrent_commits_are_replayed() {
    for_each_seed(5, |rng| {
        let (journal, jungle, _) = journaled();
        let trees = ["a", "b"].map(|name| tree_in(&jungle, name, 4));
        thread::scope(|scope| {
            for mut rng in [rng.fork(), rng.fork(), rng.fork()] {
                let trees = &trees;
                scope.spawn(move || {
                    for _ in 0..60 {
                        let tree = rng.pick(trees);
                        edit(tree, &mut rng.fork());
                    }
                });
            }
        });
        check_replay(&journal, &jungle);
    });
}

fn edit(tree: &jungle_db::TreeHandle, rng: &mut Rng) {
    let (child, what) = ([Key::from(rng.below(4))], rng.below(3));
    let done = tree.update(|tx| match what {
        0 => tx.append(&child).map(drop),
        1 => tx.put_attribute(&child, "n", 1),
        _ => tx.remove_attribute(&child, "n").map(drop),
    });
    done.unwrap();
}

/// A journal that fails when it is told to.
#[derive(Default)]
struct Failing {
    append: AtomicBool,
    wait: AtomicBool,
}

impl Journal for Failing {
    fn append(&self, _: &CommitRecord) -> Result<(), JournalError> {
        fail(&self.append)
    }

    fn wait(&self, _: Revision, _: Durability) -> Result<(), JournalError> {
        fail(&self.wait)
    }
}

fn fail(when: &AtomicBool) -> Result<(), JournalError> {
    match when.load(Ordering::SeqCst) {
        true => Err(JournalError::new("the disk is gone")),
        false => Ok(()),
    }
}

/// A tree with so many children, and the journal that it is told to.
fn failing(children: u64) -> (Arc<Failing>, Jungle, TreeHandle) {
    let journal = Arc::new(Failing::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let tree = tree_in(&jungle, "t", children);
    (journal, jungle, tree)
}

#[test]
fn what_the_journal_refuses_is_never_visible_and_nothing_follows() {
    let (journal, jungle, tree) = failing(1);
    let before = jungle.revision();
    let append = || tree.update(|tx| tx.append(&[]).map_err(drop::<EditError>));
    journal.append.store(true, Ordering::SeqCst);
    let refused = append().unwrap_err();
    assert!(matches!(refused, UpdateError::NotWritten(NotWritten::Refused(_))), "{refused:?}");
    assert_eq!((tree.read().root().child_count(), jungle.revision()), (1, before));
    journal.append.store(false, Ordering::SeqCst);
    let stopped = append().unwrap_err();
    assert!(matches!(stopped, UpdateError::NotWritten(NotWritten::Stopped)));
    let refused = jungle.create_tree("x");
    assert!(matches!(refused, Err(CreateTreeError::NotWritten(NotWritten::Stopped))));
    assert_eq!(tree.history(..).count(), 2);
}

#[test]
fn what_the_journal_cannot_make_last_is_not_acknowledged() {
    let (journal, _jungle, tree) = failing(1);
    journal.wait.store(true, Ordering::SeqCst);
    let refused = tree.update(|tx| tx.append(&[])).unwrap_err();
    assert!(matches!(refused, UpdateError::NotWritten(NotWritten::Unsafe(_))));
    let stopped = tree.update(|tx| tx.append(&[])).unwrap_err();
    assert!(matches!(stopped, UpdateError::NotWritten(NotWritten::Stopped)));
}

/// Who is told that there is nothing to change is told that it lasts, and whoever made it so may
/// not have been.
#[test]
fn what_is_there_already_is_made_to_last() {
    let (read, put, remove) = (
        |tx: &mut Draft| tx.attribute(&[], "n").map(drop).map_err(EditError::from),
        |tx: &mut Draft| tx.put_attribute(&[], "n", 1),
        |tx: &mut Draft| tx.remove_attribute(&[], "m").map(drop),
    );
    for unchanged in [read, put, remove] {
        let (journal, _jungle, tree) = failing(0);
        tree.update(put).unwrap();
        tree.update(unchanged).unwrap();
        journal.wait.store(true, Ordering::SeqCst);
        let in_memory =
            CommitOptions { durability: Some(Durability::Memory), ..CommitOptions::default() };
        tree.update_with(&in_memory, read).unwrap();
        let refused = tree.update(unchanged).unwrap_err();
        assert!(matches!(refused, UpdateError::NotWritten(NotWritten::Unsafe(_))));
        assert_eq!(tree.history(..).count(), 2);
    }
}

/// A journal that remembers what it was asked to wait for.
#[derive(Default)]
struct Waits(Mutex<Vec<Durability>>);

impl Journal for Waits {
    fn append(&self, _: &CommitRecord) -> Result<(), JournalError> {
        Ok(())
    }

    fn wait(&self, _: Revision, durability: Durability) -> Result<(), JournalError> {
        self.0.lock().unwrap().push(durability);
        Ok(())
    }
}

#[test]
fn each_commit_says_what_it_has_to_survive() {
    use Durability::{Buffered, Memory, Sync};
    let journal = Arc::new(Waits::default());
    let builder = Jungle::builder().journal(Arc::clone(&journal)).durability(Buffered);
    let jungle = builder.build().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    let options = |durability| CommitOptions { durability, ..CommitOptions::default() };
    tree.update(|tx| tx.append(&[])).unwrap();
    tree.update_with(&options(Some(Sync)), |tx| tx.append(&[])).unwrap();
    let mut said_later = tree.begin(options(Some(Sync)));
    said_later.append(&[]).unwrap();
    said_later.set_durability(Memory);
    said_later.commit().unwrap();
    let mut many = jungle.begin(options(Some(Memory)));
    many.tree("t").unwrap().append(&[]).unwrap();
    many.tree("t").unwrap().set_durability(Sync);
    many.commit().unwrap();
    jungle.create_tree("u").unwrap();
    for said in [[Memory, Memory], [Memory, Buffered]] {
        let mut many = jungle.begin(options(Some(Sync)));
        for (name, said) in ["t", "u"].into_iter().zip(said) {
            let draft = many.tree(name).unwrap();
            draft.append(&[]).unwrap();
            draft.set_durability(said);
        }
        many.commit().unwrap();
    }
    assert_eq!(jungle.durability(), Buffered);
    // One that is not there yet is not waited for.
    jungle.wait_until(Revision::new(u64::MAX), Sync).unwrap();
    let waited = journal.0.lock().unwrap().clone();
    let first = [Buffered, Buffered, Sync, Memory, Sync];
    assert_eq!(waited, [&first[..], &[Buffered, Memory, Buffered, Sync]].concat());
}

#[test]
fn what_a_checkpoint_has_stays_when_all_is_replayed() {
    let (journal, jungle, _) = journaled();
    let tree = tree_in(&jungle, "t", 1);
    (0..10).for_each(|n| put(&tree, "/0", "n", n));
    tree.set_retention(Retention::Last(1)).unwrap();
    (10..15).for_each(|n| put(&tree, "/0", "n", n));
    let copy = replayed(&journal);
    let checkpoint = copy.checkpoint();
    let copied = copy.open_tree("t").unwrap();
    let kept = copied.history(..).count();
    assert!(kept > 10, "{kept}");
    copy.end_replay();
    assert_eq!(copied.history(..).count(), kept);
    drop(checkpoint);
    assert_eq!(copied.history(..).count(), 1);
    assert_eq!(portrait(&copy), portrait(&jungle));
}
