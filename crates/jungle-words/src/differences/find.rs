//! From changes of a tree to differences of a document.

use std::collections::BTreeSet;

use jungle_json::{ARRAY_KEY, Member, ORDER_KEY, Shape, shape, value_at};
use jungle_tree::{Change, ChangeSet, Key, Path, Snapshot, ValueRef, diff};

use super::moves::Moves;
use super::{Difference, What};

/// What differs in `below` and deeper, in document order; nothing if neither has something there.
///
/// ```
/// use jungle_tree::{Arena, Path, Tree};
/// use jungle_words::differences::{What, differences};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "title", "one")?;
/// let before = tree.snapshot();
/// tree.put_attribute(&[], "title", "two")?;
/// let after = tree.snapshot();
/// let found = differences(&before, &after, &Path::root()).expect("both have a root");
/// assert_eq!((found.len(), found[0].path.to_string()), (1, "/title".to_owned()));
/// assert!(matches!(found[0].what, What::Changed(..)));
/// assert!(differences(&before, &after, &Path::from(["stars"])).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn differences<'a>(
    before: &'a Snapshot,
    after: &'a Snapshot,
    below: &Path,
) -> Option<Vec<Difference<'a>>> {
    differences_by(|| diff(before, after), before, after, below)
}

/// As [`differences`], by changes that lead from one to the other, for whoever may not know of all
/// of them: of what was moved from or to a place that they leave out it is told that it has come or
/// gone. They are asked for only where there is something to be compared.
///
/// ```
/// use jungle_tree::{Arena, ChangeSet, Path, Tree};
/// use jungle_words::differences::differences_by;
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// tree.put_attribute(&[], "title", "two")?;
/// let after = tree.snapshot();
/// let found = differences_by(ChangeSet::new, &before, &after, &Path::root());
/// assert!(found.expect("both have a root").is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn differences_by<'a>(
    changes: impl FnOnce() -> ChangeSet,
    before: &'a Snapshot,
    after: &'a Snapshot,
    below: &Path,
) -> Option<Vec<Difference<'a>>> {
    let is_there = |snapshot: &Snapshot| value_at(snapshot.root(), below).is_some();
    if !is_there(before) && !is_there(after) {
        return None;
    }
    let changes = changes();
    let mut places = Places {
        before,
        after,
        below,
        moves: Moves::default(),
        gone: BTreeSet::new(),
        seen: BTreeSet::new(),
        differences: Vec::new(),
    };
    // All of them first: what takes the place of something moved is no change of that.
    for change in &*changes {
        if let Change::Moved { from, to } = change {
            let origin = places.moves.before(from);
            places.moves.add(to.clone(), origin);
            places.gone.insert(from.clone());
        }
    }
    for change in &*changes {
        match change {
            Change::Moved { from, to } => places.moved(from, to),
            Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
                // The empty key and our markers say what the node itself is.
                if key.is_empty() || key.starts_with('\0') {
                    places.look_at_itself(path, key);
                } else {
                    places.look(&path.join(&**key));
                }
            }
            change => {
                places.look(change.path());
            }
        }
    }
    let mut differences = places.differences;
    // What was moved comes before what else became of it.
    differences.sort_by(|a, b| a.path.cmp(&b.path));
    Some(without_told(differences))
}

/// Leaves out what is in something that is told whole. What was moved into that is told in any
/// case, with what else became of it: it was something before.
fn without_told(differences: Vec<Difference<'_>>) -> Vec<Difference<'_>> {
    // What the next difference may be in, and whether that is told whole.
    let mut around: Vec<(Path, bool)> = Vec::new();
    let mut told = Vec::with_capacity(differences.len());
    for difference in differences {
        while around.pop_if(|(path, _)| !difference.path.starts_with(path)).is_some() {}
        let is_inside = around.last().is_some_and(|&(_, is_whole)| is_whole);
        match difference.what {
            What::Moved(_) => around.push((difference.path.clone(), false)),
            _ if is_inside => continue,
            What::Added(_) | What::Changed(..) => around.push((difference.path.clone(), true)),
            What::Removed(_) => {}
        }
        told.push(difference);
    }
    told
}

struct Places<'a, 'b> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    below: &'b Path,
    moves: Moves,
    /// Where what was moved would be, had it stayed in what it was in.
    gone: BTreeSet<Path>,
    seen: BTreeSet<Path>,
    differences: Vec<Difference<'a>>,
}

/// What both have at one place.
#[derive(Clone, Copy)]
struct Sides<'a> {
    left: Option<Member<'a>>,
    right: Option<Member<'a>>,
}

impl<'a> Places<'a, '_> {
    /// `from` is where it was when what it was in had been moved already.
    fn moved(&mut self, from: &Path, to: &Path) {
        let origin = self.moves.before(to);
        if to.starts_with(self.below) || origin.starts_with(self.below) {
            let what = What::Moved(origin);
            self.differences.push(Difference { path: to.clone(), what });
            // No node was there, but perhaps an attribute.
            if let Some(old) = value_at(self.before.root(), &self.moves.place_before(to)) {
                let what = What::Removed(old);
                self.differences.push(Difference { path: to.clone(), what });
            }
        }
        self.look(to);
        // What it was in may be of another kind without it.
        if let Some((key, parent)) = from.split_last()
            && let Some(sides) = self.look(parent)
            && sides.has_two(key)
        {
            self.tell(parent, sides);
        }
    }

    /// Something changed at `path`: goes down to it, and stops where the two sides are not the same
    /// kind of thing any more, which is told. Gives what is there if it was not.
    fn look(&mut self, path: &[Key]) -> Option<Sides<'a>> {
        if !path.starts_with(self.below) {
            self.look_above(path);
            return None;
        }
        let left = Some(Member::Node(self.before.root()));
        let mut sides = Sides { left, right: Some(Member::Node(self.after.root())) };
        for length in 0..=path.len() {
            let here = &path[..length];
            if let Some((key, parent)) = here.split_last() {
                let is_told = parent.len() >= self.below.depth();
                if length == path.len() && is_told && sides.has_two(key) {
                    self.tell(parent, sides);
                    return None;
                }
                let left = match self.moves.from(here) {
                    Some(from) => value_at(self.before.root(), from),
                    None if self.gone.contains(here) => None,
                    None => step(sides.left, key),
                };
                sides = Sides { left, right: step(sides.right, key) };
            }
            if length >= self.below.depth() && !sides.are_same_kind() {
                self.tell(here, sides);
                // What was moved into that is compared with what it was all the same.
                if !(length + 1..=path.len()).any(|end| self.moves.from(&path[..end]).is_some()) {
                    return None;
                }
            }
        }
        Some(sides)
    }

    /// Something changed above what is looked at, which may thereby have come or gone.
    fn look_above(&mut self, path: &[Key]) {
        if self.below.starts_with(path) {
            let left = value_at(self.before.root(), self.below);
            let sides = Sides { left, right: value_at(self.after.root(), self.below) };
            if !sides.are_same_kind() {
                self.tell(self.below, sides);
            }
        }
    }

    /// What a node itself is changed. Where that makes no other kind of thing of it, and no path
    /// leads to it, it is told whole: a value beside other things.
    fn look_at_itself(&mut self, path: &[Key], key: &str) {
        let Some(sides) = self.look(path) else { return };
        // The order of members is no difference, nor is how an array says that it is one, nor
        // whether a scalar is an attribute or a child.
        let is_marker = key == ORDER_KEY || key == ARRAY_KEY && sides.are_arrays();
        if !is_marker && !sides.are_scalars() {
            self.tell(path, sides);
        }
    }

    fn tell(&mut self, path: &[Key], sides: Sides<'a>) {
        let what = match (sides.left, sides.right) {
            (None, None) => return,
            (None, Some(right)) => What::Added(right),
            (Some(left), None) => What::Removed(left),
            (Some(left), Some(right)) => What::Changed(left, right),
        };
        if self.seen.insert(path.into()) {
            self.differences.push(Difference { path: path.into(), what });
        }
    }
}

impl<'a> Sides<'a> {
    /// Are both arrays, both objects or the same scalar? What differs is deeper then, if anywhere.
    fn are_same_kind(self) -> bool {
        match (self.left.map(plain), self.right.map(plain)) {
            (None, None) => true,
            (Some(Plain::Scalar(left)), Some(Plain::Scalar(right))) => left == right,
            (Some(Plain::Array), Some(Plain::Array)) => true,
            (Some(Plain::Object), Some(Plain::Object)) => true,
            _ => false,
        }
    }

    fn are_arrays(self) -> bool {
        let sides = [self.left, self.right];
        sides.into_iter().flatten().all(|side| matches!(plain(side), Plain::Array))
    }

    fn are_scalars(self) -> bool {
        let sides = [self.left, self.right];
        sides.into_iter().flatten().all(|side| matches!(plain(side), Plain::Scalar(_)))
    }

    /// Does either side have a child and an attribute of this name? A path means the child only.
    fn has_two(self, key: &Key) -> bool {
        let Key::Name(name) = key else { return false };
        let is_plain = |value| !matches!(value, ValueRef::Bytes(_)) || **name != *ORDER_KEY;
        let has_two = |side: Member<'a>| match side {
            Member::Node(node) => {
                node.child(key).is_some() && node.attribute(name).is_some_and(is_plain)
            }
            Member::Value(_) => false,
        };
        [self.left, self.right].into_iter().flatten().any(has_two)
    }
}

fn step<'a>(member: Option<Member<'a>>, key: &Key) -> Option<Member<'a>> {
    match member? {
        Member::Node(node) => value_at(node, std::slice::from_ref(key)),
        Member::Value(_) => None,
    }
}

enum Plain<'a> {
    Scalar(ValueRef<'a>),
    Array,
    Object,
}

fn plain(member: Member<'_>) -> Plain<'_> {
    match member {
        Member::Value(value) => Plain::Scalar(value),
        Member::Node(node) => match shape(node) {
            Shape::Scalar(value) => Plain::Scalar(value),
            Shape::Array(_) => Plain::Array,
            _ => Plain::Object,
        },
    }
}
