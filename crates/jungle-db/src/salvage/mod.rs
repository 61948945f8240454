//! A second Jungle with all that can still be read of the first, whose arena or history has places
//! that cannot be loaded. What is in it under a number of before is what it was, all of it; what
//! is not is named.

mod copies;
mod histories;
mod part;
mod remains;
mod saving;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use jungle_tree::{Arena, Path, Tree};

use self::copies::{OfTree, read};
pub use self::remains::Remains;
use self::saving::{Ended, Saving};
use crate::erase::copy::{Copier, CopyError, Pieces};
use crate::handle::TreeHandle;
use crate::history::archive::{Archive, ArchiveError};
use crate::history::{HISTORY_PIECE, Piece};
use crate::journal::{BranchId, TreeId};
use crate::jungle::{Builder, Jungle};
use crate::restore::checkpoint::Checkpoint;
use crate::restore::state::{JungleState, SavedBranch, SavedHistory};
use crate::revision::Revision;

/// A Jungle that cannot be read as a whole, and of which the rest is to be saved. Of a damaged
/// folder `OpenOptions::repair` in `jungle-store` does all of it.
///
/// ```
/// use jungle_db::{Jungle, Salvage};
/// use jungle_tree::Arena;
/// let jungle = Jungle::new()?;
/// let tree = jungle.create_tree("board")?;
/// let made = tree.update(|tx| tx.append(&[]))?;
///
/// let checkpoint = jungle.checkpoint_as_it_is();
/// let all = Salvage {
///     arena: jungle.arena(),
///     state: checkpoint.state(),
///     archive: &checkpoint,
///     other: None,
///     badly_formed: Default::default(),
/// };
/// let saved = all.save(Jungle::builder(), Arena::new()?, |_, _| Ok::<(), ()>(()))?.unwrap();
/// assert!(saved.lost.is_empty());
/// assert_eq!(saved.jungle.open_tree("board")?.at(made.revision)?.root().child_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Salvage<'a> {
    /// The arena in which the versions lie.
    pub arena: &'a Arena,
    /// What there was besides.
    pub state: &'a JungleState,
    /// The whole pieces of the histories.
    pub archive: &'a dyn Archive,
    /// The same Jungle made again up to an older revision, which may have what cannot be loaded.
    pub other: Option<&'a Jungle>,
    /// Trees of which nothing is to be read.
    pub badly_formed: BTreeSet<TreeId>,
}

impl fmt::Debug for Salvage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Salvage({}, {} trees)", self.state.revision, self.state.trees.len())
    }
}

/// What a [`Salvage`] could save, and what it could not.
#[derive(Debug)]
pub struct Saved {
    /// All of it: trees, branches, revisions and tags have the names and numbers they had.
    pub jungle: Jungle,
    /// What it does not have.
    pub lost: Vec<Lost>,
}

/// Something that a [`Salvage`] could not save.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// A tree, of which nothing can be read.
    Tree {
        /// Its name.
        tree: Box<str>,
    },
    /// A branch, likewise.
    Branch {
        /// The name of its tree.
        tree: Box<str>,
        /// Its name.
        branch: Box<str>,
    },
    /// Revisions of a branch, one after the other.
    Revisions {
        /// The name of the tree.
        tree: Box<str>,
        /// The name of the branch.
        branch: Box<str>,
        /// How many.
        count: u64,
        /// The first of them has this number, or a later one.
        first: Revision,
        /// The last of them has this number, or an earlier one.
        last: Revision,
    },
    /// A part of the newest revision of a branch. The rest of that is a revision of its own.
    Part {
        /// The name of the tree.
        tree: Box<str>,
        /// The name of the branch.
        branch: Box<str>,
        /// The revision of which something is missing, which is lost as such.
        revision: Revision,
        /// The one that has what is left of it.
        saved_as: Revision,
        /// The node of which something is missing.
        path: Path,
        /// How many of its children, with all below, if that is known; nothing where it is some of
        /// its attributes.
        children: Option<u64>,
    },
    /// A tag.
    Tag {
        /// The name of the tree.
        tree: Box<str>,
        /// Its name.
        tag: Box<str>,
        /// The revision it was the name of.
        revision: Revision,
    },
    /// A version that two branches had in common: merging them finds an older one, or none.
    Base {
        /// The name of the tree.
        tree: Box<str>,
        /// The revision.
        revision: Revision,
    },
}

/// The whole pieces of the histories, as long as it is held.
impl Archive for Checkpoint {
    fn piece(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
        let range = self.state().trees.iter().flat_map(|tree| &tree.branches);
        let found = range.into_iter().find(|saved| saved.id == branch);
        let is_kept = |history: &SavedHistory| {
            (history.dropped / HISTORY_PIECE..history.pieces).contains(&index)
        };
        match found.filter(|saved| is_kept(&saved.history)) {
            Some(_) => self.head(branch).whole_piece(index),
            None => Err(ArchiveError::new("there is no such piece")),
        }
    }
}

impl Salvage<'_> {
    /// Makes a Jungle in another arena that has all of it that can be read. `progress` is told how
    /// many revisions were looked at, of how many; when it fails, that is the answer.
    ///
    /// A revision of which anything cannot be read, there and in `other`, is left out. If it is the
    /// newest of a branch, there is another one behind all others with what can be read of it,
    /// whose author and message say so.
    ///
    /// # Errors
    /// When there is no room.
    pub fn save<E>(
        &self,
        builder: Builder,
        arena: Arena,
        mut progress: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<Result<Saved, E>, CopyError> {
        let mut state = self.state.clone();
        let branches = self.state.trees.iter().flat_map(|tree| &tree.branches);
        // What is damaged may say any number.
        let total = branches.map(SavedBranch::kept).fold(0, u64::saturating_add);
        let mut saving = Saving {
            from: self,
            arena: arena.clone(),
            pieces: Pieces::default(),
            lost: Vec::new(),
            newest: state.revision,
            done: 0,
            step: |done| progress(done, total),
        };
        let mut trees = Vec::new();
        // Any line of the arena holds what any other one has.
        let reader = read(|| Tree::new(self.arena).reader())?;
        for mut tree in std::mem::take(&mut state.trees) {
            let mut of_tree = OfTree {
                id: tree.id,
                name: (&*tree.name).into(),
                from: self,
                reader: reader.clone(),
                other: self.other.and_then(|other| other.find_tree(tree.id)),
                line: Copier::new(&arena, tree.id),
                known: HashMap::new(),
            };
            match saving.tree(&mut of_tree, &mut tree) {
                Err(Ended::By(error)) => return Ok(Err(error)),
                Err(Ended::NoCopy(error)) => return Err(error),
                Ok(true) => trees.push(tree),
                Ok(false) => {}
            }
        }
        let Saving { pieces, lost, newest, .. } = saving;
        (state.trees, state.revision) = (trees, newest);
        let jungle = builder.restore(arena, &state, Arc::new(pieces))?;
        Ok(Ok(Saved { jungle, lost }))
    }
}

impl Jungle {
    fn find_tree(&self, id: TreeId) -> Option<TreeHandle> {
        let state = self.shared.catalog().by_id(id).map(|(_, state)| Arc::clone(state))?;
        Some(TreeHandle::main(&self.shared, &state))
    }
}
