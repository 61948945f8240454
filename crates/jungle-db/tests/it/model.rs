//! Random transactions against plain maps, and random threads against a serial order.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use jungle_db::{Draft, Jungle, Retention, Revision, TreeHandle};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{EditError, Key, Node, Path};

use crate::support::tree_in;

/// A tree as a plain map from paths to attributes.
type Model = BTreeMap<String, BTreeMap<String, i64>>;

fn model_of(root: Node<'_>) -> Model {
    let mut model = Model::new();
    let mut walk = root.walk();
    while let Some(node) = walk.next() {
        let attributes = node.attributes();
        let attributes = attributes.map(|(key, value)| (key.into(), value.as_int().unwrap()));
        model.insert(walk.path().to_string(), attributes.collect());
    }
    model
}

/// One edit, as data, so that it can be done to a draft and to a model.
#[derive(Clone, Debug)]
enum Op {
    Insert(Path, Key),
    Remove(Path),
    Put(Path, &'static str, i64),
    Drop(Path, &'static str),
    /// Puts the value of an attribute elsewhere, plus one.
    Copy(Path, Path, &'static str),
}

const KEYS: [&str; 3] = ["a", "b", "c"];
const ATTRIBUTES: [&str; 2] = ["m", "n"];

fn random_path(rng: &mut Rng) -> Path {
    let depth = rng.below(4);
    (0..depth).map(|_| Key::from(*rng.pick(&KEYS))).collect()
}

fn random_op(rng: &mut Rng) -> Op {
    let path = random_path(rng);
    let attribute = *rng.pick(&ATTRIBUTES);
    match rng.below(10) {
        0..4 => Op::Insert(path, Key::from(*rng.pick(&KEYS))),
        4 => Op::Remove(path),
        5..8 => Op::Put(path, attribute, rng.below(100) as i64),
        8 => Op::Drop(path, attribute),
        _ => Op::Copy(path, random_path(rng), attribute),
    }
}

/// Does an edit; one that is refused does nothing.
fn edit(tx: &mut Draft, op: &Op) {
    let refused = |result: Result<(), EditError>| drop(result);
    match op {
        Op::Insert(path, key) => refused(tx.insert_child(path, key)),
        Op::Remove(path) => refused(tx.remove(path)),
        Op::Put(path, key, value) => refused(tx.put_attribute(path, key, *value)),
        Op::Drop(path, key) => refused(tx.remove_attribute(path, key).map(drop)),
        Op::Copy(from, to, key) => {
            let value = tx.attribute(from, key).ok().flatten().and_then(|v| v.as_int());
            if let Some(value) = value {
                refused(tx.put_attribute(to, key, value + 1));
            }
        }
    }
}

fn edit_model(model: &mut Model, op: &Op) {
    match op {
        Op::Insert(path, key) => {
            let child = path.join(key.clone()).to_string();
            if model.contains_key(&path.to_string()) {
                model.entry(child).or_default();
            }
        }
        Op::Remove(path) if path.is_empty() => {}
        Op::Remove(path) => {
            let (root, below) = (path.to_string(), format!("{path}/"));
            model.retain(|path, _| *path != root && !path.starts_with(&below));
        }
        Op::Put(path, key, value) => {
            if let Some(node) = model.get_mut(&path.to_string()) {
                node.insert((*key).into(), *value);
            }
        }
        Op::Drop(path, key) => {
            if let Some(node) = model.get_mut(&path.to_string()) {
                node.remove(*key);
            }
        }
        Op::Copy(from, to, key) => {
            let value = model.get(&from.to_string()).and_then(|node| node.get(*key)).copied();
            if let (Some(value), Some(node)) = (value, model.get_mut(&to.to_string())) {
                node.insert((*key).into(), value + 1);
            }
        }
    }
}

fn random_ops(rng: &mut Rng) -> Vec<Op> {
    (0..1 + rng.below(4)).map(|_| random_op(rng)).collect()
}

#[test]
fn every_revision_is_what_the_model_was() {
    for_each_seed(20, |rng| {
        let jungle = Jungle::new().unwrap();
        let tree = tree_in(&jungle, "t", 0);
        let mut model = model_of(tree.read().root());
        let mut past = vec![(jungle.revision(), model.clone())];
        for _ in 0..100 {
            let ops = random_ops(rng);
            let commit = |tx: &mut Draft| {
                ops.iter().for_each(|op| edit(tx, op));
                Ok::<_, EditError>(())
            };
            let revision = tree.update(commit).unwrap().revision;
            ops.iter().for_each(|op| edit_model(&mut model, op));
            past.push((revision, model.clone()));
        }
        for (revision, model) in past {
            assert_eq!(model_of(tree.at(revision).unwrap().root()), model, "revision {revision}");
        }
    });
}

/// What every thread did, by the revision that it was committed in.
type Log = Mutex<BTreeMap<Revision, Vec<Op>>>;

fn work(tree: &TreeHandle, log: &Log, rng: &mut Rng) {
    for _ in 0..60 {
        let ops = random_ops(rng);
        let committed = tree.update(|tx| {
            ops.iter().for_each(|op| edit(tx, op));
            thread::yield_now();
            Ok::<_, EditError>(tx.is_changed())
        });
        let committed = committed.unwrap();
        if committed.value {
            let twice = log.lock().unwrap().insert(committed.revision, ops);
            assert!(twice.is_none());
        }
    }
}

/// Whatever the threads did, it is as if it had been done one after the other, in the order of
/// the revisions.
#[test]
fn concurrent_updates_have_a_serial_order() {
    for_each_seed(30, |rng| {
        let retention = *rng.pick(&[Retention::All, Retention::Last(7)]);
        let jungle = Jungle::builder().retention(retention).build().unwrap();
        let tree = tree_in(&jungle, "t", 0);
        let log = Log::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                let (mut rng, tree, log) = (rng.fork(), &tree, &log);
                scope.spawn(move || work(tree, log, &mut rng));
            }
        });
        let mut model = Model::from([("/".into(), BTreeMap::new())]);
        for (revision, ops) in log.into_inner().unwrap() {
            ops.iter().for_each(|op| edit_model(&mut model, op));
            if let Ok(snapshot) = tree.at(revision) {
                assert_eq!(model_of(snapshot.root()), model, "revision {revision}");
            }
        }
        assert_eq!(model_of(tree.read().root()), model);
        assert_eq!(tree.read().root().recount(), model.len() as u64);
    });
}
