//! A branch as it is on this server: what the log has of it, and what has no place yet on top.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use jungle_db::{
    BranchEdit, CommitMeta, CommitRecord, Event, Revision, Timestamp, TreeHandle, added_node,
};
use jungle_tree::{
    ApplyError, Change, ChangeSet, ConflictKind, Editor, Key, MergeOptions, Node, Resolution,
    Snapshot, Tree, apply, diff, rebase_onto, skip_positions, stands,
};

use super::ENTRY_BYTES_MAX;
use super::error::{self, LocalError};
use super::places::Places;

/// The entries of one branch.
pub(super) struct Line {
    pub(super) branch: TreeHandle,
    /// What the first entry follows.
    pub(super) base: Snapshot,
    /// The newest revision that the base knows of.
    pub(super) at: Revision,
    pub(super) pending: VecDeque<Arc<Pending>>,
    /// The newest version, with all entries.
    tip: Tree,
    places: Places,
    /// How much was put below the tip since it was made anew: that it does not share with what the
    /// log has.
    slid: usize,
}

/// An entry without a place.
pub(super) struct Pending {
    pub(super) number: u64,
    pub(super) time: Timestamp,
    pub(super) meta: CommitMeta,
    pub(super) changes: ChangeSet,
    /// How long it is in the outbox; of one that is written otherwise now nobody knows that.
    pub(super) bytes: usize,
}

impl Pending {
    /// Its bytes, as a record of a commit.
    pub(super) fn encode(&self, branch: &TreeHandle) -> Result<Vec<u8>, LocalError> {
        let edit = BranchEdit {
            tree: branch.id(),
            branch: branch.branch_id(),
            changes: self.changes.clone(),
            merged: None,
        };
        let record = CommitRecord {
            revision: Revision::new(self.number),
            time: self.time,
            meta: self.meta.clone(),
            event: Event::Edited(vec![edit]),
        };
        let mut bytes = Vec::new();
        jungle_store::encode(&record, &mut bytes).map_err(LocalError::Encode)?;
        match bytes.len() {
            bytes if bytes > ENTRY_BYTES_MAX => Err(LocalError::TooLong { bytes }),
            _ => Ok(bytes),
        }
    }
}

/// What an entry was done on. Few ask for it, so entries are done here when somebody does.
pub(super) struct Then {
    editor: Editor,
    /// Those that are still to be done.
    behind: Vec<Arc<Pending>>,
}

impl Then {
    pub(super) fn new(base: Snapshot) -> Then {
        Then { editor: Editor::new(base), behind: Vec::new() }
    }

    /// The next entry was done on this one.
    pub(super) fn pass(&mut self, entry: &Arc<Pending>) {
        self.behind.push(Arc::clone(entry));
    }

    /// With all that was done.
    pub(super) fn editor(&mut self) -> Result<&mut Editor, LocalError> {
        for entry in self.behind.drain(..) {
            apply(&mut self.editor, &entry.changes).map_err(LocalError::NoRoom)?;
        }
        Ok(&mut self.editor)
    }
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
    /// How many entries were held against what others did.
    pub(super) rebased: usize,
}

impl Line {
    pub(super) fn new(branch: TreeHandle, base: Snapshot, at: Revision) -> Line {
        let tip = Tree::from_snapshot(&base);
        Line { branch, base, at, pending: VecDeque::new(), tip, places: Places::default(), slid: 0 }
    }

    /// The newest version.
    pub(super) fn tip(&self) -> Snapshot {
        self.tip.snapshot()
    }

    /// Where the next version is to be put, by whoever adds an entry then.
    pub(super) fn tip_mut(&mut self) -> &mut Tree {
        &mut self.tip
    }

    /// Adds an entry that was kept elsewhere; all is as it was when that cannot be done.
    pub(super) fn add(&mut self, entry: Pending) -> Result<(), ApplyError> {
        self.tip.edit(|editor| apply(editor, &entry.changes))?;
        self.pending.push_back(Arc::new(entry));
        Ok(())
    }

    /// Brings it on top of what the log has up to revision `now`, where all entries up to `settled`
    /// have their places. When it fails, it is as it was; so it is when one would be refused that
    /// is handed out to be published, as those up to `handed` are: it may get its place meanwhile.
    pub(super) fn advance(
        &mut self,
        (settled, handed): (u64, u64),
        head: &Snapshot,
        now: Revision,
    ) -> Result<Moved, LocalError> {
        let count = self.pending.iter().take_while(|entry| entry.number <= settled).count();
        if count == 0 && self.base.root().is_equal(head.root()) {
            (self.base, self.at) = (head.clone(), now);
            return Ok(Moved::default());
        }
        match self.slide(count, head, now)? {
            Some(moved) => Ok(moved),
            None => self.rebase((settled, handed), head, now),
        }
    }

    /// The same, where `count` entries have their places and the others need not be looked at: what
    /// others did is beside all of them, and is put below. It takes as long as that is much, so it
    /// is done only while that is less than the entries are; then all is made anew at last, which
    /// is no more work for each change of theirs, and the tip shares with the head again.
    ///
    /// It comes to what a look at each does. Nobody else has moved anything, or added, removed or
    /// changed what an entry moves, removes or sets, or added or removed what an entry speaks of or
    /// something around that. So each path means the same node before and after, each entry finds
    /// what it found, and none is refused. An attribute that both change is as the entry says
    /// either way, also where others have said the same: the entry is later.
    fn slide(
        &mut self,
        count: usize,
        head: &Snapshot,
        now: Revision,
    ) -> Result<Option<Moved>, LocalError> {
        let left = self.pending.len() - count;
        if self.slid + count >= left {
            return Ok(None);
        }
        let mut then = Then::new(self.base.clone());
        self.pending.range(..count).for_each(|entry| then.pass(entry));
        let below = frozen(then.editor()?);
        let theirs = diff(&below, head);
        let slid = self.slid + count + theirs.len();
        if slid >= left {
            return Ok(None);
        }
        // None are known if this comes to nothing, whatever ends it.
        let mut places = mem::take(&mut self.places);
        places.follow(&self.pending, count);
        let slides = places.beside(theirs).is_some_and(|theirs| {
            let put = self.tip.edit(|editor| {
                apply(editor, &theirs)?;
                skip_positions(editor, &below, head)
            });
            put.is_ok()
        });
        if !slides {
            return Ok(None);
        }
        let gone = self.pending.drain(..count).map(|entry| entry.number).collect();
        (self.base, self.at, self.slid, self.places) = (head.clone(), now, slid, places);
        Ok(Some(Moved { gone, ..Moved::default() }))
    }

    /// The same, with a look at each entry.
    fn rebase(
        &mut self,
        (settled, handed): (u64, u64),
        head: &Snapshot,
        now: Revision,
    ) -> Result<Moved, LocalError> {
        let mut moved = Moved::default();
        // What it was without those that have their places, and what it is with them.
        let mut then = Then::new(self.base.clone());
        let mut onto = Editor::new(head.clone());
        let mut pending = VecDeque::with_capacity(self.pending.len());
        for entry in &self.pending {
            if entry.number <= settled {
                moved.gone.push(entry.number);
            } else {
                moved.rebased += 1;
                match moved_onto(&mut then, entry, &mut onto)? {
                    Ok(changes) => {
                        let entry = changes.map_or_else(
                            || Arc::clone(entry),
                            |changes| {
                                moved.is_rewritten = true;
                                let (number, time) = (entry.number, entry.time);
                                Arc::new(Pending {
                                    number,
                                    time,
                                    meta: entry.meta.clone(),
                                    changes,
                                    bytes: usize::MAX,
                                })
                            },
                        );
                        apply(&mut onto, &entry.changes).map_err(LocalError::NoRoom)?;
                        pending.push_back(entry);
                    }
                    Err(_) if entry.number <= handed => {
                        return Ok(Moved { rebased: moved.rebased, ..Moved::default() });
                    }
                    Err(why) => moved.refused.push((entry.number, why)),
                }
            }
            then.pass(entry);
        }
        self.tip = Tree::from_snapshot(head);
        self.tip.publish(onto);
        (self.base, self.at, self.pending) = (head.clone(), now, pending);
        (self.places, self.slid) = (Places::default(), 0);
        Ok(moved)
    }

    /// Its branch was deleted: what has no place gets none. What is handed out is left as it is.
    pub(super) fn end(&mut self, (settled, handed): (u64, u64)) -> Moved {
        let mut moved = Moved::default();
        if self.pending.iter().any(|entry| settled < entry.number && entry.number <= handed) {
            return moved;
        }
        self.places = Places::default();
        for number in self.pending.drain(..).map(|entry| entry.number) {
            match number <= settled {
                true => moved.gone.push(number),
                false => moved.refused.push((number, error::DELETED.to_owned())),
            }
        }
        moved
    }
}

/// The changes of an entry that was done on what `then` has, as they are to be done on what `onto`
/// has: `None` when they are the same, else why they cannot be. Most are the same, which takes no
/// look at all that others did.
fn moved_onto(
    then: &mut Then,
    entry: &Pending,
    onto: &mut Editor,
) -> Result<Result<Option<ChangeSet>, String>, LocalError> {
    if adds_one(&entry.changes, onto.root()) {
        return Ok(Ok(None));
    }
    let then = then.editor()?;
    if stands(&entry.changes, then.root(), onto.root()) {
        return Ok(Ok(None));
    }
    let rebased = rebased(&frozen(then), &entry.changes, &frozen(onto));
    Ok(rebased.map(|changes| changes.filter(|changes| *changes != entry.changes)))
}

/// Does an entry put one node, with all that it does, where there is none? That
/// [stands](jungle_tree::stands), whatever it was done on: a message on a board does.
pub(crate) fn adds_one(changes: &[Change], onto: Node<'_>) -> bool {
    let Some((key, parent)) = added_node(changes).and_then(<[Key]>::split_last) else {
        return false;
    };
    onto.at(parent).is_ok_and(|parent| parent.child(key).is_none())
}

/// What an editor has, as a version; it goes on from there.
pub(super) fn frozen(editor: &mut Editor) -> Snapshot {
    if !editor.is_changed() {
        return editor.base().clone();
    }
    let base = editor.base().clone();
    let mut line = Tree::from_snapshot(&base);
    line.publish(mem::replace(editor, Editor::new(base)));
    *editor = Editor::new(line.snapshot());
    line.snapshot()
}

/// Changes, as they are to be done after what others did (`None` when that is nothing), or why they
/// cannot be: an attribute is what was said last, and all else that others have changed is left as
/// it is.
pub(super) fn rebased(
    base: &Snapshot,
    ours: &ChangeSet,
    onto: &Snapshot,
) -> Result<Option<ChangeSet>, String> {
    if base.root().is_equal(onto.root()) {
        return Ok(None);
    }
    let options = MergeOptions::new().resolution(Resolution::Ours).says_again();
    let rebased = rebase_onto(base, ours, onto, &options);
    let mut conflicts = rebased.conflicts.iter();
    if let Some(conflict) = conflicts.find(|conflict| conflict.kind != ConflictKind::Attribute) {
        return Err(conflict.to_string());
    }
    // A path that was given to a client stays that node's, so it cannot become another.
    match rebased.renamed.first() {
        Some((from, _)) => Err(format!("{from}: another node has this position")),
        None => Ok(Some(rebased.changes)),
    }
}

/// Was there no room, whatever was to be done?
pub(super) fn is_full(error: &ApplyError) -> bool {
    error.source.is_full()
}

#[cfg(test)]
mod tests;
