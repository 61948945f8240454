//! A Jungle of which parts cannot be loaded, and what its journal has said since it was saved.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;

use jungle_tree::{Arena, Editor, apply, loading};

use super::Lost;
use super::histories::{Run, joined};
use crate::history::archive::Archive;
use crate::journal::{BranchEdit, BranchId, CommitRecord, Event, TreeId};
use crate::jungle::{Builder, Jungle};
use crate::restore::replay::ReplayError;
use crate::restore::state::{JungleState, SavedBranch};
use crate::restore::{NotLoaded, RestoreError};
use crate::revision::Revision;

/// A Jungle that was restored although parts of it cannot be loaded. What the journal says is done
/// again in it branch by branch: one of which something that is needed is not there is left behind.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Jungle, MemoryJournal, Remains};
/// # use jungle_db::{Archive, ArchiveError, BranchId, HistoryEntry};
/// # struct Empty;
/// # impl Archive for Empty {
/// #     fn piece(&self, _: BranchId, _: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
/// #         Err(ArchiveError::new("there is nothing"))
/// #     }
/// # }
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// let tree = jungle.create_tree("board")?;
/// let (arena, state) = (jungle.arena().clone(), jungle.checkpoint().state().clone());
/// drop((tree, jungle));
/// let mut remains = Remains::restore(Jungle::builder(), arena, &state, Arc::new(Empty))?;
/// assert_eq!(remains.jungle().list_trees().len(), 1);
/// assert!(remains.lost().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Remains {
    jungle: Jungle,
    /// As they were saved.
    not_loaded: NotLoaded,
    /// Branches with which it goes no further, and whose they are.
    behind: BTreeMap<BranchId, TreeId>,
    /// What was committed to them since.
    missed: BTreeMap<(TreeId, BranchId), Run>,
    /// Branches and tags that were to be made since, and could not.
    unmade: Vec<(TreeId, Unmade)>,
}

#[derive(Debug, PartialEq)]
enum Unmade {
    Branch(BranchId, Arc<str>),
    Tag(Arc<str>, Revision),
}

impl Remains {
    /// Restores what can be, as [`Builder::restore`] does with all.
    ///
    /// # Errors
    /// When the state contradicts itself or the arena.
    pub fn restore(
        builder: Builder,
        arena: Arena,
        state: &JungleState,
        archive: Arc<dyn Archive>,
    ) -> Result<Remains, RestoreError> {
        let (jungle, not_loaded) = builder.restore_some(arena, state, archive)?;
        let mut behind = BTreeMap::new();
        for tree in &not_loaded.trees {
            behind.extend(tree.branches.iter().map(|branch| (branch.id, tree.id)));
        }
        behind.extend(not_loaded.branches.iter().map(|(tree, branch)| (branch.id, *tree)));
        let (missed, unmade) = (BTreeMap::new(), Vec::new());
        Ok(Remains { jungle, not_loaded, behind, missed, unmade })
    }

    /// All that can be opened.
    #[must_use]
    pub fn jungle(&self) -> &Jungle {
        &self.jungle
    }

    /// A state of that, with what could not be opened as it was saved.
    #[must_use]
    pub fn with_the_rest(&self, opened: &JungleState) -> JungleState {
        let mut state = opened.clone();
        state.trees.extend_from_slice(&self.not_loaded.trees);
        for (id, branch) in &self.not_loaded.branches {
            let tree = state.trees.iter_mut().find(|tree| tree.id == *id);
            tree.into_iter().for_each(|tree| tree.branches.push(branch.clone()));
        }
        for (id, origins) in &self.not_loaded.origins {
            for tree in state.trees.iter_mut().filter(|tree| tree.id == *id) {
                let all = origins.iter().chain(&tree.origins);
                let all = all.map(|origin| (origin.branch, origin.clone()));
                tree.origins = all.collect::<BTreeMap<_, _>>().into_values().collect();
            }
        }
        state
    }

    /// Goes no further with any branch of a tree.
    pub fn leave_tree_behind(&mut self, tree: TreeId) {
        let Some(main) = self.jungle.find_tree(tree) else { return };
        let names = main.list_branches();
        let branches = names.iter().filter_map(|name| main.on_branch(name).ok());
        self.behind.extend(branches.map(|branch| (branch.branch_id(), tree)));
    }

    /// Does again what a record says, by `redo`, but for what concerns branches that are left
    /// behind.
    ///
    /// # Errors
    /// As [`Jungle::replay`].
    pub fn replay(
        &mut self,
        record: &CommitRecord,
        mut redo: impl FnMut(&Jungle, &CommitRecord) -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        let before = self.jungle.revision();
        if record.revision != before.next() {
            return Err(ReplayError::NotNext { newest: before, found: record.revision });
        }
        while let Some(left) = self.left_of(record) {
            let done = loading(|| redo(&self.jungle, &left));
            let is_done = self.jungle.revision() == record.revision;
            match (done, &left.event) {
                // It is in its place in the log: something that it needs was not made, or is in a
                // history that cannot be read.
                (Ok(Err(error @ ReplayError::DoesNotFit { .. })), event) if !is_done => match event
                {
                    Event::Edited(edits) if self.leave_unknown_behind(edits) => {}
                    Event::Edited(_) | Event::TreeCreated { .. } => return Err(error),
                    event => {
                        self.leave_out(event, record.revision);
                        break;
                    }
                },
                (Ok(done), _) => return done,
                (Err(error), _) if error.cause.is::<io::Error>() => resume_unwind(Box::new(error)),
                (Err(_), Event::Edited(edits)) => self.leave_behind(edits),
                (Err(_), event) => {
                    self.leave_out(event, record.revision);
                    break;
                }
            }
        }
        self.jungle.shared.counter.skip_to(record.revision);
        Ok(())
    }

    /// What was committed since to the branches that were left behind.
    #[must_use]
    pub fn lost(&self) -> Vec<Lost> {
        let mut names: BTreeMap<TreeId, Box<str>> = BTreeMap::new();
        let mut branches: BTreeMap<BranchId, Box<str>> = BTreeMap::new();
        let mut name = |branch: &SavedBranch| {
            branches.insert(branch.id, (&*branch.name).into());
        };
        for tree in &self.not_loaded.trees {
            names.insert(tree.id, (&*tree.name).into());
            tree.branches.iter().for_each(&mut name);
        }
        self.not_loaded.branches.iter().for_each(|(_, branch)| name(branch));
        let open = self.jungle.list_trees();
        for main in open.iter().filter_map(|name| self.jungle.open_tree(name).ok()) {
            names.insert(main.id(), (*main.name()).into());
            for name in main.list_branches() {
                if let Ok(branch) = main.on_branch(&name) {
                    branches.insert(branch.branch_id(), (&*name).into());
                }
            }
        }
        let missed = self.missed.iter().filter_map(|((tree, branch), &(count, first, last))| {
            let (tree, branch) = (names.get(tree)?.clone(), branches.get(branch)?.clone());
            Some(Lost::Revisions { tree, branch, count, first, last })
        });
        let unmade = self.unmade.iter().filter_map(|(tree, unmade)| {
            let tree = names.get(tree)?.clone();
            Some(match unmade {
                Unmade::Branch(_, name) => Lost::Branch { tree, branch: (&**name).into() },
                Unmade::Tag(name, at) => Lost::Tag { tree, tag: (&**name).into(), revision: *at },
            })
        });
        missed.chain(unmade).collect()
    }

    /// Is anything of what this is about left behind?
    fn is_behind(&self, event: &Event) -> bool {
        let trees = trees_of(event);
        self.behind.values().any(|tree| trees.contains(tree))
    }

    /// What of a record is to be done again, if anything is.
    fn left_of<'r>(&mut self, record: &'r CommitRecord) -> Option<Cow<'r, CommitRecord>> {
        if !self.is_behind(&record.event) {
            return Some(Cow::Borrowed(record));
        }
        let whole = Some(Cow::Borrowed(record));
        let is_behind = |branch: &BranchId| self.behind.contains_key(branch);
        match &record.event {
            Event::Edited(edits) => {
                let (behind, left): (Vec<&BranchEdit>, Vec<&BranchEdit>) =
                    edits.iter().partition(|edit| is_behind(&edit.branch));
                let event = Event::Edited(left.into_iter().cloned().collect());
                let is_some = behind.len() < edits.len();
                behind.into_iter().for_each(|of| self.miss((of.tree, of.branch), record.revision));
                is_some.then(|| Cow::Owned(CommitRecord { event, ..record.clone() }))
            }
            Event::BranchCreated { from: branch, .. }
            | Event::TagCreated { branch, .. }
            | Event::RetentionSet { branch, .. }
                if is_behind(branch) =>
            {
                self.leave_out(&record.event, record.revision);
                None
            }
            Event::BranchDeleted { tree, branch } => {
                whole.filter(|_| !self.forget_branch(*tree, *branch))
            }
            Event::TagDeleted { tree, name } => whole.filter(|_| !self.forget_tag(*tree, name)),
            event => whole.filter(|_| !self.is_done_while_closed(event, record.revision)),
        }
    }

    /// Does to a tree that cannot be opened what can be; is it one?
    fn is_done_while_closed(&mut self, event: &Event, revision: Revision) -> bool {
        let trees = trees_of(event);
        let Some(closed) = self.not_loaded.trees.iter_mut().find(|it| trees.contains(&it.id))
        else {
            return false;
        };
        match event {
            Event::TreeRenamed { name, .. } => closed.name = Arc::clone(name),
            Event::TreeDeleted { tree } => {
                self.not_loaded.trees.retain(|closed| closed.id != *tree);
            }
            event => self.leave_out(event, revision),
        }
        true
    }

    /// Goes on without what a record says, which is not an edit.
    fn leave_out(&mut self, event: &Event, revision: Revision) {
        match event {
            Event::BranchCreated { tree, branch, name, .. } => {
                // Nothing else gets it.
                let _ = self.jungle.skip_ids(&[branch.0]);
                self.behind.insert(*branch, *tree);
                self.unmade.push((*tree, Unmade::Branch(*branch, Arc::clone(name))));
            }
            Event::TagCreated { tree, name, at, .. } => {
                self.unmade.push((*tree, Unmade::Tag(Arc::clone(name), *at)));
            }
            // What a tree is set to is of its branches, too.
            Event::RetentionSet { tree, branch, .. } => self.miss((*tree, *branch), revision),
            event => {
                for tree in trees_of(event) {
                    let main = self.main_of(tree);
                    main.into_iter().for_each(|main| self.miss((tree, main), revision));
                }
            }
        }
    }

    /// A branch that is deleted is not lost; was it not to be had anyway?
    fn forget_branch(&mut self, tree: TreeId, branch: BranchId) -> bool {
        let unmade = |made: &Unmade| matches!(made, Unmade::Branch(id, _) if *id == branch);
        let mut is_gone = remove_if(&mut self.unmade, |(_, made)| unmade(made));
        is_gone |= remove_if(&mut self.not_loaded.branches, |(_, saved)| saved.id == branch);
        for closed in self.not_loaded.trees.iter_mut().filter(|closed| closed.id == tree) {
            is_gone |= remove_if(&mut closed.branches, |saved| saved.id == branch);
        }
        self.missed.remove(&(tree, branch));
        is_gone
    }

    /// The same of a tag.
    fn forget_tag(&mut self, tree: TreeId, name: &Arc<str>) -> bool {
        let unmade = |made: &Unmade| matches!(made, Unmade::Tag(tag, _) if tag == name);
        let mut is_gone = remove_if(&mut self.unmade, |(of, made)| *of == tree && unmade(made));
        for closed in self.not_loaded.trees.iter_mut().filter(|closed| closed.id == tree) {
            is_gone |= remove_if(&mut closed.tags, |tag| tag.name == *name);
        }
        is_gone
    }

    /// A revision of a branch is lost.
    fn miss(&mut self, of: (TreeId, BranchId), revision: Revision) {
        let missed = self.missed.get(&of).copied();
        if missed.is_none_or(|(.., last)| last < revision) {
            self.missed.insert(of, joined(missed, (1, revision, revision)));
        }
    }

    fn main_of(&self, tree: TreeId) -> Option<BranchId> {
        if let Some(closed) = self.not_loaded.trees.iter().find(|closed| closed.id == tree) {
            return closed.branches.first().map(|main| main.id);
        }
        self.jungle.find_tree(tree).map(|main| main.branch_id())
    }

    /// Something that these need is not there: the branches that it is of go no further.
    fn leave_behind(&mut self, edits: &[BranchEdit]) {
        let cannot: Vec<&BranchEdit> = edits.iter().filter(|it| !self.can_be_done(it)).collect();
        let of = if cannot.is_empty() { edits.iter().collect() } else { cannot };
        self.behind.extend(of.into_iter().map(|edit| (edit.branch, edit.tree)));
    }

    /// The same of branches that are not there; are there any?
    fn leave_unknown_behind(&mut self, edits: &[BranchEdit]) -> bool {
        let is_there = |edit: &BranchEdit| self.jungle.handle_of(edit.tree, edit.branch).is_ok();
        let unknown = edits.iter().filter(|edit| !is_there(edit));
        let unknown: Vec<(BranchId, TreeId)> = unknown.map(|it| (it.branch, it.tree)).collect();
        let are_some = !unknown.is_empty();
        self.behind.extend(unknown);
        are_some
    }

    fn can_be_done(&self, edit: &BranchEdit) -> bool {
        let Ok(handle) = self.jungle.handle_of(edit.tree, edit.branch) else { return true };
        let done = loading(|| {
            let mut editor = Editor::new(handle.head.reader.snapshot());
            apply(&mut editor, &edit.changes)
        });
        match done {
            Err(error) if error.cause.is::<io::Error>() => resume_unwind(Box::new(error)),
            done => done.is_ok(),
        }
    }
}

/// Removes these; were there any?
fn remove_if<T>(all: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> bool {
    let before = all.len();
    all.retain(|it| !is_it(it));
    all.len() < before
}

fn trees_of(event: &Event) -> BTreeSet<TreeId> {
    match event {
        Event::Edited(edits) => edits.iter().map(|edit| edit.tree).collect(),
        Event::TreeCreated { tree, .. }
        | Event::TreeRenamed { tree, .. }
        | Event::TreeDeleted { tree }
        | Event::BranchCreated { tree, .. }
        | Event::BranchDeleted { tree, .. }
        | Event::TagCreated { tree, .. }
        | Event::TagDeleted { tree, .. }
        | Event::IndexCreated { tree, .. }
        | Event::IndexDropped { tree, .. }
        | Event::RetentionSet { tree, .. } => BTreeSet::from([*tree]),
    }
}
