//! One version of a tree, with its revision.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::handle::TreeHandle;
use crate::jungle::TreeState;
use crate::revision::Revision;

/// One revision of a tree, complete and unchanging, for as long as it is held.
///
/// It is a [`jungle_tree::Snapshot`] that knows its revision.
///
/// ```
/// use jungle_db::Jungle;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let before = tree.snapshot();
/// tree.update(|tx| tx.append(&[]))?;
/// assert_eq!(before.root().child_count(), 0);
/// assert!(tree.snapshot().revision() > before.revision());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    tree: jungle_tree::Snapshot,
    revision: Revision,
}

impl Snapshot {
    pub(crate) fn new(tree: jungle_tree::Snapshot, revision: Revision) -> Snapshot {
        Snapshot { tree, revision }
    }

    /// A version that follows a revision and has none of its own (yet): whoever made it keeps it
    /// elsewhere.
    #[must_use]
    pub fn beyond(revision: Revision, tree: jungle_tree::Snapshot) -> Snapshot {
        Snapshot { tree, revision }
    }

    /// The revision that made this version, or that it follows.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub(crate) fn into_tree(self) -> jungle_tree::Snapshot {
        self.tree
    }
}

impl Deref for Snapshot {
    type Target = jungle_tree::Snapshot;

    fn deref(&self) -> &jungle_tree::Snapshot {
        &self.tree
    }
}

/// All trees of a Jungle at one revision: see [`Jungle::snapshot`](crate::Jungle::snapshot).
#[derive(Clone)]
pub struct JungleSnapshot {
    pub(crate) revision: Revision,
    pub(crate) trees: BTreeMap<Arc<str>, (Arc<TreeState>, Snapshot)>,
}

impl JungleSnapshot {
    /// The newest revision that it shows.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The main branch of the tree with this name.
    #[must_use]
    pub fn tree(&self, name: &str) -> Option<&Snapshot> {
        self.trees.get(name).map(|(_, snapshot)| snapshot)
    }

    /// A branch as it was then. Of one that is younger, or that does not keep that version, it is
    /// the newest one.
    pub(crate) fn on(&self, branch: &TreeHandle) -> Snapshot {
        let mut mains = self.trees.values();
        if let Some((_, main)) = mains.find(|(state, _)| state.main.id == branch.branch_id()) {
            return main.clone();
        }
        let now = branch.snapshot();
        match now.revision() > self.revision {
            true => branch.at(self.revision).unwrap_or(now),
            false => now,
        }
    }

    /// All trees with their names, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Snapshot)> {
        self.trees.iter().map(|(name, (_, snapshot))| (&**name, snapshot))
    }
}

impl fmt::Debug for JungleSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JungleSnapshot({}, {} trees)", self.revision, self.trees.len())
    }
}
