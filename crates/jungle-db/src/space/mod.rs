//! What versions take up, by tree and revision, and what a rule would give back.

pub(crate) mod collector;

use std::collections::HashMap;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;

use jungle_tree::{Measure, Measured, VersionId};

use crate::history::HistoryEntry;
use crate::history::archive::ArchiveError;
use crate::history::retention::Retention;
use crate::journal::BranchId;
use crate::jungle::Jungle;
use crate::restore::checkpoint::Checkpoint;
use crate::restore::state::{SavedBranch, SavedTree};
use crate::revision::{Revision, Timestamp};

/// What is asked of [`Jungle::space`].
///
/// ```
/// use std::ops::ControlFlow::Continue;
/// use jungle_db::{Jungle, Retention, Revision, SpaceQuery};
/// let jungle = Jungle::new()?;
/// jungle.create_tree("board")?;
/// let query = SpaceQuery::new().revisions(..=Revision::new(10)).policy(Retention::Last(100));
/// let board = &jungle.space(&query, |_, _| Continue(()))?.trees[0];
/// assert!(board.in_range.is_some() && board.freed.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SpaceQuery {
    tree: Option<Box<str>>,
    revisions: Option<(Bound<Revision>, Bound<Revision>)>,
    policy: Option<Retention>,
}

impl SpaceQuery {
    /// What each tree takes up.
    #[must_use]
    pub fn new() -> SpaceQuery {
        SpaceQuery::default()
    }

    /// Asks the rest of this tree only.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use jungle_db::{Jungle, SpaceQuery};
    /// let jungle = Jungle::new()?;
    /// ["a", "b"].iter().try_for_each(|name| jungle.create_tree(name).map(drop))?;
    /// let space = jungle.space(&SpaceQuery::new().tree("a").revisions(..), |_, _| Continue(()))?;
    /// let asked: Vec<_> = space.trees.iter().map(|tree| tree.in_range.is_some()).collect();
    /// assert_eq!(asked, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tree(mut self, name: &str) -> Self {
        self.tree = Some(name.into());
        self
    }

    /// What these revisions take up of that.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use jungle_db::{Jungle, SpaceQuery};
    /// let jungle = Jungle::new()?;
    /// let notes = jungle.create_tree("notes")?;
    /// let put = |text: &str| notes.update(|tx| tx.put_attribute(&[], "text", text));
    /// let long = put("x".repeat(1000).as_str())?.revision;
    /// let short = put("short")?.revision;
    /// let bytes = |revision| -> Result<u64, jungle_db::SpaceError> {
    ///     let query = SpaceQuery::new().revisions(revision..=revision);
    ///     let space = jungle.space(&query, |_, _| Continue(()))?;
    ///     Ok(space.trees[0].in_range.unwrap().payload_bytes)
    /// };
    /// assert!(bytes(long)? >= 1000 && bytes(short)? < 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn revisions(mut self, range: impl RangeBounds<Revision>) -> Self {
        self.revisions = Some((range.start_bound().cloned(), range.end_bound().cloned()));
        self
    }

    /// What would be given back if every branch kept this.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use jungle_db::{Jungle, Retention, SpaceQuery};
    /// let jungle = Jungle::new()?;
    /// let tree = jungle.create_tree("log")?;
    /// for text in ["x", "y"] {
    ///     tree.update(|tx| tx.put_attribute(&[], "text", text.repeat(1000).as_str()))?;
    /// }
    /// let query = SpaceQuery::new().policy(Retention::Last(1));
    /// let space = jungle.space(&query, |_, _| Continue(()))?;
    /// assert!(space.trees[0].freed.unwrap().payload_bytes >= 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn policy(mut self, retention: Retention) -> Self {
        self.policy = Some(retention);
        self
    }

    fn asks(&self, tree: &SavedTree) -> bool {
        self.tree.as_deref().is_none_or(|name| name == &*tree.name)
    }

    fn has(&self, revision: Revision) -> bool {
        self.revisions.is_some_and(|range| range.contains(&revision))
    }
}

/// Why it is not told what takes up space.
///
/// ```
/// use std::ops::ControlFlow::Break;
/// use jungle_db::{Jungle, SpaceError, SpaceQuery};
/// let jungle = Jungle::new()?;
/// let log = jungle.create_tree("log")?;
/// (0..1024).try_for_each(|n| log.update(|tx| tx.put_attribute(&[], "n", n)).map(drop))?;
/// let space = jungle.space(&SpaceQuery::new(), |_, _| Break(()));
/// assert_eq!(space.unwrap_err(), SpaceError::GivenUp);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// The archive does not tell all that is kept.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// Whoever wanted to know does not any more.
    #[error("it was given up")]
    GivenUp,
}

/// What [`Jungle::space`] tells: bytes of the arena, each of them once, so that they can be added.
///
/// ```
/// use std::ops::ControlFlow::Continue;
/// use jungle_db::{Jungle, SpaceQuery};
/// let jungle = Jungle::new()?;
/// let notes = jungle.create_tree("notes")?;
/// notes.update(|tx| tx.put_attribute(&[], "text", "x".repeat(1000).as_str()))?;
/// let space = jungle.space(&SpaceQuery::new(), |_, _| Continue(()))?;
/// assert_eq!(space.revision, jungle.revision());
/// assert!(space.total().payload_bytes >= 1000);
/// assert_eq!(space.total(), space.trees[0].total() + space.shared + space.snapshots);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Space {
    /// The newest revision that was looked at.
    pub revision: Revision,
    /// Of each tree, in order of name.
    pub trees: Vec<TreeSpace>,
    /// What more than one tree has.
    pub shared: Measured,
    /// What is held in memory besides: by snapshots, as the newest version of a branch that was
    /// deleted while something of it is held, and what was committed meanwhile.
    pub snapshots: Measured,
}

/// What a tree takes up that no other tree has.
///
/// ```
/// use std::ops::ControlFlow::Continue;
/// use jungle_db::{Jungle, SpaceQuery};
/// let jungle = Jungle::new()?;
/// let notes = jungle.create_tree("notes")?;
/// notes.update(|tx| tx.put_attribute(&[], "text", "x".repeat(1000).as_str()))?;
/// notes.update(|tx| tx.put_attribute(&[], "text", "short"))?;
/// let space = jungle.space(&SpaceQuery::new(), |_, _| Continue(()))?;
/// let of_notes = &space.trees[0];
/// assert_eq!((&*of_notes.name, of_notes.revisions), ("notes", 3));
/// assert!(of_notes.newest.payload_bytes < 100 && of_notes.older.payload_bytes >= 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeSpace {
    /// Its name.
    pub name: Arc<str>,
    /// How many branches it has.
    pub branches: u64,
    /// How many revisions these keep.
    pub revisions: u64,
    /// What the newest versions of its branches have.
    pub newest: Measured,
    /// What only tags have besides, and what branches began with or were merged at.
    pub named: Measured,
    /// What only older revisions have.
    pub older: Measured,
    /// If it was asked: the part of `newest` and `older` that no revision has that is newer than
    /// those that were asked for (on another branch, or on the same), and one of them has.
    pub in_range: Option<Measured>,
    /// If it was asked: what [`Jungle::collect`] would give back after the rule was set. What
    /// several trees would give back together is told of the first of them.
    pub freed: Option<Measured>,
}

impl TreeSpace {
    /// All that it has alone.
    #[must_use]
    pub fn total(&self) -> Measured {
        self.newest + self.named + self.older
    }
}

impl Space {
    /// All that can be seen.
    #[must_use]
    pub fn total(&self) -> Measured {
        let trees: Measured = self.trees.iter().map(TreeSpace::total).sum();
        trees + self.shared + self.snapshots
    }

    /// What the rule would give back, if that was asked.
    #[must_use]
    pub fn freed(&self) -> Measured {
        self.trees.iter().filter_map(|tree| tree.freed).sum()
    }
}

impl Jungle {
    /// Tells what takes up the arena: what only the newest versions have, and what goes when older
    /// ones go. A block that several versions have counts with the newest of them. Readers and
    /// writers go on; the cost is that of going through all that is kept, two or three times, and
    /// of loading it if it is not in memory. `progress` is told now and then how many versions
    /// were looked at, of how many, and says whether to go on; in a large version it is asked more
    /// than once. It may read and commit, but must wait for no collection, nor for an image, which
    /// wait until this is over.
    ///
    /// # Errors
    /// When the archive does not tell all that is kept, or it is given up.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use jungle_db::{Jungle, Retention, SpaceQuery};
    /// let jungle = Jungle::new()?;
    /// let tree = jungle.create_tree("log")?;
    /// for n in 0..100 {
    ///     tree.update(|tx| tx.put_attribute(&[], "n", n))?;
    /// }
    /// let query = SpaceQuery::new().policy(Retention::Last(10));
    /// let space = jungle.space(&query, |_, _| Continue(()))?;
    /// assert!(space.freed().bytes() > space.trees[0].newest.bytes());
    ///
    /// tree.set_retention(Retention::Last(10))?;
    /// let collected = jungle.collect()?;
    /// let given_back = collected.structure_bytes + collected.payload_bytes;
    /// assert_eq!(given_back as u64, space.freed().bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn space(
        &self,
        query: &SpaceQuery,
        progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Space, SpaceError> {
        let checkpoint = self.checkpoint();
        let now = self.shared.now();
        let mut trees: Vec<&SavedTree> = checkpoint.state().trees.iter().collect();
        trees.sort_by(|a, b| a.name.cmp(&b.name));
        let versions: u64 =
            trees.iter().flat_map(|tree| &tree.branches).map(SavedBranch::kept).sum();
        let passes = 2 + u64::from(query.policy.is_some());
        let measure = self.arena().measure();
        let progress = Progress { tell: progress, done: 0, total: passes * versions };
        let mut looking = Looking { checkpoint: &checkpoint, query, now, trees, measure, progress };
        let freed = match query.policy {
            Some(policy) => looking.freed(policy)?,
            None => HashMap::new(),
        };
        looking.measure.again();
        let mut space = looking.each()?;
        if space.shared != Measured::default() {
            looking.measure.again();
            space = looking.each()?;
        }
        space.snapshots = looking.add_pinned()?;
        for tree in &mut space.trees {
            tree.freed = freed.get(&tree.name).copied();
        }
        Ok(space)
    }
}

/// So many versions are looked at before that is told.
const TOLD_EVERY: u64 = 1024;

struct Progress<F> {
    tell: F,
    done: u64,
    total: u64,
}

impl<F: FnMut(u64, u64) -> ControlFlow<()>> Progress<F> {
    fn step(&mut self) -> Result<(), SpaceError> {
        self.done += 1;
        let told = self.done.is_multiple_of(TOLD_EVERY).then(|| self.tell());
        told.is_none_or(|told| told.is_continue()).then_some(()).ok_or(SpaceError::GivenUp)
    }

    fn tell(&mut self) -> ControlFlow<()> {
        (self.tell)(self.done, self.total)
    }
}

/// All that is needed to look at everything, which the checkpoint holds.
struct Looking<'a, F> {
    checkpoint: &'a Checkpoint,
    query: &'a SpaceQuery,
    now: Timestamp,
    trees: Vec<&'a SavedTree>,
    measure: Measure<'a>,
    progress: Progress<F>,
}

impl<F: FnMut(u64, u64) -> ControlFlow<()>> Looking<'_, F> {
    /// What each tree has, less what is known to be shared.
    fn each(&mut self) -> Result<Space, SpaceError> {
        let mut space = Space { revision: self.checkpoint.revision(), ..Space::default() };
        for tree in self.trees.clone() {
            self.measure.next_owner();
            space.trees.push(self.one(tree)?);
        }
        space.shared = self.measure.shared();
        Ok(space)
    }

    fn add(&mut self, version: VersionId) -> Result<Measured, SpaceError> {
        let added = self.measure.add_while(version, &mut || self.progress.tell());
        added.continue_value().ok_or(SpaceError::GivenUp)
    }

    fn add_pinned(&mut self) -> Result<Measured, SpaceError> {
        let added = self.measure.add_pinned_while(&mut || self.progress.tell());
        added.continue_value().ok_or(SpaceError::GivenUp)
    }

    /// Adds what a tree holds besides the histories of its branches.
    fn add_named(&mut self, tree: &SavedTree) -> Result<Measured, SpaceError> {
        let tags = tree.tags.iter().map(|tag| tag.at);
        let origins = tree.origins.iter().map(|origin| origin.at);
        let merges = tree.merges.iter().map(|merge| merge.at);
        tags.chain(origins).chain(merges).map(|version| self.add(version.id)).sum()
    }

    fn one(&mut self, tree: &SavedTree) -> Result<TreeSpace, SpaceError> {
        let mut space = TreeSpace { name: Arc::clone(&tree.name), ..TreeSpace::default() };
        let mut in_range = Measured::default();
        let mut note = |sum: &mut Measured, entry: &HistoryEntry, new| {
            *sum += new;
            in_range += if self.query.has(entry.revision) { new } else { Measured::default() };
        };
        for branch in &tree.branches {
            let newest = branch.history.last.last().expect("a history is never empty");
            note(&mut space.newest, newest, self.add(newest.id)?);
        }
        space.named = self.add_named(tree)?;
        for branch in &tree.branches {
            self.checkpoint.entries_back(branch, |_, entry| {
                note(&mut space.older, entry, self.add(entry.id)?);
                self.progress.step()
            })?;
            space.branches += 1;
            space.revisions += branch.kept();
        }
        let is_asked = self.query.revisions.is_some() && self.query.asks(tree);
        space.in_range = is_asked.then_some(in_range);
        Ok(space)
    }

    /// What a rule gives back: what is left when all else was added.
    fn freed(&mut self, policy: Retention) -> Result<HashMap<Arc<str>, Measured>, SpaceError> {
        self.add_pinned()?;
        let mut first_kept = HashMap::new();
        for tree in self.trees.clone() {
            self.add_named(tree)?;
            let rule = if self.query.asks(tree) { policy } else { Retention::All };
            for branch in &tree.branches {
                let mut rule = Rule::new(rule, branch.end(), self.now);
                let mut first = branch.end();
                self.checkpoint.entries_back(branch, |index, entry| {
                    if !rule.keeps(index, entry) {
                        return Ok(());
                    }
                    first = index;
                    self.add(entry.id)?;
                    self.progress.step()
                })?;
                first_kept.insert(branch.id, first);
            }
        }
        let mut freed = HashMap::new();
        for tree in self.trees.clone().into_iter().filter(|tree| self.query.asks(tree)) {
            let sum = self.dropped(tree, &first_kept)?;
            freed.insert(Arc::clone(&tree.name), sum);
        }
        Ok(freed)
    }

    fn dropped(
        &mut self,
        tree: &SavedTree,
        first_kept: &HashMap<BranchId, u64>,
    ) -> Result<Measured, SpaceError> {
        let mut sum = Measured::default();
        for branch in &tree.branches {
            let first = first_kept[&branch.id];
            if first == branch.history.dropped {
                continue;
            }
            self.checkpoint.entries_back(branch, |index, entry| {
                if index >= first {
                    return Ok(());
                }
                sum += self.add(entry.id)?;
                self.progress.step()
            })?;
        }
        Ok(sum)
    }
}

/// A rule as it is applied to a history from its newest end.
struct Rule {
    retention: Retention,
    end: u64,
    now: Timestamp,
    /// All that is older is not kept.
    is_over: bool,
}

impl Rule {
    fn new(retention: Retention, end: u64, now: Timestamp) -> Rule {
        Rule { retention, end, now, is_over: false }
    }

    /// Is this entry kept? It is older than the one that was asked before.
    fn keeps(&mut self, index: u64, entry: &HistoryEntry) -> bool {
        let keeps = !self.is_over;
        self.is_over |= match self.retention {
            Retention::All => false,
            Retention::Last(count) => self.end - index >= count.max(1) as u64,
            Retention::ByAge(age) => entry.time <= self.now.before(age),
        };
        keeps
    }
}
