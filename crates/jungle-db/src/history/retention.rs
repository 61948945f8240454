//! How much of a history is kept.

use std::thread;
use std::time::Duration;

use crate::commit::Moment;
use crate::commit::write::NotWritten;
use crate::handle::TreeHandle;
use crate::head::Head;
use crate::history::History;
use crate::history::archive::ArchiveError;
use crate::journal::Event;
use crate::jungle::Jungle;
use crate::planted::{Bug, is_awake};
use crate::revision::{Revision, Timestamp};

/// So many revisions of a branch are dropped at a time, while its writers wait: in about 0.1 ms.
pub(crate) const SLICE: u64 = 4096;

/// For as long as a slice takes, writers are let in.
const BETWEEN_SLICES: Duration = Duration::from_micros(100);

/// Which revisions of a branch stay readable by number and time. The newest always does, and what
/// a [`Snapshot`](crate::Snapshot), a tag or a branch holds stays whatever is said here.
///
/// The memory of what is dropped is used again at once for what small edits replaced; that of
/// removed subtrees of more than a thousand nodes, and of what several versions shared, when
/// [`Jungle::collect`] is called, or by a [`Collector`](crate::Collector) that does so when it is
/// worth it.
///
/// ```
/// use jungle_db::{Jungle, Retention};
/// let log = Jungle::builder().retention(Retention::Last(100)).build()?.create_tree("log")?;
/// (0..200).try_for_each(|_| log.update(|tx| tx.append(&[])).map(drop))?;
/// assert_eq!(log.history(..).count(), 100);
/// assert_eq!(log.read().root().child_count(), 200);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// All.
    #[default]
    All,
    /// The newest ones, this many (at least one).
    Last(usize),
    /// Those younger than this, and the one that was the newest before them: so the tree as it was
    /// at any moment of that time can be told.
    ByAge(Duration),
}

/// What is kept could not be set, or the rest not be dropped.
///
/// ```
/// use jungle_db::{Jungle, NotWritten, Retention, RetentionError};
/// let jungle = Jungle::new()?;
/// let log = jungle.create_tree("log")?;
/// jungle.delete_tree("log")?;
/// let refused = log.set_retention(Retention::Last(10));
/// assert!(matches!(refused, Err(RetentionError::NotWritten(NotWritten::Deleted))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// Nothing can be written: what was kept before is kept on.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
    /// How old a revision is cannot be read. The rule is set, and later commits drop the rest.
    #[error(transparent)]
    NotRead(#[from] ArchiveError),
}

impl TreeHandle {
    /// What this branch keeps of its history.
    ///
    /// ```
    /// use std::time::Duration;
    /// use jungle_db::{Jungle, Retention};
    /// let log = Jungle::new()?.create_tree("log")?;
    /// assert_eq!(log.retention(), Retention::All);
    /// let month = Retention::ByAge(Duration::from_secs(30 * 24 * 3600));
    /// log.set_retention(month)?;
    /// assert_eq!(log.retention(), month);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn retention(&self) -> Retention {
        self.head.lock().retention()
    }

    /// Sets what this branch keeps of its history, which is a commit like making a tag, and drops
    /// the rest at once; while there is a [`Checkpoint`](crate::Checkpoint) of it, when that is
    /// dropped. The rule that it has already is no commit, except in a Jungle that has a
    /// [`Sequencer`](crate::Sequencer): others may have set another that is not known here yet.
    ///
    /// # Errors
    /// When the branch is deleted or nothing can be written; or when it has to know how old a
    /// revision is and cannot read that.
    ///
    /// ```
    /// use jungle_db::{Jungle, Retention};
    /// let tree = Jungle::new()?.create_tree("log")?;
    /// tree.set_retention(Retention::Last(2))?;
    /// for _ in 0..5 {
    ///     tree.update(|tx| tx.append(&[]))?;
    /// }
    /// assert_eq!(tree.history(..).count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_retention(&self, retention: Retention) -> Result<(), RetentionError> {
        if let Some(sequencing) = self.shared.sequencing() {
            let (tree, branch) = (self.state.id, self.head.id);
            sequencing.place(&self.shared, &self.meta, || {
                if self.head.lock().closed {
                    return Err(NotWritten::Deleted);
                }
                Ok(Event::RetentionSet { tree, branch, retention })
            })?;
            return Ok(());
        }
        let revision = self.set_retention_at(retention, Moment::Now)?;
        let dropped = self.apply_retention();
        self.shared.acknowledge(revision, None)?;
        Ok(dropped?)
    }

    pub(crate) fn set_retention_at(
        &self,
        retention: Retention,
        moment: Moment<'_>,
    ) -> Result<Revision, NotWritten> {
        let mut state = self.head.lock();
        if state.closed {
            return Err(NotWritten::Deleted);
        }
        if matches!(moment, Moment::Now) && state.retention() == retention {
            // Whoever set it may wait still until that lasts.
            return Ok(self.shared.counter.newest());
        }
        let (tree, branch) = (self.state.id, self.head.id);
        let time = moment.time(|| self.shared.now());
        let event = Event::RetentionSet { tree, branch, retention };
        self.shared.write(moment, time, &self.meta, Some(event), |_| {
            state.set_retention(retention, time);
        })
    }

    /// Drops now what is not to be kept: for [`Retention::ByAge`] while nothing is committed. In a
    /// Jungle that has a [`Sequencer`](crate::Sequencer) it does nothing: there the commits alone
    /// say what is dropped, so that it is the same everywhere.
    ///
    /// # Errors
    /// When it has to know how old a revision is and cannot read that.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicI64, Ordering}};
    /// use std::time::Duration;
    /// use jungle_db::{Clock, Jungle, Retention, Timestamp};
    /// struct Hands(Arc<AtomicI64>);
    /// impl Clock for Hands {
    ///     fn now(&self) -> Timestamp {
    ///         Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    ///     }
    /// }
    /// let hands = Arc::new(AtomicI64::new(0));
    /// let log = Jungle::builder().clock(Hands(hands.clone())).build()?.create_tree("log")?;
    /// log.set_retention(Retention::ByAge(Duration::from_secs(60)))?;
    /// (0..5).try_for_each(|_| log.update(|tx| tx.append(&[])).map(drop))?;
    /// hands.store(3600 * 1_000_000, Ordering::Relaxed);
    /// log.apply_retention()?;
    /// assert_eq!(log.history(..).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply_retention(&self) -> Result<(), ArchiveError> {
        if self.shared.sequencing().is_some() {
            return Ok(());
        }
        self.apply_retention_at(self.shared.now())
    }

    pub(crate) fn apply_retention_at(&self, now: Timestamp) -> Result<(), ArchiveError> {
        apply_in_slices(&self.head, now)
    }
}

impl Jungle {
    /// As [`TreeHandle::apply_retention`], on all branches of all trees.
    ///
    /// # Errors
    /// When it has to know how old a revision is and cannot read that.
    ///
    /// ```
    /// use jungle_db::{Jungle, Retention};
    /// let jungle = Jungle::builder().retention(Retention::Last(2)).build()?;
    /// jungle.create_tree("log")?;
    /// jungle.apply_retention()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply_retention(&self) -> Result<(), ArchiveError> {
        if self.shared.sequencing().is_some() {
            return Ok(());
        }
        let now = self.shared.now();
        self.shared.heads().iter().try_for_each(|head| apply_in_slices(head, now))
    }
}

fn apply_in_slices(head: &Head, now: Timestamp) -> Result<(), ArchiveError> {
    while head.lock().retain(now)? == SLICE {
        let_writers_in();
    }
    Ok(())
}

/// Uses again what nobody holds any more, whether or not somebody commits to the branch, and leaves
/// to the next collection what may be held: by a version of another tree, for all that is known.
pub(crate) fn reclaim_in_slices(head: &Head) {
    while head.lock().reclaim_slice() {
        let_writers_in();
    }
    while head.lock().leave_slice() {
        let_writers_in();
    }
}

/// A lock goes to who asks first, and who was asleep asks late.
#[expect(clippy::disallowed_methods, reason = "nothing tells that nobody waits for a lock")]
fn let_writers_in() {
    thread::sleep(BETWEEN_SLICES);
}

impl Retention {
    /// Drops what is not to be kept, the oldest first and no more than a [`SLICE`]; tells how many
    /// revisions that was.
    pub(crate) fn apply(self, history: &mut History, now: Timestamp) -> Result<u64, ArchiveError> {
        match self {
            Retention::All => Ok(0),
            Retention::Last(count) => {
                let count = count - usize::from(count > 1 && is_awake(Bug::RetentionOffByOne));
                let first = history.end().saturating_sub(count.max(1) as u64);
                Ok(history.drop_before(first.min(history.first() + SLICE)))
            }
            Retention::ByAge(age) => history.drop_before_time(now.before(age), SLICE),
        }
    }

    /// The index of the oldest revision that is to be kept.
    pub(crate) fn first_kept(self, history: &History, now: Timestamp) -> Result<u64, ArchiveError> {
        match self {
            Retention::All => Ok(0),
            Retention::Last(count) => Ok(history.end().saturating_sub(count.max(1) as u64)),
            Retention::ByAge(age) => history.index_at(now.before(age)),
        }
    }

    /// Reclaiming costs a look at every reader's slot, so it waits for this many dropped revisions.
    pub(crate) fn slack(self) -> u64 {
        match self {
            Retention::Last(count) => (count as u64 / 8).clamp(1, 64),
            Retention::All | Retention::ByAge(_) => 64,
        }
    }
}
