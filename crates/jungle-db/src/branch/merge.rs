//! Merging one branch of a tree into another.

use std::fmt;
use std::sync::Arc;

use jungle_tree::{
    ApplyError, ChangeSet, Conflict, Editor, MergeBase, MergeError, MergeOptions, Merged, Path,
    Renumbering, TooManySteps, apply, diff, merge_again, skip_positions,
};

use crate::branch::NoSuchBranch;
use crate::branch::origin::Merges;
use crate::branch::other_keys::RENUMBERED_MAX;
use crate::commit::transaction::{CommitError, Conflicts};
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure, MergedBranch, MergedKeys, version_of};
use crate::handle::{Committed, TreeHandle, UpdateError, committed};
use crate::head::Head;
use crate::revision::{CommitMeta, Revision};
use crate::snapshot::Snapshot;

/// Why two branches were not merged.
///
/// ```
/// use jungle_db::{Jungle, MergeBranchError};
/// use jungle_tree::MergeOptions;
/// let main = Jungle::new()?.create_tree("board")?;
/// let merged = |from| main.merge(from, &MergeOptions::new());
/// assert!(matches!(merged("main"), Err(MergeBranchError::Itself)));
/// assert!(matches!(merged("draft"), Err(MergeBranchError::NoSuchBranch(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeBranchError {
    /// There is no branch of this name.
    #[error(transparent)]
    NoSuchBranch(#[from] NoSuchBranch),
    /// It is the same branch.
    #[error("a branch cannot be merged into itself")]
    Itself,
    /// So many nodes have other keys on the one branch than on the other that they cannot be told
    /// from each other any more: a new branch begins without.
    #[error(
        "more than {RENUMBERED_MAX} nodes have other keys here than on {from:?}, or fewer with \
         long paths"
    )]
    Renumbered {
        /// The branch that was to be merged.
        from: Box<str>,
    },
    /// There is no room for the result.
    #[error(transparent)]
    NoRoom(ApplyError),
    /// It takes more steps than [it may](MergeOptions::steps_max).
    #[error(transparent)]
    TooManySteps(TooManySteps),
}

impl From<MergeError> for MergeBranchError {
    fn from(error: MergeError) -> MergeBranchError {
        match error {
            MergeError::NotApplied(error) => MergeBranchError::NoRoom(error),
            MergeError::TooManySteps(error) => MergeBranchError::TooManySteps(error),
        }
    }
}

impl TreeHandle {
    /// Prepares the merge of another branch of this tree into this one. Nothing has happened until
    /// it is committed, so this is the preview, too.
    ///
    /// A node that gets [another key](Merge::renamed) is one node all the same: what either branch
    /// does to it later, the next merge does to it, whichever of the two is merged into the other,
    /// and it keeps the key that it has on either.
    ///
    /// # Errors
    /// When there is no such branch, it is this one, there is no room for the result, it takes more
    /// steps than `options` allow, or there are more than [`RENUMBERED_MAX`] nodes with other keys
    /// on the one branch than on the other.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// use jungle_tree::MergeOptions;
    /// let main = Jungle::new()?.create_tree("board")?;
    /// let draft = main.branch("draft", main.snapshot().revision())?;
    /// draft.update(|tx| tx.append(&[]))?;
    /// let preview = main.merge("draft", &MergeOptions::new())?;
    /// assert_eq!(preview.changes().to_string(), "+ /0\n");
    /// preview.commit(&CommitMeta::new().message("take the draft over"))?;
    /// assert_eq!(main.read().root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # A node with another key
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// use jungle_tree::MergeOptions;
    /// let main = Jungle::new()?.create_tree("board")?;
    /// let draft = main.branch("draft", main.snapshot().revision())?;
    /// draft.update(|tx| tx.append(&[]))?;
    /// main.update(|tx| tx.append(&[]))?;
    /// main.merge("draft", &MergeOptions::new())?.commit(&CommitMeta::new())?;
    /// // What is /0 on the draft is /1 here.
    /// draft.update(|tx| tx.put_attribute(&[0.into()], "title", "news"))?;
    /// let merge = main.merge("draft", &MergeOptions::new())?;
    /// assert_eq!(merge.changes().to_string(), "~ /1 @title = \"news\"\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(&self, from: &str, options: &MergeOptions) -> Result<Merge, MergeBranchError> {
        let name = from;
        let from = self.on_branch(name)?.head;
        let no_base = MergeBranchError::Itself;
        if from.id == self.head.id {
            return Err(no_base);
        }
        // First, so that what is merged meanwhile is seen as it is committed.
        let found = self.state.merges.base(&from, &self.head).ok_or(no_base)?;
        if found.is_renumbered_too_much() {
            return Err(MergeBranchError::Renumbered { from: name.into() });
        }
        let base = found.seen_from(from.id).map_err(MergeBranchError::NoRoom)?;
        let (ours, theirs) = (from.snapshot(), self.head.snapshot());
        let merged = merge_again(&base, &ours, &theirs, options)?;
        let has_other_keys = !base.ours().is_same(base.theirs());
        let merging = ours.clone();
        let ours = match has_other_keys && !merged.conflicts.is_empty() {
            true => with_their_keys(&merging, &merged).map_err(MergeBranchError::NoRoom)?,
            false => ours,
        };
        let common = Snapshot::new(base.theirs().clone(), found.revision());
        let after = found.merged;
        let (handle, other) = (self.clone(), Some(Other { from, base, after, version: merging }));
        Ok(Merge { handle, other, common, ours, theirs, merged })
    }
}

/// Ours as conflicts tell of it: with the keys that nodes have in the result.
fn with_their_keys(ours: &Snapshot, merged: &Merged) -> Result<Snapshot, ApplyError> {
    let base = MergeBase::of_ours(ours, &merged.renumbering.then(&[]))?;
    Ok(Snapshot::new(base.theirs().clone(), ours.revision()))
}

/// A merge that is prepared: see [`TreeHandle::merge`]. "Ours" is what is merged, "theirs" what it
/// is merged into. So is a [revert](TreeHandle::prepare_revert): it merges what was there before a
/// revision into what is there now, and what that revision made of it is the base of both.
///
/// ```
/// use jungle_db::{CommitMeta, Jungle};
/// use jungle_tree::MergeOptions;
/// let main = Jungle::new()?.create_tree("board")?;
/// let draft = main.branch("draft", main.snapshot().revision())?;
/// draft.update(|tx| tx.append(&[]))?;
/// main.update(|tx| tx.append(&[]))?;
///
/// let merge = main.merge("draft", &MergeOptions::new())?;
/// let counts = [merge.base(), merge.ours(), merge.theirs()].map(|of| of.root().child_count());
/// assert_eq!(counts, [0, 1, 1]);
/// assert_eq!(merge.changes().to_string(), "+ /1\n");
/// assert_eq!(merge.renamed(), [([0].into(), [1].into())]);
/// assert!(merge.conflicts().is_empty());
/// merge.commit(&CommitMeta::new())?;
/// assert_eq!(main.read().root().child_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Merge {
    handle: TreeHandle,
    /// Of a revert there is none.
    other: Option<Other>,
    /// The base as the branch that is merged into numbers it.
    common: Snapshot,
    /// The version that is merged, with the keys by which conflicts tell of it.
    ours: Snapshot,
    theirs: Snapshot,
    merged: Merged,
}

/// Another branch that is merged.
struct Other {
    from: Arc<Head>,
    base: MergeBase,
    /// The revision of the base, if one branch was merged into the other then.
    after: Option<Revision>,
    /// The version that is merged, as its branch numbers it.
    version: Snapshot,
}

impl Merge {
    /// What takes back what a revision did.
    pub(crate) fn of_revert(
        handle: TreeHandle,
        [before, after]: [Snapshot; 2],
        now: Snapshot,
        merged: Merged,
    ) -> Merge {
        Merge { handle, other: None, common: after, ours: before, theirs: now, merged }
    }

    /// Where the two sides contradict each other; resolved as the options said.
    #[must_use]
    pub fn conflicts(&self) -> &[Conflict] {
        &self.merged.conflicts
    }

    /// What it will do to the branch it is merged into. At the end there may be children that come
    /// and go: so that branch gives no position that the other one has given and taken away.
    #[must_use]
    pub fn changes(&self) -> &ChangeSet {
        &self.merged.changes
    }

    /// The nodes that get another key.
    #[must_use]
    pub fn renamed(&self) -> &[(Path, Path)] {
        &self.merged.renamed
    }

    /// The version in which both sides began. Where nodes have other keys on the one than on the
    /// other, they have those of the branch that is merged into.
    #[must_use]
    pub fn base(&self) -> &Snapshot {
        &self.common
    }

    /// The version that is merged. Where nodes have other keys on the one branch than on the other,
    /// and there are [conflicts](Merge::conflicts), they have those of the branch that is merged
    /// into, as the conflicts tell them.
    #[must_use]
    pub fn ours(&self) -> &Snapshot {
        &self.ours
    }

    /// The version it is merged into.
    #[must_use]
    pub fn theirs(&self) -> &Snapshot {
        &self.theirs
    }

    /// Edits the result before it is committed: this is how single conflicts are resolved
    /// otherwise than the options said.
    ///
    /// # Errors
    /// What `f` says, that there is no room, or that it has put
    /// [another editor](NotWritten::OtherJungle) in the place of this. Nothing has happened then.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// use jungle_tree::MergeOptions;
    /// let main = Jungle::new()?.create_tree("board")?;
    /// let draft = main.branch("draft", main.snapshot().revision())?;
    /// draft.update(|tx| tx.put_attribute(&[], "title", "ours"))?;
    /// main.update(|tx| tx.put_attribute(&[], "title", "theirs"))?;
    /// let merge = main.merge("draft", &MergeOptions::new())?;
    /// assert_eq!(merge.conflicts().len(), 1);
    /// let merge = merge.edit(|editor| editor.put_attribute(&[], "title", "both"))?;
    /// merge.commit(&CommitMeta::new())?;
    /// assert_eq!(main.read().root().attribute("title").unwrap().as_text(), Some("both"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit<E>(
        mut self,
        f: impl FnOnce(&mut Editor) -> Result<(), E>,
    ) -> Result<Merge, UpdateError<E>> {
        let base = self.merged.editor.base().clone();
        f(&mut self.merged.editor).map_err(UpdateError::Closure)?;
        if !self.merged.editor.base().is_same(&base) {
            return Err(UpdateError::NotWritten(NotWritten::OtherJungle));
        }
        // The editor becomes a version of another line: it is made again.
        let edited = version_of(self.merged.editor);
        self.merged.changes = diff(&base, &edited);
        self.merged.editor = Editor::new(base.clone());
        let done = apply(&mut self.merged.editor, &self.merged.changes);
        let skipped = done.and_then(|()| skip_positions(&mut self.merged.editor, &base, &edited));
        let no_room = |error| UpdateError::NotWritten(NotWritten::NoRoom(error));
        self.merged.changes.extend(skipped.map_err(no_room)?);
        Ok(self)
    }

    /// Does it, with the conflicts resolved as the options said. What was committed meanwhile is
    /// built upon.
    ///
    /// That both have from now on what ours was is a commit even where nothing of ours is left:
    /// wherever the log is read, the next merge begins from there, and does not find again what
    /// was merged, or settled, before.
    ///
    /// # Errors
    /// When what was committed meanwhile contradicts it, one of the branches was merged into the
    /// other meanwhile, or the branch keeps so little of its history that what was merged is not
    /// there any more (merge anew then); or nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CommitError, CommitMeta, Jungle};
    /// use jungle_tree::MergeOptions;
    /// let main = Jungle::new()?.create_tree("board")?;
    /// let draft = main.branch("draft", main.snapshot().revision())?;
    /// draft.update(|tx| tx.put_attribute(&[], "title", "ours"))?;
    /// let merge = main.merge("draft", &MergeOptions::new())?;
    /// main.update(|tx| tx.put_attribute(&[], "title", "theirs"))?;
    /// let refused = merge.commit(&CommitMeta::new());
    /// assert!(matches!(refused, Err(CommitError::Conflict(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self, meta: &CommitMeta) -> Result<Committed<()>, CommitError> {
        self.commit_over(meta, |attempt| attempt)
    }

    /// As [`commit`](Merge::commit), but only on top of the [version](Merge::theirs) that it was
    /// worked out for.
    ///
    /// # Errors
    /// When anything was committed meanwhile, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CommitError, CommitMeta, Jungle};
    /// use jungle_tree::MergeOptions;
    /// let main = Jungle::new()?.create_tree("board")?;
    /// let draft = main.branch("draft", main.snapshot().revision())?;
    /// draft.update(|tx| tx.append(&[]))?;
    /// let merge = main.merge("draft", &MergeOptions::new())?;
    /// main.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// let refused = merge.compare_and_commit(&CommitMeta::new());
    /// assert!(matches!(refused, Err(CommitError::Conflict(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare_and_commit(self, meta: &CommitMeta) -> Result<Committed<()>, CommitError> {
        self.commit_over(meta, |attempt| attempt.of_whole_tree())
    }

    fn commit_over(
        self,
        meta: &CommitMeta,
        relying: impl FnOnce(Attempt<'_>) -> Attempt<'_>,
    ) -> Result<Committed<()>, CommitError> {
        let Merge { handle, other, theirs, merged, .. } = self;
        let Merged { editor, changes, conflicts, mut renamed, renumbering, .. } = merged;
        let is_noted = |other: &Other| !conflicts.is_empty() || other.has_more();
        if !editor.is_changed() && !other.as_ref().is_some_and(is_noted) {
            handle.shared.rely_on(theirs.revision(), None)?;
            return Ok(Committed { renamed, ..committed(theirs.revision()) });
        }
        let merges = &handle.state.merges;
        let attempt = Attempt::of_editor(&handle.head, editor).with_changes(changes);
        let attempt = match &other {
            Some(other) => attempt.even_unchanged().with_merged(other.merged(merges, renumbering)),
            None => attempt.where_positions_are_free(),
        };
        let _turn = other.is_some().then(|| merges.turn());
        let done = handle.commit_attempt(relying(attempt), &meta.into());
        let (revision, later) = done.map_err(|failure| match failure {
            Failure::NotWritten(error) => CommitError::NotWritten(error),
            Failure::Overlap(overlap) => CommitError::Conflict(Conflicts::new(vec![overlap])),
        })?;
        renamed.extend(later);
        Ok(Committed { renamed, ..committed(revision) })
    }
}

impl Other {
    /// Is anything on it that was not merged before? Else it makes no difference from which of the
    /// two versions the next merge begins.
    fn has_more(&self) -> bool {
        !diff(self.base.ours(), &self.version).is_empty()
    }

    fn merged<'h>(&'h self, merges: &'h Merges, renumbering: Renumbering) -> MergedBranch<'h> {
        MergedBranch {
            merges,
            from: &self.from,
            base: self.version.clone(),
            after: Some(self.after),
            keys: MergedKeys::WorkedOut(renumbering),
        }
    }
}

impl fmt::Debug for Merge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge")
            .field("changes", &self.changes().len())
            .field("conflicts", &self.conflicts().len())
            .finish_non_exhaustive()
    }
}
