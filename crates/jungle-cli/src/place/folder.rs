//! A folder as a place.

use jungle::{
    AuditError, AuditQuery, AuditRow, BranchError, CommitRecord, Conflict, ConflictKind, Conflicts,
    DeleteTreeError, Jungle, Merge, MergeOptions, NoSuchRevision, NoSuchTree, RenameTreeError,
    RevertError, Revision, Store, TreeHandle,
};
use jungle_json::value_at;
use jungle_tree::{Path, Snapshot};
use jungle_words::audit::{Page, Wanted};
use jungle_words::{Doing, Found, Info, Line, Tags, check_name, conflict};

use super::history::TOLD;
use super::server::PAGE;
use super::{
    Audited, Back, Clash, Compared, Contradicted, Edit, Foreseen, Mark, On, Order, Part, Place,
    Reverted, TreeTold, Which,
};
use crate::args;
use crate::conflict::member_of;
use crate::context::Folder;
use crate::failure::{Exit, Failure, failed};
use crate::folder::{Written, edit, not_committed, not_opened, on_branch, tree};
use crate::near;
use crate::revision::{find, find_or_newest};
use crate::search::{parse, search};
use crate::settle::{Disputed, How, Settle, Side, disputed, edits, merged, settled};

impl Place for Folder<'_> {
    fn trees(&self) -> Result<Vec<TreeTold>, Failure> {
        // One that was deleted meanwhile is left out.
        let trees = self.list_trees().into_iter().filter_map(|name| self.open_tree(&name).ok());
        Ok(trees.map(|tree| told(&tree)).collect())
    }

    fn create_tree(&self, name: &str, by: &args::By) -> Result<TreeTold, Failure> {
        Ok(told(&self.by(&by.meta()).create_tree(name).map_err(failed)?))
    }

    fn rename_tree(&self, old: &str, new: &str, by: &args::By) -> Result<TreeTold, Failure> {
        self.by(&by.meta()).rename_tree(old, new).map_err(|error| match error {
            RenameTreeError::NoSuchTree(error) => no_such_tree(self, old, &error),
            error => failed(error),
        })?;
        Ok(told(&self.open_tree(new).map_err(failed)?))
    }

    fn delete_tree(&self, name: &str, by: &args::By) -> Result<(), Failure> {
        self.by(&by.meta()).delete_tree(name).map_err(|error| match error {
            DeleteTreeError::NoSuchTree(error) => no_such_tree(self, name, &error),
            error => failed(error),
        })
    }

    /// All of it is there.
    fn look_on(&self, on: On<'_>, at: Option<&str>, _: Part<'_>) -> Result<Snapshot, Failure> {
        let found = find_or_newest(&tree(self, on.tree, on.branch)?, at)?;
        Ok((*found.snapshot).clone())
    }

    fn find(
        &self,
        name: &str,
        at: Option<&str>,
        expression: &str,
        each: &mut dyn FnMut(Path) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let found = find_or_newest(&tree(self, name, None)?, at)?;
        search(&found.snapshot, Some(&found), &parse(expression)?, each)
    }

    fn log(
        &self,
        on: On<'_>,
        which: &Which<'_>,
        each: &mut dyn FnMut(&Info) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let tree = tree(self, on.tree, on.branch)?;
        let tags = Tags::of(&tree);
        let newest = tree.snapshot();
        let line = match which.below {
            Some(_) => Line::back_from(&tree, newest.revision())?,
            None => Line::of(&tree, newest.revision()),
        };
        let mut past = line.revisions(..);
        let mut next = || match which.order {
            Order::NewestFirst => past.next(),
            Order::OldestFirst => past.next_back(),
        };
        let mut count = 0;
        while let Some(next) = (count < which.limit).then(&mut next).flatten() {
            let (tree, info) = next?;
            if let Some(below) = which.below
                && !Doing::of(tree, info.revision)?.did_change(below)
            {
                continue;
            }
            each(&tags.info(&info))?;
            count += 1;
        }
        match which.below.filter(|below| count == 0 && value_at(newest.root(), below).is_none()) {
            Some(below) => Err(near::not_found(newest.root(), below)),
            None => Ok(()),
        }
    }

    fn revision(&self, name: &str, rev: &str) -> Result<Info, Failure> {
        let tree = tree(self, name, None)?;
        let found = find(&tree, rev)?;
        Ok(Tags::of(&tree).info(&found.info()?))
    }

    fn doing(&self, name: &str, rev: &str, _: &Path) -> Result<(Info, Compared), Failure> {
        let tree = tree(self, name, None)?;
        let found = find(&tree, rev)?;
        let info = Tags::of(&tree).info(&found.info()?);
        let Doing { before, after } = Doing::of_found(&found)?;
        Ok((info, Compared::Here { before, after }))
    }

    fn compare(
        &self,
        name: &str,
        (before, after): (&str, Option<&str>),
        _: &Path,
    ) -> Result<Compared, Failure> {
        let tree = tree(self, name, None)?;
        let before = (*find(&tree, before)?.snapshot).clone();
        let after = (*find_or_newest(&tree, after)?.snapshot).clone();
        Ok(Compared::Here { before, after })
    }

    fn marks(&self, of: &str, kind: Mark) -> Result<Vec<(String, u64)>, Failure> {
        let tree = tree(self, of, None)?;
        match kind {
            Mark::Tag => {
                let tags = tree.list_tags().into_iter();
                Ok(tags.map(|(name, revision)| (name.to_string(), revision.number())).collect())
            }
            Mark::Branch => {
                let branches = tree.list_branches().into_iter();
                let newest = |name: &str| -> Result<u64, Failure> {
                    Ok(on_branch(&tree, name)?.snapshot().revision().number())
                };
                branches.map(|name| Ok((name.to_string(), newest(&name)?))).collect()
            }
        }
    }

    fn mark(
        &self,
        of: &str,
        kind: Mark,
        (name, rev): (&str, Option<&str>),
        by: &args::By,
    ) -> Result<u64, Failure> {
        let tree = tree(self, of, None)?;
        check_name(name).map_err(failed)?;
        let at = find_or_newest(&tree, rev)?;
        let (tree, revision) = (at.tree.by(&by.meta()), at.snapshot.revision());
        match kind {
            Mark::Tag => tree.tag(name, revision).map_err(failed)?,
            Mark::Branch => drop(tree.branch(name, revision).map_err(failed)?),
        }
        Ok(revision.number())
    }

    fn unmark(&self, of: &str, kind: Mark, name: &str, by: &args::By) -> Result<(), Failure> {
        let tree = tree(self, of, None)?.by(&by.meta());
        let done = match kind {
            Mark::Tag => tree.delete_tag(name),
            Mark::Branch => tree.delete_branch(name),
        };
        done.map_err(|error| match error {
            BranchError::NoSuchBranch(error) if kind == Mark::Tag => {
                let tags = tree.list_tags();
                near::no_such(error, name, tags.iter().map(|(name, _)| &**name), "`tag` lists them")
            }
            BranchError::NoSuchBranch(error) => {
                on_branch(&tree, name).err().unwrap_or_else(|| failed(error))
            }
            error => failed(error),
        })
    }

    fn audit(&self, asked: &Audited<'_>, after: u64) -> Result<Page, Failure> {
        let wanted = Wanted::new(self, asked.tree, asked.since);
        let after = Revision::new(after);
        let query = AuditQuery { after, limit: PAGE, ..AuditQuery::default() };
        let page = Store::audit(self, &query).map_err(not_audited)?;
        let told = |row: AuditRow| {
            let AuditRow { revision, time, meta, event, tree, branch, .. } = row;
            let record = CommitRecord { revision, time, meta, event };
            wanted.tell(&record, &tree, branch.as_deref())
        };
        Ok(Page {
            complete_from: page.complete_from.number(),
            events: page.rows.into_iter().filter_map(told).collect(),
            next: page.next.map(Revision::number),
        })
    }

    fn edit(
        &self,
        on: On<'_>,
        meta: &args::Meta,
        _: &Path,
        done: Edit<'_>,
    ) -> Result<Written, Failure> {
        edit(&tree(self, on.tree, on.branch)?, meta.commit(), done)
    }

    fn revert(
        &self,
        on: On<'_>,
        rev: &str,
        back: Back<'_>,
        meta: &args::Meta,
    ) -> Result<Reverted, Failure> {
        let tree = tree(self, on.tree, on.branch)?;
        let found = find(&tree, rev)?;
        let (before, meta) = (tree.snapshot().revision(), meta.commit());
        let committed = match back {
            Back::To => tree.set_root(&found.snapshot, &meta).map_err(failed)?,
            Back::Over(settle) => {
                let revision = number(rev, &found);
                match taken_back(&tree, revision, settle)? {
                    (Some(revert), None) => revert.commit(&meta).map_err(not_committed)?,
                    (_, clashes) => {
                        let clashes = clashes.unwrap_or_default();
                        return Ok(Reverted::Contradicted(contradicted(revision, clashes)));
                    }
                }
            }
        };
        let changed = committed.revision != before;
        Ok(Reverted::Written(Written { revision: committed.revision.number(), changed }))
    }

    fn foresee(&self, on: On<'_>, rev: &str, back: Back<'_>) -> Result<Foreseen, Failure> {
        let tree = tree(self, on.tree, on.branch)?;
        let found = find(&tree, rev)?;
        let Back::Over(settle) = back else {
            let (before, after) = ((*tree.snapshot()).clone(), (*found.snapshot).clone());
            let compared = Compared::Here { before, after };
            return Ok(Foreseen { compared, contradicted: None });
        };
        let revision = number(rev, &found);
        let (revert, clashes) = taken_back(&tree, revision, settle)?;
        let compared = match revert {
            Some(revert) => {
                let after = merged(&revert)?;
                Compared::Here { before: (**revert.theirs()).clone(), after }
            }
            None => Compared::Told(None),
        };
        let contradicted = clashes.map(|clashes| contradicted(revision, clashes));
        Ok(Foreseen { compared, contradicted })
    }
}

fn not_audited(error: AuditError) -> Failure {
    match error {
        AuditError::Open(error) => not_opened(&error),
        AuditError::Record { .. } | AuditError::Kept { .. } | AuditError::Lacks { .. } => {
            Failure::of(Exit::Damaged, &error)
        }
        error => failed(error),
    }
}

/// A number is taken as it is: at one of another tree, what this one did before is not meant.
fn number(rev: &str, found: &Found) -> Revision {
    rev.parse().map_or(found.snapshot.revision(), Revision::new)
}

/// A folder tells all of them.
fn contradicted(revision: Revision, clashes: Vec<Clash>) -> Contradicted {
    Contradicted { revision: revision.number(), clashes, left_out: 0 }
}

fn not_reverted(error: RevertError) -> Failure {
    match error {
        RevertError::NoSuchRevision(NoSuchRevision::NotRead(error)) => error.into(),
        RevertError::NoSuchRevision(_) | RevertError::OfAnother { .. } => {
            Failure::of(Exit::NotFound, &error)
        }
        error => failed(error),
    }
}

/// Works out how what a revision did is taken back, as far as it can be, and where that has been
/// changed since and nobody has said what is to come of it, if it has anywhere.
fn taken_back(
    tree: &TreeHandle,
    revision: Revision,
    settle: Settle<'_>,
) -> Result<(Option<Merge>, Option<Vec<Clash>>), Failure> {
    // In the merge that it is, what comes back is ours.
    let prevails = settle.prevails.map_or(Side::Theirs, Side::other);
    let options = MergeOptions::new().resolution(prevails.resolution());
    let prepare = || tree.prepare_revert(revision, &options);
    let revert = match prepare() {
        Ok(revert) => revert,
        Err(RevertError::Conflict(why)) => return Ok((None, Some(clashes(&why)))),
        Err(error) => return Err(not_reverted(error)),
    };
    let mut disputed = disputed(&revert, settle.resolve, TOLD)?;
    let is_open = |one: &&Disputed<'_>| settle.prevails.is_none() && one.how.is_none();
    let open: Vec<Clash> = disputed.iter().filter(is_open).map(|one| clash(one.conflict)).collect();
    if !open.is_empty() {
        return Ok((Some(revert), Some(open)));
    }
    for one in &mut disputed {
        if let Some(How::Take(side)) = &mut one.how {
            *side = side.other();
        }
    }
    let edits = edits(&disputed, prevails);
    let revert = match edits.is_empty() {
        true => revert,
        false => settled(prepare().map_err(not_reverted)?, &edits)?,
    };
    Ok((Some(revert), None))
}

/// Where what a revision did has been changed since.
fn clashes(why: &Conflicts) -> Vec<Clash> {
    let listed = why.list().into_iter().map(clash);
    // Where something was to come back, and is back already.
    let kind = || conflict::name(ConflictKind::KeyTaken).to_owned();
    let taken = why.reads().into_iter().map(|path| Clash { path: path.clone(), kind: kind() });
    listed.chain(taken).collect()
}

/// One such place, to those who have what is there now.
fn clash(found: &Conflict) -> Clash {
    let kind = conflict::name(conflict::turned(found).kind).to_owned();
    Clash { path: member_of(found), kind }
}

fn told(tree: &TreeHandle) -> TreeTold {
    let snapshot = tree.snapshot();
    let (revision, nodes) = (snapshot.revision().number(), snapshot.root().subtree_count());
    TreeTold { tree: tree.name().to_string(), revision, nodes: Some(nodes) }
}

fn no_such_tree(jungle: &Jungle, name: &str, error: &NoSuchTree) -> Failure {
    let names = jungle.list_trees();
    let names = names.iter().map(|name| &**name);
    near::no_such(error, name, names, "`jungle trees DIR` lists them")
}
