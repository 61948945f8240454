//! A request that is sent again is not done again, whoever did it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use jungle_db::{
    CommitError, CommitMeta, CommitOptions, Jungle, NotWritten, REQUESTS_MAX, RequestId, Retention,
    Revision, SetRootError, TreeHandle, UpdateError,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{EditError, Key};

use crate::driver::shared::Follower;
use crate::support::{append, tree_of};

fn request(key: u64) -> RequestId {
    RequestId { key, fingerprint: !key }
}

fn meta(key: u64) -> CommitMeta {
    CommitMeta::new().asked_by(request(key))
}

/// Commits a request, or learns as what it was committed.
fn once(tree: &TreeHandle, key: u64) -> Revision {
    match tree.update_with(&CommitOptions::from(&meta(key)), |tx| tx.append(&[])) {
        Ok(committed) => committed.revision,
        Err(UpdateError::NotWritten(NotWritten::Repeated { revision })) => revision,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn repeated_request_is_told_of_its_commit_whatever_it_would_do_now() {
    let (jungle, tree) = tree_of(0);
    let options = CommitOptions::from(&meta(1));
    let insert = || tree.update_with(&options, |tx| tx.insert_child(&[], &Key::from("a")));
    let first = insert().unwrap().revision;
    append(&tree, &[]);
    // It would fail.
    let again = insert();
    let is_first = |error: &NotWritten| match error {
        NotWritten::Repeated { revision } => *revision == first,
        _ => false,
    };
    assert!(matches!(&again, Err(UpdateError::NotWritten(error)) if is_first(error)), "{again:?}");
    // It would change nothing.
    let nothing = tree.update_with(&options, |_| Ok::<_, EditError>(()));
    assert!(matches!(&nothing, Err(UpdateError::NotWritten(error)) if is_first(error)));
    let mut tx = tree.begin(options.clone());
    tx.append(&[]).unwrap();
    assert!(matches!(tx.commit(), Err(CommitError::NotWritten(error)) if is_first(&error)));
    let mut tx = jungle.begin(options);
    tx.tree("t").unwrap().append(&[]).unwrap();
    assert!(matches!(tx.commit(), Err(CommitError::NotWritten(error)) if is_first(&error)));
    let (old, root) = (tree.at(first).unwrap(), tree.snapshot());
    let set = tree.set_root(&old, &meta(1));
    assert!(matches!(set, Err(SetRootError::NotWritten(error)) if is_first(&error)));
    assert!(tree.snapshot().is_same(&root));
    // Others are others.
    assert_eq!(tree.find_request(request(1)).unwrap(), Some(first));
    assert_eq!(tree.find_request(request(2)).unwrap(), None);
    let other =
        CommitOptions::from(&CommitMeta::new().asked_by(RequestId { key: 1, fingerprint: 0 }));
    let refused = tree.update_with(&other, |tx| tx.append(&[]));
    let Err(UpdateError::NotWritten(NotWritten::KeyInUse { revision })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(revision, first);
    let side = tree.branch("side", root.revision()).unwrap();
    assert!(once(&side, 1) > first);
}

/// What it would do now is nothing to the branch that has it in its history.
#[test]
fn request_of_several_trees_is_known_by_those_that_it_would_not_change() {
    let (jungle, a) = tree_of(0);
    let b = jungle.create_tree("b").unwrap();
    b.update(|tx| tx.put_attribute(&[], "n", 2)).unwrap();
    let options = CommitOptions::from(&meta(1));
    let send = || {
        jungle.update(&options, |tx| {
            tx.on(&a).put_attribute(&[], "n", 1)?;
            tx.on(&b).put_attribute(&[], "n", 2)
        })
    };
    let first = send().unwrap().revision;
    assert!(b.snapshot().revision() < first);
    b.update(|tx| tx.put_attribute(&[], "n", 3)).unwrap();
    let again = send();
    let Err(UpdateError::NotWritten(NotWritten::Repeated { revision })) = again else {
        panic!("{again:?}");
    };
    assert_eq!(revision, first);
    assert_eq!(b.read().root().attribute("n").and_then(|n| n.as_int()), Some(3));
}

#[test]
fn what_is_not_kept_and_what_is_long_ago_is_not_known() {
    let (_jungle, tree) = tree_of(0);
    let first = once(&tree, 0);
    for _ in 1..REQUESTS_MAX {
        append(&tree, &[]);
    }
    assert_eq!(once(&tree, 0), first);
    append(&tree, &[]);
    assert!(once(&tree, 0) > first);
    let newest = once(&tree, 1);
    tree.set_retention(Retention::Last(2)).unwrap();
    append(&tree, &[]);
    assert_eq!(once(&tree, 1), newest);
    append(&tree, &[]);
    assert_eq!(tree.find_request(request(1)).unwrap(), None);
}

const REQUESTS: u64 = 24;

/// Each request is sent by all threads, most of them in the same order: to one of the Jungles each.
fn sent_by_all(jungles: &[Jungle], rng: &mut Rng) {
    let told: Mutex<BTreeMap<u64, BTreeSet<Revision>>> = Mutex::default();
    let trees: Vec<_> = jungles.iter().map(|jungle| jungle.open_tree("t").unwrap()).collect();
    let begin = Barrier::new(4);
    thread::scope(|scope| {
        for sender in 0..4 {
            let mut keys: Vec<u64> = (0..REQUESTS).collect();
            if rng.chance(1, 4) {
                rng.shuffle(&mut keys);
            }
            let (tree, told, begin) = (&trees[sender % trees.len()], &told, &begin);
            scope.spawn(move || {
                for key in keys {
                    begin.wait();
                    let revision = once(tree, key);
                    told.lock().unwrap().entry(key).or_default().insert(revision);
                }
            });
        }
    });
    for (key, told) in told.into_inner().unwrap() {
        assert_eq!(told.len(), 1, "request {key}: {told:?}");
    }
}

#[test]
fn request_sent_by_several_at_once_is_done_once() {
    for_each_seed(20, |rng| {
        let (jungle, tree) = tree_of(0);
        sent_by_all(&[jungle], rng);
        assert_eq!(tree.read().root().child_count(), REQUESTS);
    });
}

#[test]
fn request_sent_to_several_jungles_is_done_once() {
    for_each_seed(20, |rng| {
        let records = Arc::default();
        let jungles = [(); 2].map(|()| Jungle::new().unwrap());
        let followers = jungles.each_ref().map(|jungle| Follower::new(&records, jungle, rng));
        jungles[0].create_tree("t").unwrap();
        followers.iter().for_each(|follower| follower.catch_up());
        sent_by_all(&jungles, rng);
        for (jungle, follower) in jungles.iter().zip(&followers) {
            follower.catch_up();
            let tree = jungle.open_tree("t").unwrap();
            assert_eq!(tree.read().root().child_count(), REQUESTS);
            follower.end();
        }
    });
}
