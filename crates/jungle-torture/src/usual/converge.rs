//! Replicas that edit apart and merge in any order, with duplicates, end equal; and nothing that
//! one of them did disappears without a conflict that names it. `docs/merge.md` says for which
//! edits the order does not matter: all of them, between two; between more, what neither moves
//! nor sets.

mod orders;

use std::collections::{BTreeMap, BTreeSet};

use jungle_testkit::Rng;
use jungle_tree::{
    Arena, Change, ChangeSet, EditError, Editor, Key, MergeError, MergeOptions, Node, Path, Place,
    Resolution, Rule, Signature, Snapshot, Tree, Value, apply, diff, merge,
};

use super::decide::{ByBytes, Decide};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "\0", ""];
const ATTRIBUTES: [&str; 3] = ["x", "y", "z"];
/// Counts: what replicas add to it adds up.
const COUNTER: &str = "count";
const ROUNDS: u64 = 4;
/// Edits of a replica in a round: 3 to 8 replicas make about 200 in a run.
const EDITS_MAX: u64 = 16;

/// What replicas do besides adding, removing and putting.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Nothing: so any number of them converges.
    Plain,
    /// They move nodes and set subtrees: so two of them converge.
    Carrying,
}

/// One run of many replicas, as many pairs as it has rounds, and a run of some whose edits are told
/// as they were made.
pub fn run(rng: &mut Rng) {
    many(rng);
    two(rng);
    orders::run(rng);
}

/// As the bytes of an input decide: two replicas, some whose edits are told as they were made, or a
/// merge with any options.
pub fn by_bytes(input: &[u8]) {
    let mut bytes = ByBytes::new(input);
    match bytes.below(3) {
        0 => two(&mut bytes),
        1 => orders::run(&mut bytes),
        _ => with_options(&mut bytes),
    }
}

/// Whoever prevails, what comes out is well formed, and what is not in it was named.
fn with_options(rng: &mut impl Decide) {
    let arena = Arena::new().expect("address range");
    let base = later(rng, &Tree::new(&arena).snapshot(), 1, Kind::Plain);
    let [ours, theirs] = [2, 3].map(|replica| later(rng, &base, replica, Kind::Carrying));
    let prevails = rng.pick(&[Resolution::Ours, Resolution::Theirs, Resolution::Symmetric]);
    let mut options = options().resolution(*prevails);
    if rng.chance(1, 2) {
        options = options.says_again();
    }
    if rng.chance(1, 4) {
        options = options.steps_max(rng.below(256));
    }
    let [ours, theirs] = [ours, theirs].map(|version| Side::of(&base, &version));
    match merged_with(&base, &ours, &theirs, &options) {
        Ok((merged, _)) => {
            merged.check().unwrap_or_else(|error| panic!("integrity: {error}"));
        }
        Err(MergeError::TooManySteps(_)) => {}
        Err(error) => panic!("there is room: {error}"),
    }
}

/// Two replicas, round after round.
fn two(rng: &mut impl Decide) {
    let arena = Arena::new().expect("address range");
    let mut base = Tree::new(&arena).snapshot();
    for _ in 0..ROUNDS {
        let [left, right] = [1, 2].map(|replica| later(rng, &base, replica, Kind::Carrying));
        [&left, &right].into_iter().for_each(|replica| diffs_are_right(&base, replica));
        if std::env::var_os("JUNGLE_TRACE").is_some() {
            eprintln!("left:\n{}right:\n{}", diff(&base, &left), diff(&base, &right));
        }
        let one = merged(&base, &left, &right);
        assert_same(&one, &merged(&base, &right, &left), "merged the other way round");
        assert_same(&one, &merged(&right, &one, &right), "arrived again");
        one.check().unwrap_or_else(|error| panic!("integrity: {error}"));
        base = one;
    }
}

/// Some rounds, each begun by all replicas at the version the last one ended with.
fn many(rng: &mut Rng) {
    let arena = Arena::new().expect("address range");
    let mut base = Tree::new(&arena).snapshot();
    for _ in 0..ROUNDS {
        let replicas: Vec<Snapshot> = (0..rng.range(3..9))
            .map(|replica| later(rng, &base, replica + 1, Kind::Plain))
            .collect();
        replicas.iter().for_each(|replica| diffs_are_right(&base, replica));
        let sides: Vec<Side> = replicas.iter().map(|replica| Side::of(&base, replica)).collect();
        let mut lost = [Lost::new(), Lost::new()];
        let one = exchange(rng, &base, &sides, &mut lost[0]);
        let other = exchange(rng, &base, &sides, &mut lost[1]);
        assert_same(&one, &other, "two orders of merging");
        let [first, second] = lost.map(|lost| lost.left(&sides, &one));
        assert_eq!(first, second, "two orders of merging name what is lost");
        if rng.chance(1, 4) {
            assert_same(&one, &gossip(rng, &base, &replicas), "merged in pieces, late and twice");
        }
        one.check().unwrap_or_else(|error| panic!("integrity: {error}"));
        base = one;
    }
}

/// What one replica does, as it does it.
fn edits(rng: &mut impl Decide, base: &Snapshot, replica: u64) -> ChangeSet {
    let mut editor = Editor::new(base.clone());
    let count = rng.below(EDITS_MAX + 1);
    let next = |_| edit(rng, &mut editor, replica).expect("only what can be done is asked for");
    (0..count).filter_map(next).collect()
}

/// Edits of one replica. Whole positions are the tree's own to give, so a replica that appends
/// signs its own.
fn later(rng: &mut impl Decide, base: &Snapshot, replica: u64, kind: Kind) -> Snapshot {
    let mut tree = Tree::from_snapshot(base);
    let edited = tree.edit(|editor| {
        for _ in 0..rng.below(EDITS_MAX + 1) {
            if kind == Kind::Carrying && rng.chance(1, 4) {
                carry(rng, editor, base)?;
            } else {
                edit(rng, editor, replica)?;
            }
        }
        Ok::<_, EditError>(())
    });
    edited.expect("only what can be done is asked for");
    tree.snapshot()
}

/// One edit, and what it changed.
fn edit(
    rng: &mut impl Decide,
    editor: &mut Editor,
    replica: u64,
) -> Result<Option<Change>, EditError> {
    let path = anywhere(rng, editor.root());
    match rng.below(10) {
        0 | 1 => {
            let own = Signature::new(replica, rng.next_u64());
            let key = editor.add(&path, Place::Last, Some(&own))?;
            Ok(Some(Change::ChildAdded { path: path.join(key) }))
        }
        2 | 3 => {
            let key = Key::from(*rng.pick(&NAMES));
            match editor.insert_child(&path, &key) {
                Err(EditError::ChildExists { .. }) => Ok(None),
                other => other.map(|()| Some(Change::ChildAdded { path: path.join(key) })),
            }
        }
        4 if !path.is_empty() && rng.chance(1, 2) => {
            editor.remove(&path)?;
            Ok(Some(Change::ChildRemoved { path }))
        }
        5 => clear(editor, path, pick(rng)),
        6 => {
            if rng.chance(1, 8) {
                return clear(editor, path, COUNTER);
            }
            let count = editor.root().at(&path)?.attribute(COUNTER).and_then(|n| n.as_int());
            let count = count.unwrap_or(0) + n(rng) - 2;
            put(editor, path, COUNTER, Value::from(count))
        }
        _ => {
            let value = if rng.chance(1, 4) { Value::from("text") } else { Value::from(n(rng)) };
            put(editor, path, pick(rng), value)
        }
    }
}

fn put(
    editor: &mut Editor,
    path: Path,
    key: &str,
    value: Value,
) -> Result<Option<Change>, EditError> {
    editor.put_attribute(&path, key, &value)?;
    Ok(Some(Change::AttributePut { path, key: key.into(), value }))
}

fn clear(editor: &mut Editor, path: Path, key: &str) -> Result<Option<Change>, EditError> {
    let is_removed = editor.remove_attribute(&path, key)?;
    Ok(is_removed.then(|| Change::AttributeRemoved { path, key: key.into() }))
}

/// Moves a node, or sets a subtree to what another was in the base. Nothing that has positions in
/// it: both might carry the same one to the same place, and a position is the own of one replica.
fn carry(rng: &mut impl Decide, editor: &mut Editor, base: &Snapshot) -> Result<(), EditError> {
    let node = anywhere(rng, editor.root());
    let source = anywhere(rng, base.root());
    let source = base.root().at(&source)?;
    let done = if rng.chance(1, 2) && !has_positions(source) {
        editor.set_subtree(&node, source)
    } else if has_positions(editor.root().at(&node)?) {
        Ok(())
    } else {
        let to = anywhere(rng, editor.root());
        editor.move_node(&node, &to, &Key::from(*rng.pick(&NAMES)))
    };
    match done {
        Err(EditError::ChildExists { .. } | EditError::MoveIntoItself { .. } | EditError::Root) => {
            Ok(())
        }
        other => other,
    }
}

fn has_positions(node: Node<'_>) -> bool {
    let mut walk = node.walk();
    while walk.next().is_some() {
        if walk.path().iter().any(|key| matches!(key, Key::Position(_))) {
            return true;
        }
    }
    false
}

fn pick(rng: &mut impl Decide) -> &'static str {
    ATTRIBUTES[rng.index(ATTRIBUTES.len())]
}

fn n(rng: &mut impl Decide) -> i64 {
    rng.below(5) as i64
}

fn anywhere(rng: &mut impl Decide, root: Node<'_>) -> Path {
    let (mut path, mut node) = (Path::root(), root);
    while node.has_children() && rng.chance(2, 3) {
        let at = rng.index(node.child_count() as usize);
        let (key, child) = node.children().nth(at).expect("counted");
        (path, node) = (path.join(key.to_key()), child);
    }
    path
}

/// A version, and what makes it of the base, in parts.
#[derive(Clone)]
struct Side {
    version: Snapshot,
    changes: ChangeSet,
}

impl Side {
    fn of(base: &Snapshot, version: &Snapshot) -> Side {
        Side { version: version.clone(), changes: parts(&diff(base, version)) }
    }
}

/// Merges all replicas in some order, now and then one that was merged already.
fn exchange(rng: &mut Rng, base: &Snapshot, replicas: &[Side], lost: &mut Lost) -> Snapshot {
    let mut order: Vec<&Side> = replicas.iter().collect();
    rng.shuffle(&mut order);
    let mut all = Side::clone(order[0]);
    for (at, next) in order.iter().enumerate().skip(1) {
        let (both, named) = merged_naming(base, &all, next);
        let (again, _) = merged_naming(base, next, &all);
        assert_same(&both, &again, "merged the other way round");
        lost.0.extend(named.iter().map(Change::to_string));
        all = Side::of(base, &both);
        if rng.chance(1, 3) {
            // What arrives a second time is the base of that merge itself: all of it is known.
            let known = &order[rng.index(at + 1)].version;
            assert_same(&both, &merged(known, &both, known), "arrived again");
            assert_same(&both, &merged_naming(base, &all, &all).0, "merged with itself");
        }
    }
    all.version
}

/// Replicas tell each other all that they know, now and then; what they tell arrives late, in any
/// order and perhaps twice, until all know everything.
fn gossip(rng: &mut Rng, base: &Snapshot, replicas: &[Snapshot]) -> Snapshot {
    let alone = |at: usize| (replicas[at].clone(), BTreeSet::from([at]));
    let mut known: Vec<(Snapshot, BTreeSet<usize>)> = (0..replicas.len()).map(alone).collect();
    let mut under_way = Vec::new();
    let mut begins = Begins { base, replicas, known: BTreeMap::new() };
    while known.iter().any(|(_, from)| from.len() < replicas.len()) {
        if under_way.is_empty() || rng.chance(1, 2) {
            under_way.push(rng.pick(&known).clone());
            continue;
        }
        let at = rng.index(under_way.len());
        let (told, of) = match rng.chance(1, 4) {
            true => under_way[at].clone(),
            false => under_way.swap_remove(at),
        };
        let to = rng.index(known.len());
        let (mine, from) = &mut known[to];
        let both: Vec<usize> = from.intersection(&of).copied().collect();
        *mine = merged(&begins.at(&both), mine, &told);
        from.extend(of);
    }
    let (first, _) = &known[0];
    known.iter().for_each(|(other, _)| assert_same(first, other, "all know the same"));
    first.clone()
}

/// Where two begin: with what both know, merged in the order of its replicas. That comes to the
/// same each time, so it is made once.
struct Begins<'r> {
    base: &'r Snapshot,
    replicas: &'r [Snapshot],
    known: BTreeMap<Vec<usize>, Snapshot>,
}

impl Begins<'_> {
    fn at(&mut self, both: &[usize]) -> Snapshot {
        if let Some(known) = self.known.get(both) {
            return known.clone();
        }
        let begin = match both {
            [] => self.base.clone(),
            [only] => self.replicas[*only].clone(),
            [before @ .., last] => merged(self.base, &self.at(before), &self.replicas[*last]),
        };
        self.known.insert(both.to_vec(), begin.clone());
        begin
    }
}

/// What conflicts named, in all the merges that made one of many.
struct Lost(BTreeSet<String>);

impl Lost {
    fn new() -> Lost {
        Lost(BTreeSet::new())
    }

    /// Those changes of replicas that are not in what came out: each must have been named.
    fn left(self, replicas: &[Side], result: &Snapshot) -> BTreeSet<String> {
        let mut left = BTreeSet::new();
        for replica in replicas {
            for change in replica.changes.iter().filter(|it| !is_done(it, &[], result)) {
                let change = change.to_string();
                assert!(self.0.contains(&change), "{change} was named by no conflict");
                left.insert(change);
            }
        }
        left
    }
}

fn options() -> MergeOptions {
    MergeOptions::new().resolution(Resolution::Symmetric).rule(COUNTER, Rule::Counter)
}

fn merged(base: &Snapshot, ours: &Snapshot, theirs: &Snapshot) -> Snapshot {
    let [ours, theirs] = [ours, theirs].map(|version| Side::of(base, version));
    merged_naming(base, &ours, &theirs).0
}

/// What both sides come to, and what its conflicts name, in parts.
fn merged_naming(base: &Snapshot, ours: &Side, theirs: &Side) -> (Snapshot, ChangeSet) {
    merged_with(base, ours, theirs, &options()).expect("there is room")
}

fn merged_with(
    base: &Snapshot,
    ours: &Side,
    theirs: &Side,
    options: &MergeOptions,
) -> Result<(Snapshot, ChangeSet), MergeError> {
    let merged = merge(base, &ours.version, &theirs.version, options)?;
    let mut tree = Tree::from_snapshot(&theirs.version);
    tree.publish(merged.editor);
    let result = tree.snapshot();
    let named = merged.conflicts.iter().flat_map(|it| [it.ours.clone(), it.theirs.clone()]);
    let named = parts(&named.collect());
    let (ours, theirs) = (&ours.changes, &theirs.changes);
    let of_ours = ours.iter().map(|change| (change, &merged.renamed[..]));
    for (change, renamed) in of_ours.chain(theirs.iter().map(|change| (change, &[][..]))) {
        // The cheapest first, which is so of nearly all.
        let is_there = is_done(change, renamed, &result)
            || named.contains(change)
            || [ours, theirs].into_iter().any(|all| is_carried(change, all));
        assert!(is_there, "{change} disappeared:\n{ours}theirs:\n{theirs}{:?}", merged.conflicts);
    }
    Ok((result, named))
}

/// What was added whole, node by node: it may be merged, or lost, in parts.
fn parts(changes: &ChangeSet) -> ChangeSet {
    let mut parts = Vec::new();
    for change in changes.iter() {
        let Change::SubtreeSet { path: top, subtree } = change else {
            parts.push(change.clone());
            continue;
        };
        let mut walk = subtree.node().walk();
        while let Some(node) = walk.next() {
            let path: Path = top.iter().cloned().chain(walk.path()).collect();
            parts.push(Change::ChildAdded { path: path.clone() });
            parts.extend(node.attributes().map(|(key, value)| {
                let (key, value) = (key.into(), value.to_value());
                Change::AttributePut { path: path.clone(), key, value }
            }));
        }
    }
    parts.into()
}

/// May the node have been moved to elsewhere?
fn is_carried(change: &Change, all: &ChangeSet) -> bool {
    let is_near = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
    all.iter().any(|other| match other {
        Change::Moved { from, to } => is_near(change.path(), from) || is_near(change.path(), to),
        _ => false,
    })
}

/// Does the result show what the change says?
fn is_done(change: &Change, renamed: &[(Path, Path)], result: &Snapshot) -> bool {
    let at = |path: &Path| {
        let nearest = renamed.iter().filter(|(from, _)| path.starts_with(from));
        let nearest = nearest.max_by_key(|(from, _)| from.len());
        let path = match nearest {
            Some((from, to)) => Path::from([to, &path[from.len()..]].concat()),
            None => path.clone(),
        };
        result.root().at(&path).map_err(drop)
    };
    match change {
        Change::ChildAdded { path } => at(path).is_ok(),
        Change::ChildRemoved { path } => at(path).is_err(),
        Change::AttributePut { key, .. } if **key == *COUNTER => true,
        Change::AttributePut { path, key, value } => {
            at(path).is_ok_and(|node| node.attribute(key) == Some(value.as_ref()))
        }
        Change::AttributeRemoved { path, key } => {
            at(path).is_ok_and(|node| node.attribute(key).is_none())
        }
        Change::SubtreeSet { path, subtree } => {
            at(path).is_ok_and(|node| node.is_equal(subtree.node()))
        }
        _ => true,
    }
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
