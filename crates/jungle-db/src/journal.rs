//! What a Jungle writes to as it commits.

use std::fmt;
use std::sync::Arc;

use jungle_tree::ChangeSet;

use crate::branch::other_keys::OtherKeys;
use crate::commit::durability::Durability;
use crate::history::retention::Retention;
use crate::revision::{CommitMeta, Revision, Timestamp};
use crate::sync::{Mutex, PoisonError};

/// Which tree: it stays the same when the tree is renamed, and is never used again.
///
/// ```
/// use jungle_db::Jungle;
/// let jungle = Jungle::new()?;
/// let id = jungle.create_tree("board")?.id();
/// jungle.rename_tree("board", "archive")?;
/// assert_eq!(jungle.open_tree("archive")?.id(), id);
/// assert_ne!(jungle.create_tree("board")?.id(), id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u64);

/// Which branch of which tree: the main one has a number like any other. It is never used again.
///
/// ```
/// use jungle_db::Jungle;
/// let main = Jungle::new()?.create_tree("board")?;
/// let draft = main.branch("draft", main.snapshot().revision())?;
/// assert_eq!(draft.id(), main.id());
/// assert_ne!(draft.branch_id(), main.branch_id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(pub u64);

/// One commit, complete: the same records in the same order make an equal Jungle.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Event, Jungle, MemoryJournal};
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// let posted = jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
///
/// let record = journal.records().pop().expect("there are two");
/// assert_eq!(record.revision, posted.revision);
/// let Event::Edited(edits) = record.event else { panic!("it is an edit") };
/// assert_eq!(edits[0].changes.to_string(), "+ /0\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Event, Jungle, MemoryJournal};
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// let board = jungle.create_tree("board")?;
/// board.tag("begin", jungle.revision())?;
/// let events: Vec<Event> = journal.records().into_iter().map(|record| record.event).collect();
/// assert!(matches!(&events[0], Event::TreeCreated { tree, .. } if *tree == board.id()));
/// assert!(matches!(&events[1], Event::TagCreated { name, .. } if &**name == "begin"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{CommitMeta, Event, Jungle, MemoryJournal};
/// use jungle_tree::MergeOptions;
/// let journal = Arc::new(MemoryJournal::default());
/// let main = Jungle::builder().journal(Arc::clone(&journal)).build()?.create_tree("board")?;
/// let draft = main.branch("draft", main.snapshot().revision())?;
/// let ours = draft.update(|tx| tx.append(&[]))?;
/// main.merge("draft", &MergeOptions::new())?.commit(&CommitMeta::new())?;
///
/// let record = journal.records().pop().expect("there are four");
/// let Event::Edited(edits) = record.event else { panic!("a merge is an edit") };
/// assert_eq!(edits[0].branch, main.branch_id());
/// let merged = edits[0].merged.as_ref().expect("it is a merge");
/// assert_eq!((merged.branch, merged.revision), (draft.branch_id(), ours.revision));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BranchEdit {
    /// The tree.
    pub tree: TreeId,
    /// The branch.
    pub branch: BranchId,
    /// How it came from its previous revision.
    pub changes: ChangeSet,
    /// What was merged into it.
    pub merged: Option<MergedVersion>,
}

/// A version of a branch that was merged into another one: from then on both have it in common.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{CommitMeta, Event, Jungle, MemoryJournal};
/// use jungle_tree::MergeOptions;
/// let journal = Arc::new(MemoryJournal::default());
/// let main = Jungle::builder().journal(Arc::clone(&journal)).build()?.create_tree("board")?;
/// let draft = main.branch("draft", main.snapshot().revision())?;
/// draft.update(|tx| tx.append(&[]))?;
/// main.update(|tx| tx.append(&[]))?;
/// main.merge("draft", &MergeOptions::new())?.commit(&CommitMeta::new())?;
///
/// let record = journal.records().pop().expect("there are five");
/// let Event::Edited(edits) = record.event else { panic!("a merge is an edit") };
/// // The node of the draft has another key on the main branch.
/// let node = &edits[0].merged.as_ref().expect("it is a merge").renumbered.nodes()[0];
/// assert_eq!((node.path.to_string(), node.key.to_string()), ("/0".into(), "1".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedVersion {
    /// The branch.
    pub branch: BranchId,
    /// Its revision.
    pub revision: Revision,
    /// The nodes of that version that have another key on the branch it was merged into.
    pub renumbered: OtherKeys,
}

/// The journal could not take a record, or not make it last.
///
/// ```
/// use jungle_db::JournalError;
/// let error = JournalError::new(std::io::Error::other("the disk is full"));
/// assert_eq!(error.to_string(), "the journal failed: the disk is full");
/// ```
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
///
/// ```
/// use jungle_db::{CommitRecord, CreateTreeError, Journal, JournalError, Jungle, NotWritten};
///
/// /// Takes so many records, and no more.
/// struct Short(u64);
///
/// impl Journal for Short {
///     fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
///         let fits = record.revision.number() <= self.0;
///         fits.then_some(()).ok_or_else(|| JournalError::new("it is full"))
///     }
/// }
///
/// let jungle = Jungle::builder().journal(Short(1)).build()?;
/// jungle.create_tree("board")?;
/// let refused = jungle.create_tree("notes");
/// assert!(matches!(refused, Err(CreateTreeError::NotWritten(NotWritten::Refused(_)))));
/// assert!(jungle.open_tree("notes").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
