//! A second Jungle with all that can still be read of the first, whose arena or history has places
//! that cannot be loaded. What is in it under a number of before is what it was, all of it; what
//! is not is named.

mod part;
mod remains;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;

use jungle_tree::{Arena, EditError, Keep, Path, Tree, TreeReader, VersionId, loading};

pub use self::remains::Remains;

use self::part::{MissingPart, copy_part};
use crate::branch::MAIN_BRANCH;
use crate::erase::copy::{Copier, CopyError, Pieces};
use crate::handle::TreeHandle;
use crate::history::archive::{Archive, ArchiveError, are_in_order};
use crate::history::{HISTORY_PIECE, HistoryEntry, Piece};
use crate::journal::{BranchId, TreeId};
use crate::jungle::{Builder, Jungle};
use crate::restore::check_history;
use crate::restore::checkpoint::Checkpoint;
use crate::restore::state::{
    HistoryAnchor, JungleState, SavedBranch, SavedHistory, SavedTree, SavedVersion,
};
use crate::revision::{CommitMeta, Revision, RevisionInfo};
use crate::snapshot::Snapshot;

/// Who is said to have made a revision of what was left of another one.
const AUTHOR: &str = "jungle repair";

/// So many paths of what is missing are told in the message of a revision.
const PATHS_TOLD: usize = 100;

/// A Jungle that cannot be read as a whole, and of which the rest is to be saved. Of a damaged
/// folder `OpenOptions::repair` in `jungle-store` does all of it.
///
/// ```
/// use jungle_db::{Jungle, Salvage};
/// use jungle_tree::Arena;
/// let jungle = Jungle::new()?;
/// let tree = jungle.create_tree("board")?;
/// let made = tree.update(|tx| tx.append(&[]))?;
///
/// let checkpoint = jungle.checkpoint_as_it_is();
/// let all = Salvage {
///     arena: jungle.arena(),
///     state: checkpoint.state(),
///     archive: &checkpoint,
///     other: None,
///     badly_formed: Default::default(),
/// };
/// let saved = all.save(Jungle::builder(), Arena::new()?, |_, _| Ok::<(), ()>(()))?.unwrap();
/// assert!(saved.lost.is_empty());
/// assert_eq!(saved.jungle.open_tree("board")?.at(made.revision)?.root().child_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Salvage<'a> {
    /// The arena in which the versions lie.
    pub arena: &'a Arena,
    /// What there was besides.
    pub state: &'a JungleState,
    /// The whole pieces of the histories.
    pub archive: &'a dyn Archive,
    /// The same Jungle made again up to an older revision, which may have what cannot be loaded.
    pub other: Option<&'a Jungle>,
    /// Trees of which nothing is to be read.
    pub badly_formed: BTreeSet<TreeId>,
}

impl fmt::Debug for Salvage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Salvage({}, {} trees)", self.state.revision, self.state.trees.len())
    }
}

/// What a [`Salvage`] could save, and what it could not.
#[derive(Debug)]
pub struct Saved {
    /// All of it: trees, branches, revisions and tags have the names and numbers they had.
    pub jungle: Jungle,
    /// What it does not have.
    pub lost: Vec<Lost>,
}

/// Something that a [`Salvage`] could not save.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// A tree, of which nothing can be read.
    Tree {
        /// Its name.
        tree: Box<str>,
    },
    /// A branch, likewise.
    Branch {
        /// The name of its tree.
        tree: Box<str>,
        /// Its name.
        branch: Box<str>,
    },
    /// Revisions of a branch, one after the other.
    Revisions {
        /// The name of the tree.
        tree: Box<str>,
        /// The name of the branch.
        branch: Box<str>,
        /// How many.
        count: u64,
        /// The first of them has this number, or a later one.
        first: Revision,
        /// The last of them has this number, or an earlier one.
        last: Revision,
    },
    /// A part of the newest revision of a branch. The rest of that is a revision of its own.
    Part {
        /// The name of the tree.
        tree: Box<str>,
        /// The name of the branch.
        branch: Box<str>,
        /// The revision of which something is missing, which is lost as such.
        revision: Revision,
        /// The one that has what is left of it.
        saved_as: Revision,
        /// The node of which something is missing.
        path: Path,
        /// How many of its children, with all below, if that is known; nothing where it is some of
        /// its attributes.
        children: Option<u64>,
    },
    /// A tag.
    Tag {
        /// The name of the tree.
        tree: Box<str>,
        /// Its name.
        tag: Box<str>,
        /// The revision it was the name of.
        revision: Revision,
    },
    /// A version that two branches had in common: merging them finds an older one, or none.
    Base {
        /// The name of the tree.
        tree: Box<str>,
        /// The revision.
        revision: Revision,
    },
}

/// The whole pieces of the histories, as long as it is held.
impl Archive for Checkpoint {
    fn piece(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
        let range = self.state().trees.iter().flat_map(|tree| &tree.branches);
        let found = range.into_iter().find(|saved| saved.id == branch);
        let is_kept = |history: &SavedHistory| {
            (history.dropped / HISTORY_PIECE..history.pieces).contains(&index)
        };
        match found.filter(|saved| is_kept(&saved.history)) {
            Some(_) => self.head(branch).whole_piece(index),
            None => Err(ArchiveError::new("there is no such piece")),
        }
    }
}

impl Salvage<'_> {
    /// Makes a Jungle in another arena that has all of it that can be read. `progress` is told how
    /// many revisions were looked at, of how many; when it fails, that is the answer.
    ///
    /// A revision of which anything cannot be read, there and in `other`, is left out. If it is the
    /// newest of a branch, there is another one behind all others with what can be read of it,
    /// whose author and message say so.
    ///
    /// # Errors
    /// When there is no room.
    pub fn save<E>(
        &self,
        builder: Builder,
        arena: Arena,
        mut progress: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<Result<Saved, E>, CopyError> {
        let mut state = self.state.clone();
        let branches = self.state.trees.iter().flat_map(|tree| &tree.branches);
        // What is damaged may say any number.
        let total = branches.map(SavedBranch::kept).fold(0, u64::saturating_add);
        let mut saving = Saving {
            from: self,
            arena: arena.clone(),
            pieces: Pieces::default(),
            lost: Vec::new(),
            newest: state.revision,
            done: 0,
            step: |done| progress(done, total),
        };
        let mut trees = Vec::new();
        // Any line of the arena holds what any other one has.
        let reader = read(|| Tree::new(self.arena).reader())?;
        for mut tree in std::mem::take(&mut state.trees) {
            let mut of_tree = OfTree {
                name: (&*tree.name).into(),
                from: self,
                reader: reader.clone(),
                other: self.other.and_then(|other| other.find_tree(tree.id)),
                line: Copier::new(&arena, tree.id),
                known: HashMap::new(),
            };
            match saving.tree(&mut of_tree, &mut tree) {
                Err(Ended::By(error)) => return Ok(Err(error)),
                Err(Ended::NoCopy(error)) => return Err(error),
                Ok(true) => trees.push(tree),
                Ok(false) => {}
            }
        }
        let Saving { pieces, lost, newest, .. } = saving;
        (state.trees, state.revision) = (trees, newest);
        let jungle = builder.restore(arena, &state, Arc::new(pieces))?;
        Ok(Ok(Saved { jungle, lost }))
    }
}

impl Jungle {
    fn find_tree(&self, id: TreeId) -> Option<TreeHandle> {
        let state = self.shared.catalog().by_id(id).map(|(_, state)| Arc::clone(state))?;
        Some(TreeHandle::main(&self.shared, &state))
    }
}

struct Saving<'a, F> {
    from: &'a Salvage<'a>,
    /// Where all is copied to.
    arena: Arena,
    pieces: Pieces,
    lost: Vec<Lost>,
    /// The newest revision so far.
    newest: Revision,
    /// How many revisions were looked at.
    done: u64,
    step: F,
}

/// A tree that is being saved.
struct OfTree<'a> {
    name: Box<str>,
    from: &'a Salvage<'a>,
    reader: Option<TreeReader>,
    /// The same tree elsewhere.
    other: Option<TreeHandle>,
    line: Copier,
    /// The copies; none of what cannot be read.
    known: HashMap<VersionId, Option<VersionId>>,
}

/// Why it goes no further.
enum Ended<E> {
    By(E),
    NoCopy(CopyError),
}

impl<E> From<CopyError> for Ended<E> {
    fn from(error: CopyError) -> Ended<E> {
        Ended::NoCopy(error)
    }
}

impl<E> From<EditError> for Ended<E> {
    fn from(error: EditError) -> Ended<E> {
        Ended::NoCopy(error.into())
    }
}

/// How a branch was saved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Something,
    /// Nothing of it can be read.
    Nothing,
}

/// Some revisions of a branch, one after the other: how many, and between which numbers.
type Run = (u64, Revision, Revision);

/// What is known of a history, in order.
enum Found {
    Entry(HistoryEntry),
    Gap(Run),
}

impl<E, F: FnMut(u64) -> Result<(), E>> Saving<'_, F> {
    /// Saves a tree; tells whether there is anything to keep.
    fn tree(&mut self, of: &mut OfTree<'_>, tree: &mut SavedTree) -> Result<bool, Ended<E>> {
        let before = self.lost.len();
        let is_read = !self.from.badly_formed.contains(&tree.id);
        let mut outcomes = Vec::with_capacity(tree.branches.len());
        for branch in &mut tree.branches {
            let newest = self.from.state.revision;
            let is_read = is_read && check_history(&branch.history, newest).is_ok();
            outcomes.push(match is_read {
                true => self.branch(of, branch)?,
                false => Outcome::Nothing,
            });
        }
        if is_read {
            self.tags(of, tree)?;
        }
        let is_anything = outcomes.contains(&Outcome::Something) || !tree.tags.is_empty();
        if !is_read || !is_anything || self.is_without_main(&outcomes, tree) {
            self.lost.truncate(before);
            self.lost.push(Lost::Tree { tree: of.name.clone() });
            return Ok(false);
        }
        self.bases(of, tree)?;
        let mut outcomes = outcomes.into_iter();
        let (lost, name) = (&mut self.lost, &of.name);
        tree.branches.retain(|branch| {
            let is_something = outcomes.next() == Some(Outcome::Something);
            let is_main = &*branch.name == MAIN_BRANCH;
            if !is_something {
                lost.push(Lost::Branch { tree: name.clone(), branch: (&*branch.name).into() });
            }
            // The others need it; what is in its place says what it is.
            is_something || is_main
        });
        // They are worked out again.
        tree.indexes.iter_mut().for_each(|index| index.built.clear());
        Ok(true)
    }

    /// Makes no sense of the main branch, which all others need?
    fn is_without_main(&self, outcomes: &[Outcome], tree: &SavedTree) -> bool {
        let main = tree.branches.first().map(|main| &main.history);
        outcomes.first() != Some(&Outcome::Something)
            && main.is_none_or(|main| check_history(main, self.newest).is_err())
    }

    fn branch(
        &mut self,
        of: &mut OfTree<'_>,
        branch: &mut SavedBranch,
    ) -> Result<Outcome, Ended<E>> {
        let other = of.other.as_ref().and_then(|main| main.on_branch_id(branch.id));
        let newest = branch.history.last.last().expect("a history was found not to be empty");
        let newest = newest.clone();
        let mut kept: Vec<HistoryEntry> = Vec::new();
        let mut run: Option<Run> = None;
        for found in self.entries(branch, other.as_ref()) {
            let mut entry = match found {
                Found::Entry(entry) => entry,
                Found::Gap(gap) => {
                    run = Some(joined(run, gap));
                    continue;
                }
            };
            self.done += 1;
            (self.step)(self.done).map_err(Ended::By)?;
            let elsewhere = || version_of(other.as_ref()?, entry.revision);
            match of.version(entry.id, elsewhere, entry.revision == newest.revision)? {
                Some(id) => {
                    self.lose(of, branch, run.take());
                    entry.id = id;
                    kept.push(entry);
                }
                None => run = Some(joined(run, (1, entry.revision, entry.revision))),
            }
        }
        self.lose(of, branch, run.take());
        let mut outcome = Outcome::Something;
        if kept.last().is_none_or(|entry| entry.revision != newest.revision) {
            let (part, is_anything) = self.part(of, branch, &newest)?;
            if !is_anything && kept.is_empty() {
                outcome = Outcome::Nothing;
            }
            if is_anything || kept.is_empty() {
                kept.push(part);
            }
        }
        let is_cut = branch.history.dropped > 0;
        branch.history = self.packed(branch.id, kept, is_cut);
        Ok(outcome)
    }

    fn lose(&mut self, of: &OfTree<'_>, branch: &SavedBranch, run: Option<Run>) {
        let Some((count, first, last)) = run else { return };
        let (tree, branch) = (of.name.clone(), (&*branch.name).into());
        self.lost.push(Lost::Revisions { tree, branch, count, first, last });
    }

    /// The history of a branch, as far as it can be read.
    fn entries(&self, branch: &SavedBranch, other: Option<&TreeHandle>) -> Vec<Found> {
        let SavedHistory { dropped, pieces, last, .. } = &branch.history;
        let (mut found, mut before, mut missing) = (Vec::new(), Revision::default(), 0);
        let mut add = |entries: &[HistoryEntry], missing: u64| {
            let (Some(first), Some(end)) = (entries.first(), entries.last()) else { return };
            fill(&mut found, missing, (before, first.revision), other);
            before = end.revision;
            found.extend(entries.iter().cloned().map(Found::Entry));
        };
        for number in dropped / HISTORY_PIECE..*pieces {
            let gone = dropped.saturating_sub(number * HISTORY_PIECE);
            match self.from.archive.piece(branch.id, number) {
                Ok(piece) if is_piece(&piece) => {
                    add(&piece[gone as usize..], std::mem::take(&mut missing));
                }
                _ => missing += HISTORY_PIECE - gone,
            }
        }
        let gone = dropped.saturating_sub(pieces * HISTORY_PIECE);
        add(&last[gone as usize..], missing);
        found
    }

    /// What can be read of the newest revision of a branch, and whether that is anything.
    fn part(
        &mut self,
        of: &OfTree<'_>,
        branch: &SavedBranch,
        newest: &HistoryEntry,
    ) -> Result<(HistoryEntry, bool), Ended<E>> {
        let mut line = Tree::new(&self.arena);
        line.keep(Keep::All);
        let (missing, is_anything) = match of.held(newest.id)? {
            Some(old) => line.edit(|editor| copy_part(editor, &old))?,
            None => (vec![MissingPart::all()], false),
        };
        self.newest = self.newest.next();
        let revision = self.newest;
        let meta = CommitMeta::new().author(AUTHOR).message(&message(newest, &missing));
        if is_anything {
            self.lost.extend(missing.into_iter().map(|MissingPart { path, children }| {
                Lost::Part {
                    tree: of.name.clone(),
                    branch: (&*branch.name).into(),
                    revision: newest.revision,
                    saved_as: revision,
                    path,
                    children,
                }
            }));
        }
        let entry = HistoryEntry { revision, time: newest.time, id: line.version_id(), meta };
        Ok((entry, is_anything))
    }

    /// A history in pieces.
    fn packed(&mut self, id: BranchId, kept: Vec<HistoryEntry>, is_cut: bool) -> SavedHistory {
        let mut entries = kept;
        let first = entries.first().expect("something is always kept").clone();
        // Stands for those that were dropped before: it is not kept either.
        let before = first.revision.number().checked_sub(1).filter(|&number| is_cut && number > 0);
        if let Some(number) = before {
            let meta = CommitMeta::new();
            entries.insert(0, HistoryEntry { revision: Revision::new(number), meta, ..first });
        }
        let anchor = &entries[0];
        let anchor = HistoryAnchor { index: 0, revision: anchor.revision, time: anchor.time };
        let pieces = (entries.len() as u64 - 1) / HISTORY_PIECE;
        let mut last = entries.split_off((pieces * HISTORY_PIECE) as usize);
        last.shrink_to_fit();
        for (number, piece) in entries.chunks(HISTORY_PIECE as usize).enumerate() {
            self.pieces.0.insert((id, number as u64), piece.into());
        }
        let dropped = u64::from(before.is_some());
        SavedHistory { dropped, pieces, anchor, last: last.into() }
    }

    fn tags(&mut self, of: &mut OfTree<'_>, tree: &mut SavedTree) -> Result<(), Ended<E>> {
        let other = of.other.clone();
        let mut kept = Vec::with_capacity(tree.tags.len());
        for mut tag in std::mem::take(&mut tree.tags) {
            let elsewhere = || {
                let found = other.as_ref()?.at_tag(&tag.name).ok()?;
                (found.revision() == tag.at.revision).then_some(found)
            };
            match of.version(tag.at.id, elsewhere, false)? {
                Some(id) => {
                    tag.at.id = id;
                    kept.push(tag);
                }
                None => self.lost.push(Lost::Tag {
                    tree: of.name.clone(),
                    tag: (&*tag.name).into(),
                    revision: tag.at.revision,
                }),
            }
        }
        tree.tags = kept;
        Ok(())
    }

    /// What branches have in common.
    fn bases(&mut self, of: &mut OfTree<'_>, tree: &mut SavedTree) -> Result<(), Ended<E>> {
        let mut copied = |at: &mut SavedVersion| -> Result<bool, Ended<E>> {
            let Some(id) = of.version(at.id, || None, false)? else {
                let (tree, revision) = (of.name.clone(), at.revision);
                self.lost.push(Lost::Base { tree, revision });
                return Ok(false);
            };
            at.id = id;
            Ok(true)
        };
        let (mut origins, mut merges) = (Vec::new(), Vec::new());
        for mut origin in std::mem::take(&mut tree.origins) {
            if copied(&mut origin.at)? {
                origins.push(origin);
            }
        }
        for mut merge in std::mem::take(&mut tree.merges) {
            if copied(&mut merge.at)? {
                merges.push(merge);
            }
        }
        (tree.origins, tree.merges) = (origins, merges);
        Ok(())
    }
}

impl OfTree<'_> {
    /// Holds a version of the arena that is read.
    fn held(&self, id: VersionId) -> Result<Option<jungle_tree::Snapshot>, CopyError> {
        let reader = self.reader.as_ref().filter(|_| id.is_drawn(self.from.arena));
        reader.map_or(Ok(None), |reader| read(|| reader.held(id)))
    }

    /// The copy of a version, or of the same one elsewhere; none when it cannot be read.
    fn version(
        &mut self,
        id: VersionId,
        elsewhere: impl FnOnce() -> Option<Snapshot>,
        is_newest: bool,
    ) -> Result<Option<VersionId>, CopyError> {
        if let Some(&known) = self.known.get(&id).filter(|_| !is_newest) {
            return Ok(known);
        }
        let mut copy = None;
        if let Some(old) = self.held(id)? {
            copy = read(|| self.line.copy(old, is_newest))?.transpose()?;
        }
        if copy.is_none()
            && let Some(other) = elsewhere()
        {
            copy = read(|| self.line.copy(other.into_tree(), is_newest))?.transpose()?;
        }
        if id != unknown() {
            self.known.insert(id, copy);
        }
        Ok(copy)
    }
}

/// Reads something; nothing where a part of it is not there any more.
fn read<T>(f: impl FnOnce() -> T) -> Result<Option<T>, CopyError> {
    match loading(f) {
        Ok(read) => Ok(Some(read)),
        // There is no room for it, which says nothing of it.
        Err(error) if error.cause.is::<io::Error>() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// The version of just this revision.
fn version_of(branch: &TreeHandle, revision: Revision) -> Option<Snapshot> {
    branch.at(revision).ok().filter(|found| found.revision() == revision)
}

/// Is it a whole one?
fn is_piece(entries: &[HistoryEntry]) -> bool {
    entries.len() as u64 == HISTORY_PIECE && are_in_order(entries)
}

/// Where nothing lies.
fn unknown() -> VersionId {
    VersionId::from_parts(0, u64::MAX)
}

fn joined(run: Option<Run>, (more, first, last): Run) -> Run {
    run.map_or((more, first, last), |(count, begun, _)| (count + more, begun, last))
}

/// What another Jungle knows of some revisions between two that are known here, and how many are
/// left.
fn fill(
    found: &mut Vec<Found>,
    missing: u64,
    (before, next): (Revision, Revision),
    other: Option<&TreeHandle>,
) {
    if missing == 0 || before >= next {
        return;
    }
    let infos = other.into_iter().flat_map(|other| other.history(before.next()..next));
    // The newest are the first.
    let infos = infos.map_while(Result::ok).take(missing as usize);
    let mut filled: Vec<HistoryEntry> = infos.map(entry_of).collect();
    filled.reverse();
    let left = missing - filled.len() as u64;
    if left > 0 {
        let end = filled.first().map_or(next, |entry| entry.revision);
        found.push(Found::Gap((
            left,
            before.next(),
            Revision::new(end.number().saturating_sub(1)),
        )));
    }
    found.extend(filled.into_iter().map(Found::Entry));
}

fn entry_of(info: RevisionInfo) -> HistoryEntry {
    let RevisionInfo { revision, time, meta } = info;
    HistoryEntry { revision, time, id: unknown(), meta }
}

/// What is said of a revision that has what is left of another one.
fn message(of: &HistoryEntry, missing: &[MissingPart]) -> String {
    let mut text = format!("what can be read of revision {}, which is damaged", of.revision);
    if let Some(author) = of.meta.author_name() {
        text.push_str(&format!(", by {author}"));
    }
    if let Some(was) = of.meta.message_text() {
        text.push_str(&format!(" ({was})"));
    }
    text.push_str("; not there:");
    for part in missing.iter().take(PATHS_TOLD) {
        text.push_str(&format!("\n{part}"));
    }
    if missing.len() > PATHS_TOLD {
        text.push_str(&format!("\nand in {} more places", missing.len() - PATHS_TOLD));
    }
    text
}
