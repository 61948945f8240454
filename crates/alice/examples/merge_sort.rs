//! Sorts a million numbers as a tree of merges: each node of the tree is a code segment that waits
//! for its two children.
//!
//! `cargo run --release -p alice --example merge_sort`

use std::error::Error;
use std::time::Instant;

use alice::{DeclareError, Key, Node, take};

const DEPTH: u32 = 3;
const LEAF_LEN: u64 = 125_000;

type Run = Vec<u64>;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new();
    let root = tree(&node, 1, DEPTH)?;
    let begun = Instant::now();
    for leaf in 1 << DEPTH..2 << DEPTH {
        node.put(&unsorted(leaf), scrambled(leaf))?;
    }
    let sorted = node.take(&root)?;
    assert!(sorted.is_sorted(), "the tree does not sort");
    println!("{} numbers sorted in {:.1?}", sorted.len(), begun.elapsed());
    Ok(())
}

/// Declares the part of the tree below a place, whose children are at `2 * at` and `2 * at + 1`;
/// gives the key of what it sorts.
fn tree(node: &Node, at: u64, depth: u32) -> Result<Key<Run>, DeclareError> {
    let sorted = Key::named(format!("sorted {at}"));
    if depth == 0 {
        node.code("sort").when(take(&unsorted(at))).to(&sorted).once(|run, sorted| {
            run.get_mut().expect("nobody else has it").sort_unstable();
            sorted.flip(run)
        })?;
    } else {
        let (left, right) = (tree(node, 2 * at, depth - 1)?, tree(node, 2 * at + 1, depth - 1)?);
        let both = (take(&left), take(&right));
        node.code("merge")
            .when(both)
            .to(&sorted)
            .once(|(a, b), sorted| sorted.put(merged(a, b)))?;
    }
    Ok(sorted)
}

fn merged(a: &[u64], b: &[u64]) -> Run {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let next = || match (a.peek(), b.peek()) {
        (Some(left), Some(right)) if left <= right => a.next(),
        (_, Some(_)) => b.next(),
        _ => a.next(),
    };
    std::iter::from_fn(next).copied().collect()
}

fn unsorted(leaf: u64) -> Key<Run> {
    Key::named(format!("unsorted {leaf}"))
}

fn scrambled(leaf: u64) -> Run {
    let number = |at: u64| (leaf * LEAF_LEN + at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..LEAF_LEN).map(number).collect()
}
