//! Taking back what a revision did, or going back to one.

use jungle_tree::{MergeOptions, Path, diff, merge};

use super::set_root::{Replace, SetRootError};
use super::{CommitOptions, Committed, TreeHandle, committed};
use crate::commit::transaction::Conflicts;
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure, Overlap};
use crate::history::past::NoSuchRevision;
use crate::revision::{CommitMeta, Revision};

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
    /// It could not be written, or there is no room to work it out.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

impl TreeHandle {
    /// Makes the tree what it was at a revision, as a new commit; what came between stays in the
    /// history.
    ///
    /// # Errors
    /// When the revision is not there, or nothing can be written.
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
        let done = self.replace_root(expected, old.root(), meta, Replace::ByChanges);
        done.map_err(|error| match error {
            SetRootError::NotWritten(error) => RevertError::NotWritten(error),
            SetRootError::Edit(error) => NotWritten::NoRoom(error.into()).into(),
            SetRootError::Changed { newest } => RevertError::Changed { newest },
        })
    }

    /// Takes back what one revision did, as a new commit; what came after it stays.
    ///
    /// # Errors
    /// When the revision or the one before is not there, when it is of another branch, when what it
    /// did has been changed since, or nothing can be written.
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
        let after = self.at(revision)?;
        let own = after.revision();
        if own != revision {
            return Err(RevertError::OfAnother { revision, own });
        }
        let before = self.at(Revision::new(after.revision().number().saturating_sub(1)))?;
        let now = self.head.snapshot();
        if expected.is_some_and(|expected| !expected.is_same(&now)) {
            return Err(RevertError::Changed { newest: now.revision() });
        }
        let merged = merge(&after, &before, &now, &MergeOptions::new());
        let merged = merged.map_err(NotWritten::NoRoom)?;
        let overlap = |overlap: Overlap| RevertError::Conflict(Conflicts::new(vec![overlap]));
        let taken = taken(&now, &merged.renamed);
        if !merged.conflicts.is_empty() || taken.is_some() {
            return Err(overlap(Overlap {
                branch: self.head.id,
                read: taken,
                conflicts: merged.conflicts,
                changes: diff(&after, &before),
            }));
        }
        if !merged.editor.is_changed() {
            self.shared.rely_on(now.revision(), None)?;
            return Ok(committed(now.revision()));
        }
        let mut attempt = Attempt::of_editor(&self.head, merged.editor)
            .with_changes(merged.changes)
            .where_positions_are_free();
        if expected.is_some() {
            attempt = attempt.of_whole_tree();
        }
        match self.commit_attempt(attempt, &CommitOptions::from(meta)) {
            Ok((revision, later)) => {
                let renamed = merged.renamed.into_iter().chain(later).collect();
                Ok(Committed { renamed, ..committed(revision) })
            }
            Err(Failure::NotWritten(error)) => Err(error.into()),
            Err(Failure::Overlap(_)) if expected.is_some() => {
                Err(RevertError::Changed { newest: self.head.snapshot().revision() })
            }
            Err(Failure::Overlap(found)) => Err(overlap(found)),
        }
    }
}

/// Where a node was to come back, and is one: it is back already, and would be there twice.
fn taken(now: &jungle_tree::Snapshot, renamed: &[(Path, Path)]) -> Option<Path> {
    let mut wanted =
        renamed.iter().filter_map(|(was, is)| Some(is.parent()?.join(was.last()?.clone())));
    wanted.find(|place| now.root().at(place).is_ok())
}
