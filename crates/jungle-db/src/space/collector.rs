//! Giving back what nobody can see any more, and when that is worth it.

use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Continue};

use jungle_tree::{ArenaUsage, Collected};

use crate::head::{Head, lock};
use crate::history::archive::ArchiveError;
use crate::history::retention::reclaim_in_slices;
use crate::jungle::Jungle;

/// So much may be taken whatever is alive: small trees are not worth the trouble.
const SLACK_BYTES: usize = 16 << 20;

/// Gives back memory that nobody can see any more, whenever that is worth it.
///
/// A collection goes through all that is alive, and loads it where it is not in memory. So it
/// begins when twice as much is taken as was alive, when half of what is taken is known to be
/// garbage, or when half of the revisions were let go; then each byte is gone through a few times
/// at most, however long this goes on. What is there at first is taken to be alive.
///
/// ```
/// use jungle_db::{Collector, Jungle};
/// let jungle = Jungle::new()?;
/// let mut collector = Collector::new();
/// assert!(collector.look(&jungle)?.is_none(), "there is nothing to give back");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Collector {
    seen: Option<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// So much may be taken.
    limit: usize,
    /// The most revisions that there were since the last collection.
    revisions: u64,
}

/// Why nothing was given back.
///
/// ```
/// use jungle_db::{ArchiveError, CollectError};
/// let error = CollectError::from(ArchiveError::new("the disk is gone"));
/// assert_eq!(error.to_string(), "the history cannot be read: the disk is gone");
/// assert_eq!(CollectError::GivenUp.to_string(), "it was given up");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The archive does not tell all that is kept.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// Whoever wanted it does not any more.
    #[error("it was given up")]
    GivenUp,
}

impl CollectError {
    /// Of what nobody gives up.
    fn into_history(self) -> ArchiveError {
        match self {
            CollectError::History(error) => error,
            CollectError::GivenUp => unreachable!("nobody gives it up"),
        }
    }
}

impl Collector {
    /// One that has not looked yet.
    #[must_use]
    pub fn new() -> Collector {
        Collector::default()
    }

    /// Looks, which is cheap, and collects if that is worth it: tells what came of it then.
    ///
    /// # Errors
    /// As [`Jungle::collect`]. It is tried again when as much has come to it as after a collection;
    /// where half of what is taken is known to be garbage, at the next look.
    ///
    /// ```
    /// use jungle_db::{Collector, Jungle};
    /// let jungle = Jungle::new()?;
    /// let mut collector = Collector::new();
    /// collector.look(&jungle)?;
    /// let log = jungle.create_tree("log")?;
    /// log.update(|tx| tx.put_attribute(&[], "text", "x".repeat(40 << 20).as_str()))?;
    /// jungle.delete_tree("log")?;
    /// drop(log);
    /// let collected = collector.look(&jungle)?.expect("it is worth it");
    /// assert!(collected.payload_bytes >= 40 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look(&mut self, jungle: &Jungle) -> Result<Option<Collected>, ArchiveError> {
        self.look_while(jungle, || Continue(())).map_err(CollectError::into_history)
    }

    /// As [`look`](Collector::look), and asks now and then whether to go on with a collection.
    ///
    /// # Errors
    /// As [`Jungle::collect_while`]. It is tried again as after a failure.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use jungle_db::{Collector, Jungle};
    /// let jungle = Jungle::new()?;
    /// let mut collector = Collector::new();
    /// let mut asked = 0;
    /// let collected = collector.look_while(&jungle, || {
    ///     asked += 1;
    ///     Continue(())
    /// })?;
    /// // Nothing was worth a collection, so there was nothing to give up.
    /// assert_eq!((collected, asked), (None, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look_while(
        &mut self,
        jungle: &Jungle,
        go_on: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Collected>, CollectError> {
        let revisions = jungle.revisions_kept();
        let Some(seen) = &mut self.seen else {
            let limit = limit_after(taken(jungle.arena().usage()), 0);
            self.seen = Some(Seen { limit, revisions });
            return Ok(None);
        };
        seen.revisions = seen.revisions.max(revisions);
        if !seen.is_worth_it(jungle.arena().usage(), revisions) {
            return Ok(None);
        }
        let collected = jungle.collect_while(go_on);
        let free = collected.as_ref().map_or(0, |collected| collected.free_bytes);
        let limit = limit_after(taken(jungle.arena().usage()), free);
        self.seen = Some(Seen { limit, revisions });
        collected.map(Some)
    }
}

impl Seen {
    fn is_worth_it(&self, usage: ArenaUsage, revisions: u64) -> bool {
        let taken = taken(usage);
        taken > self.limit
            || taken > SLACK_BYTES
                && (usage.garbage_bytes > taken as u64 / 2 || revisions < self.revisions / 2)
    }
}

impl Jungle {
    /// Gives back the memory of what nobody can see any more: of deleted trees and branches, of
    /// revisions that were kept once and are not now, of subtrees that several versions shared.
    /// (What small edits of one tree replace and do not keep is used again without this, by later
    /// edits of that tree.)
    ///
    /// Readers and writers go on, but for the moment it takes to note what is kept; the cost is
    /// that of going through what is alive.
    ///
    /// # Errors
    /// When the archive does not tell all that is kept: then nothing is given back.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let log = jungle.create_tree("log")?;
    /// log.update(|tx| tx.put_attribute(&[], "text", "x".repeat(1 << 20).as_str()))?;
    /// jungle.delete_tree("log")?;
    /// drop(log);
    /// assert!(jungle.collect()?.payload_bytes >= 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collect(&self) -> Result<Collected, ArchiveError> {
        self.collect_while(|| Continue(())).map_err(CollectError::into_history)
    }

    /// As [`collect`](Jungle::collect), and asks now and then whether to go on: each time about a
    /// thousand blocks were gone through. What is asked may read and commit; another collection,
    /// [`Jungle::space`] and an image wait until this one is over, so it must not wait for those.
    ///
    /// # Errors
    /// As [`collect`](Jungle::collect), and when it was given up: then nothing is given back.
    ///
    /// ```
    /// use std::ops::ControlFlow::Break;
    /// use jungle_db::{CollectError, Jungle};
    /// let jungle = Jungle::new()?;
    /// let tree = jungle.create_tree("log")?;
    /// tree.update(|tx| tx.cursor(&[])?.add_children(1_000_000).map(drop))?;
    /// let collected = jungle.collect_while(|| Break(()));
    /// assert!(matches!(collected, Err(CollectError::GivenUp)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collect_while(
        &self,
        mut go_on: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Collected, CollectError> {
        self.refresh_indexes();
        // What is in the archive is read without the locks of the branches. It only becomes less,
        // as nobody hands anything over meanwhile.
        let shelf = lock(&self.shared.shelf);
        let mut stored = BTreeMap::new();
        for head in self.shared.heads() {
            let range = head.lock().history.stored().map(|(part, range)| (part.clone(), range));
            if let Some((part, range)) = range {
                stored.insert(head.id, (range.start, part.ids(range)?));
            }
        }
        // An image may be on its way to somewhere slow: that is waited for before writers are.
        let turn = self.shared.arena.next_collection();
        // Where much is to be used again, only these wait for it.
        let deleted = self.shared.deleted_heads();
        deleted.iter().for_each(|head| head.lock().reclaim_deleted());
        // The others do so when they commit, which some may never do again; an index, when it is
        // asked for in a newer version. What waits for a version that somebody holds is left to
        // the tracing that follows: it may be one of another tree, which has nothing of it.
        self.shared.heads().iter().chain(&deleted).for_each(|head| reclaim_in_slices(head));
        self.reclaim_indexes();
        let collection = self.shared.pause(|mut paused| {
            for (head, state) in &mut paused.heads {
                state.forget_deleted(stored.contains_key(&head.id));
            }
            let kept = paused.heads.iter().flat_map(|(head, state)| {
                let known = stored.get(&head.id).filter(|_| state.history.stored().is_some());
                let old = known.into_iter().flat_map(|(first, ids)| {
                    ids.iter().skip((state.history.first() - first) as usize).copied()
                });
                old.chain(state.history.ids_here())
            });
            turn.start(kept)
        });
        drop(shelf);
        collection.finish_while(&mut go_on).continue_value().ok_or(CollectError::GivenUp)
    }

    /// How many revisions all branches keep.
    fn revisions_kept(&self) -> u64 {
        let kept = |head: &Head| {
            let state = head.lock();
            state.history.end() - state.history.first()
        };
        self.shared.heads().iter().map(|head| kept(head)).sum()
    }
}

fn taken(usage: ArenaUsage) -> usize {
    usage.structure_bytes + usage.payload_bytes
}

/// What is free is used before more is taken, but records of one size are of no use to others: so
/// that a tracing is not all for one of them, a little more may be taken even then.
fn limit_after(taken: usize, free: usize) -> usize {
    let alive = taken.saturating_sub(free);
    (2 * alive + SLACK_BYTES).max(taken + SLACK_BYTES / 8)
}
