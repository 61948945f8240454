//! The commit path.
//!
//! A transaction works on a private version, outside of any lock. To commit it, the heads it
//! concerns are locked; if each still is the version the transaction began with, its version is
//! published. Else its changes are rebased over what came between, outside of the locks as far as
//! possible, and only what cannot be rebased is refused as an [`Overlap`].

pub(crate) mod draft;
pub(crate) mod durability;
pub(crate) mod log;
pub(crate) mod multi;
pub(crate) mod pause;
pub(crate) mod read;
pub(crate) mod requests;
pub(crate) mod transaction;
pub(crate) mod turn;
pub(crate) mod write;

use std::collections::HashSet;

use jungle_tree::{
    Change, ChangeSet, Conflict, Editor, Key, MergeOptions, Node, Path, Rebased, Renumbering,
    Snapshot, Steps, TooManySteps, Tree, apply, rebase_onto, stands,
};

use crate::branch::origin::{Common, Merges};
use crate::branch::other_keys::OtherKeys;
use crate::commit::draft::{Draft, Parts};
use crate::commit::log::Log;
use crate::commit::read::Read;
use crate::commit::write::NotWritten;
use crate::handle::{CommitOptions, TreeHandle, compare};
use crate::head::{Head, HeadState, Stamp};
use crate::journal::{BranchEdit, BranchId, CommitRecord, Event, MergedVersion};
use crate::jungle::Shared;
use crate::planted::{Bug, is_awake};
use crate::revision::{CommitMeta, Revision, Timestamp};
use crate::sequence::is_anywhere;
use crate::sync::MutexGuard;

/// So often a commit rebases outside of the locks before it does so inside of them.
const ROUNDS: u32 = 3;

/// What a transaction wants to become of one branch.
pub(crate) struct Attempt<'h> {
    head: &'h Head,
    /// Began at the newest version known to the attempt.
    editor: Option<Editor>,
    reads: Vec<Read>,
    /// What was moved: by its path in the base, and to where. Known of a draft only.
    moved: Option<Vec<(Path, Path)>>,
    log: Log,
    /// The version the transaction began with, once it had to be rebased.
    base: Option<Snapshot>,
    /// What the transaction did to that, once that was asked for.
    ours: Option<ChangeSet>,
    /// What the editor did to the version it began at, once that was asked for.
    changes: Option<ChangeSet>,
    renamed: Vec<(Path, Path)>,
    merged: Option<MergedBranch<'h>>,
    /// Does it make a revision? What was only read does not.
    writes: bool,
    /// Which of the [tips](crate::sequence::Tip) it began at, if it did not begin at the head.
    tip: Option<u64>,
    /// In how many it may be found out what a draft did, if they are counted.
    steps: Option<Steps>,
}

/// A branch that is merged into another, in a commit of its own.
pub(crate) struct MergedBranch<'h> {
    pub(crate) merges: &'h Merges,
    pub(crate) from: &'h Head,
    /// Its version that is merged, which both have in common from then on.
    pub(crate) base: crate::snapshot::Snapshot,
    /// Which they had in common before, of those that were merged, as it was worked out; `None` for
    /// a merge that was committed before, and is done again.
    pub(crate) after: Option<Option<Revision>>,
    pub(crate) keys: MergedKeys,
}

/// Which nodes of a branch that is merged have other keys on the branch that it is merged into.
pub(crate) enum MergedKeys {
    /// As the merge was worked out, which may be rebased.
    WorkedOut(Renumbering),
    /// As it was told of a merge that was committed before.
    Told(OtherKeys),
}

impl MergedBranch<'_> {
    /// The nodes that have other keys, where some were renamed as the merge was rebased.
    fn renumbered(&self, renamed: &[(Path, Path)]) -> OtherKeys {
        match &self.keys {
            MergedKeys::WorkedOut(renumbering) => OtherKeys::of(renumbering.then(renamed)),
            MergedKeys::Told(keys) => keys.clone(),
        }
    }

    fn note(&self, into: BranchId, renamed: &[(Path, Path)]) {
        let (of, snapshot) = (self.from.id, self.base.clone());
        let renumbered = self.renumbered(renamed);
        self.merges.note(into, Common { of, snapshot, renumbered });
    }

    fn told(&self, renamed: &[(Path, Path)]) -> MergedVersion {
        let (branch, revision) = (self.from.id, self.base.revision());
        MergedVersion { branch, revision, renumbered: self.renumbered(renamed) }
    }
}

/// Others changed what the transaction read or changed.
#[derive(Debug)]
pub(crate) struct Overlap {
    pub(crate) branch: BranchId,
    /// The first path that was read and has changed.
    pub(crate) read: Option<Path>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) changes: ChangeSet,
}

/// Why an attempt did not become a commit.
#[derive(Debug)]
pub(crate) enum Failure {
    Overlap(Overlap),
    NotWritten(NotWritten),
}

impl From<NotWritten> for Failure {
    fn from(error: NotWritten) -> Failure {
        Failure::NotWritten(error)
    }
}

/// Whether a commit happens now, or is one that has its place already.
#[derive(Clone, Copy)]
pub(crate) enum Moment<'r> {
    Now,
    /// It is in the journal of this Jungle, and is done again.
    Again(&'r CommitRecord),
    /// It got its place from a [`Sequencer`](crate::Sequencer).
    Followed(&'r CommitRecord),
}

type Guards<'h> = Vec<MutexGuard<'h, HeadState>>;

/// Commits all attempts as one revision. They are in the order of the ids of their heads.
pub(crate) fn commit(
    shared: &Shared,
    attempts: &mut [Attempt<'_>],
    options: &CommitOptions,
) -> Result<Revision, Failure> {
    let revision = rebase_and_publish(shared, attempts, &options.meta)?;
    shared.acknowledge(revision, options.durability)?;
    Ok(revision)
}

/// As [`commit`], but it is still to be acknowledged.
pub(crate) fn rebase_and_publish(
    shared: &Shared,
    attempts: &mut [Attempt<'_>],
    meta: &CommitMeta,
) -> Result<Revision, Failure> {
    must_be_of(shared, attempts)?;
    if let Some(sequencing) = shared.sequencing() {
        return sequencing.commit(shared, attempts, meta);
    }
    let mut round = 0;
    loop {
        for attempt in attempts.iter_mut() {
            if round < ROUNDS && attempt.version() != attempt.head.newest_version() {
                attempt.rebase()?;
            }
            if shared.has_journal() {
                attempt.note_unlogged()?;
            }
        }
        let (guards, _merged) = lock_to_publish(attempts)?;
        let all_at_head = attempts
            .iter()
            .zip(&guards)
            .all(|(attempt, state)| attempt.version() == state.history.newest().id.version());
        if all_at_head || is_awake(Bug::PublishWithoutLook) {
            return publish(shared, attempts, guards, meta, Moment::Now);
        }
        if round == ROUNDS {
            for attempt in attempts.iter_mut() {
                attempt.rebase()?;
                if shared.has_journal() {
                    attempt.note_unlogged()?;
                }
            }
            return publish(shared, attempts, guards, meta, Moment::Now);
        }
        round += 1;
    }
}

/// Refuses what began in another Jungle: whoever edits a draft, or by an editor, can put another
/// one in its place. That is no version that could be compared with those that are here.
fn must_be_of(shared: &Shared, attempts: &[Attempt<'_>]) -> Result<(), NotWritten> {
    match attempts.iter().all(|attempt| attempt.editor().base().is_in(&shared.arena)) {
        true => Ok(()),
        false => Err(NotWritten::OtherJungle),
    }
}

/// Looks whether all that was read was there at once: it is all there now, if nobody changed it.
pub(crate) fn check_reads(shared: &Shared, attempts: &[Attempt<'_>]) -> Result<(), Failure> {
    must_be_of(shared, attempts)?;
    // What is held does not change, so writers need not wait while it is looked at.
    let guards = lock_all(attempts)?;
    let heads: Vec<_> = attempts.iter().map(|attempt| attempt.head.reader.snapshot()).collect();
    drop(guards);
    for (attempt, now) in attempts.iter().zip(heads) {
        let base = attempt.editor().base();
        if let Some(read) = attempt.changed_read(base, now.root()) {
            return Err(attempt.overlap(Some(read), Vec::new(), ChangeSet::new()));
        }
    }
    Ok(())
}

/// Locks the heads of all attempts.
pub(crate) fn lock_all<'h>(attempts: &[Attempt<'h>]) -> Result<Guards<'h>, NotWritten> {
    let guards: Guards<'h> = attempts.iter().map(|attempt| attempt.head.lock()).collect();
    if guards.iter().any(|state| state.closed) {
        return Err(NotWritten::Deleted);
    }
    Ok(guards)
}

/// Locks the heads of all attempts, and that of a branch that is merged, in the order of their
/// ids: its version is to be kept until the merge is written, since who reads that looks for it.
fn lock_to_publish<'h>(
    attempts: &[Attempt<'h>],
) -> Result<(Guards<'h>, Option<MutexGuard<'h, HeadState>>), Failure> {
    let [attempt @ Attempt { merged: Some(merged), .. }] = attempts else {
        return Ok((lock_all(attempts)?, None));
    };
    let first = (merged.from.id < attempt.head.id).then(|| merged.from.lock());
    let guards = lock_all(attempts)?;
    let from = first.unwrap_or_else(|| merged.from.lock());
    attempt.check_merge(&from, from.history.first())?;
    Ok((guards, Some(from)))
}

/// Publishes attempts that are at their heads, whose locks are held. To be acknowledged when the
/// locks are free again.
pub(crate) fn publish(
    shared: &Shared,
    attempts: &mut [Attempt<'_>],
    mut guards: Guards<'_>,
    meta: &CommitMeta,
    moment: Moment<'_>,
) -> Result<Revision, Failure> {
    if let Moment::Now = moment {
        if !attempts.iter().any(|attempt| attempt.writes) {
            // It was only to be found out that all is as it was read.
            let newest = guards.iter().map(|state| state.history.newest().revision).max();
            return Ok(newest.unwrap_or_default());
        }
        // What it would do now may leave out the branch that knows of it.
        guards.iter_mut().try_for_each(|state| state.refuse_repeated(meta))?;
    }
    // Times of a history never go down, whatever the clock does.
    let newest = guards.iter().map(|state| state.history.newest().time).max();
    let time = match moment {
        Moment::Now => shared.now().max(newest.unwrap_or_default()),
        Moment::Again(record) | Moment::Followed(record) => record.time,
    };
    let event = || Event::Edited(attempts.iter_mut().filter_map(Attempt::last_record).collect());
    let event = shared.has_journal().then(event);
    let revision = shared.write(moment, time, meta, event, |revision| {
        for (index, (attempt, state)) in attempts.iter_mut().zip(&mut guards).enumerate() {
            if !attempt.writes || index > 0 && is_awake(Bug::HalfPublished) {
                continue;
            }
            let editor = attempt.take_editor();
            let meta = meta.clone();
            let stamp = Stamp { revision, time, meta };
            state.publish(attempt.head, editor, stamp);
            if let Some(merged) = &attempt.merged {
                merged.note(attempt.head.id, &attempt.renamed);
            }
        }
    })?;
    Ok(revision)
}

impl<'h> Attempt<'h> {
    /// What a draft of this branch wants.
    pub(crate) fn of_draft(branch: &'h TreeHandle, draft: Draft) -> (Attempt<'h>, CommitOptions) {
        let Parts { editor, reads, moved, log, options } = draft.into_parts();
        let mut attempt = Attempt::of_editor(&branch.head, editor);
        attempt.steps = branch.steps();
        attempt.reads = reads;
        attempt.moved = Some(moved);
        attempt.log = log;
        (attempt, options)
    }

    /// What an editor made, with nothing read.
    pub(crate) fn of_editor(head: &'h Head, editor: Editor) -> Attempt<'h> {
        let writes = editor.is_changed();
        Attempt {
            head,
            editor: Some(editor),
            reads: Vec::new(),
            moved: None,
            log: Log::Incomplete,
            base: None,
            ours: None,
            changes: None,
            renamed: Vec::new(),
            merged: None,
            writes,
            tip: None,
            steps: None,
        }
    }

    /// Says that it began at a tip.
    pub(crate) fn of_tip(mut self, tip: Option<u64>) -> Self {
        self.tip = tip;
        self
    }

    /// Did it begin at something that has come to nothing?
    pub(crate) fn is_lost(&self, tips: u64) -> bool {
        self.tip.is_some_and(|tip| tip != tips)
    }

    /// Says which changes the editor made.
    pub(crate) fn with_changes(mut self, changes: ChangeSet) -> Self {
        self.changes = Some(changes);
        self
    }

    /// Says that everything was looked at.
    pub(crate) fn of_whole_tree(mut self) -> Self {
        self.reads.push(Read::Subtree(Path::root()));
        self
    }

    /// Says that nothing may be where its changes put a node at a position: it would be another.
    pub(crate) fn where_positions_are_free(mut self) -> Self {
        let put = self.changes.iter().flatten().filter_map(|change| match change {
            Change::ChildAdded { path } | Change::SubtreeSet { path, .. } => Some(path),
            _ => None,
        });
        let put = put.filter(|path| matches!(path.last(), Some(Key::Position(_))));
        self.reads.extend(put.cloned().map(Read::Free));
        self
    }

    /// Makes a revision even if the editor has changed nothing.
    pub(crate) fn even_unchanged(mut self) -> Self {
        self.writes = true;
        self
    }

    /// Says what was merged.
    pub(crate) fn with_merged(mut self, merged: MergedBranch<'h>) -> Self {
        self.merged = Some(merged);
        self
    }

    pub(crate) fn is_merge(&self) -> bool {
        self.merged.is_some()
    }

    /// Refuses a merge that was worked out from what is not so any more: one was merged into the
    /// other meanwhile, so that all of it would be there twice; the branch was deleted; or it keeps
    /// what is `first` in its history, and not what is merged.
    fn check_merge(&self, from: &HeadState, first: u64) -> Result<(), Failure> {
        let Some(MergedBranch { merges, from: head, base, after: Some(after), .. }) = &self.merged
        else {
            return Ok(());
        };
        let is_kept =
            from.history.keeps(base.revision(), first).map_err(NotWritten::NotLookedUp)?;
        if is_kept && !from.closed && merges.merged(head.id, self.head.id) == *after {
            return Ok(());
        }
        Err(self.overlap(None, Vec::new(), ChangeSet::new()))
    }

    /// The same where all who follow look for what is merged, and have what is to be kept only.
    pub(crate) fn check_merge_in_sequence(&self) -> Result<(), Failure> {
        let Some(merged) = &self.merged else { return Ok(()) };
        let from = merged.from.lock();
        let first = from.first_to_keep().map_err(NotWritten::NotLookedUp)?;
        self.check_merge(&from, first)
    }

    /// The nodes that got another key when they were rebased.
    pub(crate) fn into_renamed(self) -> Vec<(Path, Path)> {
        self.renamed
    }

    fn editor(&self) -> &Editor {
        self.editor.as_ref().expect("there until it is published")
    }

    fn take_editor(&mut self) -> Editor {
        self.editor.take().expect("there until it is published")
    }

    /// The version it would be published behind.
    fn version(&self) -> u64 {
        self.editor().base().version()
    }

    /// Brings what it wants on top of the newest version.
    fn rebase(&mut self) -> Result<(), Failure> {
        let head = self.head.reader.snapshot();
        if head.version() == self.version() {
            return Ok(());
        }
        let base = self.base.take().unwrap_or_else(|| self.editor().base().clone());
        let changed = |read: &&Read| !read.holds(base.root(), head.root());
        if let Some(read) = self.reads.iter().find(changed)
            && !is_awake(Bug::RebaseDropsReads)
        {
            let read = Some(read.path().clone());
            let ours = match self.log.changes() {
                Some(log) => log.to_vec().into(),
                None => self.ours(&base)?,
            };
            return Err(self.overlap(read, Vec::new(), ours));
        }
        if let Some(log) = self.log.changes()
            && stands(log, base.root(), head.root())
        {
            // The old one first: two editors at once need twice the memory to work in.
            drop(self.editor.take());
            let mut editor = Editor::new(head);
            apply(&mut editor, log).map_err(NotWritten::NoRoom)?;
            self.editor = Some(editor);
            self.changes = None;
            self.renamed.clear();
        } else {
            let ours = self.ours(&base)?;
            if let Some(lost) = self.lost_move(&ours, &base, &head) {
                return Err(self.overlap(Some(lost), Vec::new(), ours));
            }
            let rebased = self.rebased(&base, &ours, &head);
            if !rebased.conflicts.is_empty() {
                return Err(self.overlap(None, rebased.conflicts, ours));
            }
            let mut editor = Editor::new(head);
            if let Err(error) = apply(&mut editor, &rebased.changes) {
                return Err(match error.source.is_full() {
                    true => NotWritten::NoRoom(error).into(),
                    // On top of theirs it cannot be done: to be worked out anew.
                    false => self.overlap(None, Vec::new(), ours),
                });
            }
            self.editor = Some(editor);
            self.changes = Some(rebased.changes);
            self.renamed = rebased.renamed;
            self.ours = Some(ours);
        }
        self.base = Some(base);
        Ok(())
    }

    /// What the transaction did to the version it began with.
    fn ours(&mut self, base: &Snapshot) -> Result<ChangeSet, NotWritten> {
        if let Some(ours) = self.ours.take() {
            return Ok(ours);
        }
        // Where there is a log the editor may have been replaced; else it is the first one still.
        let editor = match self.log.changes() {
            None => match self.changes.take() {
                // What a merge says that it did: what came and went, no editor tells any more.
                Some(told) => {
                    drop(self.editor.take());
                    return Ok(told);
                }
                None => self.take_editor(),
            },
            Some(log) => {
                drop(self.editor.take());
                let mut editor = Editor::new(base.clone());
                apply(&mut editor, log).map_err(NotWritten::NoRoom)?;
                editor
            }
        };
        Ok(freeze(editor, self.steps.as_mut())?.1)
    }

    /// A node that others changed, and that the changes do not follow as the draft did: it was
    /// moved and changed, so that it is not known as the same any more; or it was removed and a
    /// copy of it put elsewhere, which is taken for a move. What others did would come back or go
    /// astray.
    fn lost_move(&self, ours: &ChangeSet, base: &Snapshot, head: &Snapshot) -> Option<Path> {
        let done = self.moved.as_deref()?;
        let told = ours.iter().filter_map(|change| match change {
            Change::Moved { from, to } => Some((from, to)),
            _ => None,
        });
        // Sets: who moves thousands of nodes does so with the heads locked, at last.
        let told: HashSet<(&Path, &Path)> = told.collect();
        let done: HashSet<(&Path, &Path)> = done.iter().map(|(from, to)| (from, to)).collect();
        let is_changed = |from: &&Path| {
            let read = Read::Subtree(Path::clone(from));
            !read.holds(base.root(), head.root())
        };
        done.symmetric_difference(&told).map(|(from, _)| *from).filter(is_changed).min().cloned()
    }

    /// Works out what it comes to on top of what an editor holds, which stays as it is, although it
    /// may become another.
    pub(crate) fn place_on(&mut self, now: Editor) -> (Editor, Result<(), Failure>) {
        let base = self.base.take().unwrap_or_else(|| self.editor().base().clone());
        self.renamed.clear();
        let (now, placed) = match self.free_changes(&base, &now) {
            Ok(Some(changes)) => (now, Ok(changes)),
            Ok(None) => {
                let version = version_of(now);
                let placed = self.rebased_changes(&base, &version);
                (Editor::new(version), placed)
            }
            Err(failure) => (now, Err(failure)),
        };
        self.base = Some(base);
        let placed = placed.map(|changes| self.changes = Some(changes));
        (now, placed)
    }

    /// Its changes, if nothing they concern is another than at the base.
    fn free_changes(
        &mut self,
        base: &Snapshot,
        now: &Editor,
    ) -> Result<Option<ChangeSet>, Failure> {
        let is_base = base.root().is_same(now.root());
        if let Some(log) = self.log.changes()
            && (is_base || self.changed_read(base, now.root()).is_none())
            && (is_base || stands(log, base.root(), now.root()))
        {
            let changes = log.to_vec().into();
            drop(self.editor.take());
            return Ok(Some(changes));
        }
        if is_base {
            let ours = self.ours(base)?;
            self.ours = Some(ours.clone());
            return Ok(Some(ours));
        }
        Ok(None)
    }

    fn rebased_changes(&mut self, base: &Snapshot, now: &Snapshot) -> Result<ChangeSet, Failure> {
        let read = self.changed_read(base, now.root());
        let ours = self.ours(base)?;
        self.ours = Some(ours.clone());
        let read = read.or_else(|| self.lost_move(&ours, base, now));
        if read.is_some() {
            return Err(self.overlap(read, Vec::new(), ours));
        }
        let rebased = self.rebased(base, &ours, now);
        if !rebased.conflicts.is_empty() {
            return Err(self.overlap(None, rebased.conflicts, ours));
        }
        self.renamed = rebased.renamed;
        Ok(rebased.changes)
    }

    /// Its changes on top of what others did. A child of a merge that comes and goes, so that its
    /// position is not given, is nobody's: it has no other key, and nothing is lost without it.
    fn rebased(&self, base: &Snapshot, ours: &[Change], now: &Snapshot) -> Rebased {
        let mut rebased = rebase_onto(base, ours, now, &MergeOptions::new());
        if self.is_merge() {
            let added = ours.iter().filter(|change| matches!(change, Change::ChildAdded { .. }));
            let added: HashSet<&Path> = added.map(Change::path).collect();
            let gone = ours.iter().filter(|change| matches!(change, Change::ChildRemoved { .. }));
            let gone = gone.map(Change::path).filter(|path| added.contains(path));
            let gone: HashSet<&Path> = gone.collect();
            rebased.renamed.retain(|(said, _)| !gone.contains(said));
            rebased.conflicts.retain(|conflict| !gone.contains(conflict.ours.path()));
        }
        rebased
    }

    /// The first thing it read that is not so any more.
    fn changed_read(&self, base: &Snapshot, now: Node<'_>) -> Option<Path> {
        let changed = |read: &&Read| !read.holds(base.root(), now);
        self.reads.iter().find(changed).map(|read| read.path().clone())
    }

    /// The branch it wants to change.
    pub(crate) fn branch(&self) -> BranchId {
        self.head.id
    }

    /// The time of the newest revision of the branch.
    pub(crate) fn newest_time(&self) -> Result<Timestamp, NotWritten> {
        self.head.newest_time()
    }

    /// Refuses what was asked for before, whether or not it changes this branch now.
    pub(crate) fn refuse_repeated(&self, meta: &CommitMeta) -> Result<(), NotWritten> {
        self.head.lock().refuse_repeated(meta)
    }

    pub(crate) fn editor_of_head(&self) -> Editor {
        Editor::new(self.head.reader.snapshot())
    }

    /// What it comes to, once that was worked out.
    pub(crate) fn placed_changes(&self) -> &ChangeSet {
        self.changes.as_ref().expect("worked out before")
    }

    /// Is it the same wherever in a log it comes?
    pub(crate) fn is_anywhere(&self) -> bool {
        self.merged.is_none() && is_anywhere(self.placed_changes(), &self.reads)
    }

    pub(crate) fn overlap(
        &self,
        read: Option<Path>,
        conflicts: Vec<Conflict>,
        changes: ChangeSet,
    ) -> Failure {
        Failure::Overlap(Overlap { branch: self.head.id, read, conflicts, changes })
    }

    /// Finds out what the editor changes, for the journal.
    pub(crate) fn note_changes(&mut self) -> Result<(), NotWritten> {
        if self.changes.is_some() {
            return Ok(());
        }
        if let Some(log) = self.log.changes() {
            self.changes = Some(log.to_vec().into());
            return Ok(());
        }
        if !self.editor().is_changed() {
            self.changes = Some(ChangeSet::new());
            return Ok(());
        }
        let editor = self.take_editor();
        let (editor, changes) = redone(editor, self.steps.as_mut())?;
        self.editor = Some(editor);
        self.changes = Some(changes);
        Ok(())
    }

    /// The same for [`publish`] only: what a log has need not be copied before.
    fn note_unlogged(&mut self) -> Result<(), NotWritten> {
        match self.log.changes() {
            Some(_) => Ok(()),
            None => self.note_changes(),
        }
    }

    /// As [`record`](Attempt::record), of an attempt whose changes nobody asks for any more.
    fn last_record(&mut self) -> Option<BranchEdit> {
        if !self.writes {
            return self.record();
        }
        let changes = self.changes.take().or_else(|| self.log.take().map(ChangeSet::from));
        let changes = changes.unwrap_or_default();
        self.record().map(|edit| BranchEdit { changes, ..edit })
    }

    pub(crate) fn record(&self) -> Option<BranchEdit> {
        self.writes.then(|| BranchEdit {
            tree: self.head.tree,
            branch: self.head.id,
            changes: self.changes.clone().unwrap_or_default(),
            merged: self.merged.as_ref().map(|merged| merged.told(&self.renamed)),
        })
    }
}

/// What an editor holds as a version, of a line of its own.
pub(crate) fn version_of(editor: Editor) -> Snapshot {
    if !editor.is_changed() {
        return editor.base().clone();
    }
    let mut line = Tree::from_snapshot(editor.base());
    line.publish(editor);
    line.snapshot()
}

/// The version an editor began with, and what it changed, if that is found out in so many steps.
///
/// An editor is no version, so it cannot be compared; it becomes one, of a line of its own.
fn freeze(
    editor: Editor,
    steps: Option<&mut Steps>,
) -> Result<(Snapshot, ChangeSet), TooManySteps> {
    let base = editor.base().clone();
    if !editor.is_changed() {
        return Ok((base, ChangeSet::new()));
    }
    let changes = compare(&base, &version_of(editor), steps)?;
    Ok((base, changes))
}

/// What an editor changed, and another editor that did the same, since the first has become a
/// version of another line.
pub(crate) fn redone(
    editor: Editor,
    steps: Option<&mut Steps>,
) -> Result<(Editor, ChangeSet), NotWritten> {
    let (base, changes) = freeze(editor, steps)?;
    let mut editor = Editor::new(base);
    apply(&mut editor, &changes).map_err(NotWritten::NoRoom)?;
    Ok((editor, changes))
}
