//! Transactions over several trees.

use std::collections::BTreeMap;
use std::fmt;

use crate::commit::{Attempt, Failure, commit};
use crate::draft::Draft;
use crate::handle::{CommitOptions, Committed, TreeHandle, UpdateError};
use crate::journal::BranchId;
use crate::jungle::{Jungle, NoSuchTree, no_such_tree};
use crate::revision::Revision;
use crate::snapshot::JungleSnapshot;
use crate::transaction::{CommitError, Conflicts};

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
    /// In the order in which their heads are locked.
    drafts: BTreeMap<BranchId, (TreeHandle, Draft)>,
}

impl Jungle {
    /// Begins a transaction that may span trees, at one revision of all of them. Costs a pin a
    /// tree; for one tree there is [`TreeHandle::begin`].
    #[must_use]
    pub fn begin(&self, options: CommitOptions) -> JungleTransaction {
        JungleTransaction {
            base: self.snapshot(),
            jungle: self.clone(),
            options,
            drafts: BTreeMap::new(),
        }
    }

    /// Edits several trees in one atomic step: as [`TreeHandle::update`].
    ///
    /// # Errors
    /// What the closure says, or that nothing can be written.
    pub fn update<T, E>(
        &self,
        options: &CommitOptions,
        mut f: impl FnMut(&mut JungleTransaction) -> Result<T, E>,
    ) -> Result<Committed<T>, UpdateError<E>> {
        let mut runs = 0;
        loop {
            runs += 1;
            let mut tx = self.begin(options.clone());
            let value = f(&mut tx).map_err(UpdateError::Closure)?;
            match tx.commit() {
                Ok(done) => {
                    return Ok(Committed {
                        value,
                        revision: done.revision,
                        renamed: done.renamed,
                        runs,
                    });
                }
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::NotWritten(error)) => return Err(UpdateError::NotWritten(error)),
            }
        }
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
    pub fn tree(&mut self, name: &str) -> Result<&mut Draft, NoSuchTree> {
        let (state, snapshot) = self.base.trees.get(name).ok_or_else(|| no_such_tree(name))?;
        let (_, draft) = self.drafts.entry(state.main.id).or_insert_with(|| {
            let base = jungle_tree::Snapshot::clone(snapshot);
            let draft = Draft::new(base, self.options.clone());
            (TreeHandle::main(&self.jungle.shared, state), draft)
        });
        Ok(draft)
    }

    /// Any branch, at its newest version, to be read and edited; the first time, that is.
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
        let (_, draft) = self.drafts.entry(branch.branch_id()).or_insert_with(|| {
            let draft = Draft::new(branch.snapshot().into_tree(), self.options.clone());
            (branch.clone(), draft)
        });
        draft
    }

    /// Makes its edits one commit, on top of what others committed since it began. What was only
    /// read is checked, too.
    ///
    /// # Errors
    /// When others changed what it changed or read, or nothing can be written.
    pub fn commit(self) -> Result<Committed<()>, CommitError> {
        let began_at = self.base.revision();
        let done = |revision, renamed| Committed { value: (), revision, renamed, runs: 1 };
        if !self.drafts.values().any(|(_, draft)| draft.is_changed()) {
            return Ok(done(began_at, Vec::new()));
        }
        let drafts: Vec<(TreeHandle, Draft)> = self.drafts.into_values().collect();
        let mut options = self.options;
        let mut attempts = Vec::with_capacity(drafts.len());
        let (handles, drafts): (Vec<_>, Vec<_>) = drafts.into_iter().unzip();
        for (handle, draft) in handles.iter().zip(drafts) {
            let (attempt, described) = Attempt::of_draft(&handle.head, draft);
            if described.meta != options.meta {
                options.meta = described.meta;
            }
            options.durability = options.durability.max(described.durability);
            attempts.push(attempt);
        }
        match commit(&self.jungle.shared, &mut attempts, &options) {
            Ok(revision) => {
                let renamed = attempts.into_iter().flat_map(Attempt::into_renamed).collect();
                Ok(done(revision, renamed))
            }
            Err(Failure::NotWritten(error)) => Err(error.into()),
            Err(Failure::Overlap(overlap)) => {
                Err(CommitError::Conflict(Conflicts::new(vec![overlap])))
            }
        }
    }

    /// Forgets its edits, as dropping it does.
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
