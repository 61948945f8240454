//! Servers that edit at random agree, and what they acknowledged is there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;

use jungle_cluster::Cluster;
use jungle_db::{
    CommitMeta, CommitOptions, Draft, Jungle, NotWritten, Placed, TreeHandle, UpdateError,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{EditError, Key, Tree};

use crate::memory::Engine;
use crate::support::{agree, int, server};

/// What came of the updates of one key: how many were acknowledged, of how many it is not known.
pub type Counts = Mutex<BTreeMap<i64, (i64, i64)>>;

const KEYS: u64 = 6;

#[test]
fn servers_agree_whatever_the_log_does() {
    for_each_seed(20, |rng| {
        let engine = Arc::new(Engine::default());
        let faults = rng.pick(&[0, 5, 40]).to_owned();
        let servers: Vec<(Jungle, Cluster)> = (0..rng.range(1..4))
            .map(|at| server(&engine.connect(rng, faults), &format!("s{at}")))
            .collect();
        let made = loop {
            match servers[0].0.create_tree("t") {
                Ok(tree) => break tree,
                Err(_) => drop(agree(&servers)),
            }
            if let Ok(tree) = servers[0].0.open_tree("t") {
                break tree;
            }
        };
        drop(made);
        agree(&servers);
        let counts = Counts::default();
        thread::scope(|scope| {
            for (jungle, _) in servers.iter().chain(&servers) {
                let (mut rng, counts) = (rng.fork(), &counts);
                let tree = jungle.open_tree("t").unwrap();
                scope.spawn(move || (0..25).for_each(|_| work(&tree, &mut rng, counts)));
            }
            for (jungle, _) in &servers {
                let (mut rng, counts) = (rng.fork(), &counts);
                let tree = jungle.open_tree("t").unwrap();
                let series = move |_| work_in_series(jungle, &tree, &mut rng, counts);
                scope.spawn(move || (0..10).for_each(series));
            }
        });
        agree(&servers);
        let tree = servers[0].0.open_tree("t").unwrap();
        for (key, (known, unknown)) in counts.into_inner().unwrap() {
            let there = int(&tree, "/", &format!("n{key}")).unwrap_or(0);
            assert!((known..=known + unknown).contains(&there), "{key}: {there}, {known}");
        }
        // Whoever joins later has the same.
        let mut servers = servers;
        servers.push(server(&engine.connect(rng, 0), "late"));
        agree(&servers);
    });
}

/// Messages are told apart by what their servers drew, if by nothing else.
#[test]
fn servers_of_one_name_that_do_the_same_do_it_twice() {
    let (engine, rng) = (Arc::new(Engine::default()), &mut Rng::new(1));
    let servers = [(); 2].map(|()| server(&engine.connect(rng, 0), "same"));
    servers[0].0.create_tree("t").unwrap();
    agree(&servers);
    thread::scope(|scope| {
        for (jungle, _) in &servers {
            let tree = jungle.open_tree("t").unwrap();
            scope.spawn(move || {
                for _ in 0..200 {
                    tree.update(|tx| tx.append(&[])).unwrap();
                }
            });
        }
    });
    agree(&servers);
    let tree = servers[0].0.open_tree("t").unwrap();
    assert_eq!(tree.read().root().child_count(), 400);
}

/// Counts in one place, and appends, moves or removes in others.
struct Edit {
    key: i64,
    kind: u64,
    at: u64,
}

impl Edit {
    fn drawn(rng: &mut Rng) -> Edit {
        Edit { key: rng.below(KEYS) as i64, kind: rng.below(4), at: rng.below(8) }
    }

    fn name(&self) -> String {
        format!("n{}", self.key)
    }

    /// Tells what was counted.
    fn apply(&self, tx: &mut Draft) -> Result<i64, EditError> {
        let at = [Key::from(self.at)];
        match self.kind {
            0 => drop(tx.append(&[])?),
            1 if tx.exists(&at) => tx.remove(&at)?,
            2 if tx.exists(&at) && !tx.exists(&[Key::from("moved")]) => {
                tx.move_node(&at, &[], &Key::from("moved"))?;
            }
            _ => {}
        }
        let name = self.name();
        let count = tx.attribute(&[], &name).unwrap().and_then(|n| n.as_int()).unwrap_or(0);
        tx.put_attribute(&[], &name, count + 1)?;
        Ok(count + 1)
    }

    fn note(&self, done: Result<(), NotWritten>, counts: &Counts) {
        let mut counts = counts.lock().unwrap();
        let count = counts.entry(self.key).or_default();
        match done {
            Ok(()) => count.0 += 1,
            Err(NotWritten::Undecided(_)) => count.1 += 1,
            Err(NotWritten::Refused(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Several at a time, of which each follows the one before.
fn work_in_series(jungle: &Jungle, tree: &TreeHandle, rng: &mut Rng, counts: &Counts) {
    let edits: Vec<Edit> = (0..rng.range(1..5)).map(|_| Edit::drawn(rng)).collect();
    let placed = jungle.in_series(&[tree], |series| {
        let options = CommitOptions::default();
        let update = |edit: &Edit| series.update(tree, &options, |tx| edit.apply(tx)).unwrap();
        edits.iter().map(update).collect::<Vec<_>>()
    });
    match placed.map(|placed| placed.expect("it has a sequencer")) {
        Ok(Placed { value, commits, .. }) => {
            for (edit, committed) in edits.iter().zip(value).take(commits) {
                // What was worked out before it had its place is what is there.
                let there = tree.at(committed.revision).unwrap();
                let count = there.root().attribute(&edit.name()).and_then(|n| n.as_int());
                assert_eq!(count, Some(committed.value));
                edit.note(Ok(()), counts);
            }
        }
        Err(error) => edits.iter().for_each(|edit| edit.note(Err(error.clone()), counts)),
    }
}

/// Counts, edits and marks.
pub fn work(tree: &TreeHandle, rng: &mut Rng, counts: &Counts) {
    let edit = Edit::drawn(rng);
    let done = tree.update(|tx| edit.apply(tx)).map(drop).map_err(|error| match error {
        UpdateError::NotWritten(error) => error,
        error => panic!("{error:?}"),
    });
    edit.note(done, counts);
    if rng.chance(1, 10) {
        let mark = format!("b{}", rng.below(5));
        // It may be there, or not be known whether it is.
        let key = *rng.pick(&["n", "m"]);
        drop(match rng.below(6) {
            0 => tree.create_index(key),
            1 => tree.drop_index(key),
            _ => Ok(()),
        });
        let _ = match rng.below(3) {
            0 => tree.branch(&mark, tree.snapshot().revision()).map(drop),
            1 => tree.tag(&format!("t{mark}"), tree.snapshot().revision()),
            _ => tree.delete_branch(&mark),
        };
        // Without the comparison this would undo what others have counted meanwhile.
        let seen = tree.snapshot();
        let mut marked = Tree::from_snapshot(&seen);
        marked.put_attribute(&[], "mark", &*mark).unwrap();
        let _ = tree.compare_and_set_root(&seen, &marked.snapshot(), &CommitMeta::new());
    }
}
