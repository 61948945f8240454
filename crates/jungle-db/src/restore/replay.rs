//! Doing again what a journal has written down.

use std::sync::Arc;

use jungle_tree::{ApplyError, Editor, apply};

use crate::branch::{BranchError, MAIN_BRANCH};
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure, MergedBranch, MergedKeys, Moment, lock_all, publish};
use crate::handle::TreeHandle;
use crate::head::Head;
use crate::index::IndexError;
use crate::journal::{BranchEdit, BranchId, CommitRecord, Event, TreeId};
use crate::jungle::{Catalog, Jungle, TreeState};
use crate::name;
use crate::restore::NUMBER_END;
use crate::revision::Revision;

/// Why a record cannot be done again.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Jungle, MemoryJournal, ReplayError};
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
/// let [_, second] = &journal.records()[..] else { panic!("there are two") };
/// let missing = Jungle::new()?.replay(second);
/// assert!(matches!(missing, Err(ReplayError::NotNext { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A record is missing, or out of order.
    #[error("revision {found} does not follow revision {newest}")]
    NotNext {
        /// The newest revision here.
        newest: Revision,
        /// The revision of the record.
        found: Revision,
    },
    /// It is about a tree or branch that is not there, or makes one that is.
    #[error("the record does not fit: {what}")]
    DoesNotFit {
        /// What it is about.
        what: Box<str>,
    },
    /// Its changes do not fit.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// It could not be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

pub(crate) fn does_not_fit<E: std::fmt::Display>(what: E) -> ReplayError {
    ReplayError::DoesNotFit { what: what.to_string().into() }
}

impl Jungle {
    /// Does again what a record says, with its revision and time. The journal of this Jungle is
    /// not told: this is how a Jungle is opened from its journal, before anything else happens.
    ///
    /// Nothing else may commit meanwhile, and no revision is dropped whatever [`Retention`] says,
    /// until [`Jungle::end_replay`].
    ///
    /// [`Retention`]: crate::Retention
    ///
    /// # Errors
    /// When the record is not the next one, or does not fit to what is here.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_db::{Jungle, MemoryJournal};
    /// let journal = Arc::new(MemoryJournal::default());
    /// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
    /// jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
    ///
    /// let again = Jungle::new()?;
    /// journal.records().iter().try_for_each(|record| again.replay(record))?;
    /// again.end_replay();
    /// assert_eq!(again.revision(), jungle.revision());
    /// assert_eq!(again.open_tree("board")?.read().root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replay(&self, record: &CommitRecord) -> Result<(), ReplayError> {
        self.redo(record, Moment::Again(record))
    }

    /// Commits what a record says, with its revision and time: the next commit of all those that
    /// several Jungles make in the same order, see [`Sequencer`](crate::Sequencer). The journal of
    /// this Jungle is told, but waited for only when it has much to write, and what is not to be
    /// kept is dropped.
    ///
    /// One thread at a time does this.
    ///
    /// # Errors
    /// When the record is not the next one, does not fit to what is here, or the journal does not
    /// take it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_db::{Jungle, MemoryJournal};
    /// let log = Arc::new(MemoryJournal::default());
    /// let leader = Jungle::builder().journal(Arc::clone(&log)).build()?;
    /// let own = Arc::new(MemoryJournal::default());
    /// let follower = Jungle::builder().journal(Arc::clone(&own)).build()?;
    /// leader.create_tree("board")?;
    /// log.records().iter().try_for_each(|record| follower.follow(record))?;
    /// assert_eq!((own.records().len(), follower.list_trees()), (1, vec!["board".into()]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn follow(&self, record: &CommitRecord) -> Result<(), ReplayError> {
        self.redo(record, Moment::Followed(record))?;
        self.shared.let_write(record.revision)?;
        Ok(())
    }

    fn redo(&self, record: &CommitRecord, moment: Moment<'_>) -> Result<(), ReplayError> {
        let newest = self.revision();
        if record.revision != newest.next() {
            return Err(ReplayError::NotNext { newest, found: record.revision });
        }
        let by = (moment, &record.meta);
        match &record.event {
            Event::Edited(edits) => self.replay_edits(record, edits, moment),
            Event::TreeCreated { tree, branch, name, retention } => {
                let mut catalog = self.shared.catalog_mut();
                let name = free_name(&catalog, name, *tree)?;
                if tree.0 == branch.0 {
                    return Err(does_not_fit(format!("its branch has the id {}, too", tree.0)));
                }
                self.must_be_free(&catalog, &[tree.0, branch.0])?;
                self.skip_ids(&[tree.0, branch.0])?;
                self.shared.create(&mut catalog, (*tree, *branch), name, *retention, by)?;
                Ok(())
            }
            Event::TreeRenamed { tree, name } => {
                let state = self.tree_of(*tree)?;
                let mut catalog = self.shared.catalog_mut();
                let name = free_name(&catalog, name, *tree)?;
                self.shared.rename(&mut catalog, &state, name, by)?;
                Ok(())
            }
            Event::TreeDeleted { tree } => {
                let state = self.tree_of(*tree)?;
                let mut catalog = self.shared.catalog_mut();
                self.shared.delete(&mut catalog, &state, by)?;
                Ok(())
            }
            event => self.replay_name(event, moment),
        }
    }

    /// Says that no more records follow: what is not to be kept is dropped.
    pub fn end_replay(&self) {
        for head in self.shared.heads().into_iter().chain(self.shared.deleted_heads()) {
            head.lock().end_replay();
        }
    }

    fn replay_name(&self, event: &Event, moment: Moment<'_>) -> Result<(), ReplayError> {
        match event {
            Event::BranchCreated { tree, branch, name, from, at, retention } => {
                self.must_be_free(&self.shared.catalog(), &[branch.0])?;
                self.skip_ids(&[branch.0])?;
                let from = self.handle_of(*tree, *from)?;
                let made = from.branch_as(*branch, name, (*at, *retention), moment);
                made.map(drop).map_err(branch_error)
            }
            Event::BranchDeleted { tree, branch } => {
                let handle = self.handle_of(*tree, *branch)?;
                let name = handle.branch_name().to_owned();
                handle.delete_branch_at(&name, moment).map(drop).map_err(branch_error)
            }
            Event::TagCreated { tree, name, branch, at } => {
                let handle = self.handle_of(*tree, *branch)?;
                handle.tag_at(name, *at, moment).map(drop).map_err(branch_error)
            }
            Event::RetentionSet { tree, branch, retention } => {
                let handle = self.handle_of(*tree, *branch)?;
                if let Moment::Again(_) = moment {
                    handle.head.lock().begin_replay();
                }
                handle.set_retention_at(*retention, moment)?;
                if let Moment::Followed(record) = moment {
                    // What cannot be looked up in the archive is kept until it can be.
                    let _ = handle.apply_retention_at(record.time);
                }
                Ok(())
            }
            Event::TagDeleted { tree, name } => {
                let handle = self.main_of(*tree)?;
                handle.delete_tag_at(name, moment).map(drop).map_err(branch_error)
            }
            Event::IndexCreated { tree, key } => {
                let handle = self.main_of(*tree)?;
                handle.create_index_at(key, moment).map(drop).map_err(index_error)
            }
            Event::IndexDropped { tree, key } => {
                let handle = self.main_of(*tree)?;
                handle.drop_index_at(key, moment).map(drop).map_err(index_error)
            }
            _ => Err(does_not_fit("it is of a kind that is not known here")),
        }
    }

    fn replay_edits(
        &self,
        record: &CommitRecord,
        edits: &[BranchEdit],
        moment: Moment<'_>,
    ) -> Result<(), ReplayError> {
        // Whoever locks several heads does so in the order of their ids, and each of them once.
        let mut edits: Vec<&BranchEdit> = edits.iter().collect();
        edits.sort_by_key(|edit| edit.branch);
        if let Some(pair) = edits.windows(2).find(|pair| pair[0].branch == pair[1].branch) {
            return Err(does_not_fit(format!("it edits branch {} twice", pair[0].branch.0)));
        }
        let handles = edits.iter().map(|edit| self.handle_of(edit.tree, edit.branch));
        let handles: Vec<TreeHandle> = handles.collect::<Result<_, _>>()?;
        // A branch that was deleted since has nothing in common with any.
        let merged = |(edit, handle): (&BranchEdit, &TreeHandle)| {
            edit.merged.as_ref().and_then(|merged| handle.state.head(merged.branch))
        };
        let merged: Vec<Option<Arc<Head>>> =
            edits.iter().copied().zip(&handles).map(merged).collect();
        let mut attempts = Vec::with_capacity(edits.len());
        for ((edit, handle), from) in edits.iter().zip(&handles).zip(&merged) {
            let mut editor = Editor::new(handle.head.reader.snapshot());
            apply(&mut editor, &edit.changes)?;
            let mut attempt = Attempt::of_editor(&handle.head, editor).even_unchanged();
            let on = |from| TreeHandle { head: Arc::clone(from), ..handle.clone() };
            if let (Some(merged), Some(from)) = (&edit.merged, from)
                && let Ok(base) = on(from).at(merged.revision)
            {
                attempt = attempt.with_merged(MergedBranch {
                    merges: &handle.state.merges,
                    from,
                    base,
                    after: None,
                    keys: MergedKeys::Told(merged.renumbered.clone()),
                });
            }
            attempts.push(attempt);
        }
        let mut guards = lock_all(&attempts)?;
        if let Moment::Again(_) = moment {
            guards.iter_mut().for_each(|state| state.begin_replay());
        }
        match publish(&self.shared, &mut attempts, guards, &record.meta, moment) {
            Ok(_) => Ok(()),
            Err(Failure::NotWritten(error)) => Err(error.into()),
            Err(Failure::Overlap(_)) => unreachable!("publishing rebases nothing"),
        }
    }

    /// Numbers of trees and branches are given once, in the whole Jungle: whoever keeps out of each
    /// other's way goes by them. What is new to it is not looked for.
    fn must_be_free(&self, catalog: &Catalog, ids: &[u64]) -> Result<(), ReplayError> {
        let next = self.shared.next_id();
        let is_taken = |id: u64| {
            let has = |tree: &Arc<TreeState>| tree.id.0 == id || tree.head(BranchId(id)).is_some();
            let had = |head: &Arc<Head>| head.tree.0 == id || head.id.0 == id;
            catalog.values().any(has) || self.shared.deleted_heads().iter().any(had)
        };
        match ids.iter().find(|id| **id < next && is_taken(**id)) {
            Some(id) => Err(does_not_fit(format!("the id {id} is taken"))),
            None => Ok(()),
        }
    }

    /// These ids are in use.
    pub(crate) fn skip_ids(&self, ids: &[u64]) -> Result<(), ReplayError> {
        if let Some(id) = ids.iter().find(|id| **id >= NUMBER_END) {
            return Err(does_not_fit(format!("the id {id} leaves no room for further ones")));
        }
        ids.iter().for_each(|id| self.shared.skip_id(*id));
        Ok(())
    }

    fn tree_of(&self, id: TreeId) -> Result<Arc<TreeState>, ReplayError> {
        let catalog = self.shared.catalog();
        let found = catalog.by_id(id).map(|(_, state)| Arc::clone(state));
        found.ok_or_else(|| does_not_fit(format!("there is no tree {}", id.0)))
    }

    fn main_of(&self, id: TreeId) -> Result<TreeHandle, ReplayError> {
        Ok(TreeHandle::main(&self.shared, &self.tree_of(id)?))
    }

    pub(crate) fn handle_of(
        &self,
        tree: TreeId,
        branch: BranchId,
    ) -> Result<TreeHandle, ReplayError> {
        let main = self.main_of(tree)?;
        let found = main.on_branch_id(branch);
        found.ok_or_else(|| does_not_fit(format!("there is no branch {}", branch.0)))
    }
}

/// The name, if it may be one and no other tree has it.
fn free_name(catalog: &Catalog, name: &str, tree: TreeId) -> Result<Arc<str>, ReplayError> {
    let name = name::check(name).map_err(does_not_fit)?;
    match catalog.get(&name).is_some_and(|other| other.id != tree) {
        true => Err(does_not_fit(format!("there is a tree {name:?}"))),
        false => Ok(name),
    }
}

fn index_error(error: IndexError) -> ReplayError {
    match error {
        IndexError::NotWritten(error) => error.into(),
        other => does_not_fit(other),
    }
}

fn branch_error(error: BranchError) -> ReplayError {
    match error {
        BranchError::NotWritten(error) => error.into(),
        BranchError::Main => does_not_fit(format!("{MAIN_BRANCH} cannot be deleted")),
        other => does_not_fit(other),
    }
}
