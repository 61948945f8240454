//! Keeping all writers out for a moment.

use std::sync::{Arc, Weak};

use crate::branch::Branches;
use crate::head::{Head, HeadState, lock};
use crate::jungle::{Shared, TreeState};
use crate::sync::MutexGuard;

/// All there is, while nothing of it changes.
pub(crate) struct Paused<'a> {
    pub(crate) trees: &'a [(&'a TreeState, MutexGuard<'a, Branches>)],
    /// In the order of their ids; also those that only a checkpoint knows.
    pub(crate) heads: Vec<(&'a Arc<Head>, MutexGuard<'a, HeadState>)>,
}

impl Shared {
    /// Takes all locks in their order (trees, their branches, heads by id), so that no commit is
    /// seen in part and none begins before `f` returns.
    pub(crate) fn pause<T>(&self, f: impl FnOnce(Paused<'_>) -> T) -> T {
        let catalog = self.catalog();
        let trees: Vec<_> = catalog.values().map(|s| (&**s, lock(&s.branches))).collect();
        let mut heads: Vec<Arc<Head>> = self.held_heads();
        for (state, branches) in &trees {
            heads.push(Arc::clone(&state.main));
            heads.extend(branches.heads());
        }
        heads.extend(self.deleted_heads());
        heads.sort_by_key(|head| head.id);
        heads.dedup_by_key(|head| head.id);
        let heads = heads.iter().map(|head| (head, head.lock())).collect();
        f(Paused { trees: &trees, heads })
    }

    /// All heads of all trees, and those that only a checkpoint knows.
    pub(crate) fn heads(&self) -> Vec<Arc<Head>> {
        let catalog = self.catalog();
        let mut heads = self.held_heads();
        for state in catalog.values() {
            heads.push(Arc::clone(&state.main));
            heads.extend(lock(&state.branches).heads());
        }
        heads
    }

    /// Those that were deleted, of which somebody has a handle.
    pub(crate) fn deleted_heads(&self) -> Vec<Arc<Head>> {
        lock(&self.deleted).iter().filter_map(Weak::upgrade).collect()
    }

    fn held_heads(&self) -> Vec<Arc<Head>> {
        // Whoever drops the last of one locks its heads, which nobody may do who has this lock.
        let held: Vec<_> = lock(&self.checkpoints).iter().filter_map(Weak::upgrade).collect();
        held.iter().flat_map(|held| held.heads.clone()).collect()
    }
}
