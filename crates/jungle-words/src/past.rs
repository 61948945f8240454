//! Looking back over the revisions of a tree, and on over those of the branch that it was made
//! from.

use std::ops::{Bound, RangeBounds};

use jungle_db::{ArchiveError, Revision, RevisionInfo, TreeHandle};
use jungle_json::{Member, value_at};
use jungle_tree::{DiffError, Path, Snapshot, Steps, TooManySteps, Tree, differs_within};

use crate::revision::{FindError, Found, missing};

/// Branches, each with its newest revision of interest; each goes on where the one before began.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_words::Line;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let first = tree.update(|tx| tx.append(&[]))?.revision;
/// tree.update(|tx| tx.append(&[]))?;
/// let draft = tree.branch("draft", first)?;
/// let third = draft.update(|tx| tx.append(&[]))?.revision;
///
/// let line = Line::back_from(&draft, third)?;
/// let mut branches = Vec::new();
/// for told in line.revisions(..) {
///     let (branch, _) = told?;
///     branches.push(branch.branch_name());
/// }
/// assert_eq!((branches[0], branches[branches.len() - 1]), ("draft", "main"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Line(Vec<(TreeHandle, Revision)>);

impl Line {
    /// The branch alone.
    #[must_use]
    pub fn of(tree: &TreeHandle, newest: Revision) -> Line {
        Line(vec![(tree.clone(), newest)])
    }

    /// The branch, then those that go on where one begins.
    ///
    /// # Errors
    /// When the history cannot be read there.
    pub fn back_from(tree: &TreeHandle, newest: Revision) -> Result<Line, FindError> {
        let mut branches = vec![(tree.clone(), newest)];
        loop {
            let (tree, newest) = &branches[branches.len() - 1];
            let oldest = tree.history(..=*newest).next_back().transpose()?;
            let before = match oldest {
                Some(oldest) => found(tree, oldest.revision)?.before()?,
                None => None,
            };
            let Some(before) = before else { return Ok(Line(branches)) };
            branches.push((before.tree, before.snapshot.revision()));
        }
    }

    /// Those of its revisions in this range, the newest first, each with its branch. One that
    /// cannot be read is an error in its place.
    pub fn revisions(
        &self,
        range: impl RangeBounds<Revision>,
    ) -> impl DoubleEndedIterator<Item = Result<(&TreeHandle, RevisionInfo), ArchiveError>> {
        let first = range.start_bound().cloned();
        let last = range.end_bound().cloned();
        self.0.iter().flat_map(move |(tree, newest)| {
            let past = tree.history((first, up_to(last, *newest)));
            past.map(move |info| Ok((tree, info?)))
        })
    }
}

/// The end of a range that goes no further than this.
fn up_to(last: Bound<Revision>, newest: Revision) -> Bound<Revision> {
    match last {
        Bound::Included(last) if last < newest => Bound::Included(last),
        Bound::Excluded(last) if last <= newest => Bound::Excluded(last),
        _ => Bound::Included(newest),
    }
}

/// What a revision found, and what it left.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_tree::Path;
/// use jungle_words::Doing;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let titled = tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
/// let doing = Doing::of(&tree, titled.revision)?;
/// assert!(!doing.before.root().has_attributes());
/// assert!(doing.did_change(&Path::from(["title"])));
/// assert!(!doing.did_change(&Path::from(["stars"])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Doing {
    /// What it found.
    pub before: Snapshot,
    /// What it left.
    pub after: Snapshot,
}

impl Doing {
    /// That of a revision of a branch.
    ///
    /// # Errors
    /// When it is not there, or the history cannot be read there.
    pub fn of(tree: &TreeHandle, revision: Revision) -> Result<Doing, FindError> {
        Ok(Doing::of_found(&found(tree, revision)?)?)
    }

    /// That of a revision that was found.
    ///
    /// # Errors
    /// When the history cannot be read there.
    pub fn of_found(found: &Found) -> Result<Doing, ArchiveError> {
        let before = match found.before()? {
            Some(before) => (*before.snapshot).clone(),
            // The first revision is a bare node; so is what it is compared with.
            None => Tree::new(&found.snapshot.arena()).snapshot(),
        };
        Ok(Doing { before, after: (*found.snapshot).clone() })
    }

    /// Did it change what is at a path or below?
    #[must_use]
    pub fn did_change(&self, below: &Path) -> bool {
        // Who could count so far would have found it.
        self.did_change_within(below, &mut Steps::new(u64::MAX)).unwrap_or(true)
    }

    /// As [`did_change`](Doing::did_change), where anybody may have made what it did.
    ///
    /// # Errors
    /// When it takes more steps than there are.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::{Path, Steps};
    /// use jungle_words::Doing;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let titled = tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// let doing = Doing::of(&tree, titled.revision)?;
    /// assert_eq!(doing.did_change_within(&Path::root(), &mut Steps::new(10)), Ok(true));
    /// assert!(doing.did_change_within(&Path::root(), &mut Steps::new(0)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn did_change_within(&self, below: &Path, steps: &mut Steps) -> Result<bool, TooManySteps> {
        let Doing { before, after } = self;
        match (value_at(before.root(), below), value_at(after.root(), below)) {
            (None, None) => Ok(false),
            (Some(Member::Value(before)), Some(Member::Value(after))) => Ok(before != after),
            (Some(Member::Node(_)), Some(Member::Node(_))) => {
                match differs_within(before, after, below, steps) {
                    Err(DiffError::TooManySteps(error)) => Err(error),
                    differs => Ok(differs.unwrap_or_default()),
                }
            }
            _ => Ok(true),
        }
    }
}

fn found(tree: &TreeHandle, revision: Revision) -> Result<Found, FindError> {
    let snapshot = tree.at(revision).map_err(|source| missing(&revision.to_string(), source))?;
    Ok(Found { snapshot, tree: tree.clone() })
}
