//! A set of named trees.

mod builder;
mod shared;

use std::fmt;
use std::sync::Arc;

use jungle_tree::{Arena, ArenaError};

pub use self::builder::Builder;
pub(crate) use self::shared::{Catalog, Shared, TreeState};
use crate::commit::Moment;
use crate::commit::durability::Durability;
use crate::commit::write::NotWritten;
use crate::handle::TreeHandle;
use crate::journal::{BranchId, Event, TreeId};
use crate::name::{self, NameError};
use crate::revision::{CommitMeta, Revision};
use crate::sequence::Sequencing;

/// A set of named trees, in memory. Cloning the handle is cheap; all clones are the same Jungle.
///
/// ```
/// use jungle_db::Jungle;
/// let jungle = Jungle::new()?;
/// let board = jungle.create_tree("board")?;
/// board.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
/// assert_eq!(board.read().root().attribute("title").unwrap().as_text(), Some("Hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Jungle {
    pub(crate) shared: Arc<Shared>,
    /// Of what is done by it that is no edit.
    meta: CommitMeta,
}

/// Why a tree was not created.
///
/// ```
/// use jungle_db::{CreateTreeError, Jungle};
/// let jungle = Jungle::new()?;
/// jungle.create_tree("board")?;
/// assert!(matches!(jungle.create_tree("board"), Err(CreateTreeError::Exists { .. })));
/// let error = jungle.create_tree("").unwrap_err();
/// assert_eq!(error.to_string(), "a name is not empty");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateTreeError {
    /// The name cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is a tree of this name.
    #[error("there is a tree {name:?} already")]
    Exists {
        /// The name.
        name: Box<str>,
    },
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

/// There is no tree of this name.
///
/// ```
/// use jungle_db::Jungle;
/// let jungle = Jungle::new()?;
/// let error = jungle.open_tree("board").unwrap_err();
/// assert_eq!(&*error.name, "board");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tree {name:?}")]
pub struct NoSuchTree {
    /// The name.
    pub name: Box<str>,
}

/// Why a tree was not renamed.
///
/// ```
/// use jungle_db::{Jungle, RenameTreeError};
/// let jungle = Jungle::new()?;
/// ["a", "b"].iter().try_for_each(|name| jungle.create_tree(name).map(drop))?;
/// assert!(matches!(jungle.rename_tree("a", "b"), Err(RenameTreeError::Exists { .. })));
/// assert!(matches!(jungle.rename_tree("c", "d"), Err(RenameTreeError::NoSuchTree(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenameTreeError {
    /// The new name cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no tree of the old name.
    #[error(transparent)]
    NoSuchTree(#[from] NoSuchTree),
    /// There is a tree of the new name.
    #[error("there is a tree {name:?} already")]
    Exists {
        /// The name.
        name: Box<str>,
    },
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

/// Why a tree was not deleted.
///
/// ```
/// use jungle_db::{DeleteTreeError, Jungle};
/// let jungle = Jungle::new()?;
/// jungle.create_tree("board")?;
/// jungle.delete_tree("board")?;
/// assert!(matches!(jungle.delete_tree("board"), Err(DeleteTreeError::NoSuchTree(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteTreeError {
    /// There is no tree of this name.
    #[error(transparent)]
    NoSuchTree(#[from] NoSuchTree),
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

impl Jungle {
    /// An empty set of trees, with neither a clock nor a journal, that keeps all revisions.
    ///
    /// # Errors
    /// When the system refuses to reserve the address range of the arena.
    ///
    /// ```
    /// use jungle_db::{Jungle, Revision};
    /// let jungle = Jungle::new()?;
    /// assert!(jungle.list_trees().is_empty());
    /// assert_eq!(jungle.revision(), Revision::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Result<Jungle, ArenaError> {
        Jungle::builder().build()
    }

    /// This Jungle, for somebody: trees are made, renamed and deleted by it with this author and
    /// message. See also [`TreeHandle::by`].
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// let jungle = Jungle::new()?;
    /// let tree = jungle.by(&CommitMeta::new().author("ana")).create_tree("board")?;
    /// let first = tree.history(..).next().unwrap()?;
    /// assert_eq!(first.meta.author_name(), Some("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn by(&self, meta: &CommitMeta) -> Jungle {
        Jungle { meta: meta.clone(), ..self.clone() }
    }

    /// The memory its trees live in.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let before = jungle.arena().usage().payload_bytes;
    /// let notes = jungle.create_tree("notes")?;
    /// notes.update(|tx| tx.put_attribute(&[], "text", "x".repeat(1 << 20).as_str()))?;
    /// assert!(jungle.arena().usage().payload_bytes >= before + (1 << 20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.shared.arena
    }

    /// The newest revision.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let tree = jungle.create_tree("board")?;
    /// let committed = tree.update(|tx| tx.append(&[]))?;
    /// assert_eq!(jungle.revision(), committed.revision);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.shared.counter.newest()
    }

    /// What a commit survives that says nothing itself.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.shared.durability
    }

    /// Waits until a revision, and all before it, survive what is asked for; of those that are not
    /// there yet, none is waited for. Who commits with [`Durability::Memory`] and acknowledges
    /// nothing before this has returned waits once for many commits.
    ///
    /// Where the log of a cluster orders what is committed, that log makes it last; this waits for
    /// the journal of this server all the same.
    ///
    /// # Errors
    /// When the journal cannot make them last.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Durability, Jungle};
    /// let jungle = Jungle::new()?;
    /// let tree = jungle.create_tree("t")?;
    /// let quick =
    ///     CommitOptions { durability: Some(Durability::Memory), ..CommitOptions::default() };
    /// tree.update_with(&quick, |tx| tx.append(&[]))?;
    /// let last = tree.update_with(&quick, |tx| tx.append(&[]))?;
    /// jungle.wait_until(last.revision, Durability::Sync)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_until(&self, revision: Revision, durability: Durability) -> Result<(), NotWritten> {
        self.shared.written(revision.min(self.revision()), durability)
    }

    /// Makes a tree of one bare node.
    ///
    /// # Errors
    /// When the name is taken or cannot be one, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CreateTreeError, Jungle};
    /// let jungle = Jungle::new()?;
    /// jungle.create_tree("board")?;
    /// let again = jungle.create_tree("board");
    /// assert!(matches!(again, Err(CreateTreeError::Exists { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_tree(&self, name: &str) -> Result<TreeHandle, CreateTreeError> {
        let shared = &self.shared;
        let name = name::check(name)?;
        if let Some(sequencing) = shared.sequencing() {
            return self.create_tree_in_sequence(sequencing, &name);
        }
        let mut catalog = shared.catalog_mut();
        if catalog.contains_key(&name) {
            return Err(CreateTreeError::Exists { name: (&*name).into() });
        }
        let (tree, branch) = (TreeId(shared.draw_id()), BranchId(shared.draw_id()));
        let (retention, moment) = (shared.retention, Moment::Now);
        let (state, revision) =
            shared.create(&mut catalog, (tree, branch), name, retention, (moment, &self.meta))?;
        drop(catalog);
        shared.acknowledge(revision, None)?;
        Ok(TreeHandle::main(shared, &state))
    }

    fn create_tree_in_sequence(
        &self,
        sequencing: &Sequencing,
        name: &Arc<str>,
    ) -> Result<TreeHandle, CreateTreeError> {
        let mut made = None;
        sequencing.place(&self.shared, &self.meta, || {
            if self.shared.catalog().contains_key(name) {
                return Err(CreateTreeError::Exists { name: (&**name).into() });
            }
            // They are drawn when the tree is made; until then nobody else draws any.
            let tree = TreeId(self.shared.next_id());
            let branch = BranchId(tree.0 + 1);
            made = Some(tree);
            let (name, retention) = (Arc::clone(name), self.shared.retention);
            Ok(Event::TreeCreated { tree, branch, name, retention })
        })?;
        let catalog = self.shared.catalog();
        let made = made.and_then(|tree| catalog.by_id(tree));
        // It may be gone again.
        let (_, state) = made.ok_or(NotWritten::Deleted)?;
        Ok(TreeHandle::main(&self.shared, state))
    }

    /// The tree of this name.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
    /// assert_eq!(jungle.open_tree("board")?.read().root().child_count(), 1);
    /// assert_eq!(jungle.open_tree("blog").unwrap_err().to_string(), "there is no tree \"blog\"");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_tree(&self, name: &str) -> Result<TreeHandle, NoSuchTree> {
        let catalog = self.shared.catalog();
        let state = catalog.get(name).ok_or_else(|| no_such_tree(name))?;
        Ok(TreeHandle::main(&self.shared, state))
    }

    /// The branch with these ids, as journals and messages name it.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let board = jungle.create_tree("board")?;
    /// let again = jungle.branch_with_id(board.id(), board.branch_id()).unwrap();
    /// assert_eq!(again.name(), board.name());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn branch_with_id(&self, tree: TreeId, branch: BranchId) -> Option<TreeHandle> {
        self.handle_of(tree, branch).ok()
    }

    /// The names of all trees, in order.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// ["b", "a"].iter().try_for_each(|name| jungle.create_tree(name).map(drop))?;
    /// assert_eq!(jungle.list_trees(), ["a".into(), "b".into()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn list_trees(&self) -> Vec<Arc<str>> {
        self.shared.catalog().keys().cloned().collect()
    }

    /// Gives a tree another name. Handles of it stay good.
    ///
    /// # Errors
    /// When there is no tree of the old name or one of the new name, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let board = jungle.create_tree("board")?;
    /// jungle.rename_tree("board", "archive")?;
    /// assert_eq!(&*board.name(), "archive");
    /// assert!(jungle.open_tree("board").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename_tree(&self, name: &str, new: &str) -> Result<(), RenameTreeError> {
        let new = name::check(new)?;
        if let Some(sequencing) = self.shared.sequencing() {
            sequencing.place(&self.shared, &self.meta, || {
                let catalog = self.shared.catalog();
                let tree = catalog.get(name).ok_or_else(|| no_such_tree(name))?.id;
                if catalog.contains_key(&new) {
                    return Err(RenameTreeError::Exists { name: (&*new).into() });
                }
                Ok(Event::TreeRenamed { tree, name: Arc::clone(&new) })
            })?;
            return Ok(());
        }
        let mut catalog = self.shared.catalog_mut();
        let state = Arc::clone(catalog.get(name).ok_or_else(|| no_such_tree(name))?);
        if catalog.contains_key(&new) {
            return Err(RenameTreeError::Exists { name: (&*new).into() });
        }
        let revision = self.shared.rename(&mut catalog, &state, new, (Moment::Now, &self.meta))?;
        drop(catalog);
        Ok(self.shared.acknowledge(revision, None)?)
    }

    /// Deletes a tree with its branches and tags. Whoever has a handle can read on what was the
    /// newest version, and write no more.
    ///
    /// # Errors
    /// When there is no tree of this name, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::{Jungle, NotWritten, UpdateError};
    /// let jungle = Jungle::new()?;
    /// let board = jungle.create_tree("board")?;
    /// jungle.delete_tree("board")?;
    /// assert_eq!(board.read().root().child_count(), 0);
    /// let refused = board.update(|tx| tx.append(&[]));
    /// assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::Deleted))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_tree(&self, name: &str) -> Result<(), DeleteTreeError> {
        if let Some(sequencing) = self.shared.sequencing() {
            sequencing.place(&self.shared, &self.meta, || {
                let tree = self.shared.catalog().get(name).map(|state| state.id);
                let tree = tree.ok_or_else(|| no_such_tree(name))?;
                Ok::<_, DeleteTreeError>(Event::TreeDeleted { tree })
            })?;
            return Ok(());
        }
        let mut catalog = self.shared.catalog_mut();
        let state = Arc::clone(catalog.get(name).ok_or_else(|| no_such_tree(name))?);
        let revision = self.shared.delete(&mut catalog, &state, (Moment::Now, &self.meta))?;
        drop(catalog);
        Ok(self.shared.acknowledge(revision, None)?)
    }
}

impl fmt::Debug for Jungle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jungle")
            .field("revision", &self.revision())
            .field("trees", &self.list_trees())
            .finish_non_exhaustive()
    }
}

pub(crate) fn no_such_tree(name: &str) -> NoSuchTree {
    NoSuchTree { name: name.into() }
}
