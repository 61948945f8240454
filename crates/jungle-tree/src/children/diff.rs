//! What differs between the children of two nodes, in time proportional to the differences:
//! blocks that both share are skipped.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::iter::{self, Under};
use super::{directory, name};
use crate::arena::Memory;
use crate::block::{self, BRANCH, BUCKET, Content, Header, WIDTH};
use crate::key::KeyRef;
use crate::planted::{Bug, is_awake};

/// One child that differs: its content on either side, where it is there.
pub(crate) type Difference<'a> = (KeyRef<'a>, Option<Content>, Option<Content>);

/// So many children of blocks that are gone through child by child are found at a time: there may
/// be more than there is room for, and whoever looks at them may give up.
const MERGED_AT_ONCE: usize = 1_024;

/// Two blocks to compare (0: none), and what the positions in them begin with. No block on either
/// side stands for what is left of those that are being gone through.
struct Pair {
    left: u32,
    right: u32,
    base: i64,
}

/// The children that differ, in no particular order. It can be [begun](Differences::begin) again
/// and again, and keeps its room.
pub(crate) struct Differences<'a> {
    arena: Memory<'a>,
    pairs: Vec<Pair>,
    found: Vec<Difference<'a>>,
    /// What is left of two blocks where not all was found at once.
    merging: Option<Box<Merging<'a>>>,
}

impl<'a> Differences<'a> {
    pub(crate) fn new(arena: Memory<'a>) -> Differences<'a> {
        Differences { arena, pairs: Vec::new(), found: Vec::new(), merging: None }
    }

    /// Begins with the children of two nodes. All that was found before must have been taken.
    pub(crate) fn begin(&mut self, left: u32, right: u32) {
        let (left, right) = (directory(self.arena, left), directory(self.arena, right));
        let parts = [(left.named, right.named), (left.dense, right.dense)];
        let parts = parts.into_iter().filter(|(left, right)| left != right);
        self.pairs.extend(parts.map(|(left, right)| Pair { left, right, base: 0 }));
    }

    /// The child in which two nodes differ, if it is the only one and that is seen at once: where
    /// both have all children in one block, and the same ones.
    pub(crate) fn only(&self, left: u32, right: u32) -> Option<(KeyRef<'a>, Content, Content)> {
        if left == 0 || right == 0 {
            return None;
        }
        let arena = self.arena;
        [left, right].iter().for_each(|block| block::prefetch(arena, *block));
        let (l, r) = (Header::load(arena, left), Header::load(arena, right));
        let slots = self.differing_children([left, right], l, r)?;
        let slot = slots.is_power_of_two().then(|| slots.trailing_zeros())?;
        let key = match l.kind() {
            BUCKET => name::key(arena, block::entry(arena, left, slot as usize)),
            _ => KeyRef::Position(i64::from(slot), &[]),
        };
        let content = |block, header| block::content(arena, block, header, slot);
        Some((key, content(left, l), content(right, r)))
    }

    fn compare(&mut self, pair: Pair) {
        let Pair { left, right, base } = pair;
        if left == 0 || right == 0 {
            return self.merge(&pair);
        }
        let (l, r) = (Header::load(self.arena, left), Header::load(self.arena, right));
        match (l.kind(), r.kind()) {
            (0, 0) => return self.compare_dense(&pair, l, r),
            (BUCKET, BUCKET) => return self.compare_buckets(&pair, l, r),
            (BUCKET, _) | (_, BUCKET) => return self.merge(&pair),
            _ => {}
        }
        let (l_order, r_order) = (order(l), order(r));
        let whole = match l_order.cmp(&r_order) {
            Ordering::Equal => Some(0),
            Ordering::Less => self.slot_of(right, left, l),
            Ordering::Greater => self.slot_of(left, right, r),
        };
        // The slot of the one that splits first in which all of the other would lie.
        let Some(whole) = whole else {
            return self.merge(&pair);
        };
        let slots = if l_order == r_order && l.kids() == r.kids() {
            self.differing_slots([left, right], 0, [l.kids(), 0])
        } else {
            None
        };
        let slots = slots.unwrap_or(u32::MAX);
        for slot in (0..WIDTH as u32).rev().filter(|slot| slots >> slot & 1 == 1) {
            let base = if l.kind() == BRANCH {
                0
            } else {
                base | i64::from(slot) << (4 * u32::from(l.kind().max(r.kind())))
            };
            let l_kid = block::kid(self.arena, left, l, slot);
            let r_kid = block::kid(self.arena, right, r, slot);
            let (left, right) = match l_order.cmp(&r_order) {
                Ordering::Equal => (l_kid, r_kid),
                Ordering::Less => (l_kid, if whole == slot { right } else { 0 }),
                Ordering::Greater => (if whole == slot { left } else { 0 }, r_kid),
            };
            if left != right {
                self.pairs.push(Pair { left, right, base });
            }
        }
    }

    /// The slot of the block `outer` in which all of `inner`, which splits later, would lie;
    /// `None` when they have no name in common.
    fn slot_of(&self, inner: u32, outer: u32, header: Header) -> Option<u32> {
        if header.kind() != BRANCH {
            return Some(0); // The lower one has only small positions.
        }
        let (inner, outer) = (name::first(self.arena, inner), name::first(self.arena, outer));
        let together = inner == outer || inner.divergence(&outer) >= header.attrs();
        together.then(|| inner.half_byte(header.attrs()))
    }

    /// The slots in which two leaf blocks differ that have the same children, of which the same
    /// ones have children and attributes: most pairs are such, since an edit copies the blocks of a
    /// path and replaces one entry in each. `None` of others.
    fn differing_children(&self, blocks: [u32; 2], l: Header, r: Header) -> Option<u32> {
        let shape = |of: Header| (of.kind(), of.present(), of.kids(), of.attrs());
        if !matches!(l.kind(), 0 | BUCKET) || shape(l) != shape(r) {
            return None;
        }
        self.differing_slots(blocks, l.names() as u32, [l.kids(), l.attrs()])
    }

    /// The slots in which two blocks differ that have so many names, and entries for the same
    /// slots: first those of one set, then those of another. `None` if they have other names.
    fn differing_slots(&self, blocks: [u32; 2], names: u32, sets: [u32; 2]) -> Option<u32> {
        let [left, right] = blocks.map(|block| block::loaded(self.arena, block));
        let counts = sets.map(u32::count_ones);
        let entries = block::differing_entries(left, right, names + counts[0] + counts[1]);
        let (named, mut entries) = (entries & ((1 << names) - 1), entries >> names);
        let mut slots = 0;
        while entries != 0 {
            let entry = entries.trailing_zeros();
            entries &= entries - 1;
            slots |= match entry.checked_sub(counts[0]) {
                None => bit_of(sets[0], entry),
                Some(entry) => bit_of(sets[1], entry),
            };
        }
        if is_awake(Bug::DiffSkipsSlot) {
            slots &= !(1 << 3);
        }
        (named == 0).then_some(slots)
    }

    /// Two leaf blocks of positions, slot by slot.
    fn compare_dense(&mut self, pair: &Pair, l: Header, r: Header) {
        let alike = self.differing_children([pair.left, pair.right], l, r);
        let mut slots = alike.unwrap_or(l.present() | r.present());
        while slots != 0 {
            let slot = slots.trailing_zeros();
            slots &= slots - 1;
            let content = |block, header: Header| {
                let is_there = header.present() >> slot & 1 == 1;
                is_there.then(|| block::content(self.arena, block, header, slot))
            };
            let (l, r) = (content(pair.left, l), content(pair.right, r));
            if l != r {
                self.found.push((KeyRef::Position(pair.base | i64::from(slot), &[]), l, r));
            }
        }
    }

    /// Two buckets side by side. Most names are the same records, and need not be looked at.
    fn compare_buckets(&mut self, pair: &Pair, l: Header, r: Header) {
        let arena = self.arena;
        let name = |block, header: Header, slot: u32| {
            let is_there = (slot as usize) < header.names();
            is_there.then(|| block::entry(arena, block, slot as usize))
        };
        let (mut l_slot, mut r_slot) = (0, 0);
        loop {
            let names = (name(pair.left, l, l_slot), name(pair.right, r, r_slot));
            let order = match names {
                (None, None) => return,
                (Some(l), Some(r)) if l == r => Ordering::Equal,
                (Some(l), Some(r)) => name::key(arena, l).cmp(&name::key(arena, r)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            let content = |block, header, slot| block::content(arena, block, header, slot);
            let left = order.is_le().then(|| content(pair.left, l, l_slot));
            let right = order.is_ge().then(|| content(pair.right, r, r_slot));
            if left != right {
                let name = if order.is_le() { names.0 } else { names.1 };
                let key = name::key(arena, name.expect("one of them is there"));
                self.found.push((key, left, right));
            }
            l_slot += u32::from(order.is_le());
            r_slot += u32::from(order.is_ge());
        }
    }

    /// Blocks of different kinds, child by child.
    fn merge(&mut self, pair: &Pair) {
        let mut merging = match self.merging.take() {
            Some(begun) => *begun,
            None => Merging::new(self.arena, pair),
        };
        self.found.extend(merging.by_ref().take(MERGED_AT_ONCE));
        if self.found.len() == MERGED_AT_ONCE {
            self.merging = Some(Box::new(merging));
            self.pairs.push(Pair { left: 0, right: 0, base: 0 });
        }
    }
}

/// The children that differ under two blocks, in order.
struct Merging<'a> {
    left: Peekable<Under<'a>>,
    right: Peekable<Under<'a>>,
}

impl<'a> Merging<'a> {
    fn new(arena: Memory<'a>, pair: &Pair) -> Merging<'a> {
        let under = |root| iter::under(arena, root, pair.base).peekable();
        Merging { left: under(pair.left), right: under(pair.right) }
    }
}

impl<'a> Iterator for Merging<'a> {
    type Item = Difference<'a>;

    fn next(&mut self) -> Option<Difference<'a>> {
        loop {
            let order = match (self.left.peek(), self.right.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((l, _)), Some((r, _))) => l.cmp(r),
            };
            let l = if order.is_le() { self.left.next() } else { None };
            let r = if order.is_ge() { self.right.next() } else { None };
            let key = l.or(r).map(|(key, _)| key).expect("one of them is there");
            let (l, r) = (l.map(|(_, content)| content), r.map(|(_, content)| content));
            if l != r {
                return Some((key, l, r));
            }
        }
    }
}

/// The bit of these that has so many below it.
fn bit_of(mut bits: u32, below: u32) -> u32 {
    if bits & bits.wrapping_add(1) == 0 {
        return 1 << below; // All of them: without a loop of which nobody can guess the end.
    }
    for _ in 0..below {
        bits &= bits.wrapping_sub(1);
    }
    bits & bits.wrapping_neg()
}

/// Blocks that split first come first: a lower half-byte, a greater height.
fn order(header: Header) -> u32 {
    if header.kind() == BRANCH { header.attrs() } else { u32::from(u8::MAX - header.kind()) }
}

impl<'a> Iterator for Differences<'a> {
    type Item = Difference<'a>;

    fn next(&mut self) -> Option<Difference<'a>> {
        loop {
            if let Some(found) = self.found.pop() {
                return Some(found);
            }
            let pair = self.pairs.pop()?;
            self.compare(pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, Key, Tree};

    #[test]
    fn few_of_many_children_are_held_at_a_time() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        let versions = [0, 8, 20_000].map(|names| {
            let mut new = tree.snapshot().root().child_count()..names;
            let key = |n: u64| Key::from(format!("n{n}"));
            tree.edit(|editor| new.try_for_each(|n| editor.insert_child(&[], &key(n)))).unwrap();
            tree.snapshot()
        });
        let kids = versions.each_ref().map(|version| version.root().content().kids);
        let mut differences = Differences::new(versions[0].root().cell().memory());
        for (left, right, expected) in [(0, 2, 20_000), (1, 2, 19_992), (2, 1, 19_992)] {
            differences.begin(kids[left], kids[right]);
            let (mut found, mut held) = (0, 0_usize);
            while differences.next().is_some() {
                found += 1;
                held = held.max(differences.found.len());
            }
            assert_eq!(found, expected);
            assert!(held < MERGED_AT_ONCE, "{held}");
        }
    }
}
