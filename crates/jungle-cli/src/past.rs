//! Looking back over the revisions of a tree, and on over those of the branch that it was made
//! from.

use jungle::{Revision, RevisionInfo, TreeHandle};
use jungle_json::{Member, value_at};
use jungle_tree::{Arena, Path, Snapshot, Tree, diff_at};
use jungle_words::Found;

use crate::failure::{Failure, failed};

/// Branches, each with its newest revision of interest; each goes on where the one before began.
pub(crate) struct Line(Vec<(TreeHandle, Revision)>);

impl Line {
    /// The branch alone.
    pub(crate) fn of(tree: &TreeHandle, newest: Revision) -> Line {
        Line(vec![(tree.clone(), newest)])
    }

    /// The branch, then those that go on where one begins.
    pub(crate) fn back_from(tree: &TreeHandle, newest: Revision) -> Result<Line, Failure> {
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

    /// The revisions, the newest first, each with its branch.
    pub(crate) fn revisions(
        &self,
    ) -> impl DoubleEndedIterator<Item = Result<(&TreeHandle, RevisionInfo), Failure>> {
        self.0.iter().flat_map(|(tree, newest)| {
            let past = tree.history(..=*newest);
            past.map(move |info| Ok((tree, info?)))
        })
    }
}

/// What a revision found, and what it left.
pub(crate) struct Doing {
    pub(crate) before: Snapshot,
    pub(crate) after: Snapshot,
}

impl Doing {
    pub(crate) fn of(
        tree: &TreeHandle,
        revision: Revision,
        arena: &Arena,
    ) -> Result<Doing, Failure> {
        Doing::of_found(&found(tree, revision)?, arena)
    }

    pub(crate) fn of_found(found: &Found, arena: &Arena) -> Result<Doing, Failure> {
        let before = match found.before()? {
            Some(before) => (*before.snapshot).clone(),
            // The first revision is a bare node; so is what it is compared with.
            None => Tree::new(arena).snapshot(),
        };
        Ok(Doing { before, after: (*found.snapshot).clone() })
    }

    /// Did it change what is at a path or below?
    pub(crate) fn did_change(&self, below: &Path) -> bool {
        let Doing { before, after } = self;
        match (value_at(before.root(), below), value_at(after.root(), below)) {
            (None, None) => false,
            (Some(Member::Value(before)), Some(Member::Value(after))) => before != after,
            (Some(Member::Node(_)), Some(Member::Node(_))) => {
                diff_at(before, after, below).is_ok_and(|changes| !changes.is_empty())
            }
            _ => true,
        }
    }
}

fn found(tree: &TreeHandle, revision: Revision) -> Result<Found, Failure> {
    Ok(Found { snapshot: tree.at(revision).map_err(failed)?, tree: tree.clone() })
}
