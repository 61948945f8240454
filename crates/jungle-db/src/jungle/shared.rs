//! What all handles of a Jungle, and of a tree, share; the commits that are about a whole tree.

use std::sync::{Arc, OnceLock, Weak};

use jungle_tree::{Arena, EditError, Tree};

use crate::branch::Branches;
use crate::branch::origin::Merges;
use crate::commit::Moment;
use crate::commit::durability::Durability;
use crate::commit::write::NotWritten;
use crate::head::{Head, Stamp, lock};
use crate::history::History;
use crate::history::archive::Shelf;
use crate::history::retention::Retention;
use crate::journal::{BranchId, CommitRecord, Event, Journal, TreeId};
use crate::named::{Identified, Named};
use crate::planted::{Bug, is_awake};
use crate::restore::checkpoint::Held;
use crate::revision::{Clock, CommitMeta, Counter, Revision, Timestamp};
use crate::sequence::Sequencing;
use crate::sync::{
    AtomicBool, AtomicU64, Mutex, Ordering, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

/// What all handles share.
pub(crate) struct Shared {
    pub(crate) arena: Arena,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) journal: Option<Arc<dyn Journal>>,
    pub(super) durability: Durability,
    /// Held from drawing a revision until it is visible, where there is a journal: its records are
    /// in the order of their revisions. Taken last of all locks.
    pub(super) order: Mutex<()>,
    pub(crate) counter: Counter,
    pub(super) stopped: AtomicBool,
    pub(super) ids: AtomicU64,
    pub(crate) retention: Retention,
    pub(super) sequencing: OnceLock<Sequencing>,
    pub(super) catalog: RwLock<Catalog>,
    /// The checkpoints that are being written.
    pub(crate) checkpoints: Mutex<Vec<Weak<Held>>>,
    /// What was deleted, or is about to be: whoever has a handle of it may ask for its history.
    /// Who has this lock takes no other.
    pub(crate) deleted: Mutex<Vec<Weak<Head>>>,
    /// Where the pieces of histories are that are not in memory, if there are any. Who has this
    /// lock knows that no more of them leave memory. Taken first of all locks.
    pub(crate) shelf: Mutex<Option<Arc<Shelf>>>,
}

pub(crate) type Catalog = Named<TreeState>;

/// What all handles of a tree share.
pub(crate) struct TreeState {
    pub(crate) id: TreeId,
    pub(crate) name: Mutex<Arc<str>>,
    pub(crate) main: Arc<Head>,
    pub(crate) branches: Mutex<Branches>,
    pub(crate) merges: Merges,
}

impl Identified for TreeState {
    type Id = TreeId;

    fn id(&self) -> TreeId {
        self.id
    }
}

impl Shared {
    pub(crate) fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn catalog_mut(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        self.sequencing().map_or(now, |sequencing| sequencing.time(now))
    }

    /// The next id that nothing has.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    pub(crate) fn draw_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// This id, which is below [`NUMBER_END`], is in use.
    pub(crate) fn skip_id(&self, id: u64) {
        self.ids.fetch_max(id + 1, Ordering::Relaxed);
    }

    pub(crate) fn sequencing(&self) -> Option<&Sequencing> {
        self.sequencing.get()
    }

    pub(crate) fn sequencing_cell(&self) -> &OnceLock<Sequencing> {
        &self.sequencing
    }

    pub(crate) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Draws a revision, has it written down, and publishes it.
    pub(crate) fn write(
        &self,
        moment: Moment<'_>,
        time: Timestamp,
        meta: &CommitMeta,
        event: Option<Event>,
        publish: impl FnOnce(Revision),
    ) -> Result<Revision, NotWritten> {
        let _order =
            (self.has_journal() || !matches!(moment, Moment::Now)).then(|| lock(&self.order));
        if self.stopped.load(Ordering::SeqCst) {
            return Err(NotWritten::Stopped);
        }
        let written = match (moment, event) {
            (Moment::Now, Some(event)) => self.append(&CommitRecord {
                revision: self.counter.newest().next(),
                time,
                meta: meta.clone(),
                event,
            }),
            (Moment::Followed(record), _) => self.append(record),
            (Moment::Now, None) | (Moment::Again(_), _) => Ok(()),
        };
        if let Err(error) = written {
            if is_awake(Bug::RefusedIsVisible) {
                publish(self.counter.begin());
                self.counter.finish();
            }
            return Err(error);
        }
        if let Moment::Again(record) | Moment::Followed(record) = moment {
            self.counter.skip_to(Revision::new(record.revision.number() - 1));
        }
        let revision = self.counter.begin();
        publish(revision);
        self.counter.finish();
        Ok(revision)
    }

    fn append(&self, record: &CommitRecord) -> Result<(), NotWritten> {
        let Some(journal) = &self.journal else { return Ok(()) };
        if is_awake(Bug::AppendSkipped) && record.revision.number() % 5 == 4 {
            return Ok(());
        }
        journal.append(record).map_err(|error| NotWritten::Refused(self.stop(error)))
    }

    /// Waits until a revision would survive what was asked for, by default what the Jungle was
    /// built with; called without any lock.
    pub(crate) fn acknowledge(
        &self,
        revision: Revision,
        durability: Option<Durability>,
    ) -> Result<(), NotWritten> {
        // What has its place in a log that others follow is safe there.
        if self.sequencing().is_some() {
            return Ok(());
        }
        self.written(revision, durability.unwrap_or(self.durability))
    }

    /// As [`acknowledge`](Shared::acknowledge), for who is told that there is nothing to change:
    /// what that stands on may have been published by somebody whose commit is not on disk yet, and
    /// would not be so any more after a crash.
    pub(crate) fn rely_on(
        &self,
        revision: Revision,
        durability: Option<Durability>,
    ) -> Result<(), NotWritten> {
        // Nothing was promised; and who asks only may do so where nothing is taken any more.
        if durability.unwrap_or(self.durability) == Durability::Memory {
            return Ok(());
        }
        self.acknowledge(revision, durability)
    }

    /// Waits for the journal, whether or not the revision is safe elsewhere.
    pub(super) fn written(
        &self,
        revision: Revision,
        durability: Durability,
    ) -> Result<(), NotWritten> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let waited = journal.wait(revision, durability);
        waited.map_err(|error| NotWritten::Unsafe(self.stop(error)))
    }

    /// Lets the journal write what was followed, if that has become much: nobody else does.
    pub(crate) fn let_write(&self, revision: Revision) -> Result<(), NotWritten> {
        self.written(revision, Durability::Memory)
    }

    fn stop<E>(&self, error: E) -> E {
        self.stopped.store(true, Ordering::SeqCst);
        error
    }

    /// Refuses what is done now, and not again, when there is no room for another tree.
    pub(crate) fn must_have_room(&self, moment: Moment<'_>) -> Result<(), NotWritten> {
        match moment {
            Moment::Now if self.arena.is_full() => {
                Err(NotWritten::NoRoom(EditError::ArenaFull.into()))
            }
            _ => Ok(()),
        }
    }

    /// Makes a tree; the name is free.
    pub(crate) fn create(
        &self,
        catalog: &mut Catalog,
        (tree, branch): (TreeId, BranchId),
        name: Arc<str>,
        retention: Retention,
        (moment, meta): (Moment<'_>, &CommitMeta),
    ) -> Result<(Arc<TreeState>, Revision), NotWritten> {
        self.must_have_room(moment)?;
        let time = moment.time(|| self.now());
        let event = Event::TreeCreated { tree, branch, name: Arc::clone(&name), retention };
        let mut made = None;
        let revision = self.write(moment, time, meta, Some(event), |revision| {
            let stamp = Stamp { revision, time, meta: meta.clone() };
            let mut root = Tree::new(&self.arena);
            root.count_keys(tree.0);
            let history = History::new(stamp.entry(root.version_id()));
            let main = Head::new((tree, branch), root, history, retention, None);
            let state = Arc::new(TreeState {
                id: tree,
                name: Mutex::new(Arc::clone(&name)),
                branches: Mutex::default(),
                merges: Merges::default(),
                main: Arc::new(main),
            });
            made = Some(Arc::clone(&state));
            catalog.insert(name, state);
        })?;
        Ok((made.expect("made while it was published"), revision))
    }

    /// Renames a tree; the new name is free.
    pub(crate) fn rename(
        &self,
        catalog: &mut Catalog,
        state: &Arc<TreeState>,
        new: Arc<str>,
        (moment, meta): (Moment<'_>, &CommitMeta),
    ) -> Result<Revision, NotWritten> {
        let time = moment.time(|| self.now());
        let event = Event::TreeRenamed { tree: state.id, name: Arc::clone(&new) };
        self.write(moment, time, meta, Some(event), |_| {
            let mut name = lock(&state.name);
            catalog.remove(&name);
            catalog.insert(Arc::clone(&new), Arc::clone(state));
            *name = new;
        })
    }

    /// Deletes a tree.
    pub(crate) fn delete(
        &self,
        catalog: &mut Catalog,
        state: &Arc<TreeState>,
        (moment, meta): (Moment<'_>, &CommitMeta),
    ) -> Result<Revision, NotWritten> {
        let time = moment.time(|| self.now());
        let mut branches = lock(&state.branches);
        let mut heads = branches.heads();
        heads.push(Arc::clone(&state.main));
        heads.sort_by_key(|head| head.id);
        let mut guards: Vec<_> = heads.iter().map(|head| head.lock()).collect();
        heads.iter().for_each(|head| self.note_deleted(head));
        let event = Event::TreeDeleted { tree: state.id };
        self.write(moment, time, meta, Some(event), |_| {
            for (head, guard) in heads.iter().zip(&mut guards) {
                head.close(guard);
            }
            *branches = Branches::default();
            state.merges.forget_all();
            catalog.remove(&lock(&state.name));
        })
    }

    /// Notes what is about to be deleted, for the next collection.
    pub(crate) fn note_deleted(&self, head: &Arc<Head>) {
        let mut deleted = lock(&self.deleted);
        if deleted.len() == deleted.capacity() {
            deleted.retain(|head| head.strong_count() > 0);
        }
        deleted.push(Arc::downgrade(head));
    }
}

impl Moment<'_> {
    pub(crate) fn time(self, now: impl FnOnce() -> Timestamp) -> Timestamp {
        match self {
            Moment::Now => now(),
            Moment::Again(record) | Moment::Followed(record) => record.time,
        }
    }
}
