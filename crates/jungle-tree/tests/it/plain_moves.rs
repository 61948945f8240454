//! Moves as a diff finds them, and merges of such, whoever prevails, worked out beside it: items in
//! folders that stay where they are, each with kids by which it is known again.

use std::collections::{BTreeMap, BTreeSet};

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{
    Arena, ConflictKind, EditError, Editor, Key, MergeOptions, Path, Resolution, Snapshot, Tree,
    ValueRef, apply, diff, merge,
};

const FOLDERS: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 2] = ["x", "y"];
/// Those of the base have lower numbers.
const FIRST_OF_OURS: Id = 1000;
const FIRST_OF_THEIRS: Id = 2000;

/// An item, wherever it is.
type Id = u32;
type Items = BTreeMap<Id, Item>;
type Numbers = BTreeMap<String, i64>;
type Conflicts = BTreeSet<(Path, ConflictKind)>;

#[derive(Clone, Debug, PartialEq)]
struct Item {
    folder: &'static str,
    name: String,
    /// What it holds itself, under no name, and what its kids hold.
    nodes: BTreeMap<String, Numbers>,
}

impl Item {
    fn path(&self) -> Path {
        [self.folder, self.name.as_str()].into_iter().collect()
    }

    /// The path of a kid, or of the item itself.
    fn at(&self, kid: &str) -> Path {
        if kid.is_empty() { self.path() } else { self.path().join(kid) }
    }

    /// Was it moved, or anything in it put or added?
    fn is_changed(&self, before: &Item) -> bool {
        self.path() != before.path() || self.changed(before).next().is_some()
    }

    /// The nodes of it that are not what they were, or new.
    fn changed(&self, before: &Item) -> impl Iterator<Item = (&String, &Numbers)> {
        self.nodes.iter().filter(move |(kid, numbers)| before.nodes.get(*kid) != Some(*numbers))
    }
}

/// All nodes of a tree of these, by their paths.
fn plain(items: &Items) -> BTreeMap<Path, Numbers> {
    let mut plain = BTreeMap::from([(Path::root(), Numbers::new())]);
    plain.extend(FOLDERS.map(|folder| (Path::from([folder]), Numbers::new())));
    for item in items.values() {
        plain.extend(item.nodes.iter().map(|(kid, numbers)| (item.at(kid), numbers.clone())));
    }
    plain
}

/// The same of a version that is whole.
#[track_caller]
fn held(version: &Snapshot) -> BTreeMap<Path, Numbers> {
    version.check().unwrap();
    let number = |(key, value): (&str, ValueRef<'_>)| {
        (key.to_owned(), value.as_int().expect("only numbers are put"))
    };
    let mut held = BTreeMap::new();
    let mut walk = version.root().walk();
    while let Some(node) = walk.next() {
        held.insert(walk.path(), node.attributes().map(number).collect());
    }
    held
}

/// A version, and what it should hold.
struct Side {
    version: Snapshot,
    items: Items,
}

impl Side {
    /// Nothing but the folders.
    fn first() -> Side {
        let mut tree = Tree::new(&Arena::new().unwrap());
        for folder in FOLDERS {
            tree.insert_child(&[], &folder.into()).unwrap();
        }
        Side { version: tree.snapshot(), items: Items::new() }
    }

    /// Some random edits later; new items have numbers from `first` on.
    fn later(&self, rng: &mut Rng, edits: u64, first: Id) -> Side {
        let mut tree = Tree::from_snapshot(&self.version);
        let mut edited = Edited { before: &self.items, now: self.items.clone(), loose: [].into() };
        for new in (first..).take(edits as usize) {
            tree.edit(|editor| edited.some(rng, editor, new)).unwrap();
        }
        let side = Side { version: tree.snapshot(), items: edited.now };
        assert_eq!(held(&side.version), plain(&side.items));
        side
    }
}

/// Items that are edited.
struct Edited<'a> {
    before: &'a Items,
    now: Items,
    /// Items whose kids were edited, so that they would not be known again.
    loose: BTreeSet<Id>,
}

impl Edited<'_> {
    /// One edit. `new` is the number of an item, and a name, that there was not yet.
    fn some(&mut self, rng: &mut Rng, editor: &mut Editor, new: Id) -> Result<(), EditError> {
        let ids: Vec<Id> = self.now.keys().copied().collect();
        let (kind, folder) = (rng.below(8), *rng.pick(&FOLDERS));
        if ids.is_empty() || kind == 0 {
            return self.add(rng, editor, folder, new);
        }
        let id = *rng.pick(&ids);
        let before = self.before.get(&id);
        let item = self.now.get_mut(&id).expect("picked from there");
        let is_moved = before.is_some_and(|before| before.path() != item.path());
        match kind {
            1..4 if before.is_none() || !self.loose.contains(&id) => {
                let from = item.path();
                item.folder = folder;
                if rng.chance(1, 3) {
                    item.name = format!("i{new}");
                }
                if item.path() != from {
                    editor.move_node(&from, &[folder.into()], &Key::from(item.name.as_str()))?;
                }
            }
            4 => {
                editor.remove(&item.path())?;
                self.now.remove(&id);
            }
            5 | 6 if !is_moved => {
                self.loose.insert(id);
                change_kid(rng, editor, item, new)?;
            }
            _ => put(rng, editor, item, "")?,
        }
        Ok(())
    }

    fn add(
        &mut self,
        rng: &mut Rng,
        editor: &mut Editor,
        folder: &'static str,
        new: Id,
    ) -> Result<(), EditError> {
        let nodes = BTreeMap::from([(String::new(), Numbers::new())]);
        let mut item = Item { folder, name: format!("i{new}"), nodes };
        editor.insert_child(&[folder.into()], &Key::from(item.name.as_str()))?;
        put(rng, editor, &mut item, "")?;
        for kid in ["k", "l"].into_iter().take(rng.range(1..3) as usize) {
            add_kid(rng, editor, &mut item, kid.to_owned())?;
        }
        self.now.insert(new, item);
        Ok(())
    }
}

/// Puts something in a kid, adds one, or removes one; one stays.
fn change_kid(
    rng: &mut Rng,
    editor: &mut Editor,
    item: &mut Item,
    new: Id,
) -> Result<(), EditError> {
    let kids: Vec<String> = item.nodes.keys().filter(|kid| !kid.is_empty()).cloned().collect();
    let kid = rng.pick(&kids);
    match rng.below(4) {
        0 => add_kid(rng, editor, item, format!("k{new}")),
        1 if kids.len() > 1 => {
            item.nodes.remove(kid);
            editor.remove(&item.at(kid))
        }
        _ => put(rng, editor, item, kid),
    }
}

fn add_kid(
    rng: &mut Rng,
    editor: &mut Editor,
    item: &mut Item,
    kid: String,
) -> Result<(), EditError> {
    editor.insert_child(&item.path(), &Key::from(kid.as_str()))?;
    item.nodes.insert(kid.clone(), Numbers::new());
    put(rng, editor, item, &kid)
}

fn put(rng: &mut Rng, editor: &mut Editor, item: &mut Item, kid: &str) -> Result<(), EditError> {
    let (key, number) = (*rng.pick(&KEYS), rng.below(4) as i64);
    editor.put_attribute(&item.at(kid), key, number)?;
    item.nodes.entry(kid.to_owned()).or_default().insert(key.to_owned(), number);
    Ok(())
}

/// What differs, each as a change is printed.
fn difference(before: &Items, after: &Items) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (id, old) in before {
        let Some(item) = after.get(id) else {
            lines.insert(format!("- {}", old.path()));
            continue;
        };
        if item.path() != old.path() {
            lines.insert(format!("> {} -> {}", old.path(), item.path()));
        }
        let gone = old.nodes.keys().filter(|kid| !item.nodes.contains_key(*kid));
        lines.extend(gone.map(|kid| format!("- {}", item.at(kid))));
    }
    for (id, item) in after {
        for (kid, numbers) in &item.nodes {
            let (old, path) = (before.get(id).and_then(|old| old.nodes.get(kid)), item.at(kid));
            if old.is_none() {
                lines.insert(format!("+ {path}"));
            }
            for (key, number) in numbers {
                if old.and_then(|old| old.get(key)) != Some(number) {
                    lines.insert(format!("~ {path} @{key} = {number}"));
                }
            }
        }
    }
    lines
}

/// What both did, by the table of `docs/merge.md`.
fn both(
    before: &Items,
    ours: &Items,
    theirs: &Items,
    resolution: Resolution,
) -> (Items, Conflicts) {
    let (mut result, mut conflicts) = (theirs.clone(), Conflicts::new());
    for (id, old) in before {
        match (ours.get(id), theirs.get(id)) {
            (Some(ours), Some(theirs)) => {
                let item = item_of_both(old, ours, theirs, resolution, &mut conflicts);
                result.insert(*id, item);
            }
            (None, Some(theirs)) => {
                let is_changed = theirs.is_changed(old);
                if is_changed {
                    conflicts.insert((theirs.path(), ConflictKind::ChangedBelow));
                }
                if !is_changed || resolution != Resolution::Theirs {
                    result.remove(id);
                }
            }
            (Some(ours), None) => {
                let moved = (ours.path() != old.path()).then(|| old.path());
                let put = ours.changed(old).map(|(kid, _)| ours.at(kid));
                let lost = moved.into_iter().chain(put);
                conflicts.extend(lost.map(|path| (path, ConflictKind::RemovedBelow)));
            }
            (None, None) => {}
        }
    }
    let new = ours.iter().filter(|(id, _)| !before.contains_key(id));
    result.extend(new.map(|(id, item)| (*id, item.clone())));
    (result, conflicts)
}

/// One that both have.
fn item_of_both(
    old: &Item,
    ours: &Item,
    theirs: &Item,
    resolution: Resolution,
    conflicts: &mut Conflicts,
) -> Item {
    let mut item = theirs.clone();
    let is_apart = theirs.path() != old.path() && theirs.path() != ours.path();
    if ours.path() != old.path() {
        let prevails = match resolution {
            Resolution::Ours => true,
            Resolution::Theirs => false,
            _ => ours.path() < theirs.path(),
        };
        if is_apart {
            conflicts.insert((theirs.path(), ConflictKind::MovedApart));
        }
        if !is_apart || prevails {
            (item.folder, item.name) = (ours.folder, ours.name.clone());
        }
    }
    for (kid, numbers) in old.nodes.iter().filter(|(kid, _)| !ours.nodes.contains_key(*kid)) {
        let Some(now) = theirs.nodes.get(kid) else { continue };
        if now != numbers {
            conflicts.insert((item.at(kid), ConflictKind::ChangedBelow));
        }
        if now == numbers || resolution != Resolution::Theirs {
            item.nodes.remove(kid);
        }
    }
    for (kid, numbers) in ours.changed(old) {
        let was = old.nodes.get(kid);
        if was.is_some() && !theirs.nodes.contains_key(kid) {
            conflicts.insert((ours.at(kid), ConflictKind::RemovedBelow));
            continue;
        }
        for (key, number) in numbers {
            let was = was.and_then(|was| was.get(key));
            let other = theirs.nodes.get(kid).and_then(|theirs| theirs.get(key));
            if was == Some(number) {
                continue;
            }
            if other != was && other != Some(number) {
                conflicts.insert((item.at(kid), ConflictKind::Attribute));
            }
            let prevails = match resolution {
                Resolution::Ours => true,
                Resolution::Theirs => false,
                _ => Some(number) > other,
            };
            if other == was || prevails {
                item.nodes.entry(kid.clone()).or_default().insert(key.clone(), *number);
            }
        }
    }
    item
}

/// A version of some items, and two that were made from it.
fn versions(rng: &mut Rng) -> [Side; 3] {
    let edits = rng.range(4..24);
    let base = Side::first().later(rng, edits, 1);
    let [ours, theirs] = [FIRST_OF_OURS, FIRST_OF_THEIRS].map(|first| {
        let edits = rng.below(10);
        base.later(rng, edits, first)
    });
    [base, ours, theirs]
}

#[test]
fn moves_are_found_where_they_were_made() {
    for_each_seed(1500, |rng| {
        let [base, after, _] = versions(rng);
        let changes = diff(&base.version, &after.version);
        let lines: Vec<String> = changes.iter().map(ToString::to_string).collect();
        let told: BTreeSet<String> = lines.iter().cloned().collect();
        assert_eq!((told.len(), &told), (lines.len(), &difference(&base.items, &after.items)));
        let mut tree = Tree::from_snapshot(&base.version);
        tree.edit(|editor| apply(editor, &changes)).unwrap();
        assert_eq!(held(&tree.snapshot()), plain(&after.items), "{changes}");
    });
}

#[test]
fn a_merge_of_moves_comes_to_what_a_list_of_items_says() {
    let mut met = BTreeSet::new();
    for_each_seed(3000, |rng| {
        let [base, ours, theirs] = versions(rng);
        let (mine, others) =
            (diff(&base.version, &ours.version), diff(&base.version, &theirs.version));
        for resolution in [Resolution::Ours, Resolution::Theirs, Resolution::Symmetric] {
            let said = format!("{resolution:?}\nours:\n{mine}theirs:\n{others}");
            let options = MergeOptions::new().resolution(resolution);
            let merged = merge(&base.version, &ours.version, &theirs.version, &options).unwrap();
            let conflicts = merged.conflicts.iter().map(|it| (it.path.clone(), it.kind));
            let conflicts: Conflicts = conflicts.collect();
            let (expected, named) = both(&base.items, &ours.items, &theirs.items, resolution);
            assert_eq!(conflicts, named, "{said}");
            let mut tree = Tree::from_snapshot(&theirs.version);
            tree.publish(merged.editor);
            assert_eq!(held(&tree.snapshot()), plain(&expected), "{said}");
            met.extend(named.into_iter().map(|(_, kind)| kind));
        }
    });
    let all = BTreeSet::from([
        ConflictKind::Attribute,
        ConflictKind::RemovedBelow,
        ConflictKind::ChangedBelow,
        ConflictKind::MovedApart,
    ]);
    assert!(met == all || std::env::var_os("JUNGLE_SEED").is_some(), "only {met:?}");
}
