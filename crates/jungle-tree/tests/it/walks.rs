//! Visits in no order, and on many threads, see what the walk sees.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Arena, Key, Node, Path, Tree, Walk};

/// What can be told of a node without its place.
type Seen = (Option<i64>, u64, u64);

fn seen(node: Node<'_>) -> Seen {
    let number = node.attribute("n").and_then(|n| n.as_int());
    (number, node.child_count(), node.subtree_count())
}

/// A tree of up to some 40,000 nodes: few and many children, by position and by name, dense and
/// with gaps, with attributes and without.
fn random(rng: &mut Rng) -> Tree {
    let mut tree = Tree::new(&Arena::new().expect("address range"));
    let mut paths = vec![Path::root()];
    for _ in 0..rng.range(0..40) {
        let path = rng.pick(&paths).clone();
        let count = [1, 20, 300, 3_000][rng.index(4)];
        let by_name = rng.chance(1, 3);
        let first = paths.len();
        let added = tree.edit(|editor| {
            for n in 0..rng.range(1..count + 1) {
                let key = match by_name {
                    true => Key::from(&*format!("{first} {n}")),
                    false => editor.add_child(&path)?,
                };
                if by_name {
                    editor.insert_child(&path, &key)?;
                }
                let child = path.join(key);
                if rng.chance(1, 2) {
                    editor.put_attribute(&child, "n", (first as u64 + n) as i64)?;
                }
                paths.push(child);
            }
            Ok::<(), jungle_tree::EditError>(())
        });
        added.expect("only what can be done is asked for");
        for _ in 0..rng.below(20) {
            // It may be gone with one above it.
            let at = rng.index(paths.len() - 1) + 1;
            let gone = paths.swap_remove(at);
            if tree.remove(&gone).is_ok() {
                paths.retain(|path| !path.starts_with(&gone));
            }
            if paths.len() == 1 {
                break;
            }
        }
    }
    tree
}

/// The nodes that the walk comes by, in the order of what they are.
fn walked(root: Node<'_>) -> Vec<Seen> {
    let mut nodes: Vec<Seen> = root.walk().map(seen).collect();
    nodes.sort_unstable();
    nodes
}

#[test]
fn many_threads_see_each_node_once() {
    let mut largest = 0;
    for_each_seed(60, |rng| {
        let tree = random(rng);
        let snapshot = tree.snapshot();
        let root = snapshot.root();
        let expected = walked(root);
        assert_eq!(expected.len() as u64, root.subtree_count());
        largest = largest.max(root.split(64).parts());
        for threads in [0, 1, 2, 5, usize::MAX] {
            let states = root.visit_parallel(threads, Vec::new, |seen_so_far, node| {
                seen_so_far.push(seen(node));
            });
            assert!((1..=threads.clamp(1, 256)).contains(&states.len()), "{threads} threads");
            let mut found = states.concat();
            found.sort_unstable();
            assert!(found == expected, "{threads} threads");
        }
        let mut found = Vec::new();
        root.visit(|node| found.push(seen(node)));
        found.sort_unstable();
        assert!(found == expected, "without threads");
        // A part of the tree, too.
        if let Some((_, child)) = root.last_child() {
            let mut found = child.visit_parallel(3, Vec::new, |all, node| all.push(seen(node)));
            let mut found = found.drain(..).flatten().collect::<Vec<_>>();
            found.sort_unstable();
            assert!(found == walked(child), "of a child");
        }
    });
    assert!(largest > 8 || std::env::var_os("JUNGLE_SEED").is_some(), "{largest} parts at most");
}

fn paths(mut walk: Walk<'_>) -> Vec<Path> {
    let mut paths = Vec::new();
    while walk.next().is_some() {
        paths.push(walk.path());
    }
    paths
}

#[test]
fn walk_goes_on_behind_any_place() {
    for_each_seed(20, |rng| {
        let tree = random(rng);
        let snapshot = tree.snapshot();
        let all = paths(snapshot.root().walk());
        for _ in 0..4 {
            let mut place = rng.pick(&all).clone();
            if rng.chance(1, 3) {
                // Perhaps nothing is there, nor above.
                place.push(rng.below(400));
                place.push("x");
            }
            let rest = all.iter().filter(|path| **path > place);
            let found = paths(snapshot.root().walk_behind(&place));
            assert!(found.iter().eq(rest), "{place}");
        }
    });
}

#[test]
fn a_panic_on_any_thread_comes_out() {
    let mut tree = Tree::new(&Arena::new().unwrap());
    tree.edit(|editor| editor.cursor(&[])?.add_children(50_000).map(drop)).unwrap();
    let snapshot = tree.snapshot();
    let visited = AssertUnwindSafe(|| {
        snapshot.root().visit_parallel(
            4,
            || 0,
            |count, _| {
                *count += 1;
                assert!(*count < 10_000, "enough");
            },
        )
    });
    // Four threads cannot see 50,001 nodes without one that sees 10,000.
    assert!(catch_unwind(visited).is_err());
}
