//! Following what happens to a tree.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jungle_tree::{
    Change, ChangeSet, DiffError, Key, Node, Path, Steps, TooManySteps, diff, diff_within,
};

use crate::head::Head;
use crate::history::archive::ArchiveError;
use crate::history::lookup::Found;
use crate::history::past::NoSuchRevision;
use crate::history::search::At;
use crate::planted::{Bug, is_awake};
use crate::revision::{Revision, RevisionInfo};
use crate::snapshot::Snapshot;

/// A cursor over the revisions of a branch: see [`TreeHandle::watch`](crate::TreeHandle::watch).
///
/// It holds nothing but a number. The changes of a revision are found by comparing it with its
/// predecessor when they are asked for, so a slow watcher costs writers nothing; what it can miss
/// is bounded by the branch's [`Retention`](crate::Retention), and it is told.
///
/// ```
/// use jungle_db::Jungle;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let mut watch = tree.watch(&[], tree.snapshot().revision());
/// tree.update(|tx| tx.append(&[]))?;
/// assert_eq!(watch.next()?.unwrap().changes.to_string(), "+ /0\n");
/// assert!(watch.next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Watch {
    head: Arc<Head>,
    path: Path,
    seen: Revision,
    steps_max: Option<u64>,
}

/// What one revision did below the path that is watched.
///
/// ```
/// use jungle_db::Jungle;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let mut watch = tree.watch(&["open".into()], tree.snapshot().revision());
/// tree.update(|tx| tx.insert_child(&[], &"open".into()))?;
/// let second = tree.update(|tx| {
///     tx.append(&[])?;
///     tx.append(&["open".into()])
/// })?;
/// watch.next()?;
/// let event = watch.next()?.unwrap();
/// assert_eq!(event.info.revision, second.revision);
/// assert_eq!(event.changes.to_string(), "+ /open/0\n");
/// assert_eq!(event.snapshot.root().child_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WatchEvent {
    /// The revision.
    pub info: RevisionInfo,
    /// What it did there; of a move, both ends are told if one of them is there. Where it did more
    /// elsewhere than [may be looked at](crate::TreeHandle::steps_max), that is what has come, or
    /// gone. Paths are from the root.
    pub changes: ChangeSet,
    /// The tree after it.
    pub snapshot: Snapshot,
}

/// Why there is no telling what happened.
///
/// ```
/// use jungle_db::{Jungle, Retention, WatchError};
/// let log = Jungle::new()?.create_tree("log")?;
/// let mut watch = log.watch(&[], log.snapshot().revision());
/// log.set_retention(Retention::Last(1))?;
/// (0..3).try_for_each(|_| log.update(|tx| tx.append(&[])).map(drop))?;
/// let error = watch.next().unwrap_err();
/// let newest = log.snapshot().revision();
/// assert_eq!(error, WatchError::TooOld { seen: watch.seen(), oldest: newest });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The next revision is not kept any more. Read the oldest one anew, and go on after it.
    #[error("the changes after revision {seen} are not kept; the oldest revision is {oldest}")]
    TooOld {
        /// The last revision seen.
        seen: Revision,
        /// The oldest revision that is kept.
        oldest: Revision,
    },
    /// Everything has been seen, and the tree or the branch was deleted.
    #[error("the tree or the branch was deleted")]
    Deleted,
    /// What the next revision did there takes more steps to find out than
    /// [it may](crate::TreeHandle::steps_max); or it did so much elsewhere, and the node that is
    /// watched came or went with that. Read that revision whole, and go on after it.
    #[error("it takes too many steps to tell what revision {revision} did")]
    TooManySteps {
        /// The revision.
        revision: Revision,
        /// How many there were to be at most.
        source: TooManySteps,
    },
    /// What is known of the next revision could not be read; it can be tried again.
    #[error(transparent)]
    NotRead(#[from] ArchiveError),
}

/// The next revision, before and after.
struct Step {
    before: Snapshot,
    after: Snapshot,
    info: RevisionInfo,
}

impl Watch {
    pub(crate) fn new(
        head: Arc<Head>,
        path: Path,
        seen: Revision,
        steps_max: Option<u64>,
    ) -> Watch {
        Watch { head, path, seen, steps_max }
    }

    /// The last revision that was looked at.
    #[must_use]
    pub fn seen(&self) -> Revision {
        self.seen
    }

    /// The next revision that changed something below the path; `None` when there is none yet.
    ///
    /// # Errors
    /// When it is not kept any more, there never will be one, or it takes too many
    /// [steps](crate::TreeHandle::steps_max) to tell what it did.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut watch = tree.watch(&[], tree.snapshot().revision());
    /// let committed = tree.update(|tx| tx.put_attribute(&[], "title", "hello"))?;
    /// let event = watch.next()?.expect("there is a revision more");
    /// assert_eq!(event.info.revision, committed.revision);
    /// assert_eq!(event.changes.to_string(), "~ / @title = \"hello\"\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::should_implement_trait, reason = "none now does not mean none for ever")]
    pub fn next(&mut self) -> Result<Option<WatchEvent>, WatchError> {
        let mut all = usize::MAX;
        self.next_within(&mut all)
    }

    /// As [`next`](Watch::next), looking at so many revisions at most; those that it has looked at
    /// are taken from `revisions`. `None` where none is left of them: the next call goes on there.
    ///
    /// # Errors
    /// As [`next`](Watch::next).
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut watch = tree.watch(&["open".into()], tree.snapshot().revision());
    /// (0..10).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// let mut revisions = 7;
    /// assert!(watch.next_within(&mut revisions)?.is_none());
    /// let newest = tree.snapshot().revision();
    /// assert_eq!((watch.seen().number() + 3, revisions), (newest.number(), 0));
    /// revisions = 7;
    /// assert!(watch.next_within(&mut revisions)?.is_none());
    /// assert_eq!((watch.seen(), revisions), (newest, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_within(&mut self, revisions: &mut usize) -> Result<Option<WatchEvent>, WatchError> {
        while *revisions > 0
            && let Some(Step { before, after, info }) = self.step()?
        {
            *revisions -= 1;
            let changes = self.changes(&before, &after)?;
            self.seen = info.revision;
            if !changes.is_empty() {
                return Ok(Some(WatchEvent { info, changes, snapshot: after }));
            }
        }
        Ok(None)
    }

    /// As [`next`](Watch::next), waiting for it: without a timeout for ever. A commit that changes
    /// nothing below the path begins the timeout anew.
    ///
    /// # Errors
    /// As [`next`](Watch::next).
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut watch = tree.watch(&[], tree.snapshot().revision());
    /// let waiting = std::thread::spawn(move || watch.wait(None));
    /// let committed = tree.update(|tx| tx.append(&[]))?;
    /// let event = waiting.join().unwrap()?.expect("it waits for ever");
    /// assert_eq!(event.info.revision, committed.revision);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<WatchEvent>, WatchError> {
        loop {
            if let Some(event) = self.next()? {
                return Ok(Some(event));
            }
            let seen = self.seen;
            let is_idle = |state: &crate::head::HeadState| {
                !state.closed && state.history.newest().revision <= seen
            };
            if self.head.wait(timeout, is_idle) {
                return self.next();
            }
        }
    }

    fn step(&self) -> Result<Option<Step>, WatchError> {
        // Asked before the next revision is, so that none is missed.
        let is_closed = self.head.lock().closed;
        let before = self.at(self.seen)?;
        let skips = is_awake(Bug::WatchSkips);
        let Some(next) = self.head.page(before.index + 1, 1 + usize::from(skips))?.next_back()
        else {
            return if is_closed { Err(WatchError::Deleted) } else { Ok(None) };
        };
        let after = self.at(next.revision)?;
        if after.index != before.index + 1 && !skips {
            // What came between was dropped since we looked.
            return Err(WatchError::TooOld { seen: self.seen, oldest: after.entry.revision });
        }
        let info = after.entry.into_info();
        Ok(Some(Step { before: before.snapshot, after: after.snapshot, info }))
    }

    fn at(&self, revision: Revision) -> Result<Found, WatchError> {
        let found = match self.head.at(At::Revision(revision)) {
            // It begins before the tree does: the first that can be compared is the second.
            Err(NoSuchRevision::NotBorn { first }) => self.head.at(At::Revision(first)),
            found => found,
        };
        found.map_err(|error| match error {
            NoSuchRevision::NotRead(error) => error.into(),
            NoSuchRevision::TooOld { oldest: newest }
            | NoSuchRevision::NotBorn { first: newest }
            | NoSuchRevision::NotYet { newest } => {
                WatchError::TooOld { seen: self.seen, oldest: newest }
            }
        })
    }

    fn changes(&self, before: &Snapshot, after: &Snapshot) -> Result<ChangeSet, WatchError> {
        let (old, new) = (before.root().at(&self.path), after.root().at(&self.path));
        let (is_same, is_in_both) = match (old, new) {
            (Ok(old), Ok(new)) => (Node::is_same(old, new), true),
            (Err(_), Err(_)) => (true, false),
            _ => (false, false),
        };
        if is_same {
            return Ok(ChangeSet::new());
        }
        let mut found = self.compare(before, after, &[]);
        if found.is_err() && is_in_both && !self.path.is_empty() {
            // What is elsewhere may be what is too much, and ends no watch of this.
            found = self.compare(before, after, &self.path);
        }
        let too_many = |source| WatchError::TooManySteps { revision: after.revision(), source };
        let concerns = |change: &Change| change.concerns(&self.path);
        Ok(found.map_err(too_many)?.into_iter().filter(concerns).collect())
    }

    /// What differs in a node that is in both.
    fn compare(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        path: &[Key],
    ) -> Result<ChangeSet, TooManySteps> {
        let Some(steps_max) = self.steps_max else { return Ok(diff(before, after)) };
        self.head.compare_once((after.revision(), path.into()), steps_max, || {
            let found = diff_within(before, after, path, &mut Steps::new(steps_max));
            found.map_err(|error| match error {
                DiffError::TooManySteps(error) => error,
                _ => unreachable!("both versions have the node"),
            })
        })
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({} after {})", self.path, self.seen)
    }
}
