//! A Jungle of which parts cannot be loaded, and what its journal has said since it was saved.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;

use jungle_tree::{Arena, Editor, apply, loading};

use super::{Lost, Run, joined};
use crate::branch::MAIN_BRANCH;
use crate::history::archive::Archive;
use crate::journal::{BranchEdit, BranchId, CommitRecord, Event, TreeId};
use crate::jungle::{Builder, Jungle};
use crate::restore::RestoreError;
use crate::restore::replay::ReplayError;
use crate::restore::state::{JungleState, SavedTree};
use crate::revision::Revision;

/// A Jungle that was restored although parts of it cannot be loaded. What the journal says is done
/// again in it tree by tree: one of which something that is needed is not there is left behind.
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
/// assert!(remains.closed().is_empty() && remains.lost().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Remains {
    jungle: Jungle,
    closed: Vec<SavedTree>,
    /// Trees with which it goes no further.
    behind: BTreeSet<TreeId>,
    /// What was committed to them since.
    missed: BTreeMap<(TreeId, BranchId), Run>,
    /// Branches and tags that were made in them since.
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
        let (jungle, closed) = builder.restore_some(arena, state, archive)?;
        let closed = closed.iter().map(|&at| state.trees[at].clone()).collect::<Vec<_>>();
        let behind = closed.iter().map(|tree: &SavedTree| tree.id).collect();
        let (missed, unmade) = (BTreeMap::new(), Vec::new());
        Ok(Remains { jungle, closed, behind, missed, unmade })
    }

    /// The trees that can be opened.
    #[must_use]
    pub fn jungle(&self) -> &Jungle {
        &self.jungle
    }

    /// Those that cannot, as they were saved.
    #[must_use]
    pub fn closed(&self) -> &[SavedTree] {
        &self.closed
    }

    /// Does again what a record says, by `redo`, but for what concerns trees that are left behind.
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
        loop {
            let Some(left) = self.left_of(record) else {
                self.jungle.shared.counter.skip_to(record.revision);
                return Ok(());
            };
            match loading(|| redo(&self.jungle, &left)) {
                // Something of it may not have been made.
                Ok(Err(ReplayError::DoesNotFit { .. })) if self.is_behind(&left.event) => {
                    self.jungle.shared.counter.skip_to(record.revision);
                    return Ok(());
                }
                Ok(done) => return done,
                Err(error) if error.cause.is::<io::Error>() => resume_unwind(Box::new(error)),
                Err(_) => self.leave_behind(&left.event),
            }
        }
    }

    /// What was committed since to the trees that were left behind.
    #[must_use]
    pub fn lost(&self) -> Vec<Lost> {
        let mut names: BTreeMap<TreeId, Box<str>> =
            self.closed.iter().map(|tree| (tree.id, (&*tree.name).into())).collect();
        let mut branches: BTreeMap<BranchId, Box<str>> = BTreeMap::new();
        for saved in self.closed.iter().flat_map(|tree| &tree.branches) {
            branches.insert(saved.id, (&*saved.name).into());
        }
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

    fn is_behind(&self, event: &Event) -> bool {
        trees_of(event).iter().any(|tree| self.behind.contains(tree))
    }

    /// What of a record is to be done again, if anything is.
    fn left_of<'r>(&mut self, record: &'r CommitRecord) -> Option<Cow<'r, CommitRecord>> {
        if !self.is_behind(&record.event) {
            return Some(Cow::Borrowed(record));
        }
        let whole = Some(Cow::Borrowed(record));
        match &record.event {
            Event::Edited(edits) => {
                let is_left = |edit: &&BranchEdit| !self.behind.contains(&edit.tree);
                let left: Vec<BranchEdit> = edits.iter().filter(is_left).cloned().collect();
                let behind = edits.iter().filter(|edit| self.behind.contains(&edit.tree));
                let behind: Vec<_> = behind.map(|edit| (edit.tree, edit.branch)).collect();
                behind.into_iter().for_each(|of| self.miss(of, record.revision));
                let event = Event::Edited(left.clone());
                (!left.is_empty()).then(|| Cow::Owned(CommitRecord { event, ..record.clone() }))
            }
            Event::TreeRenamed { tree, name } => match self.closed_tree(*tree) {
                Some(closed) => {
                    closed.name = Arc::clone(name);
                    None
                }
                None => whole,
            },
            Event::TreeDeleted { tree } => {
                let is_closed = self.closed_tree(*tree).is_some();
                self.closed.retain(|closed| closed.id != *tree);
                if is_closed { None } else { whole }
            }
            Event::BranchDeleted { tree, branch } => {
                whole.filter(|_| !self.forget_branch(*tree, *branch))
            }
            Event::TagDeleted { tree, name } => {
                let is_it = |unmade: &Unmade| matches!(unmade, Unmade::Tag(tag, _) if tag == name);
                self.unmade.retain(|(of, unmade)| of != tree || !is_it(unmade));
                match self.closed_tree(*tree) {
                    Some(closed) => {
                        closed.tags.retain(|tag| tag.name != *name);
                        None
                    }
                    None => whole,
                }
            }
            Event::BranchCreated { tree, branch, name, .. } => {
                self.unmade.push((*tree, Unmade::Branch(*branch, Arc::clone(name))));
                None
            }
            Event::TagCreated { tree, name, at, .. } => {
                self.unmade.push((*tree, Unmade::Tag(Arc::clone(name), *at)));
                None
            }
            // What a tree is set to is of its branches, too.
            Event::RetentionSet { tree, branch, .. } => {
                self.miss((*tree, *branch), record.revision);
                None
            }
            Event::IndexCreated { tree, .. } | Event::IndexDropped { tree, .. } => {
                if let Some(main) = self.main_of(*tree) {
                    self.miss((*tree, main), record.revision);
                }
                None
            }
            Event::TreeCreated { .. } => whole,
        }
    }

    /// A branch that is deleted is not lost; was it not to be had anyway?
    fn forget_branch(&mut self, tree: TreeId, branch: BranchId) -> bool {
        let is_it = |made: &Unmade| matches!(made, Unmade::Branch(id, _) if *id == branch);
        let was_unmade = self.unmade.iter().any(|(_, unmade)| is_it(unmade));
        self.unmade.retain(|(_, unmade)| !is_it(unmade));
        self.missed.remove(&(tree, branch));
        let Some(closed) = self.closed_tree(tree) else { return was_unmade };
        closed.branches.retain(|saved| saved.id != branch);
        true
    }

    /// A revision of a branch is lost.
    fn miss(&mut self, of: (TreeId, BranchId), revision: Revision) {
        let missed = self.missed.get(&of).copied();
        if missed.is_none_or(|(.., last)| last < revision) {
            self.missed.insert(of, joined(missed, (1, revision, revision)));
        }
    }

    fn main_of(&self, tree: TreeId) -> Option<BranchId> {
        if let Some(closed) = self.closed.iter().find(|closed| closed.id == tree) {
            return closed.branches.iter().find(|it| &*it.name == MAIN_BRANCH).map(|it| it.id);
        }
        let mains = self.jungle.list_trees();
        let mut mains = mains.iter().filter_map(|name| self.jungle.open_tree(name).ok());
        mains.find(|main| main.id() == tree).map(|main| main.branch_id())
    }

    fn closed_tree(&mut self, tree: TreeId) -> Option<&mut SavedTree> {
        self.closed.iter_mut().find(|closed| closed.id == tree)
    }

    /// Something that this needs is not there: its trees, or those that it is of, go no further.
    fn leave_behind(&mut self, event: &Event) {
        let mut of = trees_of(event);
        if let Event::Edited(edits) = event {
            let cannot = edits.iter().filter(|edit| !self.can_be_done(edit));
            let cannot: BTreeSet<TreeId> = cannot.map(|edit| edit.tree).collect();
            if !cannot.is_empty() {
                of = cannot;
            }
        }
        self.behind.append(&mut of);
    }

    fn can_be_done(&self, edit: &BranchEdit) -> bool {
        let Ok(handle) = self.jungle.handle_of(edit.tree, edit.branch) else { return true };
        let done = loading(|| {
            let mut editor = Editor::new(handle.head.reader.snapshot());
            apply(&mut editor, &edit.changes)
        });
        done.is_ok()
    }
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
