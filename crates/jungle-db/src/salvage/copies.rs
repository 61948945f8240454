//! Copies of versions, as far as these can be read.

use std::collections::HashMap;
use std::io;

use jungle_tree::{TreeReader, VersionId, loading};

use super::Salvage;
use crate::erase::copy::{Copier, CopyError};
use crate::handle::TreeHandle;
use crate::journal::TreeId;
use crate::revision::Revision;
use crate::snapshot::Snapshot;

/// A tree that is being saved.
pub(super) struct OfTree<'a> {
    pub(super) id: TreeId,
    pub(super) name: Box<str>,
    pub(super) from: &'a Salvage<'a>,
    pub(super) reader: Option<TreeReader>,
    /// The same tree elsewhere.
    pub(super) other: Option<TreeHandle>,
    pub(super) line: Copier,
    /// The copies; none of what cannot be read.
    pub(super) known: HashMap<VersionId, Option<VersionId>>,
}

impl OfTree<'_> {
    /// Holds a version of the arena that is read.
    pub(super) fn held(&self, id: VersionId) -> Result<Option<jungle_tree::Snapshot>, CopyError> {
        let reader = self.reader.as_ref().filter(|_| id.is_drawn(self.from.arena));
        reader.map_or(Ok(None), |reader| read(|| reader.held(id)))
    }

    /// The copy of a version, or of the same one elsewhere; none when it cannot be read.
    pub(super) fn version(
        &mut self,
        id: VersionId,
        elsewhere: impl FnOnce() -> Option<Snapshot>,
        is_newest: bool,
    ) -> Result<Option<VersionId>, CopyError> {
        if let Some(&known) = self.known.get(&id).filter(|_| !is_newest) {
            return Ok(known);
        }
        let mut copy = None;
        if let Some(old) = self.held(id)? {
            copy = read(|| self.line.copy(old, is_newest))?.transpose()?;
        }
        if copy.is_none()
            && let Some(other) = elsewhere()
        {
            copy = read(|| self.line.copy(other.into_tree(), is_newest))?.transpose()?;
        }
        if id != unknown() {
            self.known.insert(id, copy);
        }
        Ok(copy)
    }
}

/// Reads something; nothing where a part of it is not there any more.
pub(super) fn read<T>(f: impl FnOnce() -> T) -> Result<Option<T>, CopyError> {
    match loading(f) {
        Ok(read) => Ok(Some(read)),
        // There is no room for it, which says nothing of it.
        Err(error) if error.cause.is::<io::Error>() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// The version of just this revision.
pub(super) fn version_of(branch: &TreeHandle, revision: Revision) -> Option<Snapshot> {
    branch.at(revision).ok().filter(|found| found.revision() == revision)
}

/// Where nothing lies.
pub(super) fn unknown() -> VersionId {
    VersionId::from_parts(0, u64::MAX)
}
