//! Taking out all that a Jungle is besides its arena.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::branch::origin::Common;
use crate::branch::{Branches, MAIN_BRANCH};
use crate::commit::pause::Paused;
use crate::head::{Head, HeadState, lock};
use crate::history::archive::ArchiveError;
use crate::history::retention::Retention;
use crate::history::{HISTORY_PIECE, HistoryEntry, Part};
use crate::index::{Built, Index};
use crate::journal::BranchId;
use crate::jungle::{Jungle, TreeState};
use crate::restore::state::{
    JungleState, SavedBranch, SavedBuilt, SavedHistory, SavedIndex, SavedMerge, SavedOrigin,
    SavedTag, SavedTree, SavedVersion,
};
use crate::revision::Revision;
use crate::snapshot::Snapshot;
use crate::sync::MutexGuard;

/// A Jungle at one revision, to be saved: see [`Jungle::checkpoint`].
///
/// While it is held, the memory of nothing it names is used again, and no branch drops revisions,
/// whatever its [`Retention`] says: they are dropped when it is.
///
/// ```
/// use jungle_db::{Jungle, Retention};
/// let jungle = Jungle::builder().retention(Retention::Last(1)).build()?;
/// let log = jungle.create_tree("log")?;
/// let checkpoint = jungle.checkpoint();
/// log.update(|tx| tx.append(&[]))?;
/// assert!(checkpoint.revision() < jungle.revision());
/// assert_eq!(log.history(..).count(), 2);
/// drop(checkpoint);
/// assert_eq!(log.history(..).count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Checkpoint {
    state: JungleState,
    held: Arc<Held>,
    /// What no history keeps.
    _pins: Vec<Snapshot>,
}

/// The branches of a checkpoint, in the order of their ids; it keeps their histories as they are,
/// even if they are deleted.
pub(crate) struct Held {
    pub(crate) heads: Vec<Arc<Head>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // A branch that is gone with its Jungle is left to tracing: there may be another Jungle in
        // the arena that was restored from this very checkpoint.
        let heads = self.heads.iter().filter(|head| Arc::strong_count(head) > 1);
        heads.for_each(|head| head.lock().let_go());
    }
}

/// A tree as it is noted while everything stands still.
struct Taken {
    tree: SavedTree,
    branches: Vec<TakenBranch>,
    pins: Vec<Snapshot>,
}

/// The branches by their ids, locked.
type HeadGuards<'a> = [(&'a Arc<Head>, MutexGuard<'a, HeadState>)];

struct TakenBranch {
    name: Arc<str>,
    head: Arc<Head>,
    retention: Retention,
    end: u64,
}

impl Jungle {
    /// Takes out what this Jungle is now, besides its arena, to be saved together with that.
    ///
    /// All writers wait while it is noted where every branch stands, which takes some hundred
    /// nanoseconds a branch, however long the histories are.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_db::{Archive, ArchiveError, BranchId, HistoryEntry, Jungle};
    ///
    /// /// Histories as short as this one have no whole pieces.
    /// struct Empty;
    /// impl Archive for Empty {
    ///     fn piece(&self, _: BranchId, _: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
    ///         Err(ArchiveError::new("there is nothing"))
    ///     }
    /// }
    ///
    /// let jungle = Jungle::new()?;
    /// let made = jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
    /// let checkpoint = jungle.checkpoint();
    /// let (arena, state) = (jungle.arena().clone(), checkpoint.state().clone());
    /// drop(jungle);
    /// let again = Jungle::builder().restore(arena, &state, Arc::new(Empty))?;
    /// assert_eq!(again.open_tree("board")?.at(made.revision)?.root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.refresh_indexes();
        self.checkpoint_as_it_is()
    }

    /// As [`checkpoint`](Jungle::checkpoint), without a look at any tree, of which a part may not
    /// be there any more: indexes are as they were asked for last. [`Salvage`](crate::Salvage) has
    /// an example.
    #[must_use]
    pub fn checkpoint_as_it_is(&self) -> Checkpoint {
        let (state, taken, held) = self.shared.pause(|Paused { trees, mut heads }| {
            let taken = trees.iter().map(|(state, own)| Taken::new(state, own, &mut heads));
            let taken: Vec<Taken> = taken.collect();
            let branches = taken.iter().flat_map(|taken| &taken.branches);
            let mut heads: Vec<_> = branches.map(|branch| Arc::clone(&branch.head)).collect();
            heads.sort_by_key(|head| head.id);
            let held = Arc::new(Held { heads });
            let mut checkpoints = lock(&self.shared.checkpoints);
            checkpoints.retain(|held| held.strong_count() > 0);
            checkpoints.push(Arc::downgrade(&held));
            let (revision, next_id) = (self.revision(), self.shared.next_id());
            (JungleState { revision, next_id, trees: Vec::new() }, taken, held)
        });
        let mut checkpoint = Checkpoint { state, held, _pins: Vec::new() };
        for Taken { mut tree, branches, pins } in taken {
            tree.origins = origins(&branches);
            tree.branches = branches.into_iter().map(TakenBranch::save).collect();
            checkpoint.state.trees.push(tree);
            checkpoint._pins.extend(pins);
        }
        checkpoint
    }
}

impl Taken {
    fn new(state: &TreeState, branches: &Branches, heads: &mut HeadGuards<'_>) -> Taken {
        let mut pins = Vec::new();
        let mut pin = |snapshot: &Snapshot| {
            pins.push(snapshot.clone());
            saved(snapshot)
        };
        let tags = branches.tags.iter();
        let tags = tags.map(|(name, at)| SavedTag { name: Arc::clone(name), at: pin(at) });
        let tags = tags.collect();
        let merges = state.merges.all().into_iter();
        let merges = merges.map(|(branches, Common { of, snapshot, renumbered })| SavedMerge {
            branches,
            at: pin(&snapshot),
            of,
            renumbered,
        });
        let merges = merges.collect();
        let indexes = branches.indexes.iter();
        let indexes = indexes.map(|(key, index)| saved_index(key, index, &mut pin)).collect();
        let tree = SavedTree {
            id: state.id,
            name: Arc::clone(&lock(&state.name)),
            branches: Vec::new(),
            origins: Vec::new(),
            tags,
            merges,
            indexes,
        };
        let main = (&Arc::from(MAIN_BRANCH), &state.main);
        let named = std::iter::once(main).chain(branches.by_name.iter());
        let branches = named.map(|(name, head)| TakenBranch::new(name, head, heads)).collect();
        Taken { tree, branches, pins }
    }
}

impl TakenBranch {
    fn new(name: &Arc<str>, head: &Arc<Head>, heads: &mut HeadGuards<'_>) -> TakenBranch {
        let at = heads.binary_search_by_key(&head.id, |(head, _)| head.id);
        let state = &mut heads[at.expect("all branches are locked")].1;
        state.hold();
        let (retention, end) = (state.retention(), state.history.end());
        TakenBranch { name: Arc::clone(name), head: Arc::clone(head), retention, end }
    }

    /// What was there up to its end, which is there still.
    fn save(self) -> SavedBranch {
        let TakenBranch { name, head, retention, end } = self;
        let state = head.lock();
        let history = &state.history;
        let pieces = (end - 1) / HISTORY_PIECE;
        let Some(Part::Here(piece)) = history.part(pieces) else {
            unreachable!("the last piece is in memory");
        };
        let last = piece[..(end - pieces * HISTORY_PIECE) as usize].into();
        let (dropped, anchor) = (history.first(), history.anchor());
        let history = SavedHistory { dropped, pieces, anchor, last };
        SavedBranch { id: head.id, name, retention, history }
    }
}

fn saved_index(
    key: &Arc<str>,
    index: &Index,
    mut pin: impl FnMut(&Snapshot) -> SavedVersion,
) -> SavedIndex {
    let built = lock(&index.built);
    let built = built.iter().map(|(&branch, Built { of, index })| {
        let index = Snapshot::new(index.as_snapshot().clone(), of.revision());
        SavedBuilt { branch, of: pin(of), id: pin(&index).id }
    });
    SavedIndex { key: Arc::clone(key), built: built.collect() }
}

fn saved(snapshot: &Snapshot) -> SavedVersion {
    SavedVersion { revision: snapshot.revision(), id: snapshot.version_id() }
}

/// Where these branches began, and those that they began at.
fn origins(branches: &[TakenBranch]) -> Vec<SavedOrigin> {
    let mut origins = BTreeMap::new();
    for branch in branches {
        let (mut id, mut next) = (branch.head.id, branch.head.origin.as_ref());
        while let Some(origin) = next {
            let at = saved(&origin.snapshot);
            let known = origins.insert(id, SavedOrigin { branch: id, from: origin.from, at });
            if known.is_some() {
                break;
            }
            (id, next) = (origin.from, origin.before.as_ref());
        }
    }
    origins.into_values().collect()
}

impl Checkpoint {
    /// What there was.
    #[must_use]
    pub fn state(&self) -> &JungleState {
        &self.state
    }

    /// The newest revision that is in it.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.state.revision
    }

    /// The whole pieces of the history of a branch that are kept, with their numbers, from this
    /// number on: whoever has saved those of an earlier checkpoint begins with that one's
    /// [`SavedHistory::pieces`]. A branch that is not in it has none.
    ///
    /// # Errors
    /// When one that is asked for is in the archive already, and cannot be read.
    ///
    /// ```
    /// use jungle_db::{HISTORY_PIECE, Jungle};
    /// let jungle = Jungle::new()?;
    /// let log = jungle.create_tree("log")?;
    /// for n in 0..HISTORY_PIECE {
    ///     log.update(|tx| tx.put_attribute(&[], "n", n as i64))?;
    /// }
    /// let checkpoint = jungle.checkpoint();
    /// let pieces: Vec<_> = checkpoint.pieces_since(log.branch_id(), 0).collect::<Result<_, _>>()?;
    /// let (number, entries) = &pieces[0];
    /// assert_eq!((pieces.len(), *number, entries.len() as u64), (1, 0, HISTORY_PIECE));
    /// // All of them were saved: the next checkpoint begins there.
    /// let saved = checkpoint.state().trees[0].branches[0].history.pieces;
    /// assert_eq!(checkpoint.pieces_since(log.branch_id(), saved).count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces_since(
        &self,
        branch: BranchId,
        since: u64,
    ) -> impl Iterator<Item = Result<(u64, Arc<[HistoryEntry]>), ArchiveError>> {
        let mut branches = self.state.trees.iter().flat_map(|tree| &tree.branches);
        let found = branches.find(|saved| saved.id == branch);
        let range = found.map_or(0..0, |SavedBranch { history, .. }| {
            since.max(history.dropped / HISTORY_PIECE)..history.pieces
        });
        let head = self.held.heads.iter().find(move |head| head.id == branch);
        let head = head.into_iter().flat_map(move |head| range.clone().map(move |i| (head, i)));
        head.map(|(head, number)| Ok((number, head.whole_piece(number)?)))
    }
}

impl Checkpoint {
    /// Gives all that a branch of it keeps with their indexes, the newest first.
    pub(crate) fn entries_back<E: From<ArchiveError>>(
        &self,
        branch: &SavedBranch,
        mut f: impl FnMut(u64, &HistoryEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        let SavedHistory { dropped, pieces, last, .. } = &branch.history;
        let mut each = |number: u64, piece: &[HistoryEntry]| {
            let first = number * HISTORY_PIECE;
            let indexed = piece.iter().enumerate().map(|(i, entry)| (first + i as u64, entry));
            indexed.rev().filter(|(i, _)| i >= dropped).try_for_each(|(i, entry)| f(i, entry))
        };
        each(*pieces, last)?;
        for number in (dropped / HISTORY_PIECE..*pieces).rev() {
            each(number, &self.head(branch.id).whole_piece(number)?)?;
        }
        Ok(())
    }

    /// A branch of it.
    pub(crate) fn head(&self, branch: BranchId) -> &Head {
        let head = self.held.heads.iter().find(|head| head.id == branch);
        head.expect("it holds the branches that it has")
    }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checkpoint({}, {} trees)", self.revision(), self.state.trees.len())
    }
}
