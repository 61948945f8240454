//! Rewriting our changes so that they can be applied after theirs.
//!
//! Ours are taken one by one. Each node they speak of is known by identity (the path it had in
//! the base, or the change that added it), so wherever theirs have put it, our change follows.
//! What happens when both speak of the same place is this table.
//!
#![doc = include_str!("../../../../docs/merge.md")]

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::effect::{Content, Effect, Index};
use super::given::Gave;
use super::kids::Id;
use super::numbers::{Renumbering, Start};
use super::options::{Resolution, Rule};
use super::ours::{KeysThere, Ours, There};
use super::{Change, ChangeSet, Conflict, ConflictKind, MergeOptions, Subtree, diff};
use crate::key::Key;
use crate::node::Node;
use crate::path::Path;
use crate::planted::{Bug, is_awake};
use crate::snapshot::Snapshot;
use crate::value::Value;

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
/// Without the version they began at, a counter ([`Rule::Counter`]) is a conflict, and a subtree
/// that both set where there was nothing is taken for one that was there. [`rebase_over`] knows.
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
    conflicts: Vec<Option<Conflict>>,
    /// Which conflict is about an attribute: a later change of ours to it settles it anew.
    disputed: HashMap<(Id, Box<str>), usize>,
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
pub(super) struct Gone(Option<Index>);

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

    /// We put (`Some`) or removed an attribute.
    fn attribute(
        &mut self,
        change: &Change,
        path: &Path,
        key: &str,
        ours: Option<&Value>,
    ) -> Option<()> {
        let node = self.ours.at(&mut self.effect, path)?;
        let at = match self.find(node) {
            Ok(at) => at,
            Err(gone) => return self.lost(change.path(), change, gone).map(drop),
        };
        let disputed = (at, Box::from(key));
        if let Some(earlier) = self.disputed.remove(&disputed) {
            self.conflicts[earlier] = None;
        }
        let theirs = self.effect.attribute_theirs(at, key);
        let Some(index) = theirs else {
            self.emit_attribute(at, key, ours.cloned());
            return Some(());
        };
        let base = self.effect.base_attribute(at, key);
        let value = self.effect.theirs_attribute(at, key);
        let (result, kind) = self.settle(at, key, &base, ours, value.as_ref());
        if let Some(kind) = kind {
            self.disputed.insert(disputed, self.conflicts.len());
            self.conflict(kind, &self.effect.path(at), change, index);
            if let Some(Some(conflict)) = self.conflicts.last_mut() {
                conflict.base = base.flatten();
            }
        }
        if self.effect.attribute(at, key) != Some(result.clone())
            || self.options.repeats(result.as_ref(), ours)
        {
            self.emit_attribute(at, key, result);
        }
        Some(())
    }

    /// What an attribute is that both changed, and what is wrong with that.
    fn settle(
        &self,
        at: Id,
        key: &str,
        base: &Option<Option<Value>>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> (Option<Value>, Option<ConflictKind>) {
        let rule = self.options.rule_of(key);
        if let (Some(Rule::Counter), Some(base)) = (rule, base)
            && let Some(sum) = count(base.as_ref(), ours, theirs)
        {
            return (Some(sum), None);
        }
        // Of two numbers there is a sum, if nothing of that is lost: else one of them would be.
        let is_number = |value: Option<&Value>| value.is_some_and(|it| number(it).is_some());
        let is_lost = matches!(rule, Some(Rule::Counter))
            && is_number(ours)
            && matches!(base, Some(base) if base.is_none() || is_number(base.as_ref()));
        if ours == theirs && !is_lost {
            return (theirs.cloned(), None);
        }
        if let Some(Rule::Function(f)) = rule {
            let base = base.as_ref().and_then(Option::as_ref);
            let base = base.filter(|_| !is_awake(Bug::RuleSeesNoBase));
            return (f(base, ours, theirs), None);
        }
        let (kind, greater) = match rule {
            _ if self.effect.get(at).set.is_some() => (ConflictKind::SetOverlap, false),
            // Where it comes back after it was removed it would come back with all who add to it.
            Some(Rule::Counter)
                if (ours.is_none() || theirs.is_none()) && matches!(base, Some(Some(_))) =>
            {
                (ConflictKind::Attribute, ours.is_none())
            }
            _ => (ConflictKind::Attribute, ours > theirs),
        };
        let result = if self.prevails(|_| greater) { ours } else { theirs };
        (result.cloned(), Some(kind))
    }

    fn emit_attribute(&mut self, at: Id, key: &str, value: Option<Value>) {
        let (path, key) = (self.effect.path(at), Box::from(key));
        self.effect.put(at, &key, value.clone(), None);
        self.changes.push(match value {
            Some(value) => Change::AttributePut { path, key, value },
            None => Change::AttributeRemoved { path, key },
        });
    }

    /// We removed a node.
    fn removed(&mut self, change: &Change, path: &Path) -> Option<()> {
        let node = self.ours.at(&mut self.effect, path)?;
        let (parent, key) = self.ours.place(&mut self.effect, path)?;
        self.ours.remove(parent, key);
        let path = change.path();
        let at = match self.find(node) {
            Ok(at) => at,
            Err(_) if let There::Unset(at, index) = self.ours.there(node) => {
                if self.effect.get(at).added.is_some() {
                    self.take_out(change, at);
                } else if self.effect.is_there(at) {
                    // They kept it from being set, and keep it from being removed, too.
                    self.conflict(ConflictKind::ChangedBelow, path, change, index);
                }
                return Some(());
            }
            Err(Gone(Some(index))) if self.may_be_set(index, path) => {
                return self.lost(path, change, Gone(Some(index))).map(drop);
            }
            Err(_) => {
                // Both removed it; but perhaps they had moved something out of it.
                if let There::At(at) = self.ours.there(node) {
                    self.remove_moved_out(change, path, at);
                }
                return Some(());
            }
        };
        self.remove_there(change, at);
        Some(())
    }

    /// We removed what is this node after theirs.
    fn remove_there(&mut self, change: &Change, at: Id) {
        if self.effect.get(at).added.is_some() && !self.effect.is_set_by_us(at) {
            return self.take_out(change, at); // Both added it, and they have not removed it.
        }
        let theirs = self.effect.changes_within(at);
        let here = self.effect.path(at);
        for &index in &theirs {
            self.conflict(ConflictKind::ChangedBelow, &here, change, index);
        }
        if !theirs.is_empty() {
            if !self.prevails(|this| this.effect.get(at).set.is_none()) {
                return;
            }
            self.clear_way(at);
        }
        self.emit_removed(at, theirs.first().copied());
    }

    /// Takes what is ours out of a node that both added, so that it is theirs alone.
    fn take_out(&mut self, change: &Change, at: Id) {
        if let Some((parent, key)) = self.moved_from.remove(&at)
            && self.effect.is_there(parent)
            && !self.effect.is_within(parent, at)
            && self.effect.occupant(parent, &key).is_none()
        {
            self.emit_moved(at, parent, &key);
        }
        let mut stack = vec![at];
        while let Some(at) = stack.pop() {
            for (key, theirs) in self.effect.attributes_told(at) {
                if let Some(earlier) = self.disputed.remove(&(at, key.clone())) {
                    self.conflicts[earlier] = None;
                }
                if self.effect.attribute(at, &key) != Some(theirs.clone()) {
                    self.emit_attribute(at, &key, theirs);
                }
            }
            for kid in self.effect.kids(at) {
                let more = self.effect.get(kid);
                if more.added.or(more.set).or(more.moved).or(more.carried).is_none() {
                    self.remove_there(change, kid);
                } else if more.moved.is_none() {
                    stack.push(kid);
                }
            }
        }
    }

    /// Is there still something here, in a subtree that they set?
    fn may_be_set(&self, index: Index, path: &Path) -> bool {
        let Change::SubtreeSet { path: set, subtree } = &self.theirs[index] else {
            return false;
        };
        let below = path.strip_prefix(&**set);
        below.is_none_or(|below| subtree.node().at(below).is_ok())
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

    /// Before a node is removed, or set anew, against theirs: what they moved into it goes back to
    /// where it was, if it can; what they moved out of it goes with it, likewise.
    pub(super) fn clear_way(&mut self, at: Id) {
        let mut moved = self.effect.moved_of(at);
        // Should they have moved the node into what was in it, that stays.
        moved.retain(|&item| !self.effect.is_within(at, item));
        let leaving: HashSet<Id> = moved.iter().copied().chain([at]).collect();
        let roots = moved.iter().copied().chain([at]);
        let mut moved_in: Vec<Id> = roots.flat_map(|id| self.effect.now_within(id)).collect();
        moved_in.retain(|id| self.effect.get(*id).moved.is_some() && !leaving.contains(id));
        for item in self.homewards(moved_in) {
            let is_leaving = self.effect.is_there(item)
                && self.effect.upward(item).any(|id| leaving.contains(&id));
            if is_leaving && !self.send_home(item, &leaving) {
                let more = self.effect.more(item);
                more.removed = more.moved; // They moved it to where it goes.
            }
        }
        for item in moved {
            if self.effect.is_there(item) && !self.effect.is_within(item, at) {
                let because = self.effect.get(item).moved;
                self.emit_removed(item, because);
            }
        }
    }

    /// In which order nodes go back to where they were: before what is in them now, which goes with
    /// them; but after those in which their home is, which has to be there first.
    fn homewards(&self, nodes: Vec<Id>) -> Vec<Id> {
        let mut waiting: HashSet<Id> = nodes.iter().copied().collect();
        let mut nodes: Vec<Id> = waiting.iter().copied().collect();
        nodes.sort_by_cached_key(|&id| (Reverse(self.effect.upward(id).count()), Reverse(id)));
        let (mut order, mut is_placed) = (Vec::with_capacity(nodes.len()), HashSet::new());
        while let Some(&id) = nodes.last() {
            waiting.remove(&id);
            let home = self.effect.home(id).map(|(home, _)| home);
            let around = home.into_iter().flat_map(|home| self.effect.upward(home));
            match around.filter(|id| waiting.contains(id)).last() {
                Some(first) => nodes.push(first),
                None => {
                    nodes.pop();
                    if is_placed.insert(id) {
                        order.push(id);
                    }
                }
            }
        }
        order
    }

    /// What we removed is gone, but they had moved something out of it.
    fn remove_moved_out(&mut self, change: &Change, path: &Path, at: Id) {
        for index in self.effect.changes_moved_out(at) {
            self.conflict(ConflictKind::ChangedBelow, path, change, index);
        }
        if self.prevails(|_| true) {
            self.clear_way(at);
        }
    }

    /// Moves a node that they moved back to where it was, unless that is gone, taken, or within
    /// what is leaving.
    pub(super) fn send_home(&mut self, at: Id, leaving: &HashSet<Id>) -> bool {
        let Some((parent, key)) = self.effect.home(at) else {
            return false;
        };
        let can = self.effect.is_there(parent)
            && !self.effect.is_within(parent, at)
            && !self.effect.upward(parent).any(|id| leaving.contains(&id))
            && matches!(self.effect.get(parent).content, Content::Base)
            && self.effect.occupant(parent, &key).is_none();
        if can {
            self.emit_moved(at, parent, &key);
        }
        can
    }

    pub(super) fn emit_set(&mut self, at: Id, subtree: &Subtree) {
        let (path, set) = (self.effect.path(at), subtree.clone());
        self.changes.push(Change::SubtreeSet { path, subtree: set });
        self.effect.set_content(at, subtree, None);
    }
}

/// Below this each integer, and each sum of two, is a floating-point number of its own.
const UNITS_MAX: f64 = (1_u64 << 52) as f64;

/// What both added to a counter, added to what it was: the same whoever is called ours. `None`
/// where there is no such number, or where units that an integer among them has could be lost.
fn count(base: Option<&Value>, ours: Option<&Value>, theirs: Option<&Value>) -> Option<Value> {
    let base = base.unwrap_or(&Value::Int(0));
    let (ours, theirs) = (ours?, theirs?);
    if is_awake(Bug::CounterTakesGreater) {
        return Some(ours.max(theirs).clone());
    }
    if let (Value::Int(base), Value::Int(ours), Value::Int(theirs)) = (base, ours, theirs) {
        let sum = i128::from(*theirs) + i128::from(*ours) - i128::from(*base);
        return i64::try_from(sum).ok().map(Value::Int);
    }
    let is_unit = |value: &&Value| matches!(value, Value::Int(int) if *int != 0);
    let has_units = [base, ours, theirs].iter().any(is_unit);
    let (base, ours, theirs) = (number(base)?, number(ours)?, number(theirs)?);
    let sum = base + ((ours - base) + (theirs - base));
    let is_exact = [base, ours, theirs, sum].iter().all(|it| it.abs() < UNITS_MAX);
    (sum.is_finite() && (is_exact || !has_units)).then_some(Value::Float(sum))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}
