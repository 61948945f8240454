//! What a merge should come to, worked out on plain maps by the table of `docs/merge.md`: of what
//! was added, removed and put. Nothing was moved, as a diff tells it, and no position was given
//! twice.

use std::collections::{BTreeMap, BTreeSet};

use jungle_db::Snapshot;
use jungle_tree::{
    Change, Conflict, ConflictKind, Key, MergeOptions, Path, Resolution, Rule, Value, diff,
};

use super::content::{self, Attributes, Content};

/// What is added in one place with more nodes is told as one.
const ADDED_MAX: u64 = 16;

/// How an attribute is merged that both have changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// What both added adds up.
    Counter,
    /// A set of small numbers, as bits: what either put in or took out is in it, or is not.
    Set,
    /// Some number that tells who was taken for whom.
    Mixed,
}

impl How {
    fn rule(self) -> Rule {
        match self {
            How::Counter => Rule::Counter,
            How::Set | How::Mixed => {
                Rule::function(move |was, ours, theirs| Some(self.of(was, ours, theirs)))
            }
        }
    }

    fn of(self, was: Option<&Value>, ours: Option<&Value>, theirs: Option<&Value>) -> Value {
        let number = |value: Option<&Value>| value.and_then(int).unwrap_or(0);
        let (was, ours, theirs) = (number(was), number(ours), number(theirs));
        Value::from(match self {
            How::Counter => theirs + ours - was,
            How::Set => (theirs & !(was & !ours)) | (ours & !was),
            How::Mixed => (4 * was + 2 * ours + theirs).rem_euclid(16),
        })
    }
}

/// Who prevails, and which attributes are merged by a rule.
#[derive(Clone, Debug)]
pub struct Rules {
    pub resolution: Resolution,
    pub of: BTreeMap<&'static str, How>,
}

impl Rules {
    pub fn options(&self) -> MergeOptions {
        let options = MergeOptions::new().resolution(self.resolution);
        self.of.iter().fold(options, |options, (key, how)| options.rule(key, how.rule()))
    }

    /// What an attribute is that both have changed, and whether that is a conflict.
    fn settle(
        &self,
        key: &str,
        was: Option<&Value>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> (Option<Value>, bool) {
        let how = self.of.get(key).copied();
        let is_number = |value: Option<&Value>| value.is_some_and(|value| int(value).is_some());
        let are_numbers = (was.is_none() || is_number(was)) && is_number(ours) && is_number(theirs);
        match how {
            Some(How::Counter) if are_numbers => {
                return (Some(How::Counter.of(was, ours, theirs)), false);
            }
            _ if ours == theirs => return (theirs.cloned(), false),
            Some(how @ (How::Set | How::Mixed)) => return (Some(how.of(was, ours, theirs)), false),
            _ => {}
        }
        let is_removed = was.is_some() && (ours.is_none() || theirs.is_none());
        let prevails = match self.resolution {
            Resolution::Ours => true,
            Resolution::Theirs => false,
            _ if how == Some(How::Counter) && is_removed => ours.is_none(),
            _ => ours > theirs,
        };
        let result = if prevails { ours } else { theirs };
        (result.cloned(), true)
    }
}

fn int(value: &Value) -> Option<i64> {
    value.as_ref().as_int()
}

/// Where ours and theirs contradict each other: at which node, how, and which change of ours it is.
pub type Conflicts = BTreeSet<(Path, ConflictKind, String)>;

/// The conflicts that a merge tells.
pub fn told(conflicts: &[Conflict]) -> Conflicts {
    conflicts.iter().map(|it| (it.path.clone(), it.kind, it.ours.to_string())).collect()
}

/// What a merge comes to.
pub struct Outcome {
    pub content: Content,
    pub conflicts: Conflicts,
}

/// A version, and what it holds.
pub type Holding<'v> = (&'v Snapshot, &'v Content);

/// Does [`merged`] say what comes of a merge of these? Not where a diff tells that something was
/// moved on either side, nor where ours adds a node at a position that theirs has given too, or at
/// a fraction, nor where much was added in one place in which the other side did something, too.
/// `is_origin`: has neither been merged into the other before?
pub fn says(base: Holding<'_>, ours: Holding<'_>, theirs: Holding<'_>, is_origin: bool) -> bool {
    let is_new = |at: &&Path| !base.1.contains_key(*at);
    let is_alone = |side: &Content, other: &Content| {
        let is_below = |at: &&Path| at.parent().is_some_and(|above| base.1.contains_key(&above));
        let mut added = side.keys().filter(is_new).filter(is_below);
        added.all(|at| {
            let is_one = content::count(side, at) > ADDED_MAX;
            !is_one || !other.contains_key(at) && !is_cut(base.1, other, at)
        })
    };
    let keeps_key = |at: &Path| {
        let Some(Key::Position(position)) = at.last() else { return true };
        let is_given = |version| is_given(version, at, position.index());
        position.is_whole()
            && !theirs.1.contains_key(at)
            && (!is_given(theirs.0) || is_origin && is_given(base.0))
    };
    is_alone(ours.1, theirs.1)
        && is_alone(theirs.1, ours.1)
        && ours.1.keys().filter(is_new).all(keeps_key)
        && !has_moved(base.0, ours.0)
        && !has_moved(base.0, theirs.0)
}

/// Does a diff tell that something was moved?
fn has_moved(from: &Snapshot, to: &Snapshot) -> bool {
    diff(from, to).iter().any(|change| matches!(change, Change::Moved { .. }))
}

/// Is this among the numbers that the parent of this place has given, as far as its tree knows?
fn is_given(version: &Snapshot, place: &Path, index: i64) -> bool {
    let parent = place.parent().unwrap_or_default();
    let parent = version.root().at(&parent);
    parent.is_ok_and(|node| (node.lowest_position()..node.next_position()).contains(&index))
}

/// What becomes of what ours and theirs did since the base.
pub fn merged(base: &Content, ours: &Content, theirs: &Content, rules: &Rules) -> Outcome {
    let (mut content, mut conflicts) = (theirs.clone(), Conflicts::new());
    for place in gone(base, ours) {
        let mut within = theirs.iter().filter(|(at, _)| at.starts_with(place));
        let is_changed = within.any(|(at, attributes)| base.get(at) != Some(attributes));
        if is_changed {
            conflicts.insert((place.clone(), ConflictKind::ChangedBelow, format!("- {place}")));
        }
        if !is_changed || rules.resolution != Resolution::Theirs {
            content::remove(&mut content, place);
        }
    }
    for (place, attributes) in ours {
        let old = base.get(place);
        if old == Some(attributes) {
            continue;
        }
        if is_cut(base, theirs, place) {
            let added = old.is_none().then(|| format!("+ {place}"));
            let put = changed(old, attributes).map(|(key, _, is)| change(place, key, is));
            let lost = added.into_iter().chain(put);
            conflicts.extend(lost.map(|it| (place.clone(), ConflictKind::RemovedBelow, it)));
            continue;
        }
        let node = content.entry(place.clone()).or_default();
        for (key, was, is) in changed(old, attributes) {
            let other = theirs.get(place).and_then(|node| node.get(key));
            let (result, is_disputed) = match other == was {
                true => (is.cloned(), false),
                false => rules.settle(key, was, is, other),
            };
            if is_disputed {
                let ours = change(place, key, is);
                conflicts.insert((place.clone(), ConflictKind::Attribute, ours));
            }
            match result {
                Some(result) => node.insert(key.clone(), result),
                None => node.remove(key),
            };
        }
    }
    Outcome { content, conflicts }
}

/// The topmost nodes that are not there any more.
fn gone<'c>(before: &'c Content, after: &'c Content) -> impl Iterator<Item = &'c Path> {
    let is_top = move |at: &Path| at.parent().is_some_and(|above| after.contains_key(&above));
    before.keys().filter(move |at| !after.contains_key(*at) && is_top(at))
}

/// Is a node that was at this place or above not there any more?
fn is_cut(before: &Content, after: &Content, place: &Path) -> bool {
    let mut above = std::iter::successors(Some(place.clone()), Path::parent);
    above.any(|at| before.contains_key(&at) && !after.contains_key(&at))
}

/// The attributes in which a node differs, with what they were and are.
fn changed<'c>(
    old: Option<&'c Attributes>,
    new: &'c Attributes,
) -> impl Iterator<Item = (&'c String, Option<&'c Value>, Option<&'c Value>)> {
    let keys = old.into_iter().flat_map(BTreeMap::keys).chain(new.keys());
    let keys: BTreeSet<&String> = keys.collect();
    let both = move |key: &'c String| (key, old.and_then(|old| old.get(key)), new.get(key));
    keys.into_iter().map(both).filter(|(_, was, is)| was != is)
}

/// A change of an attribute, as it is printed.
fn change(place: &Path, key: &str, is: Option<&Value>) -> String {
    match is {
        Some(is) => format!("~ {place} @{key} = {is}"),
        None => format!("~ {place} @{key} removed"),
    }
}
