//! Children in key order, either way, from any key on.

use std::iter::FusedIterator;

use super::{Name, directory, name, span};
use crate::arena::Memory;
use crate::block::{self, BRANCH, BUCKET, Content, Directory, Header, WIDTH};
use crate::key::KeyRef;
use crate::planted::{Bug, is_awake};

/// So many children of one kind in a row are stepped over before it gallops.
const STEPS: u32 = 2;

/// To leave out more than this a place is searched for; to step there costs less otherwise.
const SEARCH_MIN: u64 = 512;

/// Which way an iteration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// The first of some slots.
    fn first(self, slots: u32) -> u32 {
        match self {
            Direction::Forward => slots.trailing_zeros(),
            Direction::Backward => 31 - slots.leading_zeros(),
        }
    }
}

/// A block with the slots still to come, and what its positions begin with.
#[derive(Clone, Copy)]
struct Frame {
    block: u32,
    rest: u32,
    base: i64,
}

/// A child on its way out: where it lies, and its key as far as the blocks tell.
#[derive(Clone, Copy)]
struct Found {
    block: u32,
    slot: u32,
    position: i64,
    is_named: bool,
}

fn key(arena: Memory<'_>, found: Found) -> KeyRef<'_> {
    if found.is_named {
        name::key(arena, block::entry(arena, found.block, found.slot as usize))
    } else {
        KeyRef::Position(found.position, &[])
    }
}

/// The leaf slots under one root, in order.
#[derive(Clone)]
struct Slots {
    stack: Vec<Frame>,
    direction: Direction,
    is_named: bool,
}

impl Slots {
    fn new(arena: Memory<'_>, root: u32, is_named: bool, direction: Direction) -> Slots {
        let mut slots = Slots { stack: Vec::new(), direction, is_named };
        if root != 0 {
            let rest = Header::load(arena, root).present();
            slots.stack.push(Frame { block: root, rest, base: 0 });
        }
        slots
    }

    fn next(&mut self, arena: Memory<'_>) -> Option<Found> {
        loop {
            let frame = self.stack.last_mut()?;
            frame.rest &= if is_awake(Bug::IterationSkipsSlot) { 0x7fff } else { 0xffff };
            if frame.rest == 0 {
                self.stack.pop();
                continue;
            }
            let slot = self.direction.first(frame.rest);
            frame.rest &= !(1 << slot);
            let Frame { block, base, .. } = *frame;
            let header = Header::load(arena, block);
            if header.is_leaf() {
                return Some(self.found(block, base, slot));
            }
            let base = step_base(header, base, slot);
            let block = block::kid(arena, block, header, slot);
            self.stack.push(Frame { block, rest: Header::load(arena, block).present(), base });
        }
    }

    /// Leaves out the next `count` slots, as long as `is_passed` says so of their positions, and
    /// tells how many these were. A leaf block is left out as a whole; so is an inner one if each
    /// node that it counts is a child (`is_flat`), since children of children are counted, too.
    fn skip(
        &mut self,
        arena: Memory<'_>,
        count: u64,
        is_flat: bool,
        is_passed: impl Fn(i64) -> bool,
    ) -> u64 {
        let mut left = count;
        while left > 0 {
            let Some(frame) = self.stack.last_mut() else { break };
            if frame.rest == 0 {
                self.stack.pop();
                continue;
            }
            let slot = self.direction.first(frame.rest);
            let Frame { block, base, .. } = *frame;
            let header = Header::load(arena, block);
            if header.is_leaf() {
                if !is_passed(base | i64::from(slot)) {
                    break;
                }
                frame.rest &= !(1 << slot);
                left -= 1;
                continue;
            }
            frame.rest &= !(1 << slot);
            let base = step_base(header, base, slot);
            let block = block::kid(arena, block, header, slot);
            let below = Header::load(arena, block);
            let slots = if below.is_leaf() {
                Some(below.present().count_ones())
            } else {
                is_flat.then(|| below.count())
            };
            let last = match self.direction {
                Direction::Forward if !self.is_named => base | (span(below.kind()) - 1) as i64,
                _ => base,
            };
            match slots.map(u64::from) {
                Some(slots) if slots <= left && is_passed(last) => left -= slots,
                _ => self.stack.push(Frame { block, rest: below.present(), base }),
            }
        }
        count - left
    }

    /// How many slots are left, where each node that a block counts is one.
    fn rest(&self, arena: Memory<'_>) -> u64 {
        let left = self.stack.iter().map(|frame| {
            let header = Header::load(arena, frame.block);
            if header.is_leaf() {
                return u64::from(frame.rest.count_ones());
            }
            let slots = (0..WIDTH as u32).filter(|slot| frame.rest >> slot & 1 == 1);
            let kids = slots.map(|slot| block::kid(arena, frame.block, header, slot));
            kids.map(|kid| u64::from(block::count(arena, kid))).sum()
        });
        left.sum()
    }

    fn found(&self, block: u32, base: i64, slot: u32) -> Found {
        Found { block, slot, position: base | i64::from(slot), is_named: self.is_named }
    }

    /// Leaves only what is at or behind `position` in the direction of travel.
    fn seek_dense(&mut self, arena: Memory<'_>, position: u64) {
        let Some(Frame { block, .. }) = self.stack.pop() else {
            return;
        };
        let (mut block, mut base) = (block, 0);
        if position >= span(Header::load(arena, block).kind()) {
            if self.direction == Direction::Backward {
                self.stack.push(Frame { block, rest: Header::load(arena, block).present(), base });
            }
            return;
        }
        loop {
            let header = Header::load(arena, block);
            let slot = (position >> (4 * u32::from(header.kind()))) as u32 & 15;
            if header.is_leaf() {
                let rest = self.starting_at(header.present(), slot, true);
                self.stack.push(Frame { block, rest, base });
                return;
            }
            let rest = self.starting_at(header.present(), slot, false);
            self.stack.push(Frame { block, rest, base });
            if header.present() >> slot & 1 == 0 {
                return;
            }
            base = step_base(header, base, slot);
            block = block::kid(arena, block, header, slot);
        }
    }

    fn seek_named(&mut self, arena: Memory<'_>, name: &Name<'_>) {
        let Some(Frame { block, .. }) = self.stack.pop() else {
            return;
        };
        let near = name::nearest(arena, block, name);
        let divergence = (near != *name).then(|| near.divergence(name));
        let mut block = block;
        loop {
            let header = Header::load(arena, block);
            if header.kind() != BRANCH {
                let (slot, found) = match name::find(arena, block, header, name) {
                    Ok(slot) => (slot, true),
                    Err(slot) => (slot, false),
                };
                let rest = match self.direction {
                    Direction::Forward => self.starting_at(header.present(), slot, true),
                    Direction::Backward => self.starting_at(header.present(), slot, found),
                };
                self.stack.push(Frame { block, rest, base: 0 });
                return;
            }
            if divergence.is_some_and(|divergence| divergence < header.attrs()) {
                // All names under this branch are on the same side of the one sought.
                let ahead = (near > *name) == (self.direction == Direction::Forward);
                let rest = if ahead { header.present() } else { 0 };
                self.stack.push(Frame { block, rest, base: 0 });
                return;
            }
            let slot = name.half_byte(header.attrs());
            let rest = self.starting_at(header.present(), slot, false);
            self.stack.push(Frame { block, rest, base: 0 });
            if header.present() >> slot & 1 == 0 {
                return;
            }
            block = block::kid(arena, block, header, slot);
        }
    }

    fn starting_at(&self, present: u32, slot: u32, inclusive: bool) -> u32 {
        let below = (1 << slot) - 1;
        let at = if inclusive { 1 << slot } else { 0 };
        match self.direction {
            Direction::Forward => present & !(below | 1 << slot) | present & at,
            Direction::Backward => present & below | present & at,
        }
    }
}

/// What positions begin with below a slot of an inner block.
fn step_base(header: Header, base: i64, slot: u32) -> i64 {
    match header.kind() {
        BRANCH => 0,
        height => base | i64::from(slot) << (4 * u32::from(height)),
    }
}

/// The children of a node with their keys, in order.
#[derive(Clone)]
pub(crate) struct Children<'a> {
    arena: Memory<'a>,
    kids: u32,
    dense: Slots,
    named: Slots,
    next_dense: Option<Found>,
    next_named: Option<Found>,
}

impl<'a> Children<'a> {
    pub(crate) fn new(arena: Memory<'a>, kids: u32, direction: Direction) -> Children<'a> {
        let directory = directory(arena, kids);
        let dense = Slots::new(arena, directory.dense, false, direction);
        let named = Slots::new(arena, directory.named, true, direction);
        Children::started(arena, kids, dense, named)
    }

    /// Beginning at `key`, or with the next child in the direction of travel.
    pub(crate) fn from_key(
        arena: Memory<'a>,
        kids: u32,
        key: KeyRef<'_>,
        direction: Direction,
    ) -> Children<'a> {
        let directory = directory(arena, kids);
        let mut dense = Slots::new(arena, directory.dense, false, direction);
        let mut named = Slots::new(arena, directory.named, true, direction);
        named.seek_named(arena, &Name::new(key));
        match (key, direction) {
            (KeyRef::Name(_), Direction::Forward) => dense.stack.clear(),
            (KeyRef::Name(_), Direction::Backward) => (),
            (KeyRef::Position(index, fraction), _) => {
                // A fraction stands between its integer and the next one.
                let between = !fraction.is_empty() && direction == Direction::Forward;
                let from = index.saturating_add(i64::from(between));
                match (u64::try_from(from), direction) {
                    (Ok(from), _) => dense.seek_dense(arena, from),
                    (Err(_), Direction::Forward) => (),
                    (Err(_), Direction::Backward) => dense.stack.clear(),
                }
            }
        }
        Children::started(arena, kids, dense, named)
    }

    fn started(arena: Memory<'a>, kids: u32, mut dense: Slots, mut named: Slots) -> Children<'a> {
        let (next_dense, next_named) = (dense.next(arena), named.next(arena));
        Children { arena, kids, dense, named, next_dense, next_named }
    }

    /// Leaves out the next `count` children. Where children by position and by name lie between
    /// each other it searches for the place if the blocks count the children, and steps otherwise;
    /// it gallops when many of one kind come in a row.
    fn skip(&mut self, count: u64) {
        let directory = directory(self.arena, self.kids);
        if directory.named == 0 && directory.children == directory.next as u64 {
            return self.skip_positions(&directory, count);
        }
        let is_flat = directory.children == u64::from(block::count(self.arena, self.kids));
        let left = if is_flat { self.search(&directory, count) } else { None };
        let is_searched = left.is_some();
        let (mut left, mut in_a_row, mut was_dense) = (left.unwrap_or(count), 0, true);
        while left > 0 {
            let Some(is_dense) = self.dense_first() else { break };
            in_a_row = if is_dense == was_dense { in_a_row + 1 } else { 0 };
            was_dense = is_dense;
            let is_alone = self.next_dense.is_none() || self.next_named.is_none();
            let more = if is_alone || in_a_row > STEPS { left - 1 } else { 0 };
            left -= 1 + self.skip_one_side(is_dense, more, is_flat, is_searched);
        }
    }

    /// Goes to the last whole position in front of which at most `count` children lie, by halving
    /// what is between. Tells how many are still to be left out: they lie in front of the next
    /// whole position. Each node that a block counts must be a child.
    fn search(&mut self, directory: &Directory, count: u64) -> Option<u64> {
        let (dense, _) = (self.next_dense?, self.next_named?);
        if count < SEARCH_MIN {
            return None;
        }
        let (arena, direction) = (self.arena, self.dense.direction);
        let goal = self.rest().saturating_sub(count);
        let (mut near, mut far) = match direction {
            Direction::Forward => {
                (dense.position - 1, span(Header::load(arena, directory.dense).kind()) as i64)
            }
            Direction::Backward => (dense.position + 1, -1),
        };
        let mut left = count;
        while near.abs_diff(far) > 1 {
            let middle = i64::midpoint(near, far);
            let key = KeyRef::Position(middle, &[]);
            let there = Children::from_key(arena, self.kids, key, direction);
            match there.rest().checked_sub(goal) {
                Some(more) => (near, left, *self) = (middle, more, there),
                None => far = middle,
            }
        }
        Some(left)
    }

    /// How many children are left, where each node that a block counts is one.
    fn rest(&self) -> u64 {
        let next = u64::from(self.next_dense.is_some()) + u64::from(self.next_named.is_some());
        next + self.dense.rest(self.arena) + self.named.rest(self.arena)
    }

    /// Where each position below the next one is a child, the n-th is known.
    fn skip_positions(&mut self, directory: &Directory, count: u64) {
        let Some(found) = self.next_dense else { return };
        let position = u64::try_from(found.position).expect("positions in dense blocks");
        let (target, direction) = match self.dense.direction {
            Direction::Forward => (position.checked_add(count), Direction::Forward),
            Direction::Backward => (position.checked_sub(count), Direction::Backward),
        };
        self.dense = Slots::new(self.arena, directory.dense, false, direction);
        match target {
            Some(target) => self.dense.seek_dense(self.arena, target),
            None => self.dense.stack.clear(),
        }
        self.next_dense = self.dense.next(self.arena);
    }

    /// Leaves out one child, and up to `more` of those behind it that are kept the same way; tells
    /// how many of these.
    fn skip_one_side(
        &mut self,
        is_dense: bool,
        more: u64,
        is_flat: bool,
        is_searched: bool,
    ) -> u64 {
        let (arena, direction) = (self.arena, self.dense.direction);
        let skipped = match (is_dense, self.next_dense) {
            (true, _) => {
                let limit = self.next_named.map(|found| key(arena, found));
                let is_passed = |position| {
                    let key = KeyRef::Position(position, &[]);
                    limit.is_none_or(|limit| (key < limit) == (direction == Direction::Forward))
                };
                self.dense.skip(arena, more, is_flat, is_passed)
            }
            // Once it was searched for a place, none by position lies in front of it.
            (false, limit) if limit.is_none() || is_searched => {
                self.named.skip(arena, more, is_flat, |_| true)
            }
            (false, _) => 0,
        };
        if is_dense {
            self.next_dense = self.dense.next(arena);
        } else {
            self.next_named = self.named.next(arena);
        }
        skipped
    }

    /// Does the dense child come before the named one?
    fn dense_first(&self) -> Option<bool> {
        let (Some(dense), Some(named)) = (self.next_dense, self.next_named) else {
            return self.next_dense.map(|_| true).or(self.next_named.map(|_| false));
        };
        let forward = self.dense.direction == Direction::Forward;
        Some((key(self.arena, dense) < key(self.arena, named)) == forward)
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = (KeyRef<'a>, Content);

    fn next(&mut self) -> Option<Self::Item> {
        let arena = self.arena;
        let found = if self.dense_first()? {
            std::mem::replace(&mut self.next_dense, self.dense.next(arena))
        } else {
            std::mem::replace(&mut self.next_named, self.named.next(arena))
        }?;
        let header = Header::load(arena, found.block);
        let content = block::content(arena, found.block, header, found.slot);
        Some((key(arena, found), content))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.skip(n as u64);
        self.next()
    }
}

impl FusedIterator for Children<'_> {}

/// The children in one leaf block or under one inner block.
pub(super) struct Under<'a> {
    arena: Memory<'a>,
    slots: Slots,
}

pub(super) fn under(arena: Memory<'_>, root: u32, base: i64) -> Under<'_> {
    let kind = if root == 0 { 0 } else { Header::load(arena, root).kind() };
    let is_named = kind == BUCKET || kind == BRANCH;
    let mut slots = Slots::new(arena, root, is_named, Direction::Forward);
    if let Some(frame) = slots.stack.first_mut() {
        frame.base = base;
    }
    Under { arena, slots }
}

impl<'a> Iterator for Under<'a> {
    type Item = (KeyRef<'a>, Content);

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.slots.next(self.arena)?;
        let header = Header::load(self.arena, found.block);
        let content = block::content(self.arena, found.block, header, found.slot);
        Some((key(self.arena, found), content))
    }
}
