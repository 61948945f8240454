//! E1: before each task one node is added at a random place; each task counts its own snapshot.

use std::hint::black_box;
use std::sync::Mutex;

use jungle_tree::{Arena, Snapshot, Tree};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{Overwriter, Payload, Random, Shape, checksum, on_workers};

/// Calls of the O(1) count in each task: one alone would be lost beside the edit.
const SUMMARIES: u64 = 10_000;

/// Visits a second; `checksum` = of the tree in the end.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let payload = match case {
        "count" | "visit" | "summary" => Payload::Bare,
        "visit-attribute" | "visit-aged" => Payload::Attribute,
        _ => return Ok(None),
    };
    let shape = options.read_shape();
    let mut tree = shape.plant(&Arena::new()?, payload)?;
    if case == "visit-aged" {
        let mut writer = Overwriter::new(shape, options.seed ^ 0xa6ed);
        let updates = if options.tiny { 10_000 } else { 1_000_000 };
        (0..updates).try_for_each(|_| writer.publish_one(&mut tree))?;
    }
    let (base, tasks) = (shape.nodes(), options.tasks);
    let (seconds, wrong, sum) = match case {
        "count" => {
            run(options, tree, |snapshot, version| snapshot.root().recount() == base + version)
        }
        "summary" => run(options, tree, |snapshot, version| {
            let count = |_| black_box(snapshot).root().subtree_count();
            (0..SUMMARIES).map(count).all(|count| black_box(count) == base + version)
        }),
        _ => run(options, tree, |snapshot, version| {
            // The added nodes have no attribute.
            let attributed = if payload == Payload::Bare { 0 } else { base };
            visit(snapshot) == (base + version, attributed)
        }),
    };
    let operations = match case {
        "summary" => tasks * SUMMARIES,
        // Every count was compared, so the visits are known.
        _ => tasks * base + tasks * (tasks + 1) / 2,
    };
    let sample = Sample::rate(seconds, operations).with("checksum", sum.into());
    Ok(Some(sample.check_none(wrong, "snapshots had a wrong count")))
}

/// How many nodes there are, and how many of them have attributes.
fn visit(snapshot: &Snapshot) -> (u64, u64) {
    let (mut nodes, mut attributed) = (0, 0);
    snapshot.root().visit(|node| {
        nodes += 1;
        attributed += u64::from(node.has_attributes());
    });
    (nodes, attributed)
}

/// Runs the tasks; gives the seconds, how many found something wrong in their snapshot, and the
/// checksum of the tree in the end.
fn run(
    options: Options,
    tree: Tree,
    task: impl Fn(&Snapshot, u64) -> bool + Sync,
) -> (f64, u64, u32) {
    struct Dispenser {
        tree: Tree,
        version: u64,
        random: Random,
        path: Vec<jungle_tree::Key>,
        shape: Shape,
    }
    let (shape, random) = (options.read_shape(), Random(options.seed));
    let dispenser = Mutex::new(Dispenser { tree, version: 0, random, path: Vec::new(), shape });
    // One lock makes the versions in order; only the counting runs side by side.
    let next_version = || {
        let mut state = dispenser.lock().expect("a worker's panic ends the experiment");
        let Dispenser { tree, version, random, path, shape } = &mut *state;
        if *version == options.tasks {
            return None;
        }
        *version += 1;
        shape.random_parent(random, path);
        tree.add_child(path).expect("there is room for a node more");
        Some((*version, tree.snapshot()))
    };
    let (seconds, wrongs) = on_workers(options.threads, |_| {
        let mut wrong = 0;
        while let Some((version, snapshot)) = next_version() {
            wrong += u64::from(!task(&snapshot, version));
        }
        wrong
    });
    let last = dispenser.into_inner().expect("a worker's panic ends the experiment").tree;
    (seconds, wrongs.iter().sum(), checksum(0, last.snapshot().root()))
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    /// The sums were worked out apart from this, from the draws that all systems make.
    #[test]
    fn the_tree_in_the_end_is_that_of_the_peers() {
        let sum = |case: &str, threads| {
            let options = Options { threads, tasks: 3, seed: 7, quick: true, tiny: true };
            let sample = sample(case, options).unwrap().unwrap();
            assert_eq!(sample.check, "ok");
            sample.extra["checksum"]
        };
        for threads in [1, 2] {
            for case in ["count", "visit", "summary"] {
                assert_eq!(sum(case, threads), 2_964_899_556.0, "{case}");
            }
            assert_eq!(sum("visit-attribute", threads), 3_930_971_544.0);
            assert_eq!(sum("visit-aged", threads), 3_054_985_455.0);
        }
    }
}
