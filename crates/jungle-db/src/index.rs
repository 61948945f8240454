//! Indexes of a tree: which nodes have this value?
//!
//! That a tree has an index of a key is a commit, as a tag is. What is in the index follows from
//! the versions alone, so no record has it: it is worked out when it is first asked for, and
//! brought from version to version by what differs, by whoever asks next. Writers have nothing to
//! do with it. A checkpoint takes the newest one along, so it is not worked out again after a
//! restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use jungle_tree::{ATTRIBUTE_KEY_BYTES_MAX, AttributeIndex, CheckError, EditError, loading};

use crate::branch::Branches;
use crate::commit::Moment;
use crate::commit::write::NotWritten;
use crate::handle::TreeHandle;
use crate::head::lock;
use crate::journal::{BranchId, Event};
use crate::jungle::{Jungle, TreeState};
use crate::planted::{Bug, is_awake};
use crate::revision::Revision;
use crate::snapshot::Snapshot;
use crate::sync::Mutex;

/// Why an index was not made or dropped.
///
/// ```
/// use jungle_db::{IndexError, Jungle};
/// let tree = Jungle::new()?.create_tree("people")?;
/// tree.create_index("age")?;
/// assert!(matches!(tree.create_index("age"), Err(IndexError::Exists { .. })));
/// let error = tree.drop_index("name").unwrap_err();
/// assert_eq!(error.to_string(), "there is no index of \"name\"");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// There is one of this key.
    #[error("there is an index of {key:?} already")]
    Exists {
        /// The key.
        key: Box<str>,
    },
    /// There is none of this key.
    #[error("there is no index of {key:?}")]
    NoSuchIndex {
        /// The key.
        key: Box<str>,
    },
    /// No attribute can have this key.
    #[error("a key of {bytes} bytes is longer than the limit of {ATTRIBUTE_KEY_BYTES_MAX}")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

/// What is known of an index.
#[derive(Default)]
pub(crate) struct Index {
    /// The newest of each branch that was asked for. The lock is held for a moment only.
    pub(crate) built: Mutex<BTreeMap<BranchId, Built>>,
    /// Held while one is brought up to date, so that not all who ask do that.
    turn: Mutex<()>,
}

/// An index of a version.
#[derive(Clone)]
pub(crate) struct Built {
    pub(crate) of: Snapshot,
    pub(crate) index: AttributeIndex,
}

impl Built {
    fn updated(&self, of: &Snapshot) -> Result<Built, EditError> {
        let index = self.index.updated(&self.of, of)?;
        Ok(Built { of: of.clone(), index })
    }
}

impl Index {
    pub(crate) fn restored(built: BTreeMap<BranchId, Built>) -> Index {
        Index { built: Mutex::new(built), turn: Mutex::default() }
    }

    /// That of a version of a branch.
    fn of(&self, branch: BranchId, key: &str, of: &Snapshot) -> Result<AttributeIndex, EditError> {
        if let Some(index) = self.known(branch, of) {
            return Ok(index);
        }
        let _turn = lock(&self.turn);
        // Whoever had the turn before may have wanted the same.
        if let Some(index) = self.known(branch, of) {
            return Ok(index);
        }
        // What of an index cannot be loaded is worked out again; what of the tree cannot, is not
        // found by this either.
        let nearest = self.nearest(branch);
        if let Some(nearest) = nearest.as_ref().filter(|_| is_awake(Bug::IndexStays)) {
            return Ok(nearest.index.clone());
        }
        let built = match nearest.map(|nearest| loading(|| nearest.updated(of))) {
            Some(Ok(built)) => built?,
            Some(Err(_)) | None => Built { of: of.clone(), index: AttributeIndex::build(of, key)? },
        };
        let index = built.index.clone();
        let mut all = lock(&self.built);
        let is_newest = all.get(&branch).is_none_or(|known| known.of.revision() < of.revision());
        if is_newest {
            all.insert(branch, built);
        }
        Ok(index)
    }

    fn known(&self, branch: BranchId, of: &Snapshot) -> Option<AttributeIndex> {
        let built = lock(&self.built);
        let known = built.get(&branch).filter(|known| known.of.is_same(of));
        known.map(|known| known.index.clone())
    }

    /// What one for this branch is made from: its own, else that of the oldest branch, from which
    /// others come.
    fn nearest(&self, branch: BranchId) -> Option<Built> {
        let built = lock(&self.built);
        built.get(&branch).or_else(|| built.values().next()).cloned()
    }

    /// Brings what there is up to the newest versions; what cannot be is forgotten, and worked out
    /// again when it is asked for.
    fn refresh(&self, tree: &TreeState, key: &str) {
        let branches: Vec<BranchId> = lock(&self.built).keys().copied().collect();
        for branch in branches {
            let newest = tree.head(branch).map(|head| head.snapshot());
            let update = |newest| loading(|| self.of(branch, key, &newest));
            let is_fresh = newest.is_some_and(|newest| matches!(update(newest), Ok(Ok(_))));
            if !is_fresh {
                self.forget(branch);
            }
        }
    }

    /// Uses again what the newest ones have replaced.
    fn reclaim(&self) {
        let built: Vec<AttributeIndex> =
            lock(&self.built).values().map(|built| built.index.clone()).collect();
        built.iter().for_each(AttributeIndex::reclaim);
    }

    /// A branch was deleted.
    pub(crate) fn forget(&self, branch: BranchId) {
        lock(&self.built).remove(&branch);
    }
}

impl Jungle {
    /// Brings all indexes that were asked for up to the newest versions, so that none holds an old
    /// one that is kept nowhere else.
    pub(crate) fn refresh_indexes(&self) {
        self.each_index(|tree, key, index| index.refresh(tree, key));
    }

    /// Uses again what only older versions of the indexes had, which those that come next would do.
    pub(crate) fn reclaim_indexes(&self) {
        self.each_index(|_, _, index| index.reclaim());
    }

    fn each_index(&self, each: impl Fn(&TreeState, &str, &Index)) {
        let trees: Vec<Arc<TreeState>> = self.shared.catalog().values().cloned().collect();
        for tree in trees {
            let indexes = lock(&tree.branches).indexes.clone();
            indexes.iter().for_each(|(key, index)| each(&tree, key, index));
        }
    }
}

impl TreeHandle {
    /// Says that all branches of the tree have an index of the attributes with this key, which is a
    /// commit like making a tag. It is worked out when it is first [asked for](TreeHandle::index).
    ///
    /// # Errors
    /// When there is one, no attribute can have this key, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::Value;
    /// let tree = Jungle::new()?.create_tree("people")?;
    /// tree.create_index("age")?;
    /// tree.update(|tx| {
    ///     let ana = tx.append(&[])?;
    ///     tx.put_attribute(&[ana], "age", 30)
    /// })?;
    /// let newest = tree.snapshot();
    /// let index = tree.index("age", &newest)?.expect("it was made");
    /// let found: Vec<String> =
    ///     index.find(Value::from(30).as_ref()).map(|path| path.to_string()).collect();
    /// assert_eq!(found, ["/0"]);
    /// assert_eq!(index.range(Value::from(31)..).count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_index(&self, key: &str) -> Result<(), IndexError> {
        if let Some(sequencing) = self.shared.sequencing() {
            let tree = self.state.id;
            sequencing.place(&self.shared, &self.meta, || {
                self.check_new_index(&lock(&self.state.branches), key)?;
                Ok::<_, IndexError>(Event::IndexCreated { tree, key: key.into() })
            })?;
            return Ok(());
        }
        let revision = self.create_index_at(key, Moment::Now)?;
        Ok(self.shared.acknowledge(revision, None)?)
    }

    fn check_new_index(&self, branches: &Branches, key: &str) -> Result<(), IndexError> {
        let bytes = key.len();
        if bytes > ATTRIBUTE_KEY_BYTES_MAX {
            return Err(IndexError::KeyTooLong { bytes });
        }
        if branches.indexes.contains_key(key) {
            return Err(IndexError::Exists { key: key.into() });
        }
        if self.head.lock().closed {
            return Err(NotWritten::Deleted.into());
        }
        Ok(())
    }

    pub(crate) fn create_index_at(
        &self,
        key: &str,
        moment: Moment<'_>,
    ) -> Result<Revision, IndexError> {
        let mut branches = lock(&self.state.branches);
        self.check_new_index(&branches, key)?;
        let time = moment.time(|| self.shared.now());
        let key: Arc<str> = key.into();
        let event = Event::IndexCreated { tree: self.state.id, key: Arc::clone(&key) };
        Ok(self.shared.write(moment, time, &self.meta, Some(event), |_| {
            branches.indexes.insert(key, Arc::default());
        })?)
    }

    /// Says that the tree has no index of this key any more.
    ///
    /// # Errors
    /// When there is none, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.create_index("age")?;
    /// tree.drop_index("age")?;
    /// assert!(tree.index("age", &tree.snapshot())?.is_none() && tree.drop_index("age").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_index(&self, key: &str) -> Result<(), IndexError> {
        if let Some(sequencing) = self.shared.sequencing() {
            let tree = self.state.id;
            sequencing.place(&self.shared, &self.meta, || {
                let branches = lock(&self.state.branches);
                let found = branches.indexes.get_key_value(key).map(|(key, _)| Arc::clone(key));
                let key = found.ok_or_else(|| no_such_index(key))?;
                Ok::<_, IndexError>(Event::IndexDropped { tree, key })
            })?;
            return Ok(());
        }
        let revision = self.drop_index_at(key, Moment::Now)?;
        Ok(self.shared.acknowledge(revision, None)?)
    }

    pub(crate) fn drop_index_at(
        &self,
        key: &str,
        moment: Moment<'_>,
    ) -> Result<Revision, IndexError> {
        let mut branches = lock(&self.state.branches);
        let found = branches.indexes.get_key_value(key).map(|(key, _)| Arc::clone(key));
        let event = Event::IndexDropped {
            tree: self.state.id,
            key: found.ok_or_else(|| no_such_index(key))?,
        };
        let time = moment.time(|| self.shared.now());
        Ok(self.shared.write(moment, time, &self.meta, Some(event), |_| {
            branches.indexes.remove(key);
        })?)
    }

    /// The keys of all indexes of the tree, in order.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.create_index("name")?;
    /// tree.create_index("age")?;
    /// assert_eq!(tree.list_indexes(), ["age".into(), "name".into()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn list_indexes(&self) -> Vec<Arc<str>> {
        lock(&self.state.branches).indexes.keys().cloned().collect()
    }

    /// The index of this key for a version of this branch, or of another of this tree: `None` when
    /// the tree has none of this key.
    ///
    /// It costs what differs between the version and the newest one of this branch that an index
    /// was asked for; where none ever was, going through the whole version. No writer waits
    /// meanwhile, and who asks for the newest version of the last answer, nobody.
    ///
    /// # Errors
    /// When there is no room for it.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("people")?;
    /// tree.create_index("age")?;
    /// let empty = tree.snapshot();
    /// tree.update(|tx| tx.put_attribute(&[], "age", 30))?;
    /// let count = |version| -> Result<_, Box<dyn std::error::Error>> {
    ///     let index = tree.index("age", version)?.expect("it was made");
    ///     let found = index.find(30.into()).count();
    ///     Ok(found)
    /// };
    /// assert_eq!((count(&empty)?, count(&tree.snapshot())?), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index(&self, key: &str, of: &Snapshot) -> Result<Option<AttributeIndex>, EditError> {
        let index = lock(&self.state.branches).indexes.get(key).cloned();
        index.map(|index| index.of(self.head.id, key, of)).transpose()
    }

    /// Checks what is known of the index of this key on all branches, and the versions it is of, as
    /// [`check`](jungle_tree::Snapshot::check) does. The index that is asked for next is made from
    /// these: so what came in a checkpoint is to be checked before any is.
    ///
    /// # Errors
    /// At the first thing that is wrong.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("people")?;
    /// tree.create_index("age")?;
    /// tree.update(|tx| tx.put_attribute(&[], "age", 30))?;
    /// tree.index("age", &tree.snapshot())?;
    /// tree.check_index("age")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_index(&self, key: &str) -> Result<(), CheckError> {
        let index = lock(&self.state.branches).indexes.get(key).cloned();
        let built = index.map(|index| lock(&index.built).values().cloned().collect());
        let built: Vec<Built> = built.unwrap_or_default();
        built.iter().try_for_each(|Built { of, index }| {
            of.check()?;
            index.as_snapshot().check().map(drop)
        })
    }
}

fn no_such_index(key: &str) -> IndexError {
    IndexError::NoSuchIndex { key: key.into() }
}
