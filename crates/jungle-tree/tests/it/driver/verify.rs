//! Does a version hold what the model says?

use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use jungle_testkit::{ModelKey, ModelNode, Rng};
use jungle_tree::{AttributeIndex, ContentHash, EditError, KeyRef, Node, Snapshot, Tree};

use super::{convert, random};

/// Everything in the subtree, by every way of reading it, and which position comes next.
#[track_caller]
pub fn content(node: Node<'_>, model: &ModelNode) {
    each(node, model, |node, model| {
        assert_eq!(node.next_position(), model.next, "next position");
    });
}

/// Everything in the subtree, whatever was there and is gone.
#[track_caller]
pub fn equal(node: Node<'_>, model: &ModelNode) {
    each(node, model, |_, _| ());
}

#[track_caller]
fn each(node: Node<'_>, model: &ModelNode, besides: impl Fn(Node<'_>, &ModelNode)) {
    let mut stack = vec![(node, model)];
    while let Some((node, model)) = stack.pop() {
        attributes(node, model);
        let mut children = node.children();
        for (key, child) in &model.children {
            let Some((found, node)) = children.next() else { panic!("child {key:?} is missing") };
            assert_eq!(found, convert::key_ref(key));
            stack.push((node, child));
        }
        let more = children.next().map(|(key, _)| key);
        assert_eq!(more, None, "children that should not be there");
        assert_eq!(node.child_count(), model.children.len() as u64);
        assert_eq!(node.has_children(), !model.children.is_empty());
        besides(node, model);
    }
}

/// The attributes of one node.
#[track_caller]
pub fn attributes(node: Node<'_>, model: &ModelNode) {
    let mut attributes = node.attributes();
    for (key, value) in &model.attributes {
        let found = attributes.next();
        assert_eq!(found, Some((key.as_str(), convert::value(value))), "attribute {key:?}");
    }
    assert_eq!(attributes.next(), None, "attributes that should not be there");
    assert_eq!(node.has_attributes(), !model.attributes.is_empty());
}

/// The integrity checker, the content and how much there is of it, for a whole version; gives the
/// number of its nodes.
#[track_caller]
pub fn whole(snapshot: &Snapshot, model: &ModelNode) -> u64 {
    let count = model.count();
    let report = snapshot.check().unwrap_or_else(|error| panic!("integrity: {error}"));
    assert_eq!(report.nodes, count, "nodes that the checker saw");
    let root = snapshot.root();
    content(root, model);
    assert_eq!(root.subtree_count(), count, "remembered count");
    count
}

/// The same, and what goes through it in other ways.
#[track_caller]
pub fn version(snapshot: &Snapshot, model: &ModelNode) {
    let (count, root) = (whole(snapshot, model), snapshot.root());
    assert_eq!(root.recount(), count, "recount");
    let mut visited = 0;
    root.visit(|_| visited += 1);
    assert_eq!(visited, count, "visited");
    assert_eq!(root.walk().count() as u64, count, "walked");
}

/// One node's children, from both ends and from the middle.
#[track_caller]
pub fn iteration(rng: &mut Rng, snapshot: &Snapshot, model: &ModelNode) {
    let path = random::path(rng, model);
    let node = snapshot.root().at(&convert::path(&path)).expect("the model has it");
    let model = model.at(&path).expect("picked from there");
    let ordered: Vec<&ModelKey> = model.children.keys().collect();
    let forward: Vec<KeyRef<'_>> = ordered.iter().map(|key| convert::key_ref(key)).collect();
    let backward: Vec<KeyRef<'_>> = forward.iter().rev().copied().collect();
    assert_eq!(keys(node.children_backward()), backward);
    let mut positions = forward.iter().filter(|key| matches!(key, KeyRef::Position(..)));
    let last = node.last_child().map(|(key, _)| key);
    assert_eq!(last.as_ref(), positions.next_back(), "last child");
    for _ in 0..3 {
        let key = random::key(rng, model);
        let at = ordered.partition_point(|it| **it < key);
        let is_there = model.children.contains_key(&key);
        let from = convert::key(&key);
        if from.check().is_err() {
            continue;
        }
        assert_eq!(node.child(&from).is_some(), is_there, "lookup of {key:?}");
        assert_eq!(keys(node.children_from(&from)), forward[at..], "forward from {key:?}");
        let behind = forward.len() - at - usize::from(is_there);
        let back = keys(node.children_backward_from(&from));
        assert_eq!(back, backward[behind..], "back from {key:?}");
        let skipped = rng.index(forward.len() + 2);
        let skips = keys(node.children_from(&from).skip(skipped));
        let rest = (at + skipped).min(forward.len());
        assert_eq!(skips, forward[rest..], "{skipped} behind {key:?}");
    }
    range(rng, node, model);
}

/// Its children in a range, which may end before it begins.
#[track_caller]
fn range(rng: &mut Rng, node: Node<'_>, model: &ModelNode) {
    let [start, end] = [(), ()].map(|()| match rng.below(4) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(random::key(rng, model)),
        _ => Bound::Included(random::key(rng, model)),
    });
    let range = (start, end);
    let within = model.children.keys().filter(|key| range.contains(*key));
    let mut expected: Vec<KeyRef<'_>> = within.map(convert::key_ref).collect();
    let [start, end] = [&range.0, &range.1].map(|bound| bound.as_ref().map(convert::key));
    let bounds = (start.as_ref(), end.as_ref());
    assert_eq!(keys(node.children_in(bounds)), expected, "in {range:?}");
    let skipped = rng.index(expected.len() + 2);
    let rest = skipped.min(expected.len());
    let skips = keys(node.children_in(bounds).skip(skipped));
    assert_eq!(skips, expected[rest..], "{skipped} behind the first in {range:?}");
    expected.reverse();
    assert_eq!(keys(node.children_backward_in(bounds)), expected, "back in {range:?}");
}

fn keys<'n>(children: impl Iterator<Item = (KeyRef<'n>, Node<'n>)>) -> Vec<KeyRef<'n>> {
    children.map(|(key, _)| key).collect()
}

/// An index of one version, brought to another, finds what the other holds, and nothing else.
#[track_caller]
pub fn index(rng: &mut Rng, old: &Snapshot, new: &Snapshot, model: &ModelNode) {
    let key = random::attribute(rng);
    let index = AttributeIndex::build(old, &key).and_then(|index| index.updated(old, new));
    let index = index.expect("there is room");
    let (mut stack, mut hits) = (vec![(Vec::new(), model)], Vec::new());
    while let Some((path, node)) = stack.pop() {
        for (key, child) in &node.children {
            stack.push(([&path[..], std::slice::from_ref(key)].concat(), child));
        }
        hits.extend(node.attributes.get(&key).map(|value| (path, value)));
    }
    assert_eq!(index.range(..).count(), hits.len(), "nodes with {key:?}");
    rng.shuffle(&mut hits);
    for (path, value) in hits.into_iter().take(5) {
        let path = convert::path(&path);
        let is_found = index.find(convert::value(value)).any(|found| found == path);
        assert!(is_found, "{path} is not found by its {key:?}");
    }
}

/// The differing children of two nodes are at least those that differ in the model, and all of
/// them are what either side holds; what is not named is equal, all the way down.
#[track_caller]
pub fn differences(left: (Node<'_>, &ModelNode), right: (Node<'_>, &ModelNode)) {
    let mut stack = vec![(left.0, left.1, right.0, right.1)];
    while let Some((left, left_model, right, right_model)) = stack.pop() {
        let mut named = BTreeSet::new();
        for (key, l, r) in left.differing_children(right) {
            let key = convert::model_key(key);
            let models = (left_model.children.get(&key), right_model.children.get(&key));
            assert_eq!(l.is_some(), models.0.is_some(), "{key:?} on the left");
            assert_eq!(r.is_some(), models.1.is_some(), "{key:?} on the right");
            if let (Some(l), Some(r), (Some(lm), Some(rm))) = (l, r, models) {
                assert!(!l.is_same(r), "{key:?} is named though it is shared");
                attributes(l, lm);
                attributes(r, rm);
                stack.push((l, lm, r, rm));
            }
            assert!(named.insert(key.clone()), "{key:?} is named twice");
        }
        let keys = left_model.children.keys().chain(right_model.children.keys());
        for key in keys.filter(|key| !named.contains(key)) {
            let equal = match (left_model.children.get(key), right_model.children.get(key)) {
                (Some(l), Some(r)) => is_equal(l, r),
                _ => false,
            };
            assert!(equal, "{key:?} differs, but is not named");
        }
    }
}

/// Do both hold the same? (Positions that are gone do not count.)
pub fn is_equal(left: &Arc<ModelNode>, right: &Arc<ModelNode>) -> bool {
    Arc::ptr_eq(left, right)
        || same_attributes(left, right)
            && left.children.len() == right.children.len()
            && left
                .children
                .iter()
                .zip(&right.children)
                .all(|((lk, l), (rk, r))| lk == rk && is_equal(l, r))
}

fn same_attributes(left: &ModelNode, right: &ModelNode) -> bool {
    let same = |((lk, l), (rk, r)): ((&String, _), (&String, _))| {
        lk == rk && convert::value(l) == convert::value(r)
    };
    left.attributes.len() == right.attributes.len()
        && left.attributes.iter().zip(&right.attributes).all(same)
}

/// The hash of the model's content, built in another order, with detours.
pub fn rebuilt_hash(rng: &mut Rng, tree: &mut Tree, model: &ModelNode) -> ContentHash {
    let built = tree.edit(|editor| {
        let mut todo = vec![(jungle_tree::Path::root(), model)];
        while let Some((path, model)) = todo.pop() {
            let mut attributes: Vec<_> = model.attributes.iter().collect();
            rng.shuffle(&mut attributes);
            for (key, value) in attributes {
                editor.put_attribute(&path, key, convert::value(value))?;
            }
            let mut children: Vec<_> = model.children.iter().collect();
            rng.shuffle(&mut children);
            let passing: Vec<_> = (0..rng.below(30)).map(|_| random::key(rng, model)).collect();
            let mut gone = BTreeSet::new();
            for key in passing.iter().filter(|key| !model.children.contains_key(key)) {
                if editor.insert_child(&path, &convert::key(key)).is_ok() {
                    gone.insert(key);
                }
            }
            for (at, &(key, child)) in children.iter().enumerate() {
                let key = convert::key(key);
                editor.insert_child(&path, &key)?;
                todo.push((path.join(key), child));
                if at == children.len() / 2 {
                    for key in std::mem::take(&mut gone) {
                        editor.remove(&path.join(convert::key(key)))?;
                    }
                }
            }
            for key in gone {
                editor.remove(&path.join(convert::key(key)))?;
            }
        }
        Ok::<_, EditError>(())
    });
    built.expect("the model holds nothing that a tree refuses");
    tree.read().root().content_hash()
}
