//! Several commits that are worked out one after the other, and get their places together.

use jungle_tree::{ApplyError, ChangeSet, Editor, Node, Snapshot, apply};

use super::anywhere::is_anywhere;
use super::batch::Ticket;
use super::group::Group;
use super::sequencing::{BATCH_MAX, Sequencing};
use crate::commit::draft::{Draft, Parts, Signer};
use crate::commit::redone;
use crate::commit::write::NotWritten;
use crate::handle::{CommitOptions, Committed, TreeHandle, UpdateError};
use crate::journal::{BranchEdit, BranchId, CommitRecord, Event};
use crate::jungle::{Jungle, Shared};
use crate::revision::{CommitMeta, Revision, Timestamp};

/// Commits that are added to those that wait for the next place in the log, each on top of all
/// before it: see [`Jungle::in_series`], whose example adds some in either way.
pub struct Series<'g> {
    group: &'g mut Group,
    shared: &'g Shared,
    /// The newest revision with all that has gathered, and its time.
    newest: (Revision, Timestamp),
    added: usize,
    /// What signs positions.
    signer: Option<Signer>,
}

impl std::fmt::Debug for Series<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Series").finish_non_exhaustive()
    }
}

/// What became of a series: see [`Jungle::in_series`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed<T> {
    /// What the closure gave.
    pub value: T,
    /// How many commits have their places, counted from the first. Others came before the rest,
    /// or the rest did not fit: nothing of it was done, and it is to be worked out anew.
    pub commits: usize,
    /// Which revision the first of these is; each of the others is the next one.
    pub first: Revision,
    /// Is the first commit of several too long for a place? By itself it is told so; the others are
    /// to be worked out anew without it.
    pub is_too_long: bool,
}

impl Jungle {
    /// Commits several things, one revision each, without waiting for the place of one before the
    /// next is worked out: for who has much to commit and need not be asked between. The closure
    /// adds them; it runs once, and nobody else commits meanwhile. It may edit these branches only,
    /// and by the series alone: whatever else it commits would wait for it.
    ///
    /// A Jungle that has no [`Sequencer`](crate::Sequencer) publishes each commit at once, and has
    /// nothing to gather: `None` is what it says then, and the closure does not run.
    ///
    /// ```
    /// # use std::sync::{Arc, Mutex};
    /// # use jungle_db::{CommitRecord, SequenceError, Sequencer};
    /// # struct Log(Mutex<Option<Jungle>>);
    /// # impl Sequencer for Log {
    /// #     fn sequence(&self, records: &[CommitRecord]) -> Result<usize, SequenceError> {
    /// #         let follower = self.0.lock().unwrap().clone().unwrap();
    /// #         records.iter().for_each(|record| drop(follower.follow(record).unwrap()));
    /// #         Ok(records.len())
    /// #     }
    /// # }
    /// use jungle_db::{CommitMeta, CommitOptions, Jungle};
    /// use jungle_tree::Change;
    /// let jungle = Jungle::new()?;
    /// # let log = Arc::new(Log(Mutex::new(Some(jungle.clone()))));
    /// # jungle.sequence_with(log.clone());
    /// let board = jungle.create_tree("board")?;
    /// let placed = jungle.in_series(&[&board], |series| {
    ///     for name in ["a", "b"] {
    ///         let changes = vec![Change::ChildAdded { path: format!("/~{name}").parse()? }];
    ///         series.commit(&CommitMeta::new(), vec![(&board, changes.into())])?;
    ///     }
    ///     series.update(&board, &CommitOptions::default(), |tx| tx.append(&[]))?;
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// })?;
    /// assert_eq!(placed.expect("it has a sequencer").commits, 3);
    /// assert_eq!(board.read().root().child_count(), 3);
    /// # log.0.lock().unwrap().take();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a branch was deleted, or no place was had, or that is not known.
    pub fn in_series<T>(
        &self,
        branches: &[&TreeHandle],
        f: impl FnOnce(&mut Series<'_>) -> T,
    ) -> Result<Option<Placed<T>>, NotWritten> {
        let Some(sequencing) = self.shared.sequencing() else { return Ok(None) };
        sequencing.await_turn();
        sequencing.in_series(&self.shared, branches, f).map(Some)
    }
}

impl Sequencing {
    fn in_series<T>(
        &self,
        shared: &Shared,
        branches: &[&TreeHandle],
        f: impl FnOnce(&mut Series<'_>) -> T,
    ) -> Result<Placed<T>, NotWritten> {
        let mut group = self.open_group();
        if group.is_at_rest() {
            group.reset();
        }
        // Before the heads are looked at: if they are newer, the records are refused for their
        // numbers.
        let (newest, mut time) = group.newest(shared);
        for branch in branches {
            time = time.max(branch.head.newest_time()?);
        }
        for branch in branches {
            let editor = group.editors.entry(branch.head.id);
            editor.or_insert_with(|| Editor::new(branch.head.reader.snapshot()));
        }
        let (batch, first) = (std::sync::Arc::clone(&group.batch), group.records.len());
        let signer = self.signer();
        let newest = (newest, time);
        let mut series = Series { group: &mut group, shared, newest, added: 0, signer };
        let value = f(&mut series);
        let added = series.added;
        if added == 0 {
            self.leave(&mut group);
            return Ok(Placed { value, commits: 0, first: newest.0, is_too_long: false });
        }
        let last = Ticket { batch, index: first + added - 1 };
        let (places, outcome) = loop {
            if let Some(outcome) = last.outcome() {
                let (places, _) = last.batch.outcome.get().expect("it is known");
                break (*places, outcome);
            }
            group = self.wait_for_news(group, &last.batch.news);
        };
        let commits = places.count.saturating_sub(first).min(added);
        let is_too_long = first == 0 && last.batch.is_too_long();
        match outcome {
            Err(error) if commits == 0 => Err(error),
            _ => Ok(Placed { value, commits, first: places.revision(first), is_too_long }),
        }
    }
}

impl Series<'_> {
    /// How many commits have been added.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.added
    }

    /// Works out a commit in a draft of what has gathered, and adds it: an
    /// [`update`](TreeHandle::update_with) that does not wait for its place. Where nothing was
    /// edited nothing is added, and the revision is the newest that has gathered.
    ///
    /// What `f` read is true as soon as all that was added before has its place. What it says where
    /// that is not so means nothing: it is to be asked anew.
    ///
    /// # Errors
    /// What `f` says, or when there is no room. Nothing was added then.
    ///
    /// # Panics
    /// When the branch is none of those that the series edits.
    pub fn update<T, E>(
        &mut self,
        branch: &TreeHandle,
        options: &CommitOptions,
        f: impl FnOnce(&mut Draft) -> Result<T, E>,
    ) -> Result<Committed<T>, UpdateError<E>> {
        let base = self.version(branch);
        let began_at = base.version();
        let mut draft = Draft::new(base, options.clone()).with_signer(self.signer.clone());
        let value = f(&mut draft).map_err(UpdateError::Closure)?;
        if !draft.is_changed() {
            return Ok(self.worked_out(value));
        }
        let Parts { editor, log, options, reads, .. } = draft.into_parts();
        // Changes to something else would fit nowhere where the log is followed.
        if !editor.base().is_in(&self.shared.arena) || editor.base().version() != began_at {
            return Err(UpdateError::NotWritten(NotWritten::OtherJungle));
        }
        let is_anywhere = log.changes().is_some_and(|changes| is_anywhere(changes, &reads))
            && options.meta.request().is_none();
        // It began with all that has gathered, so it is what is to be gathered on: without a limit
        // that was for this draft.
        let (mut editor, changes) = match log.changes() {
            Some(log) => (editor, log.to_vec().into()),
            None => redone(editor, branch.steps().as_mut()).map_err(UpdateError::NotWritten)?,
        };
        let now = self.shared.now();
        editor.keys_max(u32::MAX);
        self.group.editors.insert(branch.head.id, editor);
        let edit = edit_of(branch, changes);
        self.group.bound += usize::from(!is_anywhere);
        self.push(&options.meta, vec![edit], now);
        Ok(self.worked_out(value))
    }

    fn worked_out<T>(&self, value: T) -> Committed<T> {
        Committed { value, revision: self.newest.0, renamed: Vec::new(), runs: 1 }
    }

    /// Is there no room for more? What is added all the same waits longer.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.group.is_closed || self.group.records.len() >= BATCH_MAX
    }

    /// The root of a branch with all that has gathered. It is one of those that the series edits.
    ///
    /// # Panics
    /// When it is none of those.
    #[must_use]
    pub fn root(&self, branch: &TreeHandle) -> Node<'_> {
        self.group.editors[&branch.head.id].root()
    }

    /// The same as a version.
    ///
    /// # Panics
    /// When it is none of those.
    pub fn version(&mut self, branch: &TreeHandle) -> Snapshot {
        self.group.version(branch.head.id).expect("one of the branches")
    }

    /// Adds a commit, with changes that can be done on what has gathered.
    ///
    /// # Errors
    /// When they cannot be done: nothing more gathers then.
    ///
    /// # Panics
    /// When a branch is none of those that the series edits.
    pub fn commit(
        &mut self,
        meta: &CommitMeta,
        edits: Vec<(&TreeHandle, ChangeSet)>,
    ) -> Result<(), NotWritten> {
        let shared = self.shared;
        let worked_out = self.group.work_out(|group| {
            for (branch, changes) in &edits {
                let editor = group.editors.get_mut(&branch.head.id).expect("one of the branches");
                apply(editor, changes)?;
            }
            Ok::<_, ApplyError>(shared.now())
        });
        let now = worked_out.map_err(|error| {
            // It may be changed in part.
            self.group.is_closed = true;
            NotWritten::NoRoom(error)
        })?;
        let edits = edits.into_iter().map(|(branch, changes)| edit_of(branch, changes));
        self.group.bound += 1;
        self.push(meta, edits.collect(), now);
        Ok(())
    }

    fn push(&mut self, meta: &CommitMeta, edits: Vec<BranchEdit>, now: Timestamp) {
        let (newest, time) = self.newest;
        self.newest = (newest.next(), time.max(now));
        let (revision, time) = self.newest;
        let event = Event::Edited(edits);
        self.group.push(CommitRecord { revision, time, meta: meta.clone(), event });
        self.added += 1;
    }
}

fn edit_of(branch: &TreeHandle, changes: ChangeSet) -> BranchEdit {
    let (tree, branch): (_, BranchId) = (branch.head.tree, branch.head.id);
    BranchEdit { tree, branch, changes, merged: None }
}
