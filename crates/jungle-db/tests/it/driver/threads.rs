//! Random threads: whatever they do, it is as if it had been done one after the other, in the
//! order of the revisions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use jungle_db::{CommitOptions, Draft, Jungle, Revision, TreeHandle};
use jungle_testkit::Rng;
use jungle_tree::{EditError, Path};

use super::content::{self, Content};
use super::op::{Answer, Op};
use super::shared::Follower;
use super::sketch::{elsewhere, key_of};
use super::some_retention;

/// What every thread asked and did, by the revision that it was committed in.
type Log = Mutex<BTreeMap<Revision, Vec<(Op, Answer)>>>;

const THREADS: usize = 4;

/// Some threads, each with so many updates.
pub fn run(rng: &mut Rng, updates: usize) {
    let jungle = Jungle::builder().retention(some_retention(rng)).build().expect("address range");
    let tree = jungle.create_tree("t").expect("it is new");
    let log = Log::default();
    run_threads(rng, &[(&jungle, &tree); THREADS], updates, &log);
    check(&[&tree], log);
}

/// The same on several Jungles that follow one log, two threads on each, while somebody catches up.
pub fn run_shared(rng: &mut Rng, updates: usize) {
    let (records, retention) = (Arc::default(), some_retention(rng));
    let jungles: Vec<Jungle> = (0..rng.range(1..4))
        .map(|_| Jungle::builder().retention(retention).build().expect("address range"))
        .collect();
    let followers: Vec<_> =
        jungles.iter().map(|jungle| Follower::new(&records, jungle, rng)).collect();
    jungles[0].create_tree("t").expect("it is new");
    followers.iter().for_each(|follower| follower.catch_up());
    let trees: Vec<TreeHandle> =
        jungles.iter().map(|jungle| jungle.open_tree("t").expect("made above")).collect();
    let log = Log::default();
    let on_each: Vec<(&Jungle, &TreeHandle)> =
        jungles.iter().zip(&trees).flat_map(|one| [one, one]).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                followers.iter().for_each(|follower| follower.catch_up());
                thread::yield_now();
            }
        });
        run_threads(rng, &on_each, updates, &log);
        done.store(true, Ordering::Relaxed);
    });
    followers.iter().for_each(|follower| follower.catch_up());
    check(&trees.iter().collect::<Vec<_>>(), log);
    followers.iter().for_each(|follower| follower.end());
}

fn run_threads(rng: &mut Rng, trees: &[(&Jungle, &TreeHandle)], updates: usize, log: &Log) {
    thread::scope(|scope| {
        for &(jungle, tree) in trees {
            let mut rng = rng.fork();
            scope.spawn(move || {
                for _ in 0..updates {
                    match rng.chance(1, 8) {
                        true => update_in_series(&mut rng, jungle, tree, log),
                        false => update(&mut rng, tree, log),
                    }
                }
            });
        }
    });
}

/// Doing all of it one after the other gives what is there.
fn check(trees: &[&TreeHandle], log: Log) {
    let mut content = content::bare();
    for (revision, steps) in log.into_inner().expect("nobody panicked") {
        for (op, said) in steps {
            let again = op.to_content(&mut content, key_of(&said));
            assert_eq!(again, said, "{op:?} in revision {revision}");
        }
        for snapshot in trees.iter().filter_map(|tree| tree.at(revision).ok()) {
            assert_eq!(content::whole(&snapshot), content, "revision {revision}");
        }
    }
    trees.iter().for_each(|tree| assert_eq!(content::whole(&tree.snapshot()), content));
}

fn update(rng: &mut Rng, tree: &TreeHandle, log: &Log) {
    let next = some_kind(rng);
    let done = tree.update(|tx| Ok::<_, EditError>(some_steps(rng, tx, next)));
    let done = done.expect("there is room");
    if let Some(steps) = done.value {
        note(log, done.revision, placed(steps, &done.renamed));
    }
}

/// Several updates, each on top of the one before, of which none waits for its place; one where
/// there is no log to give them places.
fn update_in_series(rng: &mut Rng, jungle: &Jungle, tree: &TreeHandle, log: &Log) {
    let in_series = jungle.in_series(&[tree], |series| {
        let mut commits = Vec::new();
        for _ in 0..rng.range(1..5) {
            let next = some_kind(rng);
            let work = |tx: &mut Draft| Ok::<_, EditError>(some_steps(rng, tx, next));
            let done = series.update(tree, &CommitOptions::default(), work);
            commits.extend(done.expect("there is room").value);
        }
        assert_eq!(series.commits(), commits.len());
        commits
    });
    let Some(done) = in_series.expect("the log refuses nothing") else {
        return update(rng, tree, log);
    };
    for (at, steps) in done.value.into_iter().take(done.commits).enumerate() {
        note(log, Revision::new(done.first.number() + at as u64), steps);
    }
}

/// Draws the next operation on what is there.
type Next = fn(&mut Rng, &Content) -> Op;

fn some_kind(rng: &mut Rng) -> Next {
    if rng.chance(1, 3) { growing } else { fixed }
}

/// Asks and does some things; gives them if there is something to commit.
fn some_steps(rng: &mut Rng, tx: &mut Draft, next: Next) -> Option<Vec<(Op, Answer)>> {
    let mut local = content::of(tx.base().root());
    let mut steps = Vec::new();
    for _ in 0..rng.range(1..5) {
        let op = next(rng, &local);
        let said = op.to_draft(tx);
        assert_eq!(op.to_content(&mut local, key_of(&said)), said, "{op:?}");
        steps.push((op, said));
        thread::yield_now();
    }
    tx.is_changed().then_some(steps)
}

fn note(log: &Log, revision: Revision, steps: Vec<(Op, Answer)>) {
    let twice = log.lock().expect("nobody panics").insert(revision, steps);
    assert!(twice.is_none(), "revision {revision} was given twice");
}

/// The steps as they were done where they were committed: what others have appended meanwhile has
/// given our new nodes other keys, which we were told.
fn placed(steps: Vec<(Op, Answer)>, renamed: &[(Path, Path)]) -> Vec<(Op, Answer)> {
    // The new nodes, where the closure saw them and where they are.
    let mut new: Vec<(Path, Path)> = Vec::new();
    let (mut placed, mut told) = (Vec::new(), 0);
    for (op, said) in steps {
        let there = op.elsewhere(|path| elsewhere(&new, path));
        let Some(seen) = op.new_child(&said) else {
            placed.push((there, said));
            continue;
        };
        let now = renamed.iter().find(|(from, _)| *from == seen).map(|(_, now)| now);
        told += usize::from(now.is_some());
        let key = now.unwrap_or(&seen).last().expect("no root").clone();
        let parent = elsewhere(&new, &seen.parent().expect("no root"));
        new.push((seen, parent.join(key.clone())));
        placed.push((there, Answer::Key(key)));
    }
    assert_eq!(told, renamed.len(), "{renamed:?} tells of others than {new:?}");
    placed
}

/// Nothing that depends on where others have carried a node, or on who appended first.
fn fixed(rng: &mut Rng, content: &Content) -> Op {
    loop {
        let op = Op::random(rng, content, &[]);
        let is_new = matches!(op, Op::Append(_) | Op::Add(_) | Op::At(..));
        if !op.carries() && !op.names_position() && !is_new {
            return op;
        }
    }
}

/// What is appended, which may get another key, and attributes of it and of what is there. Nothing
/// is asked for that is not there: it may be, under the key that one of ours gets.
fn growing(rng: &mut Rng, content: &Content) -> Op {
    loop {
        let op = Op::random(rng, content, &[]);
        if let Op::Append(at) | Op::Put(at, ..) = &op
            && content.contains_key(at)
        {
            return op;
        }
    }
}
