//! From changes of a tree to differences of a document: what is an attribute in one and a child in
//! the other is the same member, and what replaces something of another kind is one difference.

use std::collections::{BTreeMap, BTreeSet};

use jungle_json::{Member, Shape, shape, value_at};
use jungle_tree::{Change, Key, Path, Snapshot, diff};

/// A difference at a path, which is that in the document after, or of what was removed from the
/// document before.
pub(crate) struct Difference<'a> {
    pub(super) path: Path,
    pub(super) what: What<'a>,
}

pub(crate) enum What<'a> {
    Added(Member<'a>),
    Removed(Member<'a>),
    Changed(Member<'a>, Member<'a>),
    /// It was at this path before.
    Moved(Path),
}

/// What differs in `below` and deeper, in document order; nothing if neither has something there.
pub(crate) fn differences<'a>(
    before: &'a Snapshot,
    after: &'a Snapshot,
    below: &Path,
) -> Option<Vec<Difference<'a>>> {
    let is_there = |snapshot: &Snapshot| value_at(snapshot.root(), below).is_some();
    if !is_there(before) && !is_there(after) {
        return None;
    }
    let mut places = Places {
        before,
        after,
        moves: BTreeMap::new(),
        seen: BTreeSet::new(),
        differences: Vec::new(),
    };
    for change in &*diff(before, after) {
        match change {
            Change::Moved { from, to } => {
                places.moves.insert(to.clone(), from.clone());
                if to.starts_with(below) || from.starts_with(below) {
                    places.push(to.clone(), What::Moved(from.clone()));
                }
            }
            Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
                // The empty key and our markers say what the node itself is.
                let is_member = !key.is_empty() && !key.starts_with('\0');
                let path = if is_member { path.join(&**key) } else { path.clone() };
                places.look(&path, below);
            }
            change => places.look(change.path(), below),
        }
    }
    let mut differences = places.differences;
    differences.sort_by(|a, b| a.path.cmp(&b.path));
    Some(differences)
}

struct Places<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    /// Where what was moved came from.
    moves: BTreeMap<Path, Path>,
    seen: BTreeSet<Path>,
    differences: Vec<Difference<'a>>,
}

impl<'a> Places<'a> {
    /// Something changed at `path`: goes down to it, and stops where the two sides are not the same
    /// kind of thing any more.
    fn look(&mut self, path: &Path, below: &Path) {
        if !path.starts_with(below) {
            return self.look_above(path, below);
        }
        let mut left = Some(Member::Node(self.before.root()));
        let mut right = Some(Member::Node(self.after.root()));
        for length in 0..=path.depth() {
            let here = &path[..length];
            if let Some(key) = here.last() {
                right = step(right, key);
                left = match self.moves.get(here) {
                    Some(from) => value_at(self.before.root(), from),
                    None => step(left, key),
                };
            }
            if length >= below.depth() && !is_same_kind(left, right) {
                return self.tell(here, left, right);
            }
        }
    }

    /// Something changed above what is looked at, which may thereby have come or gone.
    fn look_above(&mut self, path: &Path, below: &Path) {
        if below.starts_with(path) {
            let left = value_at(self.before.root(), below);
            let right = value_at(self.after.root(), below);
            if !is_same_kind(left, right) {
                self.tell(below, left, right);
            }
        }
    }

    fn tell(&mut self, path: &[Key], left: Option<Member<'a>>, right: Option<Member<'a>>) {
        let what = match (left, right) {
            (None, None) => return,
            (None, Some(right)) => What::Added(right),
            (Some(left), None) => What::Removed(left),
            (Some(left), Some(right)) => What::Changed(left, right),
        };
        self.push(path.into(), what);
    }

    fn push(&mut self, path: Path, what: What<'a>) {
        if self.seen.insert(path.clone()) {
            self.differences.push(Difference { path, what });
        }
    }
}

fn step<'a>(member: Option<Member<'a>>, key: &Key) -> Option<Member<'a>> {
    match member? {
        Member::Node(node) => value_at(node, std::slice::from_ref(key)),
        Member::Value(_) => None,
    }
}

/// Are both arrays, both objects or the same scalar? What differs is deeper then, if anywhere.
fn is_same_kind(left: Option<Member<'_>>, right: Option<Member<'_>>) -> bool {
    match (left.map(plain), right.map(plain)) {
        (None, None) => true,
        (Some(Plain::Scalar(left)), Some(Plain::Scalar(right))) => left == right,
        (Some(Plain::Array), Some(Plain::Array)) => true,
        (Some(Plain::Object), Some(Plain::Object)) => true,
        _ => false,
    }
}

enum Plain<'a> {
    Scalar(jungle_tree::ValueRef<'a>),
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
