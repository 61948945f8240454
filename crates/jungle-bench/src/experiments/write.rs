//! E2: trees of 10,005 nodes, registered by name: in a map, as the peers do, or in a Jungle, which
//! has them when they are grown, or from their first edit on.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_db::{CommitMeta, Jungle, Retention, TreeHandle, UpdateError};
use jungle_tree::{Arena, Cursor, EditError, Editor, Key, Node, Path, Tree};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{KEY, Payload, SHORT_VALUE, Shape, checksum, on_workers};

/// Builds one tree.
type Grow = fn(&Arena, Shape, Payload) -> Result<Tree, EditError>;

/// Nodes a second; `checksum` = of all trees, in the order of the tasks.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let (payload, grow): (Payload, Grow) = match case {
        "nodes" => (Payload::Bare, grow_by_calls),
        "attributes" => (Payload::Attribute, grow_by_calls),
        "batch-nodes" => (Payload::Bare, grow_in_batch),
        "batch-attributes" => (Payload::Attribute, grow_in_batch),
        "cursor-nodes" => (Payload::Bare, grow_with_cursor),
        "cursor-attributes" => (Payload::Attribute, grow_with_cursor),
        "db-nodes" => return commit_each(options, Payload::Bare).map(Some),
        "db-attributes" => return commit_each(options, Payload::Attribute).map(Some),
        "db-root-nodes" => return set_roots(options, Payload::Bare).map(Some),
        "db-root-attributes" => return set_roots(options, Payload::Attribute).map(Some),
        _ => return Ok(None),
    };
    let (shape, arena, forest) = (options.write_shape(), Arena::new()?, Forest::new());
    let seconds = on_tasks(options, |task| -> Result<(), EditError> {
        forest.register(name_of(task), grow(&arena, shape, payload)?);
        Ok(())
    })?;
    Ok(Some(checked(seconds, options, payload, |name, look| forest.look(name, look))))
}

/// The same through the database: each edit is a commit, to a tree that was made in a Jungle, which
/// keeps its newest revision.
fn commit_each(options: Options, payload: Payload) -> Result<Sample, Failure> {
    let jungle = Jungle::builder().retention(Retention::Last(1)).build()?;
    let shape = options.write_shape();
    let seconds = on_tasks(options, |task| -> Result<(), String> {
        let mut tree = jungle.create_tree(&name_of(task)).map_err(|error| error.to_string())?;
        grow_root(&mut tree, shape, payload).map_err(|error| error.to_string())
    })?;
    Ok(checked_in(&jungle, seconds, options, payload))
}

/// As E2 has it: each tree is grown by calls that each make a version, as one in the map is, and
/// becomes, whole, the root of one that was made in a Jungle under its name.
fn set_roots(options: Options, payload: Payload) -> Result<Sample, Failure> {
    let jungle = Jungle::builder().retention(Retention::Last(1)).build()?;
    let shape = options.write_shape();
    let seconds = on_tasks(options, |task| -> Result<(), Failure> {
        let grown = grow_by_calls(jungle.arena(), shape, payload)?;
        let tree = jungle.create_tree(&name_of(task))?;
        tree.set_root(&grown.snapshot(), &CommitMeta::new())?;
        Ok(())
    })?;
    Ok(checked_in(&jungle, seconds, options, payload))
}

fn name_of(task: u64) -> String {
    format!("tree-{task}")
}

/// Does all tasks on the threads; the seconds that took.
fn on_tasks<E: Send>(
    options: Options,
    work: impl Fn(u64) -> Result<(), E> + Sync,
) -> Result<f64, E> {
    let next = AtomicU64::new(0);
    let (seconds, results) = on_workers(options.threads, |_| -> Result<(), E> {
        loop {
            let task = next.fetch_add(1, Ordering::SeqCst);
            if task >= options.tasks {
                return Ok(());
            }
            work(task)?;
        }
    });
    results.into_iter().collect::<Result<(), E>>()?;
    Ok(seconds)
}

/// How many nodes and attributes a tree has, and the checksum that goes on with it.
type Looked = (u64, u64, u32);

/// The rate, if each task has left its tree behind: `at` has the root of that of a name looked at.
fn checked(
    seconds: f64,
    options: Options,
    payload: Payload,
    at: impl Fn(&str, &dyn Fn(Node<'_>) -> Looked) -> Option<Looked>,
) -> Sample {
    let nodes = options.write_shape().nodes();
    let expected = (nodes, if payload == Payload::Bare { 0 } else { nodes });
    let (mut sum, mut wrong) = (0, 0);
    for task in 0..options.tasks {
        let look = |root: Node<'_>| {
            let (nodes, attributed) = counts(root);
            (nodes, attributed, checksum(sum, root))
        };
        let looked = at(&name_of(task), &look);
        match looked {
            Some((nodes, attributed, next)) if (nodes, attributed) == expected => sum = next,
            _ => wrong += 1,
        }
    }
    let sample = Sample::rate(seconds, nodes * options.tasks).with("checksum", sum.into());
    sample.check_none(wrong, "trees had a wrong count")
}

/// The same of the trees of a Jungle.
fn checked_in(jungle: &Jungle, seconds: f64, options: Options, payload: Payload) -> Sample {
    checked(seconds, options, payload, |name, look| {
        Some(look(jungle.open_tree(name).ok()?.snapshot().root()))
    })
}

fn counts(root: Node<'_>) -> (u64, u64) {
    let (mut nodes, mut attributed) = (0, 0);
    root.visit(|node| {
        nodes += 1;
        let value = node.attribute(KEY).and_then(|value| value.as_bytes());
        attributed += u64::from(value == Some(SHORT_VALUE));
    });
    (nodes, attributed)
}

/// Trees by name.
struct Forest(Vec<Mutex<HashMap<String, Tree>>>);

impl Forest {
    fn new() -> Forest {
        Forest((0..64).map(|_| Mutex::default()).collect())
    }

    fn shard(&self, name: &str) -> std::sync::MutexGuard<'_, HashMap<String, Tree>> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let shard = &self.0[hasher.finish() as usize % self.0.len()];
        shard.lock().expect("a worker's panic ends the experiment")
    }

    fn register(&self, name: String, tree: Tree) {
        self.shard(&name).insert(name, tree);
    }

    /// Looks at the root of a tree, if there is one.
    fn look(&self, name: &str, look: &dyn Fn(Node<'_>) -> Looked) -> Option<Looked> {
        self.shard(name).get(name).map(|tree| look(tree.snapshot().root()))
    }
}

/// Where nodes are added by path: each call a version or a commit, or all calls one version.
trait ByPath {
    type Error;
    fn add(&mut self, parent: &[Key]) -> Result<Key, Self::Error>;
    fn put(&mut self, path: &[Key]) -> Result<(), Self::Error>;
}

impl ByPath for Tree {
    type Error = EditError;

    #[inline]
    fn add(&mut self, parent: &[Key]) -> Result<Key, EditError> {
        self.add_child(parent)
    }

    #[inline]
    fn put(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.put_attribute(path, KEY, SHORT_VALUE)
    }
}

impl ByPath for Editor {
    type Error = EditError;

    #[inline]
    fn add(&mut self, parent: &[Key]) -> Result<Key, EditError> {
        self.add_child(parent)
    }

    #[inline]
    fn put(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.put_attribute(path, KEY, SHORT_VALUE)
    }
}

impl ByPath for TreeHandle {
    type Error = UpdateError<EditError>;

    fn add(&mut self, parent: &[Key]) -> Result<Key, UpdateError<EditError>> {
        Ok(self.update(|tx| tx.add_child(parent))?.value)
    }

    fn put(&mut self, path: &[Key]) -> Result<(), UpdateError<EditError>> {
        self.update(|tx| tx.put_attribute(path, KEY, SHORT_VALUE)).map(drop)
    }
}

/// Each call makes a version.
///
/// # Errors
/// When there is no room.
pub fn grow_by_calls(arena: &Arena, shape: Shape, payload: Payload) -> Result<Tree, EditError> {
    let mut tree = Tree::new(arena);
    // Whoever has a reader may look at any version, so each call makes one of its own.
    let reader = tree.reader();
    grow_root(&mut tree, shape, payload)?;
    drop(reader);
    Ok(tree)
}

/// All calls make one version.
///
/// # Errors
/// When there is no room.
pub fn grow_in_batch(arena: &Arena, shape: Shape, payload: Payload) -> Result<Tree, EditError> {
    let mut tree = Tree::new(arena);
    tree.edit(|editor| grow_root(editor, shape, payload))?;
    Ok(tree)
}

fn grow_root<T: ByPath>(to: &mut T, shape: Shape, payload: Payload) -> Result<(), T::Error> {
    if payload == Payload::Attribute {
        to.put(&[])?;
    }
    grow_below(to, shape.0, &mut Path::root(), payload)
}

fn grow_below<T: ByPath>(
    to: &mut T,
    levels: &[u64],
    path: &mut Path,
    payload: Payload,
) -> Result<(), T::Error> {
    let Some((&fan_out, rest)) = levels.split_first() else { return Ok(()) };
    for _ in 0..fan_out {
        let key = to.add(path)?;
        path.push(key);
        if payload == Payload::Attribute {
            to.put(path)?;
        }
        grow_below(to, rest, path, payload)?;
        path.pop();
    }
    Ok(())
}

/// With a cursor, in one version.
///
/// # Errors
/// When there is no room.
pub fn grow_with_cursor(arena: &Arena, shape: Shape, payload: Payload) -> Result<Tree, EditError> {
    let mut tree = Tree::new(arena);
    tree.edit(|editor| {
        let mut cursor = editor.cursor(&[])?;
        match payload {
            Payload::Bare => grow_bare(&mut cursor, shape.0),
            Payload::Attribute => {
                cursor.put_attribute(KEY, SHORT_VALUE)?;
                grow_attributed(&mut cursor, shape.0)
            }
        }
    })?;
    Ok(tree)
}

fn grow_bare(cursor: &mut Cursor<'_>, levels: &[u64]) -> Result<(), EditError> {
    let Some((&fan_out, rest)) = levels.split_first() else { return Ok(()) };
    let first = cursor.add_children(fan_out)?;
    if rest.is_empty() {
        return Ok(());
    }
    for position in (first..).take(fan_out as usize) {
        cursor.enter(&Key::from(position))?;
        grow_bare(cursor, rest)?;
        cursor.leave();
    }
    Ok(())
}

/// The children of a node come with their attributes, in one call.
fn grow_attributed(cursor: &mut Cursor<'_>, levels: &[u64]) -> Result<(), EditError> {
    let Some((&fan_out, rest)) = levels.split_first() else { return Ok(()) };
    let attributes = [(KEY, SHORT_VALUE.into())];
    let first = cursor.add_children_with((0..fan_out).map(|_| &attributes[..]))?;
    if rest.is_empty() {
        return Ok(());
    }
    for position in (first..).take(fan_out as usize) {
        cursor.enter(&Key::from(position))?;
        grow_attributed(cursor, rest)?;
        cursor.leave();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Options, sample};

    /// The sums were worked out apart from this.
    #[test]
    fn the_trees_are_those_of_the_peers() {
        for (case, sum) in [("nodes", 3_411_009_321.0), ("attributes", 3_427_117_247.0)] {
            for how in ["", "batch-", "cursor-", "db-", "db-root-"] {
                let options = Options { threads: 2, tasks: 3, seed: 7, quick: true, tiny: true };
                let sample = sample(&format!("{how}{case}"), options).unwrap().unwrap();
                assert_eq!((sample.check.as_str(), sample.extra["checksum"]), ("ok", sum), "{how}");
            }
        }
    }
}
