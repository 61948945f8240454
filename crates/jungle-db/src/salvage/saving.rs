//! Saving trees, branch by branch.

use jungle_tree::{Arena, EditError};

use super::copies::{OfTree, version_of};
use super::histories::{Found, Run, joined};
use super::part::{MissingPart, copy_part};
use super::{Lost, Salvage};
use crate::branch::MAIN_BRANCH;
use crate::erase::copy::{CopyError, Pieces, line_of};
use crate::history::HistoryEntry;
use crate::restore::check_history;
use crate::restore::state::{SavedBranch, SavedTree, SavedVersion};
use crate::revision::{CommitMeta, Revision};

/// Who is said to have made a revision of what was left of another one.
const AUTHOR: &str = "jungle repair";

/// So many paths of what is missing are told in the message of a revision.
const PATHS_TOLD: usize = 100;

/// What is being saved.
pub(super) struct Saving<'a, F> {
    pub(super) from: &'a Salvage<'a>,
    /// Where all is copied to.
    pub(super) arena: Arena,
    pub(super) pieces: Pieces,
    pub(super) lost: Vec<Lost>,
    /// The newest revision so far.
    pub(super) newest: Revision,
    /// How many revisions were looked at.
    pub(super) done: u64,
    pub(super) step: F,
}

/// Why it goes no further.
pub(super) enum Ended<E> {
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

impl<E, F: FnMut(u64) -> Result<(), E>> Saving<'_, F> {
    /// Saves a tree; tells whether there is anything to keep.
    pub(super) fn tree(
        &mut self,
        of: &mut OfTree<'_>,
        tree: &mut SavedTree,
    ) -> Result<bool, Ended<E>> {
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

    /// What can be read of the newest revision of a branch, and whether that is anything.
    fn part(
        &mut self,
        of: &OfTree<'_>,
        branch: &SavedBranch,
        newest: &HistoryEntry,
    ) -> Result<(HistoryEntry, bool), Ended<E>> {
        let mut line = line_of(&self.arena, of.id);
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
