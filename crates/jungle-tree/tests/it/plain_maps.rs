//! What the algebra does to attributes and to children under names, worked out beside it on plain
//! maps: what differs, what becomes of a tree to which that is applied, and what of a merge, with
//! the places of its conflicts.

use std::collections::{BTreeMap, BTreeSet};

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{
    Arena, Change, ConflictKind, Key, MergeOptions, Node, Path, Resolution, Snapshot, Tree,
    ValueRef, apply, diff, merge,
};

const NAMES: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 2] = ["x", "y"];
/// A side adds fewer nodes than what would be told as one subtree.
const EDITS_MAX: u64 = 12;

/// Where a node is: the names on the way.
type Place = Vec<String>;
type Attributes = BTreeMap<String, i64>;
type Conflicts = BTreeSet<(Place, ConflictKind)>;

/// The nodes of a tree by their places, the root among them.
#[derive(Clone, Debug, PartialEq)]
struct Plain(BTreeMap<Place, Attributes>);

fn place_of(path: &[Key]) -> Place {
    path.iter().map(ToString::to_string).collect()
}

fn path_of(place: &[String]) -> Path {
    place.iter().map(String::as_str).collect()
}

impl Plain {
    fn of(root: Node<'_>) -> Plain {
        let mut plain = BTreeMap::new();
        let mut walk = root.walk();
        while let Some(node) = walk.next() {
            let number = |(key, value): (&str, ValueRef<'_>)| {
                (key.to_owned(), value.as_int().expect("only numbers are put"))
            };
            plain.insert(place_of(&walk.path()), node.attributes().map(number).collect());
        }
        Plain(plain)
    }

    fn has(&self, place: &[String]) -> bool {
        self.0.contains_key(place)
    }

    fn at(&mut self, place: &[String]) -> &mut Attributes {
        self.0.get_mut(place).expect("it was looked for")
    }

    fn remove(&mut self, place: &[String]) {
        self.0.retain(|other, _| !other.starts_with(place));
    }

    /// The topmost nodes that another tree has not.
    fn gone_in(&self, other: &Plain) -> Vec<Place> {
        let is_top = |place: &&Place| {
            !other.has(place) && place.split_last().is_some_and(|(_, above)| other.has(above))
        };
        self.0.keys().filter(is_top).cloned().collect()
    }

    /// Is a node of this tree, at this place or above, not in the other?
    fn is_cut_in(&self, other: &Plain, place: &[String]) -> bool {
        (1..=place.len()).any(|depth| self.has(&place[..depth]) && !other.has(&place[..depth]))
    }

    fn apply(&mut self, change: &Change) {
        let place = place_of(change.path());
        match change {
            Change::ChildAdded { .. } => {
                let (_, above) = place.split_last().expect("the root is there");
                assert!(self.has(above) && !self.has(&place), "{change}");
                self.0.insert(place, Attributes::new());
            }
            Change::ChildRemoved { .. } => {
                assert!(self.has(&place), "{change}");
                self.remove(&place);
            }
            Change::AttributePut { key, value, .. } => {
                let number = value.as_ref().as_int().expect("only numbers are put");
                self.at(&place).insert(key.to_string(), number);
            }
            Change::AttributeRemoved { key, .. } => {
                assert!(self.at(&place).remove(&**key).is_some(), "{change}");
            }
            _ => panic!("{change}: nothing was moved, and little added"),
        }
    }
}

/// The attributes in which a node differs, with what they were and are.
fn changed(
    before: Option<&Attributes>,
    after: &Attributes,
) -> Vec<(&'static str, Option<i64>, Option<i64>)> {
    let both = |key: &'static str| {
        let was = before.and_then(|before| before.get(key)).copied();
        (key, was, after.get(key).copied())
    };
    KEYS.into_iter().map(both).filter(|(_, was, is)| was != is).collect()
}

/// What differs, each as a change is printed.
fn difference(before: &Plain, after: &Plain) -> BTreeSet<String> {
    let gone = before.gone_in(after);
    let mut lines: BTreeSet<String> =
        gone.iter().map(|place| format!("- {}", path_of(place))).collect();
    for (place, attributes) in &after.0 {
        let (old, path) = (before.0.get(place), path_of(place));
        if old.is_none() {
            lines.insert(format!("+ {path}"));
        }
        for (key, _, is) in changed(old, attributes) {
            let is = is.map_or("removed".to_owned(), |is| format!("= {is}"));
            lines.insert(format!("~ {path} @{key} {is}"));
        }
    }
    lines
}

/// What both did, by the table of `docs/merge.md`.
fn both(
    before: &Plain,
    ours: &Plain,
    theirs: &Plain,
    resolution: Resolution,
) -> (Plain, Conflicts) {
    let (mut result, mut conflicts) = (theirs.clone(), Conflicts::new());
    for place in before.gone_in(ours) {
        let mut within = theirs.0.iter().filter(|(at, _)| at.starts_with(&place));
        let is_changed = within.any(|(at, attributes)| before.0.get(at) != Some(attributes));
        if is_changed {
            conflicts.insert((place.clone(), ConflictKind::ChangedBelow));
        }
        if !is_changed || resolution != Resolution::Theirs {
            result.remove(&place);
        }
    }
    for (place, attributes) in &ours.0 {
        let old = before.0.get(place);
        if old == Some(attributes) {
            continue;
        }
        if before.is_cut_in(theirs, place) {
            conflicts.insert((place.clone(), ConflictKind::RemovedBelow));
            continue;
        }
        let node = result.0.entry(place.clone()).or_default();
        for (key, was, is) in changed(old, attributes) {
            let other = theirs.0.get(place).and_then(|theirs| theirs.get(key)).copied();
            if other != was && other != is {
                conflicts.insert((place.clone(), ConflictKind::Attribute));
            }
            let prevails = match resolution {
                Resolution::Ours => true,
                Resolution::Theirs => false,
                _ => is > other,
            };
            if other != was && !prevails {
                continue;
            }
            match is {
                Some(is) => node.insert(key.to_owned(), is),
                None => node.remove(key),
            };
        }
    }
    (result, conflicts)
}

/// A version some random edits later, and what they make of a plain map.
fn later(rng: &mut Rng, base: &Snapshot, edits: u64) -> (Snapshot, Plain) {
    let (mut tree, mut plain) = (Tree::from_snapshot(base), Plain::of(base.root()));
    for _ in 0..edits {
        let places: Vec<Place> = plain.0.keys().cloned().collect();
        let mut place = rng.pick(&places).clone();
        let (path, key) = (path_of(&place), *rng.pick(&KEYS));
        match rng.below(8) {
            0..3 => {
                let name = *rng.pick(&NAMES);
                place.push(name.to_owned());
                let is_new = !plain.has(&place);
                assert_eq!(tree.insert_child(&path, &name.into()).is_ok(), is_new);
                plain.0.entry(place).or_default();
            }
            3 if !place.is_empty() => {
                tree.remove(&path).unwrap();
                plain.remove(&place);
            }
            4 => {
                let was_there = plain.at(&place).remove(key).is_some();
                assert_eq!(tree.remove_attribute(&path, key), Ok(was_there));
            }
            _ => {
                let number = rng.below(4) as i64;
                tree.put_attribute(&path, key, number).unwrap();
                plain.at(&place).insert(key.to_owned(), number);
            }
        }
    }
    let version = tree.snapshot();
    assert_eq!(Plain::of(version.root()), plain);
    (version, plain)
}

/// A version with up to some twenty nodes, and two that were made from it.
fn versions(rng: &mut Rng) -> [(Snapshot, Plain); 3] {
    let empty = Tree::new(&Arena::new().unwrap()).snapshot();
    let edits = rng.below(60);
    let base = later(rng, &empty, edits);
    let sides = [rng.below(EDITS_MAX + 1), rng.below(EDITS_MAX + 1)];
    let [ours, theirs] = sides.map(|edits| later(rng, &base.0, edits));
    [base, ours, theirs]
}

#[test]
fn what_differs_is_what_plain_maps_say() {
    for_each_seed(1500, |rng| {
        let [(base, before), (ours, after), _] = versions(rng);
        let changes = diff(&base, &ours);
        let lines: Vec<String> = changes.iter().map(ToString::to_string).collect();
        let told: BTreeSet<String> = lines.iter().cloned().collect();
        assert_eq!((told.len(), &told), (lines.len(), &difference(&before, &after)));
        let mut plain = before;
        changes.iter().for_each(|change| plain.apply(change));
        assert_eq!(plain, after, "{changes}");
        let mut tree = Tree::from_snapshot(&base);
        tree.edit(|editor| apply(editor, &changes)).unwrap();
        assert_eq!(Plain::of(tree.snapshot().root()), after, "{changes}");
    });
}

#[test]
fn a_merge_comes_to_what_plain_maps_say() {
    for_each_seed(3000, |rng| {
        let [(base, before), (ours, mine), (theirs, others)] = versions(rng);
        let (of_ours, of_theirs) = (diff(&base, &ours), diff(&base, &theirs));
        for resolution in [Resolution::Ours, Resolution::Theirs, Resolution::Symmetric] {
            let said = format!("{resolution:?}\nours:\n{of_ours}theirs:\n{of_theirs}");
            let options = MergeOptions::new().resolution(resolution);
            let merged = merge(&base, &ours, &theirs, &options).unwrap();
            let conflicts = merged.conflicts.iter();
            let conflicts = conflicts.map(|conflict| (place_of(&conflict.path), conflict.kind));
            let conflicts: Conflicts = conflicts.collect();
            let (expected, places) = both(&before, &mine, &others, resolution);
            assert_eq!(Plain::of(merged.editor.root()), expected, "{said}");
            assert_eq!(conflicts, places, "{said}");
            assert!(merged.renamed.is_empty(), "{said}");
        }
    });
}
