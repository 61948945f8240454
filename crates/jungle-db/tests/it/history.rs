//! Looking back: by number, by time, by range.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;

use jungle_db::{
    CommitMeta, CommitOptions, CommitRecord, Comparing, Draft, Durability, Journal, JournalError,
    Jungle, MemoryJournal, NoSuchRevision, NotWritten, Retention, RevertError, Revision,
    SequenceError, Sequencer, SetRootError, Timestamp, TreeHandle, UndoError, UpdateError,
};
use jungle_tree::{ArenaOptions, EditError, Key, Path, Position, Snapshot, Tree};

use crate::support::{SharedClock, append, int, path, put, tree_in, tree_of};

fn revision(number: u64) -> Revision {
    Revision::new(number)
}

#[test]
fn any_revision_opens_by_number() {
    let (jungle, tree) = tree_of(0);
    let other = jungle.create_tree("other").unwrap();
    for i in 0..2000 {
        append(&tree, &[]);
        if i % 3 == 0 {
            append(&other, &[]);
        }
    }
    let mut children = 0;
    let mut next = tree.history(..).rev().map(Result::unwrap).peekable();
    for number in 1..=jungle.revision().number() {
        if next.next_if(|info| info.revision.number() == number).is_some() && number > 1 {
            children += 1;
        }
        let snapshot = tree.at(revision(number)).unwrap();
        assert_eq!(snapshot.root().child_count(), children, "at revision {number}");
        assert!(snapshot.revision() <= revision(number));
    }
    let newest = jungle.revision();
    let late = tree.at(revision(newest.number() + 1)).unwrap_err();
    assert_eq!(late, NoSuchRevision::NotYet { newest });
    let early = other.at(revision(1)).unwrap_err();
    assert_eq!(early, NoSuchRevision::NotBorn { first: revision(2) });
}

#[test]
fn any_revision_opens_by_time() {
    let clock = SharedClock::default();
    clock.0.set(10);
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    let tree = tree_in(&jungle, "t", 0);
    for time in [20, 20, 50, 40, 60] {
        clock.0.set(time);
        append(&tree, &[]);
    }
    let children = |time| {
        let snapshot = tree.at_time(Timestamp::from_micros(time));
        snapshot.map(|snapshot| snapshot.root().child_count()).ok()
    };
    let found: Vec<_> = [5, 10, 19, 20, 45, 50, 59, 60, 99].into_iter().map(children).collect();
    let expected = [None, Some(0), Some(0), Some(2), Some(2), Some(4), Some(4), Some(5), Some(5)];
    assert_eq!(found, expected);
    let times: Vec<i64> =
        tree.history(..).rev().map(|info| info.unwrap().time.as_micros()).collect();
    assert_eq!(times, [10, 20, 20, 50, 50, 60]);
}

#[test]
fn a_history_that_is_dropped_while_it_is_listed_ends() {
    let (_jungle, tree) = tree_of(0);
    // Over the end of a piece, so that not all are read before they are dropped.
    (0..600).for_each(|_| drop(append(&tree, &[])));
    let mut past = tree.history(..).map(|info| info.unwrap().revision.number());
    let mut listed: Vec<u64> = past.by_ref().take(70).collect();
    tree.set_retention(Retention::Last(10)).unwrap();
    listed.extend(past);
    // What was read before may go on, and nothing is told twice.
    assert!(listed.iter().copied().eq((1..=601).rev().take(listed.len())), "{listed:?}");
    assert!((70..601).contains(&listed.len()), "{}", listed.len());
    assert_eq!(tree.history(..).count(), 10);
}

#[test]
fn a_history_is_read_from_either_end_in_any_range() {
    let (_jungle, tree) = tree_of(0);
    (0..300).for_each(|_| drop(append(&tree, &[])));
    let all: Vec<u64> = tree.history(..).map(|info| info.unwrap().revision.number()).collect();
    assert_eq!(all, (1..=301).rev().collect::<Vec<_>>());
    let part = tree.history(revision(10)..revision(20));
    assert_eq!(
        part.map(|i| i.unwrap().revision.number()).collect::<Vec<_>>(),
        [19, 18, 17, 16, 15, 14, 13, 12, 11, 10]
    );
    let mut both = tree.history(revision(2)..=revision(201)).map(Result::unwrap);
    let mut seen = Vec::new();
    while let Some(newer) = both.next() {
        seen.push(newer.revision.number());
        seen.extend(both.next_back().map(|older| older.revision.number()));
    }
    seen.sort_unstable();
    assert_eq!(seen, (2..=201).collect::<Vec<_>>());
    assert_eq!(tree.history(revision(500)..).count(), 0);
    assert_eq!(tree.history(..revision(0)).count(), 0);
}

#[test]
fn two_revisions_are_compared() {
    let (jungle, tree) = tree_of(2);
    let before = jungle.revision();
    put(&tree, "/1", "n", 3);
    append(&tree, &[]);
    let after = jungle.revision();
    let text = |a, b| tree.diff(a, b).unwrap().to_string();
    assert_eq!(text(before, after), "~ /1 @n = 3\n+ /2\n");
    assert_eq!(text(after, before), "~ /1 @n removed\n- /2\n");
    assert_eq!(text(after, after), "");
}

#[test]
fn neighbours_are_compared_as_any_two_are() {
    let (jungle, tree) = tree_of(0);
    let other = jungle.create_tree("other").unwrap();
    for i in 0..1200 {
        append(&tree, &[]);
        if i % 7 == 0 {
            append(&other, &[]);
        }
    }
    let newest = jungle.revision();
    for number in 2..=newest.number() {
        let [a, b] = [revision(number - 1), revision(number)];
        let held = [a, b].map(|revision| tree.at(revision));
        let told = tree.diff(a, b);
        match held {
            [Ok(before), Ok(after)] => {
                assert_eq!(told.unwrap(), jungle_tree::diff(&before, &after), "to {number}");
            }
            _ => assert!(told.is_err(), "to {number}"),
        }
    }
    tree.set_retention(Retention::Last(3)).unwrap();
    let oldest = tree.history(..).next_back().unwrap().unwrap().revision;
    let gone = tree.diff(revision(oldest.number() - 1), oldest);
    assert_eq!(gone, Err(NoSuchRevision::TooOld { oldest }));
}

#[test]
fn one_revision_is_taken_back_and_what_came_after_stays() {
    let (jungle, tree) = tree_of(2);
    put(&tree, "/0", "n", 1);
    put(&tree, "/0", "n", 2);
    let wrong = jungle.revision();
    put(&tree, "/1", "n", 3);
    let undone = tree.revert(wrong, &CommitMeta::new().message("undo")).unwrap();
    assert_eq!(undone.revision, jungle.revision());
    assert_eq!((int(&tree, "/0", "n"), int(&tree, "/1", "n")), (Some(1), Some(3)));
    put(&tree, "/0", "n", 9);
    let error = tree.revert(wrong, &CommitMeta::new()).unwrap_err();
    assert!(matches!(error, RevertError::Conflict(_)), "{error}");
    tree.restore(wrong, &CommitMeta::new()).unwrap();
    assert_eq!((int(&tree, "/0", "n"), int(&tree, "/1", "n")), (Some(2), None));
}

#[test]
fn a_revision_of_another_tree_is_not_taken_back_here() {
    let (jungle, tree) = tree_of(1);
    put(&tree, "/0", "n", 1);
    let own = jungle.revision();
    let other = tree_in(&jungle, "other", 1);
    let revision = other.snapshot().revision();
    let refused = tree.revert(revision, &CommitMeta::new()).unwrap_err();
    let expected = format!(
        "revision {revision} is of another branch; the one before it of this branch is {own}"
    );
    assert_eq!(refused.to_string(), expected);
    assert_eq!(int(&tree, "/0", "n"), Some(1));
}

#[test]
fn a_position_stays_used_when_an_older_version_comes_back() {
    for journal in [None, Some(Arc::new(MemoryJournal::default()))] {
        let is_in_memory = journal.is_none();
        let mut builder = Jungle::builder();
        if let Some(journal) = journal {
            builder = builder.journal(journal);
        }
        let tree = tree_in(&builder.build().unwrap(), "t", 1);
        let good = tree.snapshot();
        let gone = tree.update(|tx| tx.append(&[])).unwrap().value;
        tree.restore(good.revision(), &CommitMeta::new()).unwrap();
        let next = tree.update(|tx| tx.append(&[])).unwrap().value;
        assert!(next > gone, "{next:?} was another node before");
        let newest = tree.snapshot();
        let mut equal = Tree::from_snapshot(&newest);
        let added = equal.add_child(&[]).unwrap();
        equal.remove(&[added]).unwrap();
        for root in [Snapshot::clone(&newest), equal.snapshot()] {
            let again = tree.set_root(&root, &CommitMeta::new()).unwrap().revision;
            let is_whole = is_in_memory && !root.is_same(&newest);
            assert_eq!(again > newest.revision(), is_whole, "nothing was to be changed");
        }
    }
}

#[test]
fn a_version_comes_back_for_which_there_is_room() {
    let arena = ArenaOptions { structure_bytes: 16 << 20, ..ArenaOptions::default() };
    let jungle = Jungle::builder().arena(arena).build().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    let first = tree.update(|tx| tx.append(&[])).unwrap().revision;
    let fill = || tree.update(|tx| tx.bulk(|editor| editor.cursor(&[])?.add_children(100_000)));
    let full = (0..1_000).find_map(|_| fill().err()).expect("it is full at last");
    assert!(matches!(full, UpdateError::Closure(EditError::ArenaFull)), "{full}");
    let large = tree.snapshot();
    // Removing is done in a full arena, too.
    tree.restore(first, &CommitMeta::new()).unwrap();
    assert_eq!(tree.read().root().child_count(), 1);
    let refused = tree.restore(large.revision(), &CommitMeta::new());
    let Err(RevertError::NotWritten(NotWritten::NoRoom(why))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(why.source, EditError::ArenaFull);
}

#[test]
fn what_takes_too_many_steps_to_take_back_stays() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(journal).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    let (few, meta) = (tree.steps_max(100), CommitMeta::new());
    let good = tree.snapshot();
    let much = tree.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    put(&tree, "/0", "n", 1);
    let newest = tree.snapshot();
    let draft = || Draft::signed(&newest, CommitOptions::default(), 1, 7);
    for refused in [
        few.revert(much.revision, &meta).err(),
        few.compare_and_revert(&newest, much.revision, &meta).err(),
        few.revert_in(&mut draft(), much.revision).err(),
        few.restore(good.revision(), &meta).err(),
        few.compare_and_restore(&newest, good.revision(), &meta).err(),
        few.restore_in(&mut draft(), good.revision()).err(),
    ] {
        assert!(matches!(refused, Some(RevertError::TooManySteps(_))), "{refused:?}");
    }
    let refused = few.set_root(&good, &meta);
    assert!(matches!(refused, Err(SetRootError::TooManySteps(_))), "{refused:?}");
    let refused = few.undo(2, &meta);
    assert!(matches!(refused, Err(UndoError::TooManySteps(_))), "{refused:?}");
    assert!(tree.snapshot().is_same(&newest));
    // It is counted what differs, not what is there; and on each branch of this handle.
    few.revert(newest.revision(), &meta).unwrap();
    few.restore(much.revision, &meta).unwrap();
    tree.branch("draft", newest.revision()).unwrap();
    let [draft, others] = [&few, &tree].map(|tree| tree.on_branch("draft").unwrap());
    let much = others.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    assert!(matches!(draft.revert(much.revision, &meta), Err(RevertError::TooManySteps(_))));
    // Others have as many steps as it takes.
    tree.restore(good.revision(), &meta).unwrap();
    assert_eq!(tree.read().root().child_count(), 1);
}

#[test]
fn what_takes_too_many_steps_to_tell_is_not_committed() {
    let alone = Jungle::builder().journal(MemoryJournal::default()).build().unwrap();
    let (together, others) = (Jungle::new().unwrap(), Mutex::default());
    let log = Arc::new(Crowded { jungle: Mutex::new(Some(together.clone())), others });
    assert!(together.sequence_with(Arc::clone(&log) as Arc<dyn Sequencer>));
    for jungle in [alone, together] {
        let tree = tree_in(&jungle, "t", 1);
        let few = tree.steps_max(100);
        let before = jungle.revision();
        let append =
            |draft: &mut Draft, count| (0..count).try_for_each(|_| draft.append(&[]).map(drop));
        let refused = few.update(|tx| append(tx, 100));
        assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::TooManySteps(_)))));
        let options = CommitOptions::default();
        let refused = jungle.update(&options, |tx| append(tx.on(&few), 100));
        assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::TooManySteps(_)))));
        assert_eq!(jungle.revision(), before);
        // So few are noted one by one, and need not be compared.
        few.update(|tx| append(tx, 64)).unwrap();
        tree.update(|tx| append(tx, 100)).unwrap();
        assert_eq!(tree.read().root().child_count(), 165);
    }
    log.jungle.lock().unwrap().take();
}

/// A log to which others come first, as long as there is something of theirs.
struct Crowded {
    jungle: Mutex<Option<Jungle>>,
    others: Mutex<VecDeque<CommitRecord>>,
}

impl Sequencer for Crowded {
    fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
        let other = self.others.lock().unwrap().pop_front();
        let placed = if other.is_some() { 0 } else { records.len() };
        let jungle = self.jungle.lock().unwrap();
        let jungle = jungle.as_ref().expect("it has not ended");
        for record in other.iter().chain(&records[..placed]) {
            jungle.follow(record).expect("it is the next one");
        }
        Ok(placed)
    }
}

/// Does something to the tree of which these are the records, while others commit the last three
/// of them.
fn crowded<T>(records: &[CommitRecord], work: impl FnOnce(&TreeHandle) -> T) -> T {
    let (here, others) = records.split_at(records.len() - 3);
    let jungle = Jungle::new().unwrap();
    let log = Arc::new(Crowded {
        jungle: Mutex::new(Some(jungle.clone())),
        others: Mutex::new(others.iter().cloned().collect()),
    });
    assert!(jungle.sequence_with(Arc::clone(&log) as Arc<dyn Sequencer>));
    here.iter().try_for_each(|record| jungle.follow(record)).unwrap();
    let done = work(&jungle.open_tree("t").unwrap());
    log.jungle.lock().unwrap().take();
    done
}

#[test]
fn tries_of_one_step_back_share_what_it_may_take() {
    let log = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&log)).build().unwrap();
    let tree = tree_in(&jungle, "t", 1);
    let (good, meta) = (tree.snapshot().revision(), CommitMeta::new());
    (0..4).for_each(|n| put(&tree, "/0", "n", n));
    tree.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    (4..7).for_each(|n| put(&tree, "/0", "n", n));
    let records = log.records();
    let restore = |tree: &TreeHandle| tree.restore(good, &meta);
    // It goes past what was appended whoever comes first.
    let undo = |tree: &TreeHandle| tree.undo(4, &meta);
    // Each try takes some 300 steps, and there are four.
    let refused = crowded(&records, |tree| restore(&tree.steps_max(1_000)));
    assert!(matches!(refused, Err(RevertError::TooManySteps(_))), "{refused:?}");
    let refused = crowded(&records, |tree| undo(&tree.steps_max(1_000)));
    assert!(matches!(refused, Err(UndoError::TooManySteps(_))), "{refused:?}");
    crowded(&records, |tree| restore(&tree.steps_max(2_000))).unwrap();
    let undone = crowded(&records, |tree| undo(&tree.steps_max(2_000)));
    assert_eq!(undone.unwrap().value.len(), 4);
}

/// Notes what is compared, and when it is a disk that is waited for.
#[derive(Default)]
struct Noted(Mutex<Vec<&'static str>>);

impl Noted {
    fn note(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }
}

impl Comparing for Noted {
    fn begin(&self) {
        self.note("begin");
    }

    fn end(&self) {
        self.note("end");
    }
}

impl Journal for Noted {
    fn append(&self, _record: &CommitRecord) -> Result<(), JournalError> {
        Ok(())
    }

    fn wait(&self, _revision: Revision, _durability: Durability) -> Result<(), JournalError> {
        self.note("wait");
        Ok(())
    }
}

#[test]
fn disk_is_waited_for_when_all_is_compared() {
    let noted = Arc::new(Noted::default());
    let jungle = Jungle::builder().journal(Arc::clone(&noted)).build().unwrap();
    let (tree, meta) = (tree_in(&jungle, "t", 1), CommitMeta::new());
    let good = tree.snapshot();
    put(&tree, "/0", "n", 1);
    let put = tree.snapshot().revision();
    let told = tree.tell_comparing(Arc::clone(&noted) as Arc<dyn Comparing>);
    let check = |work: &dyn Fn()| {
        noted.0.lock().unwrap().clear();
        work();
        assert_eq!(*noted.0.lock().unwrap(), ["begin", "end", "wait"]);
    };
    check(&|| drop(told.revert(put, &meta).unwrap()));
    check(&|| drop(told.undo(1, &meta).unwrap()));
    check(&|| drop(told.restore(good.revision(), &meta).unwrap()));
    // Now there is nothing to change, and others may still wait for that.
    check(&|| drop(told.restore(good.revision(), &meta).unwrap()));
    check(&|| drop(told.set_root(&tree.snapshot(), &meta).unwrap()));
    check(&|| drop(told.set_root(&good, &meta).unwrap()));
    noted.0.lock().unwrap().clear();
    let refused = told.steps_max(0).restore(put, &meta);
    assert!(matches!(refused, Err(RevertError::TooManySteps(_))), "{refused:?}");
    assert_eq!(*noted.0.lock().unwrap(), ["begin", "end"]);
}

#[test]
fn what_is_undone_already_is_not_undone_again() {
    let (jungle, tree) = tree_of(1);
    put(&tree, "/0", "n", 1);
    let wrong = jungle.revision();
    tree.update(|tx| tx.remove_attribute(&path("/0"), "n")).unwrap();
    let newest = jungle.revision();
    let undone = tree.revert(wrong, &CommitMeta::new()).unwrap();
    assert_eq!((undone.revision, jungle.revision()), (newest, newest));
    assert_eq!(tree.history(..).next().unwrap().unwrap().revision, newest);
}

/// It was there a second time, behind all others or beside itself.
#[test]
fn what_is_back_at_its_position_does_not_come_back_again() {
    let (jungle, tree) = tree_of(3);
    let first = Position::new(0).unwrap();
    let between = tree.update(|tx| tx.insert_after(&[], &first)).unwrap().value;
    append(&tree, std::slice::from_ref(&between));
    for gone in [Key::from(1), between] {
        let gone = [gone];
        tree.update(|tx| tx.remove(&gone)).unwrap();
        let wrong = jungle.revision();
        tree.revert(wrong, &CommitMeta::new()).unwrap();
        let newest = tree.snapshot();
        let refused = tree.revert(wrong, &CommitMeta::new()).unwrap_err();
        let RevertError::Conflict(why) = refused else { panic!("{refused}") };
        assert_eq!(*why.reads()[0], Path::from(gone.clone()));
        assert!(tree.snapshot().is_same(&newest) && tree.read().root().child(&gone[0]).is_some());
    }
}

#[test]
fn of_many_who_take_the_same_back_at_once_one_does() {
    for _ in 0..50 {
        let (jungle, tree) = tree_of(2);
        tree.update(|tx| tx.remove(&[0.into()])).unwrap();
        let wrong = jungle.revision();
        let revert = || tree.revert(wrong, &CommitMeta::new()).is_ok();
        let done: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(revert)).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
        });
        assert_eq!((done, tree.read().root().child_count()), (1, 2));
    }
}

/// A fraction that may have been given to another one since is not given back, and that is told.
#[test]
fn what_comes_back_under_another_key_is_told() {
    let (jungle, tree) = tree_of(2);
    let first = Position::new(0).unwrap();
    let insert = || [tree.update(|tx| tx.insert_after(&[], &first)).unwrap().value];
    let [one, other] = [insert(), insert()];
    tree.update(|tx| tx.remove(&one)).unwrap();
    let wrong = jungle.revision();
    tree.update(|tx| tx.remove(&other)).unwrap();
    let renamed = tree.revert(wrong, &CommitMeta::new()).unwrap().renamed;
    let [(was, is)] = &renamed[..] else { panic!("{renamed:?}") };
    assert_eq!(*was, Path::from(one));
    assert!(was != is && tree.read().root().at(is).is_ok());
}

#[test]
fn what_is_not_kept_is_refused_by_name() {
    let (jungle, tree) = tree_of(0);
    (0..100).for_each(|_| drop(append(&tree, &[])));
    let newest = jungle.revision();
    tree.set_retention(Retention::Last(10)).unwrap();
    let oldest = revision(newest.number() - 9);
    let error = tree.at(revision(newest.number() - 10)).unwrap_err();
    assert_eq!(error, NoSuchRevision::TooOld { oldest });
    assert_eq!(tree.at(oldest).unwrap().root().child_count(), 91);
    assert_eq!(tree.history(..).count(), 10);
    let held = tree.at(oldest).unwrap();
    (0..1000).for_each(|_| drop(append(&tree, &[])));
    assert!(matches!(tree.at(oldest), Err(NoSuchRevision::TooOld { .. })));
    assert_eq!(held.root().child_count(), 91);
    assert!(held.root().at(&path("/90")).is_ok());
    assert_eq!(tree.history(..).count(), 10);
}

#[test]
fn the_rule_that_there_is_already_is_no_commit() {
    let clock = SharedClock::default();
    let journal = std::sync::Arc::new(MemoryJournal::default());
    let builder = Jungle::builder().clock(clock.clone()).journal(journal.clone());
    let jungle = builder.build().unwrap();
    let tree = tree_in(&jungle, "t", 0);
    let by_age = Retention::ByAge(std::time::Duration::from_micros(100));
    for (rule, records) in [(Retention::All, 1), (by_age, 2), (Retention::Last(9), 3)] {
        for _ in 0..2 {
            tree.set_retention(rule).unwrap();
            assert_eq!((tree.retention(), journal.records().len()), (rule, records));
        }
    }
    // It is applied all the same.
    tree.set_retention(by_age).unwrap();
    (0..5).for_each(|_| drop(append(&tree, &[])));
    clock.0.set(5000);
    assert_eq!(tree.history(..).count(), 6);
    tree.set_retention(by_age).unwrap();
    assert_eq!((tree.history(..).count(), journal.records().len()), (1, 9));
}

#[test]
fn by_age_keeps_what_was_newest_at_the_limit() {
    let clock = SharedClock::default();
    let age = std::time::Duration::from_micros(100);
    let builder = Jungle::builder().clock(clock.clone()).retention(Retention::ByAge(age));
    let jungle = builder.build().unwrap();
    let tree = tree_in(&jungle, "t", 0);
    for time in (10..=1000).step_by(10) {
        clock.0.set(time);
        append(&tree, &[]);
    }
    assert_eq!(tree.history(..).count(), 11);
    assert_eq!(tree.at_time(Timestamp::from_micros(905)).unwrap().root().child_count(), 90);
    clock.0.set(5000);
    tree.apply_retention().unwrap();
    assert_eq!(tree.history(..).count(), 1);
    assert_eq!(tree.snapshot().root().child_count(), 100);
}

#[test]
fn a_clock_that_was_set_back_keeps_nothing_that_the_next_commit_would_drop() {
    let clock = SharedClock::default();
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    let tree = tree_in(&jungle, "t", 0);
    for time in [100, 200, 300] {
        clock.0.set(time);
        append(&tree, &[]);
    }
    clock.0.set(250);
    tree.set_retention(Retention::ByAge(std::time::Duration::from_micros(100))).unwrap();
    assert_eq!(tree.history(..).count(), 2);
    append(&tree, &[]);
    assert_eq!(tree.history(..).count(), 3);
}

#[test]
fn of_a_log_that_others_follow_nothing_is_dropped_between_commits() {
    let clock = SharedClock::default();
    let by_age = Retention::ByAge(std::time::Duration::from_micros(100));
    let jungle = Jungle::builder().clock(clock.clone()).retention(by_age).build().unwrap();
    let jungle_of_log = Mutex::new(Some(jungle.clone()));
    let log = Arc::new(Crowded { jungle: jungle_of_log, others: Mutex::default() });
    assert!(jungle.sequence_with(Arc::clone(&log) as Arc<dyn Sequencer>));
    let tree = tree_in(&jungle, "t", 2);
    clock.0.set(5000);
    tree.apply_retention().unwrap();
    jungle.apply_retention().unwrap();
    // Somebody else may make a branch of the first one still, whose clock is another.
    assert_eq!(tree.history(..).count(), 2);
    append(&tree, &[]);
    assert_eq!(tree.history(..).count(), 2);
    log.jungle.lock().unwrap().take();
}

#[test]
fn what_is_dropped_in_slices_is_dropped_as_a_whole() {
    let clock = SharedClock::default();
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    let by_age = Retention::ByAge(std::time::Duration::from_micros(2));
    for (retention, from) in [(Retention::Last(3), 1), (by_age, 10_001)] {
        let tree = jungle.create_tree(&format!("{retention:?}")).unwrap();
        for time in (from..).take(10_000) {
            clock.0.set(time);
            append(&tree, &[]);
        }
        tree.set_retention(retention).unwrap();
        assert_eq!(tree.history(..).count(), 3);
        assert_eq!(tree.snapshot().root().child_count(), 10_000);
    }
}
