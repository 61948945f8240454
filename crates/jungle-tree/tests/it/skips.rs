//! Who leaves out children comes to the same ones as who steps over them, and a name that was put
//! among others that look nearly like it is found.

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Arena, Children, EditError, Editor, Key, KeyRef, Node, Position, Tree};

/// A root with up to some 20,000 children: by position and by name, with gaps and without, some in
/// front of others and between them, some with children of their own.
fn wide(rng: &mut Rng) -> Tree {
    let mut tree = Tree::new(&Arena::new().expect("address range"));
    let done = tree.edit(|editor| {
        let (positions, names) = (some(rng), some(rng));
        editor.cursor(&[])?.add_children(positions)?;
        (0..names).try_for_each(|n| editor.insert_child(&[], &format!("name {n}").into()))?;
        let between = if rng.chance(1, 2) { rng.below(40) } else { 0 };
        (0..between).try_for_each(|_| editor.insert_at(&[], rng.below(positions + 1)).map(drop))?;
        let below = if rng.chance(1, 2) { rng.below(40) } else { 0 };
        for n in 0..below.min(positions) {
            editor.cursor(&[n.into()])?.add_children(rng.range(1..40))?;
        }
        let gone = if rng.chance(1, 2) { rng.below(1 + positions / 2) } else { 0 };
        let first = rng.below(positions + 1);
        let mut keys = (first..positions.min(first + gone)).map(Key::from);
        keys.try_for_each(|key| editor.remove(&[key]))
    });
    done.expect("only what can be done is asked for");
    tree
}

fn some(rng: &mut Rng) -> u64 {
    let most = *rng.pick(&[1, 17, 300, 5_000, 10_000]);
    rng.below(most)
}

fn keys(children: Children<'_>) -> Vec<Key> {
    children.map(|(key, _)| key.to_key()).collect()
}

/// Steps and leaves out in turns, until the end.
fn check<'n>(
    rng: &mut Rng,
    mut children: impl Iterator<Item = (KeyRef<'n>, Node<'n>)>,
    all: &[Key],
) {
    let mut at = 0;
    while at <= all.len() {
        let most = *rng.pick(&[1, 40, 1_000, 20_000]);
        let count = if rng.chance(1, 3) { 0 } else { rng.index(most) };
        let found = children.nth(count).map(|(key, _)| key.to_key());
        assert_eq!(found.as_ref(), all.get(at + count), "{count} behind {at} of {}", all.len());
        at += count + 1;
    }
    assert!(children.next().is_none(), "nothing is behind the last one");
}

#[test]
fn the_nth_is_the_same_as_by_stepping() {
    for_each_seed(60, |rng| {
        let tree = wide(rng);
        let version = tree.read();
        let root = version.root();
        let all = keys(root.children());
        assert_eq!(all.len() as u64, root.child_count());
        let back: Vec<Key> = all.iter().rev().cloned().collect();
        for _ in 0..4 {
            check(rng, root.children(), &all);
            check(rng, root.children_backward(), &back);
            if all.is_empty() {
                continue;
            }
            let at = rng.index(all.len());
            check(rng, root.children_from(&all[at]), &all[at..]);
            check(rng, root.children_backward_from(&all[at]), &back[back.len() - 1 - at..]);
            let end = rng.range(at as u64..all.len() as u64) as usize;
            check(rng, root.children_in(&all[at]..&all[end]), &all[at..end]);
            let behind = all.len() - 1 - end;
            let part = &back[behind..behind + 1 + end - at];
            check(rng, root.children_backward_in(&all[at]..=&all[end]), part);
        }
    });
}

/// The blocks count children where these have none of their own, and more than that where they do.
#[test]
fn a_list_put_in_by_index_is_the_same_as_a_vec() {
    for_each_seed(12, |rng| {
        let mut tree = Tree::new(&Arena::new().expect("address range"));
        let (positions, below) = (rng.range(1..4_000), rng.chance(1, 3));
        let mut list: Vec<Key> = (0..positions).map(Key::from).collect();
        let done = tree.edit(|editor| {
            editor.cursor(&[])?.add_children(positions)?;
            // Anywhere, or all around one place.
            let few = if rng.chance(1, 2) { u64::MAX } else { rng.range(1..30) };
            let start = rng.below(positions);
            for n in 0..3_000 {
                let len = list.len() as u64;
                let index = (start + rng.below(few.min(len + 1))).min(len);
                if rng.chance(1, 4) && index < len {
                    editor.remove(&[list.remove(index as usize)])?;
                    continue;
                }
                let key = editor.insert_at(&[], index)?;
                if below && n % 100 == 0 {
                    editor.add_child(std::slice::from_ref(&key))?;
                }
                list.insert(index as usize, key);
            }
            Ok::<(), EditError>(())
        });
        done.expect("only what can be done is asked for");
        let version = tree.read();
        check(rng, version.root().children(), &list);
        list.reverse();
        for _ in 0..4 {
            check(rng, version.root().children_backward(), &list);
        }
    });
}

/// Each goes between the two that came last, so that their fractions grow, and have more and more
/// in common.
#[test]
fn what_is_put_between_the_last_two_is_where_it_ought_to_be() {
    let mut tree = Tree::new(&Arena::new().expect("address range"));
    let put = |editor: &mut Editor| -> Result<Vec<Position>, EditError> {
        editor.cursor(&[])?.add_children(2)?;
        let mut order = [0, 1].map(|n| Position::new(n).expect("small")).to_vec();
        let (mut low, mut high) = (0, 1);
        for n in 0..2_000 {
            let Key::Position(new) = editor.insert_before(&[], &order[high])? else {
                panic!("an inserted child has a position");
            };
            order.insert(high, new);
            (low, high) = if n % 2 == 0 { (low, low + 1) } else { (low + 1, low + 2) };
        }
        Ok(order)
    };
    let order = tree.edit(put).expect("there is room");
    tree.snapshot().check().unwrap_or_else(|error| panic!("integrity: {error}"));
    let version = tree.read();
    let root = version.root();
    let order: Vec<Key> = order.into_iter().map(Key::Position).collect();
    assert_eq!(keys(root.children()), order);
    for (at, key) in order.iter().enumerate() {
        assert!(root.child(key).is_some(), "{key} is not found");
        assert_eq!(keys(root.children_from(key)).len(), order.len() - at);
    }
}
