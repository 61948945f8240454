//! Taking back what a revision did, or going back to one.

use jungle_tree::{
    Conflict, MergeError, MergeOptions, Merged, Path, TooManySteps, apply, diff, merge,
};

use super::set_root::{Replace, SetRootError};
use super::{Committed, TreeHandle, compare};
use crate::branch::merge::Merge;
use crate::commit::Overlap;
use crate::commit::draft::Draft;
use crate::commit::transaction::{CommitError, Conflicts};
use crate::commit::write::NotWritten;
use crate::history::past::NoSuchRevision;
use crate::revision::{CommitMeta, Revision};
use crate::snapshot::Snapshot;

/// Why a revision was not taken back.
///
/// ```
/// use jungle_db::{CommitOptions, Jungle, RevertError};
/// let tree = Jungle::new()?.create_tree("board")?;
/// let first = tree.update(|tx| tx.put_attribute(&[], "title", "one"))?;
/// tree.update(|tx| tx.put_attribute(&[], "title", "two"))?;
/// let reverted = tree.revert(first.revision, &Default::default());
/// assert!(matches!(reverted, Err(RevertError::Conflict(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevertError {
    /// The revision is not there.
    #[error(transparent)]
    NoSuchRevision(#[from] NoSuchRevision),
    /// What it did has been changed since.
    #[error("what the revision did has been changed since")]
    Conflict(Box<Conflicts>),
    /// It changed other branches, and not this one: what it did cannot be taken back here.
    #[error("revision {revision} is of another branch; the one before it of this branch is {own}")]
    OfAnother {
        /// The revision that was asked for.
        revision: Revision,
        /// The newest one of this branch up to then.
        own: Revision,
    },
    /// Another version was expected: see [`TreeHandle::compare_and_revert`].
    #[error("the newest revision is {newest}")]
    Changed {
        /// What is the newest one.
        newest: Revision,
    },
    /// It takes more steps to find what differs than [it may](TreeHandle::steps_max).
    #[error(transparent)]
    TooManySteps(#[from] TooManySteps),
    /// It could not be written, or there is no room to work it out.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

impl TreeHandle {
    /// Makes the tree what it was at a revision, as a new commit; what came between stays in the
    /// history.
    ///
    /// # Errors
    /// When the revision is not there, nothing can be written, or it takes too many
    /// [steps](TreeHandle::steps_max).
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let good = tree.update(|tx| tx.put_attribute(&[], "title", "good"))?;
    /// let bad = tree.update(|tx| tx.put_attribute(&[], "title", "bad"))?;
    /// tree.restore(good.revision, &CommitMeta::new().message("as it was"))?;
    /// assert_eq!(tree.read().root().attribute("title").unwrap().as_text(), Some("good"));
    /// assert_eq!(tree.at(bad.revision)?.root().attribute("title"), Some("bad".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(
        &self,
        revision: Revision,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, RevertError> {
        self.restore_over(None, revision, meta)
    }

    /// As [`restore`](TreeHandle::restore), if `expected` is the newest version now.
    ///
    /// # Errors
    /// As there, and when it is not.
    pub fn compare_and_restore(
        &self,
        expected: &jungle_tree::Snapshot,
        revision: Revision,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, RevertError> {
        self.restore_over(Some(expected), revision, meta)
    }

    fn restore_over(
        &self,
        expected: Option<&jungle_tree::Snapshot>,
        revision: Revision,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, RevertError> {
        let old = self.at(revision)?;
        let mut steps = self.steps();
        let done = self.replace_root(expected, old.root(), meta, Replace::ByChanges, &mut steps);
        done.map_err(|error| match error {
            SetRootError::NotWritten(error) => RevertError::NotWritten(error),
            SetRootError::Edit(error) => NotWritten::NoRoom(error.into()).into(),
            SetRootError::Changed { newest } => RevertError::Changed { newest },
            SetRootError::TooManySteps(error) => RevertError::TooManySteps(error),
        })
    }

    /// Takes back what one revision did, as a new commit; what came after it stays.
    ///
    /// # Errors
    /// When the revision or the one before is not there, when it is of another branch, when what it
    /// did has been changed since, nothing can be written, or it takes too many
    /// [steps](TreeHandle::steps_max). What has been changed since can be settled in a
    /// [prepared](TreeHandle::prepare_revert) one.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle, RevertError};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let title = tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// let colour = tree.update(|tx| tx.put_attribute(&[], "colour", "red"))?;
    /// tree.revert(title.revision, &CommitMeta::new())?;
    /// assert_eq!(tree.read().root().attributes().count(), 1);
    ///
    /// tree.update(|tx| tx.put_attribute(&[], "colour", "blue"))?;
    /// let refused = tree.revert(colour.revision, &CommitMeta::new());
    /// assert!(matches!(refused, Err(RevertError::Conflict(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revert(
        &self,
        revision: Revision,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, RevertError> {
        self.revert_over(None, revision, meta)
    }

    /// As [`revert`](TreeHandle::revert), if `expected` is the newest version now.
    ///
    /// # Errors
    /// As there, and when it is not.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle, RevertError};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let title = tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// let seen = tree.snapshot();
    /// tree.update(|tx| tx.append(&[]))?;
    /// let refused = tree.compare_and_revert(&seen, title.revision, &CommitMeta::new());
    /// assert!(matches!(refused, Err(RevertError::Changed { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare_and_revert(
        &self,
        expected: &jungle_tree::Snapshot,
        revision: Revision,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, RevertError> {
        self.revert_over(Some(expected), revision, meta)
    }

    fn revert_over(
        &self,
        expected: Option<&jungle_tree::Snapshot>,
        revision: Revision,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, RevertError> {
        let step = self.made_of(revision)?;
        let now = self.head.snapshot();
        if expected.is_some_and(|expected| !expected.is_same(&now)) {
            return Err(RevertError::Changed { newest: now.revision() });
        }
        let merged = self.freely_taken_back(&step, &now)?;
        let merge = Merge::of_revert(self.clone(), step, now, merged);
        let done = match expected {
            Some(_) => merge.compare_and_commit(meta),
            None => merge.commit(meta),
        };
        done.map_err(|error| match error {
            CommitError::NotWritten(error) => error.into(),
            CommitError::Conflict(_) if expected.is_some() => {
                RevertError::Changed { newest: self.head.snapshot().revision() }
            }
            CommitError::Conflict(why) => RevertError::Conflict(why),
        })
    }

    /// Prepares what [`revert`](TreeHandle::revert) does, so that what has been changed since can
    /// be looked at and settled, as the conflicts of a [merge](TreeHandle::merge) are. Nothing has
    /// happened until it is committed.
    ///
    /// Ours, which is merged, is what was there before the revision; theirs is what is there now.
    /// It tells nobody that it [compares](TreeHandle::tell_comparing), and counts no steps but
    /// those of `options`.
    ///
    /// # Errors
    /// When the revision or the one before is not there, when it is of another branch, when
    /// something that it removed is back already, which nothing settles, when there is no room for
    /// the result, or it takes more steps than `options` allow.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// use jungle_tree::{MergeOptions, Resolution};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "one"))?;
    /// let second = tree.update(|tx| {
    ///     tx.put_attribute(&[], "title", "two")?;
    ///     tx.put_attribute(&[], "colour", "red")
    /// })?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "three"))?;
    ///
    /// // What is there now stays where it is another than the revision left.
    /// let options = MergeOptions::new().resolution(Resolution::Theirs);
    /// let revert = tree.prepare_revert(second.revision, &options)?;
    /// assert_eq!(revert.conflicts().len(), 1);
    /// assert_eq!(revert.changes().to_string(), "~ / @colour removed\n");
    /// let revert = revert.edit(|editor| editor.put_attribute(&[], "title", "four"))?;
    /// revert.commit(&CommitMeta::new())?;
    /// assert_eq!(tree.read().root().attribute("title"), Some("four".into()));
    /// assert_eq!(tree.read().root().attributes().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare_revert(
        &self,
        revision: Revision,
        options: &MergeOptions,
    ) -> Result<Merge, RevertError> {
        let (step, now) = (self.made_of(revision)?, self.head.snapshot());
        let merged = self.taken_back(&step, &now, options)?;
        Ok(Merge::of_revert(self.clone(), step, now, merged))
    }

    /// As [`revert`](TreeHandle::revert), in a draft, for whoever keeps its changes elsewhere: on
    /// top of the version that it began with. Gives what comes back under another key, as
    /// [`Committed::renamed`].
    ///
    /// # Errors
    /// As there; the draft is as it was then, unless there is no room.
    ///
    /// # Panics
    /// When the draft has been edited before.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Draft, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let title = tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// let mut draft = Draft::signed(&tree.snapshot(), CommitOptions::default(), 1, 7);
    /// tree.revert_in(&mut draft, title.revision)?;
    /// let mut line = jungle_tree::Tree::from_snapshot(&tree.snapshot());
    /// let (changes, _) = draft.into_changes(&mut line);
    /// assert_eq!(changes.len(), 1);
    /// assert!(!line.snapshot().root().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revert_in(
        &self,
        draft: &mut Draft,
        revision: Revision,
    ) -> Result<Vec<(Path, Path)>, RevertError> {
        assert!(!draft.is_changed(), "what was edited before would not be looked at");
        let merged = self.freely_taken_back(&self.made_of(revision)?, draft.base())?;
        let applied = draft.bulk(|editor| apply(editor, &merged.changes));
        applied.map_err(NotWritten::NoRoom)?;
        Ok(merged.renamed)
    }

    /// As [`restore`](TreeHandle::restore), in a draft, for whoever keeps its changes elsewhere.
    ///
    /// # Errors
    /// As there; the draft is as it was then, unless there is no room.
    ///
    /// # Panics
    /// When the draft has been edited before.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Draft, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let good = tree.update(|tx| tx.put_attribute(&[], "title", "good"))?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "bad"))?;
    /// let mut draft = Draft::signed(&tree.snapshot(), CommitOptions::default(), 1, 7);
    /// tree.restore_in(&mut draft, good.revision)?;
    /// let mut line = jungle_tree::Tree::from_snapshot(&tree.snapshot());
    /// assert_eq!(draft.into_changes(&mut line).0.to_string(), "~ / @title = \"good\"\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore_in(&self, draft: &mut Draft, revision: Revision) -> Result<(), RevertError> {
        assert!(!draft.is_changed(), "what was edited before would not be looked at");
        let old = self.at(revision)?;
        let comparing = self.comparing();
        let changes = compare(draft.base(), &old, self.steps().as_mut())?;
        drop(comparing);
        let applied = draft.bulk(|editor| apply(editor, &changes));
        Ok(applied.map_err(NotWritten::NoRoom)?)
    }

    /// What a revision of this branch was made of, and it.
    fn made_of(&self, revision: Revision) -> Result<[Snapshot; 2], RevertError> {
        let after = self.at(revision)?;
        let own = after.revision();
        if own != revision {
            return Err(RevertError::OfAnother { revision, own });
        }
        let before = self.at(Revision::new(own.number().saturating_sub(1)))?;
        Ok([before, after])
    }

    /// A version without what a revision did, if nothing is in the way of that.
    fn freely_taken_back(
        &self,
        step: &[Snapshot; 2],
        now: &jungle_tree::Snapshot,
    ) -> Result<Merged, RevertError> {
        let _comparing = self.comparing();
        let options = MergeOptions::new();
        let options = match self.steps_max {
            Some(steps_max) => options.steps_max(steps_max),
            None => options,
        };
        let merged = self.taken_back(step, now, &options)?;
        match merged.conflicts.is_empty() {
            true => Ok(merged),
            false => Err(self.in_the_way(step, None, merged.conflicts)),
        }
    }

    /// The same with its conflicts, if nothing is back already.
    fn taken_back(
        &self,
        step: &[Snapshot; 2],
        now: &jungle_tree::Snapshot,
        options: &MergeOptions,
    ) -> Result<Merged, RevertError> {
        let [before, after] = step;
        let merged = merge(after, before, now, options).map_err(|error| match error {
            MergeError::NotApplied(error) => RevertError::NotWritten(NotWritten::NoRoom(error)),
            MergeError::TooManySteps(error) => RevertError::TooManySteps(error),
        })?;
        match taken(now, &merged.renamed) {
            None => Ok(merged),
            taken => Err(self.in_the_way(step, taken, merged.conflicts)),
        }
    }

    fn in_the_way(
        &self,
        [before, after]: &[Snapshot; 2],
        read: Option<Path>,
        conflicts: Vec<Conflict>,
    ) -> RevertError {
        // As much as was counted before.
        let changes = diff(after, before);
        let overlap = Overlap { branch: self.head.id, read, conflicts, changes };
        RevertError::Conflict(Conflicts::new(vec![overlap]))
    }
}

/// Where a node was to come back, and is one: it is back already, and would be there twice.
fn taken(now: &jungle_tree::Snapshot, renamed: &[(Path, Path)]) -> Option<Path> {
    let mut wanted =
        renamed.iter().filter_map(|(was, is)| Some(is.parent()?.join(was.last()?.clone())));
    wanted.find(|place| now.root().at(place).is_ok())
}
