//! Of the database in memory.

use std::sync::Arc;

use jungle_db::{
    CommitMeta, CommitOptions, CommitRecord, Jungle, MemoryJournal, TreeHandle, UpdateError,
};
use jungle_tree::{EditError, Key, MergeOptions};

use super::{Meter, SEED, expect, room};
use crate::Failure;
use crate::workload::Random;

/// The children of the root, on which numbers are put.
const CHILDREN: u64 = 1_000;
const COMMITS: u64 = 1_000;
const MERGES: u64 = 300;
/// So many before those that are counted.
const WARM: u64 = 100;

/// One attribute each.
pub fn commit(meter: &mut Meter) -> Result<(), Failure> {
    let tree = plant(&Jungle::builder().arena(room()).build()?)?;
    put_all(&tree, WARM)?;
    meter.count(COMMITS, || put_all(&tree, COMMITS))?;
    check(&tree, COMMITS)
}

/// A transaction that another one overtakes, in another place: both are counted.
pub fn commit_late(meter: &mut Meter) -> Result<(), Failure> {
    let tree = plant(&Jungle::builder().arena(room()).build()?)?;
    let mut random = Random(SEED);
    let mut late = |number: u64| {
        let late = random.below(CHILDREN);
        let mut transaction = tree.begin(CommitOptions::default());
        transaction.put_attribute(&[Key::from(late)], "n", number as i64)?;
        put(&tree, (late + 1) % CHILDREN, number)?;
        transaction.commit().map(drop).map_err(|error| Failure::from(error.to_string()))
    };
    (0..WARM).try_for_each(&mut late)?;
    let before = tree.snapshot().revision().number();
    meter.count(COMMITS, || (0..COMMITS).try_for_each(late))?;
    expect("revisions", tree.snapshot().revision().number() - before, 2 * COMMITS)
}

/// A branch, a commit on it and one beside it in another place, and the merge.
pub fn merge_branch(meter: &mut Meter) -> Result<(), Failure> {
    let main = plant(&Jungle::builder().arena(room()).build()?)?;
    let merge = |number: u64| {
        let side = main.branch("side", main.snapshot().revision())?;
        put(&main, 2 * number, number)?;
        put(&side, 2 * number + 1, number)?;
        let merge = main.merge("side", &MergeOptions::new())?;
        expect("conflicts", merge.conflicts().len(), 0)?;
        let merged = merge.commit(&CommitMeta::new());
        merged.map_err(|error| Failure::from(error.to_string()))?;
        Ok::<_, Failure>(main.delete_branch("side")?)
    };
    (0..WARM).try_for_each(merge)?;
    meter.count(MERGES, || (WARM..WARM + MERGES).try_for_each(merge))?;
    let children = 2 * (WARM + MERGES);
    let merged = main.read();
    let numbers = merged.root().children().map(|(_, child)| child.attribute("n")?.as_int());
    let numbers: Vec<Option<i64>> = numbers.take(children as usize).collect();
    expect("numbers", numbers, (0..children).map(|child| Some(child as i64 / 2)).collect())
}

/// What another Jungle committed, one attribute each, from its log in memory: as a server of a
/// cluster does with the records of a message, once it has them.
pub fn follow(meter: &mut Meter) -> Result<(), Failure> {
    let log = Arc::new(MemoryJournal::default());
    let leader = Jungle::builder().arena(room()).journal(Arc::clone(&log)).build()?;
    let tree = plant(&leader)?;
    put_all(&tree, WARM)?;
    put_all(&tree, COMMITS)?;
    let records = log.records();
    let (earlier, counted) = records.split_at(records.len() - COMMITS as usize);
    let jungle = Jungle::builder().arena(room()).build()?;
    let follow =
        |records: &[CommitRecord]| records.iter().try_for_each(|record| jungle.follow(record));
    follow(earlier)?;
    meter.count(COMMITS, || follow(counted))?;
    expect("revision", jungle.revision(), leader.revision())?;
    check(&jungle.open_tree("track")?, COMMITS)
}

/// A tree of which the root has [`CHILDREN`] children.
pub fn plant(jungle: &Jungle) -> Result<TreeHandle, Failure> {
    let tree = jungle.create_tree("track")?;
    tree.update(|tx| (0..CHILDREN).try_for_each(|_| tx.add_child(&[]).map(drop))).map_err(told)?;
    Ok(tree)
}

/// Puts the numbers up to `count` on random children, each a commit.
pub fn put_all(tree: &TreeHandle, count: u64) -> Result<(), Failure> {
    let mut random = Random(SEED);
    (0..count).try_for_each(|number| put(tree, random.below(CHILDREN), number))
}

fn put(tree: &TreeHandle, child: u64, number: u64) -> Result<(), Failure> {
    let path = [Key::from(child)];
    tree.update(|tx| tx.put_attribute(&path, "n", number as i64)).map(drop).map_err(told)
}

fn told(error: UpdateError<EditError>) -> Failure {
    error.to_string().into()
}

/// Has the tree what [`put_all`] did last?
pub fn check(tree: &TreeHandle, count: u64) -> Result<(), Failure> {
    let (mut random, mut last) = (Random(SEED), vec![None; CHILDREN as usize]);
    (0..count).for_each(|number| last[random.below(CHILDREN) as usize] = Some(number as i64));
    let snapshot = tree.snapshot();
    let found = snapshot.root().children().map(|(_, child)| child.attribute("n")?.as_int());
    expect("numbers", found.collect::<Vec<Option<i64>>>(), last)
}
