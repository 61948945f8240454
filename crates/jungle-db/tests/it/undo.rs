//! Undo and redo, against a model of what an editor does: a list of what was before, and one of
//! what was undone.

use std::collections::BTreeMap;
use std::thread;

use jungle_db::{
    CommitMeta, CommitOptions, Jungle, NotWritten, RequestId, Retention, TreeHandle, UndoError,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::MergeOptions;

use crate::support::{append, int, put, tree_of};

type Content = BTreeMap<String, i64>;

/// What an editor has in mind.
#[derive(Default)]
struct Line {
    past: Vec<Content>,
    now: Content,
    future: Vec<Content>,
}

impl Line {
    fn put(&mut self, new: Content) {
        if new != self.now {
            self.past.push(std::mem::replace(&mut self.now, new));
            self.future.clear();
        }
    }

    fn undo(&mut self, steps: usize) {
        for _ in 0..steps {
            let before = self.past.pop().unwrap();
            self.future.push(std::mem::replace(&mut self.now, before));
        }
    }

    fn redo(&mut self, steps: usize) {
        for _ in 0..steps {
            let after = self.future.pop().unwrap();
            self.past.push(std::mem::replace(&mut self.now, after));
        }
    }
}

fn content(tree: &TreeHandle) -> Content {
    let reading = tree.read();
    let attributes = reading.root().attributes();
    attributes.map(|(key, value)| (key.to_owned(), value.as_int().unwrap())).collect()
}

fn undo(tree: &TreeHandle, steps: usize) -> Result<usize, UndoError> {
    tree.undo(steps, &CommitMeta::new()).map(|done| done.value.len())
}

fn redo(tree: &TreeHandle, steps: usize) -> Result<usize, UndoError> {
    tree.redo(steps, &CommitMeta::new()).map(|done| done.value.len())
}

/// Somebody puts or removes something, and says something about it that is none of our business.
fn edit(rng: &mut Rng, tree: &TreeHandle, line: &mut Line) {
    let mut new = line.now.clone();
    let key = *rng.pick(&["a", "b", "c"]);
    match rng.below(4) {
        0 => drop(new.remove(key)),
        value => drop(new.insert(key.to_owned(), value as i64)),
    }
    let newest = tree.snapshot().revision().number();
    let mut meta = CommitMeta::new().message(&format!("undo of revision {newest}"));
    if rng.chance(1, 3) {
        meta = meta.asked_by(RequestId { key: rng.next_u64(), fingerprint: rng.next_u64() });
    }
    let to = new.get(key).copied();
    tree.update_with(&CommitOptions::from(&meta), |tx| match to {
        Some(value) => tx.put_attribute(&[], key, value),
        None => tx.remove_attribute(&[], key).map(drop),
    })
    .unwrap();
    line.put(new);
}

/// One random step; tells whether what it wanted was not kept.
fn step(rng: &mut Rng, tree: &TreeHandle, line: &mut Line) -> bool {
    let steps = 1 + rng.index(3);
    match rng.below(5) {
        0 | 1 => edit(rng, tree, line),
        2 | 3 => match undo(tree, steps) {
            Ok(done) => {
                assert_eq!(done, steps);
                line.undo(steps);
            }
            Err(UndoError::NotKept { .. }) => return true,
            Err(UndoError::NothingToUndo { possible }) => assert_eq!(possible, line.past.len()),
            Err(error) => panic!("{error}"),
        },
        _ => match redo(tree, steps) {
            Ok(done) => {
                assert_eq!(done, steps);
                line.redo(steps);
            }
            Err(UndoError::NotKept { .. }) => return true,
            Err(UndoError::NothingToRedo { possible }) => assert_eq!(possible, line.future.len()),
            Err(error) => panic!("{error}"),
        },
    }
    assert_eq!(content(tree), line.now);
    false
}

#[test]
fn steps_go_as_in_an_editor() {
    for_each_seed(40, |rng| {
        let (_jungle, main) = tree_of(0);
        let mut branches = vec![(main.clone(), Line::default())];
        for round in 0..120 {
            if round % 40 == 20 {
                // It begins anew: what its origin did before is not its own to undo.
                let at = main.snapshot().revision();
                let line = Line { now: content(&main), ..Line::default() };
                branches.push((main.branch(&format!("b{round}"), at).unwrap(), line));
            }
            let at = rng.index(branches.len());
            let (tree, line) = &mut branches[at];
            assert!(!step(rng, tree, line), "all is kept");
        }
        for (tree, line) in &branches {
            assert_eq!(content(tree), line.now);
        }
    });
}

#[test]
fn what_is_not_kept_is_never_something_else() {
    let mut refused = 0;
    for_each_seed(40, |rng| {
        let jungle =
            Jungle::builder().retention(Retention::Last(1 + rng.index(8))).build().unwrap();
        let tree = jungle.create_tree("t").unwrap();
        let mut line = Line::default();
        for _ in 0..120 {
            refused += usize::from(step(rng, &tree, &mut line));
        }
    });
    assert!(refused > 0 || std::env::var_os("JUNGLE_SEED").is_some());
}

#[test]
fn what_is_not_kept_any_more_is_said() {
    let (_jungle, tree) = tree_of(0);
    (1..=5).for_each(|n| put(&tree, "/", "n", n));
    tree.set_retention(Retention::Last(2)).unwrap();
    assert_eq!(undo(&tree, 1).unwrap(), 1);
    assert_eq!(int(&tree, "/", "n"), Some(4));
    let oldest = tree.history(..).next_back().unwrap().unwrap().revision;
    let refused = undo(&tree, 1).unwrap_err();
    assert!(matches!(refused, UndoError::NotKept { oldest: told } if told == oldest), "{refused}");
    assert_eq!(int(&tree, "/", "n"), Some(4));
}

#[test]
fn nothing_to_undo_or_redo_is_said() {
    let (_jungle, tree) = tree_of(0);
    let refused = undo(&tree, 1).unwrap_err();
    assert_eq!(refused.to_string(), "there is nothing to undo");
    assert_eq!(redo(&tree, 1).unwrap_err().to_string(), "there is nothing to redo");
    put(&tree, "/", "n", 1);
    let before = tree.snapshot();
    assert_eq!(undo(&tree, 3).unwrap_err().to_string(), "no more than 1 can be undone");
    assert_eq!((undo(&tree, 0).unwrap(), redo(&tree, 0).unwrap()), (0, 0));
    assert!(tree.snapshot().is_same(&before));
}

/// The history tells of each step as of any other commit.
#[test]
fn steps_are_told_by_the_history() {
    let (_jungle, tree) = tree_of(0);
    (1..=3).for_each(|n| put(&tree, "/", "n", n));
    let ana = CommitMeta::new().author("ana");
    tree.undo(1, &ana).unwrap();
    tree.undo(2, &ana).unwrap();
    tree.redo(3, &ana.clone().message("all of it")).unwrap();
    tree.undo(1, &ana).unwrap();
    tree.redo(1, &ana).unwrap();
    let told: Vec<String> = tree
        .history(..)
        .take(5)
        .map(|info| info.unwrap().meta.message_text().unwrap().to_owned())
        .collect();
    let expected = [
        "redo of revision 4",
        "undo of revision 4",
        "all of it",
        "undo of 2 revisions, 3 to 2",
        "undo of revision 4",
    ];
    assert_eq!(told, expected);
}

/// A commit of a merge may change nothing, and is undone as any other.
#[test]
fn what_changed_nothing_is_undone_as_well() {
    let (_jungle, tree) = tree_of(0);
    put(&tree, "/", "n", 1);
    let draft = tree.branch("draft", tree.snapshot().revision()).unwrap();
    for branch in [&draft, &tree] {
        put(branch, "/", "n", 2);
    }
    let merge = tree.merge("draft", &MergeOptions::new()).unwrap();
    let merged = merge.commit(&CommitMeta::new()).unwrap().revision;
    let undone = tree.undo(1, &CommitMeta::new()).unwrap();
    assert_eq!((undone.value, undone.revision > merged), (vec![merged], true));
    assert_eq!(int(&tree, "/", "n"), Some(2));
    undo(&tree, 1).unwrap();
    assert_eq!(int(&tree, "/", "n"), Some(1));
    assert_eq!(redo(&tree, 2).unwrap(), 2);
    assert_eq!(int(&tree, "/", "n"), Some(2));
}

#[test]
fn each_of_many_at_once_undoes_another() {
    let (_jungle, tree) = tree_of(0);
    (1..=40).for_each(|n| put(&tree, "/", "n", n));
    let ten = || -> Vec<u64> {
        let undone = (0..10).flat_map(|_| tree.undo(1, &CommitMeta::new()).unwrap().value);
        undone.map(|revision| revision.number()).collect()
    };
    let mut undone: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(ten)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    undone.sort_unstable();
    // The first was made with the tree.
    assert_eq!(undone, (12..=41).collect::<Vec<u64>>());
    assert_eq!(int(&tree, "/", "n"), Some(10));
    assert_eq!(redo(&tree, 30).unwrap(), 30);
    assert_eq!(int(&tree, "/", "n"), Some(40));
}

/// Edits of others on top of what was undone are theirs: it goes back to what was before them.
#[test]
fn a_commit_of_others_ends_what_can_be_redone() {
    let (_jungle, tree) = tree_of(0);
    (1..=3).for_each(|n| put(&tree, "/", "n", n));
    undo(&tree, 2).unwrap();
    append(&tree, &[]);
    assert!(matches!(redo(&tree, 1), Err(UndoError::NothingToRedo { possible: 0 })));
    undo(&tree, 1).unwrap();
    assert_eq!((tree.read().root().child_count(), int(&tree, "/", "n")), (0, Some(1)));
    // Only that is ahead, and the position that it had is not given again.
    assert!(matches!(redo(&tree, 2), Err(UndoError::NothingToRedo { possible: 1 })));
    redo(&tree, 1).unwrap();
    assert_eq!(tree.read().root().child_count(), 1);
    undo(&tree, 1).unwrap();
    let key = tree.update(|tx| tx.append(&[])).unwrap().value;
    assert_eq!(key, 1.into());
}

#[test]
fn a_deleted_branch_is_not_undone() {
    let (_jungle, tree) = tree_of(0);
    let draft = tree.branch("draft", tree.snapshot().revision()).unwrap();
    append(&draft, &[]);
    tree.delete_branch("draft").unwrap();
    let refused = undo(&draft, 1);
    assert!(matches!(refused, Err(UndoError::NotWritten(NotWritten::Deleted))), "{refused:?}");
}
