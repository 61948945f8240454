//! Transfers and counters: nothing is lost, nothing is seen in part.

use std::collections::{BTreeMap, BTreeSet};

use jungle_db::{CommitError, CommitOptions, Draft, Jungle, Revision, TreeHandle};
use jungle_testkit::Rng;
use jungle_tree::{EditError, Key};
use shuttle::sync::Mutex;
use shuttle::thread;

use super::world::{World, at, n, read, sum};

const ACCOUNTS: usize = 3;
const BEGIN: i64 = 100;
const TREES: [&str; 3] = ["a", "b", "c"];

/// What was committed: from which account to which, how much.
type Ledger = Mutex<BTreeMap<Revision, (usize, usize, i64)>>;

fn note(ledger: &Ledger, revision: Revision, transfer: (usize, usize, i64)) {
    let twice = ledger.lock().expect("nothing panics there").insert(revision, transfer);
    assert!(twice.is_none(), "revision {revision} was given twice");
}

/// What each account must hold in the end.
fn settled(ledger: Ledger) -> [i64; ACCOUNTS] {
    let mut balances = [BEGIN; ACCOUNTS];
    for (from, to, by) in ledger.into_inner().expect("nothing panicked there").into_values() {
        balances[from] -= by;
        balances[to] += by;
    }
    balances
}

fn some_transfer(rng: &mut Rng) -> (usize, usize, i64) {
    let from = rng.index(ACCOUNTS);
    let to = (from + 1 + rng.index(ACCOUNTS - 1)) % ACCOUNTS;
    (from, to, 1 + rng.below(9) as i64)
}

fn transfer(tx: &mut Draft, (from, to, by): (usize, usize, i64)) -> Result<(), EditError> {
    for (account, by) in [(from, -by), (to, by)] {
        let balance = read(tx, &at(account));
        thread::yield_now();
        tx.put_attribute(&at(account), "n", balance + by)?;
    }
    Ok(())
}

/// Threads transfer within one tree, in updates and in transactions that may fail; others look.
pub fn in_one_tree(rng: &mut Rng) {
    let world = World::new(rng);
    let tree = world.tree("bank", ACCOUNTS as u64, BEGIN);
    let ledger = Ledger::default();
    let workers: Vec<Rng> = (0..rng.range(2..4)).map(|_| rng.fork()).collect();
    thread::scope(|scope| {
        for mut rng in workers {
            let (tree, ledger) = (&tree, &ledger);
            scope.spawn(move || (0..2).for_each(|_| work(&mut rng, tree, ledger)));
        }
        scope.spawn(|| {
            for _ in 0..3 {
                assert_eq!(sum(tree.read().root()), BEGIN * ACCOUNTS as i64);
                let snapshot = tree.snapshot();
                thread::yield_now();
                assert_eq!(sum(snapshot.root()), BEGIN * ACCOUNTS as i64);
                if let Ok(again) = tree.at(snapshot.revision()) {
                    assert_eq!(again.version(), snapshot.version(), "it is of this revision");
                }
            }
        });
    });
    let balances = settled(ledger);
    let snapshot = tree.snapshot();
    assert!(snapshot.root().children().map(|(_, account)| n(account)).eq(balances));
    world.end();
}

fn work(rng: &mut Rng, tree: &TreeHandle, ledger: &Ledger) {
    let this = some_transfer(rng);
    if rng.chance(2, 3) {
        let done = tree.update(|tx| transfer(tx, this)).expect("nothing else stands in the way");
        return note(ledger, done.revision, this);
    }
    let mut tx = tree.begin(CommitOptions::default());
    transfer(&mut tx, this).expect("there is room");
    match tx.commit() {
        Ok(done) => note(ledger, done.revision, this),
        Err(CommitError::Conflict(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Threads transfer between trees, and within one; others look at all of them.
pub fn between_trees(rng: &mut Rng) {
    let world = World::new(rng);
    let trees = TREES.map(|name| world.tree(name, 1, BEGIN));
    let ledger = Ledger::default();
    let workers: Vec<Rng> = (0..2).map(|_| rng.fork()).collect();
    thread::scope(|scope| {
        for mut rng in workers {
            let (jungle, ledger) = (&world.jungle, &ledger);
            scope.spawn(move || (0..2).for_each(|_| work_between(&mut rng, jungle, ledger)));
        }
        scope.spawn(|| look_at_all(&world.jungle));
        // Commits of one tree, in other places of it, that come between.
        scope.spawn(|| {
            let mark = |tx: &mut Draft| tx.put_attribute(&[], "mark", 1);
            trees[0].update(mark).expect("there is room");
        });
    });
    let balances = settled(ledger);
    assert_eq!(balances, trees.map(|tree| sum(tree.read().root())));
    world.end();
}

fn work_between(rng: &mut Rng, jungle: &Jungle, ledger: &Ledger) {
    let (from, to, by) = some_transfer(rng);
    let done = jungle.update(&CommitOptions::default(), |tx| {
        for (tree, by) in [(from, -by), (to, by)] {
            let draft = tx.tree(TREES[tree]).expect("it is there");
            let balance = read(draft, &at(0));
            thread::yield_now();
            draft.put_attribute(&at(0), "n", balance + by)?;
        }
        Ok::<_, EditError>(())
    });
    note(ledger, done.expect("there is room").revision, (from, to, by));
}

fn look_at_all(jungle: &Jungle) {
    let mut seen = Revision::default();
    for _ in 0..2 {
        let snapshot = jungle.snapshot();
        let total: i64 = snapshot.iter().map(|(_, tree)| sum(tree.root())).sum();
        assert_eq!(total, BEGIN * TREES.len() as i64, "all trees at {}", snapshot.revision());
        assert!(snapshot.revision() >= seen, "time runs forward");
        assert!(snapshot.iter().all(|(_, tree)| tree.revision() <= snapshot.revision()));
        seen = snapshot.revision();
    }
}

/// Threads count in one place and each in a place of its own, and append.
pub fn counted(rng: &mut Rng) {
    const TIMES: i64 = 2;
    let world = World::new(rng);
    let threads = rng.range(2..4) as usize;
    let tree = world.tree("t", threads as u64, 0);
    let put = |tx: &mut Draft| tx.put_attribute(&[], "n", 0);
    tree.update(put).expect("there is room");
    let keys = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for own in 0..threads {
            let (tree, keys) = (&tree, &keys);
            scope.spawn(move || {
                for _ in 0..TIMES {
                    let done = tree.update(|tx| add_one(tx, &at(own)));
                    assert_eq!(done.expect("there is room").runs, 1, "nobody else is there");
                    tree.update(|tx| add_one(tx, &[])).expect("there is room");
                    let key = append(tree, own as i64);
                    assert!(keys.lock().expect("nobody panics").insert(key), "a key twice");
                }
            });
        }
    });
    let snapshot = tree.snapshot();
    assert_eq!(n(snapshot.root()), TIMES * threads as i64);
    for own in 0..threads {
        assert_eq!(n(snapshot.root().at(&at(own)).expect("there")), TIMES);
    }
    let children = snapshot.root().child_count();
    assert_eq!(children, (threads + TIMES as usize * threads) as u64);
    world.end();
}

fn add_one(tx: &mut Draft, path: &[Key]) -> Result<(), EditError> {
    let count = read(tx, path);
    thread::yield_now();
    tx.put_attribute(path, "n", count + 1)
}

/// Appends a child with a mark, and finds it under the key that it got in the end.
fn append(tree: &TreeHandle, mark: i64) -> Key {
    let done = tree.update(|tx| {
        let key = [tx.append(&[])?];
        tx.put_attribute(&key, "n", mark)?;
        thread::yield_now();
        let [key] = key;
        Ok::<_, EditError>(key)
    });
    let done = done.expect("there is room");
    assert_eq!(done.runs, 1, "two appends do not collide");
    let renamed = done.renamed.iter().find(|(from, _)| **from == [done.value.clone()]);
    let key = renamed.map_or(done.value, |(_, to)| to.last().expect("not the root").clone());
    let child = tree.read().root().child(&key).map(n);
    assert_eq!(child, Some(mark), "{key:?} is somebody else's");
    key
}
