//! What a transaction wants to become of one branch, and what of it goes into the journal.

mod rebase;

use jungle_tree::{Change, ChangeSet, Conflict, Editor, Key, Node, Path, Snapshot, Steps};

use crate::commit::draft::{Draft, Parts};
use crate::commit::log::Log;
use crate::commit::merged::MergedBranch;
use crate::commit::read::Read;
use crate::commit::version::redone;
use crate::commit::write::NotWritten;
use crate::commit::{Failure, Overlap};
use crate::handle::{CommitOptions, TreeHandle};
use crate::head::{Head, HeadState};
use crate::journal::{BranchEdit, BranchId};
use crate::revision::{CommitMeta, Timestamp};
use crate::sequence::is_anywhere;

/// What a transaction wants to become of one branch.
pub(crate) struct Attempt<'h> {
    pub(super) head: &'h Head,
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
    pub(super) renamed: Vec<(Path, Path)>,
    pub(super) merged: Option<MergedBranch<'h>>,
    /// Does it make a revision? What was only read does not.
    pub(super) writes: bool,
    /// Which of the [tips](crate::sequence::Tip) it began at, if it did not begin at the head.
    tip: Option<u64>,
    /// In how many it may be found out what a draft did, if they are counted.
    steps: Option<Steps>,
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
    pub(super) fn check_merge(&self, from: &HeadState, first: u64) -> Result<(), Failure> {
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

    pub(super) fn editor(&self) -> &Editor {
        self.editor.as_ref().expect("there until it is published")
    }

    pub(super) fn take_editor(&mut self) -> Editor {
        self.editor.take().expect("there until it is published")
    }

    /// The version it would be published behind.
    pub(super) fn version(&self) -> u64 {
        self.editor().base().version()
    }

    /// The first thing it read that is not so any more.
    pub(super) fn changed_read(&self, base: &Snapshot, now: Node<'_>) -> Option<Path> {
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
    fn note_changes(&mut self) -> Result<(), NotWritten> {
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

    /// The same for [`publish`](super::publish) only: what a log has need not be copied before.
    pub(super) fn note_unlogged(&mut self) -> Result<(), NotWritten> {
        match self.log.changes() {
            Some(_) => Ok(()),
            None => self.note_changes(),
        }
    }

    /// As [`record`](Attempt::record), of an attempt whose changes nobody asks for any more.
    pub(super) fn last_record(&mut self) -> Option<BranchEdit> {
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
