//! Edits as they were made, rebased over each other in every order.

use std::collections::BTreeSet;

use jungle_tree::{
    Arena, Change, ChangeSet, Conflict, ConflictKind, Path, Rebased, Snapshot, Tree, apply,
    rebase_over,
};

use super::{assert_same, edits, is_done, options};
use crate::usual::decide::Decide;

const ROUNDS: u64 = 2;

/// Rounds as those of many replicas, but what is rebased are the edits themselves: nothing that
/// differs tells of what was added and removed again, or put twice.
pub fn run(rng: &mut impl Decide) {
    let arena = Arena::new().expect("address range");
    let mut base = Tree::new(&arena).snapshot();
    for _ in 0..ROUNDS {
        // Four lists have 24 orders, which take as long as six rounds of two or three.
        let count = if rng.chance(1, 4) { 4 } else { 2 + rng.below(2) };
        let lists: Vec<ChangeSet> = (1..=count).map(|replica| edits(rng, &base, replica)).collect();
        let said = lists.iter().map(ChangeSet::to_string).collect::<Vec<_>>().join("and\n");
        let orders = every_order(&base, &lists);
        let (one, others) = orders.split_first().expect("there is an order");
        one.lost_is_named(&lists, &said);
        for other in others {
            let what = format!("two orders of rebasing\n{said}");
            assert_same(&one.version, &other.version, &what);
            let [first, second] = [one, other].map(|it| it.version.root().content_hash());
            assert_eq!(first, second, "{said}");
            other.lost_is_named(&lists, &said);
            if lists.len() == 2 {
                one.lost_is_alike(other, &lists, &said);
            }
        }
        one.version.check().unwrap_or_else(|error| panic!("integrity: {error}"));
        base = one.version.clone();
    }
}

/// Does the lists in every order.
fn every_order<'a>(base: &Snapshot, lists: &'a [ChangeSet]) -> Vec<Rebasing<'a>> {
    let (left, done) = (lists.iter().collect(), ChangeSet::new());
    let mut begun = vec![Rebasing { left, done, version: base.clone(), conflicts: Vec::new() }];
    let mut ended = Vec::new();
    while let Some(rebasing) = begun.pop() {
        if rebasing.left.is_empty() {
            ended.push(rebasing);
            continue;
        }
        begun.extend((0..rebasing.left.len()).map(|next| rebasing.then(base, next)));
    }
    ended
}

/// What lists came to, each rebased over all that was done before it, and those still to be done.
#[derive(Clone)]
struct Rebasing<'a> {
    left: Vec<&'a ChangeSet>,
    done: ChangeSet,
    version: Snapshot,
    conflicts: Vec<Conflict>,
}

impl<'a> Rebasing<'a> {
    /// With one list more.
    fn then(&self, base: &Snapshot, next: usize) -> Rebasing<'a> {
        let mut more = self.clone();
        let list = more.left.remove(next);
        let Rebased { changes, conflicts, .. } = rebase_over(base, list, &more.done, &options());
        let mut tree = Tree::from_snapshot(&more.version);
        tree.edit(|editor| apply(editor, &changes)).expect("what was rebased can be done");
        more.version = tree.snapshot();
        more.done.extend(changes);
        more.conflicts.extend(conflicts);
        more
    }

    /// What a replica said in the end, and is not so: a conflict names it, whatever the order.
    ///
    /// Not everything that conflicts name is named in every order, by design:
    /// - What a replica took back itself, with what is against it: a node that it added where
    ///   another one had removed the parent is `RemovedBelow`, even where it removes the node next;
    ///   but where all that was done before, nothing is left of it to be in the way.
    /// - Who wins an attribute of three. Each loser is named with the one that it met: of 1, 2 and
    ///   3 in this order 1 is told with 2, but 3, 2 and 1 are told as 2 with 3 and as 1 with 3.
    /// - What nobody said in these words: the sum that a counter came to, and that an attribute is
    ///   gone which somebody had put on a node that others added, too, before removing it.
    fn lost<'l>(&self, lists: &'l [ChangeSet]) -> Vec<&'l Change> {
        let is_added = |path: &Path| {
            let mut all = lists.iter().flat_map(|list| list.iter());
            all.any(|it| matches!(it, Change::ChildAdded { path: added } if added == path))
        };
        let mut lost: Vec<&Change> = lists.iter().flat_map(last_words).collect();
        lost.retain(|change| match change {
            // What has this name is another node, or that of those who added it, too.
            Change::ChildRemoved { path } if is_added(path) => false,
            _ => !is_done(change, &[], &self.version),
        });
        lost
    }

    fn lost_is_named(&self, lists: &[ChangeSet], said: &str) {
        for change in self.lost(lists) {
            let kinds = kinds_of(change, &self.conflicts);
            assert!(!kinds.is_empty(), "{change} was named by no conflict:\n{said}");
        }
    }

    /// Of two, what one lost is wrong for the same reason in both orders. (Where there are three it
    /// may meet another value first, or that the third removed the node.)
    fn lost_is_alike(&self, other: &Rebasing<'_>, lists: &[ChangeSet], said: &str) {
        for change in self.lost(lists) {
            let [a, b] = [self, other].map(|it| kinds_of(change, &it.conflicts));
            assert!(!a.is_disjoint(&b), "{change}: {a:?}, or else {b:?}:\n{said}");
        }
    }
}

/// What a replica says and does not take back, or say otherwise, itself.
fn last_words(list: &ChangeSet) -> impl Iterator<Item = &Change> {
    let is_last = move |at: usize, change: &Change| {
        !list[at + 1..].iter().any(|later| is_said_anew(change, later))
    };
    let all = list.iter().enumerate();
    all.filter(move |&(at, change)| is_last(at, change)).map(|(_, change)| change)
}

fn is_said_anew(change: &Change, later: &Change) -> bool {
    match (change, later) {
        (_, Change::ChildRemoved { path }) => change.path().starts_with(path),
        (
            Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key },
            Change::AttributePut { path: there, key: other, .. }
            | Change::AttributeRemoved { path: there, key: other },
        ) => path == there && key == other,
        _ => false,
    }
}

/// What is wrong with a change, as whoever made it sees that.
fn kinds_of(change: &Change, conflicts: &[Conflict]) -> BTreeSet<ConflictKind> {
    let kind = |conflict: &Conflict| match conflict.kind {
        kind if conflict.ours == *change => Some(kind),
        _ if conflict.theirs != *change => None,
        ConflictKind::ChangedBelow => Some(ConflictKind::RemovedBelow),
        ConflictKind::RemovedBelow => Some(ConflictKind::ChangedBelow),
        kind => Some(kind),
    };
    conflicts.iter().filter_map(kind).collect()
}
