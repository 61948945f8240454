//! Where a rebase puts nodes that are added, moved and removed, and which positions they get,
//! worked out beside it: here a tree is a list of who is where, each node known by a number.
//!
//! Ours are taken one by one, as they were made, up to the first that contradicts theirs. Until
//! then all resolutions come to the same; what that one is called is the same for all, too, and
//! where theirs prevail it is as if we had not said it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{
    Arena, Change, ChangeSet, ConflictKind, Key, MergeOptions, Path, Position, Resolution,
    Snapshot, Tree, ValueRef, apply, rebase_over,
};

const NAMES: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 2] = ["x", "y"];
/// Put once, when a node is added that can be no other one.
const NUMBER: &str = "n";
/// Those of the base have lower numbers.
const FIRST_OF_OURS: Id = 1000;
const FIRST_OF_THEIRS: Id = 2000;

/// A node, wherever it is; the root is 0.
type Id = u32;
/// The attributes of the nodes, by their paths.
type Plain = BTreeMap<Path, BTreeMap<String, i64>>;

/// What a change does, said of nodes.
#[derive(Clone, Debug)]
enum Did {
    /// This one, to be a child of that one.
    Added(Id, Id, Key),
    Moved(Id, Id, Key),
    Removed(Id),
    Put(Id, &'static str, Option<i64>),
}

/// Who is where.
#[derive(Clone, Debug, Default)]
struct Forest {
    places: BTreeMap<Id, (Id, Key)>,
    attributes: BTreeMap<(Id, &'static str), i64>,
    /// From the lowest number that a node has given to its children to behind the highest.
    given: BTreeMap<Id, Range<i64>>,
}

impl Forest {
    fn has(&self, id: Id) -> bool {
        id == 0 || self.places.contains_key(&id)
    }

    fn child(&self, parent: Id, key: &Key) -> Option<Id> {
        let mut places = self.places.iter();
        places.find_map(|(id, (at, its))| (*at == parent && its == key).then_some(*id))
    }

    /// The positions of a node's children, in order.
    fn positions(&self, parent: Id) -> Vec<Position> {
        let children = self.places.values().filter(|(at, _)| *at == parent);
        let positions = children.filter_map(|(_, key)| match key {
            Key::Position(position) => Some(position.clone()),
            Key::Name(_) => None,
        });
        positions.collect::<BTreeSet<Position>>().into_iter().collect()
    }

    fn given(&self, parent: Id) -> Range<i64> {
        self.given.get(&parent).cloned().unwrap_or_default()
    }

    /// A node and those that it is in.
    fn upward(&self, id: Id) -> impl Iterator<Item = Id> {
        std::iter::successors(Some(id), |id| self.places.get(id).map(|(parent, _)| *parent))
    }

    fn is_within(&self, id: Id, above: Id) -> bool {
        self.upward(id).any(|id| id == above)
    }

    /// A node and all that is in it.
    fn within(&self, above: Id) -> Vec<Id> {
        let all = self.places.keys().copied().chain([0]);
        all.filter(|&id| self.is_within(id, above)).collect()
    }

    fn path(&self, id: Id) -> Path {
        let places = self.upward(id).filter_map(|id| self.places.get(&id));
        let mut keys: Vec<Key> = places.map(|(_, key)| key.clone()).collect();
        keys.reverse();
        keys.into()
    }

    fn place(&mut self, id: Id, parent: Id, key: &Key) {
        if let Key::Position(position) = key {
            let given = self.given.entry(parent).or_default();
            given.start = given.start.min(position.index());
            given.end = given.end.max(position.index() + 1);
        }
        self.places.insert(id, (parent, key.clone()));
    }

    fn take(&mut self, did: &Did) {
        match did {
            Did::Added(id, parent, key) | Did::Moved(id, parent, key) => {
                self.place(*id, *parent, key);
            }
            Did::Removed(id) => {
                for gone in self.within(*id) {
                    self.places.remove(&gone);
                }
            }
            Did::Put(id, key, Some(number)) => {
                self.attributes.insert((*id, *key), *number);
            }
            Did::Put(id, key, None) => {
                self.attributes.remove(&(*id, *key));
            }
        }
    }

    /// As a tree is told of it.
    fn change(&self, did: &Did) -> Change {
        match did {
            Did::Added(_, parent, key) => {
                Change::ChildAdded { path: self.path(*parent).join(key.clone()) }
            }
            Did::Moved(id, parent, key) => {
                Change::Moved { from: self.path(*id), to: self.path(*parent).join(key.clone()) }
            }
            Did::Removed(id) => Change::ChildRemoved { path: self.path(*id) },
            Did::Put(id, key, Some(number)) => {
                let (path, value) = (self.path(*id), (*number).into());
                Change::AttributePut { path, key: (*key).into(), value }
            }
            Did::Put(id, key, None) => {
                Change::AttributeRemoved { path: self.path(*id), key: (*key).into() }
            }
        }
    }

    fn plain(&self) -> Plain {
        let mut plain = Plain::new();
        for id in self.within(0) {
            let attributes = self.attributes.iter().filter(|((of, _), _)| *of == id);
            let attributes = attributes.map(|((_, key), number)| ((*key).to_owned(), *number));
            plain.insert(self.path(id), attributes.collect());
        }
        plain
    }
}

fn plain(version: &Snapshot) -> Plain {
    version.check().unwrap();
    let mut plain = Plain::new();
    let mut walk = version.root().walk();
    while let Some(node) = walk.next() {
        let number = |(key, value): (&str, ValueRef<'_>)| {
            (key.to_owned(), value.as_int().expect("only numbers are put"))
        };
        plain.insert(walk.path(), node.attributes().map(number).collect());
    }
    plain
}

#[track_caller]
fn applied(version: &Snapshot, changes: &ChangeSet) -> Snapshot {
    let mut tree = Tree::from_snapshot(version);
    let done = tree.edit(|editor| apply(editor, changes));
    done.unwrap_or_else(|error| panic!("{error}\n{changes}"));
    tree.snapshot()
}

/// A version, and how it came to be.
struct Side {
    version: Snapshot,
    forest: Forest,
    did: Vec<Did>,
    changes: ChangeSet,
}

/// A version some random edits later; new nodes have numbers from `first` on.
fn later(rng: &mut Rng, base: (&Snapshot, &Forest), edits: u64, first: Id) -> Side {
    let (mut forest, mut did, mut changes) = (base.1.clone(), Vec::new(), ChangeSet::new());
    for new in (first..).take(edits as usize) {
        for one in edit(rng, &forest, new) {
            changes.push(forest.change(&one));
            forest.take(&one);
            did.push(one);
        }
    }
    let version = applied(base.0, &changes);
    assert_eq!(plain(&version), forest.plain());
    for id in forest.within(0) {
        let node = version.root().at(&forest.path(id)).expect("it is there, as was looked at");
        assert_eq!(node.lowest_position()..node.next_position(), forest.given(id));
    }
    Side { version, forest, did, changes }
}

/// One edit, where it can be made. Only nodes of the base are moved, and of others only those with
/// positions are removed: a node under a name may be one that both have added.
fn edit(rng: &mut Rng, forest: &Forest, new: Id) -> Vec<Did> {
    let nodes = forest.within(0);
    let (id, parent) = (*rng.pick(&nodes), *rng.pick(&nodes));
    let key = key(rng, forest, parent);
    let is_free = forest.child(parent, &key).is_none();
    let is_of_base = (1..FIRST_OF_OURS).contains(&id);
    let has_position = matches!(forest.places.get(&id), Some((_, Key::Position(_))));
    match rng.below(20) {
        0..6 if is_free => {
            let mut did = vec![Did::Added(new, parent, key.clone())];
            if new < FIRST_OF_OURS || matches!(key, Key::Position(_)) {
                did.push(Did::Put(new, NUMBER, Some(i64::from(new))));
            }
            did
        }
        6..12 if is_free && is_of_base && !forest.is_within(parent, id) => {
            vec![Did::Moved(id, parent, key)]
        }
        12 if is_of_base || has_position => vec![Did::Removed(id)],
        13 => vec![Did::Put(id, KEYS[rng.index(KEYS.len())], None)],
        14.. => vec![Did::Put(id, KEYS[rng.index(KEYS.len())], Some(rng.below(4) as i64))],
        _ => Vec::new(),
    }
}

/// A key for a new child: a name, the next number on either side, or a fraction behind a sibling.
fn key(rng: &mut Rng, forest: &Forest, parent: Id) -> Key {
    let positions = forest.positions(parent);
    match rng.below(8) {
        0..4 => Key::from(*rng.pick(&NAMES)),
        4 => Key::position(forest.given(parent).start - 1),
        5 if !positions.is_empty() => {
            let at = rng.index(positions.len());
            let left = &positions[at];
            let number = || Position::new(left.index() + 1).ok();
            let right = positions.get(at + 1).cloned().or_else(number);
            Key::from(Position::between(Some(left), right.as_ref()).expect("there is room"))
        }
        _ => Key::position(forest.given(parent).end),
    }
}

/// What theirs came to, with ours so far.
struct Model<'a> {
    base: &'a Forest,
    theirs: &'a Forest,
    /// Which attributes they put or removed.
    touched: BTreeSet<(Id, &'static str)>,
    now: Forest,
    /// Nodes of ours that are theirs: both have added them, under one name.
    shared: BTreeMap<Id, Id>,
    /// What we moved away from where it was in the base.
    moved: BTreeSet<Id>,
    /// Which other keys ours got, in order: only whether a fraction is right is looked at here.
    renamed: std::slice::Iter<'a, (Path, Path)>,
}

impl<'a> Model<'a> {
    fn new(base: &'a Side, theirs: &'a Side, renamed: &'a [(Path, Path)]) -> Model<'a> {
        let touched = theirs.did.iter().filter_map(|did| match did {
            Did::Put(id, key, _) => Some((*id, *key)),
            _ => None,
        });
        Model {
            base: &base.forest,
            theirs: &theirs.forest,
            touched: touched.collect(),
            now: theirs.forest.clone(),
            shared: BTreeMap::new(),
            moved: BTreeSet::new(),
            renamed: renamed.iter(),
        }
    }

    /// Does one of ours, or says how it contradicts theirs.
    fn take(&mut self, did: &Did, change: &Change) -> Option<ConflictKind> {
        match did {
            Did::Added(id, parent, key) => self.add(*id, *parent, key, change),
            Did::Moved(id, parent, key) => self.relocate(*id, *parent, key, change),
            Did::Removed(id) => self.remove(*id),
            Did::Put(id, key, number) => self.put(*id, key, *number),
        }
    }

    fn add(&mut self, id: Id, parent: Id, key: &Key, change: &Change) -> Option<ConflictKind> {
        let parent = self.known(parent);
        if !self.now.has(parent) {
            return Some(ConflictKind::RemovedBelow);
        }
        let key = match (self.now.child(parent, key), key) {
            (None, key) => key.clone(),
            (Some(_), Key::Position(taken)) => self.other_key(parent, taken, change),
            (Some(other), Key::Name(_)) if self.is_moved(other) => {
                return Some(ConflictKind::KeyTaken);
            }
            (Some(other), Key::Name(_)) => {
                self.shared.insert(id, other);
                return None;
            }
        };
        self.now.place(id, parent, &key);
        None
    }

    fn relocate(&mut self, id: Id, parent: Id, key: &Key, change: &Change) -> Option<ConflictKind> {
        let parent = self.known(parent);
        if !self.now.has(id) || !self.now.has(parent) {
            return Some(ConflictKind::RemovedBelow);
        }
        if self.now.child(parent, key) == Some(id) {
            self.moved.insert(id);
            return None;
        }
        if self.is_moved(id) {
            return Some(ConflictKind::MovedApart);
        }
        if self.now.is_within(parent, id) {
            return Some(ConflictKind::MoveCycle);
        }
        let key = match (self.now.child(parent, key), key) {
            (None, key) => key.clone(),
            (Some(_), Key::Position(taken)) => self.other_key(parent, taken, change),
            (Some(_), Key::Name(_)) => return Some(ConflictKind::KeyTaken),
        };
        self.now.place(id, parent, &key);
        match self.now.places.get(&id) == self.base.places.get(&id) {
            true => self.moved.remove(&id),
            false => self.moved.insert(id),
        };
        None
    }

    fn remove(&mut self, id: Id) -> Option<ConflictKind> {
        let is_changed = self.now.within(id).into_iter().any(|id| self.is_changed(id));
        if is_changed || self.has_lost(id) {
            return Some(ConflictKind::ChangedBelow);
        }
        self.now.take(&Did::Removed(id));
        self.moved.remove(&id);
        None
    }

    fn put(&mut self, id: Id, key: &'static str, number: Option<i64>) -> Option<ConflictKind> {
        let id = self.known(id);
        if !self.now.has(id) {
            return Some(ConflictKind::RemovedBelow);
        }
        let theirs = self.theirs.attributes.get(&(id, key)).copied();
        if self.touched.contains(&(id, key)) && theirs != number {
            return Some(ConflictKind::Attribute);
        }
        self.now.take(&Did::Put(id, key, number));
        None
    }

    fn known(&self, id: Id) -> Id {
        self.shared.get(&id).copied().unwrap_or(id)
    }

    /// Have they moved it?
    fn is_moved(&self, id: Id) -> bool {
        let (before, after) = (self.base.places.get(&id), self.theirs.places.get(&id));
        before.is_some() && after.is_some() && before != after
    }

    /// Have they added it, moved it, or changed its attributes?
    fn is_changed(&self, id: Id) -> bool {
        let is_new = !self.base.has(id) && self.theirs.has(id);
        let is_touched = KEYS.into_iter().any(|key| self.touched.contains(&(id, key)));
        is_new || is_touched || self.is_moved(id)
    }

    /// Have they moved something out of a node that was in it in the base, and that we had not
    /// moved out of it before?
    fn has_lost(&self, id: Id) -> bool {
        let mut within = vec![id];
        while let Some(above) = within.pop() {
            for (&kid, (parent, _)) in &self.base.places {
                if *parent != above || self.moved.contains(&kid) {
                    continue;
                }
                if self.is_moved(kid) && self.now.has(kid) && !self.now.is_within(kid, id) {
                    return true;
                }
                within.push(kid);
            }
        }
        false
    }

    /// What stands for a position that is taken: the next number on its side; or a fraction, which
    /// may be any, right behind it.
    fn other_key(&mut self, parent: Id, taken: &Position, change: &Change) -> Key {
        let (said, now) = self.renamed.next().expect("who gets another key is told");
        let (key, above) = now.split_last().expect("the root has no key");
        assert_eq!((said, above), (change.path(), &*self.now.path(parent)));
        if taken.is_whole() {
            let given = self.now.given(parent);
            let next = if taken.index() < 0 { given.start - 1 } else { given.end };
            assert_eq!(*key, Key::position(next), "{change}");
        } else {
            let Key::Position(behind) = key else { panic!("{key} stands for {taken}") };
            assert!(taken < behind, "{behind} stands for {taken}");
            let others = self.now.positions(parent);
            let is_next = others.iter().all(|other| other <= taken || other > behind);
            assert!(is_next, "{behind} is not right behind {taken}: {others:?}");
        }
        key.clone()
    }
}

/// Holds a rebase against the model; gives the contradiction that this ended with.
fn check(base: &Side, ours: &Side, theirs: &Side) -> Option<ConflictKind> {
    let rebase = |ours: &ChangeSet, resolution| {
        let options = MergeOptions::new().resolution(resolution);
        rebase_over(&base.version, ours, &theirs.changes, &options)
    };
    let whole = rebase(&ours.changes, Resolution::Theirs);
    let mut model = Model::new(base, theirs, &whole.renamed);
    let (mut said, mut contradiction) = (ChangeSet::new(), None);
    for (did, change) in ours.did.iter().zip(ours.changes.iter()) {
        said.push(change.clone());
        contradiction = model.take(did, change);
        if contradiction.is_some() {
            break;
        }
    }
    let expected = model.now.plain();
    for resolution in [Resolution::Ours, Resolution::Theirs, Resolution::Symmetric] {
        let rebased = rebase(&said, resolution);
        let lists = format!("{resolution:?}\nours:\n{said}theirs:\n{}", theirs.changes);
        let kind = rebased.conflicts.first().map(|conflict| conflict.kind);
        assert_eq!(kind, contradiction, "{lists}");
        let is_last = rebased.conflicts.iter().all(|it| Some(&it.ours) == said.last());
        assert!(is_last, "{:?}\n{lists}", rebased.conflicts);
        let result = plain(&applied(&theirs.version, &rebased.changes));
        if contradiction.is_none() || resolution == Resolution::Theirs {
            assert_eq!(result, expected, "{lists}rebased:\n{}", rebased.changes);
            let told = whole.renamed.len() - model.renamed.len();
            assert_eq!(rebased.renamed.len(), told, "{lists}");
        }
    }
    contradiction
}

#[test]
fn a_rebase_puts_nodes_where_a_list_of_places_says() {
    let mut met = BTreeSet::new();
    for_each_seed(3000, |rng| {
        let empty = Tree::new(&Arena::new().unwrap()).snapshot();
        let edits = rng.range(10..40);
        let base = later(rng, (&empty, &Forest::default()), edits, 1);
        let [ours, theirs] = [FIRST_OF_OURS, FIRST_OF_THEIRS].map(|first| {
            let edits = rng.below(10);
            later(rng, (&base.version, &base.forest), edits, first)
        });
        met.insert(check(&base, &ours, &theirs));
    });
    let all = BTreeSet::from([
        None,
        Some(ConflictKind::Attribute),
        Some(ConflictKind::RemovedBelow),
        Some(ConflictKind::ChangedBelow),
        Some(ConflictKind::MovedApart),
        Some(ConflictKind::MoveCycle),
        Some(ConflictKind::KeyTaken),
    ]);
    assert!(met == all || std::env::var_os("JUNGLE_SEED").is_some(), "only {met:?}");
}
