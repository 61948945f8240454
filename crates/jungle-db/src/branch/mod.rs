//! Branches and tags: names for revisions of a tree.

pub(crate) mod merge;
pub(crate) mod origin;
pub(crate) mod other_keys;
mod tags;

use std::collections::BTreeMap;
use std::sync::Arc;

use jungle_tree::Tree;

use crate::branch::origin::Origin;
use crate::commit::Moment;
use crate::commit::write::NotWritten;
use crate::handle::TreeHandle;
use crate::head::{Head, HeadState, lock};
use crate::history::lookup::Found;
use crate::history::past::NoSuchRevision;
use crate::history::retention::Retention;
use crate::history::{History, HistoryEntry};
use crate::index::Index;
use crate::journal::{BranchId, Event};
use crate::jungle::TreeState;
use crate::name::{self, NameError};
use crate::named::{Identified, Named};
use crate::revision::Revision;
use crate::sequence::Sequencing;
use crate::snapshot::Snapshot;
use crate::sync::MutexGuard;

/// The name of the branch that every tree has.
pub const MAIN_BRANCH: &str = "main";

/// The branches of a tree besides the main one, its tags and its indexes.
#[derive(Default)]
pub(crate) struct Branches {
    pub(crate) by_name: Named<Head>,
    pub(crate) tags: BTreeMap<Arc<str>, Snapshot>,
    pub(crate) indexes: BTreeMap<Arc<str>, Arc<Index>>,
}

/// Why a branch or a tag was not made.
///
/// ```
/// use jungle_db::{BranchError, Jungle};
/// let main = Jungle::new()?.create_tree("board")?;
/// let now = main.snapshot().revision();
/// main.tag("release", now)?;
/// assert!(matches!(main.branch("release", now), Err(BranchError::Exists { .. })));
/// assert!(matches!(main.delete_branch("main"), Err(BranchError::Main)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BranchError {
    /// The name cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is one of this name.
    #[error("there is a branch or tag {name:?} already")]
    Exists {
        /// The name.
        name: Box<str>,
    },
    /// There is none of this name.
    #[error(transparent)]
    NoSuchBranch(#[from] NoSuchBranch),
    /// The revision is not there.
    #[error(transparent)]
    NoSuchRevision(#[from] NoSuchRevision),
    /// The main branch goes with its tree.
    #[error("the branch \"main\" is deleted with its tree only")]
    Main,
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

/// There is no branch or tag of this name.
///
/// ```
/// use jungle_db::Jungle;
/// let main = Jungle::new()?.create_tree("board")?;
/// let error = main.on_branch("draft").unwrap_err();
/// assert_eq!(error.to_string(), "there is no branch or tag \"draft\"");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no branch or tag {name:?}")]
pub struct NoSuchBranch {
    /// The name.
    pub name: Box<str>,
}

fn no_such_branch(name: &str) -> NoSuchBranch {
    NoSuchBranch { name: name.into() }
}

impl Branches {
    /// All branches but the main one.
    pub(crate) fn heads(&self) -> Vec<Arc<Head>> {
        self.by_name.values().cloned().collect()
    }

    fn check_free(&self, name: &str) -> Result<(), BranchError> {
        let taken =
            name == MAIN_BRANCH || self.by_name.contains_key(name) || self.tags.contains_key(name);
        if taken {
            return Err(BranchError::Exists { name: name.into() });
        }
        Ok(())
    }
}

impl Identified for Head {
    type Id = BranchId;

    fn id(&self) -> BranchId {
        self.id
    }
}

impl TreeState {
    /// The branch with this id.
    pub(crate) fn head(&self, id: BranchId) -> Option<Arc<Head>> {
        if self.main.id == id {
            return Some(Arc::clone(&self.main));
        }
        let branches = lock(&self.branches);
        branches.by_name.by_id(id).map(|(_, head)| Arc::clone(head))
    }
}

impl TreeHandle {
    /// The name of the branch it is on.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let draft = tree.branch("draft", tree.snapshot().revision())?;
    /// assert_eq!((tree.branch_name(), draft.branch_name()), ("main", "draft"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn branch_name(&self) -> &str {
        self.branch.as_deref().unwrap_or(MAIN_BRANCH)
    }

    /// Makes a branch of this name that begins with a revision of this one. They share all of it.
    ///
    /// A branch holds the version it begins with for as long as it is there.
    ///
    /// # Errors
    /// When the name is taken by a branch or tag or cannot be one, the revision is not there, or
    /// nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// use jungle_tree::MergeOptions;
    /// let main = Jungle::new()?.create_tree("board")?;
    /// let draft = main.branch("draft", main.snapshot().revision())?;
    /// draft.update(|tx| tx.put_attribute(&[], "title", "new"))?;
    /// assert!(!main.read().root().has_attributes());
    /// main.merge("draft", &MergeOptions::new())?.commit(&CommitMeta::new())?;
    /// assert!(main.read().root().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn branch(&self, name: &str, at: Revision) -> Result<TreeHandle, BranchError> {
        if let Some(sequencing) = self.shared.sequencing() {
            return self.branch_in_sequence(sequencing, name, at);
        }
        let id = BranchId(self.shared.draw_id());
        let (handle, revision) =
            self.branch_as(id, name, (at, self.shared.retention), Moment::Now)?;
        self.shared.acknowledge(revision, None)?;
        Ok(handle)
    }

    fn branch_in_sequence(
        &self,
        sequencing: &Sequencing,
        name: &str,
        at: Revision,
    ) -> Result<TreeHandle, BranchError> {
        let checked = name::check(name)?;
        let tree = self.state.id;
        let mut made = None;
        sequencing.place(&self.shared, &self.meta, || {
            let at = self.check_mark(name, at)?;
            let branch = BranchId(self.shared.next_id());
            made = Some(branch);
            let name = Arc::clone(&checked);
            Ok::<_, BranchError>(Event::BranchCreated {
                tree,
                branch,
                name,
                from: self.head.id,
                at,
                retention: self.shared.retention,
            })
        })?;
        let made = made.and_then(|branch| self.on_branch_id(branch));
        // It may be gone again.
        Ok(made.ok_or(NotWritten::Deleted)?)
    }

    /// Can a branch or tag be made of this name and revision? Tells the branch's own revision.
    ///
    /// It can if the revision is to be kept: what is only here because something holds it may be
    /// gone where else the log is followed.
    fn check_mark(&self, name: &str, at: Revision) -> Result<Revision, BranchError> {
        let Found { index, snapshot, .. } = self.find(at)?;
        let at = snapshot.revision();
        let first = self.head.lock().first_to_keep().map_err(NoSuchRevision::from)?;
        if index < first {
            return Err(self.too_old(first)?.into());
        }
        lock(&self.state.branches).check_free(name)?;
        if self.head.lock().closed {
            return Err(NotWritten::Deleted.into());
        }
        Ok(at)
    }

    /// A revision is not kept, but those from this index on are.
    fn too_old(&self, first: u64) -> Result<NoSuchRevision, NoSuchRevision> {
        let page = self.head.page(first, 1)?;
        let oldest = page.oldest().expect("a history is never empty").revision;
        Ok(NoSuchRevision::TooOld { oldest })
    }

    /// Locks the branch, of which a revision is about to get a name, and looks whether it is there
    /// still: a checkpoint that is written before the name, and without the revision, is one that
    /// nobody could go on from.
    fn lock_to_mark(
        &self,
        index: u64,
        moment: Moment<'_>,
    ) -> Result<MutexGuard<'_, HeadState>, BranchError> {
        let state = self.head.lock();
        if state.closed {
            return Err(NotWritten::Deleted.into());
        }
        if matches!(moment, Moment::Now) && index < state.history.first() {
            drop(state);
            return Err(self.too_old(0)?.into());
        }
        Ok(state)
    }

    pub(crate) fn branch_as(
        &self,
        id: BranchId,
        name: &str,
        (at, retention): (Revision, Retention),
        moment: Moment<'_>,
    ) -> Result<(TreeHandle, Revision), BranchError> {
        let name = name::check(name)?;
        // Before the locks: it may have to be read.
        let Found { index, entry, snapshot } = self.find(at)?;
        self.shared.must_have_room(moment)?;
        let mut branches = lock(&self.state.branches);
        branches.check_free(&name)?;
        let _state = self.lock_to_mark(index, moment)?;
        let time = moment.time(|| self.shared.now());
        let event = Event::BranchCreated {
            tree: self.state.id,
            branch: id,
            name: Arc::clone(&name),
            from: self.head.id,
            at: snapshot.revision(),
            retention,
        };
        let mut made = None;
        let revision = self.shared.write(moment, time, &self.meta, Some(event), |_| {
            let line = Tree::from_snapshot(&snapshot);
            let history = History::new(HistoryEntry { id: line.version_id(), ..entry });
            let before = self.head.origin.clone();
            let origin = Some(Arc::new(Origin { from: self.head.id, snapshot, before }));
            let head = Arc::new(Head::new((self.state.id, id), line, history, retention, origin));
            branches.by_name.insert(Arc::clone(&name), Arc::clone(&head));
            made = Some(head);
        })?;
        drop(branches);
        let head = made.expect("made while it was published");
        Ok((TreeHandle { head, branch: Some(name), ..self.clone() }, revision))
    }

    /// The branch of this name, of the same tree.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.branch("draft", tree.snapshot().revision())?;
    /// tree.on_branch("draft")?.update(|tx| tx.append(&[]))?;
    /// assert!(!tree.read().root().has_children());
    /// assert!(tree.on_branch("gone").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_branch(&self, name: &str) -> Result<TreeHandle, NoSuchBranch> {
        if name == MAIN_BRANCH {
            return Ok(self.on_main());
        }
        let branches = lock(&self.state.branches);
        let found = branches.by_name.get_key_value(name).ok_or_else(|| no_such_branch(name))?;
        Ok(self.on(found))
    }

    /// The branch with this id, of the same tree.
    pub(crate) fn on_branch_id(&self, id: BranchId) -> Option<TreeHandle> {
        if id == self.state.main.id {
            return Some(self.on_main());
        }
        let branches = lock(&self.state.branches);
        branches.by_name.by_id(id).map(|found| self.on(found))
    }

    fn on_main(&self) -> TreeHandle {
        TreeHandle { head: Arc::clone(&self.state.main), branch: None, ..self.clone() }
    }

    fn on(&self, (name, head): (&Arc<str>, &Arc<Head>)) -> TreeHandle {
        TreeHandle { head: Arc::clone(head), branch: Some(Arc::clone(name)), ..self.clone() }
    }

    /// The names of all branches: the main one, then the others in order.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.branch("draft", tree.snapshot().revision())?;
    /// assert_eq!(tree.list_branches(), ["main".into(), "draft".into()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn list_branches(&self) -> Vec<Arc<str>> {
        let branches = lock(&self.state.branches);
        let main = std::iter::once(MAIN_BRANCH.into());
        main.chain(branches.by_name.keys().cloned()).collect()
    }

    /// Deletes a branch. Whoever has a handle can read on what was its newest version.
    ///
    /// # Errors
    /// When there is none of this name, it is the main one, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::{BranchError, Jungle};
    /// let main = Jungle::new()?.create_tree("board")?;
    /// main.branch("draft", main.snapshot().revision())?;
    /// assert_eq!(main.list_branches(), ["main".into(), "draft".into()]);
    /// main.delete_branch("draft")?;
    /// assert!(main.on_branch("draft").is_err());
    /// assert!(matches!(main.delete_branch("main"), Err(BranchError::Main)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_branch(&self, name: &str) -> Result<(), BranchError> {
        if let Some(sequencing) = self.shared.sequencing() {
            if name == MAIN_BRANCH {
                return Err(BranchError::Main);
            }
            let tree = self.state.id;
            sequencing.place(&self.shared, &self.meta, || {
                let branches = lock(&self.state.branches);
                let head = branches.by_name.get(name).ok_or_else(|| no_such_branch(name))?;
                Ok::<_, BranchError>(Event::BranchDeleted { tree, branch: head.id })
            })?;
            return Ok(());
        }
        let revision = self.delete_branch_at(name, Moment::Now)?;
        Ok(self.shared.acknowledge(revision, None)?)
    }

    pub(crate) fn delete_branch_at(
        &self,
        name: &str,
        moment: Moment<'_>,
    ) -> Result<Revision, BranchError> {
        if name == MAIN_BRANCH {
            return Err(BranchError::Main);
        }
        let mut branches = lock(&self.state.branches);
        let head = branches.by_name.get(name).cloned().ok_or_else(|| no_such_branch(name))?;
        let time = moment.time(|| self.shared.now());
        let mut state = head.lock();
        self.shared.note_deleted(&head);
        let event = Event::BranchDeleted { tree: self.state.id, branch: head.id };
        Ok(self.shared.write(moment, time, &self.meta, Some(event), |_| {
            head.close(&mut state);
            branches.by_name.remove(name);
            self.state.merges.forget(head.id);
            branches.indexes.values().for_each(|index| index.forget(head.id));
        })?)
    }
}
