//! Taking a node out of a history: each record is done again beside one that makes the same commit
//! without it.

pub(crate) mod copy;

use std::collections::{HashMap, HashSet};

use jungle_tree::{Change, ChangeSet, EditError, Key, Path, Renumbered, Snapshot, Tree, diff};

use crate::branch::other_keys::OtherKeys;
use crate::journal::{BranchEdit, CommitRecord, Event, TreeId};
use crate::jungle::Jungle;
use crate::restore::replay::{ReplayError, does_not_fit};
use crate::revision::Revision;

/// What is to be taken out of a tree, in all its revisions: the node at a path with all below it.
/// An [`Eraser`] takes it; of a folder `OpenOptions::erase` in `jungle-store` does all of it.
///
/// ```
/// use jungle_db::{Erasure, Jungle};
/// let tree = Jungle::new()?.create_tree("people")?;
/// let erasure = Erasure::new(tree.id(), "/ana".parse()?)?;
/// assert!(Erasure::new(tree.id(), "/".parse()?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Erasure {
    tree: TreeId,
    path: Path,
    key: Key,
    parent: Path,
    attribute: Option<Box<str>>,
}

/// The root cannot be taken out of a tree.
///
/// ```
/// use jungle_db::{EraseRootError, Erasure, TreeId};
/// let refused = Erasure::new(TreeId(1), jungle_tree::Path::root());
/// assert_eq!(refused.unwrap_err(), EraseRootError);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the root of a tree cannot be erased")]
pub struct EraseRootError;

impl Erasure {
    /// The node at this path, with all below it.
    ///
    /// # Errors
    /// When it is the root.
    pub fn new(tree: TreeId, path: Path) -> Result<Erasure, EraseRootError> {
        let (key, parent) = path.split_last().ok_or(EraseRootError)?;
        let (key, parent) = (key.clone(), Path::from(parent));
        Ok(Erasure { tree, path, key, parent, attribute: None })
    }

    /// And this attribute of its parent.
    ///
    /// ```
    /// use jungle_db::{Erasure, Jungle};
    /// let tree = Jungle::new()?.create_tree("people")?;
    /// tree.update(|tx| tx.put_attribute(&[], "ana", 41))?;
    /// let erasure = Erasure::new(tree.id(), "/ana".parse()?)?;
    /// assert!(!erasure.is_in(&tree.snapshot()));
    /// let erasure = erasure.and_attribute("ana");
    /// assert!(erasure.is_in(&tree.snapshot()));
    /// assert!(!erasure.without(&tree.snapshot())?.root().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn and_attribute(mut self, key: &str) -> Self {
        self.attribute = Some(key.into());
        self
    }

    /// Is it about this tree?
    pub(crate) fn is_of(&self, tree: TreeId) -> bool {
        self.tree == tree
    }

    /// Is anything of it in this version?
    #[must_use]
    pub fn is_in(&self, version: &Snapshot) -> bool {
        let Ok(parent) = version.root().at(&self.parent) else { return false };
        let attribute = self.attribute.as_deref();
        parent.child(&self.key).is_some()
            || attribute.is_some_and(|key| parent.attribute(key).is_some())
    }

    /// A version without it.
    ///
    /// # Errors
    /// When there is no room for that.
    ///
    /// ```
    /// use jungle_db::{Erasure, Jungle};
    /// let tree = Jungle::new()?.create_tree("people")?;
    /// tree.update(|tx| tx.insert_child(&[], &"ana".into()))?;
    /// let erasure = Erasure::new(tree.id(), "/ana".parse()?)?;
    /// let version = tree.snapshot();
    /// assert!(erasure.is_in(&version));
    /// assert!(!erasure.without(&version)?.root().has_children());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn without(&self, version: &Snapshot) -> Result<Snapshot, EditError> {
        if !self.is_in(version) {
            return Ok(version.clone());
        }
        let mut tree = Tree::from_snapshot(version);
        tree.edit(|editor| {
            if editor.root().at(&self.path).is_ok() {
                editor.remove(&self.path)?;
            }
            if let Some(key) = &self.attribute {
                editor.remove_attribute(&self.parent, key)?;
            }
            Ok::<_, EditError>(())
        })?;
        Ok(tree.snapshot())
    }

    /// Takes it out of the nodes that have other keys on another branch.
    pub(crate) fn forget(&self, renumbered: &mut OtherKeys) {
        let stays = |node: &&Renumbered| !node.path.starts_with(&self.path);
        if let OtherKeys::Told(nodes) = renumbered
            && !nodes.iter().all(|node| stays(&node))
        {
            *nodes = nodes.iter().filter(stays).cloned().collect();
        }
    }

    /// What becomes of a change.
    fn fate(&self, change: &Change) -> Fate {
        let is_below = |path: &[Key]| path.starts_with(&self.path);
        let is_above = |path: &[Key]| !is_below(path) && self.path.starts_with(path);
        match change {
            Change::ChildAdded { path } if path == &self.path => self.fate_of_made(),
            Change::SubtreeSet { path, .. } if path == &self.path => self.fate_of_made(),
            Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
                let is_own = *path == self.parent && self.attribute.as_ref() == Some(key);
                if is_own || is_below(path) { Fate::Goes } else { Fate::Stays }
            }
            Change::Moved { from, to } => match (is_below(from), is_below(to)) {
                (true, true) => Fate::Goes,
                (false, false) if !is_above(from) && !is_above(to) => Fate::Stays,
                _ => Fate::Mixed,
            },
            Change::SubtreeSet { path, .. } if is_above(path) => Fate::Mixed,
            other if is_below(other.path()) => Fate::Goes,
            _ => Fate::Stays,
        }
    }

    /// A position stays one that was given, a name is not even told.
    fn fate_of_made(&self) -> Fate {
        match self.key {
            Key::Position(_) => Fate::Comes,
            Key::Name(_) => Fate::Goes,
        }
    }
}

/// What becomes of a change.
enum Fate {
    Stays,
    Goes,
    /// The position is given and taken back.
    Comes,
    /// It concerns what stays, too: what the whole commit did is found out by comparing.
    Mixed,
}

/// A node that was moved to the erased path, from it, or with a node that it was in; or that has
/// another path on the branch that its own was merged into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedMove {
    /// The revision.
    pub revision: Revision,
    /// Its path before.
    pub from: Path,
    /// Its path after.
    pub to: Path,
}

/// What was taken out so far.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Eraser, Erasure, Jungle, MemoryJournal};
/// use jungle_tree::Path;
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// let tree = jungle.create_tree("people")?;
/// tree.update(|tx| {
///     tx.insert_child(&[], &"ana".into())?;
///     tx.put_attribute(&["ana".into()], "age", 41)
/// })?;
/// tree.update(|tx| tx.move_node(&["ana".into()], &[], &"anna".into()))?;
///
/// let mut eraser = Eraser::new(Erasure::new(tree.id(), "/ana".parse()?)?);
/// let scratch = Jungle::new()?;
/// for record in journal.records() {
///     eraser.replay(&scratch, &record)?;
/// }
/// let erased = eraser.erased();
/// assert_eq!(erased.commits, 2);
/// // It is still there, under another name.
/// assert_eq!(erased.moves[0].to, Path::from(["anna"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Erased {
    /// How many commits concerned it; where there were only versions to copy, how many had it.
    pub commits: u64,
    /// Moves by which the same content may be, or have been, at another path, where it stays: the
    /// first [`MOVES_TOLD_MAX`].
    pub moves: Vec<ErasedMove>,
}

/// So many moves are told.
pub const MOVES_TOLD_MAX: usize = 1000;

/// Does the records of a Jungle again, and makes those of one that never had something.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Eraser, Erasure, Jungle, MemoryJournal};
///
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// let tree = jungle.create_tree("people")?;
/// tree.update(|tx| tx.insert_child(&[], &"ana".into()))?;
/// let with = tree.update(|tx| tx.insert_child(&[], &"ben".into()))?.revision;
///
/// let (scratch, without) = (Jungle::new()?, Jungle::new()?);
/// let mut eraser = Eraser::new(Erasure::new(tree.id(), "/ana".parse()?)?);
/// for record in journal.records() {
///     without.replay(&eraser.replay(&scratch, &record)?)?;
/// }
/// let tree = without.open_tree("people")?;
/// assert!(tree.at(with)?.root().child("ana").is_none());
/// assert!(tree.at(with)?.root().child("ben").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Eraser {
    erasure: Erasure,
    erased: Erased,
}

impl Eraser {
    /// Begins; no record was done yet.
    #[must_use]
    pub fn new(erasure: Erasure) -> Eraser {
        Eraser { erasure, erased: Erased::default() }
    }

    /// What was taken out so far.
    #[must_use]
    pub fn erased(&self) -> &Erased {
        &self.erased
    }

    /// Does a record again in `jungle`, as [`Jungle::replay`], and gives the one that makes the
    /// same commit without what is erased: the same revision, time, author and message.
    ///
    /// # Errors
    /// As [`Jungle::replay`].
    pub fn replay(
        &mut self,
        jungle: &Jungle,
        record: &CommitRecord,
    ) -> Result<CommitRecord, ReplayError> {
        let mut without = record.clone();
        let Event::Edited(edits) = &mut without.event else {
            jungle.replay(record)?;
            return Ok(without);
        };
        let mut mixed = Vec::new();
        let mut is_in = false;
        let tree = self.erasure.tree;
        for edit in edits.iter_mut().filter(|edit| edit.tree == tree) {
            if let Some(merged) = &mut edit.merged {
                self.note_other_keys(record.revision, merged.renumbered.nodes());
                self.erasure.forget(&mut merged.renumbered);
            }
            self.note_moves(record.revision, &edit.changes);
            match self.filter(&edit.changes) {
                Some((changes, touched)) => {
                    is_in |= touched;
                    edit.changes = changes;
                }
                None => {
                    let handle = jungle.handle_of(edit.tree, edit.branch)?;
                    mixed.push((edit, handle.head.reader.snapshot()));
                }
            }
        }
        jungle.replay(record)?;
        for (edit, before) in mixed {
            is_in |= self.compare(jungle, edit, &before)?;
        }
        self.erased.commits += u64::from(is_in);
        Ok(without)
    }

    /// The changes without those that concern what is erased, and whether there were any; `None`
    /// when some concern what stays as well.
    fn filter(&self, changes: &[Change]) -> Option<(ChangeSet, bool)> {
        let (mut kept, mut stay) = (ChangeSet::new(), 0);
        for change in changes {
            match self.erasure.fate(change) {
                Fate::Stays => {
                    kept.push(change.clone());
                    stay += 1;
                }
                Fate::Goes => {}
                Fate::Comes => {
                    let path = self.erasure.path.clone();
                    kept.push(Change::ChildAdded { path: path.clone() });
                    kept.push(Change::ChildRemoved { path });
                }
                Fate::Mixed => return None,
            }
        }
        Some((kept, stay < changes.len()))
    }

    /// Finds out what a commit did to all else; tells whether what is erased was there, before or
    /// after it.
    fn compare(
        &self,
        jungle: &Jungle,
        edit: &mut BranchEdit,
        before: &Snapshot,
    ) -> Result<bool, ReplayError> {
        let after = jungle.handle_of(edit.tree, edit.branch)?.head.reader.snapshot();
        let is_in = self.erasure.is_in(before) || self.erasure.is_in(&after);
        if is_in {
            let without = |version| self.erasure.without(version).map_err(does_not_fit);
            edit.changes = diff(&without(before)?, &without(&after)?);
        }
        Ok(is_in)
    }

    /// What has another key on the branch that it was merged into is there under another path, too.
    /// Each merge tells it anew.
    fn note_other_keys(&mut self, revision: Revision, renumbered: &[Renumbered]) {
        let keys = renumbered.iter().map(|node| (&*node.path, &node.key));
        let keys: HashMap<&[Key], &Key> = keys.collect();
        let there = |path: &Path| -> Path {
            let key = |end: usize| keys.get(&path[..=end]).copied().unwrap_or(&path[end]);
            (0..path.len()).map(|end| key(end).clone()).collect()
        };
        let known = self.erased.moves.iter().map(|known| (&known.from, &known.to));
        let known: HashSet<(&Path, &Path)> = known.collect();
        let paths = renumbered.iter().map(|node| (&node.path, there(&node.path)));
        let new = paths.filter(|(from, to)| !known.contains(&(*from, to)));
        let moves = new.map(|(from, to)| Change::Moved { from: from.clone(), to });
        let moves: Vec<Change> = moves.collect();
        self.note_moves(revision, &moves);
    }

    fn note_moves(&mut self, revision: Revision, changes: &[Change]) {
        let path = &*self.erasure.path;
        let concerns = |end: &[Key]| end.starts_with(path) || path.starts_with(end);
        let moves = changes.iter().filter_map(|change| match change {
            Change::Moved { from, to } if concerns(from) || concerns(to) => Some((from, to)),
            _ => None,
        });
        let inside = |(from, to): &(&Path, &Path)| from.starts_with(path) && to.starts_with(path);
        let moves = moves.filter(|ends| !inside(ends));
        let room = MOVES_TOLD_MAX - self.erased.moves.len();
        let told = moves.take(room).map(|(from, to)| (from.clone(), to.clone()));
        self.erased.moves.extend(told.map(|(from, to)| ErasedMove { revision, from, to }));
    }
}
