//! What a Jungle writes to as it commits.

use std::fmt;
use std::sync::Arc;

use jungle_tree::ChangeSet;

use crate::commit::durability::Durability;
use crate::history::retention::Retention;
use crate::revision::{CommitMeta, Revision, Timestamp};
use crate::sync::{Mutex, PoisonError};

/// Which tree: it stays the same when the tree is renamed, and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u64);

/// Which branch of which tree: the main one has a number like any other. It is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(pub u64);

/// One commit, complete: the same records in the same order make an equal Jungle.
#[derive(Clone, Debug)]
pub struct CommitRecord {
    /// Its number; it goes up by one from record to record.
    pub revision: Revision,
    /// When it was committed.
    pub time: Timestamp,
    /// Who committed it, and why.
    pub meta: CommitMeta,
    /// What it did.
    pub event: Event,
}

/// What a commit did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Trees were edited.
    Edited(Vec<BranchEdit>),
    /// A tree was made, of one bare node.
    TreeCreated {
        /// The tree.
        tree: TreeId,
        /// Its main branch.
        branch: BranchId,
        /// Its name.
        name: Arc<str>,
        /// What that branch keeps of its history, until something else is said.
        retention: Retention,
    },
    /// A tree got another name.
    TreeRenamed {
        /// The tree.
        tree: TreeId,
        /// Its new name.
        name: Arc<str>,
    },
    /// A tree was deleted, with its branches and tags.
    TreeDeleted {
        /// The tree.
        tree: TreeId,
    },
    /// A branch was made.
    BranchCreated {
        /// The tree.
        tree: TreeId,
        /// The new branch.
        branch: BranchId,
        /// Its name.
        name: Arc<str>,
        /// The branch it begins at.
        from: BranchId,
        /// The revision of that branch.
        at: Revision,
        /// What it keeps of its history, until something else is said.
        retention: Retention,
    },
    /// A branch was deleted.
    BranchDeleted {
        /// The tree.
        tree: TreeId,
        /// The branch.
        branch: BranchId,
    },
    /// A tag was made.
    TagCreated {
        /// The tree.
        tree: TreeId,
        /// Its name.
        name: Arc<str>,
        /// The branch it points into.
        branch: BranchId,
        /// The revision of that branch.
        at: Revision,
    },
    /// A tag was deleted.
    TagDeleted {
        /// The tree.
        tree: TreeId,
        /// Its name.
        name: Arc<str>,
    },
    /// An index was made, for all branches of a tree.
    IndexCreated {
        /// The tree.
        tree: TreeId,
        /// The key of the attributes that it is about.
        key: Arc<str>,
    },
    /// An index was dropped.
    IndexDropped {
        /// The tree.
        tree: TreeId,
        /// Its key.
        key: Arc<str>,
    },
    /// It was said what a branch keeps of its history.
    RetentionSet {
        /// The tree.
        tree: TreeId,
        /// The branch.
        branch: BranchId,
        /// What it keeps from now on.
        retention: Retention,
    },
}

/// What a commit did to one branch of a tree.
#[derive(Clone, Debug)]
pub struct BranchEdit {
    /// The tree.
    pub tree: TreeId,
    /// The branch.
    pub branch: BranchId,
    /// How it came from its previous revision.
    pub changes: ChangeSet,
    /// The branch that was merged into it, and its revision then.
    pub merged: Option<(BranchId, Revision)>,
}

/// The journal could not take a record, or not make it last.
#[derive(Clone, Debug)]
pub struct JournalError(Arc<dyn std::error::Error + Send + Sync>);

impl JournalError {
    /// A failure with its cause.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> JournalError {
        JournalError(cause.into().into())
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the journal failed: {}", self.0)
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// Where commits are written down: nowhere, into a local log, into a replicated one.
///
/// A commit calls [`append`](Journal::append) before it is visible to anybody, one commit after
/// the other in the order of their revisions, and [`wait`](Journal::wait) when all locks are free
/// again, before it is acknowledged. After the first failure of either, the Jungle takes no more
/// commits until it is opened anew; what failed in `append` was never visible.
pub trait Journal: Send + Sync {
    /// Takes a record in. It should be quick and may not wait for the disk: all other commits
    /// wait meanwhile.
    ///
    /// # Errors
    /// When the record could not be taken; the commit is refused then.
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError>;

    /// Waits until the record of this revision, and all before it, would survive what
    /// [`Durability`] says.
    ///
    /// # Errors
    /// When it never will.
    fn wait(&self, _revision: Revision, _durability: Durability) -> Result<(), JournalError> {
        Ok(())
    }
}

/// A journal in memory, for tests.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Jungle, MemoryJournal};
///
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
///
/// let copy = Jungle::new()?;
/// journal.records().iter().try_for_each(|record| copy.replay(record))?;
/// assert_eq!(copy.open_tree("board")?.read().root().child_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryJournal {
    records: Mutex<Vec<CommitRecord>>,
}

impl MemoryJournal {
    /// All records so far.
    #[must_use]
    pub fn records(&self) -> Vec<CommitRecord> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Journal for MemoryJournal {
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.push(record.clone());
        Ok(())
    }
}

impl<J: Journal + ?Sized> Journal for Arc<J> {
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
        (**self).append(record)
    }

    fn wait(&self, revision: Revision, durability: Durability) -> Result<(), JournalError> {
        (**self).wait(revision, durability)
    }
}
