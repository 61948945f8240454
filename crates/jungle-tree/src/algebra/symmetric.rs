//! Symmetric merges of moves.
//!
//! A symmetric winner for each pair of changes is enough where a conflict stands alone. Moves make
//! others follow from theirs: what was sent back is in the way of a third, which is removed with a
//! fourth. Then it matters whose changes are taken one by one. So where both sides moved something
//! it is always the same side, whoever asks: the one from which there are fewer conflicts.

use std::cmp::Ordering;

use super::diff::{Order, diff_to_merge};
use super::merge::{MergeError, Merged, begun};
use super::rebase::{Rebased, rebase_told};
use super::{Change, Conflict, ConflictKind, MergeOptions, diff};
use crate::snapshot::Snapshot;
use crate::tree::Tree;

/// The merge as the other side would make it, where that one's changes are those to be taken one by
/// one rather than ours, from which there are so many conflicts; nothing where that makes no
/// difference, or would give new keys to what has been there.
pub(super) fn mirrored(
    base: &Snapshot,
    [ours, theirs]: [(&Snapshot, &[Change]); 2],
    conflicts: usize,
    options: &MergeOptions,
) -> Result<Option<Merged>, MergeError> {
    if [ours, theirs].iter().any(|(_, changes)| moves(changes).next().is_none()) {
        return Ok(None);
    }
    let is_first = order(ours, theirs).is_le();
    let (ours, theirs) = (ours.0, theirs.0);
    let of_theirs = diff_to_merge(base, theirs, ours, Order::RemovedFirst);
    let of_ours = diff_to_merge(base, ours, theirs, Order::Document);
    let rebased = rebase_told(base, &of_theirs, (&of_ours, ours), &options.mirrored());
    let fewer = conflicts.cmp(&rebased.conflicts.len());
    if !rebased.renamed.is_empty() || fewer.is_lt() || (fewer.is_eq() && is_first) {
        return Ok(None);
    }
    let merged = begun(ours, rebased)?;
    let mut tree = Tree::from_snapshot(ours);
    tree.publish(merged.editor);
    let changes = diff(theirs, &tree.snapshot());
    let conflicts = merged.conflicts.into_iter().map(mirror).collect();
    begun(theirs, Rebased { changes, conflicts, renamed: Vec::new() }).map(Some)
}

fn moves(changes: &[Change]) -> impl Iterator<Item = (&[crate::Key], &[crate::Key])> {
    changes.iter().filter_map(|change| match change {
        Change::Moved { from, to } => Some((&**from, &**to)),
        _ => None,
    })
}

/// Which of two sides is the first: by what they moved, or else by all that they have.
fn order(one: (&Snapshot, &[Change]), other: (&Snapshot, &[Change])) -> Ordering {
    let hash = |(side, _): (&Snapshot, _)| side.root().content_hash();
    moves(one.1).cmp(moves(other.1)).then_with(|| hash(one).cmp(&hash(other)))
}

/// A conflict as the other side sees it.
fn mirror(conflict: Conflict) -> Conflict {
    let Conflict { path, kind, ours: theirs, theirs: ours, base } = conflict;
    let (kind, path) = match kind {
        ConflictKind::RemovedBelow => (ConflictKind::ChangedBelow, ours.path().clone()),
        ConflictKind::ChangedBelow => (ConflictKind::RemovedBelow, ours.path().clone()),
        kind => (kind, path),
    };
    Conflict { path, kind, ours, theirs, base }
}
