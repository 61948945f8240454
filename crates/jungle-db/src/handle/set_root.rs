//! Putting another version in the place of the newest one.

use jungle_tree::{ChangeSet, EditError, Editor, Node, Steps, TooManySteps, apply};

use super::{Committed, TreeHandle, committed, compare};
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure, Moment, lock_all, publish, version_of};
use crate::planted::{Bug, is_awake};
use crate::revision::{CommitMeta, Revision};

/// Why the root was not set.
///
/// ```
/// use jungle_db::{CommitMeta, Jungle, SetRootError};
/// use jungle_tree::EditError;
/// let jungle = Jungle::new()?;
/// let (site, other) = (jungle.create_tree("site")?, Jungle::new()?.create_tree("site")?);
/// let refused = site.set_root(&other.snapshot(), &CommitMeta::new());
/// assert!(matches!(refused, Err(SetRootError::Edit(EditError::OtherArena))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetRootError {
    /// The newest version is not the expected one.
    #[error("the tree was changed in revision {newest}")]
    Changed {
        /// Its revision.
        newest: Revision,
    },
    /// The new root does not fit in, or belongs to another arena.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// It takes more steps to find what differs than [it may](TreeHandle::steps_max).
    #[error(transparent)]
    TooManySteps(#[from] TooManySteps),
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

/// How another root comes to be the newest one. A journal always has changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Replace {
    /// As it is, shared: that costs the same whatever the size.
    Whole,
    /// By what differs, on top of what is there: positions that were given since the other root
    /// was made stay used.
    ByChanges,
    /// By what differs, and as a revision even if that is nothing.
    InAnyCase,
}

impl TreeHandle {
    /// Makes `new` the newest version, whatever was: what others did since you looked is lost, so
    /// prefer [`compare_and_set_root`](TreeHandle::compare_and_set_root) or
    /// [`update`](TreeHandle::update). Where it is that already no revision is made, and that it is
    /// so is as durable as a commit.
    ///
    /// # Errors
    /// When it belongs to another Jungle, nothing can be written, or, where there is a journal, it
    /// takes too many [steps](TreeHandle::steps_max) to find what differs.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// let jungle = Jungle::new()?;
    /// let (draft, site) = (jungle.create_tree("draft")?, jungle.create_tree("site")?);
    /// draft.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// site.set_root(&draft.snapshot(), &CommitMeta::new().message("publish"))?;
    /// assert!(site.read().root().is_equal(draft.read().root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_root(
        &self,
        new: &jungle_tree::Snapshot,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, SetRootError> {
        self.replace_root(None, new.root(), meta, Replace::Whole, &mut self.steps())
    }

    /// Makes `new` the newest version if `expected` is that now.
    ///
    /// # Errors
    /// As [`set_root`](TreeHandle::set_root), and when it is not.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle, SetRootError};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let seen = tree.snapshot();
    /// let mut ours = jungle_tree::Tree::from_snapshot(&seen);
    /// ours.put_attribute(&[], "title", "ours")?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "theirs"))?;
    /// let refused = tree.compare_and_set_root(&seen, &ours.snapshot(), &CommitMeta::new());
    /// assert!(matches!(refused, Err(SetRootError::Changed { .. })));
    /// assert_eq!(tree.read().root().attribute("title").unwrap().as_text(), Some("theirs"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare_and_set_root(
        &self,
        expected: &jungle_tree::Snapshot,
        new: &jungle_tree::Snapshot,
        meta: &CommitMeta,
    ) -> Result<Committed<()>, SetRootError> {
        self.replace_root(Some(expected), new.root(), meta, Replace::Whole, &mut self.steps())
    }

    pub(super) fn replace_root(
        &self,
        expected: Option<&jungle_tree::Snapshot>,
        new: Node<'_>,
        meta: &CommitMeta,
        how: Replace,
        steps: &mut Option<Steps>,
    ) -> Result<Committed<()>, SetRootError> {
        loop {
            let comparing = self.comparing();
            let now = self.head.snapshot();
            let began_at = now.revision();
            if expected.is_some_and(|expected| !expected.is_same(&now)) {
                return Err(SetRootError::Changed { newest: began_at });
            }
            let in_any_case = how == Replace::InAnyCase;
            if now.root().is_same(new) && !in_any_case {
                drop(comparing);
                self.shared.rely_on(began_at, None)?;
                return Ok(committed(began_at));
            }
            let version = now.version();
            let mut editor = Editor::new(now.into_tree());
            editor.set_subtree(&[], new)?;
            let mut attempt = if how != Replace::Whole || self.shared.has_journal() {
                let (editor, changes) = redone(editor, steps.as_mut())?;
                if changes.is_empty() && !in_any_case {
                    drop(comparing);
                    self.shared.rely_on(began_at, None)?;
                    return Ok(committed(began_at));
                }
                Attempt::of_editor(&self.head, editor).with_changes(changes)
            } else {
                Attempt::of_editor(&self.head, editor)
            };
            drop(comparing);
            if in_any_case {
                attempt = attempt.even_unchanged();
            }
            if let Some(sequencing) = self.shared.sequencing() {
                let mut attempt = attempt.of_whole_tree();
                let attempts = std::slice::from_mut(&mut attempt);
                match sequencing.commit(&self.shared, attempts, meta) {
                    Ok(revision) => return Ok(committed(revision)),
                    Err(Failure::NotWritten(error)) => return Err(error.into()),
                    Err(Failure::Overlap(_)) => continue,
                }
            }
            let attempts = std::slice::from_mut(&mut attempt);
            let guards = lock_all(attempts)?;
            let is_newest = guards[0].history.newest().id.version() == version;
            if !is_newest && !is_awake(Bug::SetWithoutLook) {
                continue;
            }
            return match publish(&self.shared, attempts, guards, meta, Moment::Now) {
                Ok(revision) => {
                    self.shared.acknowledge(revision, None)?;
                    Ok(committed(revision))
                }
                Err(Failure::NotWritten(error)) => Err(error.into()),
                Err(Failure::Overlap(_)) => unreachable!("publishing rebases nothing"),
            };
        }
    }
}

/// What an editor changed, and another editor that did the same: the first has become a version of
/// another line, to be compared.
fn redone(editor: Editor, steps: Option<&mut Steps>) -> Result<(Editor, ChangeSet), SetRootError> {
    let base = editor.base().clone();
    let changes = compare(&base, &version_of(editor), steps)?;
    let mut editor = Editor::new(base);
    apply(&mut editor, &changes).map_err(NotWritten::NoRoom)?;
    Ok((editor, changes))
}
