//! Nodes that have other keys on the other side.

use super::*;

/// A tree in which each node has its path as an attribute.
fn marked(paths: &[&str]) -> Snapshot {
    let mut tree = Tree::new(&Arena::new().unwrap());
    for text in paths {
        let path: Path = text.parse().unwrap();
        let (key, parent) = path.split_last().unwrap();
        tree.insert_child(parent, key).unwrap();
        tree.put_attribute(&path, "was", *text).unwrap();
    }
    tree.snapshot()
}

/// Where the nodes of a [`marked`] tree are: `/1 was /0`.
fn told(version: &Snapshot) -> Vec<String> {
    let mut walk = version.root().walk();
    let mut told = Vec::new();
    while let Some(node) = walk.next() {
        if let Some(was) = node.attribute("was") {
            told.push(format!("{} was {}", walk.path(), was.as_text().unwrap()));
        }
    }
    told
}

fn renumbered(nodes: &[(&str, i64)]) -> Vec<Renumbered> {
    let node = |&(path, key): &(&str, i64)| Renumbered {
        path: path.parse().unwrap(),
        key: Key::from(key),
    };
    nodes.iter().map(node).collect()
}

/// What was renamed in such a node, or in one that is in such a node, was theirs alone.
#[test]
fn only_nodes_of_ours_are_renumbered_by_what_comes_between() {
    let path = |text: &str| text.parse::<Path>().unwrap();
    let told = renumbered(&[("/1", 2), ("/1/0", 1), ("/1/0/2", 5), ("/3", 4)]);
    let known = Renumbering::new(told.iter().rev().cloned().collect(), Vec::new());
    for (from, to) in [("/1/0/3", "/1/0/4"), ("/1/7/7", "/1/7/8"), ("/3", "/5"), ("/3/0", "/3/1")] {
        assert_eq!(known.then(&[(path(from), path(to))]), told, "{from}");
    }
    for (from, to) in [("/0/7", 8), ("/2", 9), ("/2/0/2", 3), ("/4/1", 2)] {
        let (from, key) = (path(from), Key::from(to));
        let now = from.parent().unwrap().join(key.clone());
        let nodes = known.then(&[(from.clone(), now)]);
        assert_eq!(nodes.len(), told.len() + 1, "{from}");
        assert!(nodes.contains(&Renumbered { path: from, key }));
    }
}

#[test]
fn nodes_get_their_other_keys_all_at_once() {
    let base = marked(&["/0", "/0/0", "/0/1", "/1", "/2", "/3"]);
    let nodes = [("/2", 5), ("/0", 1), ("/1", 0), ("/0/1", 0), ("/0/0", 1), ("/3", 2), ("/9", 4)];
    let theirs = MergeBase::of_ours(&base, &renumbered(&nodes)).unwrap();
    let expected =
        ["/0 was /1", "/1 was /0", "/1/0 was /0/1", "/1/1 was /0/0", "/2 was /3", "/5 was /2"];
    assert_eq!(told(theirs.theirs()), expected);
    assert!(theirs.ours().root().is_same(base.root()));
}

/// As it cannot be on the other side, it is as if it were not there.
#[test]
fn who_has_a_key_that_another_one_gets_goes_out_of_the_way() {
    let base = marked(&["/0", "/1", "/2", "/~0"]);
    let theirs = MergeBase::of_ours(&base, &renumbered(&[("/0", 1), ("/2", 1)])).unwrap();
    let told = told(theirs.theirs());
    assert_eq!(told[0], "/1 was /0");
    let others = told[1..].iter().map(|line| line.split_once(" was ").unwrap().1);
    let mut others: Vec<&str> = others.collect();
    others.sort_unstable();
    assert_eq!(others, ["/1", "/2", "/~0"]);
    assert!(told.contains(&"/~0 was /~0".to_owned()), "{told:?}");
}

/// One of them did so in a merge before, and is told with its name.
#[test]
fn nodes_that_go_out_of_the_way_get_different_keys() {
    let base = marked(&["/0", "/1", "/2", "/3"]);
    let mut nodes = renumbered(&[("/0", 1), ("/3", 2)]);
    nodes.push(Renumbered { path: "/2".parse().unwrap(), key: Key::from("~0") });
    let theirs = MergeBase::of_ours(&base, &nodes).unwrap();
    let mut told = told(theirs.theirs());
    told.sort_unstable();
    let aside = "/1.ffffffffffffffff0081 was /1";
    assert_eq!(told, ["/1 was /0", aside, "/2 was /3", "/~0 was /2"]);
}

#[test]
fn there_and_back_all_nodes_are_as_they_were() {
    for_each_seed(300, |rng| {
        let arena = Arena::new().unwrap();
        let base = random_base(rng, &arena);
        let mut nodes = Vec::new();
        for path in paths(&Editor::new(base.clone())) {
            if !path.is_empty() && rng.chance(1, 2) {
                nodes.push(Renumbered { path, key: Key::from(rng.below(6)) });
            }
        }
        rng.shuffle(&mut nodes);
        let [forth, back] = [
            MergeBase::of_ours(&base, &nodes).unwrap(),
            MergeBase::of_theirs(&base, &nodes).unwrap(),
        ];
        assert_equal(forth.theirs(), back.ours(), "told by either side");
        let again = MergeBase::of_ours(back.ours(), back.start().renumbered).unwrap();
        assert_equal(again.theirs(), &base, "back again");
        assert_eq!(forth.start().renumbered.len(), back.start().renumbered.len());
        // What one side does is done on the other, and nothing besides.
        let edits = rng.below(10);
        let (ours, _) = later(rng, &base, edits, Kinds::All);
        let merged = merge_again(&forth, &ours, forth.theirs(), &MergeOptions::new()).unwrap();
        assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
        let mut there = Tree::from_snapshot(forth.theirs());
        there.publish(merged.editor);
        let seen = MergeBase::of_ours(&ours, &merged.renumbering.then(&[])).unwrap();
        assert_equal(seen.theirs(), &there.snapshot(), "ours in their numbers");
    });
}

/// A version after children have come (`+ /1`) and gone (`- /1`).
fn after(version: &Snapshot, script: &[&str]) -> Snapshot {
    let change = |text: &&str| {
        let (kind, path) = text.split_once(' ').unwrap();
        let path = path.parse().unwrap();
        match kind {
            "+" => Change::ChildAdded { path },
            _ => Change::ChildRemoved { path },
        }
    };
    applied(version, &script.iter().map(change).collect::<Vec<_>>())
}

/// What each node has given, in the order of the document.
fn given(version: &Snapshot) -> Vec<(i64, i64, u32)> {
    version.root().walk().map(|node| node.positions_given()).collect()
}

/// What becomes of theirs without conflicts, by what changes, and which nodes have other keys then.
fn again(
    base: &MergeBase,
    ours: &Snapshot,
    theirs: &Snapshot,
) -> (Snapshot, String, Vec<Renumbered>) {
    let merged = merge_again(base, ours, theirs, &MergeOptions::new()).unwrap();
    assert_eq!(merged.conflicts, []);
    let (told, nodes) = (merged.changes.to_string(), merged.renumbering.then(&[]));
    let redone = applied(theirs, &merged.changes);
    let mut tree = Tree::from_snapshot(theirs);
    tree.publish(merged.editor);
    let done = tree.snapshot();
    assert_equal(&redone, &done, &told);
    assert_eq!(given(&redone), given(&done), "{told}");
    (done, told, nodes)
}

#[test]
fn what_ours_gave_and_took_away_is_given_by_neither() {
    let base = marked(&["/0", "/1", "/1/0"]);
    let ours = after(&base, &["+ /2", "- /2", "+ /1/1", "+ /1/2", "- /1/2"]);
    let (merged, told, _) = again(&MergeBase::new(&base), &ours, &base);
    assert_eq!(told, "+ /1/1\n+ /2\n- /2\n+ /1/2\n- /1/2\n");
    assert_eq!(given(&merged), given(&ours));
    // That is done once.
    let forth = MergeBase::of_ours(&ours, &[]).unwrap();
    assert_eq!(again(&forth, &ours, &merged).1, "");
    let back = MergeBase::of_theirs(&ours, &[]).unwrap();
    assert_eq!(again(&back, &merged, &ours).1, "");
}

#[test]
fn a_position_of_a_node_that_is_gone_is_given_to_no_other_one() {
    let base = marked(&["/0"]);
    let (side, main) = (after(&base, &["+ /1", "- /1"]), after(&base, &["+ /1"]));
    assert_eq!(again(&MergeBase::new(&base), &side, &main).1, "");
    for base in [MergeBase::new(&base), MergeBase::of_theirs(&side, &[]).unwrap()] {
        let (_, told, nodes) = again(&base, &main, &side);
        assert_eq!((&*told, nodes), ("+ /2\n", renumbered(&[("/1", 2)])));
    }
}

/// What was given before the two went apart is not given to two nodes: it comes back.
#[test]
fn a_position_comes_back_where_both_began() {
    let base = after(&marked(&["/0"]), &["+ /1", "- /1"]);
    let ours = after(&base, &["+ /1"]);
    assert_eq!(again(&MergeBase::new(&base), &ours, &base).1, "+ /1\n");
    let merged_before = MergeBase::of_ours(&base, &[]).unwrap();
    assert_eq!(again(&merged_before, &ours, &base).1, "+ /2\n");
}

#[test]
fn what_is_gone_in_front_and_between_is_given_to_no_other_one() {
    let base = marked(&["/0", "/1"]);
    let side = after(&base, &["+ /-1", "- /-1", "+ /0.80", "- /0.80"]);
    let later = MergeBase::of_theirs(&side, &[]).unwrap();
    // The other one had given that between already.
    let (_, told, nodes) = again(&later, &after(&base, &["+ /0.80"]), &side);
    assert_eq!((&*told, nodes.len()), ("+ /0.800101\n", 1));
    // Or it gives others from the merge on, which are the same on both.
    let (main, _, _) = again(&MergeBase::new(&base), &side, &base);
    assert_equal(&main, &base, "nothing is there");
    assert_eq!(given(&main), given(&side));
    let (mut main, first) = (Tree::from_snapshot(&main), Position::new(0).unwrap());
    main.insert_before(&[], &first).unwrap();
    main.insert_after(&[], &first).unwrap();
    let (_, told, nodes) = again(&later, &main.snapshot(), &side);
    assert_eq!((&*told, nodes.len()), ("+ /-2\n+ /0.800101\n", 0));
}

#[test]
fn what_ours_gave_is_given_by_the_same_node_wherever_it_is() {
    let base = MergeBase::of_ours(&marked(&["/0"]), &renumbered(&[("/0", 1)])).unwrap();
    let ours = after(base.ours(), &["+ /0/0", "- /0/0"]);
    assert_eq!(again(&base, &ours, base.theirs()).1, "+ /1/0\n- /1/0\n");
    let (from, to) = ("/1".parse().unwrap(), "/x".parse().unwrap());
    let moved = applied(base.theirs(), &[Change::Moved { from, to }]);
    assert_eq!(again(&base, &ours, &moved).1, "+ /x/0\n- /x/0\n");
    assert_eq!(again(&base, &ours, &after(base.theirs(), &["- /1"])).1, "");
    // Of what ours added, too.
    let base = marked(&["/0"]);
    let ours = after(&base, &["+ /1", "+ /1/0", "- /1/0"]);
    let told = again(&MergeBase::new(&base), &ours, &after(&base, &["+ /1"])).1;
    assert_eq!(told, "+ /2\n+ /2/0\n- /2/0\n");
}

/// In our numbers it looks as if the base had given what only we did.
#[test]
fn what_ours_gave_to_a_node_with_another_key_is_given_by_neither() {
    let main = marked(&["/0", "/0/0"]);
    let base = MergeBase::of_theirs(&main, &renumbered(&[("/0/0", 1)])).unwrap();
    let (merged, told, _) = again(&base, base.ours(), &main);
    assert_eq!(told, "+ /0/1\n- /0/1\n");
    assert_eq!(again(&base, base.ours(), &merged).1, "");
}
