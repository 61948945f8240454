//! Ways to look that go through more than one node, each worked out on the model.

use jungle_testkit::{ModelNode, Rng};
use jungle_tree::{Editor, Path, Snapshot, apply, diff_at, keys_to_skip};

use super::random::{self, ModelPath};
use super::{convert, verify};

/// Many places at once, a search, and a walk that leaves out what is below some nodes.
#[track_caller]
pub fn places(rng: &mut Rng, snapshot: &Snapshot, model: &ModelNode) {
    let root = snapshot.root();
    let asked: Vec<ModelPath> =
        (0..rng.below(40)).map(|_| random::path_or_not(rng, model)).collect();
    let paths: Vec<Path> = asked.iter().map(|path| convert::path(path)).collect();
    let found = root.at_many(&paths.iter().map(|path| &**path).collect::<Vec<_>>());
    assert_eq!(found.len(), asked.len());
    for (found, path) in found.into_iter().zip(&asked) {
        let there = model.at(path);
        assert_eq!(found.is_some(), there.is_some(), "one of many, at {path:?}");
        if let (Some(node), Some(there)) = (found, there) {
            verify::attributes(node, there);
            assert_eq!(node.child_count(), there.children.len() as u64, "children of {path:?}");
        }
    }
    let ordered = ordered(model);
    let (wanted, mut seen) = (rng.index(ordered.len() + 1), 0);
    let found = root.find(|_| {
        seen += 1;
        seen > wanted
    });
    let expected = ordered.get(wanted).map(|(path, _)| convert::path(path));
    assert_eq!(found.map(|(path, _)| path), expected, "node {wanted} of a search");
    let mut walk = root.walk();
    let mut left_out: Option<&ModelPath> = None;
    for (path, there) in &ordered {
        if left_out.is_some_and(|above| path.starts_with(above)) {
            continue;
        }
        let node = walk.next().expect("the model has more");
        assert_eq!(walk.path(), convert::path(path), "where a walk is");
        verify::attributes(node, there);
        if rng.chance(1, 8) {
            walk.skip_below();
            left_out = Some(path);
        }
    }
    assert!(walk.next().is_none(), "a walk goes on behind the last");
}

/// All nodes in document order, with their paths.
fn ordered(model: &ModelNode) -> Vec<(ModelPath, &ModelNode)> {
    let (mut stack, mut ordered) = (vec![(ModelPath::new(), model)], Vec::new());
    while let Some((path, node)) = stack.pop() {
        for (key, child) in node.children.iter().rev() {
            stack.push(([&path[..], std::slice::from_ref(key)].concat(), child));
        }
        ordered.push((path, node));
    }
    ordered
}

/// What differs at a path, done to the old version, makes the new one of it there, and nothing
/// else.
#[track_caller]
pub fn difference(rng: &mut Rng, old: (&Snapshot, &ModelNode), new: (&Snapshot, &ModelNode)) {
    let path = random::path(rng, old.1);
    let at = convert::path(&path);
    let changes = diff_at(old.0, new.0, &at);
    let Some(there) = new.1.at(&path) else {
        return assert!(changes.is_err(), "{at} is not in the new version");
    };
    let changes = changes.expect("it is in both");
    super::trace(&("differs at", &at, &changes));
    let mut editor = Editor::new(old.0.clone());
    apply(&mut editor, &changes).expect("it was done before");
    let mut expected = old.1.clone();
    expected.set(&path, there.clone()).expect("it is there");
    verify::equal(editor.root(), &expected);
}

/// Children that come and go let a node give no position any more that another one has given, and
/// change nothing else.
#[track_caller]
pub fn skips(snapshot: &Snapshot, model: &ModelNode, gave: &Snapshot) {
    let mut editor = Editor::new(snapshot.clone());
    let gave = gave.root();
    for key in keys_to_skip(snapshot.root(), gave) {
        editor.insert_child(&[], &key).expect("it was never given");
        editor.remove(&[key]).expect("it is there");
    }
    let root = editor.root();
    verify::equal(root, model);
    assert_eq!(root.next_position(), model.next.max(gave.next_position()), "next position");
    assert!(root.lowest_position() <= gave.lowest_position(), "lowest position");
    assert!(root.fractions_taken() >= gave.fractions_taken(), "fractions");
}
