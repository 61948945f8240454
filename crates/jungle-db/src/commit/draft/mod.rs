//! A private version that a transaction reads and edits.

mod ask;
mod edit;
mod reads;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_tree::{ChangeSet, Editor, Path, Signature, Tree, diff};

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
    /// Was it said to the draft itself what the commit has to survive?
    has_said_durability: bool,
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
            has_said_durability: false,
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

    /// Takes no attribute key that is new in the Jungle once the tree has brought in so many, by
    /// whatever transactions, also by those that were not committed: for edits of those who may
    /// change some trees alone. The keys of all trees are in one table, which never gets smaller:
    /// where it is full, no tree gets new ones. What was committed is done again as ever, when a
    /// folder is opened or a log is followed, since only a draft has this limit.
    ///
    /// ```
    /// use jungle_db::{Jungle, UpdateError};
    /// use jungle_tree::EditError;
    /// let jungle = Jungle::new()?;
    /// let (notes, other) = (jungle.create_tree("notes")?, jungle.create_tree("other")?);
    /// notes.update(|tx| tx.put_attribute(&[], "title", "hello"))?;
    /// let refused = notes.update(|tx| {
    ///     tx.keys_max(1);
    ///     tx.put_attribute(&[], "title", "another value")?;
    ///     tx.put_attribute(&[], "a user's word", 1)
    /// });
    /// let too_many = EditError::TooManyKeysOfTree { keys: 1, keys_max: 1 };
    /// assert!(matches!(refused, Err(UpdateError::Closure(error)) if error == too_many));
    /// other.update(|tx| {
    ///     tx.keys_max(1);
    ///     tx.put_attribute(&[], "a user's word", 1)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys_max(&mut self, keys_max: u32) {
        self.editor.keys_max(keys_max);
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

    /// Says what this commit has to survive, instead of what the options said. If it is said to
    /// drafts of several trees that become one commit, the strongest of that counts.
    pub fn set_durability(&mut self, durability: Durability) {
        self.options.durability = Some(durability);
        self.has_said_durability = true;
    }

    /// What it was told by [`set_durability`](Draft::set_durability).
    pub(crate) fn said_durability(&self) -> Option<Durability> {
        self.options.durability.filter(|_| self.has_said_durability)
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
