//! Rebasing changes that remove a node, and clearing the way before it is removed or set anew.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::effect::{Content, Index};
use super::kids::Id;
use super::ours::There;
use super::rebase::{Gone, Rebaser};
use super::{Change, ConflictKind};
use crate::path::Path;

impl Rebaser<'_> {
    /// We removed a node.
    pub(super) fn removed(&mut self, change: &Change, path: &Path) -> Option<()> {
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
}
