//! Rebasing changes that give a node a place: added, moved, set.

use std::collections::HashSet;

use super::effect::{Content, Index};
use super::kids::{Id, NONE, position};
use super::ours::There;
use super::rebase::Rebaser;
use super::{Change, ConflictKind, Subtree};
use crate::key::{Key, KeyRef, Position};
use crate::node::Node;
use crate::path::Path;
use crate::signature::Signature;

/// What became of a key that we wanted.
enum Place {
    /// It is free, or this other one is, which stands for it.
    Free(Key),
    /// They have this node there, under the same name.
    Taken(Id),
    /// Theirs prevails.
    Lost(Index),
}

impl Rebaser<'_> {
    /// We added a node: bare, or holding something.
    pub(super) fn added(
        &mut self,
        change: &Change,
        path: &Path,
        set: Option<&Subtree>,
    ) -> Option<()> {
        let (our_parent, key) = self.ours.place(&mut self.effect, path)?;
        let there = self.place_added(change, path, our_parent, key, set)?;
        let id = self.ours.add(our_parent, key, there, set);
        if let There::At(at) = there
            && self.effect.key(at) != key
        {
            self.ours.has_key_there(id, self.effect.key(at).clone());
        }
        Some(())
    }

    fn place_added(
        &mut self,
        change: &Change,
        path: &Path,
        our_parent: Id,
        key: &Key,
        set: Option<&Subtree>,
    ) -> Option<There> {
        let parent = match self.find(our_parent) {
            Ok(parent) => parent,
            Err(gone) => return self.lost(change.path(), change, gone).map(There::Lost),
        };
        if !self.ours.has_removed(our_parent, key)
            && let Some(occupant) = self.effect.occupant(parent, key)
        {
            self.effect.was_added(occupant);
        }
        match self.place(change, path, parent, key, None) {
            Place::Lost(index) => Some(There::Lost(index)),
            Place::Free(key) => {
                let content = set.map_or(Content::Bare, |set| Content::Set(set.clone()));
                let at = self.effect.add(parent, key, content);
                let said = path;
                let path = self.effect.path(at);
                self.note_place(said, &path);
                self.changes.push(match set {
                    None => Change::ChildAdded { path },
                    Some(set) => Change::SubtreeSet { path, subtree: set.clone() },
                });
                Some(There::At(at))
            }
            Place::Taken(at) => match set {
                None => Some(There::At(at)),
                Some(set) => Some(self.set_over(change, at, set)),
            },
        }
    }

    /// Finds a place for a node of ours (`moved`: one that was there already) under this key.
    fn place(
        &mut self,
        change: &Change,
        said: &Path,
        parent: Id,
        key: &Key,
        moved: Option<Id>,
    ) -> Place {
        let occupant = self.effect.occupant(parent, key);
        if let Some(index) = self.effect.get(parent).set {
            // They set what we add something to.
            if let (Some(occupant), None) = (occupant, moved)
                && self.effect.home(occupant).is_none()
            {
                return Place::Taken(occupant);
            }
            self.conflict(ConflictKind::SetOverlap, change.path(), change, index);
            if !self.prevails(|_| false) {
                return Place::Lost(index);
            }
        }
        let Some(occupant) = occupant else {
            if !self.was_given(parent, key) {
                return Place::Free(key.clone());
            }
            let free = match position(key) {
                Some(fraction) if !fraction.is_whole() => self.signed_key(parent, &fraction),
                _ => self.free_key(parent, key),
            };
            return self.renamed(said, parent, free.unwrap_or_else(|| key.clone()));
        };
        let more = self.effect.get(occupant);
        let (their_move, their_add) = (more.moved, more.added);
        if let (Key::Name(_), None, Some(&index)) = (key, their_move, self.stayed.get(&occupant)) {
            self.conflict(ConflictKind::KeyTaken, change.path(), change, index);
            return Place::Lost(index);
        }
        let is_moved = moved.is_some() || their_move.is_some();
        let are_two =
            is_moved || !self.effect.is_at_home(occupant) || self.is_other_here(parent, key);
        if are_two && let Some(free) = self.free_key(parent, key) {
            return self.renamed(said, parent, free);
        }
        let is_one = !are_two || matches!(key, Key::Name(_));
        if is_one && !is_moved {
            return Place::Taken(occupant); // Both added the name, or they keep what we removed.
        }
        let theirs = their_move.or(their_add);
        let theirs = theirs.or_else(|| self.effect.changes_within(occupant).first().copied());
        let Some(index) = theirs else {
            return Place::Taken(occupant);
        };
        self.conflict(ConflictKind::KeyTaken, change.path(), change, index);
        let wins = self.prevails(|this| match (change, &this.theirs[index]) {
            (Change::Moved { from: ours, .. }, Change::Moved { from: theirs, .. }) => ours < theirs,
            (_, Change::Moved { .. }) => true, // What is added stays, what is moved goes back.
            _ => false,
        });
        let overruled = self.effect.changes_within(occupant);
        let goes = their_move.is_none();
        if !wins || !self.make_way(occupant, moved) {
            return Place::Lost(index);
        }
        // With their node goes what they put in it.
        for other in overruled.into_iter().filter(|&other| goes && other != index) {
            self.conflict(ConflictKind::KeyTaken, change.path(), change, other);
        }
        Place::Free(key.clone())
    }

    fn renamed(&mut self, said: &Path, parent: Id, key: Key) -> Place {
        let at = self.effect.path(parent).join(key.clone());
        self.renamed.push((said.clone(), at));
        Place::Free(key)
    }

    /// Notes where a node is that we gave a position.
    fn note_place(&mut self, said: &Path, now: &Path) {
        if matches!(said.last(), Some(Key::Position(_))) && said != now {
            self.placed.push((said.clone(), now.clone()));
        }
    }

    /// Is this the key of a node that both have, and that has another one in ours?
    fn is_other_here(&self, parent: Id, key: &Key) -> bool {
        self.keys_there.get(&parent).is_some_and(|keys| keys.contains(key))
    }

    /// Is this a position that they may have given to a node that is gone now? What is signed was
    /// drawn once.
    ///
    /// What they had given at the base already was given on our side, too, if both began there: so
    /// ours knows what it does. But where one was merged into the other there, each may have given
    /// it to a node of its own.
    fn was_given(&self, parent: Id, key: &Key) -> bool {
        let (Some(position), Some(_)) = (position(key), self.head) else {
            return false;
        };
        if self.is_other_here(parent, key) {
            return true;
        }
        if !position.is_whole() {
            let taken = self.fractions_now(parent);
            let is_taken = match self.is_origin {
                true => self.effect.fractions_before(parent) < taken,
                false => number_of(key) < taken,
            };
            return is_taken && !position.is_signed();
        }
        let before = self.effect.lowest_before(parent)..self.effect.next_before(parent);
        let index = position.index();
        !(self.is_origin && before.contains(&index))
            && (self.lowest_now(parent)..self.next_now(parent)).contains(&index)
    }

    /// A node after theirs, where that is known.
    fn now(&self, id: Id) -> Option<Node<'_>> {
        let (mut keys, mut id) = (Vec::new(), id);
        while id != 0 && id != NONE {
            let (parent, key) = match self.was_at.get(&id) {
                Some((parent, key)) => (*parent, key),
                None => (self.effect.parent(id), self.effect.key(id)),
            };
            keys.push(key.clone());
            id = parent;
        }
        keys.reverse();
        self.head?.at(&keys).ok()
    }

    /// The position that comes next in a node after theirs.
    fn next_now(&self, parent: Id) -> i64 {
        self.now(parent).map_or(0, Node::next_position)
    }

    /// The lowest position that a node has given after theirs.
    fn lowest_now(&self, parent: Id) -> i64 {
        self.now(parent).map_or(0, Node::lowest_position)
    }

    /// How many children with a fraction were taken away from a node after theirs.
    fn fractions_now(&self, parent: Id) -> u32 {
        self.now(parent).map_or(0, Node::fractions_taken)
    }

    /// A free key right behind a fraction, which they have not given: it has the number that their
    /// tree would put behind it, or a greater one.
    fn signed_key(&mut self, parent: Id, fraction: &Position) -> Option<Key> {
        let mut numbers = self.fractions_now(parent)..=u32::MAX;
        loop {
            let own = Signature::of_tree(numbers.next()?);
            let key = Key::Position(fraction.signed(&own).ok()?);
            if self.effect.occupant(parent, &key).is_none() {
                return Some(key);
            }
        }
    }

    /// A free key near one that is taken, or was; a name is never replaced by another. `None` for a
    /// position only where a fraction would be too long.
    fn free_key(&mut self, parent: Id, taken: &Key) -> Option<Key> {
        let taken = position(taken)?;
        let given = |node: Node<'_>| node.lowest_position()..node.next_position();
        let given = self.now(parent).map_or(0..0, given);
        let free = self.effect.free_key(parent, taken, &given)?;
        match position(&free) {
            Some(position) if !position.is_whole() && self.was_given(parent, &free) => {
                self.signed_key(parent, &position)
            }
            _ => Some(free),
        }
    }

    /// Takes a node of theirs from a name that ours gets.
    fn make_way(&mut self, occupant: Id, moved: Option<Id>) -> bool {
        let more = self.effect.get(occupant);
        if more.moved.is_some() {
            return self.send_home(occupant, &HashSet::new());
        }
        let holds_it = moved.is_some_and(|moved| self.effect.is_within(moved, occupant));
        if more.added.is_none() || holds_it {
            return false;
        }
        let because = more.added;
        self.clear_way(occupant);
        self.emit_removed(occupant, because);
        true
    }

    /// We moved a node.
    pub(super) fn moved(&mut self, change: &Change, from: &Path, to: &Path) -> Option<()> {
        let node = self.ours.at(&mut self.effect, from)?;
        let (old_parent, old_key) = self.ours.place(&mut self.effect, from)?;
        let (our_parent, key) = self.ours.place(&mut self.effect, to)?;
        self.ours.remove(old_parent, old_key);
        self.ours.attach(node, our_parent, key);
        let at = match self.find(node) {
            Ok(at) => at,
            Err(gone) => return self.lost(source(change), change, gone).map(drop),
        };
        let parent = match self.find(our_parent) {
            Ok(parent) => parent,
            Err(gone) => {
                let because = self.lost(change.path(), change, gone)?;
                return self.stays(at, because);
            }
        };
        if (self.effect.parent(at), self.effect.key(at)) == (parent, key) {
            self.effect.more(at).moved_by_both = true;
            return Some(());
        }
        let here = self.effect.path(at);
        if let Some(index) = self.effect.set_with(at) {
            self.conflict(ConflictKind::SetOverlap, &here, change, index);
            if !self.prevails(|_| false) {
                return self.stays(at, index);
            }
        }
        if let Some(index) = self.effect.get(at).moved {
            self.conflict(ConflictKind::MovedApart, &here, change, index);
            if !self.prevails(|this| is_before(change, &this.theirs[index])) {
                return self.stays(at, index);
            }
        }
        if let Err(because) = self.break_cycles(change, &here, at, parent) {
            return self.stays(at, because?);
        }
        match self.place(change, to, parent, key, Some(at)) {
            Place::Free(free) => {
                if self.effect.get(at).added.is_some() {
                    let place = (self.effect.parent(at), self.effect.key(at).clone());
                    self.moved_from.entry(at).or_insert(place);
                }
                self.emit_moved(at, parent, &free);
                let now = self.effect.path(at);
                self.note_place(to, &now);
                if free != *key {
                    self.ours.has_key_there(node, free);
                }
            }
            Place::Lost(index) => drop(self.stays(at, index)),
            Place::Taken(_) => {}
        }
        Some(())
    }

    /// A node that we moved is not moved.
    fn stays(&mut self, at: Id, because: Index) -> Option<()> {
        self.stayed.insert(at, because);
        self.effect.more(at).moved_by_both = true;
        Some(())
    }

    /// Makes sure that `parent` is not within `at`, by moving back what they moved; or tells
    /// because of which change of theirs it is.
    fn break_cycles(
        &mut self,
        change: &Change,
        here: &Path,
        at: Id,
        parent: Id,
    ) -> Result<(), Option<Index>> {
        while self.effect.is_within(parent, at) {
            let up = |&id: &Id| Some(self.effect.parent(id));
            let between = std::iter::successors(Some(parent), up).take_while(|&id| id != at);
            let between: Vec<Id> = between.collect();
            let is_theirs = |id: &&Id| self.effect.get(**id).moved.is_some();
            let Some(&culprit) = between.iter().find(is_theirs) else {
                // What we moved out of it before, and is in it still.
                let because = between.iter().find_map(|id| self.stayed.get(id).copied());
                if let Some(index) = because {
                    self.conflict(ConflictKind::MoveCycle, here, change, index);
                }
                return Err(because);
            };
            let index = self.effect.get(culprit).moved.expect("it was found by that");
            self.conflict(ConflictKind::MoveCycle, here, change, index);
            let wins = self.prevails(|this| is_before(change, &this.theirs[index]));
            if !wins || !self.send_home(culprit, &HashSet::from([at])) {
                return Err(Some(index));
            }
        }
        Ok(())
    }

    /// We set a subtree.
    pub(super) fn set(&mut self, change: &Change, path: &Path, subtree: &Subtree) -> Option<()> {
        let mut place = None;
        if !path.is_empty() {
            let (parent, key) = self.ours.place(&mut self.effect, path)?;
            if self.ours.is_new_child(&self.effect, parent, key) {
                return self.added(change, path, Some(subtree));
            }
            place = Some((parent, key));
        }
        let node = self.ours.at(&mut self.effect, path)?;
        let said = change.path();
        let there = match (self.find(node), self.ours.there(node)) {
            (Ok(at), _) => self.set_over(change, at, subtree),
            (Err(gone), There::Lost(_)) => There::Lost(self.lost(said, change, gone)?),
            (Err(gone), There::Unset(at, _)) => There::Unset(at, self.lost(said, change, gone)?),
            (Err(gone), There::At(at)) => {
                let index = self.lost(said, change, gone)?;
                // It carries all that is needed to be there again.
                if self.prevails(|_| true) && self.bring_back(at, place) {
                    self.emit_set(at, subtree);
                    There::At(at)
                } else {
                    There::Lost(index)
                }
            }
        };
        self.ours.set_content(node, there, subtree);
        Some(())
    }

    /// Puts a node that they removed back into the effect, if its parent is there.
    fn bring_back(&mut self, at: Id, place: Option<(Id, &Key)>) -> bool {
        let Some((parent, key)) = place else {
            return false;
        };
        let Ok(parent) = self.find(parent) else {
            return false;
        };
        let set = self.effect.get(parent).set.is_some();
        if self.effect.parent(at) != NONE || set || self.effect.occupant(parent, key).is_some() {
            return false;
        }
        self.effect.attach(at, parent, key.clone());
        true
    }

    /// We set a subtree where there is a node.
    fn set_over(&mut self, change: &Change, at: Id, subtree: &Subtree) -> There {
        let mut theirs = self.effect.changes_within(at);
        let more = self.effect.get(at);
        let (set, moved) = (more.set, more.moved.or(more.carried));
        let same = match &more.content {
            Content::Set(theirs) => theirs == subtree,
            _ => false,
        };
        // Where the node is, and that it is, is no matter of what it holds.
        theirs
            .retain(|&index| Some(index) != moved && (Some(index) != more.added || set.is_some()));
        if same && theirs.iter().all(|&index| Some(index) == set) && set.is_some() {
            if self.effect.may_be_changed(at) {
                self.emit_set(at, subtree); // By us, before we set it.
                self.effect.more(at).set = set;
            }
            return There::At(at);
        }
        let here = self.effect.path(at);
        for &index in &theirs {
            self.conflict(ConflictKind::SetOverlap, &here, change, index);
        }
        let greater = |this: &Self| match (&this.effect.get(at).content, set) {
            (Content::Set(theirs), Some(_)) => {
                subtree.node().content_hash() > theirs.node().content_hash()
            }
            _ => true,
        };
        match theirs.first() {
            Some(&index) if !self.prevails(greater) => return There::Unset(at, index),
            Some(_) => self.clear_way(at),
            None => {}
        }
        self.emit_set(at, subtree);
        There::At(at)
    }
}

/// Where a node was before our move.
fn source(change: &Change) -> &Path {
    match change {
        Change::Moved { from, .. } => from,
        other => other.path(),
    }
}

/// Does our move go to a place before theirs does?
fn is_before(ours: &Change, theirs: &Change) -> bool {
    ours.path() < theirs.path()
}

/// A tree of which so many fractions were taken away, or fewer, has not taken away this one.
fn number_of(key: &Key) -> u32 {
    let KeyRef::Position(_, fraction) = key.as_ref() else { return 0 };
    Signature::number_of_tree(fraction).unwrap_or(0)
}
