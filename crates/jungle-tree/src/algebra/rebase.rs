//! Rewriting our changes so that they can be applied after theirs.
//!
//! Ours are taken one by one. Each node they speak of is known by identity (the path it had in
//! the base, or the change that added it), so wherever theirs have put it, our change follows.
//! What happens when both speak of the same place is this table.
//!
#![doc = include_str!("../../../../docs/merge.md")]

use std::collections::HashMap;

use super::effect::{Effect, Index};
use super::given::Gave;
use super::kids::Id;
use super::numbers::{Renumbering, Start};
use super::options::Resolution;
use super::ours::{KeysThere, Ours, There};
use super::{Change, ChangeSet, Conflict, ConflictKind, MergeOptions, Subtree, diff};
use crate::key::Key;
use crate::node::Node;
use crate::path::Path;
use crate::planted::{Bug, is_awake};
use crate::snapshot::Snapshot;

/// Our changes, rewritten so that they can be applied after theirs.
///
/// ```
/// use jungle_tree::{Change, MergeOptions, rebase};
/// let add = Change::ChildAdded { path: [0].into() };
/// let rebased = rebase(&[add.clone()], &[add], &MergeOptions::new());
/// // Both appended something: ours comes behind theirs.
/// assert_eq!(rebased.changes.to_string(), "+ /1\n");
/// assert_eq!(rebased.renamed, [([0].into(), [1].into())]);
/// assert!(rebased.conflicts.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rebased {
    /// What is left to be done after theirs.
    pub changes: ChangeSet,
    /// Where ours and theirs contradict each other.
    pub conflicts: Vec<Conflict>,
    /// The nodes of ours that got another key: from where we put it to where it is.
    pub renamed: Vec<(Path, Path)>,
    /// Which nodes of ours have other keys than in ours, to be known to a later merge.
    pub renumbering: Renumbering,
}

/// Rewrites our changes so that they can be applied after theirs; both began at the same version.
///
/// Each of our changes is in the result, or is done by theirs already, or is named by a conflict.
/// `docs/merge.md` has the table of every pair of changes.
///
/// Without the version they began at, a counter ([`Rule::Counter`](super::Rule::Counter)) is a
/// conflict, and a subtree that both set where there was nothing is taken for one that was there.
/// [`rebase_over`] knows.
///
/// ```
/// use jungle_tree::{Change, MergeOptions, rebase};
/// let put = |path: &str, value: i64| Change::AttributePut {
///     path: path.parse().unwrap(),
///     key: "n".into(),
///     value: value.into(),
/// };
/// let moved = Change::Moved { from: "/a".parse()?, to: "/b".parse()? };
/// let rebased = rebase(&[put("/a/0", 1)], &[moved, put("/c", 2)], &MergeOptions::new());
/// assert_eq!(rebased.changes.to_string(), "~ /b/0 @n = 1\n");
///
/// let rebased = rebase(&[put("/a", 1)], &[put("/a", 2)], &MergeOptions::new());
/// assert_eq!(
///     rebased.conflicts[0].to_string(),
///     "/a: both changed the attribute (ours: ~ /a @n = 1; theirs: ~ /a @n = 2)",
/// );
/// # Ok::<(), jungle_tree::ParsePathError>(())
/// ```
#[must_use]
pub fn rebase(ours: &[Change], theirs: &[Change], options: &MergeOptions) -> Rebased {
    Rebaser::new(None, theirs, None, options).run(ours)
}

/// As [`rebase`], with the version from which both began.
///
/// ```
/// use jungle_tree::{Arena, Change, MergeOptions, Rule, Tree, rebase_over};
/// let put = |value: i64| Change::AttributePut {
///     path: "/".parse().unwrap(),
///     key: "votes".into(),
///     value: value.into(),
/// };
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "votes", 10)?;
/// let options = MergeOptions::new().rule("votes", Rule::Counter);
/// let rebased = rebase_over(&tree.snapshot(), &[put(11)], &[put(13)], &options);
/// assert_eq!(*rebased.changes, [put(14)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn rebase_over(
    base: &Snapshot,
    ours: &[Change],
    theirs: &[Change],
    options: &MergeOptions,
) -> Rebased {
    Rebaser::new(Some(base.root()), theirs, None, options).run(ours)
}

/// As [`rebase_over`], with the version that theirs led to: so a position that they have given to
/// a node and taken away again, of which their changes say nothing, is not given a second time.
///
/// ```
/// use jungle_tree::{Arena, Change, MergeOptions, Tree, rebase_onto};
/// let mut tree = Tree::new(&Arena::new()?);
/// let base = tree.snapshot();
/// let gone = tree.add_child(&[])?;
/// tree.remove(&[gone])?;
/// let ours = [Change::ChildAdded { path: "/0".parse()? }];
/// let rebased = rebase_onto(&base, &ours, &tree.snapshot(), &MergeOptions::new());
/// assert_eq!(rebased.changes.to_string(), "+ /1\n");
/// assert_eq!(rebased.renamed.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn rebase_onto(
    base: &Snapshot,
    ours: &[Change],
    theirs: &Snapshot,
    options: &MergeOptions,
) -> Rebased {
    let changes = diff(base, theirs);
    Rebaser::new(Some(base.root()), &changes, Some(theirs.root()), options).run(ours)
}

/// As [`rebase_onto`], where it is known by what changes theirs led to `head`. Tells also where the
/// nodes of ours that are `sought` are after all changes, if they are there.
pub(super) fn rebase_told(
    start: Start<'_>,
    ours: &[Change],
    (theirs, head): (&[Change], &Snapshot),
    options: &MergeOptions,
    sought: &[Gave<'_>],
) -> (Rebased, Vec<Option<Path>>) {
    let base = Some(start.theirs.root());
    let mut rebaser = Rebaser::new(base, theirs, Some(head.root()), options);
    rebaser.is_origin = start.is_origin;
    rebaser.keys_there = rebaser.ours.renumber(&mut rebaser.effect, start.renumbered);
    rebaser.do_all(ours);
    let places = sought.iter().map(|gave| rebaser.path_now(&gave.path)).collect();
    (rebaser.end(), places)
}

/// A rebase under way: `effect` is the tree after theirs and what is left of ours so far.
pub(super) struct Rebaser<'a> {
    pub(super) theirs: &'a [Change],
    /// The version that theirs led to, where it is known.
    pub(super) head: Option<Node<'a>>,
    pub(super) options: &'a MergeOptions,
    /// Did both begin at the base, so that what it has given was given on both sides?
    pub(super) is_origin: bool,
    pub(super) effect: Effect<'a>,
    pub(super) ours: Ours,
    pub(super) changes: Vec<Change>,
    pub(super) conflicts: Vec<Option<Conflict>>,
    /// Which conflict is about an attribute: a later change of ours to it settles it anew.
    pub(super) disputed: HashMap<(Id, Box<str>), usize>,
    pub(super) renamed: Vec<(Path, Path)>,
    /// Where we put nodes at positions, and where they are instead; those that were renamed too.
    pub(super) placed: Vec<(Path, Path)>,
    /// The keys in theirs of what both have and ours calls otherwise.
    pub(super) keys_there: KeysThere,
    /// What we moved and is not moved, because of this change of theirs.
    pub(super) stayed: HashMap<Id, Index>,
    /// Where they have a node that both added and we moved.
    pub(super) moved_from: HashMap<Id, (Id, Key)>,
    /// Where a node was after theirs that has been moved since.
    pub(super) was_at: HashMap<Id, (Id, Key)>,
}

/// Our node is not there; because of this change of theirs, if it is known.
pub(super) struct Gone(pub(super) Option<Index>);

impl<'a> Rebaser<'a> {
    fn new(
        base: Option<Node<'a>>,
        theirs: &'a [Change],
        head: Option<Node<'a>>,
        options: &'a MergeOptions,
    ) -> Self {
        Rebaser {
            theirs,
            head,
            options,
            is_origin: true,
            effect: Effect::new(base, theirs),
            ours: Ours::new(),
            changes: Vec::new(),
            conflicts: Vec::new(),
            disputed: HashMap::new(),
            renamed: Vec::new(),
            placed: Vec::new(),
            keys_there: KeysThere::new(),
            stayed: HashMap::new(),
            moved_from: HashMap::new(),
            was_at: HashMap::new(),
        }
    }

    fn run(mut self, ours: &[Change]) -> Rebased {
        self.do_all(ours);
        self.end()
    }

    fn do_all(&mut self, ours: &[Change]) {
        for change in ours {
            // A list that contradicts itself, by naming what it has removed, has no meaning.
            let _ = self.one(change);
        }
    }

    /// Where one of our nodes is now, if it is there.
    fn path_now(&mut self, path: &[Key]) -> Option<Path> {
        let node = self.ours.at(&mut self.effect, path)?;
        let at = self.find(node).ok()?;
        Some(self.effect.path(at))
    }

    fn end(self) -> Rebased {
        let renumbering = Renumbering::new(self.ours.renumbered(), self.placed);
        Rebased {
            changes: self.changes.into(),
            conflicts: self.conflicts.into_iter().flatten().collect(),
            renamed: self.renamed,
            renumbering,
        }
    }

    /// Does one of our changes. Each kind gets it as a conflict tells it, and the paths as we said
    /// them.
    fn one(&mut self, change: &Change) -> Option<()> {
        let told = self.ours.told(change);
        let told: &Change = &told;
        match change {
            Change::ChildAdded { path } => self.added(told, path, None),
            Change::ChildRemoved { path } => self.removed(told, path),
            Change::AttributePut { path, key, value } => {
                self.attribute(told, path, key, Some(value))
            }
            Change::AttributeRemoved { path, key } => self.attribute(told, path, key, None),
            Change::Moved { from, to } => self.moved(told, from, to),
            Change::SubtreeSet { path, subtree } => self.set(told, path, subtree),
        }
    }

    /// The node after theirs that one of our nodes is.
    pub(super) fn find(&self, ours: Id) -> Result<Id, Gone> {
        let at = match self.ours.there(ours) {
            There::Lost(index) | There::Unset(_, index) => return Err(Gone(Some(index))),
            There::At(at) => at,
        };
        match self.effect.is_there(at) {
            true => Ok(at),
            false => {
                // Or we removed it where it stayed, although we had moved it away before.
                let because = |id| self.effect.get(id).removed.or(self.stayed.get(&id).copied());
                Err(Gone(self.effect.upward(at).find_map(because)))
            }
        }
    }

    pub(super) fn conflict(&mut self, kind: ConflictKind, at: &Path, ours: &Change, theirs: Index) {
        let conflict = Conflict {
            path: at.clone(),
            kind,
            ours: ours.clone(),
            theirs: self.theirs[theirs].clone(),
            base: None,
        };
        self.conflicts.push((!is_awake(Bug::ConflictForgotten)).then_some(conflict));
    }

    /// What our change is about is not there.
    pub(super) fn lost(&mut self, at: &Path, ours: &Change, Gone(theirs): Gone) -> Option<Index> {
        let kind = match self.theirs[theirs?] {
            Change::ChildRemoved { .. } => ConflictKind::RemovedBelow,
            Change::SubtreeSet { .. } => ConflictKind::SetOverlap,
            _ => ConflictKind::KeyTaken,
        };
        self.conflict(kind, at, ours, theirs?);
        theirs
    }

    /// Does ours prevail, if it does so in a symmetric resolution?
    pub(super) fn prevails(&self, symmetric: impl FnOnce(&Self) -> bool) -> bool {
        match self.options.prevails() {
            Resolution::Ours => true,
            Resolution::Theirs => false,
            Resolution::Symmetric => symmetric(self),
        }
    }

    pub(super) fn emit_removed(&mut self, at: Id, because: Option<Index>) {
        let path = self.effect.path(at);
        self.changes.push(Change::ChildRemoved { path });
        self.effect.detach(at);
        self.effect.more(at).removed = because;
    }

    pub(super) fn emit_moved(&mut self, at: Id, parent: Id, key: &Key) {
        let from = self.effect.path(at);
        let to = self.effect.path(parent).join(key.clone());
        self.changes.push(Change::Moved { from, to });
        let place = (self.effect.parent(at), self.effect.key(at).clone());
        self.was_at.entry(at).or_insert(place);
        self.effect.detach(at);
        self.effect.attach(at, parent, key.clone());
        let more = self.effect.more(at);
        (more.moved, more.moved_by_both) = (None, false);
        self.stayed.remove(&at);
    }

    pub(super) fn emit_set(&mut self, at: Id, subtree: &Subtree) {
        let (path, set) = (self.effect.path(at), subtree.clone());
        self.changes.push(Change::SubtreeSet { path, subtree: set });
        self.effect.set_content(at, subtree, None);
    }
}
