//! Naming a revision: by number, tag, branch, steps back, or time.

use jungle_db::{ArchiveError, NoSuchRevision, Revision, RevisionInfo, Snapshot, TreeHandle};

use crate::time;

/// What help says about naming a revision.
pub const HELP: &str = "\
REV names a revision: its number (`12`), a tag (`v1.2`), a branch for its newest (`main`), any of \
these and how many revisions further back (`main~3`), or a time for the newest one then \
(`2026-11-22T01:30:00Z`, `2026-11-22`, `'2 hours ago'`).";

/// Why a tag or a branch cannot have a name: it says another revision already.
///
/// ```
/// let error = jungle_words::check_name("main~3").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#""main~3" cannot be a name: it says how many revisions further back"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot be a name: {says}")]
pub struct NameError {
    name: Box<str>,
    says: &'static str,
}

/// Refuses a name for a tag or a branch by which [`find`] would not find it: a number, a time, or
/// steps back.
///
/// # Errors
/// When it is one.
///
/// ```
/// use jungle_words::check_name;
/// assert!(check_name("v1.2").is_ok());
/// let refused = check_name("2026").unwrap_err();
/// assert_eq!(refused.to_string(), r#""2026" cannot be a name: it is the number of a revision"#);
/// ```
pub fn check_name(name: &str) -> Result<(), NameError> {
    let says = if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        "it is the number of a revision"
    } else if name.rsplit_once('~').is_some_and(|(_, steps)| steps.parse::<usize>().is_ok()) {
        "it says how many revisions further back"
    } else if time::parse(name).is_some() {
        "it is a time"
    } else {
        return Ok(());
    };
    Err(NameError { name: name.into(), says })
}

/// A revision that was named.
///
/// ```
/// use jungle_db::{CommitMeta, CommitOptions, Jungle};
/// use jungle_words::find;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let options = CommitOptions::from(&CommitMeta::new().author("ana"));
/// tree.update_with(&options, |tx| tx.append(&[]))?;
/// let found = find(&tree, "main")?;
/// assert_eq!(found.info()?.meta.author_name(), Some("ana"));
/// assert_eq!(found.snapshot.root().child_count(), 1);
/// assert_eq!(found.before()?.expect("the tree was made").snapshot.root().child_count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Found {
    /// The branch that made it.
    pub tree: TreeHandle,
    /// The tree as it was.
    pub snapshot: Snapshot,
}

/// Why a revision was not found.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_words::{FindError, find};
/// let tree = Jungle::new()?.create_tree("board")?;
/// let error = find(&tree, "v1.2").unwrap_err();
/// assert_eq!(error.to_string(), r#"the tree "board" has no revision "v1.2""#);
/// assert_eq!(error.unknown_name(), Some("v1.2"));
/// let error = find(&tree, "main~3").unwrap_err();
/// assert!(matches!(error, FindError::TooFarBack { kept: 0, steps: 3, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// Nothing has this name.
    #[error("the tree {tree:?} has no revision {name:?}")]
    NoSuchName {
        /// The tree.
        tree: Box<str>,
        /// The name that was given.
        name: Box<str>,
    },
    /// There is no revision of this number, or then.
    #[error("there is no revision {name}: {source}")]
    NoSuchRevision {
        /// The name that was given.
        name: Box<str>,
        /// Why.
        source: NoSuchRevision,
    },
    /// The history could not be read.
    #[error(transparent)]
    NotRead(#[from] ArchiveError),
    /// The history does not go so far back.
    #[error("revision {revision} has {kept} before it, not {steps}")]
    TooFarBack {
        /// From where it is counted.
        revision: Revision,
        /// How many there are.
        kept: usize,
        /// How many were asked for.
        steps: usize,
    },
}

impl FindError {
    /// The name that nothing has.
    #[must_use]
    pub fn unknown_name(&self) -> Option<&str> {
        match self {
            FindError::NoSuchName { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// The revision of this name; without a name the newest of the branch.
///
/// # Errors
/// As [`find`].
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_words::find_or_newest;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let first = tree.update(|tx| tx.append(&[]))?.revision;
/// let second = tree.update(|tx| tx.append(&[]))?.revision;
/// assert_eq!(find_or_newest(&tree, None)?.snapshot.revision(), second);
/// assert_eq!(find_or_newest(&tree, Some("main~1"))?.snapshot.revision(), first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_or_newest(tree: &TreeHandle, text: Option<&str>) -> Result<Found, FindError> {
    match text {
        Some(text) => find(tree, text),
        None => Ok(Found { tree: tree.clone(), snapshot: tree.snapshot() }),
    }
}

/// The revision of this name: [`HELP`](crate::REVISION_HELP) says what names there are. A number is
/// looked for on this branch first, then on the others.
///
/// # Errors
/// When there is no such name, or the revision is not there or not kept any more.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_words::find;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let first = tree.update(|tx| tx.append(&[]))?.revision;
/// tree.tag("v1", first)?;
/// let draft = tree.branch("draft", first)?;
/// let second = draft.update(|tx| tx.append(&[]))?.revision;
///
/// let revision = |text: &str| find(&tree, text).map(|found| found.snapshot.revision());
/// assert_eq!([revision("v1")?, revision("draft~1")?], [first, first]);
/// // Another branch made it.
/// let found = find(&tree, &second.to_string())?;
/// assert_eq!((found.tree.branch_name(), found.snapshot.root().child_count()), ("draft", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find(tree: &TreeHandle, text: &str) -> Result<Found, FindError> {
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
        let snapshot = tree.at_time(time).map_err(|source| missing(text, source))?;
        return Ok(Found { tree: tree.clone(), snapshot });
    }
    Err(FindError::NoSuchName { tree: (*tree.name()).into(), name: text.into() })
}

/// A number, a tag or a branch.
fn named(tree: &TreeHandle, text: &str) -> Result<Option<Found>, FindError> {
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok());
    if let Some(number) = number.flatten() {
        let found = of_number(tree, Revision::new(number));
        return found.map(Some).map_err(|source| missing(text, source));
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
    branches(tree).find(|branch| branch.history(revision..=revision).next().is_some())
}

/// All branches, this one first.
fn branches(tree: &TreeHandle) -> impl Iterator<Item = TreeHandle> {
    let names = tree.list_branches().into_iter();
    let others = names.filter(|name| **name != *tree.branch_name());
    std::iter::once(tree.clone()).chain(others.filter_map(|name| tree.on_branch(&name).ok()))
}

fn back(found: Found, steps: usize) -> Result<Found, FindError> {
    let newest = found.snapshot.revision();
    let (mut past, mut seen) = (found.tree.history(..=newest), 0_usize);
    let info = loop {
        // What cannot be read may be there: nothing follows it, but that is no end.
        match past.next().transpose()? {
            Some(info) if seen == steps => break info,
            Some(_) => seen += 1,
            None => {
                let (revision, kept) = (newest, seen.saturating_sub(1));
                return Err(FindError::TooFarBack { revision, kept, steps });
            }
        }
    };
    let name = || info.revision.to_string();
    let snapshot = found.tree.at(info.revision).map_err(|source| missing(&name(), source))?;
    Ok(Found { snapshot, ..found })
}

pub(crate) fn missing(name: &str, source: NoSuchRevision) -> FindError {
    FindError::NoSuchRevision { name: name.into(), source }
}

impl Found {
    /// Its number, time, author and message.
    ///
    /// # Errors
    /// When the history cannot be read there.
    pub fn info(&self) -> Result<RevisionInfo, ArchiveError> {
        let revision = self.snapshot.revision();
        let info = self.tree.history(revision..=revision).next().transpose()?;
        // A tag may outlive its place in the history.
        let gone = || RevisionInfo { revision, time: Default::default(), meta: Default::default() };
        Ok(info.unwrap_or_else(gone))
    }

    /// The version before it on its branch; of the one with which a branch begins, on another that
    /// goes further back, as the one that it was made from does. If one is kept.
    ///
    /// # Errors
    /// When the history cannot be read there.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_words::find;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let first = tree.snapshot().revision();
    /// let second = tree.update(|tx| tx.append(&[]))?.revision;
    /// tree.branch("draft", second)?;
    /// let before = find(&tree, "draft")?.before()?.expect("main has it");
    /// assert_eq!((before.tree.branch_name(), before.snapshot.revision()), ("main", first));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn before(&self) -> Result<Option<Found>, ArchiveError> {
        let revision = self.snapshot.revision();
        for tree in branches(&self.tree) {
            let is_other = tree.branch_name() != self.tree.branch_name();
            if is_other && tree.history(revision..=revision).next().transpose()?.is_none() {
                continue;
            }
            let Some(before) = tree.history(..revision).next().transpose()? else { continue };
            match tree.at(before.revision) {
                Err(NoSuchRevision::NotRead(error)) => return Err(error),
                Err(_) => {}
                Ok(snapshot) => return Ok(Some(Found { tree, snapshot })),
            }
        }
        Ok(None)
    }
}
