//! Of the tree. Depth and shape are those of the experiments; the trees are smaller.

use jungle_tree::{Arena, EditError, Key, MergeOptions, Snapshot, Tree, diff, merge};

use super::{Meter, SEED, arena, expect};
use crate::Failure;
use crate::experiments::{point, write};
use crate::workload::{KEY, Overwriter, Payload, Random, Shape, value_of, wrong_leaves};

/// As deep as tree R: 9,841 nodes, of which 6,561 are leaves.
const DEEP: Shape = Shape(&[3; 8]);
/// Tree W without its last level: 2,005 nodes.
const BROAD: Shape = Shape(&[4, 4, 4, 5, 5]);
/// For what costs much for each node: 1,093 nodes.
const SMALL: Shape = Shape(&[3; 6]);

const NAMES: u64 = 2_000;
const UPDATES: u64 = 2_000;
const READS: u64 = 4_000;
const PAIRS: u64 = 200;

/// By calls while a reader is held: each makes a version of its own.
pub fn add_child(meter: &mut Meter) -> Result<(), Failure> {
    grown(meter, |arena| write::grow_by_calls(arena, BROAD, Payload::Bare))
}

/// Each node with an attribute, all in one version.
pub fn batch(meter: &mut Meter) -> Result<(), Failure> {
    grown(meter, |arena| write::grow_in_batch(arena, BROAD, Payload::Attribute))
}

/// The same with a cursor.
pub fn cursor(meter: &mut Meter) -> Result<(), Failure> {
    grown(meter, |arena| write::grow_with_cursor(arena, BROAD, Payload::Attribute))
}

fn grown(
    meter: &mut Meter,
    grow: impl FnOnce(&Arena) -> Result<Tree, EditError>,
) -> Result<(), Failure> {
    let arena = arena()?;
    let tree = meter.count(BROAD.nodes(), || grow(&arena))?;
    expect("nodes", tree.read().root().recount(), BROAD.nodes())
}

/// Many names below one node, in no order.
pub fn insert_name(meter: &mut Meter) -> Result<(), Failure> {
    let mut random = Random(SEED);
    let name = |number| Key::from(format!("{:08x} {number}", random.bits() >> 32));
    let names: Vec<Key> = (0..NAMES).map(name).collect();
    let mut tree = Tree::new(&arena()?);
    let reader = tree.reader();
    meter.count(NAMES, || names.iter().try_for_each(|name| tree.insert_child(&[], name)))?;
    expect("children", reader.snapshot().root().child_count(), NAMES)
}

/// Paths of 8 steps, each update a version of its own.
pub fn point_update(meter: &mut Meter) -> Result<(), Failure> {
    let mut tree = DEEP.plant(&arena()?, Payload::Attribute)?;
    let reader = tree.reader();
    let mut writer = Overwriter::new(DEEP, SEED);
    let mut publish = |count| (0..count).try_for_each(|_| writer.publish_one(&mut tree));
    // What is counted reuses what older versions had, as a writer does that has run for a while.
    publish(UPDATES)?;
    meter.count(UPDATES, || publish(UPDATES))?;
    expect("wrong leaves", wrong_leaves(DEEP, SEED, 2 * UPDATES, reader.snapshot().root()), 0)
}

/// Paths of 8 steps, one by one.
pub fn point_read(meter: &mut Meter) -> Result<(), Failure> {
    read(meter, point::read_each)
}

/// The same, 16 at a time.
pub fn point_read_16(meter: &mut Meter) -> Result<(), Failure> {
    read(meter, point::read_many)
}

fn read(meter: &mut Meter, reads: point::Reads) -> Result<(), Failure> {
    let tree = DEEP.plant(&arena()?, Payload::Attribute)?;
    let reader = tree.reader();
    let wrong = meter.count(READS, || reads(&reader, DEEP, Random(SEED), READS));
    expect("wrong values", wrong, 0)
}

/// All nodes, looking whether they have attributes.
pub fn visit(meter: &mut Meter) -> Result<(), Failure> {
    let tree = DEEP.plant(&arena()?, Payload::Attribute)?.snapshot();
    let attributed = meter.count(DEEP.nodes(), || {
        let mut attributed = 0;
        tree.root().visit(|node| attributed += u64::from(node.has_attributes()));
        attributed
    });
    expect("nodes with attributes", attributed, DEEP.nodes())
}

/// All nodes, one by one, only to count them.
pub fn count(meter: &mut Meter) -> Result<(), Failure> {
    let tree = DEEP.plant(&arena()?, Payload::Attribute)?.snapshot();
    let nodes = meter.count(DEEP.nodes(), || tree.root().recount());
    expect("nodes", nodes, DEEP.nodes())
}

/// Of two versions that differ in one attribute.
pub fn diff_one(meter: &mut Meter) -> Result<(), Failure> {
    let mut tree = DEEP.plant(&arena()?, Payload::Attribute)?;
    let mut random = Random(SEED);
    let mut versions = vec![tree.snapshot()];
    for stamp in 1..=PAIRS {
        change(&mut tree, random.below(DEEP.leaves()), stamp)?;
        versions.push(tree.snapshot());
    }
    let changes = meter.count(PAIRS, || -> usize {
        versions.windows(2).map(|pair| diff(&pair[0], &pair[1]).len()).sum()
    });
    expect("changes", changes as u64, PAIRS)
}

/// Of two versions that each changed another attribute of the one before.
pub fn merge_one(meter: &mut Meter) -> Result<(), Failure> {
    let tree = DEEP.plant(&arena()?, Payload::Attribute)?;
    let (base, mut random) = (tree.snapshot(), Random(SEED));
    let half = DEEP.leaves() / 2;
    let mut fork = |first: u64, stamp| {
        let mut fork = Tree::from_snapshot(&base);
        change(&mut fork, first + random.below(half), stamp)?;
        Ok::<Snapshot, Failure>(fork.snapshot())
    };
    let pairs = (1..=PAIRS).map(|stamp| Ok((fork(0, stamp)?, fork(half, stamp)?)));
    let pairs: Vec<(Snapshot, Snapshot)> = pairs.collect::<Result<_, Failure>>()?;
    let options = MergeOptions::new();
    let merged = meter.count(PAIRS, || {
        pairs.iter().try_fold(0, |merged, (ours, theirs)| {
            let both = merge(&base, ours, theirs, &options)?;
            Ok::<usize, Failure>(merged + both.changes.len() - both.conflicts.len())
        })
    })?;
    expect("changes without conflicts", merged as u64, PAIRS)
}

fn change(tree: &mut Tree, leaf: u64, stamp: u64) -> Result<(), Failure> {
    let mut path = Vec::new();
    DEEP.leaf(leaf, &mut path);
    Ok(tree.put_attribute(&path, KEY, &value_of(leaf, stamp)[..])?)
}

/// Of a tree that was not hashed before, for each node.
pub fn hash(meter: &mut Meter) -> Result<(), Failure> {
    let plant = || SMALL.plant(&arena()?, Payload::Attribute).map_err(Failure::from);
    let (tree, other) = (plant()?.snapshot(), plant()?.snapshot());
    let hash = meter.count(SMALL.nodes(), || tree.root().content_hash());
    expect("hash", hash, other.root().content_hash())
}
