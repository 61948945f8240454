//! Replicas that edit apart and merge in any order, with duplicates, end equal.

use jungle_testkit::Rng;
use jungle_tree::{
    Arena, EditError, Editor, Fraction, Key, MergeOptions, Path, Position, Resolution, Snapshot,
    Tree, Value, apply, diff, merge,
};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "\0", ""];
const ATTRIBUTES: [&str; 3] = ["x", "y", "z"];
const ROUNDS: u64 = 4;
/// Edits of a replica in a round: 3 to 8 replicas make about 200 in a run.
const EDITS_MAX: u64 = 16;

/// One run: some rounds, each begun by all replicas at the version the last one ended with.
pub fn run(rng: &mut Rng) {
    let arena = Arena::new().expect("address range");
    let mut base = Tree::new(&arena).snapshot();
    for _ in 0..ROUNDS {
        let replicas: Vec<Snapshot> =
            (0..rng.range(3..9)).map(|replica| later(rng, &base, replica as u8 + 1)).collect();
        replicas.iter().for_each(|replica| diffs_are_right(&base, replica));
        let one = exchange(rng, &base, &replicas);
        let other = exchange(rng, &base, &replicas);
        assert_same(&one, &other, "two orders of merging");
        one.check().unwrap_or_else(|error| panic!("integrity: {error}"));
        base = one;
    }
}

/// Edits of one replica. Whole positions are the tree's own to give, so a replica that appends
/// puts its mark behind them; what is moved or set is not part of what converges.
fn later(rng: &mut Rng, base: &Snapshot, replica: u8) -> Snapshot {
    let mut tree = Tree::from_snapshot(base);
    let edited = tree.edit(|editor| {
        for _ in 0..rng.below(EDITS_MAX + 1) {
            edit(rng, editor, replica)?;
        }
        Ok::<_, EditError>(())
    });
    edited.expect("only what can be done is asked for");
    tree.snapshot()
}

fn edit(rng: &mut Rng, editor: &mut Editor, replica: u8) -> Result<(), EditError> {
    let path = anywhere(rng, editor);
    match rng.below(10) {
        0 | 1 => {
            let next = editor.root().at(&path)?.next_position();
            let mark = Fraction::from_bytes(&[replica]).expect("a mark is not zero");
            let position = Position::with_fraction(next, mark).expect("few are added");
            editor.insert_child(&path, &Key::Position(position))
        }
        2 | 3 => match editor.insert_child(&path, &Key::from(*rng.pick(&NAMES))) {
            Err(EditError::ChildExists { .. }) => Ok(()),
            other => other,
        },
        4 if !path.is_empty() && rng.chance(1, 2) => editor.remove(&path),
        5 => editor.remove_attribute(&path, pick(rng)).map(drop),
        _ => {
            let value = if rng.chance(1, 4) { Value::from("text") } else { Value::from(n(rng)) };
            editor.put_attribute(&path, pick(rng), &value)
        }
    }
}

fn pick(rng: &mut Rng) -> &'static str {
    ATTRIBUTES[rng.index(ATTRIBUTES.len())]
}

fn n(rng: &mut Rng) -> i64 {
    rng.below(5) as i64
}

fn anywhere(rng: &mut Rng, editor: &Editor) -> Path {
    let (mut path, mut node) = (Path::root(), editor.root());
    while node.has_children() && rng.chance(2, 3) {
        let at = rng.index(node.child_count() as usize);
        let (key, child) = node.children().nth(at).expect("counted");
        (path, node) = (path.join(key.to_key()), child);
    }
    path
}

/// Merges all replicas in some order, now and then one that was merged already.
fn exchange(rng: &mut Rng, base: &Snapshot, replicas: &[Snapshot]) -> Snapshot {
    let mut order: Vec<&Snapshot> = replicas.iter().collect();
    rng.shuffle(&mut order);
    let mut all = order[0].clone();
    for (at, next) in order.iter().enumerate().skip(1) {
        let both = merged(base, &all, next);
        assert_same(&both, &merged(base, next, &all), "merged the other way round");
        all = both;
        if rng.chance(1, 3) {
            // What arrives a second time is the base of that merge itself: all of it is known.
            let known = order[rng.index(at + 1)];
            assert_same(&all, &merged(known, &all, known), "arrived again");
            assert_same(&all, &merged(base, &all, &all), "merged with itself");
        }
    }
    all
}

fn merged(base: &Snapshot, ours: &Snapshot, theirs: &Snapshot) -> Snapshot {
    let options = MergeOptions::new().resolution(Resolution::Symmetric);
    let merged = merge(base, ours, theirs, &options).expect("there is room");
    let mut tree = Tree::from_snapshot(theirs);
    tree.publish(merged.editor);
    tree.snapshot()
}

/// What differs, applied, gives the other.
fn diffs_are_right(a: &Snapshot, b: &Snapshot) {
    for (from, to) in [(a, b), (b, a)] {
        let mut tree = Tree::from_snapshot(from);
        let mut editor = Editor::new(tree.snapshot());
        apply(&mut editor, &diff(from, to)).expect("it was done before");
        tree.publish(editor);
        assert_same(&tree.snapshot(), to, "a diff applied");
    }
}

#[track_caller]
fn assert_same(a: &Snapshot, b: &Snapshot, what: &str) {
    assert!(a.root().is_equal(b.root()), "{what}; from one to the other:\n{}", diff(a, b));
}
