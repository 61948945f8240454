//! A branch as it is on this server: what the log has of it, and what has no place yet on top.

use std::collections::VecDeque;

use jungle_db::{CommitMeta, Revision, Timestamp, TreeHandle};
use jungle_tree::{
    ApplyError, ChangeSet, ConflictKind, EditError, Editor, MergeOptions, Resolution, Snapshot,
    Tree, apply, rebase_onto, stands,
};

use super::error::LocalError;

/// The entries of one branch.
pub(super) struct Line {
    pub(super) branch: TreeHandle,
    /// What the first entry follows.
    pub(super) base: Snapshot,
    /// The newest revision that the base knows of.
    pub(super) at: Revision,
    pub(super) pending: VecDeque<Pending>,
}

/// An entry without a place.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) number: u64,
    pub(super) time: Timestamp,
    pub(super) meta: CommitMeta,
    pub(super) changes: ChangeSet,
    /// The branch with this entry and all before it.
    pub(super) after: Snapshot,
}

/// What has come of the entries of a line.
#[derive(Default)]
pub(super) struct Moved {
    /// These have their places.
    pub(super) gone: Vec<u64>,
    /// These have none, and why.
    pub(super) refused: Vec<(u64, String)>,
    /// Are the others written otherwise now?
    pub(super) is_rewritten: bool,
}

impl Line {
    pub(super) fn new(branch: TreeHandle, base: Snapshot, at: Revision) -> Line {
        Line { branch, base, at, pending: VecDeque::new() }
    }

    /// The newest version.
    pub(super) fn tip(&self) -> &Snapshot {
        self.pending.back().map_or(&self.base, |last| &last.after)
    }

    /// Brings it on top of what the log has up to revision `now`, where all entries up to `settled`
    /// have their places. When it fails, it is as it was.
    pub(super) fn advance(
        &mut self,
        settled: u64,
        head: &Snapshot,
        now: Revision,
    ) -> Result<Moved, LocalError> {
        let mut moved = Moved::default();
        let mut base = self.base.clone();
        let mut left = self.pending.iter().peekable();
        while let Some(placed) = left.next_if(|entry| entry.number <= settled) {
            base = placed.after.clone();
            moved.gone.push(placed.number);
        }
        let mut pending = VecDeque::with_capacity(left.len());
        if base.root().is_equal(head.root()) {
            pending.extend(left.cloned());
        } else {
            let mut onto = head.clone();
            for entry in left {
                // Most need only be done as they are, which takes no look at all that others did.
                let is_free = stands(&entry.changes, base.root(), onto.root());
                let changes = match is_free {
                    true => Ok(entry.changes.clone()),
                    false => rebased(&base, &entry.changes, &onto),
                };
                moved.is_rewritten |= !is_free;
                match changes {
                    Ok(changes) => {
                        onto = applied(&onto, &changes).map_err(LocalError::NoRoom)?;
                        let after = onto.clone();
                        pending.push_back(Pending { changes, after, ..entry.clone() });
                    }
                    Err(why) => moved.refused.push((entry.number, why)),
                }
                base = entry.after.clone();
            }
        }
        (self.base, self.at, self.pending) = (head.clone(), now, pending);
        Ok(moved)
    }

    /// Refuses all entries.
    pub(super) fn refuse_all(&mut self, why: &str) -> Vec<(u64, String)> {
        self.pending.drain(..).map(|entry| (entry.number, why.to_owned())).collect()
    }
}

/// Changes, as they are to be done after what others did, or why they cannot be: an attribute is
/// what was said last, and all else that others have changed is left as it is.
pub(super) fn rebased(
    base: &Snapshot,
    ours: &ChangeSet,
    onto: &Snapshot,
) -> Result<ChangeSet, String> {
    let options = MergeOptions::new().resolution(Resolution::Ours);
    let rebased = rebase_onto(base, ours, onto, &options);
    let mut conflicts = rebased.conflicts.iter();
    if let Some(conflict) = conflicts.find(|conflict| conflict.kind != ConflictKind::Attribute) {
        return Err(conflict.to_string());
    }
    // A path that was given to a client stays that node's, so it cannot become another.
    match rebased.renamed.first() {
        Some((from, _)) => Err(format!("{from}: another node has this position")),
        None => Ok(rebased.changes),
    }
}

/// The version with these changes.
pub(super) fn applied(base: &Snapshot, changes: &ChangeSet) -> Result<Snapshot, ApplyError> {
    let mut line = Tree::from_snapshot(base);
    let mut editor = Editor::new(line.snapshot());
    apply(&mut editor, changes)?;
    line.publish(editor);
    Ok(line.snapshot())
}

/// Was there no room, whatever was to be done?
pub(super) fn is_full(error: &ApplyError) -> bool {
    matches!(error.source, EditError::ArenaFull | EditError::TooManyKeys)
}
