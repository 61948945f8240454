//! Where branches began, and what two of them have in common.

use std::collections::HashMap;
use std::sync::Arc;

use crate::head::{Head, lock};
use crate::journal::BranchId;
use crate::planted::{Bug, is_awake};
use crate::snapshot::Snapshot;
use crate::sync::Mutex;

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
pub(crate) struct Merges(Mutex<HashMap<(BranchId, BranchId), Snapshot>>);

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
        let mut bases = lock(&self.0);
        let known = bases.entry(pair(from, into)).or_insert_with(|| base.clone());
        if known.revision() < base.revision() {
            *known = base.clone();
        }
    }

    /// A branch was deleted.
    pub(crate) fn forget(&self, branch: BranchId) {
        lock(&self.0).retain(|(a, b), _| *a != branch && *b != branch);
    }

    /// All that was noted.
    pub(crate) fn all(&self) -> Vec<((BranchId, BranchId), Snapshot)> {
        lock(&self.0).iter().map(|(pair, base)| (*pair, base.clone())).collect()
    }

    /// The newest version that both branches come from.
    pub(crate) fn base(&self, from: &Head, into: &Head) -> Option<Snapshot> {
        if let Some(base) = lock(&self.0).get(&pair(from.id, into.id)) {
            return Some(base.clone());
        }
        let (left, right) = (lineage(from), lineage(into));
        left.iter().find_map(|(id, ours)| {
            let (_, theirs) = right.iter().find(|(other, _)| other == id)?;
            let left_here = [ours, theirs].into_iter().flatten();
            left_here.min_by_key(|snapshot| snapshot.revision()).copied().cloned()
        })
    }
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
