//! Transactions over several trees, and snapshots of all.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use jungle_db::{
    CommitError, CommitOptions, Jungle, JungleSnapshot, JungleTransaction, NoSuchRevision,
    NotWritten, Retention, Revision, TreeHandle, UpdateError,
};
use jungle_tree::{Arena, EditError, Editor, Key, MergeOptions, Tree};

use crate::support::{int, path, put, tree_in, tree_of};

fn bank() -> Jungle {
    let jungle = Jungle::new().unwrap();
    for name in ["a", "b", "c"] {
        put(&tree_in(&jungle, name, 1), "/0", "money", 100);
    }
    jungle
}

fn transfer(tx: &mut JungleTransaction, from: &str, to: &str, sum: i64) -> Result<(), EditError> {
    let account = path("/0");
    for (name, sum) in [(from, -sum), (to, sum)] {
        let tree = tx.tree(name).unwrap();
        let money = tree.attribute(&account, "money").unwrap().unwrap().as_int().unwrap();
        tree.put_attribute(&account, "money", money + sum)?;
    }
    Ok(())
}

#[test]
fn trees_are_committed_together_under_one_revision() {
    let jungle = bank();
    let mut tx = jungle.begin(CommitOptions::default());
    transfer(&mut tx, "a", "b", 30).unwrap();
    assert_eq!(*tx.tree("nowhere").unwrap_err().name, *"nowhere");
    let revision = tx.commit().unwrap().revision;
    let shot = jungle.snapshot();
    assert_eq!(shot.revision(), revision);
    let told: Vec<_> = shot.iter().map(|(name, s)| (name, s.revision() == revision)).collect();
    assert_eq!(told, [("a", true), ("b", true), ("c", false)]);
    assert_eq!(int(&jungle.open_tree("a").unwrap(), "/0", "money"), Some(70));
}

#[test]
fn what_was_only_read_in_another_tree_counts() {
    let jungle = bank();
    let mut tx = jungle.begin(CommitOptions::default());
    assert!(tx.tree("c").unwrap().attribute(&path("/0"), "money").is_ok());
    tx.tree("a").unwrap().put_attribute(&path("/0"), "money", 0).unwrap();
    put(&jungle.open_tree("c").unwrap(), "/0", "money", 1);
    let Err(CommitError::Conflict(conflicts)) = tx.commit() else { panic!("it should not commit") };
    assert_eq!(conflicts.reads(), [&path("/0")]);
    assert_eq!(int(&jungle.open_tree("a").unwrap(), "/0", "money"), Some(100));
}

#[test]
fn an_unrelated_commit_is_built_upon() {
    let jungle = bank();
    let mut tx = jungle.begin(CommitOptions::default());
    transfer(&mut tx, "a", "b", 30).unwrap();
    put(&jungle.open_tree("a").unwrap(), "/0", "other", 1);
    tx.commit().unwrap();
    let a = jungle.open_tree("a").unwrap();
    assert_eq!((int(&a, "/0", "money"), int(&a, "/0", "other")), (Some(70), Some(1)));
}

#[test]
fn a_snapshot_of_all_never_sees_half_a_commit() {
    let jungle = bank();
    let done = AtomicBool::new(false);
    let total = |shot: &JungleSnapshot| -> i64 {
        let money = shot.iter().map(|(_, s)| {
            s.root().child(&Key::from(0)).unwrap().attribute("money").unwrap().as_int().unwrap()
        });
        money.sum()
    };
    thread::scope(|scope| {
        let writers: Vec<_> = [("a", "b"), ("b", "c"), ("c", "a")]
            .map(|(from, to)| {
                let jungle = &jungle;
                scope.spawn(move || {
                    for _ in 0..200 {
                        let options = CommitOptions::default();
                        jungle.update(&options, |tx| transfer(tx, from, to, 1)).unwrap();
                    }
                })
            })
            .into();
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !done.load(Ordering::SeqCst) || looks == 0 {
                assert_eq!(total(&jungle.snapshot()), 300);
                assert_eq!(total(&jungle.at(jungle.revision()).unwrap()), 300);
                looks += 1;
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
    assert_eq!(total(&jungle.snapshot()), 300);
    for name in ["a", "b", "c"] {
        assert_eq!(int(&jungle.open_tree(name).unwrap(), "/0", "money"), Some(100));
    }
}

#[test]
fn all_trees_are_seen_as_they_were() {
    let jungle = bank();
    let before = jungle.snapshot();
    let moved = jungle.update(&CommitOptions::default(), |tx| transfer(tx, "a", "b", 30)).unwrap();
    put(&tree_in(&jungle, "d", 1), "/0", "money", 1);
    jungle.delete_tree("c").unwrap();
    jungle.rename_tree("b", "e").unwrap();
    let seen = |revision| {
        let then = jungle.at(revision)?;
        let trees = then.iter().map(|(name, tree)| (name.to_owned(), tree.revision()));
        Ok::<Vec<_>, NoSuchRevision>(trees.collect())
    };
    let of = |name| before.tree(name).unwrap().revision();
    assert_eq!(seen(before.revision()).unwrap(), [("a".into(), of("a")), ("e".into(), of("b"))]);
    let moved = moved.revision;
    assert_eq!(seen(moved).unwrap(), [("a".into(), moved), ("e".into(), moved)]);
    let next = Revision::new(jungle.revision().number() + 1);
    assert!(matches!(seen(next), Err(NoSuchRevision::NotYet { .. })));

    jungle.open_tree("a").unwrap().set_retention(Retention::Last(1)).unwrap();
    put(&jungle.open_tree("a").unwrap(), "/0", "money", 2);
    jungle.open_tree("a").unwrap().apply_retention().unwrap();
    assert!(matches!(seen(moved), Err(NoSuchRevision::TooOld { .. })));
    assert!(seen(jungle.revision()).is_ok());
}

/// What an account has, as a transaction sees it.
fn money_in(tx: &mut JungleTransaction, branch: &TreeHandle) -> i64 {
    let money = tx.on(branch).attribute(&path("/0"), "money").unwrap();
    money.unwrap().as_int().unwrap()
}

fn transfer_at_once(jungle: &Jungle, from: &TreeHandle, to: &TreeHandle, sum: i64) {
    let done = jungle.update(&CommitOptions::default(), |tx| {
        for (branch, sum) in [(from, -sum), (to, sum)] {
            let money = money_in(tx, branch);
            tx.on(branch).put_attribute(&path("/0"), "money", money + sum)?;
        }
        Ok::<_, EditError>(())
    });
    done.unwrap();
}

#[test]
fn branches_that_are_looked_at_one_after_the_other_are_of_one_revision() {
    let jungle = bank();
    let [a, b] = ["a", "b"].map(|name| jungle.open_tree(name).unwrap());
    let [x, y] = [&a, &b].map(|tree| tree.branch("side", tree.snapshot().revision()).unwrap());
    for [from, to] in [[&a, &b], [&x, &y], [&a, &y], [&x, &b]] {
        let mut tx = jungle.begin(CommitOptions::default());
        let had = money_in(&mut tx, from);
        transfer_at_once(&jungle, from, to, 30);
        assert_eq!(had + money_in(&mut tx, to), 200, "half of a commit was seen");
        tx.commit().unwrap();
        transfer_at_once(&jungle, to, from, 30);
    }
}

#[test]
fn revision_of_a_branch_is_that_of_the_version_that_is_seen() {
    let jungle = bank();
    let [a, b] = ["a", "b"].map(|name| jungle.open_tree(name).unwrap());
    let side = b.branch("side", b.snapshot().revision()).unwrap();
    put(&side, "/0", "money", 50);
    let branches = [&a, &b, &side];
    let before = branches.map(|branch| branch.snapshot().revision());
    let mut tx = jungle.begin(CommitOptions::default());
    branches.iter().for_each(|branch| put(branch, "/0", "money", 1));
    assert_eq!(branches.map(|branch| tx.revision_of(branch)), before);
    assert_eq!(branches.map(|branch| money_in(&mut tx, branch)), [100, 100, 50]);
    assert!(branches.iter().all(|branch| branch.snapshot().revision() > tx.began_at()));
}

#[test]
fn what_was_read_beside_a_younger_branch_is_looked_at_again() {
    let jungle = bank();
    let [a, b] = ["a", "b"].map(|name| jungle.open_tree(name).unwrap());
    let read_both = |name: &str, is_changed: bool| {
        let mut tx = jungle.begin(CommitOptions::default());
        money_in(&mut tx, &a);
        if is_changed {
            transfer_at_once(&jungle, &a, &b, 30);
        }
        let side = b.branch(name, b.snapshot().revision()).unwrap();
        assert_eq!(money_in(&mut tx, &side), int(&b, "/0", "money").unwrap());
        tx.commit()
    };
    read_both("one", false).unwrap();
    let Err(CommitError::Conflict(conflicts)) = read_both("other", true) else {
        panic!("what was read was never there at once")
    };
    assert_eq!(conflicts.reads(), [&path("/0")]);
}

#[test]
fn what_was_read_beside_a_branch_that_has_dropped_its_version_is_looked_at_again() {
    let jungle = bank();
    let [a, b] = ["a", "b"].map(|name| jungle.open_tree(name).unwrap());
    let side = b.branch("side", b.snapshot().revision()).unwrap();
    side.set_retention(Retention::Last(1)).unwrap();
    put(&side, "/0", "money", 50);
    let read_both = |is_changed: bool| {
        let mut tx = jungle.begin(CommitOptions::default());
        money_in(&mut tx, &a);
        if is_changed {
            transfer_at_once(&jungle, &a, &side, 30);
        }
        put(&side, "/0", "money", 60);
        side.apply_retention().unwrap();
        assert!(matches!(side.at(tx.began_at()), Err(NoSuchRevision::TooOld { .. })));
        assert_eq!(money_in(&mut tx, &side), 60);
        tx.commit()
    };
    read_both(false).unwrap();
    let Err(CommitError::Conflict(conflicts)) = read_both(true) else {
        panic!("what was read was never there at once")
    };
    assert_eq!(conflicts.reads(), [&path("/0")]);
}

#[test]
fn a_tree_made_later_is_not_in_the_transaction() {
    let (jungle, _tree) = tree_of(0);
    let mut tx = jungle.begin(CommitOptions::default());
    jungle.create_tree("late").unwrap();
    assert_eq!(*tx.tree("late").unwrap_err().name, *"late");
    assert!(tx.tree("t").is_ok());
}

#[test]
fn a_branch_of_another_jungle_is_read_as_it_is_and_refused() {
    // In both, the trees have the same numbers.
    let (jungle, other) = (bank(), bank());
    let (here, there) = (jungle.open_tree("a").unwrap(), other.open_tree("a").unwrap());
    assert_eq!(here.branch_id(), there.branch_id());
    put(&there, "/0", "money", 7);
    let refused = jungle.update(&CommitOptions::default(), |tx| {
        tx.on(&here).put_attribute(&path("/0"), "money", 1)?;
        let money = tx.on(&there).attribute(&path("/0"), "money")?;
        assert_eq!(money.unwrap().as_int(), Some(7));
        tx.on(&there).put_attribute(&path("/0"), "money", 2)?;
        let money = tx.on(&there).attribute(&path("/0"), "money")?;
        assert_eq!(money.unwrap().as_int(), Some(2));
        Ok::<_, EditError>(())
    });
    assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::OtherJungle))));
    assert_eq!((int(&here, "/0", "money"), int(&there, "/0", "money")), (Some(100), Some(7)));
}

#[test]
fn what_was_exchanged_for_something_else_is_refused() {
    let (jungle, other) = (bank(), bank());
    let (here, there) = (jungle.open_tree("a").unwrap(), other.open_tree("a").unwrap());
    let old = (*here.snapshot()).clone();
    put(&here, "/0", "money", 50);
    let check = |refused: Option<UpdateError<EditError>>| {
        let refused = refused.expect("it is refused");
        assert!(matches!(refused, UpdateError::NotWritten(NotWritten::OtherJungle)), "{refused}");
    };
    let options = CommitOptions::default();
    let side = here.branch("side", here.snapshot().revision()).unwrap();
    side.update(|tx| tx.append(&[])).unwrap();
    let foreign = Tree::new(&Arena::new().unwrap()).snapshot();
    let beside = (*jungle.open_tree("b").unwrap().snapshot()).clone();
    // What is of this Jungle can be compared, and would be tried for ever.
    for other in [foreign, old, beside] {
        let exchange = |editor: &mut Editor| {
            *editor = Editor::new(other.clone());
            editor.put_attribute(&[], "n", 1)
        };
        check(here.update(|tx| tx.bulk(exchange)).err());
        check(jungle.update(&options, |tx| tx.on(&here).bulk(exchange)).err());
        check(here.merge("side", &MergeOptions::new()).unwrap().edit(exchange).err());
    }

    let (mut ours, mut theirs) = (jungle.begin(options.clone()), other.begin(options));
    theirs.on(&there).put_attribute(&[], "n", 1).unwrap();
    mem::swap(ours.on(&here), theirs.on(&there));
    let refused = ours.commit().unwrap_err();
    assert!(matches!(refused, CommitError::NotWritten(NotWritten::OtherJungle)), "{refused}");
    put(&here, "/0", "money", 1);
    assert_eq!(int(&here, "/", "n"), None);
}

#[test]
fn a_tree_that_got_the_name_of_another_meanwhile_is_not_taken_for_it() {
    let jungle = bank();
    let (a, b) = (jungle.open_tree("a").unwrap(), jungle.open_tree("b").unwrap());
    put(&b, "/0", "money", 5);
    let mut tx = jungle.begin(CommitOptions::default());
    jungle.rename_tree("a", "before").unwrap();
    jungle.rename_tree("b", "a").unwrap();
    for (tree, money) in [(&a, 100), (&b, 5)] {
        let read = tx.on(tree).attribute(&path("/0"), "money").unwrap();
        assert_eq!(read.unwrap().as_int(), Some(money));
    }
}
