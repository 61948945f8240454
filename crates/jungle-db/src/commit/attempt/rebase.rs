//! Bringing what a transaction did on top of what others have done since.

use std::collections::HashSet;

use jungle_tree::{
    Change, ChangeSet, Editor, MergeOptions, Path, Rebased, Snapshot, apply, rebase_onto, stands,
};

use crate::commit::read::Read;
use crate::commit::version::{freeze, version_of};
use crate::commit::write::NotWritten;
use crate::commit::{Attempt, Failure};
use crate::planted::{Bug, is_awake};

impl Attempt<'_> {
    /// Brings what it wants on top of the newest version.
    pub(in crate::commit) fn rebase(&mut self) -> Result<(), Failure> {
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
}
