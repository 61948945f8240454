//! What lies around a node: within it, and beside it.

use std::ops::Range;

use super::super::kids::{Id, NONE, position};
use super::{Content, Effect, Index};
use crate::key::{Key, Position};
use crate::node::Node;

impl Effect<'_> {
    /// A node and what is below it now, as far as changes speak of it.
    pub(in super::super) fn now_within(&self, id: Id) -> Vec<Id> {
        self.within(id, |effect, id| effect.items[id as usize].kids.ids())
    }

    /// A node and what was below it in the base, as far as changes speak of it, but for what we
    /// moved away from there.
    fn base_within(&self, id: Id) -> Vec<Id> {
        self.within(id, |effect, id| {
            let kids = effect.items[id as usize].kids.ids();
            let at_home = |&kid: &Id| kid != NONE && effect.is_at_home(kid);
            let mut all: Vec<Id> = kids.into_iter().filter(at_home).collect();
            let away = effect.get(id).away.ids().into_iter();
            all.extend(away.filter(|&kid| !effect.is_moved_away_by_us(kid)));
            all
        })
    }

    fn is_moved_away_by_us(&self, id: Id) -> bool {
        self.get(id).moved_by_both || self.parent(id) != NONE && self.is_moved_by_us(id)
    }

    fn within(&self, id: Id, below: impl Fn(&Self, Id) -> Vec<Id>) -> Vec<Id> {
        let mut found = Vec::new();
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            if id != NONE {
                found.push(id);
                stack.extend(below(self, id));
            }
        }
        found
    }

    /// What was in a node in the base, and they have moved, and we have not.
    pub(in super::super) fn moved_of(&self, id: Id) -> Vec<Id> {
        let mut moved = self.base_within(id);
        moved.retain(|&item| self.get(item).moved.is_some() && item != id && self.is_there(item));
        moved
    }

    /// The same, as far as it is not in the node any more.
    fn moved_out(&self, id: Id) -> Vec<Id> {
        let mut out = self.moved_of(id);
        out.retain(|&item| !self.is_within(item, id));
        out
    }

    /// Their changes to a node and to what is or was below it, as far as they are still seen.
    pub(in super::super) fn changes_within(&self, id: Id) -> Vec<Index> {
        let mut items = self.now_within(id);
        items.extend(self.now_moved_out(id));
        self.changes_to(&items)
    }

    /// Their changes to what they moved out of a node.
    pub(in super::super) fn changes_moved_out(&self, id: Id) -> Vec<Index> {
        self.changes_to(&self.now_moved_out(id))
    }

    fn now_moved_out(&self, id: Id) -> Vec<Id> {
        self.moved_out(id).into_iter().flat_map(|out| self.now_within(out)).collect()
    }

    fn changes_to(&self, items: &[Id]) -> Vec<Index> {
        let mut changes = Vec::new();
        for &item in items {
            let more = self.get(item);
            changes.extend([more.added, more.moved, more.carried, more.set].into_iter().flatten());
            let attributes = more.attributes.values();
            changes.extend(attributes.filter_map(|attribute| attribute.theirs));
        }
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// A free key near a position that is taken: behind all that are or were, for a whole position,
    /// or in front of them, for a negative one, and not one of those that are known to be `given`;
    /// right behind the taken one, for a fraction, and where no number is left.
    pub(in super::super) fn free_key(
        &mut self,
        parent: Id,
        taken: Position,
        given: &Range<i64>,
    ) -> Option<Key> {
        if taken.is_whole()
            && let Ok(free) = Key::try_position(self.free_number(parent, taken.index(), given))
        {
            return Some(free);
        }
        let mut taken = taken;
        loop {
            let next = self.position_behind(parent, &taken);
            // A fraction even behind the last one: whole positions are the tree's to give.
            let limit = next.or_else(|| Position::new(taken.index() + 1).ok());
            taken = Position::between(Some(&taken), limit.as_ref()).ok()?;
            let key = Key::Position(taken.clone());
            if self.occupant(parent, &key).is_none() {
                return Some(key);
            }
        }
    }

    /// The number that comes next, on the side of the taken one; it may be beyond the limits.
    fn free_number(&self, parent: Id, taken: i64, given: &Range<i64>) -> i64 {
        let kids = &self.items[parent as usize].kids;
        if taken < 0 {
            let low = kids.first_position().map_or(0, |first| first.index());
            return low.min(self.lowest_before(parent)).min(given.start) - 1;
        }
        let next = kids.last_position().map_or(0, |last| last.index() + 1);
        next.max(self.next_before(parent)).max(given.end)
    }

    /// The position that came next in a node before the changes that are told, where that is known.
    pub(in super::super) fn next_before(&self, id: Id) -> i64 {
        self.node_below(id).map_or(0, Node::next_position)
    }

    /// The lowest position that a node had given before the changes that are told, likewise.
    pub(in super::super) fn lowest_before(&self, id: Id) -> i64 {
        self.node_below(id).map_or(0, Node::lowest_position)
    }

    /// How many children with a fraction were taken away from a node before, likewise.
    pub(in super::super) fn fractions_before(&self, id: Id) -> u32 {
        self.node_below(id).map_or(0, Node::fractions_taken)
    }

    fn position_behind(&self, parent: Id, taken: &Position) -> Option<Position> {
        let key = Key::Position(taken.clone());
        let told = self.items[parent as usize].kids.position_behind(&key);
        let below = self.node_below(parent).and_then(|node| {
            let mut children = node.children_from(&key).map(|(key, _)| key);
            let next = children.find(|&other| other != key.as_ref())?;
            position(&next.to_key())
        });
        told.into_iter().chain(below).min()
    }

    /// What a node held before the changes that are told, where that is known.
    fn node_below(&self, id: Id) -> Option<Node<'_>> {
        match &self.get(id).content {
            Content::Base => self.base_node(id),
            Content::Bare => None,
            Content::Set(subtree) => Some(subtree.node()),
        }
    }
}
