//! Making a Jungle again from what was taken out of one.

pub(crate) mod checkpoint;
mod hand_over;
pub(crate) mod replay;
pub(crate) mod state;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jungle_tree::{Arena, AttributeIndex, Tree, TreeReader, VersionId, loading};

use crate::branch::origin::{Common, Merges, Origin};
use crate::branch::{Branches, MAIN_BRANCH};
use crate::head::{Head, lock};
use crate::history::archive::{Archive, Shelf, are_in_order};
use crate::history::{HISTORY_PIECE, History};
use crate::index::{Built, Index};
use crate::journal::{BranchId, TreeId};
use crate::jungle::{Builder, Catalog, Jungle, TreeState};
use crate::name::{self, NameError};
use crate::named::Named;
use crate::restore::state::{
    JungleState, SavedBranch, SavedBuilt, SavedHistory, SavedIndex, SavedMerge, SavedOrigin,
    SavedTree, SavedVersion,
};
use crate::revision::Revision;
use crate::snapshot::Snapshot;
use crate::sync::Mutex;

/// Revisions and ids of a state are below this, so that there is room to go on.
pub(crate) const NUMBER_END: u64 = 1 << 63;

/// What is wrong with a state, or with the arena it is to be restored in.
///
/// ```
/// # use std::sync::Arc;
/// # use jungle_db::{Archive, ArchiveError, BranchId, HistoryEntry};
/// # struct Empty;
/// # impl Archive for Empty {
/// #     fn piece(&self, _: BranchId, _: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
/// #         Err(ArchiveError::new("there is nothing"))
/// #     }
/// # }
/// use jungle_db::{Jungle, RestoreError};
/// let jungle = Jungle::new()?;
/// jungle.create_tree("board")?;
/// let state = jungle.checkpoint().state().clone();
/// // Not the arena that the state was taken out with.
/// let other = jungle_tree::Arena::new()?;
/// let restored = Jungle::builder().restore(other, &state, Arc::new(Empty));
/// assert!(matches!(restored, Err(RestoreError::NoVersion { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A name cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A tree, a branch, a tag or an index is there twice.
    #[error("the {what} {name:?} is there twice")]
    Twice {
        /// Of what kind it is.
        what: &'static str,
        /// Its name.
        name: Box<str>,
    },
    /// A number is used twice, not given out yet, or leaves no room for further ones.
    #[error("the number {id} cannot be that of {what}, with {next} as the next one")]
    BadNumber {
        /// What has it.
        what: &'static str,
        /// The number.
        id: u64,
        /// The one that is to be given out next.
        next: u64,
    },
    /// The first branch of a tree is not the main one, or another one is.
    #[error("the first branch of tree {tree:?}, and no other, has to be the main one")]
    Main {
        /// The name of the tree.
        tree: Box<str>,
    },
    /// The history of a branch contradicts itself, or the state.
    #[error("the history of branch {} is not in order: {what}", branch.0)]
    BadHistory {
        /// The branch.
        branch: BranchId,
        /// What is wrong.
        what: &'static str,
    },
    /// The arena does not have a version: it is not the one that was saved with the state.
    #[error("the arena does not have revision {revision} of tree {tree:?}")]
    NoVersion {
        /// The name of the tree.
        tree: Box<str>,
        /// The revision.
        revision: Revision,
    },
}

impl Builder {
    /// A Jungle as it was when a state was taken out of it, in the arena it was in, or that arena
    /// reopened from its image. The options of this builder for the arena are not used.
    ///
    /// Whoever calls makes sure that state and arena were saved together; what of that can be
    /// checked cheaply is. When it is the same arena still, the first Jungle must be gone, or at
    /// least not commit any more; and as long as anybody has that or something of it (a handle, a
    /// watch), the checkpoint must not be dropped: it is what keeps the memory of what is restored.
    /// `archive` has the whole pieces of all histories; none is asked
    /// for yet, so this takes no longer for a long history.
    ///
    /// # Errors
    /// When the state contradicts itself or the arena.
    ///
    /// The example of [`Jungle::checkpoint`] takes a state out and restores it.
    pub fn restore(
        self,
        arena: Arena,
        state: &JungleState,
        archive: Arc<dyn Archive>,
    ) -> Result<Jungle, RestoreError> {
        let each = |restore: &mut Restore<'_>, saved: &SavedTree| restore.tree(saved).map(Some);
        self.restore_by(arena, state, archive, each)
    }

    /// As [`restore`](Builder::restore), but for what cannot be loaded: tells what that is.
    pub(crate) fn restore_some(
        self,
        arena: Arena,
        state: &JungleState,
        archive: Arc<dyn Archive>,
    ) -> Result<(Jungle, NotLoaded), RestoreError> {
        let mut not_loaded = NotLoaded::default();
        let each = |restore: &mut Restore<'_>, saved: &SavedTree| {
            // They are worked out again.
            let mut saved = saved.clone();
            saved.indexes.iter_mut().for_each(|index| index.built.clear());
            restore.left_out = Some(Vec::new());
            let Ok(tree) = loading(|| restore.tree(&saved)) else {
                not_loaded.trees.push(saved);
                return Ok(None);
            };
            let left_out = restore.left_out.take().unwrap_or_default();
            if !left_out.is_empty() {
                not_loaded.origins.push((saved.id, saved.origins));
            }
            let left_out = left_out.into_iter();
            not_loaded.branches.extend(left_out.map(|branch| (saved.id, branch)));
            tree.map(Some)
        };
        let jungle = self.restore_by(arena, state, archive, each)?;
        Ok((jungle, not_loaded))
    }

    fn restore_by(
        self,
        arena: Arena,
        state: &JungleState,
        archive: Arc<dyn Archive>,
        mut each: impl FnMut(&mut Restore<'_>, &SavedTree) -> RestoredTree,
    ) -> Result<Jungle, RestoreError> {
        let JungleState { revision, next_id, .. } = *state;
        for (what, number) in [("the newest revision", revision.number()), ("anything", next_id)] {
            if number >= NUMBER_END {
                return Err(RestoreError::BadNumber { what, id: number, next: NUMBER_END });
            }
        }
        let shelf = Arc::new(Shelf::new(archive));
        let mut restore = Restore { arena, state, shelf, ids: HashSet::new(), left_out: None };
        let mut catalog = Catalog::default();
        for saved in &state.trees {
            let name = name::check(&saved.name)?;
            let Some(tree) = each(&mut restore, saved)? else { continue };
            if catalog.insert(name, Arc::new(tree)).is_some() {
                return Err(twice("tree", &saved.name));
            }
        }
        let jungle = self.build_in(restore.arena, next_id, catalog);
        jungle.shared.counter.skip_to(revision);
        *lock(&jungle.shared.shelf) = Some(restore.shelf);
        Ok(jungle)
    }
}

/// What of a state cannot be loaded.
#[derive(Debug, Default)]
pub(crate) struct NotLoaded {
    /// Trees of which the main branch is not there.
    pub(crate) trees: Vec<SavedTree>,
    /// Other branches, of trees that are there without them.
    pub(crate) branches: Vec<(TreeId, SavedBranch)>,
    /// Where the branches of these trees began.
    pub(crate) origins: Vec<(TreeId, Vec<SavedOrigin>)>,
}

/// A tree, if it can be loaded.
type RestoredTree = Result<Option<TreeState>, RestoreError>;

fn twice(what: &'static str, name: &str) -> RestoreError {
    RestoreError::Twice { what, name: name.into() }
}

/// What all trees are restored with.
struct Restore<'s> {
    arena: Arena,
    state: &'s JungleState,
    shelf: Arc<Shelf>,
    /// Those that were seen.
    ids: HashSet<u64>,
    /// Branches of the tree at hand that cannot be loaded, if such are left out.
    left_out: Option<Vec<SavedBranch>>,
}

impl Restore<'_> {
    fn tree(&mut self, saved: &SavedTree) -> Result<TreeState, RestoreError> {
        let TreeId(id) = saved.id;
        self.id("a tree", id)?;
        let mut lines = Vec::with_capacity(saved.branches.len());
        for (i, branch) in saved.branches.iter().enumerate() {
            if (i == 0) != (&*branch.name == MAIN_BRANCH) {
                return Err(RestoreError::Main { tree: (&*saved.name).into() });
            }
            name::check(&branch.name)?;
            if let Some(line) = self.line_unless_left_out(saved, branch)? {
                lines.push((branch, line));
            }
        }
        let Some((_, main)) = lines.first() else {
            return Err(RestoreError::Main { tree: (&*saved.name).into() });
        };
        let reader = main.reader();
        let origins = self.origins(saved, &reader)?;
        let mut heads = lines.into_iter().map(|(branch, line)| {
            let history = History::restored(&branch.history, branch.id, &self.shelf);
            let origin = origins.get(&branch.id).cloned();
            let ids = (saved.id, branch.id);
            let head = Head::new(ids, line, history, branch.retention, origin);
            (Arc::clone(&branch.name), Arc::new(head))
        });
        let (_, main) = heads.next().expect("the main branch was looked at");
        let mut by_name = Named::default();
        for (name, head) in heads {
            if by_name.insert(Arc::clone(&name), head).is_some() {
                return Err(twice("branch", &name));
            }
        }
        let mut tags = BTreeMap::new();
        for tag in &saved.tags {
            let name = name::check(&tag.name)?;
            let is_taken = &*name == MAIN_BRANCH || by_name.contains_key(&name);
            let snapshot = self.version(saved, &reader, tag.at)?;
            if is_taken || tags.insert(name, snapshot).is_some() {
                return Err(twice("branch or tag", &tag.name));
            }
        }
        let indexes = self.indexes(saved, &reader)?;
        let merges = Merges::default();
        for SavedMerge { branches: (a, b), at, of, renumbered } in &saved.merges {
            let snapshot = self.version(saved, &reader, *at)?;
            let into = match (of == a, of == b) {
                (true, _) => *b,
                (_, true) => *a,
                _ => {
                    let (what, next) = ("one of two branches that met", self.state.next_id);
                    return Err(RestoreError::BadNumber { what, id: of.0, next });
                }
            };
            merges.note(into, Common { of: *of, snapshot, renumbered: renumbered.clone() });
        }
        Ok(TreeState {
            id: saved.id,
            name: Mutex::new(Arc::clone(&saved.name)),
            main,
            branches: Mutex::new(Branches { by_name, tags, indexes }),
            merges,
        })
    }

    /// Nothing else has this number.
    fn id(&mut self, what: &'static str, id: u64) -> Result<(), RestoreError> {
        let next = self.state.next_id;
        match id < next && self.ids.insert(id) {
            true => Ok(()),
            false => Err(RestoreError::BadNumber { what, id, next }),
        }
    }

    /// The line of a branch; none where it cannot be loaded, and may be left out.
    fn line_unless_left_out(
        &mut self,
        tree: &SavedTree,
        branch: &SavedBranch,
    ) -> Result<Option<Tree>, RestoreError> {
        if self.left_out.is_none() || &*branch.name == MAIN_BRANCH {
            return self.line(tree, branch).map(Some);
        }
        match loading(|| self.line(tree, branch)) {
            Ok(line) => line.map(Some),
            Err(_) => {
                self.left_out.iter_mut().for_each(|left_out| left_out.push(branch.clone()));
                Ok(None)
            }
        }
    }

    /// The line of a branch, which goes on from its newest version.
    fn line(&mut self, tree: &SavedTree, saved: &SavedBranch) -> Result<Tree, RestoreError> {
        let BranchId(id) = saved.id;
        self.id("a branch", id)?;
        check_history(&saved.history, self.state.revision)
            .map_err(|what| RestoreError::BadHistory { branch: saved.id, what })?;
        let kept =
            (saved.history.dropped.saturating_sub(saved.history.pieces * HISTORY_PIECE)) as usize;
        for entry in &saved.history.last[kept..] {
            self.is_drawn(tree, entry.revision, entry.id)?;
        }
        let newest = saved.history.last.last().expect("a history was found not to be empty");
        let line = Tree::from_version(&self.arena, newest.id);
        let mut line = line.ok_or_else(|| no_version(tree, newest.revision))?;
        line.count_keys(tree.id.0);
        Ok(line)
    }

    fn indexes(
        &self,
        tree: &SavedTree,
        reader: &TreeReader,
    ) -> Result<BTreeMap<Arc<str>, Arc<Index>>, RestoreError> {
        let mut indexes = BTreeMap::new();
        for SavedIndex { key, built } in &tree.indexes {
            let mut all = BTreeMap::new();
            for SavedBuilt { branch, of, id } in built {
                let of = self.version(tree, reader, *of)?;
                self.is_drawn(tree, of.revision(), *id)?;
                let index = AttributeIndex::from_version(&self.arena, key, *id);
                let index = index.ok_or_else(|| no_version(tree, of.revision()))?;
                all.insert(*branch, Built { of, index });
            }
            let index = Index::restored(all);
            if indexes.insert(Arc::clone(key), Arc::new(index)).is_some() {
                return Err(twice("index", key));
            }
        }
        Ok(indexes)
    }

    /// Where the branches began, by their ids.
    fn origins(
        &self,
        tree: &SavedTree,
        reader: &TreeReader,
    ) -> Result<HashMap<BranchId, Arc<Origin>>, RestoreError> {
        let (mut origins, mut last) = (HashMap::new(), BranchId(0));
        for saved in &tree.origins {
            let (BranchId(id), from, next) = (saved.branch, saved.from, self.state.next_id);
            // A branch is younger than the one it left: so none is its own ancestor.
            if from >= saved.branch || saved.branch <= last || id >= next {
                return Err(RestoreError::BadNumber { what: "an origin", id, next });
            }
            last = saved.branch;
            let snapshot = self.version(tree, reader, saved.at)?;
            let before = origins.get(&from).cloned();
            origins.insert(saved.branch, Arc::new(Origin { from, snapshot, before }));
        }
        Ok(origins)
    }

    /// Holds a version. Whichever line of the arena does so is the same.
    fn version(
        &self,
        tree: &SavedTree,
        reader: &TreeReader,
        at: SavedVersion,
    ) -> Result<Snapshot, RestoreError> {
        self.is_drawn(tree, at.revision, at.id)?;
        Ok(Snapshot::new(reader.held(at.id), at.revision))
    }

    /// Can it be a version of this arena at all?
    fn is_drawn(
        &self,
        tree: &SavedTree,
        revision: Revision,
        id: VersionId,
    ) -> Result<(), RestoreError> {
        let is_made = revision <= self.state.revision;
        (is_made && id.is_drawn(&self.arena))
            .then_some(())
            .ok_or_else(|| no_version(tree, revision))
    }
}

fn no_version(tree: &SavedTree, revision: Revision) -> RestoreError {
    RestoreError::NoVersion { tree: (&*tree.name).into(), revision }
}

/// What is wrong with a history.
pub(crate) fn check_history(saved: &SavedHistory, newest: Revision) -> Result<(), &'static str> {
    let SavedHistory { dropped, pieces, anchor, last } = saved;
    let (Some(first), Some(end)) = (last.first(), last.last()) else {
        return Err("its last piece is empty");
    };
    if last.len() as u64 > HISTORY_PIECE {
        return Err("its last piece is too long");
    }
    if !are_in_order(last) {
        return Err("its revisions do not go up, or their times go down");
    }
    // Each of its revisions has a number of its own.
    if end.revision > newest || *pieces > end.revision.number() / HISTORY_PIECE {
        return Err("it has more revisions than there are");
    }
    if *dropped >= pieces * HISTORY_PIECE + last.len() as u64 {
        return Err("none of its revisions is kept");
    }
    if *dropped < pieces * HISTORY_PIECE
        && (anchor.index > *dropped
            || anchor.revision >= first.revision
            || anchor.time > first.time)
    {
        return Err("its anchor is not older than what is kept");
    }
    Ok(())
}
