//! Symmetric merges of moves.
//!
//! A symmetric winner for each pair of changes is enough where a conflict stands alone. Moves make
//! others follow from theirs: what was sent back is in the way of a third, which is removed with a
//! fourth. Then it matters whose changes are taken one by one. So where both sides moved something
//! and it would make a difference, it is the side from which there are fewer conflicts, whoever
//! asks; but not where positions are given, which a merge must not give twice.

use std::cmp::Ordering;

use super::diff::diffs_to_merge;
use super::merge::{Merged, begun};
use super::numbers::Start;
use super::rebase::{Rebased, rebase_told};
use super::steps::Unbounded;
use super::{ApplyError, Change, Conflict, ConflictKind, MergeOptions, diff};
use crate::key::Key;
use crate::snapshot::Snapshot;
use crate::tree::Tree;

/// The merge as the other side would make it, where that one's changes are those to be taken one by
/// one rather than ours, of which `direct` has come. Nothing where that makes no difference, or
/// might give what has been there another key.
pub(super) fn mirrored(
    start: Start<'_>,
    [ours, theirs]: [(&Snapshot, &[Change]); 2],
    direct: &Rebased,
    options: &MergeOptions,
) -> Result<Option<Merged>, ApplyError> {
    let both_moved = [ours, theirs].iter().all(|(_, changes)| moves(changes).next().is_some());
    // Without conflicts all of both is there.
    if direct.conflicts.is_empty() || !both_moved || gives_positions(direct, [ours.1, theirs.1]) {
        return Ok(None);
    }
    // As much as was counted before.
    let bases = [start.theirs, start.ours];
    let Ok((of_theirs, of_ours)) = diffs_to_merge(bases, [theirs.0, ours.0], &mut Unbounded);
    let mirrored = options.mirrored();
    let (rebased, _) = rebase_told(start, &of_theirs, (&of_ours, ours.0), &mirrored, &[]);
    let fewer = rebased.conflicts.len().cmp(&direct.conflicts.len());
    if !rebased.renamed.is_empty() || fewer.then_with(|| order(theirs, ours)).is_ge() {
        return Ok(None);
    }
    let conflicts = rebased.conflicts.iter().cloned().map(mirror).collect();
    let mirrored = done(ours.0, rebased)?;
    if diff(&done(theirs.0, direct.clone())?, &mirrored).is_empty() {
        return Ok(None);
    }
    let changes = diff(theirs.0, &mirrored);
    begun(theirs.0, Rebased { changes, conflicts, ..Rebased::default() }).map(Some)
}

/// What a version becomes.
fn done(version: &Snapshot, rebased: Rebased) -> Result<Snapshot, ApplyError> {
    let mut tree = Tree::from_snapshot(version);
    tree.publish(begun(version, rebased)?.editor);
    Ok(tree.snapshot())
}

/// Has somebody got, or asked for, a position that the tree gives? It is given once, and which ones
/// were is known of the version alone onto which something is rebased.
fn gives_positions(direct: &Rebased, sides: [&[Change]; 2]) -> bool {
    let mut targets = sides.into_iter().flat_map(moves).filter_map(|(_, to)| to.last());
    let is_given = |key: &Key| matches!(key, Key::Position(position) if position.is_whole());
    !direct.renamed.is_empty() || targets.any(is_given)
}

fn moves(changes: &[Change]) -> impl Iterator<Item = (&[Key], &[Key])> {
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

/// A conflict as the other side sees it: at the place where that one did something.
fn mirror(conflict: Conflict) -> Conflict {
    let Conflict { path, kind, ours: theirs, theirs: ours, base } = conflict;
    let path = match (kind, &ours) {
        (ConflictKind::MoveCycle, Change::Moved { from, .. }) => from.clone(),
        (ConflictKind::RemovedBelow | ConflictKind::ChangedBelow | ConflictKind::SetOverlap, _) => {
            ours.path().clone()
        }
        _ => path,
    };
    let kind = match kind {
        ConflictKind::RemovedBelow => ConflictKind::ChangedBelow,
        ConflictKind::ChangedBelow => ConflictKind::RemovedBelow,
        kind => kind,
    };
    Conflict { path, kind, ours, theirs, base }
}
