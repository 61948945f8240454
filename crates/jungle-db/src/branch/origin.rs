//! Where branches began, and what two of them have in common.

use std::collections::HashMap;
use std::sync::Arc;

use crate::head::{Head, lock};
use crate::journal::BranchId;
use crate::planted::{Bug, is_awake};
use crate::revision::Revision;
use crate::snapshot::Snapshot;
use crate::sync::{Mutex, MutexGuard};

/// Where a branch left another one, which may have been deleted since.
pub(crate) struct Origin {
    pub(crate) from: BranchId,
    pub(crate) snapshot: Snapshot,
    /// Where that one began.
    pub(crate) before: Option<Arc<Origin>>,
}

impl Drop for Origin {
    fn drop(&mut self) {
        // One after the other: a chain of branches may be longer than the stack.
        let mut next = self.before.take();
        while let Some(mut origin) = next.and_then(Arc::into_inner) {
            next = origin.before.take();
        }
    }
}

/// The newest version that two branches have in common since one was merged into the other.
///
/// It is noted while the merge is published, under the locks of its heads; so this is taken after
/// those.
#[derive(Default)]
pub(crate) struct Merges {
    bases: Mutex<HashMap<(BranchId, BranchId), Snapshot>>,
    /// Held while a merge is committed, before any other lock: of two merges of the same, the
    /// second would do again what the first has done.
    turn: Mutex<()>,
}

/// What a merge begins from.
pub(crate) struct Base {
    pub(crate) snapshot: Snapshot,
    /// Its revision, if one branch was merged into the other then.
    pub(crate) merged: Option<Revision>,
}

/// The order of a pair does not matter.
fn pair(a: BranchId, b: BranchId) -> (BranchId, BranchId) {
    (a.min(b), a.max(b))
}

impl Merges {
    /// From now on both have this version of `from` in common.
    pub(crate) fn note(&self, from: BranchId, into: BranchId, base: &Snapshot) {
        if is_awake(Bug::MergeBaseForgotten) {
            return;
        }
        let mut bases = lock(&self.bases);
        let known = bases.entry(pair(from, into)).or_insert_with(|| base.clone());
        if known.revision() < base.revision() {
            *known = base.clone();
        }
    }

    /// A branch was deleted.
    pub(crate) fn forget(&self, branch: BranchId) {
        lock(&self.bases).retain(|(a, b), _| *a != branch && *b != branch);
    }

    /// All that was noted.
    pub(crate) fn all(&self) -> Vec<((BranchId, BranchId), Snapshot)> {
        lock(&self.bases).iter().map(|(pair, base)| (*pair, base.clone())).collect()
    }

    /// Nobody else commits a merge until this is dropped.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// The revision of `from` that both have in common, if one was merged into the other.
    pub(crate) fn merged(&self, from: BranchId, into: BranchId) -> Option<Revision> {
        lock(&self.bases).get(&pair(from, into)).map(Snapshot::revision)
    }

    /// The newest version that both branches come from.
    pub(crate) fn base(&self, from: &Head, into: &Head) -> Option<Base> {
        if let Some(base) = lock(&self.bases).get(&pair(from.id, into.id)) {
            return Some(Base { snapshot: base.clone(), merged: Some(base.revision()) });
        }
        let snapshot = common_origin(from, into)?;
        Some(Base { snapshot, merged: None })
    }
}

fn common_origin(from: &Head, into: &Head) -> Option<Snapshot> {
    let (left, right) = (lineage(from), lineage(into));
    left.iter().find_map(|(id, ours)| {
        let (_, theirs) = right.iter().find(|(other, _)| other == id)?;
        let left_here = [ours, theirs].into_iter().flatten();
        left_here.min_by_key(|snapshot| snapshot.revision()).copied().cloned()
    })
}

/// A branch, the one it left, the one that left, and so on, each with the version where it was
/// left.
fn lineage(head: &Head) -> Vec<(BranchId, Option<&Snapshot>)> {
    let mut line = vec![(head.id, None)];
    let mut next = head.origin.as_ref();
    while let Some(origin) = next {
        line.push((origin.from, Some(&origin.snapshot)));
        next = origin.before.as_ref();
    }
    line
}
