//! An index by attribute: which nodes have this value?

mod hits;

use std::collections::Bound;
use std::fmt::{self, Write};
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex};

use crate::algebra::{Change, diff};
use crate::arena::Arena;
use crate::edit::{EditError, Editor};
use crate::key::{Key, KeyRef};
use crate::node::Node;
use crate::path::Path;
use crate::planted::{Bug, is_awake};
use crate::snapshot::Snapshot;
use crate::tree::{Keep, Tree, VersionId};
use crate::value::{Value, ValueRef};

pub use hits::{Hits, HitsEntry, HitsWalk};

/// Which nodes of a version have an attribute, by its value.
///
/// An index belongs to a version and never changes; [`AttributeIndex::updated`] makes that of
/// another version, which shares with this one whatever is the same. It is a tree itself, in the
/// same arena: one child for each value, in order, and below it the paths of the nodes.
///
/// Texts and bytes longer than [`AttributeIndex::VALUE_BYTES_ORDERED`] are found like any other,
/// but a range takes those with the same beginning in any order.
///
/// ```
/// use jungle_tree::{Arena, AttributeIndex, Tree, Value};
/// let mut tree = Tree::new(&Arena::new()?);
/// for age in [30, 41, 30] {
///     let person = tree.add_child(&[])?;
///     tree.put_attribute(&[person], "age", age)?;
/// }
/// let before = tree.snapshot();
/// let index = AttributeIndex::build(&before, "age")?;
/// let find = |index: &AttributeIndex, age: i64| {
///     index.find(Value::from(age).as_ref()).map(|path| path.to_string()).collect::<Vec<_>>()
/// };
/// assert_eq!(find(&index, 30), ["/0", "/2"]);
///
/// tree.put_attribute(&[0.into()], "age", 31)?;
/// let newer = index.updated(&before, &tree.snapshot())?;
/// assert_eq!(find(&index, 30), ["/0", "/2"]);
/// assert_eq!(find(&newer, 30), ["/2"]);
/// assert_eq!(newer.range(Value::from(31)..).count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AttributeIndex {
    key: Box<str>,
    snapshot: Snapshot,
    /// The line on which an index and those made from it, one after the other, are published: so
    /// what a newer one no longer uses can be reused.
    line: Arc<Mutex<Tree>>,
}

/// On a node of the index: there is a hit here, not only below. A leaf is always a hit.
const HIT: &str = "hit";

/// The names of values have this many bytes of them, and a hash of longer ones. Indexes that are
/// saved have such names, so this stays as it is.
const NAME_BYTES_MAX: usize = 1024;

/// So many blocks and values are made free at a time.
const RECLAIMED_MAX: usize = 1024;

impl AttributeIndex {
    /// Values are ordered by this many bytes at least.
    // A text is cut in front of the character that goes beyond, and so by up to three bytes less.
    pub const VALUE_BYTES_ORDERED: usize = NAME_BYTES_MAX - 3;

    /// Goes through a version and finds all nodes with an attribute of this key.
    ///
    /// # Errors
    /// When there is no room for the index.
    pub fn build(snapshot: &Snapshot, key: &str) -> Result<AttributeIndex, EditError> {
        let mut tree = Tree::new(&snapshot.arena());
        let mut editor = Editor::new(tree.snapshot());
        add_all(&mut editor, key, &[], snapshot.root())?;
        tree.publish(editor);
        Ok(AttributeIndex::newest_of(key, tree))
    }

    /// The index whose tree was saved as this version, and found again; see
    /// [`Tree::from_version`], also for what whoever calls makes sure of. `None` when no root of
    /// that version lies there.
    ///
    /// ```
    /// use jungle_tree::{Arena, AttributeIndex, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.put_attribute(&[], "age", 30)?;
    /// let index = AttributeIndex::build(&tree.snapshot(), "age")?;
    /// let (handle, version) = index.as_snapshot().version_id().to_parts();
    ///
    /// let saved = jungle_tree::VersionId::from_parts(handle, version);
    /// let again = AttributeIndex::from_version(&arena, index.key(), saved).unwrap();
    /// assert_eq!(again.find(30.into()).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_version(arena: &Arena, key: &str, id: VersionId) -> Option<AttributeIndex> {
        Tree::from_version(arena, id).map(|tree| AttributeIndex::newest_of(key, tree))
    }

    fn newest_of(key: &str, tree: Tree) -> AttributeIndex {
        let snapshot = tree.snapshot();
        AttributeIndex { key: key.into(), snapshot, line: Arc::new(Mutex::new(tree)) }
    }

    /// The index of the version `new`, made from this one, which is that of the version `old`:
    /// costs what differs between the two. Neither has to be the newer one.
    ///
    /// # Errors
    /// When there is no room for the index.
    pub fn updated(&self, old: &Snapshot, new: &Snapshot) -> Result<AttributeIndex, EditError> {
        let mut editor = Editor::new(self.snapshot.clone());
        let changes = diff(old, new);
        // What the old version has goes first: a place may have been given to another.
        for change in &changes {
            match change {
                Change::ChildAdded { .. } => {}
                Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
                    if **key == *self.key
                        && let Ok(node) = old.root().at(path)
                    {
                        remove_one(&mut editor, &self.key, path, node)?;
                    }
                }
                Change::ChildRemoved { path }
                | Change::Moved { from: path, .. }
                | Change::SubtreeSet { path, .. } => {
                    if let Ok(node) = old.root().at(path)
                        && !is_awake(Bug::IndexKeepsRemoved)
                    {
                        remove_all(&mut editor, &self.key, path, node)?;
                    }
                }
            }
        }
        for change in &changes {
            let path = change.path();
            let Ok(node) = new.root().at(path) else {
                continue;
            };
            match change {
                Change::Moved { .. } | Change::SubtreeSet { .. } => {
                    add_all(&mut editor, &self.key, path, node)?;
                }
                _ => add_one(&mut editor, &self.key, path, node)?,
            }
        }
        let mut line = self.line.lock().unwrap_or_else(|e| e.into_inner());
        if line.version_id() == self.snapshot.version_id() {
            line.publish(editor);
            let (key, snapshot) = (self.key.clone(), line.snapshot());
            return Ok(AttributeIndex { key, snapshot, line: Arc::clone(&self.line) });
        }
        drop(line);
        // Another index was made from this one before.
        let mut line = Tree::from_snapshot(&self.snapshot);
        line.publish(editor);
        Ok(AttributeIndex::newest_of(&self.key, line))
    }

    /// Uses again what only older indexes had that this one was made from, and nobody holds any
    /// more. The next one that is made from this does so, too; but there may be none. What waits
    /// for a version that somebody holds, of whatever tree, is left to the next collection.
    ///
    /// ```
    /// use jungle_tree::{Arena, AttributeIndex, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "age", 30)?;
    /// let before = tree.snapshot();
    /// let index = AttributeIndex::build(&before, "age")?;
    /// tree.put_attribute(&[], "age", 31)?;
    /// let newer = index.updated(&before, &tree.snapshot())?;
    /// drop(index);
    /// newer.reclaim();
    /// assert_eq!((newer.find(30.into()).count(), newer.find(31.into()).count()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reclaim(&self) {
        let mut line = self.line.lock().unwrap_or_else(|e| e.into_inner());
        // In slices, as others that write in this arena may wait for each of them.
        while line.keep_in_slices(Keep::Newest, RECLAIMED_MAX) {}
        // Whoever keeps an index holds the version that it is of, too, which lies between this one
        // and the one before: so that would wait for it until the next index.
        while line.leave_blocked(RECLAIMED_MAX) {}
    }

    /// The key of the attribute.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The paths of the nodes with this value, in document order.
    ///
    /// ```
    /// use jungle_tree::{Arena, AttributeIndex, Tree, Value};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// for age in [30, 41, 30] {
    ///     let person = tree.add_child(&[])?;
    ///     tree.put_attribute(&[person], "age", age)?;
    /// }
    /// let index = AttributeIndex::build(&tree.snapshot(), "age")?;
    /// let found: Vec<_> = index.find(30.into()).map(|path| path.to_string()).collect();
    /// assert_eq!(found, ["/0", "/2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(&self, value: ValueRef<'_>) -> impl Iterator<Item = Path> {
        let node = self.snapshot.root().child(KeyRef::Name(&name(value)));
        node.map(Hits::new).into_iter().flat_map(Hits::paths)
    }

    /// The paths of the nodes with a value in the range: by value, then in document order.
    ///
    /// ```
    /// use jungle_tree::{Arena, AttributeIndex, Tree, Value};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// for age in [30, 41, 30] {
    ///     let person = tree.add_child(&[])?;
    ///     tree.put_attribute(&[person], "age", age)?;
    /// }
    /// let index = AttributeIndex::build(&tree.snapshot(), "age")?;
    /// let older = index.range(Value::from(31)..).map(|path| path.to_string());
    /// assert_eq!(older.collect::<Vec<_>>(), ["/1"]);
    /// assert_eq!(index.range(..Value::from(50)).count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range(&self, range: impl RangeBounds<Value>) -> impl Iterator<Item = Path> {
        self.values(range).flat_map(Hits::paths)
    }

    /// What it has of each value in the range, in their order.
    ///
    /// ```
    /// use jungle_tree::{Arena, AttributeIndex, Tree, Value};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// for age in [30, 41, 30] {
    ///     let person = tree.add_child(&[])?;
    ///     tree.put_attribute(&[person], "age", age)?;
    /// }
    /// let index = AttributeIndex::build(&tree.snapshot(), "age")?;
    /// assert_eq!(index.values(Value::from(30)..).count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values(&self, range: impl RangeBounds<Value>) -> impl Iterator<Item = Hits<'_>> {
        let bound = |bound: Bound<&Value>| bound.map(|value| Key::from(name(value.as_ref())));
        let range = (bound(range.start_bound()), bound(range.end_bound()));
        self.snapshot.root().children_in(range).map(|(_, node)| Hits::new(node))
    }

    /// The index as a tree, for looking at its size.
    ///
    /// ```
    /// use jungle_tree::{Arena, AttributeIndex, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// for age in [30, 41, 30] {
    ///     let person = tree.add_child(&[])?;
    ///     tree.put_attribute(&[person], "age", age)?;
    /// }
    /// let index = AttributeIndex::build(&tree.snapshot(), "age")?;
    /// // Two values.
    /// assert_eq!(index.as_snapshot().root().child_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl fmt::Debug for AttributeIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttributeIndex")
            .field("key", &self.key)
            .field("snapshot", &self.snapshot)
            .finish()
    }
}

/// The name of a value in the index: names are ordered as the values are.
fn name(value: ValueRef<'_>) -> String {
    const MAX: usize = NAME_BYTES_MAX;
    let number = |letter: char, bits: u64| format!("{letter}{bits:016x}");
    match value {
        ValueRef::Null => "a".into(),
        ValueRef::Bool(bool) => format!("b{}", u8::from(bool)),
        ValueRef::Int(int) => number('c', int as u64 ^ 1 << 63),
        ValueRef::Float(float) => number('d', crate::value::ordered_bits(float)),
        ValueRef::Text(text) if text.len() <= MAX => format!("e{text}"),
        ValueRef::Text(text) => {
            let end = text.floor_char_boundary(MAX);
            // Longer than any short one: it can't be mistaken for one.
            format!("e{}{}", &text[..end], blake3::hash(text.as_bytes()))
        }
        ValueRef::Bytes(bytes) => {
            let mut name = String::from("f");
            for byte in bytes.iter().take(MAX) {
                // Writing to a string never fails.
                let _ = write!(name, "{byte:02x}");
            }
            if bytes.len() > MAX {
                let _ = write!(name, "{}", blake3::hash(bytes));
            }
            name
        }
    }
}

fn place(value: ValueRef<'_>, path: &[Key]) -> Vec<Key> {
    std::iter::once(Key::from(name(value))).chain(path.iter().cloned()).collect()
}

/// Each node of a subtree that has the attribute.
fn each_hit(
    key: &str,
    path: &[Key],
    node: Node<'_>,
    mut hit: impl FnMut(&[Key], Node<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let mut walk = node.walk();
    while let Some(node) = walk.next() {
        if node.attribute(key).is_some() {
            let at: Vec<Key> = path.iter().cloned().chain(walk.path()).collect();
            hit(&at, node)?;
        }
    }
    Ok(())
}

fn add_all(editor: &mut Editor, key: &str, path: &[Key], node: Node<'_>) -> Result<(), EditError> {
    each_hit(key, path, node, |path, node| add_one(editor, key, path, node))
}

fn remove_all(
    editor: &mut Editor,
    key: &str,
    path: &[Key],
    node: Node<'_>,
) -> Result<(), EditError> {
    each_hit(key, path, node, |path, node| remove_one(editor, key, path, node))
}

fn add_one(editor: &mut Editor, key: &str, path: &[Key], node: Node<'_>) -> Result<(), EditError> {
    let Some(value) = node.attribute(key) else {
        return Ok(());
    };
    let place = place(value, path);
    let mut depth = 0;
    let mut deepest = editor.root();
    while let Some(next) = place.get(depth).and_then(|key| deepest.child(key)) {
        deepest = next;
        depth += 1;
    }
    let is_leaf = !deepest.has_children();
    if depth == place.len() {
        // There already: as a leaf it is a hit, else it is marked as one.
        return if is_leaf { Ok(()) } else { editor.put_attribute(&place, HIT, ValueRef::Null) };
    }
    let mut cursor = editor.cursor(&place[..depth])?;
    if is_leaf && depth > 0 {
        cursor.put_attribute(HIT, ValueRef::Null)?;
    }
    for key in &place[depth..] {
        cursor.insert_child(key)?;
        cursor.enter(key)?;
    }
    Ok(())
}

fn remove_one(
    editor: &mut Editor,
    key: &str,
    path: &[Key],
    node: Node<'_>,
) -> Result<(), EditError> {
    let Some(value) = node.attribute(key) else {
        return Ok(());
    };
    let place = place(value, path);
    // The last node on the way that is there for something else, too.
    let (mut kept, mut kept_children) = (0, 0);
    let mut here = editor.root();
    for (depth, key) in place.iter().enumerate() {
        if depth == 0 || here.has_attributes() || here.child_count() > 1 {
            (kept, kept_children) = (depth, here.child_count());
        }
        match here.child(key) {
            Some(child) => here = child,
            None => return Ok(()),
        }
    }
    if here.has_children() {
        return editor.remove_attribute(&place, HIT).map(drop);
    }
    editor.remove(&place[..=kept])?;
    if kept > 0 && kept_children == 1 {
        // It is a leaf now, and a hit as such.
        editor.remove_attribute(&place[..kept], HIT)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jungle_testkit::{Rng, for_each_seed};

    use super::*;

    fn value(rng: &mut Rng) -> Value {
        match rng.below(8) {
            0 => Value::Null,
            1 => Value::from(rng.chance(1, 2)),
            2 => Value::from(rng.below(4) as f64 - 1.5),
            3 => Value::from("x".repeat([1023, 1024, 1100][rng.index(3)])),
            4 => Value::from(vec![rng.below(256) as u8; rng.index(3)]),
            5 => Value::from(["", "a", "ab", "é"][rng.index(4)]),
            _ => Value::from(rng.below(7) as i64 - 3),
        }
    }

    fn random_edit(rng: &mut Rng, editor: &mut Editor) {
        let mut paths = Vec::new();
        let mut walk = editor.root().walk();
        while walk.next().is_some() {
            paths.push(walk.path());
        }
        let path = rng.pick(&paths).clone();
        // Refused edits are fine.
        let _ = match rng.below(8) {
            0..2 => editor.add_child(&path).map(drop),
            2..6 => editor.put_attribute(&path, "x", value(rng).as_ref()),
            6 if rng.chance(1, 2) => editor.remove(&path),
            6 => editor.remove_attribute(&path, "x").map(drop),
            _ => {
                let parent = &paths[rng.index(paths.len())];
                editor.move_node(&path, parent, &["a", "b"][rng.index(2)].into())
            }
        };
    }

    fn scan(snapshot: &Snapshot) -> BTreeMap<Value, Vec<Path>> {
        let mut found: BTreeMap<Value, Vec<Path>> = BTreeMap::new();
        let mut walk = snapshot.root().walk();
        while let Some(node) = walk.next() {
            if let Some(value) = node.attribute("x") {
                found.entry(value.to_value()).or_default().push(walk.path());
            }
        }
        found
    }

    #[test]
    fn several_indexes_are_made_from_one() {
        for_each_seed(60, |rng| {
            let arena = Arena::new().unwrap();
            let mut tree = Tree::new(&arena);
            let index = AttributeIndex::build(&tree.snapshot(), "x").unwrap();
            let mut made = vec![(tree.snapshot(), index)];
            for _ in 0..12 {
                let (before, index) = rng.pick(&made).clone();
                let mut editor = Editor::new(before.clone());
                (0..rng.below(8)).for_each(|_| random_edit(rng, &mut editor));
                tree.publish(editor);
                let after = tree.snapshot();
                let index = index.updated(&before, &after).unwrap();
                made.push((after, index));
                if made.len() > 5 {
                    made.swap_remove(rng.index(made.len()));
                }
                if rng.chance(1, 4) {
                    arena.collect();
                }
                for (snapshot, index) in &made {
                    let built = AttributeIndex::build(snapshot, "x").unwrap();
                    let (kept, built) = (index.as_snapshot().root(), built.as_snapshot().root());
                    assert!(kept.is_equal(built));
                }
            }
        });
    }

    #[test]
    fn an_index_kept_up_to_date_finds_what_a_scan_finds() {
        for_each_seed(150, |rng| {
            let mut tree = Tree::new(&Arena::new().unwrap());
            let mut index = AttributeIndex::build(&tree.snapshot(), "x").unwrap();
            for _ in 0..12 {
                let before = tree.snapshot();
                let mut editor = Editor::new(before.clone());
                (0..rng.below(8)).for_each(|_| random_edit(rng, &mut editor));
                tree.publish(editor);
                let after = tree.snapshot();
                index = index.updated(&before, &after).unwrap();
                let model = scan(&after);
                for (value, paths) in &model {
                    assert_eq!(index.find(value.as_ref()).collect::<Vec<_>>(), *paths, "{value}");
                }
                let afresh = AttributeIndex::build(&after, "x").unwrap();
                let (kept, built) = (index.as_snapshot(), afresh.as_snapshot());
                assert!(kept.root().is_equal(built.root()), "{}", diff(built, kept));
                let (a, b) = (value(rng), value(rng));
                let (low, high) = if a <= b { (a, b) } else { (b, a) };
                let expected = model.range(low.clone()..high.clone()).flat_map(|(_, p)| p.clone());
                let mut expected: Vec<Path> = expected.collect();
                let mut found: Vec<Path> = index.range(low..high).collect();
                expected.sort();
                found.sort();
                assert_eq!(found, expected);
            }
        });
    }

    /// The hash of a long one stood where the other had a character.
    #[test]
    fn a_text_is_in_order_wherever_a_long_one_is_cut() {
        const MAX: usize = AttributeIndex::VALUE_BYTES_ORDERED;
        for common in MAX - 4..MAX {
            let begun = "x".repeat(common);
            let long = Value::from(format!("{begun}{}", "\u{1f333}".repeat(9)));
            let longer = Value::from(format!("{begun}{}", "y".repeat(40)));
            let short = Value::from(format!("{begun}z"));
            for (less, more) in [(&short, &long), (&longer, &long), (&longer, &short)] {
                assert!(less < more);
                assert!(name(less.as_ref()) < name(more.as_ref()), "{common} bytes in common");
            }
        }
    }

    #[test]
    fn values_and_their_names_are_in_the_same_order() {
        for_each_seed(2000, |rng| {
            let (a, b) = (value(rng), value(rng));
            let (left, right) = (name(a.as_ref()), name(b.as_ref()));
            assert_eq!(a.cmp(&b), left.cmp(&right), "{a} and {b}");
        });
    }
}
