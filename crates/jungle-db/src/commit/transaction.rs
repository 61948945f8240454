//! Explicit transactions, on one tree.

use std::fmt;
use std::ops::{Deref, DerefMut};

use jungle_tree::{ChangeSet, Conflict, Path};

use crate::commit::draft::Draft;
use crate::commit::write::NotWritten;
use crate::commit::{Failure, Overlap};
use crate::handle::{CommitOptions, Committed, TreeHandle};
use crate::journal::BranchId;
use crate::revision::{RequestId, Revision};

/// Edits of one tree that become one commit, or none: see [`TreeHandle::begin`].
///
/// It is edited and read as the [`Draft`] it holds. Dropping it aborts it.
///
/// ```
/// use jungle_db::{CommitError, CommitOptions, Jungle};
/// let tree = Jungle::new()?.create_tree("board")?;
/// let mut ours = tree.begin(CommitOptions::default());
/// ours.put_attribute(&[], "title", "ours")?;
/// tree.update(|tx| tx.put_attribute(&[], "title", "theirs"))?;
/// match ours.commit() {
///     Err(CommitError::Conflict(conflicts)) => assert_eq!(conflicts.list().len(), 1),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Transaction {
    handle: TreeHandle,
    began_at: Revision,
    draft: Draft,
}

/// Why a transaction was not committed.
///
/// ```
/// use jungle_db::{CommitError, CommitOptions, Jungle, NotWritten};
/// let jungle = Jungle::new()?;
/// let board = jungle.create_tree("board")?;
/// let mut tx = board.begin(CommitOptions::default());
/// tx.append(&[])?;
/// jungle.delete_tree("board")?;
/// assert!(matches!(tx.commit(), Err(CommitError::NotWritten(NotWritten::Deleted))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Others changed what it changed or read.
    #[error(transparent)]
    Conflict(Box<Conflicts>),
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

/// What stood in the way of a commit.
///
/// ```
/// use jungle_db::{CommitError, CommitOptions, Jungle};
/// let tree = Jungle::new()?.create_tree("board")?;
/// let mut ours = tree.begin(CommitOptions::default());
/// ours.put_attribute(&[], "title", "ours")?;
/// tree.update(|tx| tx.put_attribute(&[], "title", "theirs"))?;
/// let Err(CommitError::Conflict(why)) = ours.commit() else { panic!("both changed the title") };
/// assert_eq!(why.list()[0].to_string().split(' ').next(), Some("/:"));
/// // What we wanted can be shown, or done anew.
/// let (branch, changes) = why.changes().next().unwrap();
/// assert_eq!(branch, tree.branch_id());
/// assert_eq!(changes.to_string(), "~ / @title = \"ours\"\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Conflicts {
    overlaps: Vec<Overlap>,
}

impl Conflicts {
    pub(crate) fn new(overlaps: Vec<Overlap>) -> Box<Conflicts> {
        Box::new(Conflicts { overlaps })
    }

    /// Where its changes contradict those of others.
    #[must_use]
    pub fn list(&self) -> Vec<&Conflict> {
        self.overlaps.iter().flat_map(|overlap| &overlap.conflicts).collect()
    }

    /// What it read that others have changed; the first such place of each tree.
    ///
    /// ```
    /// use jungle_db::{CommitError, CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut ours = tree.begin(CommitOptions::default());
    /// assert!(ours.attribute(&[], "limit")?.is_none());
    /// ours.put_attribute(&[], "n", 1)?;
    /// tree.update(|tx| tx.put_attribute(&[], "limit", 0))?;
    /// let Err(CommitError::Conflict(why)) = ours.commit() else { panic!("it read the limit") };
    /// assert_eq!((why.list().len(), why.reads()[0].to_string()), (0, "/".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reads(&self) -> Vec<&Path> {
        self.overlaps.iter().filter_map(|overlap| overlap.read.as_ref()).collect()
    }

    /// What it wanted to change, of those branches where something stood in the way: from the
    /// version it began with.
    pub fn changes(&self) -> impl Iterator<Item = (BranchId, &ChangeSet)> {
        self.overlaps.iter().map(|overlap| (overlap.branch, &overlap.changes))
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("others changed what the transaction ")?;
        match (self.list().first(), self.reads().first()) {
            (Some(conflict), _) => write!(f, "changed: {conflict}"),
            (None, Some(path)) => write!(f, "read: {path}"),
            (None, None) => f.write_str("changed"),
        }
    }
}

impl std::error::Error for Conflicts {}

impl Transaction {
    pub(crate) fn new(handle: TreeHandle, options: CommitOptions) -> Transaction {
        let base = handle.head.snapshot();
        Transaction {
            began_at: base.revision(),
            draft: Draft::of_head(base.into_tree(), &handle.shared, options),
            handle,
        }
    }

    /// The revision it began with.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let tx = tree.begin(CommitOptions::default());
    /// tree.update(|theirs| theirs.append(&[]))?;
    /// assert!(tx.began_at() < tree.snapshot().revision());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn began_at(&self) -> Revision {
        self.began_at
    }

    /// Says which request asks for it, where that is known only once its edits are there: as if it
    /// had begun with [`CommitMeta::asked_by`](crate::CommitMeta::asked_by).
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle, RequestId};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut tx = tree.begin(CommitOptions::default());
    /// tx.put_attribute(&[], "title", "hello")?;
    /// let request = RequestId { key: 7, fingerprint: 1 };
    /// tx.asked_by(request);
    /// let committed = tx.commit()?;
    /// assert_eq!(tree.find_request(request)?, Some(committed.revision));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn asked_by(&mut self, request: RequestId) {
        let meta = &mut self.draft.options.meta;
        *meta = std::mem::take(meta).asked_by(request);
    }

    /// Says for how many steps it may be compared as it is committed, where that depends on its
    /// edits: as if its handle [had said so](TreeHandle::steps_max).
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle, MemoryJournal};
    /// let jungle = Jungle::builder().journal(MemoryJournal::default()).build()?;
    /// let tree = jungle.create_tree("list")?;
    /// let added = |children: u64, steps| {
    ///     let mut tx = tree.begin(CommitOptions::default());
    ///     tx.bulk(|editor| editor.cursor(&[])?.add_children(children)).unwrap();
    ///     tx.steps_max(steps);
    ///     tx.commit()
    /// };
    /// assert!(added(100, 100).is_err());
    /// added(10, 100)?;
    /// assert_eq!(tree.read().root().child_count(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn steps_max(&mut self, steps_max: u64) {
        self.handle.steps_max = Some(steps_max);
    }

    /// Makes its edits one commit, on top of what others committed since it began.
    ///
    /// # Errors
    /// When others changed what it changed or read: the conflicts and its changes are in the
    /// error. Or when nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut tx = tree.begin(CommitOptions::default());
    /// tx.put_attribute(&[], "title", "hello")?;
    /// let committed = tx.commit()?;
    /// assert_eq!(tree.snapshot().revision(), committed.revision);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<Committed<()>, CommitError> {
        match self.handle.commit(self.draft, self.began_at) {
            Ok((revision, renamed)) => Ok(Committed { value: (), revision, renamed, runs: 1 }),
            Err(Failure::NotWritten(error)) => Err(error.into()),
            Err(Failure::Overlap(overlap)) => {
                Err(CommitError::Conflict(Conflicts::new(vec![overlap])))
            }
        }
    }

    /// Forgets its edits, as dropping it does.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut tx = tree.begin(CommitOptions::default());
    /// tx.put_attribute(&[], "title", "hello")?;
    /// tx.abort();
    /// assert!(!tree.read().root().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(self) {
        drop(self);
    }
}

impl Deref for Transaction {
    type Target = Draft;

    fn deref(&self) -> &Draft {
        &self.draft
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Draft {
        &mut self.draft
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("tree", &self.handle.name())
            .field("began_at", &self.began_at)
            .finish_non_exhaustive()
    }
}
