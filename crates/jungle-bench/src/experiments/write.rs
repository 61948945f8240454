//! E2: trees of 10,005 nodes, registered by name.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_tree::{Arena, Cursor, EditError, Editor, Key, Path, Tree};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{KEY, Payload, SHORT_VALUE, Shape, on_workers};

/// Builds one tree.
type Grow = fn(&Arena, Shape, Payload) -> Result<Tree, EditError>;

pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let shape = options.write_shape();
    let (payload, grow): (Payload, Grow) = match case {
        "nodes" => (Payload::Bare, grow_by_calls),
        "attributes" => (Payload::Attribute, grow_by_calls),
        "batch-nodes" => (Payload::Bare, grow_in_batch),
        "batch-attributes" => (Payload::Attribute, grow_in_batch),
        "cursor-nodes" => (Payload::Bare, grow_with_cursor),
        "cursor-attributes" => (Payload::Attribute, grow_with_cursor),
        _ => return Ok(None),
    };
    let (arena, forest, next) = (Arena::new()?, Forest::new(), AtomicU64::new(0));
    let name_of = |task: u64| format!("tree-{task}");
    let (seconds, results) = on_workers(options.threads, |_| -> Result<(), EditError> {
        loop {
            let task = next.fetch_add(1, Ordering::SeqCst);
            if task >= options.tasks {
                return Ok(());
            }
            forest.register(name_of(task), grow(&arena, shape, payload)?);
        }
    });
    results.into_iter().collect::<Result<(), EditError>>()?;
    let attributed = if payload == Payload::Bare { 0 } else { shape.nodes() };
    let is_right = |tree: &Tree| counts(tree) == (shape.nodes(), attributed);
    let wrong = (0..options.tasks).filter(|task| !forest.with(&name_of(*task), is_right)).count();
    let sample = Sample::rate(seconds, shape.nodes() * options.tasks);
    Ok(Some(sample.check_none(wrong as u64, "trees had a wrong count")))
}

fn counts(tree: &Tree) -> (u64, u64) {
    let (mut nodes, mut attributed) = (0, 0);
    tree.snapshot().root().visit(|node| {
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

    /// What `f` says of a tree; `false` when there is none.
    fn with(&self, name: &str, f: impl FnOnce(&Tree) -> bool) -> bool {
        self.shard(name).get(name).is_some_and(f)
    }
}

/// Where nodes are added by path: each call a version, or all calls one.
trait ByPath {
    fn add(&mut self, parent: &[Key]) -> Result<Key, EditError>;
    fn put(&mut self, path: &[Key]) -> Result<(), EditError>;
}

impl ByPath for Tree {
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
    #[inline]
    fn add(&mut self, parent: &[Key]) -> Result<Key, EditError> {
        self.add_child(parent)
    }

    #[inline]
    fn put(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.put_attribute(path, KEY, SHORT_VALUE)
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

fn grow_root(to: &mut impl ByPath, shape: Shape, payload: Payload) -> Result<(), EditError> {
    if payload == Payload::Attribute {
        to.put(&[])?;
    }
    grow_below(to, shape.0, &mut Path::root(), payload)
}

fn grow_below(
    to: &mut impl ByPath,
    levels: &[u64],
    path: &mut Path,
    payload: Payload,
) -> Result<(), EditError> {
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
