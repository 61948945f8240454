//! All that a Jungle is besides its arena, as plain data: what a [`Checkpoint`] takes out and
//! [`Builder::restore`] takes in. How it becomes bytes is the business of who keeps it.
//!
//! [`Checkpoint`]: crate::Checkpoint
//! [`Builder::restore`]: crate::Builder::restore

use std::sync::Arc;

use jungle_tree::VersionId;

use crate::branch::other_keys::OtherKeys;
use crate::history::retention::Retention;
use crate::history::{HISTORY_PIECE, HistoryEntry};
use crate::journal::{BranchId, TreeId};
use crate::revision::{Revision, Timestamp};

/// A Jungle at one revision, without its arena and without the whole pieces of its histories.
///
/// The example of [`Jungle::checkpoint`](crate::Jungle::checkpoint) makes a Jungle of one again. A
/// look at one:
///
/// ```
/// use jungle_db::Jungle;
/// let jungle = Jungle::new()?;
/// let board = jungle.create_tree("board")?;
/// board.tag("begin", jungle.revision())?;
/// board.branch("draft", jungle.revision())?;
/// let checkpoint = jungle.checkpoint();
/// let state = checkpoint.state();
/// assert_eq!(state.revision, jungle.revision());
///
/// let tree = &state.trees[0];
/// assert_eq!((tree.id, &*tree.name, &*tree.tags[0].name), (board.id(), "board", "begin"));
/// let branches: Vec<&str> = tree.branches.iter().map(|branch| &*branch.name).collect();
/// assert_eq!(branches, ["main", "draft"]);
/// assert_eq!(tree.origins[0].from, board.branch_id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JungleState {
    /// Its newest revision.
    pub revision: Revision,
    /// The number that the next tree or branch gets.
    pub next_id: u64,
    /// Its trees, in any order.
    pub trees: Vec<SavedTree>,
}

/// A tree of a [`JungleState`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedTree {
    /// Which it is.
    pub id: TreeId,
    /// Its name.
    pub name: Arc<str>,
    /// Its branches, the main one first.
    pub branches: Vec<SavedBranch>,
    /// Where its branches began, and those that they began at, which may have been deleted since:
    /// in the order of their ids.
    pub origins: Vec<SavedOrigin>,
    /// Its tags.
    pub tags: Vec<SavedTag>,
    /// What was merged.
    pub merges: Vec<SavedMerge>,
    /// Its indexes, in the order of their keys.
    pub indexes: Vec<SavedIndex>,
}

/// A branch of a [`SavedTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedBranch {
    /// Which it is.
    pub id: BranchId,
    /// Its name.
    pub name: Arc<str>,
    /// What it keeps.
    pub retention: Retention,
    /// Its revisions, the newest of which is its head.
    pub history: SavedHistory,
}

impl SavedBranch {
    /// How many revisions it ever had; the greatest number, if what is damaged says more.
    pub(crate) fn end(&self) -> u64 {
        let before = self.history.pieces.saturating_mul(HISTORY_PIECE);
        before.saturating_add(self.history.last.len() as u64)
    }

    /// How many it keeps.
    pub(crate) fn kept(&self) -> u64 {
        self.end().saturating_sub(self.history.dropped)
    }
}

/// The history of a [`SavedBranch`], of which the whole pieces are in an
/// [`Archive`](crate::Archive). Revisions are counted from the first that the branch ever had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedHistory {
    /// How many of its revisions are not kept any more: the oldest ones.
    pub dropped: u64,
    /// How many whole pieces there are before the last one, those counted that are dropped. All of
    /// it that is needed are those from `dropped / HISTORY_PIECE` on.
    pub pieces: u64,
    /// What is known of some revision not newer than the oldest that is kept.
    pub anchor: HistoryAnchor,
    /// The last piece: from one revision to [`HISTORY_PIECE`](crate::HISTORY_PIECE) of them.
    pub last: Arc<[HistoryEntry]>,
}

/// A revision of a [`SavedHistory`], from which looking far back begins to guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryAnchor {
    /// How many revisions of its branch were before it.
    pub index: u64,
    /// Its number.
    pub revision: Revision,
    /// When it was committed.
    pub time: Timestamp,
}

/// A version that something besides a history holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedVersion {
    /// Its revision.
    pub revision: Revision,
    /// Where it lies.
    pub id: VersionId,
}

/// Where a branch of a [`SavedTree`] began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedOrigin {
    /// The branch.
    pub branch: BranchId,
    /// The branch it left.
    pub from: BranchId,
    /// Where it left it.
    pub at: SavedVersion,
}

/// A tag of a [`SavedTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedTag {
    /// Its name.
    pub name: Arc<str>,
    /// What it is the name of.
    pub at: SavedVersion,
}

/// What two branches of a [`SavedTree`] have in common since one was merged into the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedMerge {
    /// The branches, in the order of their ids.
    pub branches: (BranchId, BranchId),
    /// The newest version that both have.
    pub at: SavedVersion,
    /// The one of them that it is a version of.
    pub of: BranchId,
    /// The nodes of that version that have other keys on the other one.
    pub renumbered: OtherKeys,
}

/// An index of a [`SavedTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedIndex {
    /// The key of the attributes that it is about.
    pub key: Arc<str>,
    /// What was worked out of it, at most once for each branch. All of it can be left out: it is
    /// worked out again then.
    pub built: Vec<SavedBuilt>,
}

/// A [`SavedIndex`] of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedBuilt {
    /// The branch it was asked for.
    pub branch: BranchId,
    /// The version that it is of.
    pub of: SavedVersion,
    /// Where it lies: it is a tree, too.
    pub id: VersionId,
}
