//! Updates that begin at what has gathered and has no place yet.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread;

use jungle_testkit::Rng;
use jungle_tree::EditError;

use crate::memory::Engine;
use crate::support::{Cut, agree, int, options, put, server};

/// Whoever says no, or only looks, has not seen what came to nothing.
#[test]
fn nobody_is_told_what_came_to_nothing() {
    let (engine, rng) = (Arc::new(Engine::default()), &mut Rng::new(1));
    let cut = Cut::new(engine.connect(rng, 0));
    let servers = [server(&cut, "a"), server(&engine.connect(rng, 0), "b")];
    let tree = servers[0].0.create_tree("t").unwrap();
    agree(&servers);
    let theirs = servers[1].0.open_tree("t").unwrap();
    cut.hold(true);
    thread::scope(|scope| {
        // Its message will come too late, and then it has nothing to say.
        scope.spawn(|| {
            let first = tree.update(|tx| match tx.attribute(&[], "n")? {
                None => tx.put_attribute(&[], "n", 1),
                Some(_) => Ok(()),
            });
            first.unwrap();
        });
        cut.wait_held();
        put(&theirs, "/", "n", 2);
        assert!(servers[0].1.wait_for(servers[1].0.revision(), options("").commit_within));

        let looked = tree.update(|tx| {
            let n = tx.attribute(&[], "n")?;
            Ok::<_, EditError>(n.and_then(|n| n.as_int()))
        });
        assert_eq!(looked.unwrap().value, Some(2));
        let seen = RefCell::new(Vec::new());
        let second = tree.update(|tx| {
            let n = tx.attribute(&[], "n")?.and_then(|n| n.as_int());
            seen.borrow_mut().push(n);
            if n == Some(1) {
                return Err(EditError::Root);
            }
            cut.hold(false);
            tx.put_attribute(&[], "m", 3)
        });
        second.unwrap();
        let seen = seen.into_inner();
        assert_eq!(seen[0], Some(1), "it began at what had gathered");
        assert!(seen[1..].iter().all(|&n| n == Some(2)), "{seen:?}");
    });
    agree(&servers);
    assert_eq!((int(&theirs, "/", "n"), int(&theirs, "/", "m")), (Some(2), Some(3)));
}

/// Those who read what is newest append messages without anything in them, which change nothing.
#[test]
fn what_has_gathered_is_not_worked_out_again_because_others_read() {
    let (engine, rng) = (Arc::new(Engine::default()), &mut Rng::new(1));
    let cut = Cut::new(engine.connect(rng, 0));
    let servers = [server(&cut, "a"), server(&engine.connect(rng, 0), "b")];
    let tree = servers[0].0.create_tree("t").unwrap();
    agree(&servers);
    cut.hold(true);
    let begun_at = RefCell::new(Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| put(&tree, "/", "n", 1));
        cut.wait_held();
        for _ in 0..3 {
            servers[1].1.linearize(options("").commit_within).unwrap();
        }
        let second = tree.update(|tx| {
            begun_at.borrow_mut().push(tx.attribute(&[], "n")?.and_then(|n| n.as_int()));
            cut.hold(false);
            tx.put_attribute(&[], "m", 2)
        });
        second.unwrap();
    });
    assert_eq!(begun_at.into_inner(), [Some(1)]);
    agree(&servers);
}
