//! Nodes that were moved and edited besides.

use super::*;
use crate::EditError;

/// `/a` with so many children, each with an attribute and a child of its own; and `/d`.
fn base(arena: &Arena, children: i64) -> Snapshot {
    let mut tree = Tree::new(arena);
    let edited = tree.edit(|editor| {
        editor.insert_child(&[], &"a".into())?;
        editor.insert_child(&[], &"d".into())?;
        for n in 0..children {
            let child = Path::from(["a".into(), editor.add_child(&["a".into()])?]);
            editor.put_attribute(&child, "n", n)?;
            let below = child.join(editor.add_child(&child)?);
            editor.put_attribute(&below, "m", n)?;
        }
        Ok::<(), EditError>(())
    });
    edited.unwrap();
    tree.snapshot()
}

fn path(text: &str) -> Path {
    text.parse().unwrap()
}

/// What a script makes of a version, and what `diff` says of that.
#[track_caller]
fn told(base: &Snapshot, script: &[Change]) -> String {
    let after = applied(base, script);
    let said = diff(base, &after);
    assert_equal(&applied(base, &said), &after, &said);
    let back = diff(&after, base);
    assert_equal(&applied(&after, &back), base, &back);
    said.to_string()
}

fn moved(from: &str, to: &str) -> Change {
    Change::Moved { from: path(from), to: path(to) }
}

fn put(at: &str, value: i64) -> Change {
    Change::AttributePut { path: path(at), key: "n".into(), value: value.into() }
}

fn removed(at: &str) -> Change {
    Change::ChildRemoved { path: path(at) }
}

#[test]
fn what_was_edited_below_a_moved_node_is_told_after_the_move() {
    let arena = Arena::new().unwrap();
    for children in [3, 100, 5000] {
        let base = base(&arena, children);
        let script = [moved("/a", "/d/a"), put("/d/a", 7), put("/d/a/1", 9), removed("/d/a/2")];
        let said = "> /a -> /d/a\n~ /d/a @n = 7\n~ /d/a/1 @n = 9\n- /d/a/2\n";
        assert_eq!(told(&base, &script), said, "{children}");
    }
}

#[test]
fn a_node_moved_out_of_a_moved_one_or_into_it_is_told_as_moved() {
    let arena = Arena::new().unwrap();
    let base = base(&arena, 8);
    let out = [moved("/a", "/d/a"), moved("/d/a/1", "/x"), put("/x/0", 9)];
    let said = "> /a -> /d/a\n> /d/a/1 -> /x\n~ /x/0 @n = 9\n";
    assert_eq!(told(&base, &out), said);
    let into = [moved("/a", "/b"), moved("/b/1", "/x"), moved("/b/2", "/b/0/y"), put("/b/0/y", 9)];
    let said = "> /a -> /b\n> /b/1 -> /x\n> /b/2 -> /b/0/y\n~ /b/0/y @n = 9\n";
    assert_eq!(told(&base, &into), said);
}

#[test]
fn two_that_changed_places_are_told_apart_by_what_they_share() {
    let arena = Arena::new().unwrap();
    let base = base(&arena, 2);
    let mut tree = Tree::from_snapshot(&base);
    tree.edit(|editor| editor.insert_subtree(&[], &"c".into(), base.root().child("a").unwrap()))
        .unwrap();
    tree.remove(&path("/c/1/0")).unwrap();
    let base = tree.snapshot();
    let script = [moved("/a", "/d/a"), moved("/c", "/d/c"), put("/d/a/1/0", 5), put("/d/c/0/0", 5)];
    let said = told(&base, &script);
    assert!(said.starts_with("> /a -> /d/a\n> /c -> /d/c\n"), "{said}");
}

#[test]
fn what_has_little_in_common_is_not_taken_for_moved() {
    let arena = Arena::new().unwrap();
    let base = base(&arena, 8);
    let script: Vec<Change> = [moved("/a", "/d/a")]
        .into_iter()
        .chain((0..8).filter(|n| *n != 3).map(|n| removed(&format!("/d/a/{n}"))))
        .chain((10..20).flat_map(|n| {
            let path = path(&format!("/d/a/{n}"));
            [Change::ChildAdded { path }, put(&format!("/d/a/{n}"), n)]
        }))
        .chain([put("/d/a/3", 5), put("/d/a/3/0", 5)])
        .collect();
    let said = told(&base, &script);
    assert!(!said.contains('>'), "{said}");
}

/// The case that people meet: one moves a chapter and edits it, the other edits it where it was.
#[test]
fn a_merge_follows_a_node_that_was_moved_and_edited() {
    let arena = Arena::new().unwrap();
    let base = base(&arena, 5);
    let one = applied(&base, &[moved("/a", "/d/a"), put("/d/a/1", 11), removed("/d/a/4")]);
    let other = applied(&base, &[put("/a/2", 22), put("/a/3/0", 33)]);
    let both = applied(&one, &[put("/d/a/2", 22), put("/d/a/3/0", 33)]);
    for resolution in RESOLUTIONS {
        for (ours, theirs) in [(&one, &other), (&other, &one)] {
            let merge = merge(&base, ours, theirs, &options(resolution)).unwrap();
            assert!(merge.conflicts.is_empty(), "{:?}", merge.conflicts);
            let is = merged(&base, ours, theirs, &options(resolution));
            assert_equal(&is, &both, format!("{resolution:?}"));
        }
    }
}

#[test]
fn a_root_above_the_old_one_is_not_taken_for_one_of_its_children() {
    let arena = Arena::new().unwrap();
    let old = base(&arena, 1000);
    let mut tree = Tree::from_snapshot(&old);
    tree.edit(|editor| editor.push_root(&"old".into())).unwrap();
    tree.put_attribute(&path("/old/a/7"), "n", 70).unwrap();
    let said = diff(&old, &tree.snapshot());
    assert_equal(&applied(&old, &said), &tree.snapshot(), &said);
    // All that `/a` shares with `/old` lies one level further down there.
    assert!(!said.to_string().contains('>') && said.len() == 3, "{} changes", said.len());
}

/// One side's moves make a circle with the other's until its last one takes a node out of it: from
/// there, taken one by one, the first of them would be refused.
#[test]
fn moves_of_both_come_to_the_same_from_either_side() {
    let arena = Arena::new().unwrap();
    let named =
        |name: &str, at: &str| [Change::ChildAdded { path: path(at) }, put(at, name.len() as i64)];
    let script = [named("m", "/m"), named("aa", "/a"), named("kkk", "/a/k")].concat();
    let base = applied(&Tree::new(&arena).snapshot(), &script);
    let one = applied(&base, &[moved("/m", "/a/k/c")]);
    let other = applied(&base, &[moved("/a", "/m/c"), moved("/m/c/k", "/z")]);
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    let merged = [(&one, &other), (&other, &one)].map(|(ours, theirs)| {
        let merged = merge(&base, ours, theirs, &options).unwrap();
        assert_eq!(merged.conflicts, []);
        let mut tree = Tree::from_snapshot(theirs);
        tree.publish(merged.editor);
        let changed = applied(theirs, &merged.changes);
        assert_equal(&changed, &tree.snapshot(), "what is told is what was done");
        tree.snapshot()
    });
    assert_equal(&merged[0], &merged[1], "from the other side");
    assert_eq!(
        merged[0].root().at(&path("/z/c/c")).unwrap().attribute("n").and_then(|n| n.as_int()),
        Some(2)
    );
}

/// What a merge makes of two sides, told from either; each is a script of moves and the like.
fn from_either_side(base: &Snapshot, one: &[Change], other: &[Change]) -> [(Snapshot, usize); 2] {
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    let (one, other) = (applied(base, one), applied(base, other));
    [(&one, &other), (&other, &one)].map(|(ours, theirs)| {
        let merged = merge(base, ours, theirs, &options).unwrap();
        (applied(theirs, &merged.changes), merged.conflicts.len())
    })
}

/// What lost to something that loses in its turn.
#[test]
fn conflicts_that_follow_from_each_other_come_to_the_same_from_either_side() {
    let arena = Arena::new().unwrap();
    let base = base(&arena, 3);
    let add = |at: &str| Change::ChildAdded { path: path(at) };
    for (one, other) in [
        (vec![moved("/a", "/d/a")], vec![moved("/a", "/n"), moved("/d", "/n/c"), add("/n/c/a")]),
        (vec![moved("/a", "/c")], vec![moved("/a", "/n"), add("/c")]),
        (vec![moved("/a", "/d/k")], vec![moved("/d", "/a/c"), moved("/a", "/z")]),
        (vec![removed("/d")], vec![moved("/a", "/d/c"), moved("/d/c/1", "/d/c/0/m")]),
    ] {
        let [(first, conflicts), (second, of_other)] = from_either_side(&base, &one, &other);
        assert_equal(&first, &second, format_args!("{one:?} {other:?}"));
        assert!(conflicts > 0 && of_other > 0);
    }
}

/// Theirs gave a position and took it back: nothing of ours gets it.
#[test]
fn a_position_is_given_once_whoever_merges() {
    let arena = Arena::new().unwrap();
    let named = |at: &str, n| [Change::ChildAdded { path: path(at) }, put(at, n)];
    let script = [named("/m", 1), named("/a", 2), named("/a/k", 3)].concat();
    let base = applied(&Tree::new(&arena).snapshot(), &script);
    let add = Change::ChildAdded { path: path("/m/0") };
    let other = applied(&base, &[add, removed("/m/0"), moved("/m", "/a/k/c")]);
    let one = applied(&base, &[moved("/a", "/m/0"), moved("/m/0/k", "/z")]);
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    let merged = merge(&base, &one, &other, &options).unwrap();
    let result = applied(&other, &merged.changes);
    let m = ["/m", "/a/k/c", "/z/c"]
        .map(|at| result.root().at(&path(at)).is_ok_and(|m| m.child(&Key::from(0)).is_some()));
    assert_eq!(m, [false; 3], "{}", merged.changes);
}

/// Where nothing is in conflict our moves are told as moves.
#[test]
fn a_move_without_conflict_is_told_as_one() {
    let arena = Arena::new().unwrap();
    let named = |at: &str, n| [Change::ChildAdded { path: path(at) }, put(at, n)];
    let base = applied(&Tree::new(&arena).snapshot(), &[named("/y", 1), named("/b", 2)].concat());
    let one = applied(&base, &[moved("/y", "/z")]);
    let other = applied(&base, &[moved("/b", "/c"), put("/y", 5)]);
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    for (ours, theirs, told) in
        [(&one, &other, "> /y -> /z\n"), (&other, &one, "> /b -> /c\n~ /z @n = 5\n")]
    {
        let merged = merge(&base, ours, theirs, &options).unwrap();
        assert_eq!(merged.changes.to_string(), told);
    }
}

/// A conflict is told as whoever asks sees it.
#[test]
fn a_conflict_of_moves_is_told_from_either_side() {
    let arena = Arena::new().unwrap();
    let base = base(&arena, 3);
    let one = applied(&base, &[moved("/a", "/d/x"), removed("/d/x/1")]);
    let other = applied(&base, &[put("/a/1", 5), moved("/a", "/d/y")]);
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    let [mut told, back] = [(&one, &other), (&other, &one)].map(|(ours, theirs)| {
        let merged = merge(&base, ours, theirs, &options).unwrap();
        let told = merged.conflicts.into_iter().map(|it| (it.kind, it.ours, it.theirs));
        told.collect::<Vec<_>>()
    });
    for (kind, ours, theirs) in &mut told {
        std::mem::swap(ours, theirs);
        *kind = match *kind {
            ConflictKind::RemovedBelow => ConflictKind::ChangedBelow,
            ConflictKind::ChangedBelow => ConflictKind::RemovedBelow,
            kind => kind,
        };
    }
    assert_eq!(told, back);
    assert_eq!(told.len(), 2);
}

#[test]
fn a_node_that_they_moved_into_itself_stays_where_it_is() {
    let theirs = [moved("/a", "/a/b"), moved("/", "/c"), put("/d", 1)];
    let rebased = rebase(&[put("/a", 7)], &theirs, &MergeOptions::new());
    assert_eq!(rebased.changes.to_string(), "~ /a @n = 7\n");
    assert!(rebased.conflicts.is_empty());
}
