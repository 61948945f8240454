//! What a merge is besides the changes that it makes.

use jungle_tree::{Path, Renumbering};

use crate::branch::origin::{Common, Merges};
use crate::branch::other_keys::OtherKeys;
use crate::head::Head;
use crate::journal::{BranchId, MergedVersion};
use crate::revision::Revision;
use crate::snapshot::Snapshot;

/// A branch that is merged into another, in a commit of its own.
pub(crate) struct MergedBranch<'h> {
    pub(crate) merges: &'h Merges,
    pub(crate) from: &'h Head,
    /// Its version that is merged, which both have in common from then on.
    pub(crate) base: Snapshot,
    /// Which they had in common before, of those that were merged, as it was worked out; `None` for
    /// a merge that was committed before, and is done again.
    pub(crate) after: Option<Option<Revision>>,
    pub(crate) keys: MergedKeys,
}

/// Which nodes of a branch that is merged have other keys on the branch that it is merged into.
pub(crate) enum MergedKeys {
    /// As the merge was worked out, which may be rebased.
    WorkedOut(Renumbering),
    /// As it was told of a merge that was committed before.
    Told(OtherKeys),
}

impl MergedBranch<'_> {
    /// The nodes that have other keys, where some were renamed as the merge was rebased.
    fn renumbered(&self, renamed: &[(Path, Path)]) -> OtherKeys {
        match &self.keys {
            MergedKeys::WorkedOut(renumbering) => OtherKeys::of(renumbering.then(renamed)),
            MergedKeys::Told(keys) => keys.clone(),
        }
    }

    pub(super) fn note(&self, into: BranchId, renamed: &[(Path, Path)]) {
        let (of, snapshot) = (self.from.id, self.base.clone());
        let renumbered = self.renumbered(renamed);
        self.merges.note(into, Common { of, snapshot, renumbered });
    }

    pub(super) fn told(&self, renamed: &[(Path, Path)]) -> MergedVersion {
        let (branch, revision) = (self.from.id, self.base.revision());
        MergedVersion { branch, revision, renumbered: self.renumbered(renamed) }
    }
}
