//! Where entries do something. What others did elsewhere is known then to be beside all of them,
//! without a look at each.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use jungle_tree::{Change, ChangeSet, Key, Path};

use super::line::Pending;

/// The places that the first entries of a line speak of.
#[derive(Default)]
pub(super) struct Places {
    /// How many entries these are.
    entries: usize,
    nodes: BTreeMap<Path, Spoken>,
    /// How many of their changes rely on more than what is at a place.
    others: usize,
}

/// How often a node is spoken of.
#[derive(Default)]
struct Spoken {
    times: usize,
    /// So often of all below it, too.
    whole: usize,
    attributes: BTreeMap<Box<str>, usize>,
}

/// What a change is about.
enum About<'c> {
    Place {
        path: &'c Path,
        /// 1 when it is about all below it, too.
        whole: usize,
        attribute: Option<&'c str>,
    },
    Other,
}

impl Places {
    /// Has the places of all entries of a line but for the first ones, which are to go.
    pub(super) fn follow(&mut self, pending: &VecDeque<Arc<Pending>>, gone: usize) {
        for entry in pending.range(..gone.min(self.entries)) {
            self.remove(&entry.changes);
        }
        for entry in pending.range(gone.max(self.entries)..) {
            self.add(&entry.changes);
        }
        self.entries = pending.len() - gone;
    }

    /// What others did, as it is seen below all entries, if it is beside them: then each of them
    /// stays as it is. An attribute that an entry changes, too, is not seen: what was said last
    /// counts. `None` says only that they have to be looked at.
    pub(super) fn beside(&self, theirs: ChangeSet) -> Option<ChangeSet> {
        if self.others > 0 || theirs.iter().any(|change| self.is_met_by(change)) {
            return None;
        }
        Some(theirs.into_iter().filter(|change| !self.hides(change)).collect())
    }

    fn is_met_by(&self, change: &Change) -> bool {
        let path = change.path();
        match change {
            Change::AttributePut { .. } | Change::AttributeRemoved { .. } => self.has_around(path),
            Change::ChildAdded { .. } | Change::ChildRemoved { .. } | Change::SubtreeSet { .. } => {
                self.has_around(path) || self.has_within(path)
            }
            _ => true,
        }
    }

    /// Is a node spoken of, with all below it, in which this one is, or that it is?
    fn has_around(&self, path: &[Key]) -> bool {
        let is_whole = |spoken: &Spoken| spoken.whole > 0;
        (0..=path.len()).any(|depth| self.nodes.get(&path[..depth]).is_some_and(is_whole))
    }

    /// Is a node spoken of that is in this one, or that it is?
    fn has_within(&self, path: &[Key]) -> bool {
        let mut behind = self.nodes.range::<[Key], _>((Bound::Included(path), Bound::Unbounded));
        behind.next().is_some_and(|(first, _)| first.starts_with(path))
    }

    fn hides(&self, change: &Change) -> bool {
        let (Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key }) =
            change
        else {
            return false;
        };
        self.nodes.get(path).is_some_and(|spoken| spoken.attributes.contains_key(key))
    }

    fn add(&mut self, changes: &[Change]) {
        for said in changes.iter().flat_map(about).flatten() {
            let About::Place { path, whole, attribute } = said else {
                self.others += 1;
                continue;
            };
            let spoken = self.nodes.entry(path.clone()).or_default();
            spoken.times += 1;
            spoken.whole += whole;
            let Some(key) = attribute else { continue };
            match spoken.attributes.get_mut(key) {
                Some(times) => *times += 1,
                None => {
                    spoken.attributes.insert(key.into(), 1);
                }
            }
        }
    }

    /// Takes away what was added.
    fn remove(&mut self, changes: &[Change]) {
        for said in changes.iter().flat_map(about).flatten() {
            let About::Place { path, whole, attribute } = said else {
                self.others -= 1;
                continue;
            };
            let spoken = self.nodes.get_mut(path).expect("it was added");
            spoken.times -= 1;
            spoken.whole -= whole;
            if let Some(key) = attribute {
                let times = spoken.attributes.get_mut(key).expect("it was added");
                *times -= 1;
                if *times == 0 {
                    spoken.attributes.remove(key);
                }
            }
            if spoken.times == 0 {
                self.nodes.remove(path);
            }
        }
    }
}

/// A move is about two places.
fn about(change: &Change) -> [Option<About<'_>>; 2] {
    let place = |path, whole| Some(About::Place { path, whole, attribute: None });
    match change {
        Change::ChildAdded { path } if is_drawn_once(path) => [place(path, 0), None],
        Change::ChildRemoved { path } => [place(path, 1), None],
        Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
            [Some(About::Place { path, whole: 0, attribute: Some(key) }), None]
        }
        Change::Moved { from, to } if is_drawn_once(to) => [place(from, 1), place(to, 1)],
        Change::SubtreeSet { path, .. } if is_drawn_once(path) => [place(path, 1), None],
        _ => [Some(About::Other), None],
    }
}

/// Is nobody else given this key? Any other position relies on what its parent has given.
fn is_drawn_once(path: &[Key]) -> bool {
    path.last().is_some_and(|key| match key {
        Key::Name(_) => true,
        Key::Position(position) => position.is_signed(),
    })
}
