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
fn nodes_that_go_out_of_the_way_get_different_names() {
    let base = marked(&["/0", "/1", "/2", "/3"]);
    let mut nodes = renumbered(&[("/0", 1), ("/3", 2)]);
    nodes.push(Renumbered { path: "/2".parse().unwrap(), key: Key::from("~0") });
    let theirs = MergeBase::of_ours(&base, &nodes).unwrap();
    let mut told = told(theirs.theirs());
    told.sort_unstable();
    assert_eq!(told, ["/1 was /0", "/2 was /3", "/~0 was /2", "/~1 was /1"]);
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
        let again = MergeBase::of_ours(back.ours(), back.renumbered()).unwrap();
        assert_equal(again.theirs(), &base, "back again");
        assert_eq!(forth.renumbered().len(), back.renumbered().len());
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
