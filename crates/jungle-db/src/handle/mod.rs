//! A handle of one branch of a tree: reading, updating, looking back.

mod comparing;
pub(crate) mod revert;
mod set_root;
pub(crate) mod undo;

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use jungle_tree::{ChangeSet, DiffError, Path, Reading, Steps, TooManySteps, diff, diff_within};

pub use self::comparing::Comparing;
pub use self::set_root::SetRootError;
use crate::commit::draft::{Draft, Isolation};
use crate::commit::durability::Durability;
use crate::commit::transaction::Transaction;
use crate::commit::turn::{self, Turn};
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure, commit, rebase_and_publish};
use crate::head::{Head, lock};
use crate::history::lookup::Found;
use crate::history::past::{NoSuchRevision, Past};
use crate::history::search::At;
use crate::journal::{BranchId, TreeId};
use crate::jungle::{Shared, TreeState};
use crate::planted::{Bug, is_awake};
use crate::revision::{CommitMeta, RequestId, Revision, Timestamp};
use crate::sequence::Tip;
use crate::snapshot::Snapshot;
use crate::watch::Watch;

/// A branch of a tree, usually the main one. Cloning the handle is cheap; all clones are the same.
///
/// - [`read`](TreeHandle::read) looks at the newest version for a moment,
///   [`snapshot`](TreeHandle::snapshot) holds it for as long as you like. Neither waits for a
///   writer.
/// - [`update`](TreeHandle::update) is the way to write; [`begin`](TreeHandle::begin) is for
///   transactions that do not fit into a closure.
/// - [`at`](TreeHandle::at), [`history`](TreeHandle::history) and [`diff`](TreeHandle::diff) look
///   back, [`watch`](TreeHandle::watch) looks ahead.
///
/// ```
/// use jungle_db::Jungle;
/// let board = Jungle::new()?.create_tree("board")?;
/// let posted = board.update(|tx| tx.append(&[]))?;
/// board.update(|tx| tx.remove(&[posted.value.clone()]))?;
/// assert_eq!(board.read().root().child_count(), 0);
/// assert_eq!(board.at(posted.revision)?.root().child_count(), 1);
/// assert_eq!(board.history(..).count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TreeHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<TreeState>,
    pub(crate) head: Arc<Head>,
    pub(crate) branch: Option<Arc<str>>,
    /// Of what is done by it that is no edit.
    pub(crate) meta: CommitMeta,
    /// For how many steps it compares, if not for as many as it takes.
    pub(crate) steps_max: Option<u64>,
    pub(crate) comparing: Option<Arc<dyn Comparing>>,
}

/// What a commit came to.
///
/// ```
/// use jungle_db::{CommitOptions, Jungle};
/// let tree = Jungle::new()?.create_tree("board")?;
/// let mut ours = tree.begin(CommitOptions::default());
/// ours.append(&[])?;
/// let theirs = tree.update(|tx| tx.append(&[]))?;
/// assert_eq!((theirs.value, theirs.runs), (0.into(), 1));
/// // Both were at 0: ours is at 1 now.
/// assert_eq!(ours.commit()?.renamed, [([0].into(), [1].into())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed<T> {
    /// What the closure gave.
    pub value: T,
    /// The revision that was made; when nothing was changed, the newest that was looked at.
    pub revision: Revision,
    /// The nodes that got another key since others appended in the same place: from where the
    /// transaction saw it to where it is.
    pub renamed: Vec<(Path, Path)>,
    /// How often the closure ran.
    pub runs: u32,
}

/// How a transaction runs, and what its commit is called.
#[derive(Clone, Debug, Default)]
pub struct CommitOptions {
    /// What it promises about others.
    pub isolation: Isolation,
    /// Who makes it, and why; the transaction may say it later, too.
    pub meta: CommitMeta,
    /// What it has to survive; [`Builder::durability`](crate::Builder::durability) when not said.
    /// The transaction may say it later, too ([`Draft::set_durability`]), and that goes before it.
    pub durability: Option<Durability>,
}

impl From<&CommitMeta> for CommitOptions {
    fn from(meta: &CommitMeta) -> CommitOptions {
        CommitOptions { meta: meta.clone(), ..CommitOptions::default() }
    }
}

/// Why an update did nothing.
///
/// ```
/// use jungle_db::{Jungle, UpdateError};
/// let account = Jungle::new()?.create_tree("account")?;
/// let refused = account.update(|tx| {
///     tx.put_attribute(&[], "balance", -1).map_err(|error| error.to_string())?;
///     Err::<(), _>("there is not that much".to_owned())
/// });
/// assert!(matches!(refused, Err(UpdateError::Closure(why)) if why.starts_with("there is not")));
/// assert!(!account.read().root().has_attributes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError<E> {
    /// The closure said so.
    #[error(transparent)]
    Closure(E),
    /// It could not be written.
    #[error(transparent)]
    NotWritten(NotWritten),
}

impl TreeHandle {
    pub(crate) fn main(shared: &Arc<Shared>, state: &Arc<TreeState>) -> TreeHandle {
        TreeHandle {
            shared: Arc::clone(shared),
            state: Arc::clone(state),
            head: Arc::clone(&state.main),
            branch: None,
            meta: CommitMeta::new(),
            steps_max: None,
            comparing: None,
        }
    }

    /// This handle, for somebody: what is done by it that is no edit (making and deleting branches,
    /// tags and indexes, saying what is kept) is written down with this author and message. Edits
    /// say it themselves.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_db::{CommitMeta, Jungle, MemoryJournal};
    /// let journal = Arc::new(MemoryJournal::default());
    /// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
    /// let ana = CommitMeta::new().author("ana");
    /// let tree = jungle.by(&ana).create_tree("board")?;
    /// tree.by(&ana).tag("begin", jungle.revision())?;
    /// assert!(journal.records().iter().all(|record| record.meta == ana));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn by(&self, meta: &CommitMeta) -> TreeHandle {
        TreeHandle { meta: meta.clone(), ..self.clone() }
    }

    /// This handle, for versions that anybody may have made: a revert, a restore, an undo or a redo
    /// by it, and putting another root in the place of this one, is given up where it takes more
    /// [`Steps`] to find what differs, all tries together where others commit meanwhile; so is a
    /// revision that a watch of it comes to. A merge has a limit
    /// [of its own](jungle_tree::MergeOptions::steps_max). What is edited by it is counted as it is
    /// committed, and refused with [`NotWritten::TooManySteps`], where it has to be compared to be
    /// told: more than 64 edits, or some that are not noted one by one ([`Draft::bulk`], say).
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle, RevertError};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let much = tree.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop)))?.revision;
    /// let reverted = |steps| tree.steps_max(steps).revert(much, &CommitMeta::new());
    /// assert!(matches!(reverted(100), Err(RevertError::TooManySteps(_))));
    /// assert_eq!(tree.read().root().child_count(), 100);
    /// reverted(1_000)?;
    /// assert_eq!(tree.read().root().child_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn steps_max(&self, steps_max: u64) -> TreeHandle {
        TreeHandle { steps_max: Some(steps_max), ..self.clone() }
    }

    /// The steps of one request, however often it is tried.
    pub(crate) fn steps(&self) -> Option<Steps> {
        self.steps_max.map(Steps::new)
    }

    /// The name of the tree now.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let board = jungle.create_tree("board")?;
    /// jungle.rename_tree("board", "archive")?;
    /// assert_eq!(&*board.name(), "archive");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&lock(&self.state.name))
    }

    /// The tree, whatever its name.
    #[must_use]
    pub fn id(&self) -> TreeId {
        self.state.id
    }

    /// The branch, whatever its name.
    #[must_use]
    pub fn branch_id(&self) -> BranchId {
        self.head.id
    }

    /// Looks at the newest version, for a short read: no lock, no shared count. Do not hold it
    /// long; that is what [`snapshot`](TreeHandle::snapshot) is for.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "hello"))?;
    /// assert_eq!(tree.read().root().attribute("title"), Some("hello".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn read(&self) -> Reading<'_> {
        self.head.reader.read()
    }

    /// Holds the newest version.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let before = tree.snapshot();
    /// tree.update(|tx| tx.append(&[]))?;
    /// assert_eq!([before, tree.snapshot()].map(|version| version.root().child_count()), [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.head.snapshot()
    }

    /// Edits the tree in one atomic step, whatever others do meanwhile.
    ///
    /// The closure works on a private version. If others have committed before it is through, its
    /// changes are put on top of theirs, without running it again; only if they changed what it
    /// changed or read, it is run again, on their version. So it may run more than once, and must
    /// not do what cannot be done twice. When it fails nothing has happened.
    ///
    /// A closure that changes nothing makes no revision. What it has seen is as durable then as its
    /// commit would have been: if somebody else's commit is still on its way to the disk, that is
    /// waited for. [`read`](TreeHandle::read) and [`snapshot`](TreeHandle::snapshot) wait for
    /// nothing.
    ///
    /// # Errors
    /// What the closure says, or that nothing can be written.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("counter")?;
    /// let committed = tree.update(|tx| {
    ///     let count = tx.attribute(&[], "n").unwrap().and_then(|n| n.as_int()).unwrap_or(0);
    ///     tx.put_attribute(&[], "n", count + 1)?;
    ///     Ok::<_, jungle_tree::EditError>(count + 1)
    /// })?;
    /// assert_eq!((committed.value, committed.runs), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<T, E>(
        &self,
        f: impl FnMut(&mut Draft) -> Result<T, E>,
    ) -> Result<Committed<T>, UpdateError<E>> {
        self.update_with(&CommitOptions::default(), f)
    }

    /// As [`update`](TreeHandle::update), with options.
    ///
    /// # Errors
    /// What the closure says, or that nothing can be written.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, CommitOptions, Durability, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let options = CommitOptions {
    ///     meta: CommitMeta::new().author("ana"),
    ///     durability: Some(Durability::Buffered),
    ///     ..CommitOptions::default()
    /// };
    /// tree.update_with(&options, |tx| tx.append(&[]))?;
    /// assert_eq!(tree.history(..).next().unwrap()?.meta.author_name(), Some("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_with<T, E>(
        &self,
        options: &CommitOptions,
        mut f: impl FnMut(&mut Draft) -> Result<T, E>,
    ) -> Result<Committed<T>, UpdateError<E>> {
        let mut turn = Turn::enter(std::iter::once(&*self.head));
        let (mut runs, mut overlaps) = (0, 0);
        let mut may_begin_at_tip = true;
        loop {
            runs += 1;
            if let Some(sequencing) = self.shared.sequencing() {
                sequencing.await_turn();
            }
            let base = self.head.snapshot();
            let began_at = base.revision();
            // What was committed before this version must not fail, or be nothing, on top of it.
            if options.meta.request().is_some() {
                let looked = self.head.lock().refuse_repeated(&options.meta);
                looked.map_err(UpdateError::NotWritten)?;
            }
            let tip = if may_begin_at_tip { self.tip() } else { None };
            let lost = tip.as_ref().map(|tip| tip.lost);
            let base = tip.map_or_else(|| base.into_tree(), |tip| tip.tree);
            let version = base.version();
            let mut draft = Draft::of_head(base, &self.shared, options.clone());
            let value = f(&mut draft);
            if lost.is_some() && (value.is_err() || !draft.is_changed()) {
                // It says so of what may come to nothing.
                may_begin_at_tip = false;
                continue;
            }
            may_begin_at_tip = true;
            let value = value.map_err(UpdateError::Closure)?;
            if !draft.is_to_commit() {
                drop(turn);
                let relied = self.shared.rely_on(began_at, draft.options().durability);
                relied.map_err(UpdateError::NotWritten)?;
                return Ok(Committed { value, revision: began_at, renamed: Vec::new(), runs });
            }
            // It would never be what is newest, however often it was tried.
            if draft.base().version() != version {
                return Err(UpdateError::NotWritten(NotWritten::OtherJungle));
            }
            let (attempt, options) = Attempt::of_draft(self, draft);
            let mut attempt = attempt.of_tip(lost);
            let attempts = std::slice::from_mut(&mut attempt);
            let revision = match rebase_and_publish(&self.shared, attempts, &options.meta) {
                Ok(revision) => revision,
                Err(Failure::NotWritten(error)) => return Err(UpdateError::NotWritten(error)),
                // To keep others of this Jungle out would not have helped.
                Err(Failure::Overlap(_)) if self.has_lost(lost) => continue,
                Err(Failure::Overlap(_)) => {
                    overlaps += 1;
                    if turn.is_none() && turn::is_due(overlaps) {
                        turn = Some(Turn::take(std::iter::once(&*self.head)));
                    }
                    continue;
                }
            };
            // Those who wait for their turn share the sync that is waited for now.
            drop(turn);
            let acknowledged = self.shared.acknowledge(revision, options.durability);
            acknowledged.map_err(UpdateError::NotWritten)?;
            return Ok(Committed { value, revision, renamed: attempt.into_renamed(), runs });
        }
    }

    /// Where an update begins that waits for its place elsewhere, if that is not the head.
    fn tip(&self) -> Option<Tip> {
        self.shared.sequencing()?.tip(self.head.id)
    }

    /// Has this tip come to nothing?
    fn has_lost(&self, tip: Option<u64>) -> bool {
        tip.zip(self.shared.sequencing()).is_some_and(|(tip, sequencing)| tip != sequencing.lost())
    }

    /// Commits a draft; tells the revision and what got another key.
    pub(crate) fn commit(
        &self,
        draft: Draft,
        began_at: Revision,
    ) -> Result<(Revision, Vec<(Path, Path)>), Failure> {
        if !draft.is_to_commit() {
            self.shared.rely_on(began_at, draft.options().durability)?;
            return Ok((began_at, Vec::new()));
        }
        let (attempt, options) = Attempt::of_draft(self, draft);
        self.commit_attempt(attempt, &options)
    }

    pub(crate) fn commit_attempt(
        &self,
        mut attempt: Attempt<'_>,
        options: &CommitOptions,
    ) -> Result<(Revision, Vec<(Path, Path)>), Failure> {
        let revision = commit(&self.shared, std::slice::from_mut(&mut attempt), options)?;
        Ok((revision, attempt.into_renamed()))
    }

    /// The revision that a request was committed as, among the newest
    /// [`REQUESTS_MAX`](crate::REQUESTS_MAX) of those that are kept: see
    /// [`CommitMeta::asked_by`]. Those that are not in memory are read when a branch is asked
    /// first, while nobody commits to it.
    ///
    /// # Errors
    /// When another request with this key was committed, or that cannot be read.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, CommitOptions, Jungle, RequestId};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let request = RequestId { key: 7, fingerprint: 1 };
    /// assert_eq!(tree.find_request(request)?, None);
    /// let options = CommitOptions::from(&CommitMeta::new().asked_by(request));
    /// let posted = tree.update_with(&options, |tx| tx.append(&[]))?;
    /// assert_eq!(tree.find_request(request)?, Some(posted.revision));
    /// assert!(tree.find_request(RequestId { fingerprint: 2, ..request }).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_request(&self, request: RequestId) -> Result<Option<Revision>, NotWritten> {
        self.head.lock().find_request(request)
    }

    /// Begins a transaction at the newest version.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut tx = tree.begin(CommitOptions::default());
    /// tx.append(&[])?;
    /// tx.put_attribute(&[0.into()], "text", "hello")?;
    /// assert_eq!(tree.read().root().child_count(), 0);
    /// tx.commit()?;
    /// assert_eq!(tree.read().root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn begin(&self, options: CommitOptions) -> Transaction {
        Transaction::new(self.clone(), options)
    }

    /// The tree as it was at a revision: that of its own newest revision up to then.
    ///
    /// # Errors
    /// When that revision is not there yet, or not kept any more.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let posted = tree.update(|tx| tx.append(&[]))?;
    /// tree.update(|tx| tx.remove(&[posted.value.clone()]))?;
    /// assert_eq!(tree.at(posted.revision)?.root().child_count(), 1);
    /// assert_eq!(tree.read().root().child_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at(&self, revision: Revision) -> Result<Snapshot, NoSuchRevision> {
        Ok(self.find(revision)?.snapshot)
    }

    pub(crate) fn find(&self, revision: Revision) -> Result<Found, NoSuchRevision> {
        self.shared.must_be_born(revision)?;
        self.head.at(At::Revision(revision))
    }

    /// The tree as it was at a time.
    ///
    /// # Errors
    /// When it did not exist yet, or its revision then is not kept any more.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicI64, Ordering};
    /// use jungle_db::{Clock, Jungle, Timestamp};
    /// /// Each look at it is a second later.
    /// struct Seconds(AtomicI64);
    /// impl Clock for Seconds {
    ///     fn now(&self) -> Timestamp {
    ///         Timestamp::from_micros(self.0.fetch_add(1_000_000, Ordering::Relaxed))
    ///     }
    /// }
    /// let jungle = Jungle::builder().clock(Seconds(AtomicI64::new(0))).build()?;
    /// let tree = jungle.create_tree("counter")?;
    /// (1..=3).try_for_each(|n| tree.update(|tx| tx.put_attribute(&[], "n", n)).map(drop))?;
    /// let then = tree.at_time(Timestamp::from_micros(2_500_000))?;
    /// assert_eq!(then.root().attribute("n").unwrap().as_int(), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at_time(&self, time: Timestamp) -> Result<Snapshot, NoSuchRevision> {
        let found = self.head.at(At::Time(time))?;
        if is_awake(Bug::TimeOffByOne)
            && let Some(next) = self.head.page(found.index + 1, 1)?.next()
        {
            return self.at(next.revision);
        }
        Ok(found.snapshot)
    }

    /// The revisions of this branch that are kept, the newest first; [`Iterator::rev`] gives the
    /// oldest first. They are read in pages, so a long history costs no more than what is taken of
    /// it; what is committed or dropped meanwhile may or may not be seen.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// let infos: Vec<_> = tree.history(..).collect::<Result<_, _>>()?;
    /// let numbers: Vec<u64> = infos.iter().map(|info| info.revision.number()).collect();
    /// assert_eq!(numbers, [2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn history(&self, range: impl RangeBounds<Revision>) -> Past {
        Past::new(Arc::clone(&self.head), range)
    }

    /// What happened from revision `a` to revision `b`, also backward.
    ///
    /// # Errors
    /// When one of them is not there.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let added = tree.update(|tx| tx.append(&[]))?;
    /// let put = tree.update(|tx| tx.put_attribute(&[0.into()], "text", "hello"))?;
    /// let changes = tree.diff(added.revision, put.revision)?;
    /// assert_eq!(changes.to_string(), "~ /0 @text = \"hello\"\n");
    /// let backward = tree.diff(put.revision, added.revision)?;
    /// assert_eq!(backward.to_string(), "~ /0 @text removed\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn diff(&self, a: Revision, b: Revision) -> Result<ChangeSet, NoSuchRevision> {
        self.shared.must_be_born(a.max(b))?;
        let [a, b] = self.head.at_both([a, b])?;
        Ok(diff(&a, &b))
    }

    /// Follows what happens to the node at `path` and below, after a revision.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut watch = tree.watch(&["posts".into()], tree.snapshot().revision());
    /// tree.update(|tx| tx.put_attribute(&[], "title", "hello"))?;
    /// assert!(watch.next()?.is_none());
    /// tree.update(|tx| tx.insert_child(&[], &"posts".into()))?;
    /// assert_eq!(watch.next()?.unwrap().changes.to_string(), "+ /posts\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn watch(&self, path: &[jungle_tree::Key], after: Revision) -> Watch {
        Watch::new(Arc::clone(&self.head), path.into(), after, self.steps_max)
    }
}

/// What differs, found out in as many steps at most as there are, if they are counted.
pub(crate) fn compare(
    a: &jungle_tree::Snapshot,
    b: &jungle_tree::Snapshot,
    steps: Option<&mut Steps>,
) -> Result<ChangeSet, TooManySteps> {
    let Some(steps) = steps else { return Ok(diff(a, b)) };
    diff_within(a, b, &[], steps).map_err(|error| match error {
        DiffError::TooManySteps(error) => error,
        _ => unreachable!("both versions have a root"),
    })
}

pub(crate) fn committed(revision: Revision) -> Committed<()> {
    Committed { value: (), revision, renamed: Vec::new(), runs: 1 }
}

impl fmt::Debug for TreeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeHandle")
            .field("name", &self.name())
            .field("branch", &self.branch_name())
            .finish_non_exhaustive()
    }
}
