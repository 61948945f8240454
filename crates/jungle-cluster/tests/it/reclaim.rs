//! What nobody can see any more is given back, without being asked for.

use std::sync::Arc;
use std::thread;

use jungle_db::Retention;
use jungle_testkit::Rng;
use jungle_tree::Key;

use crate::memory::Engine;
use crate::support::{agree, server};

/// Each commit replaces the path to what it changes.
const DEPTH: usize = 600;
const WRITERS: usize = 4;
const ROUNDS: usize = 8;
const COMMITS: i64 = 100;
/// Half as much again would be taken if all that was replaced stayed.
const BYTES_MAX: usize = 80 << 20;

#[test]
fn memory_of_what_was_replaced_is_used_again() {
    let (engine, rng) = (Arc::new(Engine::default()), &mut Rng::new(1));
    let servers = [server(&engine.connect(rng, 0), "a"), server(&engine.connect(rng, 0), "b")];
    let tree = servers[0].0.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(10)).unwrap();
    let path = vec![Key::from("n"); DEPTH];
    let made = tree.update(|tx| {
        (0..DEPTH).try_for_each(|depth| tx.insert_child(&path[..depth], &path[depth]))
    });
    made.unwrap();
    // Several at once, so that they are worked out on top of each other.
    let write = &|writer: usize| {
        for number in 0..COMMITS {
            tree.update(|tx| tx.put_attribute(&path, &format!("w{writer}"), number)).unwrap();
        }
    };
    for round in 0..ROUNDS {
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || write(writer));
            }
        });
        agree(&servers);
        for (jungle, _) in &servers {
            let usage = jungle.arena().usage();
            let taken = usage.structure_bytes + usage.payload_bytes;
            assert!(taken < BYTES_MAX, "{taken} bytes after round {round}");
        }
    }
}
