//! A tree four times larger than the memory that a process may have: what is hot stays quick.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use jungle::{CommitOptions, Durability, Key, Spilling, TreeHandle};

use super::Options;
use super::folder::{Folder, options, was_left};
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{KEY, Payload, Random, Shape, number_of, value_of};

const TREE: &str = "large";
/// How many of the root's children are hot: a tenth of the tree, four tenths of the limit.
const HOT: u64 = 4;
/// Operations are timed this many to a task.
const READS_OF_TASK: u64 = 1000;
/// A checkpoint is written after some 17,000 commits of one value (1 MiB of log), beside those that
/// follow: there are several of them among those that are timed, or chance would have one in the
/// one process and none in the other.
const COMMITS_OF_TASK: u64 = 100;

/// Nanoseconds a read, and a buffered commit, of random leaves that are hot, in a process whose
/// memory is limited to a quarter of the tree, over the same in one that has enough: `read` and
/// `commit`. Both have walked through the whole tree before, attributes and all: `walk`, in
/// microseconds. `cold` = a read of any leaf.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    if case != "all" {
        return Ok(None);
    }
    let folder = Folder::new("larger-than-memory")?;
    let bytes = plant(&folder.0, shape(options))?;
    // Less would not hold the program itself.
    let limit = (bytes / 4).max(64 << 20);
    let enough = child(&folder.0, None, options)?;
    let group = Group::new(limit)?;
    let limited = child(&folder.0, Some(&group), options)?;
    let peak = group.peak()?;
    let of = |sample: &Sample, name: &str| sample.extra[name];
    let ratio = |name: &str| of(&limited, name) / of(&enough, name);
    let mut sample = Sample::value(ratio("read"), "x").with("commit", ratio("commit"));
    for (name, kind) in [("enough", &enough), ("limited", &limited)] {
        for what in ["read", "commit", "cold", "walk"] {
            sample = sample.with(&format!("{what}-{name}"), of(kind, what));
        }
    }
    let sample = sample.with("tree", bytes as f64).with("limit", limit as f64);
    Ok(Some(sample.with("peak", peak as f64)))
}

fn shape(options: Options) -> Shape {
    if options.tiny { Shape::LARGE_TINY } else { Shape::LARGE }
}

/// Makes the folder; gives how many bytes the tree takes in memory.
fn plant(folder: &Path, shape: Shape) -> Result<u64, Failure> {
    let store = options().open(folder)?;
    let tree = store.create_tree(TREE)?;
    let below = Shape(&shape.0[1..]);
    for number in 0..shape.0[0] {
        tree.update(|tx| {
            tx.bulk(|editor| {
                let key = editor.add_child(&[])?;
                below.grow_below(editor, &[key], number, Payload::Attribute)
            })
        })?;
    }
    let usage = store.arena().usage();
    drop(tree);
    store.close()?;
    Ok((usage.structure_bytes + usage.payload_bytes) as u64)
}

/// What another process measures.
fn child(folder: &Path, group: Option<&Group>, options: Options) -> Result<Sample, Failure> {
    let mut child = Command::new(std::env::current_exe()?);
    child.arg("use-hot").arg(folder).args(["--seed", &options.seed.to_string()]);
    child.args(["--tasks", &options.tasks.to_string()]);
    child.args(options.tiny.then_some("--tiny"));
    if let Some(Group { folder, .. }) = group {
        child.arg("--group").arg(folder);
    }
    let output = child.stderr(Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(format!("a process that uses the folder: {}", output.status).into()),
    }
}

/// Joins a group that has little memory, if there is one; opens the folder as one usually does,
/// walks through the tree, and then reads and writes what is hot.
///
/// # Errors
/// When the folder is not there, or cannot be used.
pub fn hot(folder: &Path, group: Option<&Path>, options: Options) -> Result<Sample, Failure> {
    if let Some(group) = group {
        fs::write(group.join("cgroup.procs"), std::process::id().to_string())?;
    }
    let store = self::options().open(folder)?;
    // A tiny tree fits in any limit.
    let unlike = unlike(&store.report().spilling, group.filter(|_| !options.tiny));
    let tree = store.open_tree(TREE)?;
    let shape = shape(options);
    let mut random = Random(options.seed);
    let begun = Instant::now();
    let (mut nodes, mut wrong) = (0_u64, 0);
    tree.snapshot().root().visit(|node| {
        nodes += 1;
        wrong += u64::from(node.attribute(KEY).is_none() && nodes > 1);
    });
    let walk = 1e6 * begun.elapsed().as_secs_f64();
    let hot = HOT.min(shape.0[0]);
    let reads = (options.tasks * READS_OF_TASK).max(1);
    // Once to bring it near.
    read(&tree, shape, hot, &mut random, reads);
    let (read_ns, wrong_hot) = read(&tree, shape, hot, &mut random, reads);
    write(&tree, shape, hot, &mut random, options.tasks)?;
    let commit_ns = write(&tree, shape, hot, &mut random, options.tasks)?;
    let (cold_ns, wrong_cold) = read(&tree, shape, shape.0[0], &mut random, reads.min(2000));
    wrong += wrong_hot + wrong_cold;
    drop(tree);
    store.close()?;
    let sample = Sample::value(read_ns, "ns").with("read", read_ns).with("commit", commit_ns);
    let sample = sample.with("cold", cold_ns).with("walk", walk).check(unlike);
    let sample = sample.check_none(wrong, "values are missing, or others'");
    Ok(sample.check_none(nodes.abs_diff(shape.nodes()), "nodes are missing, or too many"))
}

/// Whether trees spill is left to how a folder is usually opened. Where a group has less memory
/// than they take they must, and elsewhere not, or it is something else that is measured.
fn unlike(spilling: &Spilling, group: Option<&Path>) -> Option<String> {
    let Spilling { spills, why, .. } = spilling;
    let what = if *spills { "the tree spills" } else { "the tree does not spill" };
    (*spills != group.is_some()).then(|| format!("{what}: {why}"))
}

/// Nanoseconds a read of a random leaf below the root's first children, and how many were wrong.
fn read(
    tree: &TreeHandle,
    shape: Shape,
    first: u64,
    random: &mut Random,
    reads: u64,
) -> (f64, u64) {
    let (mut path, mut wrong) = (vec![Key::from(0); shape.0.len()], 0);
    let begun = Instant::now();
    for _ in 0..reads {
        let number = random_leaf(shape, first, random, &mut path);
        let snapshot = tree.snapshot();
        let found = snapshot.root().at(&path).ok().and_then(|leaf| leaf.attribute(KEY));
        wrong += u64::from(found.and_then(|value| number_of(value.as_bytes()?)) != Some(number));
    }
    (1e9 * begun.elapsed().as_secs_f64() / reads as f64, wrong)
}

/// Nanoseconds a buffered commit of one value.
fn write(
    tree: &TreeHandle,
    shape: Shape,
    first: u64,
    random: &mut Random,
    tasks: u64,
) -> Result<f64, Failure> {
    let options = CommitOptions { durability: Some(Durability::Buffered), ..Default::default() };
    let mut path = vec![Key::from(0); shape.0.len()];
    let commits = (tasks * COMMITS_OF_TASK).max(1);
    let begun = Instant::now();
    for stamp in 0..commits {
        let number = random_leaf(shape, first, random, &mut path);
        let value = value_of(number, stamp);
        tree.update_with(&options, |tx| tx.put_attribute(&path, KEY, &value[..]))?;
    }
    Ok(1e9 * begun.elapsed().as_secs_f64() / commits as f64)
}

fn random_leaf(shape: Shape, first: u64, random: &mut Random, path: &mut [Key]) -> u64 {
    let above = random.below(first);
    path[0] = Key::from(above);
    let below = Shape(&shape.0[1..]);
    above * below.leaves() + below.random_leaf(random, &mut path[1..])
}

/// A group of processes with a limit on their memory; gone at the end.
struct Group {
    folder: PathBuf,
    /// The file that tells how much they had at most.
    peak: &'static str,
}

/// Where groups are made, the file that limits one, and the one that tells its peak.
const GROUPS: [(&str, &str, &str); 2] = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    ("/sys/fs/cgroup", "memory.max", "memory.peak"),
];

/// What groups are called, before the number of the process that makes one.
const NAMED: &str = "jungle-bench-";

impl Group {
    /// A new one; those that runs have left which were interrupted are removed.
    fn new(bytes: u64) -> Result<Group, Failure> {
        for (root, limit, peak) in GROUPS {
            for entry in fs::read_dir(root).into_iter().flatten().flatten() {
                if was_left(&entry.file_name(), NAMED) {
                    // One that still has processes stays.
                    let _ = fs::remove_dir(entry.path());
                }
            }
            let folder = Path::new(root).join(format!("{NAMED}{}", std::process::id()));
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Group { folder, peak };
            if fs::write(group.folder.join(limit), bytes.to_string()).is_ok() {
                return Ok(group);
            }
        }
        Err("no group of processes with a limit of memory can be made: that takes Linux, and root"
            .into())
    }

    fn peak(&self) -> Result<u64, Failure> {
        Ok(fs::read_to_string(self.folder.join(self.peak))?.trim().parse()?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jungle::Spill;

    use super::{Folder, options, unlike};

    #[test]
    fn trees_spill_where_memory_is_limited_and_nowhere_else() {
        for (spill, is_on) in [(Spill::Always, true), (Spill::Never, false)] {
            let folder = Folder::new("larger-spilling").unwrap();
            let store = options().spill(spill).open(&folder.0).unwrap();
            let spilling = &store.report().spilling;
            assert_eq!(unlike(spilling, None).is_some(), is_on);
            assert_eq!(unlike(spilling, Some(Path::new("group"))).is_some(), !is_on);
        }
    }
}
