//! Holding branches that nobody writes to against what the other servers have. Messages have the
//! hashes of those that they change only, as they were before: without this, a difference would
//! stay where nothing is written any more, and in what was written last.

use std::time::Duration;

use jungle_db::{BranchId, TreeId};

use crate::checkpoint::heads;
use crate::engine::log::Log;
use crate::follow::beside::guarded;
use crate::follow::{Follower, vote};

/// How often one branch is compared.
const EVERY: Duration = Duration::from_secs(60);

/// Compares one branch after the other, until the follower ends.
pub(crate) fn compare(follower: &Follower, log: &dyn Log) {
    let mut last = None;
    loop {
        follower.rest(EVERY);
        if follower.is_over() {
            return;
        }
        guarded("comparing a branch", || {
            last = next(&branches(follower), last);
            if let Some(branch) = last {
                vote::compare(follower, log, branch);
            }
        });
    }
}

/// All branches, in the order of their numbers.
pub(crate) fn branches(follower: &Follower) -> Vec<(TreeId, BranchId)> {
    let Some(jungle) = follower.jungle() else { return Vec::new() };
    let heads = heads(&jungle);
    let mut branches: Vec<_> = heads.iter().map(|head| (head.tree, head.branch)).collect();
    branches.sort_unstable();
    branches
}

/// The one behind the last; behind all comes the first.
fn next<T: Copy + Ord>(branches: &[T], last: Option<T>) -> Option<T> {
    branches.iter().find(|branch| Some(**branch) > last).or(branches.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_branch_has_its_turn_also_where_others_come_and_go() {
        let turn = |branches: &[u64], last| next(branches, last);
        assert_eq!(turn(&[], None), None);
        assert_eq!(turn(&[1, 3], None), Some(1));
        assert_eq!(turn(&[1, 3], Some(1)), Some(3));
        assert_eq!(turn(&[1, 3], Some(3)), Some(1));
        assert_eq!(turn(&[1, 2], Some(3)), Some(1));
        assert_eq!(turn(&[4, 5], Some(3)), Some(4));
    }
}
