//! Whether what was loaded is well formed: memory that others may have changed is checked before
//! anything edits it.

use jungle_db::{
    ArchiveError, BranchId, CommitRecord, Event, Jungle, ReplayError, TreeHandle, TreeId,
};
use jungle_tree::{AttributeIndex, CheckError, EditError, SlabError, loading};

use crate::progress::{GivenUp, Progress};

/// A branch of a tree that is not well formed, or not all there: what
/// [`Store::verify`](crate::Store::verify) tells, and opening a folder that is
/// [`checked`](crate::OpenOptions::checked).
#[derive(Debug, thiserror::Error)]
#[error("the tree {tree:?}, branch {branch:?}: {source}")]
#[non_exhaustive]
pub struct TreeDamage {
    /// The name of the tree.
    pub tree: Box<str>,
    /// The name of the branch.
    pub branch: Box<str>,
    /// What is wrong.
    pub source: TreeFault,
}

/// What is wrong with a branch of a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeFault {
    /// It is not well formed.
    #[error(transparent)]
    Form(#[from] CheckError),
    /// Part of it cannot be loaded.
    #[error(transparent)]
    Slab(#[from] SlabError),
    /// Part of its history cannot be loaded.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// An index of it finds something else than is there.
    #[error("its index of {key:?} is not what is there; drop it and make it again")]
    Index {
        /// The key of the index.
        key: Box<str>,
    },
    /// An index of it, or the version that this is of, is not well formed.
    #[error("its index of {key:?} is not well formed; drop it and make it again: {source}")]
    IndexForm {
        /// The key of the index.
        key: Box<str>,
        /// What is wrong.
        source: CheckError,
    },
    /// There is no room to hold an index against what is there.
    #[error("an index could not be looked at: {0}")]
    NoRoom(#[from] EditError),
}

/// What was looked at.
#[derive(Clone, Copy, Default)]
pub(crate) struct Looked {
    pub(crate) trees: u64,
    pub(crate) branches: u64,
    /// In their newest versions.
    pub(crate) nodes: u64,
}

/// Checks the form of all trees, in all their branches.
pub(crate) fn check_trees<E: From<TreeDamage> + From<GivenUp>>(
    jungle: &Jungle,
    progress: &Progress,
) -> Result<Looked, E> {
    let mut looked = Looked::default();
    for main in jungle.list_trees().iter().filter_map(|name| jungle.open_tree(name).ok()) {
        looked.trees += 1;
        for head in branches(&main) {
            progress.go_on()?;
            looked.branches += 1;
            looked.nodes += check_branch(&head)?;
        }
    }
    Ok(looked)
}

/// Does a record again in a Jungle whose trees were checked. What a record changes is well formed
/// again, so there is one thing to check besides: a version from which a branch goes on that none
/// had as its newest.
pub(crate) fn replay_checked(jungle: &Jungle, record: &CommitRecord) -> Result<(), ReplayError> {
    jungle.replay(record)?;
    check_made(jungle, record).map_err(does_not_fit)
}

/// As [`replay_checked`], where a part of the trees may not be there: who needs that is told by
/// unwinding to [`loading`].
pub(crate) fn replay_what_is_there(
    jungle: &Jungle,
    record: &CommitRecord,
) -> Result<(), ReplayError> {
    jungle.replay(record)?;
    check_made(jungle, record).or_else(|damage| match damage.source {
        TreeFault::Slab(_) | TreeFault::History(_) => Ok(()),
        _ => Err(does_not_fit(damage)),
    })
}

fn does_not_fit(damage: TreeDamage) -> ReplayError {
    ReplayError::DoesNotFit { what: damage.to_string().into() }
}

/// Checks what a branch begins with that this record has made.
fn check_made(jungle: &Jungle, record: &CommitRecord) -> Result<(), TreeDamage> {
    let Event::BranchCreated { tree, branch, from, at, .. } = &record.event else { return Ok(()) };
    let is_newest =
        find(jungle, *tree, *from).is_some_and(|from| from.snapshot().revision() == *at);
    let made = find(jungle, *tree, *branch).filter(|_| !is_newest);
    made.map_or(Ok(()), |made| check_branch(&made).map(drop))
}

fn find(jungle: &Jungle, tree: TreeId, branch: BranchId) -> Option<TreeHandle> {
    let names = jungle.list_trees();
    let mut trees = names.iter().filter_map(|name| jungle.open_tree(name).ok());
    let main = trees.find(|main| main.id() == tree)?;
    branches(&main).find(|head| head.branch_id() == branch)
}

fn branches(main: &TreeHandle) -> impl Iterator<Item = TreeHandle> {
    main.list_branches().into_iter().filter_map(|name| main.on_branch(&name).ok())
}

/// Checks the form of a branch's newest version, and reads its history; gives how many nodes it
/// has.
pub(crate) fn check_branch(head: &TreeHandle) -> Result<u64, TreeDamage> {
    let checked = loading(|| -> Result<u64, TreeFault> {
        let nodes = head.snapshot().check()?.nodes;
        head.history(..).try_for_each(|entry| entry.map(drop))?;
        head.list_indexes().iter().try_for_each(|key| check_index(head, key))?;
        Ok(nodes)
    });
    checked.map_err(TreeFault::from).flatten().map_err(|source| {
        let (tree, branch) = ((*head.name()).into(), head.branch_name().into());
        TreeDamage { tree, branch, source }
    })
}

/// Holds an index against one that is worked out anew.
fn check_index(head: &TreeHandle, key: &str) -> Result<(), TreeFault> {
    head.check_index(key).map_err(|source| TreeFault::IndexForm { key: key.into(), source })?;
    let newest = head.snapshot();
    let Some(kept) = head.index(key, &newest)? else { return Ok(()) };
    let anew = AttributeIndex::build(&newest, key)?;
    let is_equal = kept.as_snapshot().root().is_equal(anew.as_snapshot().root());
    is_equal.then_some(()).ok_or_else(|| TreeFault::Index { key: key.into() })
}
