//! Children in key order, either way, from any key on.

use std::iter::FusedIterator;

use super::{Name, directory, name, span};
use crate::arena::Memory;
use crate::block::{self, BRANCH, BUCKET, Content, Header};
use crate::key::KeyRef;
use crate::planted::{Bug, is_awake};

/// Which way an iteration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
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
            let slot = match self.direction {
                Direction::Forward => frame.rest.trailing_zeros(),
                Direction::Backward => 31 - frame.rest.leading_zeros(),
            };
            frame.rest &= !(1 << slot);
            let Frame { block, base, .. } = *frame;
            let header = Header::load(arena, block);
            if header.is_leaf() {
                let position = base | i64::from(slot);
                return Some(Found { block, slot, position, is_named: self.is_named });
            }
            let base = step_base(header, base, slot);
            let block = block::kid(arena, block, header, slot);
            self.stack.push(Frame { block, rest: Header::load(arena, block).present(), base });
        }
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
            let sample = name::first(arena, block);
            if sample != *name && sample.divergence(name) < header.attrs() {
                // All names under this branch are on the same side of the one sought.
                let ahead = (sample > *name) == (self.direction == Direction::Forward);
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
        Children::started(arena, dense, named)
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
        Children::started(arena, dense, named)
    }

    fn started(arena: Memory<'a>, mut dense: Slots, mut named: Slots) -> Children<'a> {
        let (next_dense, next_named) = (dense.next(arena), named.next(arena));
        Children { arena, dense, named, next_dense, next_named }
    }

    fn key(&self, found: Found) -> KeyRef<'a> {
        if found.is_named {
            name::key(self.arena, block::entry(self.arena, found.block, found.slot as usize))
        } else {
            KeyRef::Position(found.position, &[])
        }
    }

    /// Does the dense child come before the named one?
    fn dense_first(&self) -> Option<bool> {
        let (Some(dense), Some(named)) = (self.next_dense, self.next_named) else {
            return self.next_dense.map(|_| true).or(self.next_named.map(|_| false));
        };
        let forward = self.dense.direction == Direction::Forward;
        Some((self.key(dense) < self.key(named)) == forward)
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
        Some((self.key(found), content))
    }
}

impl FusedIterator for Children<'_> {}

/// The children in one leaf block or under one inner block.
pub(super) fn under<'a>(
    arena: Memory<'a>,
    root: u32,
    base: i64,
) -> impl Iterator<Item = (KeyRef<'a>, Content)> + use<'a> {
    let kind = if root == 0 { 0 } else { Header::load(arena, root).kind() };
    let is_named = kind == BUCKET || kind == BRANCH;
    let mut slots = Slots::new(arena, root, is_named, Direction::Forward);
    if let Some(frame) = slots.stack.first_mut() {
        frame.base = base;
    }
    std::iter::from_fn(move || {
        let found = slots.next(arena)?;
        let header = Header::load(arena, found.block);
        let content = block::content(arena, found.block, header, found.slot);
        let key = if found.is_named {
            name::key(arena, block::entry(arena, found.block, found.slot as usize))
        } else {
            KeyRef::Position(found.position, &[])
        };
        Some((key, content))
    })
}
