//! The editing calls: go to a node, check, change, come back. All checks come before the first
//! change, so a refused call has changed nothing.

use super::{Edit, EditError, Place};
use crate::block::{self, Content, WIDTH};
use crate::children::{Children, Direction, directory, locate};
use crate::key::{Key, KeyError, KeyRef, POSITION_MAX, POSITION_MIN, Position};
use crate::path::Path;
use crate::signature::Signature;
use crate::value::ValueRef;

impl Edit<'_> {
    /// Checks that a child can be added here under this key.
    pub(crate) fn check_new(&self, parent: &[Key], key: &Key) -> Result<(), EditError> {
        key.check().map_err(EditError::Key)?;
        match locate(self.arena, self.here().kids, key.as_ref(), |_| ()) {
            Some(_) => Err(EditError::child_exists(parent, key)),
            None => Ok(()),
        }
    }

    /// Runs `change` at a node. What it refuses it refuses before it changes anything.
    #[inline(always)]
    pub(super) fn at<T>(
        &mut self,
        path: &[Key],
        change: impl FnOnce(&mut Self) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        self.go(path)?;
        change(self)
    }

    /// Adds a bare child here, at the next position.
    #[inline(always)]
    pub(crate) fn add_next(&mut self) -> Result<Key, EditError> {
        self.check_room(1)?;
        // First what is most common: up to 16 children by position.
        if let Some(leaf) = self.leaf_with_room(self.here().kids) {
            let (position, kids) = self.append_bare(leaf);
            self.set_kids(kids, 1);
            return Ok(Key::from(position));
        }
        self.add_next_content(Content::default())
    }

    /// Adds a child here, at the next position, that holds this.
    #[inline(never)]
    fn add_next_content(&mut self, content: Content) -> Result<Key, EditError> {
        let key = Key::Position(self.next_free(None)?);
        self.add_child(key.as_ref(), content);
        Ok(key)
    }

    /// Adds a child here, at the next position, that has these attributes.
    #[inline]
    pub(crate) fn add_next_with(
        &mut self,
        attributes: &[(&str, ValueRef<'_>)],
    ) -> Result<Key, EditError> {
        self.check_room(1)?;
        let content = self.new_leaf(attributes)?;
        self.add_next_content(content)
    }

    /// What a leaf with these attributes holds.
    #[inline(always)]
    fn new_leaf(&mut self, attributes: &[(&str, ValueRef<'_>)]) -> Result<Content, EditError> {
        let mut attrs = 0;
        for &(key, value) in attributes {
            // What was written before a refusal is nobody's, and found by the next collection.
            attrs = self.with_attribute(attrs, key, value)?;
        }
        Ok(Content { kids: 0, attrs })
    }

    /// Adds children here, at the next positions, that have these attributes; gives the first
    /// position.
    #[inline]
    pub(crate) fn add_all_with<'v>(
        &mut self,
        children: impl IntoIterator<Item = &'v [(&'v str, ValueRef<'v>)]>,
    ) -> Result<i64, EditError> {
        let first = self.next_position();
        let mut children = children.into_iter();
        loop {
            let (mut leaves, mut count) = ([Content::default(); WIDTH], 0);
            let mut refused = Ok(());
            for (leaf, attributes) in leaves.iter_mut().zip(&mut children) {
                refused = self.new_leaf(attributes).map(|content| *leaf = content);
                if refused.is_err() {
                    break;
                }
                count += 1;
            }
            self.check_room(count as u64)?;
            let next = self.next_position();
            if next > POSITION_MAX + 1 - count as i64 {
                let left = (POSITION_MAX + 1).saturating_sub(next).max(0);
                self.add_leaves(&leaves[..left as usize]);
                return Err(EditError::Key(KeyError::IndexOutOfRange { index: POSITION_MAX + 1 }));
            }
            self.add_leaves(&leaves[..count]);
            refused?;
            if count < WIDTH {
                return Ok(first);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn op_add_child(&mut self, path: &[Key]) -> Result<Key, EditError> {
        if !self.stays {
            return self.add_straight(path);
        }
        self.at(path, Self::add_next)
    }

    pub(crate) fn op_insert_child(&mut self, path: &[Key], key: &Key) -> Result<(), EditError> {
        self.at(path, |edit| {
            edit.check_new(path, key)?;
            edit.check_room(1)?;
            edit.add_child(key.as_ref(), Content::default());
            Ok(())
        })
    }

    pub(crate) fn op_put_attribute(
        &mut self,
        path: &[Key],
        key: &str,
        value: ValueRef<'_>,
    ) -> Result<(), EditError> {
        if !self.stays {
            return self.put_straight(path, key, value);
        }
        self.at(path, |edit| edit.put_attribute(key, value))
    }

    pub(crate) fn op_remove_attribute(
        &mut self,
        path: &[Key],
        key: &str,
    ) -> Result<bool, EditError> {
        self.at(path, |edit| edit.remove_attribute(key))
    }

    pub(crate) fn op_remove(&mut self, path: &[Key]) -> Result<(), EditError> {
        let content = self.op_take(path)?;
        self.retire_subtree(content);
        Ok(())
    }

    /// Takes a node out; what it held stays alive.
    pub(crate) fn op_take(&mut self, path: &[Key]) -> Result<Content, EditError> {
        let Some((key, parent)) = path.split_last() else {
            return Err(EditError::Root);
        };
        self.at(parent, |edit| {
            let taken = edit.remove_child(key.as_ref())?;
            taken.ok_or_else(|| EditError::no_such_node(path, path.len() - 1))
        })
    }

    /// Adds a child that holds something already.
    pub(crate) fn op_insert_content(
        &mut self,
        parent: &[Key],
        key: &Key,
        content: Content,
    ) -> Result<(), EditError> {
        self.at(parent, |edit| {
            edit.check_new(parent, key)?;
            edit.check_room(1 + u64::from(block::count(edit.arena, content.kids)))?;
            edit.add_child(key.as_ref(), content);
            Ok(())
        })
    }

    /// Moves a node to where nothing is. Once it is taken out nothing is refused any more.
    pub(crate) fn op_move(
        &mut self,
        from: &[Key],
        parent: &[Key],
        key: &Key,
    ) -> Result<(), EditError> {
        if let Err(full) = self.at(parent, |edit| edit.check_room(1)) {
            return Err(self.go(from).err().unwrap_or(full));
        }
        let content = self.op_take(from)?;
        self.at(parent, |edit| {
            edit.add_child(key.as_ref(), content);
            Ok(())
        })
    }

    /// Makes a new root, whose only child is the root so far.
    pub(crate) fn op_push_root(&mut self, key: &Key) -> Result<(), EditError> {
        self.at(&[], |edit| {
            edit.check_room(1)?;
            let was = edit.here();
            edit.replace_content(Content::default());
            edit.add_child(key.as_ref(), was);
            Ok(())
        })
    }

    /// Makes a node the root; gives what the root held without it.
    pub(crate) fn op_pop_root(&mut self, path: &[Key]) -> Result<Content, EditError> {
        let content = self.op_take(path)?;
        self.at(&[], |edit| {
            let was = edit.here();
            edit.replace_content(content);
            Ok(was)
        })
    }

    /// Replaces what the node here holds.
    fn replace_content(&mut self, content: Content) {
        let [old, new] = [self.here(), content].map(|it| block::count(self.arena, it.kids));
        self.set_kids(content.kids, i64::from(new) - i64::from(old));
        self.frame().now.attrs = content.attrs;
    }

    /// Replaces what a node holds, and gives what it held.
    pub(crate) fn op_replace_content(
        &mut self,
        path: &[Key],
        content: Content,
    ) -> Result<Content, EditError> {
        self.at(path, |edit| {
            let was = edit.here();
            let (old, new) =
                (block::count(edit.arena, was.kids), block::count(edit.arena, content.kids));
            if new > old {
                edit.check_room(u64::from(new - old))?;
            } else {
                edit.check_room_to_remove()?;
            }
            edit.replace_content(content);
            Ok(was)
        })
    }

    /// The position that a new child gets in this place.
    fn position_in(
        &self,
        place: Place<'_>,
        signature: Option<&Signature>,
    ) -> Result<Position, EditError> {
        match place {
            Place::Before(sibling) => {
                if let Some(left) = self.neighbour(sibling.as_ref(), Direction::Backward) {
                    return self.between(Some(&left), Some(sibling), signature);
                }
                // In front of all that are there and all that ever were.
                let low = directory(self.arena, self.here().kids).low;
                let first = Position::new(low.min(sibling.index())).map_err(EditError::Key)?;
                if first < *sibling && first.index() == POSITION_MIN {
                    // No number is left there, but room for fractions behind the lowest.
                    return self.between(Some(&first), Some(sibling), signature);
                }
                let first = if first < *sibling { &first } else { sibling };
                self.between(None, Some(first), signature)
            }
            Place::After(sibling) => match self.neighbour(sibling.as_ref(), Direction::Forward) {
                Some(right) => self.between(Some(sibling), Some(&right), signature),
                None => self.next_free(signature),
            },
            // Which sibling has that place is found out before.
            Place::Last | Place::Index(_) => self.next_free(signature),
        }
    }

    /// A position between two here that no child has had.
    fn between(
        &self,
        left: Option<&Position>,
        right: Option<&Position>,
        signature: Option<&Signature>,
    ) -> Result<Position, EditError> {
        if let Some(own) = signature {
            return Position::signed_between(left, right, own).map_err(EditError::Key);
        }
        let between = Position::between(left, right).map_err(EditError::Key)?;
        match directory(self.arena, self.here().kids).taken {
            taken if taken > 0 && !between.is_whole() => {
                let own = Signature::of_tree(taken);
                Position::signed_between(left, right, &own).map_err(EditError::Key)
            }
            _ => Ok(between),
        }
    }

    /// The position next to this one, in this direction.
    fn neighbour(&self, from: KeyRef<'_>, direction: Direction) -> Option<Position> {
        let children = Children::from_key(self.arena, self.here().kids, from, direction);
        match children.map(|(key, _)| key).find(|&key| key != from)?.to_key() {
            Key::Position(position) => Some(position),
            Key::Name(_) => None,
        }
    }

    /// The position that comes next here.
    fn next_free(&self, signature: Option<&Signature>) -> Result<Position, EditError> {
        let next = self.next_position();
        if next > POSITION_MAX {
            // Behind the last number there is room for fractions still.
            let end = Position::new(POSITION_MAX).map_err(EditError::Key)?;
            let from = KeyRef::Position(POSITION_MAX + 1, &[]);
            let last = self.neighbour(from, Direction::Backward).filter(|last| *last > end);
            return self.between(Some(last.as_ref().unwrap_or(&end)), None, signature);
        }
        let next = Position::new(next).map_err(EditError::Key)?;
        match signature {
            None => Ok(next),
            Some(own) => next.signed(own).map_err(EditError::Key),
        }
    }

    /// Adds a bare child in a place that is not told by counting.
    pub(crate) fn op_add(
        &mut self,
        parent: &[Key],
        place: Place<'_>,
        signature: Option<&Signature>,
    ) -> Result<Key, EditError> {
        if let (Place::Last, None) = (place, signature) {
            return self.op_add_child(parent);
        }
        self.at(parent, |edit| {
            if let Place::Before(sibling) | Place::After(sibling) = place {
                let key = Key::Position(sibling.clone());
                if locate(edit.arena, edit.here().kids, key.as_ref(), |_| ()).is_none() {
                    return Err(EditError::NoSuchNode { path: Path::from(parent).join(key) });
                }
            }
            edit.check_room(1)?;
            let key = Key::Position(edit.position_in(place, signature)?);
            edit.check_new(parent, &key)?;
            edit.add_child(key.as_ref(), Content::default());
            Ok(key)
        })
    }
}
