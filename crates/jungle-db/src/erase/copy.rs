//! A second Jungle like the first, in an arena of its own, without something: where there are no
//! records to be done again.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use jungle_tree::{
    Arena, Change, EditError, Editor, Keep, KeyRef, Path, SlabError, Snapshot, Subtree, Tree,
    TreeReader, VersionId, apply, diff, keys_to_skip,
};

use crate::erase::{Erased, Erasure};
use crate::history::archive::{Archive, ArchiveError};
use crate::history::{HISTORY_PIECE, HistoryEntry, Piece};
use crate::journal::{BranchId, TreeId};
use crate::jungle::{Builder, Jungle};
use crate::restore::RestoreError;
use crate::restore::checkpoint::Checkpoint;
use crate::restore::state::{SavedBranch, SavedTree, SavedVersion};

/// Why there is no copy.
///
/// ```
/// use std::ops::ControlFlow::Continue;
/// use jungle_db::{CopyError, Erasure, Jungle};
/// use jungle_tree::{Arena, ArenaOptions};
/// let jungle = Jungle::new()?;
/// let tree = jungle.create_tree("people")?;
/// tree.update(|tx| tx.put_attribute(&[], "text", "x".repeat(2 << 20).as_str()))?;
/// let small = ArenaOptions { payload_bytes: 1 << 20, ..ArenaOptions::default() };
/// let erasure = Erasure::new(tree.id(), "/ana".parse()?)?;
/// let (builder, arena) = (Jungle::builder(), Arena::with_options(&small)?);
/// let copied = jungle.copy_without(&erasure, builder, arena, |_, _| Continue(()));
/// assert!(matches!(copied, Err(CopyError::NoRoom(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// A history cannot be read.
    #[error(transparent)]
    NotRead(#[from] ArchiveError),
    /// There is no room to load a version.
    #[error(transparent)]
    NotLoaded(#[from] SlabError),
    /// There is no room for a version.
    #[error("there is no room for a version: {0}")]
    NoRoom(#[from] EditError),
    /// What was copied makes no sense: a bug.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Whoever wanted it does not any more.
    #[error("it was given up")]
    GivenUp,
}

impl Jungle {
    /// Makes a Jungle in another arena that has all that this one keeps (trees, branches, tags,
    /// revisions) but for what is to be taken out. Nothing of that is in the arena. `builder`
    /// says the rest, as for [`Builder::restore`]. `progress` is told with each revision how many
    /// were copied, of how many, and says whether to go on.
    ///
    /// What an older version took up that is free in it (positions that were used) is not copied;
    /// of the newest versions it is. Versions of one tree share in the copy what they share here;
    /// those of different trees do not.
    ///
    /// # Errors
    /// When something cannot be read, there is no room, or `progress` said to end it.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use jungle_db::{Erasure, Jungle};
    /// use jungle_tree::Arena;
    /// let jungle = Jungle::new()?;
    /// let tree = jungle.create_tree("people")?;
    /// tree.update(|tx| tx.insert_child(&[], &"ana".into()))?;
    /// let erasure = Erasure::new(tree.id(), "/ana".parse()?)?;
    ///
    /// let (builder, arena) = (Jungle::builder(), Arena::new()?);
    /// let (copy, erased) = jungle.copy_without(&erasure, builder, arena, |_, _| Continue(()))?;
    /// assert_eq!((erased.commits, copy.revision()), (1, jungle.revision()));
    /// assert_eq!(copy.open_tree("people")?.read().root().child_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_without(
        &self,
        erasure: &Erasure,
        builder: Builder,
        arena: Arena,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(Jungle, Erased), CopyError> {
        let checkpoint = self.checkpoint();
        let mut state = checkpoint.state().clone();
        let branches = state.trees.iter().flat_map(|tree| &tree.branches);
        let total = branches.map(|branch| branch.kept()).sum();
        let (mut pieces, mut erased) = (Pieces::default(), Erased::default());
        let mut done = 0;
        let mut step = || {
            done += 1;
            progress(done, total)
        };
        for tree in &mut state.trees {
            let head = checkpoint.head(tree.branches[0].id);
            let mut copying = Copying {
                reader: &head.reader,
                erasure: Some(erasure).filter(|erasure| erasure.is_of(tree.id)),
                line: Copier::new(&arena, tree.id),
                known: HashMap::new(),
                erased: &mut erased,
            };
            for branch in &mut tree.branches {
                copying.branch(&checkpoint, branch, &mut pieces, &mut step)?;
            }
            copying.named(tree)?;
        }
        let copy = builder.restore(arena, &state, Arc::new(pieces))?;
        Ok((copy, erased))
    }
}

/// The whole pieces of all histories of a copy.
#[derive(Default)]
pub(crate) struct Pieces(pub(crate) HashMap<(BranchId, u64), Piece>);

impl Archive for Pieces {
    fn piece(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
        let found = self.0.get(&(branch, index)).map(Arc::clone);
        found.ok_or_else(|| ArchiveError::new("it was not copied"))
    }
}

/// A line for copies of versions of a tree, each of which stays.
pub(crate) fn line_of(arena: &Arena, tree: TreeId) -> Tree {
    let mut line = Tree::new(arena);
    line.count_keys(tree.0);
    line.keep(Keep::All);
    line
}

/// Copies the versions of a tree, one after the other, into one line of another arena.
pub(crate) struct Copier {
    line: Tree,
    /// What the line's newest version is a copy of.
    last: Option<Snapshot>,
}

impl Copier {
    pub(crate) fn new(arena: &Arena, tree: TreeId) -> Copier {
        Copier { line: line_of(arena, tree), last: None }
    }

    /// A copy of this version, from whatever arena; if it is a newest one, with the positions in it
    /// that are not to be given again.
    pub(crate) fn copy(
        &mut self,
        version: Snapshot,
        is_newest: bool,
    ) -> Result<VersionId, EditError> {
        let changes = match &self.last {
            Some(last) => diff(last, &version).into_vec(),
            None => {
                let subtree = Subtree::new(&version, &[]).expect("there is a root");
                vec![Change::SubtreeSet { path: Path::root(), subtree }]
            }
        };
        self.line.edit(|editor| {
            apply(editor, &changes).map_err(|error| error.source)?;
            if is_newest { take_positions(editor, &version) } else { Ok(()) }
        })?;
        self.last = Some(version);
        Ok(self.line.version_id())
    }
}

/// Copies what a tree has.
struct Copying<'a> {
    reader: &'a TreeReader,
    erasure: Option<&'a Erasure>,
    line: Copier,
    known: HashMap<VersionId, VersionId>,
    erased: &'a mut Erased,
}

impl Copying<'_> {
    fn branch(
        &mut self,
        checkpoint: &Checkpoint,
        branch: &mut SavedBranch,
        pieces: &mut Pieces,
        step: &mut impl FnMut() -> ControlFlow<()>,
    ) -> Result<(), CopyError> {
        let (first, last) = (branch.history.dropped, branch.history.pieces);
        let (begin, head) = (first / HISTORY_PIECE, checkpoint.head(branch.id));
        let whole = (begin..last).map(|number| head.whole_piece(number));
        let all = whole.chain([Ok(Arc::clone(&branch.history.last))]);
        let mut oldest = None;
        for (number, piece) in (begin..).zip(all) {
            let piece = piece?;
            let mut copies: Vec<HistoryEntry> = piece.to_vec();
            let gone = first.saturating_sub(number * HISTORY_PIECE) as usize;
            for (i, copy) in copies.iter_mut().enumerate().skip(gone) {
                let is_newest = number == last && i + 1 == piece.len();
                copy.id = self.version(copy.id, is_newest)?;
                oldest.get_or_insert(copy.id);
                step().continue_value().ok_or(CopyError::GivenUp)?;
            }
            // Not kept, but a piece has all its entries.
            let filler = oldest.expect("the newest is always kept");
            copies.iter_mut().take(gone).for_each(|copy| copy.id = filler);
            if number < last {
                pieces.0.insert((branch.id, number), copies.into());
            } else {
                branch.history.last = copies.into();
            }
        }
        Ok(())
    }

    /// What the tree holds besides.
    fn named(&mut self, tree: &mut SavedTree) -> Result<(), CopyError> {
        let tags = tree.tags.iter_mut().map(|tag| &mut tag.at);
        let origins = tree.origins.iter_mut().map(|origin| &mut origin.at);
        let merges = tree.merges.iter_mut().map(|merge| &mut merge.at);
        for SavedVersion { id, .. } in tags.chain(origins).chain(merges) {
            *id = self.version(*id, false)?;
        }
        if let Some(erasure) = self.erasure {
            tree.merges.iter_mut().for_each(|merge| erasure.forget(&mut merge.renumbered));
        }
        // They have what is to be taken out, and are worked out again.
        tree.indexes.iter_mut().for_each(|index| index.built.clear());
        Ok(())
    }

    /// The copy of a version.
    fn version(&mut self, id: VersionId, is_newest: bool) -> Result<VersionId, CopyError> {
        if let Some(&known) = self.known.get(&id).filter(|_| !is_newest) {
            return Ok(known);
        }
        let old = self.reader.held(id);
        let without = match self.erasure {
            Some(erasure) if erasure.is_in(&old) => {
                self.erased.commits += 1;
                erasure.without(&old)?
            }
            _ => old,
        };
        let copy = self.line.copy(without, is_newest)?;
        self.known.insert(id, copy);
        Ok(copy)
    }
}

/// Takes the positions that were used once, and are not to be given again.
fn take_positions(editor: &mut Editor, old: &Snapshot) -> Result<(), EditError> {
    let mut walk = old.root().walk();
    let mut taken = Vec::new();
    while let Some(node) = walk.next() {
        let (next, last) = (node.next_position(), node.last_child().map(|(key, _)| key));
        let is_gone = next > 0 && last != Some(KeyRef::Position(next - 1, &[]));
        if is_gone || node.lowest_position() < 0 || node.fractions_taken() > 0 {
            taken.push((walk.path(), node));
        }
    }
    for (path, gave) in taken {
        let keys = keys_to_skip(editor.root().at(&path)?, gave);
        for key in keys {
            editor.insert_child(&path, &key)?;
            editor.remove(&path.join(key))?;
        }
    }
    Ok(())
}
