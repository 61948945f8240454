//! The end of an object or array: what waited for it is put, what is gone is removed.

use jungle_tree::{KeyRef, Node, ValueRef};

use super::{Build, Frame, duplicate};
use crate::error::ImportError;
use crate::options::MemberOrder;
use crate::{ARRAY_KEY, ORDER_KEY, order};

impl<'b> Build<'_, 'b> {
    /// The object is complete.
    pub(crate) fn end_object(&mut self) -> Result<(), ImportError> {
        let frame = self.frames.last().expect("tokens come in pairs");
        let Frame { was, kept, .. } = *frame;
        let (names_from, scalars_from) = (frame.names_from, frame.scalars_from);
        let order = self.order()?;
        let mut put = 0;
        for index in scalars_from..self.scalars.len() {
            put += self.put_scalar_attribute(was, index)?;
        }
        if !order.is_empty() {
            put += self.put_attribute(was, ORDER_KEY, ValueRef::Bytes(&order))?;
        }
        let has_others =
            |was: &Node<'_>| was.child_count() > kept || was.attributes().count() > put;
        if let Some(was) = was.filter(has_others) {
            self.remove_others(was, !order.is_empty())?;
        }
        self.names.truncate(names_from);
        self.scalars.truncate(scalars_from);
        self.leave();
        Ok(())
    }

    /// The array is complete.
    pub(crate) fn end_array(&mut self) -> Result<(), ImportError> {
        let frame = self.frames.last().expect("tokens come in pairs");
        let Frame { was, kept, elements, .. } = *frame;
        let is_empty = elements == 0;
        if is_empty {
            self.put_attribute(was, ARRAY_KEY, ValueRef::Null)?;
        }
        if let Some(was) = was {
            let is_element = |key: KeyRef<'_>| match key {
                KeyRef::Position(index, fraction) => {
                    fraction.is_empty() && (0..elements as i64).contains(&index)
                }
                KeyRef::Name(_) => false,
            };
            let others = was.children().filter(|&(key, _)| !is_element(key));
            // Mostly there are none, and that is quickly seen.
            let others = if was.child_count() == kept { None } else { Some(others) };
            for (key, _) in others.into_iter().flatten() {
                self.reach()?;
                let removed = self.target.remove_child(&key.to_key());
                self.edited(removed)?;
            }
            for (key, _) in was.attributes().filter(|&(key, _)| !(is_empty && key == ARRAY_KEY)) {
                self.reach()?;
                let removed = self.target.remove_attribute(key);
                self.edited(removed)?;
            }
        }
        self.leave();
        Ok(())
    }

    /// What there is to say about the order of the innermost object's members: nothing, mostly.
    fn order(&mut self) -> Result<Vec<u8>, ImportError> {
        let frame = self.frames.last().expect("a member has a parent");
        if frame.is_sorted {
            return Ok(Vec::new());
        }
        let from = frame.names_from;
        self.sort();
        let name = |index: u32| self.names.get(from + index as usize);
        let twice = self.sorted.windows(2).filter(|pair| name(pair[0]) == name(pair[1]));
        if let Some(second) = twice.map(|pair| pair[1]).min() {
            let place = self.names.place(from + second as usize);
            return Err(duplicate(place, name(second)));
        }
        if self.member_order == MemberOrder::Ignore {
            return Ok(Vec::new());
        }
        let count = self.names.len() - from;
        Ok(order::encode(count, &self.sorted, |index| self.names.get(from + index)))
    }

    /// Sorts the names of the innermost object; of equal ones the first stays first.
    fn sort(&mut self) {
        let Build { frames, names, sorted, .. } = self;
        let frame = frames.last().expect("a member has a parent");
        sorted.clear();
        // A tree has room for fewer.
        sorted.extend(0..(names.len() - frame.names_from) as u32);
        if !frame.is_sorted {
            sorted.sort_by_key(|&index| names.get(frame.names_from + index as usize));
        }
    }

    /// Takes away what the innermost object had and has no more.
    fn remove_others(&mut self, was: Node<'b>, has_order: bool) -> Result<(), ImportError> {
        let from = self.frames.last().expect("a member has a parent").names_from;
        self.sort();
        for (key, _) in was.children() {
            if !matches!(key, KeyRef::Name(name) if self.find(from, name) == Some(true)) {
                self.reach()?;
                let removed = self.target.remove_child(&key.to_key());
                self.edited(removed)?;
            }
        }
        for (key, _) in was.attributes() {
            let is_order = has_order && key == ORDER_KEY;
            if !is_order && self.find(from, key) != Some(false) {
                self.reach()?;
                let removed = self.target.remove_attribute(key);
                self.edited(removed)?;
            }
        }
        Ok(())
    }

    /// Is there a member of this name in the sorted object, and is it a child?
    fn find(&self, from: usize, name: &str) -> Option<bool> {
        let index_name = |&index: &u32| self.names.get(from + index as usize);
        let place = self.sorted.binary_search_by_key(&name, index_name).ok()?;
        Some(self.names.is_child(from + self.sorted[place] as usize))
    }
}
