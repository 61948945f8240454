//! Nothing that one side did disappears: each node carries a mark, so that it is known wherever it
//! comes to, and what a change did can be looked for in what came of it.

use std::collections::HashMap;

use jungle_testkit::{Rng, for_each_seed};

use super::super::diff::diffs_to_merge;
use super::super::steps::Unbounded;
use super::*;
use crate::{Editor, Key, Node, Path, Snapshot, Tree, Value, ValueRef};

const MARK: &str = "mark";
const KEYS: [&str; 2] = ["x", "y"];
/// Names in the base, and names that are given later: a diff takes what is at the same path for
/// the same node.
const FIRST: [&str; 3] = ["a", "b", "c"];
const LATER: [&str; 3] = ["d", "e", "f"];

type Mark = i64;

/// What a change did, said of marks.
#[derive(Debug)]
enum Did {
    Added(Mark),
    Removed(Vec<Mark>),
    Moved { node: Mark, within: Vec<Mark>, parent: Mark, name: Option<Key> },
    Put(Mark, Box<str>, Value),
    Cleared(Mark, Box<str>),
    Set(Mark, Subtree),
}

/// A version, and where each mark is in it: in two places, where a node that was moved and edited
/// is taken for a new one, and the old one is set.
struct Marked {
    version: Snapshot,
    paths: HashMap<Mark, Vec<Path>>,
}

impl Marked {
    fn new(version: Snapshot) -> Marked {
        let mut paths: HashMap<Mark, Vec<Path>> = HashMap::new();
        let mut walk = version.root().walk();
        while let Some(node) = walk.next() {
            for mark in marks_of(node) {
                paths.entry(mark).or_default().push(walk.path());
            }
        }
        Marked { version, paths }
    }

    fn paths(&self, mark: Mark) -> &[Path] {
        self.paths.get(&mark).map_or(&[], |paths| paths)
    }

    fn at(&self, path: &Path) -> Node<'_> {
        self.version.root().at(path).expect("it was walked to")
    }

    fn find(&self, mark: Mark) -> impl Iterator<Item = Node<'_>> {
        self.paths(mark).iter().map(|path| self.at(path))
    }

    /// Did the side that made this change leave it so?
    fn left(&self, did: &Did) -> bool {
        let is_gone = matches!(did, Did::Cleared(mark, _) if self.paths(*mark).is_empty());
        !is_gone && self.shows(did, &[])
    }

    /// Is it as this change wanted it?
    fn shows(&self, did: &Did, others_add: &[Mark]) -> bool {
        match did {
            Did::Added(mark) => !self.paths(*mark).is_empty(),
            // A node that they moved and edited is a new one to a diff.
            Did::Removed(marks) => {
                marks.iter().all(|mark| self.paths(*mark).is_empty() || others_add.contains(mark))
            }
            Did::Moved { node, parent, name, .. } => self.paths(*node).iter().any(|path| {
                let (above, key) = path.split_last_key().expect("the root is not moved");
                let is_there = marks_of(self.at(&above)).contains(parent)
                    && name.as_ref().is_none_or(|name| *name == key);
                // It is one with a node of the other side, which has moved it further.
                is_there || marks_of(self.at(path)).len() > 1
            }),
            Did::Put(mark, key, value) => {
                self.find(*mark).any(|node| node.attribute(key) == Some(value.as_ref()))
            }
            Did::Cleared(mark, key) => {
                self.paths(*mark).is_empty()
                    || self.find(*mark).any(|node| node.attribute(key).is_none())
            }
            Did::Set(mark, subtree) => self.find(*mark).any(|node| holds(node, subtree.node())),
        }
    }
}

/// Are they equal, but for more marks?
fn holds(node: Node<'_>, set: Node<'_>) -> bool {
    let unmarked = |node: Node<'_>| -> Vec<_> {
        let all = node.attributes().filter(|(key, _)| *key != MARK);
        all.map(|(key, value)| (key.to_owned(), value.to_value())).collect()
    };
    marks_of(node).contains(&mark_of(set))
        && unmarked(node) == unmarked(set)
        && node.child_count() == set.child_count()
        && node.children().zip(set.children()).all(|((a, l), (b, r))| a == b && holds(l, r))
}

trait SplitLast {
    fn split_last_key(&self) -> Option<(Path, Key)>;
}

impl SplitLast for Path {
    fn split_last_key(&self) -> Option<(Path, Key)> {
        let (last, parent) = self.split_last()?;
        Some((parent.to_vec().into(), last.clone()))
    }
}

fn mark_of(node: Node<'_>) -> Mark {
    node.attribute(MARK).and_then(|mark| mark.as_int()).expect("each node has a mark")
}

/// More than one, where two nodes that were added under the same name became one.
fn marks_of(node: Node<'_>) -> Vec<Mark> {
    match node.attribute(MARK) {
        Some(ValueRef::Text(marks)) => marks.split(' ').map(|mark| mark.parse().unwrap()).collect(),
        _ => vec![mark_of(node)],
    }
}

/// What is marked twice keeps both marks.
fn both_marks() -> Rule {
    Rule::function(|_, ours, theirs| match (ours, theirs) {
        (Some(Value::Int(ours)), Some(Value::Int(theirs))) => {
            Some(Value::from(format!("{} {}", ours.min(theirs), ours.max(theirs)).as_str()))
        }
        (ours, theirs) => ours.or(theirs).cloned(),
    })
}

fn marks_below(node: Node<'_>) -> Vec<Mark> {
    let mut marks = Vec::new();
    node.visit(|node| marks.push(mark_of(node)));
    marks
}

fn put_mark(path: &Path, mark: Mark) -> Change {
    Change::AttributePut { path: path.clone(), key: MARK.into(), value: Value::Int(mark) }
}

/// Says of each change what it did; not of a diff to which a new node in an old place is the old
/// one.
fn told(base: &Snapshot, changes: &[Change]) -> Option<Vec<Did>> {
    let mut editor = Editor::new(base.clone());
    let mut told = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let at = |path: &Path| editor.root().at(path).expect("it was done");
        told.push(match change {
            Change::ChildAdded { path } => Did::Added(mark_given(path, &changes[index..])),
            Change::ChildRemoved { path } => Did::Removed(marks_below(at(path))),
            Change::AttributePut { path, .. } if is_mark(change) => {
                let mark = mark_given(path, &changes[index..]);
                if at(path).attribute(MARK).is_some_and(|old| old.as_int() != Some(mark)) {
                    return None;
                }
                Did::Added(mark)
            }
            Change::AttributePut { path, key, value } => {
                Did::Put(mark_or_given(at(path), path, changes, index), key.clone(), value.clone())
            }
            Change::AttributeRemoved { path, key } => Did::Cleared(mark_of(at(path)), key.clone()),
            Change::Moved { from, to } => {
                let (above, key) = to.split_last_key().expect("the root stays");
                let name = matches!(key, Key::Name(_)).then_some(key);
                let (node, within) = (mark_of(at(from)), marks_below(at(from)));
                Did::Moved { node, within, parent: mark_of(at(&above)), name }
            }
            Change::SubtreeSet { subtree, .. } => {
                Did::Set(mark_of(subtree.node()), subtree.clone())
            }
        });
        apply(&mut editor, std::slice::from_ref(change)).unwrap();
    }
    // What was put into it later is in it, too.
    let is = |node: Node<'_>, mark: Mark| marks_of(node).contains(&mark);
    for did in &mut told {
        if let Did::Moved { node, within, .. } = did
            && let Some((_, now)) = editor.root().find(|found| is(found, *node))
        {
            within.extend(marks_below(now));
        }
    }
    Some(told)
}

fn is_mark(change: &Change) -> bool {
    matches!(change, Change::AttributePut { key, .. } if **key == *MARK)
}

/// Is what happened to a change told by what is said of another one of the same side? Then that
/// says the same anew; or it was to bring the node to where it would be still.
fn is_told_by(did: &Did, other: &Did) -> bool {
    match (did, other) {
        (Did::Removed(marks), Did::Moved { within, .. }) => {
            marks.iter().any(|mark| within.contains(mark))
        }
        (Did::Moved { node, .. }, Did::Moved { within, .. }) => within.contains(node),
        // Its mark.
        (Did::Moved { node, .. } | Did::Added(node), Did::Added(other))
        | (Did::Set(node, _), Did::Set(other, _)) => node == other,
        (Did::Moved { node, .. }, Did::Set(_, subtree)) => {
            marks_below(subtree.node()).contains(node)
        }
        // What was to leave it stayed.
        (Did::Set(..), Did::Moved { .. } | Did::Removed(_)) => true,
        (Did::Set(_, subtree), Did::Put(mark, ..) | Did::Cleared(mark, _)) => {
            marks_below(subtree.node()).contains(mark)
        }
        (Did::Added(mark) | Did::Put(mark, ..) | Did::Cleared(mark, _), other) => match other {
            Did::Moved { within, .. } => within.contains(mark),
            Did::Set(_, subtree) => marks_below(subtree.node()).contains(mark),
            Did::Put(..) | Did::Cleared(..) => is_about_the_same(did, other),
            Did::Added(_) | Did::Removed(_) => false,
        },
        _ => false,
    }
}

fn is_about_the_same(did: &Did, other: &Did) -> bool {
    let about = |did: &Did| match did {
        Did::Put(mark, key, _) | Did::Cleared(mark, key) => Some((*mark, key.clone())),
        _ => None,
    };
    about(did) == about(other)
}

fn added(did: &[Did]) -> Vec<Mark> {
    let marks = did.iter().flat_map(|did| match did {
        Did::Added(mark) => vec![*mark],
        Did::Set(_, subtree) => marks_below(subtree.node()),
        _ => Vec::new(),
    });
    marks.collect()
}

/// The mark that is put.
fn given(change: &Change) -> Option<Mark> {
    match change {
        Change::AttributePut { value, .. } if is_mark(change) => value.as_ref().as_int(),
        _ => None,
    }
}

/// The mark that a node gets which has none yet.
fn mark_given(path: &Path, later: &[Change]) -> Mark {
    let of = |change: &Change| if change.path() == path { given(change) } else { None };
    later.iter().find_map(of).expect("each node gets a mark")
}

fn mark_or_given(node: Node<'_>, path: &Path, changes: &[Change], index: usize) -> Mark {
    let mark = node.attribute(MARK).and_then(|mark| mark.as_int());
    mark.unwrap_or_else(|| mark_given(path, &changes[index..]))
}

/// One random edit of marked nodes; what was recorded of it.
fn edit(rng: &mut Rng, editor: &mut Editor, names: &[&str], next: &mut Mark) -> Vec<Change> {
    let paths = paths(editor);
    let path = rng.pick(&paths).clone();
    let mut mark = || {
        *next += 1;
        *next
    };
    let changes = match rng.below(12) {
        0..3 => {
            let position = editor.root().at(&path).map(|node| node.next_position());
            let path = match rng.chance(1, 2) {
                true => path.join(*rng.pick(names)),
                false => path.join(Key::from(position.expect("it was walked to"))),
            };
            vec![Change::ChildAdded { path: path.clone() }, put_mark(&path, mark())]
        }
        3..6 => {
            let value = value(rng);
            vec![Change::AttributePut { path, key: (*rng.pick(&KEYS)).into(), value }]
        }
        6 => vec![Change::AttributeRemoved { path, key: (*rng.pick(&KEYS)).into() }],
        7 => vec![Change::ChildRemoved { path }],
        8 => {
            let mut other = Tree::from_snapshot(editor.base());
            let mut of = Editor::new(other.snapshot());
            let empty = Tree::new(&editor.base().arena()).snapshot();
            of.set_subtree(&[], empty.root()).unwrap();
            let same = mark_of(editor.root().at(&path).expect("it was walked to"));
            of.put_attribute(&[], MARK, same).unwrap();
            for name in &names[..rng.index(3)] {
                of.insert_child(&[], &Key::from(*name)).unwrap();
                of.put_attribute(&[(*name).into()], MARK, mark()).unwrap();
            }
            other.publish(of);
            let subtree = Subtree::new(&other.snapshot(), &[]).unwrap();
            vec![Change::SubtreeSet { path, subtree }]
        }
        _ => vec![Change::Moved { from: path, to: rng.pick(&paths).join(*rng.pick(names)) }],
    };
    match apply(editor, &changes[..1]) {
        Ok(_) => apply(editor, &changes[1..]).unwrap(),
        Err(_) => return Vec::new(),
    };
    changes
}

fn later(
    rng: &mut Rng,
    base: &Snapshot,
    (edits, names): (u64, &[&str]),
    next: &mut Mark,
) -> (Snapshot, ChangeSet) {
    let mut tree = Tree::from_snapshot(base);
    let mut editor = Editor::new(tree.snapshot());
    let mut changes = ChangeSet::new();
    for _ in 0..edits {
        if editor.root().subtree_count() < 100 {
            changes.extend(edit(rng, &mut editor, names, next));
        }
    }
    tree.publish(editor);
    (tree.snapshot(), changes)
}

#[test]
fn what_is_not_there_is_named_by_a_conflict() {
    for_each_seed(4000, |rng| {
        let arena = Arena::new().unwrap();
        let mut tree = Tree::new(&arena);
        tree.put_attribute(&[], MARK, 0).unwrap();
        let (edits, mut next) = (rng.below(20), 0);
        let base = later(rng, &tree.snapshot(), (edits, &FIRST), &mut next).0;
        let edits = rng.below(8) + 1;
        let (mine, my_record) = later(rng, &base, (edits, &LATER), &mut next);
        let (others, their_record) = later(rng, &base, (edits, &LATER), &mut next);
        let (ours, theirs) = (diff(&base, &mine), diff(&base, &others));
        let (mine, others) = (Marked::new(mine), Marked::new(others));
        for resolution in RESOLUTIONS {
            let options = options(resolution).rule(MARK, both_marks());
            let check = |ours: &ChangeSet, theirs: &ChangeSet| {
                let rebased = rebase_over(&base, ours, theirs, &options);
                let result = Marked::new(applied(&others.version, &rebased.changes));
                let sides = [("ours", ours, &mine), ("theirs", theirs, &others)];
                let [Some(first), Some(second)] = sides.map(|(_, changes, _)| told(&base, changes))
                else {
                    return;
                };
                let did = [first, second];
                for (index, (name, changes, side)) in sides.into_iter().enumerate() {
                    let is_named = |change: &Change| {
                        let said = |it: &Conflict| [&it.ours, &it.theirs][index] == change;
                        rebased.conflicts.iter().any(said)
                    };
                    let others_add = added(&did[1 - index]);
                    for (at, one) in did[index].iter().enumerate() {
                        // What a side did not leave so itself is not looked for.
                        if !side.left(one) || result.shows(one, &others_add) {
                            continue;
                        }
                        let all = changes.iter().zip(&did[index]);
                        let mut others = all.filter(|(_, other)| is_told_by(one, other));
                        assert!(
                            is_named(&changes[at]) || others.any(|(change, _)| is_named(change)),
                            "{resolution:?}: {} of {name} ({one:?}) is lost\nours:\n{ours}\
                             theirs:\n{theirs}rebased:\n{}{:#?}",
                            changes[at],
                            rebased.changes,
                            rebased.conflicts,
                        );
                    }
                }
            };
            check(&my_record, &their_record);
            check(&my_record, &theirs);
            check(&ours, &theirs);
            let sides = [&mine.version, &others.version];
            let Ok((ours, theirs)) = diffs_to_merge([&base; 2], sides, &mut Unbounded);
            check(&ours, &theirs);
        }
    });
}
