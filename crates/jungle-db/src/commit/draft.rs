//! A private version that a transaction reads and edits.

mod ask;
mod reads;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_tree::{
    Change, ChangeSet, Cursor, EditError, Editor, Key, Node, Path, Place, Position, Signature,
    Tree, ValueRef, diff,
};

use self::reads::Origins;
use crate::commit::durability::Durability;
use crate::commit::log::Log;
use crate::commit::read::Read;
use crate::handle::CommitOptions;
use crate::jungle::Shared;
use crate::revision::CommitMeta;
use crate::sequence::Sequencing;

/// What a transaction promises about others that commit while it runs.
///
/// ```
/// use jungle_db::{CommitOptions, Isolation, Jungle};
/// let tree = Jungle::new()?.create_tree("rota")?;
/// let commits = |isolation| -> Result<bool, Box<dyn std::error::Error>> {
///     let options = CommitOptions { isolation, ..CommitOptions::default() };
///     let mut tx = tree.begin(options);
///     assert!(tx.attribute(&[], "ben")?.is_none());
///     tx.put_attribute(&[], "ana", "away")?;
///     tree.update(|theirs| theirs.put_attribute(&[], "ben", "away"))?;
///     let is_committed = tx.commit().is_ok();
///     tree.update(|tx| tx.remove_attribute(&[], "ben"))?;
///     Ok(is_committed)
/// };
/// assert!(!commits(Isolation::Serializable)? && commits(Isolation::Snapshot)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// As if it ran alone, at the moment of its commit: when someone changed what it read, it
    /// does not commit as it is.
    #[default]
    Serializable,
    /// It reads one version, and only what it writes can collide: two transactions that each read
    /// what the other writes both commit.
    Snapshot,
}

/// The tree as a transaction wants it: one version, edited in private. It reads its own edits.
///
/// Reading through it is remembered by path, so that a change to what was read is noticed at
/// commit ([`Isolation::Serializable`]). Ask the narrowest question: after
/// [`attribute`](Draft::attribute) only a change of that attribute matters, after
/// [`get`](Draft::get) any change below the node. An edit that depends on whether a node is there
/// (it adds one under a key of its own, removes one, moves one) counts as a read of that: of two
/// transactions that remove the same node, one finds that it is gone.
///
/// ```
/// use jungle_db::Jungle;
/// let jungle = Jungle::new()?;
/// let tree = jungle.create_tree("board")?;
/// let committed = tree.update(|tx| {
///     let message = [tx.append(&[])?];
///     tx.put_attribute(&message, "text", "hello")?;
///     assert_eq!(tx.attribute(&message, "text").unwrap().unwrap().as_text(), Some("hello"));
///     Ok::<_, jungle_tree::EditError>(())
/// })?;
/// assert_eq!(tree.read().root().child_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Draft {
    pub(crate) editor: Editor,
    reads: RefCell<Vec<Read>>,
    origins: Origins,
    /// What was moved: by its path in the base, and to where.
    moved: Vec<(Path, Path)>,
    log: Log,
    pub(crate) options: CommitOptions,
    signer: Option<Signer>,
    /// Does an edit leave out what is so already? Not where others may have put something else
    /// that is not known here yet.
    leaves_out: bool,
    /// Has it left out something?
    has_left_out: bool,
}

/// Draws positions that nobody else draws.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    pub(crate) writer: u64,
    /// The number of its next drawing.
    pub(crate) next: Arc<AtomicU64>,
    /// Also of nodes that are put in a certain place, or only of those that are appended?
    pub(crate) signs_all: bool,
}

impl Signer {
    fn sign(&self) -> Signature {
        Signature::new(self.writer, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a draft leaves behind.
pub(crate) struct Parts {
    pub(crate) editor: Editor,
    pub(crate) reads: Vec<Read>,
    pub(crate) moved: Vec<(Path, Path)>,
    pub(crate) log: Log,
    pub(crate) options: CommitOptions,
}

impl Draft {
    pub(crate) fn new(base: jungle_tree::Snapshot, options: CommitOptions) -> Self {
        Draft {
            editor: Editor::new(base),
            reads: RefCell::new(Vec::new()),
            origins: Origins::default(),
            moved: Vec::new(),
            log: Log::default(),
            options,
            signer: None,
            leaves_out: false,
            has_left_out: false,
        }
    }

    /// A draft of the newest version of a branch, to be committed there.
    pub(crate) fn of_head(
        head: jungle_tree::Snapshot,
        shared: &Shared,
        options: CommitOptions,
    ) -> Self {
        let sequencing = shared.sequencing();
        let signer = sequencing.and_then(Sequencing::signer);
        Draft { leaves_out: sequencing.is_none(), signer, ..Draft::new(head, options) }
    }

    /// A draft of a version that whoever makes it keeps elsewhere: it is
    /// [taken](Draft::into_changes) as changes, and never committed. The positions it gives are
    /// signed: those of drawings of this writer from `drawing` on, which must not have been given
    /// before. So they stay what they are, whatever others do who do not see this.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Draft, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut draft = Draft::signed(&tree.snapshot(), CommitOptions::default(), 1, 7);
    /// draft.append(&[])?;
    /// let mut line = jungle_tree::Tree::from_snapshot(&tree.snapshot());
    /// let (changes, next) = draft.into_changes(&mut line);
    /// assert_eq!((changes.to_string().as_str(), next), ("+ /0.010711\n", 8));
    /// assert_eq!(line.snapshot().root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn signed(
        base: &jungle_tree::Snapshot,
        options: CommitOptions,
        writer: u64,
        drawing: u64,
    ) -> Draft {
        let next = Arc::new(AtomicU64::new(drawing));
        let signer = Some(Signer { writer, next, signs_all: true });
        Draft::new(base.clone(), options).with_signer(signer)
    }

    /// The same, as a signer says.
    pub(crate) fn with_signer(mut self, signer: Option<Signer>) -> Draft {
        self.signer = signer;
        self
    }

    /// What it did to the version it began with, and the number of the next drawing of a signed
    /// one. What that came to becomes the newest version of `line`.
    #[must_use]
    pub fn into_changes(self, line: &mut Tree) -> (ChangeSet, u64) {
        let next = self.signer.map_or(0, |signer| signer.next.load(Ordering::Relaxed));
        let base = self.editor.base().clone();
        line.publish(self.editor);
        let changes = match self.log {
            Log::Complete(changes) => changes.into(),
            Log::Incomplete => diff(&base, &line.snapshot()),
        };
        (changes, next)
    }

    /// What its commit is called.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, CommitOptions, Durability, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut tx = tree.begin(CommitOptions::from(&CommitMeta::new().author("ana")));
    /// tx.set_durability(Durability::Buffered);
    /// assert_eq!(tx.options().meta.author_name(), Some("ana"));
    /// assert_eq!(tx.options().durability, Some(Durability::Buffered));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn options(&self) -> &CommitOptions {
        &self.options
    }

    /// The signature of the next position, of a draft that signs all of them.
    fn sign(&self) -> Option<Signature> {
        self.signer.as_ref().filter(|signer| signer.signs_all).map(Signer::sign)
    }

    pub(crate) fn into_parts(self) -> Parts {
        Parts {
            editor: self.editor,
            reads: self.reads.into_inner(),
            moved: self.moved,
            log: self.log,
            options: self.options,
        }
    }

    /// The version it began with. What is read from it is not remembered.
    #[must_use]
    pub fn base(&self) -> &jungle_tree::Snapshot {
        self.editor.base()
    }

    /// Has anything been edited?
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut tx = tree.begin(CommitOptions::default());
    /// assert!(!tx.is_changed());
    /// tx.append(&[])?;
    /// assert!(tx.is_changed());
    /// assert_eq!(tx.base().root().child_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.editor.is_changed()
    }

    /// Is there something to commit, or to be found so still?
    pub(crate) fn is_to_commit(&self) -> bool {
        self.has_left_out || self.is_changed()
    }

    /// Says who makes this commit, and why.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| {
    ///     tx.describe(CommitMeta::new().author("ana").message("a first message"));
    ///     tx.append(&[])
    /// })?;
    /// let newest = tree.history(..).next().unwrap()?;
    /// assert_eq!(newest.meta.author_name(), Some("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn describe(&mut self, meta: CommitMeta) {
        self.options.meta = meta;
    }

    /// Says what this commit has to survive, instead of what the options said.
    pub fn set_durability(&mut self, durability: Durability) {
        self.options.durability = Some(durability);
    }

    /// Adds an empty child to the node at `path` and tells its position, which is the position it
    /// will have: so this counts as a read of which position comes next there, and another's new
    /// child in the same place is an overlap. [`append`](Draft::append) avoids that.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_db::{CommitError, CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut ours = tree.begin(CommitOptions::default());
    /// assert_eq!(ours.add_child(&[])?, 0.into());
    /// tree.update(|tx| tx.append(&[]))?;
    /// // It was told that it is /0, and it would not be.
    /// assert!(matches!(ours.commit(), Err(CommitError::Conflict(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_child(&mut self, path: &[Key]) -> Result<Key, EditError> {
        self.record(path, Read::NextPosition);
        let signature = self.sign();
        self.add(path, Place::Last, signature)
    }

    /// Adds an empty child to the node at `path`, behind whatever is there when this commits. The
    /// key is good for further edits in this transaction; if others appended there meanwhile, both
    /// children are kept and the final key is in [`Committed::renamed`](crate::Committed::renamed).
    /// Where others are appending to the same [log](crate::Sequencer::signs_as) it is signed, and
    /// stays what it is.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut ours = tree.begin(CommitOptions::default());
    /// let ours_at = ours.append(&[])?;
    /// let theirs_at = tree.update(|tx| tx.append(&[]))?.value;
    /// assert_eq!(ours_at, theirs_at);
    /// assert_eq!(ours.commit()?.renamed, [([0].into(), [1].into())]);
    /// assert_eq!(tree.read().root().child_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append(&mut self, path: &[Key]) -> Result<Key, EditError> {
        let signature = self.signer.as_ref().map(Signer::sign);
        self.add(path, Place::Last, signature)
    }

    fn add(
        &mut self,
        parent: &[Key],
        place: Place<'_>,
        signature: Option<Signature>,
    ) -> Result<Key, EditError> {
        let key = self.edit(|editor| editor.add(parent, place, signature.as_ref()))?;
        self.log.added(parent, &key);
        Ok(key)
    }

    /// Adds an empty child with a key of the caller's.
    ///
    /// # Errors
    /// When there is no such node, the key is taken or beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.insert_child(&[], &"settings".into()))?;
    /// let again = tree.update(|tx| tx.insert_child(&[], &"settings".into()));
    /// assert_eq!(again.unwrap_err().to_string(), "there is a node at /settings already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_child(&mut self, path: &[Key], key: &Key) -> Result<(), EditError> {
        let to = Path::from(path).join(key.clone());
        self.puts(&to);
        self.edit(|editor| editor.insert_child(path, key))?;
        self.log.added(path, key);
        self.replaced(&to);
        Ok(())
    }

    /// Adds an empty child right in front of a sibling. Counts as a read of the children's keys.
    ///
    /// # Errors
    /// When there is no such node or sibling, or no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::Position;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// (0..2).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// let second = Position::new(1)?;
    /// tree.update(|tx| tx.insert_before(&[], &second))?;
    /// let keys: Vec<_> = tree.snapshot().root().children().map(|c| c.0.to_string()).collect();
    /// assert_eq!(keys, ["0", "0.80", "1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_before(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.record(parent, Read::Children);
        let signature = self.sign();
        self.add(parent, Place::Before(sibling), signature)
    }

    /// Adds an empty child right behind a sibling. Counts as a read of the children's keys.
    ///
    /// # Errors
    /// When there is no such node or sibling, or no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::Position;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// (0..2).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// let first = Position::new(0)?;
    /// let between = tree.update(|tx| tx.insert_after(&[], &first))?.value;
    /// let keys: Vec<_> = tree.snapshot().root().children().map(|c| c.0.to_key()).collect();
    /// assert_eq!(keys, [0.into(), between, 1.into()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_after(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.record(parent, Read::Children);
        let signature = self.sign();
        self.add(parent, Place::After(sibling), signature)
    }

    /// Adds an empty child as the `index`-th position (0: the first). Counts as a read of the
    /// children's keys. Where children have children of their own it may cost as much as to look at
    /// each sixteenth in front of it: beside a sibling that is known it always costs the same.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// let first = tree.update(|tx| tx.insert_at(&[], 0))?.value;
    /// let last = tree.update(|tx| tx.insert_at(&[], 2))?.value;
    /// assert_eq!((first.to_string(), last.to_string()), ("-1".to_owned(), "1".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_at(&mut self, parent: &[Key], index: u64) -> Result<Key, EditError> {
        self.record(parent, Read::Children);
        let signature = self.sign();
        self.add(parent, Place::Index(index), signature)
    }

    /// Removes the node at `path` and all below it. Its siblings keep their keys.
    ///
    /// # Errors
    /// When there is no such node, or it is the root.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.insert_child(&[], &"draft".into()))?;
    /// tree.update(|tx| tx.remove(&["draft".into()]))?;
    /// assert!(!tree.read().root().has_children());
    /// assert!(tree.update(|tx| tx.remove(&["draft".into()])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.takes(path);
        self.covers(path);
        self.edit(|editor| editor.remove(path))?;
        self.log.push(|| Change::ChildRemoved { path: path.into() });
        Ok(())
    }

    /// Puts an attribute of the node at `path`. One that has this very value already, of the same
    /// kind and bit for bit, is left as it is, which counts as a read of it: if there is nothing
    /// else to do, no revision is made. In a Jungle that has a [`Sequencer`](crate::Sequencer) it
    /// is put all the same, since others may have put another that is not known here yet; and
    /// [`bulk`](Draft::bulk) and [`cursor`](Draft::cursor) do as they are told.
    ///
    /// # Errors
    /// When there is no such node, the key or the value is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| {
    ///     tx.put_attribute(&[], "title", "hello")?;
    ///     tx.put_attribute(&[], "stars", 3)
    /// })?;
    /// assert_eq!(tree.read().root().attribute("stars"), Some(3.into()));
    /// let again = tree.update(|tx| tx.put_attribute(&[], "stars", 3))?;
    /// assert_eq!((again.revision, tree.history(..).count()), (tree.snapshot().revision(), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_attribute<'v>(
        &mut self,
        path: &[Key],
        key: &str,
        value: impl Into<ValueRef<'v>>,
    ) -> Result<(), EditError> {
        let value = value.into();
        let had = |root: Node<'_>, path: &[Key]| {
            root.at(path).is_ok_and(|node| node.attribute(key) == Some(value))
        };
        let origin = self.origin_of(path).filter(|origin| had(self.base().root(), origin));
        let origin = origin.map(|origin| Path::from(&*origin));
        if origin.is_some() && self.leaves_out && had(self.editor.root(), path) {
            self.has_left_out = true;
        } else {
            self.edit(|editor| editor.put_attribute(path, key, value))?;
            self.log.put(path, key, value);
        }
        if let Some(origin) = origin {
            // What was so before is no change, so it is remembered as something that must be so.
            self.push(Read::Attribute(origin, key.into()));
        }
        Ok(())
    }

    /// Removes an attribute of the node at `path`; `false` when it has none of this key, which
    /// makes no revision, but has to be so still when this commits. Counts as a read of that
    /// attribute.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.put_attribute(&[], "draft", true))?;
    /// let removed = || tree.update(|tx| tx.remove_attribute(&[], "draft")).map(|done| done.value);
    /// assert_eq!((removed()?, removed()?), (true, false));
    /// assert_eq!(tree.history(..).count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_attribute(&mut self, path: &[Key], key: &str) -> Result<bool, EditError> {
        self.record(path, |path| Read::Attribute(path, key.into()));
        let removed = self.edit(|editor| editor.remove_attribute(path, key))?;
        if removed {
            self.log.push(|| Change::AttributeRemoved { path: path.into(), key: key.into() });
        } else {
            self.has_left_out |= self.leaves_out;
            let origin = self.origin_of(path);
            let origin = origin.filter(|origin| self.base().root().at(origin).is_ok());
            if let Some(origin) = origin {
                // As of a put that changes nothing, whatever the isolation.
                self.push(Read::Attribute(Path::from(&*origin), key.into()));
            }
        }
        Ok(removed)
    }

    /// Moves the node at `from`, with all below it, to be the child `key` of the node at `parent`.
    ///
    /// # Errors
    /// When one of them is not there, the key is taken, or the new parent lies below the node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::{EditError, Path};
    /// let tree = Jungle::new()?.create_tree("notes")?;
    /// tree.update(|tx| {
    ///     ["inbox", "done"].iter().try_for_each(|&name| tx.insert_child(&[], &name.into()))?;
    ///     let note = Path::root().join("inbox").join(tx.append(&["inbox".into()])?);
    ///     tx.put_attribute(&note, "text", "buy milk")?;
    ///     tx.move_node(&note, &["done".into()], &"milk".into())
    /// })?;
    /// let path: Path = "/done/milk".parse()?;
    /// let moved = tree.snapshot();
    /// assert_eq!(moved.root().at(&path)?.attribute("text"), Some("buy milk".into()));
    /// let below_itself = tree.update(|tx| tx.move_node(&["done".into()], &path, &0.into()));
    /// assert!(below_itself.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn move_node(&mut self, from: &[Key], parent: &[Key], key: &Key) -> Result<(), EditError> {
        let to = Path::from(parent).join(key.clone());
        self.takes(from);
        if let Some((_, parent)) = from.split_last() {
            // Of a new node nothing is left there to say that it could be made.
            self.record(parent, Read::Exists);
        }
        self.puts(&to);
        self.edit(|editor| editor.move_node(from, parent, key))?;
        self.log = Log::Incomplete;
        self.moved.extend(self.origin_of(from).map(|origin| (Path::from(&*origin), to.clone())));
        self.replaced(&to);
        self.origins.push(to, Some(from.into()));
        Ok(())
    }

    /// Replaces everything in the node at `path` by what `source` holds.
    ///
    /// # Errors
    /// When there is no such node, or no room, or the source is of another arena.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("page")?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// tree.update(|tx| tx.put_attribute(&[0.into()], "text", "kept"))?;
    /// let old = tree.snapshot();
    /// tree.update(|tx| tx.put_attribute(&[0.into()], "text", "spoilt"))?;
    /// tree.update(|tx| tx.set_subtree(&[0.into()], old.root().child(0).unwrap()))?;
    /// assert!(tree.read().root().is_equal(old.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_subtree(&mut self, path: &[Key], source: Node<'_>) -> Result<(), EditError> {
        self.covers(path);
        self.edit(|editor| editor.set_subtree(path, source))?;
        self.log = Log::Incomplete;
        self.replaced(path);
        self.origins.push(path.into(), None);
        Ok(())
    }

    /// Adds a child `key` that holds what `source` holds.
    ///
    /// # Errors
    /// When there is no such node, the key is taken or beyond its limits, there is no room, or the
    /// source is of another arena.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let (template, site) = (jungle.create_tree("template")?, jungle.create_tree("site")?);
    /// template.update(|tx| tx.put_attribute(&[], "title", "Untitled"))?;
    /// let template = template.snapshot();
    /// site.update(|tx| tx.insert_subtree(&[], &"page".into(), template.root()))?;
    /// assert!(site.read().root().child("page").unwrap().is_equal(template.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_subtree(
        &mut self,
        parent: &[Key],
        key: &Key,
        source: Node<'_>,
    ) -> Result<(), EditError> {
        let to = Path::from(parent).join(key.clone());
        self.puts(&to);
        self.edit(|editor| editor.insert_subtree(parent, key, source))?;
        self.log = Log::Incomplete;
        self.replaced(&to);
        self.origins.push(to, None);
        Ok(())
    }

    /// Makes a new root whose only child, under `key`, is the root so far. That costs the same
    /// whatever is below; but a journal gets all of it anew, and whoever commits something else
    /// meanwhile contradicts it.
    ///
    /// # Errors
    /// When the key is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("site")?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// let before = tree.snapshot();
    /// tree.update(|tx| tx.push_root(&"old".into()))?;
    /// assert!(tree.read().root().child("old").unwrap().is_equal(before.root()));
    /// tree.update(|tx| tx.pop_root(&["old".into()]))?;
    /// assert!(tree.read().root().is_equal(before.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_root(&mut self, key: &Key) -> Result<(), EditError> {
        self.edit(|editor| editor.push_root(key))?;
        self.log = Log::Incomplete;
        self.replaced(&[]);
        self.origins.push([key.clone()].into(), Some(Path::root()));
        Ok(())
    }

    /// Makes the node at `path` the root; all else is removed.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("site")?;
    /// tree.update(|tx| {
    ///     tx.insert_child(&[], &"page".into())?;
    ///     tx.put_attribute(&["page".into()], "title", "Hello")?;
    ///     tx.pop_root(&["page".into()])
    /// })?;
    /// assert_eq!(tree.read().root().attribute("title"), Some("Hello".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_root(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.edit(|editor| editor.pop_root(path))?;
        self.log = Log::Incomplete;
        self.replaced(&[]);
        self.origins.push(Path::root(), Some(path.into()));
        Ok(())
    }

    /// A cursor at the node at `path`, for many edits near each other. Counts as a read of all that
    /// is below: it is for building, where nobody else is at work.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// tree.update(|tx| {
    ///     let mut cursor = tx.cursor(&[])?;
    ///     for name in ["a", "b"] {
    ///         cursor.insert_child(&name.into())?;
    ///     }
    ///     Ok::<_, jungle_tree::EditError>(())
    /// })?;
    /// assert_eq!(tree.read().root().child_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cursor(&mut self, path: &[Key]) -> Result<Cursor<'_>, EditError> {
        self.record(path, Read::Subtree);
        self.log = Log::Incomplete;
        self.editor.cursor(path)
    }

    /// Edits as it likes: an import, say. It counts as having read the whole tree, so that it
    /// commits only on the very version it began with (an update runs again).
    ///
    /// # Errors
    /// What `f` says; it may have left some of its edits behind.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// tree.update(|tx| tx.bulk(|editor| editor.cursor(&[])?.add_children(1000)))?;
    /// assert_eq!(tree.read().root().child_count(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk<T, E>(&mut self, f: impl FnOnce(&mut Editor) -> Result<T, E>) -> Result<T, E> {
        self.record(&[], Read::Subtree);
        self.log = Log::Incomplete;
        f(&mut self.editor)
    }

    /// Makes an edit; what it was refused for is something that was read.
    fn edit<T>(
        &mut self,
        f: impl FnOnce(&mut Editor) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let result = f(&mut self.editor);
        if let Err(EditError::NoSuchNode { path } | EditError::ChildExists { path }) = &result {
            self.record(path, Read::Exists);
        }
        result
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("editor", &self.editor)
            .field("reads", &self.reads.borrow().len())
            .finish_non_exhaustive()
    }
}
