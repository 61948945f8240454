//! What is compared is bounded where that is asked for, and else the same.

use super::*;

/// What a comparison takes, and that it is given up where there is one step less.
#[track_caller]
fn steps<T>(compare: impl Fn(&mut Steps) -> Result<T, DiffError>) -> u64 {
    let mut steps = Steps::new(u64::MAX);
    assert!(compare(&mut steps).is_ok());
    let taken = u64::MAX - steps.left();
    let mut enough = Steps::new(taken);
    assert!(compare(&mut enough).is_ok());
    assert_eq!(enough.left(), 0);
    if let Some(most) = taken.checked_sub(1) {
        let refused = compare(&mut Steps::new(most)).err();
        assert_eq!(refused, Some(DiffError::TooManySteps(TooManySteps { most })));
    }
    taken
}

#[test]
fn bounded_comparison_is_a_diff_until_it_is_given_up() {
    for_each_seed(500, |rng| {
        let arena = Arena::new().unwrap();
        let a = random_base(rng, &arena);
        let edits = rng.below(30);
        let (b, _) = later(rng, &a, edits, Kinds::All);
        let whole = diff(&a, &b);
        let told = diff_within(&a, &b, &[], &mut Steps::new(u64::MAX));
        assert_eq!(told.as_ref(), Ok(&whole));
        let taken = steps(|steps| diff_within(&a, &b, &[], steps));
        assert!(taken as usize >= whole.len(), "{taken} for {whole}");
        assert_eq!(differs_within(&a, &b, &[], &mut Steps::new(taken)), Ok(!whole.is_empty()));
        for key in NAMES.map(Key::from) {
            let path = [key];
            let part = diff_at(&a, &b, &path).map_err(DiffError::from);
            let mut enough = Steps::new(u64::MAX);
            let differs = part.as_ref().map(|part| !part.is_empty()).map_err(Clone::clone);
            assert_eq!(differs_within(&a, &b, &path, &mut enough), differs);
            assert_eq!(diff_within(&a, &b, &path, &mut enough), part);
        }
    });
}

#[test]
fn long_paths_of_what_differs_are_counted() {
    let arena = Arena::new().unwrap();
    let chain = |n: i64| {
        let mut tree = Tree::new(&arena);
        let mut editor = Editor::new(tree.snapshot());
        for _ in 0..1_000 {
            editor.put_attribute(&[], "n", n).unwrap();
            editor.push_root(&Key::from(0)).unwrap();
        }
        tree.publish(editor);
        tree.snapshot()
    };
    let (a, b) = (chain(1), chain(2));
    assert_eq!(diff(&a, &b).len(), 1_000);
    let taken = steps(|steps| diff_within(&a, &b, &[], steps));
    assert!((500_000..510_000).contains(&taken), "{taken}");
    // To know that something differs, the first of them is enough.
    let mut few = Steps::new(10);
    assert_eq!(differs_within(&a, &b, &[], &mut few), Ok(true));
}

#[test]
fn long_keys_in_paths_of_what_differs_are_counted() {
    const KEYS: usize = 10;
    let arena = Arena::new().unwrap();
    // Each of a hundred differences has a path of its own.
    let taken = |name: &str| {
        let mut tree = Tree::new(&arena);
        let mut path = Path::root();
        for _ in 0..KEYS {
            path = path.join(name);
            let (key, parent) = path.split_last().unwrap();
            tree.insert_child(parent, key).unwrap();
        }
        let before = tree.snapshot();
        let put = |n: i64| tree.put_attribute(&path, &format!("{n}"), n).unwrap();
        (0..100).for_each(put);
        let after = tree.snapshot();
        steps(|steps| diff_within(&before, &after, &[], steps))
    };
    let (short, long) = (taken("short"), taken(&"long".repeat(1_000)));
    assert!(long >= short + 100 * KEYS as u64 * (4_000 / 64), "{short} {long}");
}

#[test]
fn what_is_told_of_small_nodes_is_counted() {
    let arena = Arena::new().unwrap();
    let mut tree = Tree::new(&arena);
    let before = tree.snapshot();
    tree.edit(|editor| {
        editor.insert_child(&[], &"a".into())?;
        (0..500_i64).try_for_each(|n| editor.put_attribute(&["a".into()], &format!("{n}"), n))
    })
    .unwrap();
    let after = tree.snapshot();
    assert_eq!(diff(&before, &after).len(), 501);
    assert!(steps(|steps| diff_within(&before, &after, &[], steps)) > 1_000);
}

#[test]
fn what_came_back_to_what_it_was_is_looked_at_and_no_difference() {
    let mut tree = Tree::new(&Arena::new().unwrap());
    (0..100).for_each(|_| drop(tree.add_child(&[]).unwrap()));
    let before = tree.snapshot();
    for value in [1_i64, 2] {
        for key in 0..100 {
            tree.put_attribute(&[key.into()], "n", value).unwrap();
        }
    }
    for key in 0..100 {
        tree.remove_attribute(&[key.into()], "n").unwrap();
    }
    let after = tree.snapshot();
    let mut most = Steps::new(1_000);
    assert_eq!(differs_within(&before, &after, &[], &mut most), Ok(false));
    assert_eq!(steps(|steps| differs_within(&before, &after, &[], steps)), 1_000 - most.left());
}

#[test]
fn positions_that_a_merge_takes_over_are_counted() {
    const DEPTH: usize = 500;
    let mut theirs = Tree::new(&Arena::new().unwrap());
    let mut editor = Editor::new(theirs.snapshot());
    (0..1_000).for_each(|_| drop(editor.add_child(&[]).unwrap()));
    (0..DEPTH).for_each(|_| editor.push_root(&Key::from(0)).unwrap());
    theirs.publish(editor);
    let base = theirs.snapshot();
    let chain: Path = std::iter::repeat_n(Key::from(0), DEPTH).collect();
    let mut ours = Tree::from_snapshot(&base);
    let mut editor = Editor::new(ours.snapshot());
    for leaf in 0..1_000 {
        let leaf = chain.join(leaf);
        let given = editor.add_child(&leaf).unwrap();
        editor.remove(&leaf.join(given)).unwrap();
    }
    ours.publish(editor);
    theirs.put_attribute(&[], "n", 1).unwrap();
    let (ours, theirs) = (ours.snapshot(), theirs.snapshot());
    let merged = |steps_max| {
        let options = MergeOptions::new().steps_max(steps_max);
        merge_again(&MergeBase::new(&base), &ours, &theirs, &options)
    };
    let refused = merged(100_000).err();
    assert_eq!(refused, Some(MergeError::TooManySteps(TooManySteps { most: 100_000 })));
    let skipped = merged(1_000_000).unwrap();
    assert_eq!(skipped.changes.len(), 2_000);
    // No difference tells of them, and a merge that is the last one need not know.
    let few = MergeOptions::new().steps_max(100_000);
    assert!(merge(&base, &ours, &theirs, &few).unwrap().changes.is_empty());
}

#[test]
fn children_are_counted_before_what_differs_in_them_is_known() {
    let mut tree = Tree::new(&Arena::new().unwrap());
    let empty = tree.snapshot();
    (0..1_000).for_each(|_| drop(tree.add_child(&[]).unwrap()));
    let added = tree.snapshot();
    for key in 0..1_000 {
        tree.put_attribute(&[key.into()], "n", 1).unwrap();
    }
    let put = tree.snapshot();
    let differs = |a, b, most| differs_within(a, b, &[], &mut Steps::new(most));
    let refused = Err(DiffError::TooManySteps(TooManySteps { most: 100 }));
    assert_eq!(differs(&added, &put, 100), refused);
    assert_eq!(differs(&added, &put, 1_003), Ok(true));
    // What only one version has differs, whatever is in it.
    assert_eq!(differs(&empty, &put, 2), Ok(true));
    assert_eq!(differs(&put, &empty, 2), Ok(true));
}

#[test]
fn what_both_added_is_counted_where_it_is_compared_whole() {
    let base = Tree::new(&Arena::new().unwrap()).snapshot();
    let side = |children: usize| {
        let mut side = Tree::from_snapshot(&base);
        side.insert_child(&[], &"a".into()).unwrap();
        (0..children).for_each(|_| drop(side.add_child(&["a".into()]).unwrap()));
        side.snapshot()
    };
    let ours = side(1_000);
    let merged = |theirs: &Snapshot, most| {
        merge(&base, &ours, theirs, &MergeOptions::new().steps_max(most)).map(drop)
    };
    let refused = Err(MergeError::TooManySteps(TooManySteps { most: 1_000 }));
    assert_eq!(merged(&side(1_000), 1_000), refused);
    assert_eq!(merged(&side(1_000), 3_000), Ok(()));
    // What has more nodes is something else, whatever they are.
    assert_eq!(merged(&side(1_001), 1_000), Ok(()));
}
