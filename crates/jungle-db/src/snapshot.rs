//! One version of a tree, or of all trees, with its revision.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::handle::TreeHandle;
use crate::history::past::NoSuchRevision;
use crate::history::search::At;
use crate::jungle::{Jungle, TreeState};
use crate::planted::{Bug, is_awake};
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
    ///
    /// ```
    /// use jungle_db::{Jungle, Snapshot};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let newest = tree.snapshot();
    /// let mut line = jungle_tree::Tree::from_snapshot(&newest);
    /// line.add_child(&[])?;
    /// let ahead = Snapshot::beyond(newest.revision(), line.snapshot());
    /// assert_eq!(ahead.revision(), newest.revision());
    /// assert_eq!([&newest, &ahead].map(|version| version.root().child_count()), [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

/// All trees of a Jungle at one revision: see [`Jungle::snapshot`] and [`Jungle::at`].
///
/// ```
/// use jungle_db::Jungle;
/// let jungle = Jungle::new()?;
/// ["todo", "done"].iter().try_for_each(|name| jungle.create_tree(name).map(drop))?;
/// let snapshot = jungle.snapshot();
/// jungle.open_tree("todo")?.update(|tx| tx.append(&[]))?;
/// assert!(snapshot.revision() < jungle.revision());
/// assert_eq!(snapshot.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["done", "todo"]);
/// assert_eq!(snapshot.tree("todo").unwrap().root().child_count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct JungleSnapshot {
    pub(crate) revision: Revision,
    pub(crate) trees: BTreeMap<Arc<str>, (Arc<TreeState>, Snapshot)>,
}

impl Jungle {
    /// The main branches of all trees at one revision: no commit is seen in part, also none that
    /// spans trees. Costs a pin a tree.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// let (paid, owed) = (jungle.create_tree("paid")?, jungle.create_tree("owed")?);
    /// let before = jungle.snapshot();
    /// let both = jungle.update(&CommitOptions::default(), |tx| {
    ///     tx.on(&paid).append(&[])?;
    ///     tx.on(&owed).append(&[])
    /// })?;
    /// assert_eq!(jungle.snapshot().revision(), both.revision);
    /// assert_eq!(before.iter().map(|(_, tree)| tree.root().child_count()).max(), Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> JungleSnapshot {
        /// So often it looks without keeping writers out.
        const ROUNDS: usize = 16;
        let catalog = self.shared.catalog();
        let pin = |(name, state): (&Arc<str>, &Arc<TreeState>)| {
            (Arc::clone(name), (Arc::clone(state), state.main.snapshot()))
        };
        for _ in 0..ROUNDS {
            // Nothing is being published before, and nothing has been drawn since: so every head
            // is as this revision left it.
            let Some(revision) = self.shared.counter.at_rest() else {
                continue;
            };
            let trees = catalog.iter().map(pin).collect();
            if self.shared.counter.newest() == revision || is_awake(Bug::SnapshotTorn) {
                return JungleSnapshot { revision, trees };
            }
        }
        let mut trees: Vec<_> = catalog.iter().collect();
        trees.sort_by_key(|(_, state)| state.main.id);
        let guards: Vec<_> = trees.iter().map(|(_, state)| state.main.lock()).collect();
        let pinned = trees.iter().zip(&guards).map(|(&(name, state), guard)| {
            let snapshot = guard.open(&state.main, guard.history.newest());
            (Arc::clone(name), (Arc::clone(state), snapshot))
        });
        // Whoever drew a number up to this one for one of these trees did so under its lock.
        let revision = self.shared.counter.newest();
        JungleSnapshot { revision, trees: pinned.collect() }
    }

    /// The main branches of all trees as they were at a revision. A tree that is younger is left
    /// out, and so is one that was deleted since; one that was renamed has the name of today.
    ///
    /// # Errors
    /// When that revision is not there yet, or a tree does not keep its version of then any more.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let board = jungle.create_tree("board")?;
    /// let posted = board.update(|tx| tx.append(&[]))?;
    /// board.update(|tx| tx.append(&[]))?;
    /// jungle.create_tree("younger")?;
    /// let then = jungle.at(posted.revision)?;
    /// assert_eq!(then.tree("board").unwrap().root().child_count(), 1);
    /// assert!(then.tree("younger").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at(&self, revision: Revision) -> Result<JungleSnapshot, NoSuchRevision> {
        self.shared.must_be_born(revision)?;
        let all: Vec<_> =
            self.shared.catalog().iter().map(|(n, s)| (n.clone(), s.clone())).collect();
        let mut trees = BTreeMap::new();
        for (name, state) in all {
            match state.main.at(At::Revision(revision)) {
                Ok(found) => drop(trees.insert(name, (state, found.snapshot))),
                Err(NoSuchRevision::NotBorn { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(JungleSnapshot { revision, trees })
    }
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

    /// A branch of this Jungle as it was then. Of one that is younger, or that does not keep that
    /// version, it is the newest one.
    pub(crate) fn on(&self, branch: &TreeHandle) -> Snapshot {
        let is_it = |(state, _): &&(Arc<TreeState>, Snapshot)| Arc::ptr_eq(state, &branch.state);
        // Under another name where it was renamed since.
        let main = || self.trees.get(&*branch.name()).filter(is_it);
        if Arc::ptr_eq(&branch.state.main, &branch.head)
            && let Some((_, main)) = main().or_else(|| self.trees.values().find(is_it))
        {
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
