//! Naming a revision: by number, tag, branch, steps back, or time.

use jungle::{NoSuchRevision, Revision, RevisionInfo, Snapshot, TreeHandle};

use crate::failure::{Exit, Failure, failed};
use crate::{near, time};

/// What help says about naming a revision.
pub(crate) const HELP: &str = "\
REV names a revision: its number (`12`), a tag (`v1.2`), a branch for its newest (`main`), any of \
these and how many revisions further back (`main~3`), or a time for the newest one then \
(`2026-11-22T01:30:00Z`, `2026-11-22`, `'2 hours ago'`).";

/// A revision that was named, on the branch that made it.
pub(crate) struct Found {
    pub(crate) tree: TreeHandle,
    pub(crate) snapshot: Snapshot,
}

/// The revision of this name; without a name the newest.
pub(crate) fn find_or_newest(tree: &TreeHandle, text: Option<&str>) -> Result<Found, Failure> {
    match text {
        Some(text) => find(tree, text),
        None => Ok(Found { tree: tree.clone(), snapshot: tree.snapshot() }),
    }
}

/// The revision of this name.
pub(crate) fn find(tree: &TreeHandle, text: &str) -> Result<Found, Failure> {
    if let Some(found) = named(tree, text)? {
        return Ok(found);
    }
    if let Some((name, steps)) = text.rsplit_once('~')
        && let Ok(steps) = steps.parse::<usize>()
        && let Some(found) = named(tree, name)?
    {
        return back(found, steps);
    }
    if let Some(time) = time::parse(text) {
        let snapshot = tree.at_time(time).map_err(|error| missing(text, &error))?;
        return Ok(Found { tree: tree.clone(), snapshot });
    }
    let tags = tree.list_tags();
    let branches = tree.list_branches();
    let names = tags.iter().map(|(name, _)| &**name).chain(branches.iter().map(|name| &**name));
    let message = format_args!("the tree {:?} has no revision {text:?}", tree.name());
    Err(near::no_such(message, text, names, "`log` lists revisions, `tag` and `branch` names"))
}

/// A number, a tag or a branch.
fn named(tree: &TreeHandle, text: &str) -> Result<Option<Found>, Failure> {
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok());
    if let Some(number) = number.flatten() {
        let found = of_number(tree, Revision::new(number));
        return found.map(Some).map_err(|error| missing(text, &error));
    }
    if let Ok(snapshot) = tree.at_tag(text) {
        let tree = made_by(tree, snapshot.revision()).unwrap_or_else(|| tree.clone());
        return Ok(Some(Found { tree, snapshot }));
    }
    let branch = tree.on_branch(text).ok();
    Ok(branch.map(|tree| Found { snapshot: tree.snapshot(), tree }))
}

/// The revision itself, whichever branch made it; else the tree as it was then.
fn of_number(tree: &TreeHandle, number: Revision) -> Result<Found, NoSuchRevision> {
    let tree = made_by(tree, number).unwrap_or_else(|| tree.clone());
    Ok(Found { snapshot: tree.at(number)?, tree })
}

/// The branch that has exactly this revision, this one first.
fn made_by(tree: &TreeHandle, revision: Revision) -> Option<TreeHandle> {
    let names = tree.list_branches();
    let branches = names.iter().filter_map(|name| tree.on_branch(name).ok());
    std::iter::once(tree.clone())
        .chain(branches)
        .find(|branch| branch.history(revision..=revision).next().is_some())
}

fn back(found: Found, steps: usize) -> Result<Found, Failure> {
    let newest = found.snapshot.revision();
    let Some(info) = found.tree.history(..=newest).nth(steps) else {
        let kept = found.tree.history(..=newest).count();
        let message = format_args!("revision {newest} has {} before it, not {steps}", kept - 1);
        return Err(Failure::new(Exit::NotFound, message));
    };
    let snapshot = found.tree.at(info?.revision).map_err(failed)?;
    Ok(Found { snapshot, ..found })
}

fn missing(text: &str, error: &NoSuchRevision) -> Failure {
    Failure::new(Exit::NotFound, format_args!("there is no revision {text}: {error}"))
}

impl Found {
    /// Its number, time, author and message.
    pub(crate) fn info(&self) -> RevisionInfo {
        let revision = self.snapshot.revision();
        let info = self.tree.history(revision..=revision).next();
        // A tag may outlive its place in the history.
        info.and_then(Result::ok).unwrap_or(RevisionInfo {
            revision,
            time: Default::default(),
            meta: Default::default(),
        })
    }

    /// The version before it on its branch, if that is known.
    pub(crate) fn before(&self) -> Option<Snapshot> {
        let revision = self.snapshot.revision();
        let before = self.tree.history(..revision).next()?.ok()?;
        self.tree.at(before.revision).ok()
    }
}
