//! Transactions over several trees.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jungle_tree::{EditError, NoSuchNode, Path};

use crate::commit::draft::Draft;
use crate::commit::durability::Durability;
use crate::commit::transaction::{CommitError, Conflicts};
use crate::commit::turn::{self, Turn};
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure, check_reads, rebase_and_publish};
use crate::handle::{CommitOptions, TreeHandle, UpdateError};
use crate::head::Head;
use crate::journal::BranchId;
use crate::jungle::{Jungle, NoSuchTree, Shared, no_such_tree};
use crate::revision::Revision;
use crate::snapshot::{JungleSnapshot, Snapshot};

/// Edits of several trees that become one commit, or none: see [`Jungle::begin`].
///
/// ```
/// use jungle_db::{CommitOptions, Jungle};
/// let jungle = Jungle::new()?;
/// let (a, b) = (jungle.create_tree("a")?, jungle.create_tree("b")?);
/// let mut tx = jungle.begin(CommitOptions::default());
/// tx.tree("a")?.put_attribute(&[], "n", -1)?;
/// tx.tree("b")?.put_attribute(&[], "n", 1)?;
/// let revision = tx.commit()?.revision;
/// assert_eq!((a.snapshot().revision(), b.snapshot().revision()), (revision, revision));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JungleTransaction {
    jungle: Jungle,
    options: CommitOptions,
    base: JungleSnapshot,
    /// The newest revision that it has looked at.
    seen: Revision,
    /// In the order in which their heads are locked.
    drafts: BTreeMap<BranchId, Seen>,
    /// Of branches of other Jungles, whose ids may be the same as here.
    others: Vec<Seen>,
}

/// A branch that it has looked at.
struct Seen {
    branch: TreeHandle,
    /// What made the version that the draft began with.
    revision: Revision,
    /// The version that its draft began with.
    version: u64,
    draft: Draft,
}

impl Seen {
    fn new(branch: TreeHandle, base: Snapshot, options: &CommitOptions) -> Seen {
        let (revision, version) = (base.revision(), base.version());
        let draft = Draft::of_head(base.into_tree(), &branch.shared, options.clone());
        Seen { branch, revision, version, draft }
    }

    /// Is its draft, or the editor of that, another one than it began with? That would never be of
    /// what is newest, however often it was tried.
    fn is_exchanged(&self) -> bool {
        self.draft.base().version() != self.version
    }
}

/// Of each branch, the nodes that got another key: from where it was seen to where it is.
type Renamed = BTreeMap<BranchId, Vec<(Path, Path)>>;

/// What a commit of several trees came to.
///
/// ```
/// use jungle_db::{CommitOptions, Jungle};
/// let jungle = Jungle::new()?;
/// let (a, b) = (jungle.create_tree("a")?, jungle.create_tree("b")?);
/// let both = jungle.update(&CommitOptions::default(), |tx| {
///     Ok::<_, jungle_tree::EditError>((tx.on(&a).append(&[])?, tx.on(&b).append(&[])?))
/// })?;
/// assert_eq!((both.value, both.runs), ((0.into(), 0.into()), 1));
/// assert_eq!(a.snapshot().revision(), both.revision);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedTrees<T> {
    /// What the closure gave.
    pub value: T,
    /// The revision that was made; when nothing was changed, the newest that was looked at.
    pub revision: Revision,
    /// The nodes that got another key since others appended in the same place: by
    /// [branch](TreeHandle::branch_id), from where the transaction saw it to where it is. A branch
    /// where there are none is not in it.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// let (a, b) = (jungle.create_tree("a")?, jungle.create_tree("b")?);
    /// let mut tx = jungle.begin(CommitOptions::default());
    /// tx.on(&a).append(&[])?;
    /// tx.on(&b).append(&[])?;
    /// b.update(|theirs| theirs.append(&[]))?;
    /// let renamed = tx.commit()?.renamed;
    /// assert_eq!(renamed[&b.branch_id()], [([0].into(), [1].into())]);
    /// assert!(!renamed.contains_key(&a.branch_id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub renamed: BTreeMap<BranchId, Vec<(Path, Path)>>,
    /// How often the closure ran.
    pub runs: u32,
}

/// Why the edits of several trees are not done, for closures that say so with `?`: see
/// [`Jungle::update`].
///
/// ```
/// use jungle_db::{CommitOptions, EditTreesError, Jungle, UpdateError};
/// let jungle = Jungle::new()?;
/// let refused = jungle.update(&CommitOptions::default(), |tx| {
///     tx.tree("board")?.append(&[])?;
///     Ok::<_, EditTreesError>(())
/// });
/// assert!(matches!(refused, Err(UpdateError::Closure(EditTreesError::NoSuchTree(_)))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditTreesError {
    /// One of the trees is not there.
    #[error(transparent)]
    NoSuchTree(#[from] NoSuchTree),
    /// An edit cannot be done.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl From<NoSuchNode> for EditTreesError {
    fn from(error: NoSuchNode) -> EditTreesError {
        EditTreesError::Edit(error.into())
    }
}

impl Jungle {
    /// Begins a transaction that may span trees, at one revision of all of them. Costs a pin a
    /// tree; for one tree there is [`TreeHandle::begin`].
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// ["a", "b"].iter().try_for_each(|name| jungle.create_tree(name).map(drop))?;
    /// let mut tx = jungle.begin(CommitOptions::default());
    /// for name in ["a", "b"] {
    ///     tx.tree(name)?.append(&[])?;
    /// }
    /// tx.commit()?;
    /// assert_eq!(jungle.open_tree("b")?.read().root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn begin(&self, options: CommitOptions) -> JungleTransaction {
        let base = self.snapshot();
        let seen = base.revision();
        let (jungle, drafts, others) = (self.clone(), BTreeMap::new(), Vec::new());
        JungleTransaction { jungle, options, base, seen, drafts, others }
    }

    /// Edits several trees in one atomic step: as [`TreeHandle::update`]. One that keeps losing
    /// gets its turn at all trees that it has looked at.
    ///
    /// # Errors
    /// What the closure says, or that nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, CommitOptions, EditTreesError, Jungle};
    /// let jungle = Jungle::new()?;
    /// let (inbox, done) = (jungle.create_tree("inbox")?, jungle.create_tree("done")?);
    /// inbox.update(|tx| tx.insert_child(&[], &"task".into()))?;
    /// let options = CommitOptions::from(&CommitMeta::new().author("ana"));
    /// jungle.update(&options, |tx| {
    ///     tx.tree("inbox")?.remove(&["task".into()])?;
    ///     tx.tree("done")?.insert_child(&[], &"task".into())?;
    ///     Ok::<_, EditTreesError>(())
    /// })?;
    /// assert_eq!((inbox.read().root().child_count(), done.read().root().child_count()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<T, E>(
        &self,
        options: &CommitOptions,
        mut f: impl FnMut(&mut JungleTransaction) -> Result<T, E>,
    ) -> Result<CommittedTrees<T>, UpdateError<E>> {
        let (mut runs, mut overlaps) = (0, 0);
        // Those at which it has its turn.
        let mut own: BTreeMap<BranchId, TreeHandle> = BTreeMap::new();
        loop {
            let turn = (!own.is_empty()).then(|| Turn::take(heads(&own)));
            let missed = loop {
                runs += 1;
                let mut tx = self.begin(options.clone());
                let value = f(&mut tx).map_err(UpdateError::Closure)?;
                let concerned = tx.concerned();
                // Not before it is known which trees it is about.
                let entered = if turn.is_none() { Turn::enter(heads(&concerned)) } else { None };
                match tx.publish() {
                    Ok(done) => {
                        // Those who wait for their turn share the sync that is waited for now.
                        drop((entered, turn));
                        let acknowledged = done.acknowledge(&self.shared);
                        let (revision, renamed) = acknowledged.map_err(UpdateError::NotWritten)?;
                        return Ok(CommittedTrees { value, revision, renamed, runs });
                    }
                    Err(Failure::NotWritten(error)) => return Err(UpdateError::NotWritten(error)),
                    Err(Failure::Overlap(_)) => overlaps += 1,
                }
                drop(entered);
                let is_covered = concerned.keys().all(|id| own.contains_key(id));
                if turn::is_due(overlaps) && !is_covered {
                    break concerned;
                }
            };
            drop(turn);
            own.extend(missed);
        }
    }
}

/// In the order of their ids.
fn heads(trees: &BTreeMap<BranchId, TreeHandle>) -> impl Iterator<Item = &Head> + Clone {
    trees.values().map(|tree| &*tree.head)
}

/// What was published, and is not acknowledged yet.
struct Published {
    revision: Revision,
    renamed: Renamed,
    durability: Option<Durability>,
    /// Was there nothing to do?
    is_bare: bool,
}

impl Published {
    fn acknowledge(self, shared: &Shared) -> Result<(Revision, Renamed), NotWritten> {
        match self.is_bare {
            true => shared.rely_on(self.revision, self.durability)?,
            false => shared.acknowledge(self.revision, self.durability)?,
        }
        Ok((self.revision, self.renamed))
    }
}

impl JungleTransaction {
    /// The revision it began with.
    #[must_use]
    pub fn began_at(&self) -> Revision {
        self.base.revision()
    }

    /// The main branch of a tree, to be read and edited.
    ///
    /// # Errors
    /// When there was no tree of this name as the transaction began.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// jungle.create_tree("a")?;
    /// let mut tx = jungle.begin(CommitOptions::default());
    /// assert!(tx.tree("a")?.get(&[])?.children().next().is_none());
    /// assert!(tx.tree("b").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tree(&mut self, name: &str) -> Result<&mut Draft, NoSuchTree> {
        let (state, snapshot) = self.base.trees.get(name).ok_or_else(|| no_such_tree(name))?;
        let seen = self.drafts.entry(state.main.id).or_insert_with(|| {
            let branch = TreeHandle::main(&self.jungle.shared, state);
            Seen::new(branch, snapshot.clone(), &self.options)
        });
        Ok(&mut seen.draft)
    }

    /// Any branch, as it was when the transaction began, to be read and edited. Of one that was
    /// made since, or does not keep that version any more, it is the newest one; whether all of
    /// what was read was there at once is looked at by [`commit`](JungleTransaction::commit) then,
    /// as far as [`Isolation::Serializable`](crate::Isolation) notes what is read. A branch of
    /// another Jungle can be looked at, and [nothing](NotWritten::OtherJungle) is committed then.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// let board = jungle.create_tree("board")?;
    /// let side = board.branch("side", board.snapshot().revision())?;
    /// let mut tx = jungle.begin(CommitOptions::default());
    /// tx.on(&side).put_attribute(&[], "n", 1)?;
    /// tx.commit()?;
    /// assert!(side.read().root().has_attributes() && !board.read().root().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on(&mut self, branch: &TreeHandle) -> &mut Draft {
        &mut self.look(branch).draft
    }

    /// The newest revision of a branch in the version that [`on`](JungleTransaction::on) gives. Who
    /// expects a certain one compares it with this, and reads the [root](Draft::root): then nothing
    /// is committed on top of another one.
    ///
    /// ```
    /// use jungle_db::{CommitError, CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// let (stock, orders) = (jungle.create_tree("stock")?, jungle.create_tree("orders")?);
    /// let expected = stock.snapshot().revision();
    /// let mut tx = jungle.begin(CommitOptions::default());
    /// assert_eq!(tx.revision_of(&stock), expected);
    /// let _ = tx.on(&stock).root();
    /// tx.on(&orders).append(&[])?;
    /// stock.update(|theirs| theirs.append(&[]))?;
    /// assert_eq!(tx.revision_of(&stock), expected);
    /// assert!(matches!(tx.commit(), Err(CommitError::Conflict(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revision_of(&mut self, branch: &TreeHandle) -> Revision {
        self.look(branch).revision
    }

    fn look(&mut self, branch: &TreeHandle) -> &mut Seen {
        if !Arc::ptr_eq(&branch.shared, &self.jungle.shared) {
            return self.look_elsewhere(branch);
        }
        self.drafts.entry(branch.branch_id()).or_insert_with(|| {
            let base = self.base.on(branch);
            self.seen = self.seen.max(base.revision());
            Seen::new(branch.clone(), base, &self.options)
        })
    }

    /// Looks at another Jungle's branch, whose draft is never committed.
    fn look_elsewhere(&mut self, branch: &TreeHandle) -> &mut Seen {
        let is_it = |other: &Seen| Arc::ptr_eq(&other.branch.head, &branch.head);
        let at = self.others.iter().position(is_it).unwrap_or_else(|| {
            self.others.push(Seen::new(branch.clone(), branch.snapshot(), &self.options));
            self.others.len() - 1
        });
        &mut self.others[at]
    }

    /// Makes its edits one commit, on top of what others committed since it began. What was only
    /// read is checked, too.
    ///
    /// # Errors
    /// When others changed what it changed or read, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CommitError, CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// let (stock, orders) = (jungle.create_tree("stock")?, jungle.create_tree("orders")?);
    /// let mut tx = jungle.begin(CommitOptions::default());
    /// assert!(tx.on(&stock).attribute(&[], "sold_out")?.is_none());
    /// tx.on(&orders).append(&[])?;
    /// stock.update(|theirs| theirs.put_attribute(&[], "sold_out", true))?;
    /// assert!(matches!(tx.commit(), Err(CommitError::Conflict(_))));
    /// assert_eq!(orders.read().root().child_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<CommittedTrees<()>, CommitError> {
        let shared = Arc::clone(&self.jungle.shared);
        let published = self.publish().map_err(|failure| match failure {
            Failure::NotWritten(error) => error.into(),
            Failure::Overlap(overlap) => CommitError::Conflict(Conflicts::new(vec![overlap])),
        })?;
        let (revision, renamed) = published.acknowledge(&shared)?;
        Ok(CommittedTrees { value: (), revision, renamed, runs: 1 })
    }

    /// The branches that it has looked at.
    fn concerned(&self) -> BTreeMap<BranchId, TreeHandle> {
        self.drafts.iter().map(|(id, seen)| (*id, seen.branch.clone())).collect()
    }

    fn publish(self) -> Result<Published, Failure> {
        if !self.others.is_empty() || self.drafts.values().any(Seen::is_exchanged) {
            return Err(NotWritten::OtherJungle.into());
        }
        let (seen, began_at) = (self.seen, self.base.revision());
        let is_bare = !self.drafts.values().any(|seen| seen.draft.is_to_commit());
        let said = self.drafts.values().filter_map(|seen| seen.draft.said_durability()).max();
        let all = self.drafts.into_values().map(|seen| (seen.branch, seen.draft));
        let (handles, drafts): (Vec<_>, Vec<_>) = all.unzip();
        let mut options = self.options;
        let mut attempts = Vec::with_capacity(drafts.len());
        for (handle, draft) in handles.iter().zip(drafts) {
            let (attempt, described) = Attempt::of_draft(handle, draft);
            if described.meta != options.meta {
                options.meta = described.meta;
            }
            attempts.push(attempt);
        }
        // As with one tree: what is said to a draft goes before the options.
        let durability = said.or(options.durability);
        if is_bare {
            // What is all of one revision was there at once.
            if seen > began_at && attempts.len() > 1 {
                check_reads(&self.jungle.shared, &attempts)?;
            }
            return Ok(Published { revision: seen, renamed: Renamed::new(), durability, is_bare });
        }
        let revision = rebase_and_publish(&self.jungle.shared, &mut attempts, &options.meta)?;
        let renamed =
            attempts.into_iter().map(|attempt| (attempt.branch(), attempt.into_renamed()));
        let renamed = renamed.filter(|(_, renamed)| !renamed.is_empty()).collect();
        // Where nothing was changed, all of its trees may be older than what it began with.
        let revision = revision.max(seen);
        Ok(Published { revision, renamed, durability, is_bare })
    }

    /// Forgets its edits, as dropping it does.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let jungle = Jungle::new()?;
    /// let board = jungle.create_tree("board")?;
    /// let mut tx = jungle.begin(CommitOptions::default());
    /// tx.on(&board).append(&[])?;
    /// assert_eq!(tx.began_at(), jungle.revision());
    /// tx.abort();
    /// assert_eq!(board.read().root().child_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(self) {
        drop(self);
    }
}

impl fmt::Debug for JungleTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JungleTransaction")
            .field("began_at", &self.began_at())
            .field("trees", &self.drafts.len())
            .finish_non_exhaustive()
    }
}
