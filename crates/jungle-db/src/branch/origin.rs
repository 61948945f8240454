//! Where branches began, and what two of them have in common.

use std::collections::HashMap;
use std::sync::Arc;

use jungle_tree::{ApplyError, MergeBase};

use crate::branch::other_keys::OtherKeys;
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

/// A version that two branches have in common.
#[derive(Clone)]
pub(crate) struct Common {
    /// The branch that it is of.
    pub(crate) of: BranchId,
    pub(crate) snapshot: Snapshot,
    /// The nodes of it that have other keys on the other branch.
    pub(crate) renumbered: OtherKeys,
}

/// The newest version that two branches have in common since one was merged into the other.
///
/// It is noted while the merge is published, under the locks of its heads; so this is taken after
/// those.
#[derive(Default)]
pub(crate) struct Merges {
    bases: Mutex<HashMap<(BranchId, BranchId), Common>>,
    /// Held while a merge is committed, before any other lock: of two merges of the same, the
    /// second would do again what the first has done.
    turn: Mutex<()>,
}

/// What a merge begins from.
pub(crate) struct Base {
    common: Common,
    /// Its revision, if one branch was merged into the other then.
    pub(crate) merged: Option<Revision>,
}

impl Base {
    pub(crate) fn revision(&self) -> Revision {
        self.common.snapshot.revision()
    }

    /// Have too many nodes other keys on the one branch than on the other?
    pub(crate) fn is_renumbered_too_much(&self) -> bool {
        self.common.renumbered == OtherKeys::TooMany
    }

    /// The version, for a merge of this branch.
    pub(crate) fn seen_from(&self, ours: BranchId) -> Result<MergeBase, ApplyError> {
        let Common { of, snapshot, renumbered } = &self.common;
        let renumbered = renumbered.nodes();
        match self.merged {
            None => Ok(MergeBase::new(snapshot)),
            Some(_) if *of == ours => MergeBase::of_ours(snapshot, renumbered),
            Some(_) => MergeBase::of_theirs(snapshot, renumbered),
        }
    }
}

/// The order of a pair does not matter.
fn pair(a: BranchId, b: BranchId) -> (BranchId, BranchId) {
    (a.min(b), a.max(b))
}

impl Merges {
    /// From now on the branch that this is of has it in common with `into`.
    pub(crate) fn note(&self, into: BranchId, common: Common) {
        if is_awake(Bug::MergeBaseForgotten) {
            return;
        }
        let mut bases = lock(&self.bases);
        let known = bases.entry(pair(common.of, into)).or_insert_with(|| common.clone());
        if known.snapshot.revision() < common.snapshot.revision() {
            *known = common;
        }
    }

    /// A branch was deleted.
    pub(crate) fn forget(&self, branch: BranchId) {
        lock(&self.bases).retain(|(a, b), _| *a != branch && *b != branch);
    }

    /// The tree was deleted: what is noted here would be held by whoever has a handle of it.
    pub(crate) fn forget_all(&self) {
        lock(&self.bases).clear();
    }

    /// All that was noted.
    pub(crate) fn all(&self) -> Vec<((BranchId, BranchId), Common)> {
        lock(&self.bases).iter().map(|(pair, common)| (*pair, common.clone())).collect()
    }

    /// Nobody else commits a merge until this is dropped.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// The revision of `from` that both have in common, if one was merged into the other.
    pub(crate) fn merged(&self, from: BranchId, into: BranchId) -> Option<Revision> {
        lock(&self.bases).get(&pair(from, into)).map(|common| common.snapshot.revision())
    }

    /// The newest version that both branches come from.
    pub(crate) fn base(&self, from: &Head, into: &Head) -> Option<Base> {
        if let Some(common) = lock(&self.bases).get(&pair(from.id, into.id)) {
            let merged = Some(common.snapshot.revision());
            return Some(Base { common: common.clone(), merged });
        }
        let snapshot = common_origin(from, into)?;
        let common = Common { of: from.id, snapshot, renumbered: OtherKeys::default() };
        Some(Base { common, merged: None })
    }
}

fn common_origin(from: &Head, into: &Head) -> Option<Snapshot> {
    // Found by their ids: a chain of branches may be long.
    let right: HashMap<BranchId, Option<&Snapshot>> = lineage(into).into_iter().collect();
    lineage(from).into_iter().find_map(|(id, ours)| {
        let left_here = [ours, *right.get(&id)?].into_iter().flatten();
        left_here.min_by_key(|snapshot| snapshot.revision()).cloned()
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
