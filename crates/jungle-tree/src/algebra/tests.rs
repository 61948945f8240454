//! What holds for any trees and any edits.

use jungle_testkit::{Rng, for_each_seed};

use super::*;
use crate::{Arena, Editor, Key, Path, Position, Signature, Snapshot, Tree, Value};

mod adds;
mod deep;
mod marks;
mod moves;
mod numbers;
mod steps;
mod table;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const ATTRIBUTES: [&str; 3] = ["x", "y", "z"];

/// What a random edit may do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    All,
    /// Those for which replicas converge in any order: no moves, and no set or large subtrees.
    Convergent {
        replica: u64,
    },
}

fn paths(editor: &Editor) -> Vec<Path> {
    let mut walk = editor.root().walk();
    let mut paths = Vec::new();
    while walk.next().is_some() {
        paths.push(walk.path());
    }
    paths
}

fn value(rng: &mut Rng) -> Value {
    match rng.below(4) {
        0 => Value::from("text"),
        1 => Value::from(rng.chance(1, 2)),
        _ => Value::Int(rng.below(5) as i64),
    }
}

/// One random edit, refused ones included; the change it made.
fn edit(rng: &mut Rng, editor: &mut Editor, kinds: Kinds) -> Option<Change> {
    let paths = paths(editor);
    let path = rng.pick(&paths).clone();
    let change = match rng.below(10) {
        0..3 => match kinds {
            Kinds::All if rng.chance(2, 3) => {
                let key = editor.add_child(&path).ok()?;
                return Some(Change::ChildAdded { path: path.join(key) });
            }
            Kinds::Convergent { replica } if rng.chance(2, 3) => {
                let index = editor.root().at(&path).ok()?.next_position();
                let own = Signature::new(replica, rng.next_u64());
                let position = Position::new(index).and_then(|next| next.signed(&own)).ok()?;
                Change::ChildAdded { path: path.join(position) }
            }
            _ => Change::ChildAdded { path: path.join(*rng.pick(&NAMES)) },
        },
        3..7 => {
            Change::AttributePut { path, key: (*rng.pick(&ATTRIBUTES)).into(), value: value(rng) }
        }
        7 => {
            let key = (*rng.pick(&ATTRIBUTES)).into();
            Change::AttributeRemoved { path, key }
        }
        8 => Change::ChildRemoved { path },
        _ if matches!(kinds, Kinds::Convergent { .. }) => return None,
        _ if rng.chance(1, 3) => {
            let mut other = Tree::from_snapshot(editor.base());
            other.put_attribute(&[], "set", 1).ok()?;
            let subtree = Subtree::new(&other.snapshot(), &[]).ok()?;
            Change::SubtreeSet { path, subtree }
        }
        _ => {
            let to = rng.pick(&paths).join(*rng.pick(&NAMES));
            Change::Moved { from: path, to }
        }
    };
    apply(editor, std::slice::from_ref(&change)).ok()?;
    Some(change)
}

/// A version some random edits later, and what they were.
fn later(rng: &mut Rng, base: &Snapshot, edits: u64, kinds: Kinds) -> (Snapshot, ChangeSet) {
    let mut tree = Tree::from_snapshot(base);
    let mut editor = Editor::new(tree.snapshot());
    let mut changes = ChangeSet::new();
    for _ in 0..edits {
        if editor.root().subtree_count() < 200 {
            changes.extend(edit(rng, &mut editor, kinds));
        }
    }
    tree.publish(editor);
    (tree.snapshot(), changes)
}

fn random_base(rng: &mut Rng, arena: &Arena) -> Snapshot {
    let empty = Tree::new(arena).snapshot();
    let edits = rng.below(40);
    later(rng, &empty, edits, Kinds::All).0
}

/// What a version becomes when changes are applied.
fn applied(base: &Snapshot, changes: &[Change]) -> Snapshot {
    let mut tree = Tree::from_snapshot(base);
    let mut editor = Editor::new(tree.snapshot());
    if let Err(error) = apply(&mut editor, changes) {
        panic!("{error}\n{}", changes.iter().cloned().collect::<ChangeSet>());
    }
    tree.publish(editor);
    tree.snapshot()
}

#[track_caller]
fn assert_equal(a: &Snapshot, b: &Snapshot, context: impl std::fmt::Display) {
    let equal = a.root().is_equal(b.root());
    assert!(equal, "{context}\nleft to right:\n{}", diff(a, b));
}

fn merged(base: &Snapshot, ours: &Snapshot, theirs: &Snapshot, options: &MergeOptions) -> Snapshot {
    let merged = merge(base, ours, theirs, options).unwrap();
    let mut tree = Tree::from_snapshot(theirs);
    tree.publish(merged.editor);
    tree.snapshot()
}

fn options(resolution: Resolution) -> MergeOptions {
    MergeOptions::new().resolution(resolution)
}

const RESOLUTIONS: [Resolution; 3] = [Resolution::Ours, Resolution::Theirs, Resolution::Symmetric];

#[test]
fn a_diff_applied_gives_the_other() {
    for_each_seed(1500, |rng| {
        let arena = Arena::new().unwrap();
        let a = random_base(rng, &arena);
        let edits = rng.below(30);
        let (b, changes) = later(rng, &a, edits, Kinds::All);
        assert_equal(&applied(&a, &changes), &b, "as recorded");
        let c = with_another_root(rng, &b);
        for (from, to) in [(&a, &b), (&b, &a), (&a, &c), (&c, &a), (&b, &c), (&c, &b)] {
            let diff = diff(from, to);
            assert_equal(&applied(from, &diff), to, &diff);
            assert!(super::diff(from, from).is_empty());
        }
        let other = Arena::new().unwrap();
        let mut copy = Tree::new(&other);
        let mut editor = Editor::new(copy.snapshot());
        copy_subtree(&mut editor, &[], b.root()).unwrap();
        copy.publish(editor);
        assert_equal(&b, &copy.snapshot(), "copied");
        let diff = diff(&a, &copy.snapshot());
        assert_equal(&applied(&a, &diff), &b, &diff);
    });
}

/// A version with a root put above the old one, or one of its nodes as root.
fn with_another_root(rng: &mut Rng, of: &Snapshot) -> Snapshot {
    let mut tree = Tree::from_snapshot(of);
    let edited = tree.edit(|editor| match rng.chance(1, 2) {
        true => editor.push_root(&(*rng.pick(&NAMES)).into()),
        false => {
            let paths = paths(editor);
            editor.pop_root(rng.pick::<Path>(&paths))
        }
    });
    edited.unwrap();
    tree.snapshot()
}

#[test]
fn a_diff_is_minimal() {
    for_each_seed(300, |rng| {
        let arena = Arena::new().unwrap();
        let a = random_base(rng, &arena);
        let (b, changes) = later(rng, &a, 1, Kinds::All);
        let diff = diff(&a, &b);
        let most = match &changes[..] {
            [Change::SubtreeSet { .. }] => return,
            // A bare node has nothing by which it is known again.
            [Change::Moved { .. }] => 2,
            changes => changes.len(),
        };
        assert!(diff.len() <= most, "{changes}is {diff}");
    });
}

#[test]
fn merging_with_nothing_changes_nothing() {
    for_each_seed(200, |rng| {
        let arena = Arena::new().unwrap();
        let base = random_base(rng, &arena);
        let (x, _) = later(rng, &base, 20, Kinds::All);
        for resolution in RESOLUTIONS {
            let options = options(resolution);
            let cases = [(&base, &x, "theirs"), (&x, &base, "ours"), (&x, &x, "both")];
            for (ours, theirs, name) in cases {
                assert_equal(&merged(&base, ours, theirs, &options), &x, name);
                assert!(merge(&base, ours, theirs, &options).unwrap().conflicts.is_empty());
            }
        }
    });
}

/// Of what was moved this does not hold: a rebase follows it, and changes as they are do not.
#[test]
fn changes_that_stand_come_to_what_a_rebase_makes_of_them() {
    let mut stood = 0;
    for_each_seed(2000, |rng| {
        let arena = Arena::new().unwrap();
        let base = random_base(rng, &arena);
        let (mine, others) = (rng.below(4) + 1, rng.below(4) + 1);
        let (_, ours) = later(rng, &base, mine, Kinds::Convergent { replica: 1 });
        let (head, _) = later(rng, &base, others, Kinds::Convergent { replica: 2 });
        if stands(&ours, base.root(), head.root()) {
            stood += 1;
            let rebased = rebase_onto(&base, &ours, &head, &MergeOptions::new());
            let is_as_it_was = rebased.conflicts.is_empty() && rebased.renamed.is_empty();
            assert!(is_as_it_was, "{ours}{rebased:?}");
            assert_equal(&applied(&head, &ours), &applied(&head, &rebased.changes), &ours);
        }
    });
    // In one case there may be nothing that stands.
    assert!(stood > 200 || std::env::var_os("JUNGLE_SEED").is_some(), "{stood} stood");
}

/// Applies whatever comes of a rebase, and checks that no change of ours is lost silently.
#[test]
fn a_rebase_applies_and_names_what_it_drops() {
    for_each_seed(5000, |rng| {
        let arena = Arena::new().unwrap();
        let base = random_base(rng, &arena);
        let edits = rng.below(12) + 1;
        let (mine, recorded) = later(rng, &base, edits, Kinds::All);
        let (head, theirs) = later(rng, &base, edits, Kinds::All);
        let ours = diff(&base, &mine);
        for resolution in RESOLUTIONS {
            let options = options(resolution);
            applied(&head, &rebase(&recorded, &theirs, &options).changes);
            applied(&head, &rebase_over(&base, &recorded, &theirs, &options).changes);
            applied(&head, &rebase_over(&base, &recorded, &diff(&base, &head), &options).changes);
            let rebased = rebase_over(&base, &ours, &theirs, &options);
            let result = applied(&head, &rebased.changes);
            for change in &ours {
                let named = rebased.conflicts.iter().any(|conflict| conflict.ours == *change);
                let agreed = is_done(change, &theirs) || is_in_a_set(change, &theirs);
                let kept = is_done(change, &rebased.changes) && is_there(change, &result);
                assert!(kept || agreed || named, "{change}\nours:\n{ours}theirs:\n{theirs}");
            }
        }
    });
}

/// Is there the same change, maybe of a node that is elsewhere now?
fn is_done(change: &Change, list: &[Change]) -> bool {
    list.iter().any(|other| match (other, change) {
        (
            Change::AttributePut { key: a, value: v, .. },
            Change::AttributePut { key: b, value: w, .. },
        ) => a == b && v == w,
        (Change::AttributeRemoved { key: a, .. }, Change::AttributeRemoved { key: b, .. }) => {
            a == b
        }
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    })
}

fn is_in_a_set(change: &Change, list: &[Change]) -> bool {
    let has = |node: crate::Node<'_>| match change {
        Change::AttributePut { key, value, .. } => node.attribute(key) == Some(value.as_ref()),
        _ => true,
    };
    list.iter().any(|other| match other {
        Change::SubtreeSet { subtree, .. } => subtree.node().find(has).is_some(),
        // Theirs removed all that ours changed: removed, put, or set to nothing else.
        Change::ChildRemoved { .. } => {
            matches!(change, Change::ChildRemoved { .. } | Change::AttributeRemoved { .. })
        }
        Change::ChildAdded { .. } => matches!(change, Change::ChildAdded { .. }),
        _ => false,
    })
}

fn is_there(change: &Change, result: &Snapshot) -> bool {
    let Change::AttributePut { key, value, .. } = change else {
        return true;
    };
    let has = |node: crate::Node<'_>| node.attribute(key) == Some(value.as_ref());
    result.root().find(has).is_some()
}

#[test]
fn edits_in_different_places_never_conflict() {
    for_each_seed(200, |rng| {
        let arena = Arena::new().unwrap();
        let mut tree = Tree::new(&arena);
        for name in ["left", "right"] {
            let content = random_base(rng, &arena);
            let mut editor = Editor::new(tree.snapshot());
            editor.insert_subtree(&[], &name.into(), content.root()).unwrap();
            tree.publish(editor);
        }
        let base = tree.snapshot();
        let mut side = |name: &str| {
            let at = Subtree::new(&base, &[name.into()]).unwrap();
            let mut part = Tree::new(&arena);
            let mut editor = Editor::new(part.snapshot());
            editor.set_subtree(&[], at.node()).unwrap();
            part.publish(editor);
            let (part, _) = later(rng, &part.snapshot(), 15, Kinds::All);
            let mut side = Tree::from_snapshot(&base);
            let mut editor = Editor::new(side.snapshot());
            editor.set_subtree(&[name.into()], part.root()).unwrap();
            side.publish(editor);
            side.snapshot()
        };
        let (left, right) = (side("left"), side("right"));
        for resolution in RESOLUTIONS {
            let options = options(resolution);
            let conflicts = merge(&base, &left, &right, &options).unwrap().conflicts;
            assert_eq!(conflicts, []);
            let one = merged(&base, &left, &right, &options);
            let other = merged(&base, &right, &left, &options);
            assert_equal(&one, &other, "exchanged");
        }
    });
}

#[test]
fn replicas_converge_in_any_order() {
    for_each_seed(150, |rng| {
        let arena = Arena::new().unwrap();
        let base = random_base(rng, &arena);
        let replicas: Vec<Snapshot> = (0..rng.range(3..6))
            .map(|n| {
                let kinds = Kinds::Convergent { replica: n + 1 };
                later(rng, &base, 12, kinds).0
            })
            .collect();
        let options = options(Resolution::Symmetric);
        let mut order: Vec<usize> = (0..replicas.len()).collect();
        let mut first: Option<Snapshot> = None;
        for _ in 0..6 {
            rng.shuffle(&mut order);
            let mut all = replicas[order[0]].clone();
            for &next in &order[1..] {
                all = if rng.chance(1, 2) {
                    merged(&base, &all, &replicas[next], &options)
                } else {
                    merged(&base, &replicas[next], &all, &options)
                };
            }
            if let Some(first) = &first {
                assert_equal(first, &all, format!("order {order:?}"));
            }
            first.get_or_insert(all);
        }
    });
}

#[test]
fn symmetric_is_symmetric_with_moves_too() {
    for_each_seed(300, |rng| {
        let arena = Arena::new().unwrap();
        let base = random_base(rng, &arena);
        let (a, _) = later(rng, &base, 1, Kinds::All);
        let (b, _) = later(rng, &base, 1, Kinds::All);
        let options = options(Resolution::Symmetric);
        let one = merge(&base, &a, &b, &options).unwrap();
        if one.renamed.is_empty() {
            let (x, y) = (merged(&base, &a, &b, &options), merged(&base, &b, &a, &options));
            let (a, b) = (diff(&base, &a), diff(&base, &b));
            assert_equal(&x, &y, format!("a:\n{a}b:\n{b}"));
        }
    });
}

#[test]
fn keys_are_kept_apart() {
    let arena = Arena::new().unwrap();
    let mut tree = Tree::new(&arena);
    tree.add_child(&[]).unwrap();
    let base = tree.snapshot();
    let append = |texts: &[&str]| {
        let mut tree = Tree::from_snapshot(&base);
        for &text in texts {
            let key: Key = tree.add_child(&[]).unwrap();
            tree.put_attribute(&[key], "text", text).unwrap();
        }
        tree.snapshot()
    };
    let (ours, theirs) = (append(&["a", "b"]), append(&["c", "d", "e"]));
    let result = merge(&base, &ours, &theirs, &MergeOptions::new()).unwrap();
    let renamed: Vec<String> = result.renamed.iter().map(|(a, b)| format!("{a} {b}")).collect();
    assert_eq!(renamed, ["/1 /4", "/2 /5"]);
    let texts = result.editor.root().children();
    let texts: Vec<String> =
        texts.filter_map(|(_, node)| node.attribute("text")?.as_text().map(String::from)).collect();
    assert_eq!(texts, ["c", "d", "e", "a", "b"]);
    assert_eq!(result.conflicts, []);
}

/// Somebody may put one there by hand, and take it away: to count on from there was to overflow.
#[test]
fn behind_the_last_fraction_that_a_tree_could_give_there_is_room() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let at = |digits: &[u8]| Path::from([crate::key::position(0, digits).unwrap()]);
    // The last one, and one that no tree gets to.
    for (last, now) in [(0x7f, &[0x80, 0x80, 0, 0, 0, 4][..]), (0xff, &[0x80, 1, 1])] {
        let last = at(&[1, last, 0xff, 0xff, 0xff, 4]);
        let mut theirs = Tree::from_snapshot(&base);
        theirs.insert_child(&[], &last[0]).unwrap();
        theirs.remove(&last).unwrap();
        let ours = [Change::ChildAdded { path: at(&[0x80]) }];
        let rebased = rebase_onto(&base, &ours, &theirs.snapshot(), &MergeOptions::new());
        assert_eq!(rebased.conflicts, []);
        assert_eq!(rebased.renamed, [(at(&[0x80]), at(now))]);
    }
}
