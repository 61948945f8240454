//! A branch as it is on this server: what the log has of it, and what has no place yet on top.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use jungle_db::{
    BranchEdit, CommitMeta, CommitRecord, Event, Revision, Timestamp, TreeHandle, added_node,
};
use jungle_tree::{
    ApplyError, Change, ChangeSet, ConflictKind, Editor, Key, MergeOptions, Node, Resolution,
    Snapshot, Tree, apply, rebase_onto, stands,
};

use super::ENTRY_BYTES_MAX;
use super::error::{self, LocalError};

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
}

impl Line {
    pub(super) fn new(branch: TreeHandle, base: Snapshot, at: Revision) -> Line {
        let tip = Tree::from_snapshot(&base);
        Line { branch, base, at, pending: VecDeque::new(), tip }
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
        let mut moved = Moved::default();
        let is_settled = |entry: &Arc<Pending>| entry.number <= settled;
        let count = self.pending.iter().take_while(|entry| is_settled(entry)).count();
        if count == 0 && self.base.root().is_equal(head.root()) {
            (self.base, self.at) = (head.clone(), now);
            return Ok(moved);
        }
        // What it was without those that have their places, and what it is with them.
        let mut then = Then::new(self.base.clone());
        let mut onto = Editor::new(head.clone());
        let mut pending = VecDeque::with_capacity(self.pending.len() - count);
        for entry in &self.pending {
            if is_settled(entry) {
                moved.gone.push(entry.number);
            } else {
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
                    Err(_) if entry.number <= handed => return Ok(Moved::default()),
                    Err(why) => moved.refused.push((entry.number, why)),
                }
            }
            then.pass(entry);
        }
        self.tip = Tree::from_snapshot(head);
        self.tip.publish(onto);
        (self.base, self.at, self.pending) = (head.clone(), now, pending);
        Ok(moved)
    }

    /// Its branch was deleted: what has no place gets none. What is handed out is left as it is.
    pub(super) fn end(&mut self, (settled, handed): (u64, u64)) -> Moved {
        let mut moved = Moved::default();
        if self.pending.iter().any(|entry| settled < entry.number && entry.number <= handed) {
            return moved;
        }
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
    Ok(rebased(&frozen(then), &entry.changes, &frozen(onto)))
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
    let options = MergeOptions::new().resolution(Resolution::Ours);
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
mod tests {
    use jungle_tree::{Arena, Position, Signature, Value};

    use super::*;

    fn changes(text: &[(&str, &[Key])]) -> Vec<Change> {
        let change = |(kind, path): &(&str, &[Key])| match *kind {
            "+" => Change::ChildAdded { path: path.to_vec().into() },
            "-" => Change::ChildRemoved { path: path.to_vec().into() },
            key => {
                let (path, value) = (path.to_vec().into(), Value::from("x"));
                Change::AttributePut { path, key: key.into(), value }
            }
        };
        text.iter().map(change).collect()
    }

    /// What adds one node stands, and only where the parent is and the node is not.
    #[test]
    fn what_adds_one_node_is_known_by_itself() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        tree.insert_child(&[], &Key::from("there")).unwrap();
        let (then, now) = (tree.snapshot(), tree.snapshot());
        let signed = Position::signed_between(None, None, &Signature::new(1, 7)).unwrap();
        let [signed, there, new, child] =
            [Key::from(signed), Key::from("there"), Key::from("new"), Key::from(0)];
        let key = std::slice::from_ref::<Key>;
        let below = [new.clone(), child.clone()];
        let adds = |text: &[(&str, &[Key])]| {
            let changes = changes(text);
            let adds = adds_one(&changes, now.root());
            assert!(!adds || stands(&changes, then.root(), now.root()), "{changes:?}");
            adds
        };
        assert!(adds(&[("+", key(&signed)), ("text", key(&signed))]));
        assert!(adds(&[("+", key(&new)), ("text", key(&new)), ("+", &below), ("text", &below)]));
        // Others may be given that position; it is there already; its parent is not.
        assert!(!adds(&[("+", key(&child))]));
        assert!(!adds(&[("+", key(&there))]));
        assert!(!adds(&[("+", &below)]));
        // It does something besides.
        assert!(!adds(&[("+", key(&new)), ("text", &[])]));
        assert!(!adds(&[("+", key(&new)), ("text", key(&there))]));
        assert!(!adds(&[("+", key(&new)), ("-", key(&new))]));
        assert!(!adds(&[("text", key(&there))]));
        assert!(!adds(&[]));
    }
}
