//! Undoing and redoing, step by step, as in an editor.
//!
//! Each revision of a branch *stands at* one: a step at the revision that it went to, any other at
//! itself. Undo goes from where the newest stands to where the one before that stood. So what can
//! be undone and redone follows from the history alone, whoever asks and whenever.
//!
//! That a revision is a step, and where to, is in its record: as the request that asked for it.
//! What somebody writes as a message says nothing here.

use jungle_tree::TooManySteps;

use super::set_root::{Replace, SetRootError};
use super::{Committed, TreeHandle, committed};
use crate::commit::write::NotWritten;
use crate::history::HistoryEntry;
use crate::history::archive::ArchiveError;
use crate::history::lookup::Found;
use crate::history::past::NoSuchRevision;
use crate::history::search::At;
use crate::revision::{CommitMeta, RequestId, Revision};

/// Why nothing was undone, or redone.
///
/// ```
/// use jungle_db::{CommitMeta, Jungle, UndoError};
/// let tree = Jungle::new()?.create_tree("board")?;
/// tree.update(|tx| tx.append(&[]))?;
/// let refused = tree.undo(2, &CommitMeta::new()).unwrap_err();
/// assert!(matches!(refused, UndoError::NothingToUndo { possible: 1 }));
/// assert_eq!(refused.to_string(), "no more than 1 can be undone");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The branch has not so many revisions that are not undone.
    #[error("{}", no_more(*possible, "undo", "undone"))]
    NothingToUndo {
        /// So many steps there are.
        possible: usize,
    },
    /// There were not so many undone since the newest commit that is no step.
    #[error("{}", no_more(*possible, "redo", "redone"))]
    NothingToRedo {
        /// So many steps there are.
        possible: usize,
    },
    /// The revision to go to, or what tells which one that is, is not kept any more.
    #[error("that is not kept any more: the oldest revision that is kept is {oldest}")]
    NotKept {
        /// The oldest revision that is kept.
        oldest: Revision,
    },
    /// What is known of a revision could not be read.
    #[error(transparent)]
    NotRead(#[from] ArchiveError),
    /// It takes more steps to find what differs than [it may](TreeHandle::steps_max).
    #[error(transparent)]
    TooManySteps(#[from] TooManySteps),
    /// It could not be written, or there is no room to work it out.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

fn no_more(possible: usize, what: &str, done: &str) -> String {
    match possible {
        0 => format!("there is nothing to {what}"),
        possible => format!("no more than {possible} can be {done}"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Undo,
    Redo,
}

/// Where to go, and past which revisions: the nearest first, never none.
struct Course {
    to: Revision,
    past: Vec<Revision>,
}

impl TreeHandle {
    /// Makes the tree what it was before the newest commits that are not undone, so many of them:
    /// a new commit, of which the `value` tells what it undid, the newest first. Undone again, it
    /// goes on from there; [`redo`](TreeHandle::redo) goes forward again, until somebody commits
    /// something else. What the branch began with is not undone.
    ///
    /// It costs a look at each revision that it goes past, however many there are besides.
    ///
    /// Without a message, the commit gets one. That it is a step is [said](CommitMeta::asked_by)
    /// as the request that asked for it, so one in `meta` is not.
    ///
    /// # Errors
    /// When there are not so many, what was before them is not kept any more, nothing can be
    /// written, or it takes too many [steps](TreeHandle::steps_max). Nothing is undone then.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle, UndoError};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let title = || tree.read().root().attribute("title").map(|it| it.to_value());
    /// let one = tree.update(|tx| tx.put_attribute(&[], "title", "one"))?;
    /// let two = tree.update(|tx| tx.put_attribute(&[], "title", "two"))?;
    ///
    /// assert_eq!(tree.undo(1, &CommitMeta::new())?.value, [two.revision]);
    /// assert_eq!(title(), Some("one".into()));
    /// assert_eq!(tree.undo(1, &CommitMeta::new())?.value, [one.revision]);
    /// assert_eq!(title(), None);
    /// assert_eq!(tree.redo(2, &CommitMeta::new())?.value, [one.revision, two.revision]);
    /// assert_eq!(title(), Some("two".into()));
    ///
    /// // Nothing is ever lost, and what comes in between is not redone over.
    /// assert_eq!(tree.history(..).count(), 6);
    /// tree.undo(1, &CommitMeta::new())?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "three"))?;
    /// let refused = tree.redo(1, &CommitMeta::new());
    /// assert!(matches!(refused, Err(UndoError::NothingToRedo { possible: 0 })));
    /// tree.undo(1, &CommitMeta::new())?;
    /// assert_eq!(title(), Some("one".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn undo(
        &self,
        steps: usize,
        meta: &CommitMeta,
    ) -> Result<Committed<Vec<Revision>>, UndoError> {
        self.step(Way::Undo, steps, meta)
    }

    /// Does again what was undone last, so many steps of it: see [`undo`](TreeHandle::undo). The
    /// `value` tells what it did again, the oldest first.
    ///
    /// It costs a look at each step since the newest commit that is none.
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let added = tree.update(|tx| tx.append(&[]))?.revision;
    /// tree.undo(1, &CommitMeta::new().author("ana"))?;
    /// assert_eq!(tree.redo(1, &CommitMeta::new().author("ana"))?.value, [added]);
    /// assert_eq!(tree.read().root().child_count(), 1);
    /// let newest = tree.history(..).next().unwrap()?;
    /// assert_eq!(newest.meta.message_text(), Some("redo of revision 2"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn redo(
        &self,
        steps: usize,
        meta: &CommitMeta,
    ) -> Result<Committed<Vec<Revision>>, UndoError> {
        self.step(Way::Redo, steps, meta)
    }

    fn step(
        &self,
        way: Way,
        steps: usize,
        meta: &CommitMeta,
    ) -> Result<Committed<Vec<Revision>>, UndoError> {
        let mut to_compare = self.steps();
        loop {
            let now = self.snapshot();
            let newest = now.revision();
            if steps == 0 {
                self.shared.rely_on(newest, None)?;
                return Ok(of_past(newest, Vec::new()));
            }
            let Course { to, past } = match way {
                Way::Undo => self.back(newest, steps)?,
                Way::Redo => self.forth(newest, steps)?,
            };
            let there = self.entry(to)?;
            if there.entry.revision != to {
                return Err(self.not_kept()?);
            }
            let meta = meta.clone().asked_by(request(newest, to));
            let meta = match meta.message_text() {
                Some(_) => meta,
                None => meta.message(&message(way, &past)),
            };
            let root = there.snapshot.root();
            let how = Replace::InAnyCase;
            match self.replace_root(Some(&*now), root, &meta, how, &mut to_compare) {
                Ok(done) => return Ok(of_past(done.revision, past)),
                Err(SetRootError::Changed { .. }) => {}
                // Somebody else has made a step meanwhile, and this one comes on top of that.
                Err(SetRootError::NotWritten(
                    NotWritten::Repeated { .. } | NotWritten::KeyInUse { .. },
                )) if self.snapshot().revision() != newest => {}
                Err(SetRootError::NotWritten(error)) => return Err(error.into()),
                Err(SetRootError::TooManySteps(error)) => return Err(error.into()),
                Err(SetRootError::Edit(error)) => {
                    return Err(NotWritten::NoRoom(error.into()).into());
                }
            }
        }
    }

    /// The course of so many steps back.
    fn back(&self, newest: Revision, steps: usize) -> Result<Course, UndoError> {
        let mut to = self.stands_at(&self.entry(newest)?.entry)?;
        let mut past = Vec::new();
        while past.len() < steps {
            let Some(before) = self.before(to)? else {
                return Err(UndoError::NothingToUndo { possible: past.len() });
            };
            past.push(to);
            to = self.stands_at(&before)?;
        }
        Ok(Course { to, past })
    }

    /// The course of so many steps forward: those that lead back from the newest revision that is
    /// no step to where the newest stands, the other way round.
    fn forth(&self, newest: Revision, steps: usize) -> Result<Course, UndoError> {
        let mut top = self.entry(newest)?.entry;
        let at = self.stands_at(&top)?;
        while self.stands_at(&top)? != top.revision {
            top = self.before(top.revision)?.expect("a step is known by the one before");
        }
        let mut line = Vec::new();
        let mut here = top.revision;
        while here > at {
            line.push(here);
            here = match self.before(here)? {
                Some(before) => self.stands_at(&before)?,
                None => break,
            };
        }
        if here != at {
            return Err(self.not_kept()?);
        }
        let Some(left) = line.len().checked_sub(steps) else {
            if top.meta.request().is_some() {
                // It may be a step itself, where the one before is not kept any more.
                self.before(top.revision)?;
            }
            return Err(UndoError::NothingToRedo { possible: line.len() });
        };
        let past: Vec<Revision> = line[left..].iter().rev().copied().collect();
        Ok(Course { to: line[left], past })
    }

    /// Where a revision stands. Of the oldest that is kept it is not known any more whether it is a
    /// step: it stands for itself, with the version that it has.
    fn stands_at(&self, entry: &HistoryEntry) -> Result<Revision, UndoError> {
        let Some(request) = entry.meta.request() else { return Ok(entry.revision) };
        let before = match self.before(entry.revision) {
            Err(UndoError::NotKept { .. }) => None,
            before => before?,
        };
        let to = before.and_then(|before| target(request, before.revision));
        Ok(to.unwrap_or(entry.revision))
    }

    /// The revision of this branch before one; none before its first.
    fn before(&self, revision: Revision) -> Result<Option<HistoryEntry>, UndoError> {
        let Some(number) = revision.number().checked_sub(1) else { return Ok(None) };
        match self.head.at(At::Revision(Revision::new(number))) {
            Ok(found) => Ok(Some(found.entry)),
            Err(NoSuchRevision::NotBorn { .. }) => Ok(None),
            Err(error) => Err(not_there(error)),
        }
    }

    fn entry(&self, revision: Revision) -> Result<Found, UndoError> {
        self.head.at(At::Revision(revision)).map_err(not_there)
    }

    fn not_kept(&self) -> Result<UndoError, UndoError> {
        let oldest = self.head.page(0, 1)?.next().expect("a history is never empty").revision;
        Ok(UndoError::NotKept { oldest })
    }
}

fn not_there(error: NoSuchRevision) -> UndoError {
    match error {
        NoSuchRevision::NotRead(error) => error.into(),
        NoSuchRevision::TooOld { oldest }
        | NoSuchRevision::NotBorn { first: oldest }
        | NoSuchRevision::NotYet { newest: oldest } => UndoError::NotKept { oldest },
    }
}

fn of_past(revision: Revision, past: Vec<Revision>) -> Committed<Vec<Revision>> {
    let Committed { revision, renamed, runs, .. } = committed(revision);
    Committed { value: past, revision, renamed, runs }
}

fn message(way: Way, past: &[Revision]) -> String {
    let way = if way == Way::Undo { "undo" } else { "redo" };
    match past {
        [first, .., last] => format!("{way} of {} revisions, {first} to {last}", past.len()),
        [only] => format!("{way} of revision {only}"),
        [] => unreachable!("a course goes past something"),
    }
}

/// Tell the keys of steps, and what they say, from those of others, which are hashes.
const STEP: u64 = 0x6a75_6e67_6c65_3a73;
const TARGET: u64 = 0x6a75_6e67_6c65_3a74;

/// What a step on top of a revision is asked for by. There is one at most, so no two of a branch
/// are called the same.
fn request(before: Revision, to: Revision) -> RequestId {
    RequestId { key: STEP ^ before.number(), fingerprint: TARGET ^ to.number() }
}

/// Where a commit on top of a revision went to, if it is a step: always further back.
fn target(request: RequestId, before: Revision) -> Option<Revision> {
    let RequestId { key, fingerprint } = request;
    let to = Revision::new(TARGET ^ fingerprint);
    (key == STEP ^ before.number() && to <= before).then_some(to)
}
