//! The children of one node: found by key, in order, and compared, whatever blocks they lie in.

mod diff;
mod far;
mod iter;
pub(crate) mod name;

pub(crate) use diff::Differences;
pub(crate) use far::each_at;
pub(crate) use iter::{Children, Direction};
pub(crate) use name::Name;

use crate::arena::{ArenaInner, Memory, Run};
use crate::block::{self, BRANCH, BUCKET, Content, DIRECTORY, Directory, Header};
use crate::key::{Key, KeyRef};

/// One block on the way from a node's children block to one child, and the slot taken there. In a
/// directory slot 0 is the dense root, slot 1 the named one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) block: u32,
    pub(crate) slot: u8,
    /// Where the slot's kid and attributes stand among the block's entries.
    pub(crate) kid_entry: u8,
    pub(crate) attrs_entry: u8,
}

impl Step {
    #[inline(always)]
    pub(crate) fn new(block: u32, header: Header, slot: u32) -> Step {
        let kid_entry = header.kid_entry(slot) as u8;
        Step { block, slot: slot as u8, kid_entry, attrs_entry: header.attrs_entry(slot) as u8 }
    }

    /// As [`Step::new`] for a dense leaf block, which has no names; with what the node holds.
    #[inline(always)]
    pub(crate) fn dense(
        arena: Memory<'_>,
        block: u32,
        header: Header,
        slot: u32,
    ) -> (Step, Content) {
        let below = (1u32 << slot) - 1;
        let kid_entry = (header.kids() & below).count_ones() as u8;
        let attrs_before = (header.attrs() & below).count_ones();
        let attrs_entry = (header.kids().count_ones() + attrs_before) as u8;
        let step = Step { block, slot: slot as u8, kid_entry, attrs_entry };
        (step, step.content(arena, header))
    }

    /// Into one of the two parts of a directory.
    fn directory(block: u32, part: u8) -> Step {
        Step { block, slot: part, kid_entry: part, attrs_entry: 0 }
    }

    /// What the node holds to which this is the last step.
    #[inline(always)]
    fn content(self, arena: Memory<'_>, header: Header) -> Content {
        let get = |bits: u32, entry: u8| {
            let has = bits >> self.slot & 1 == 1;
            if has { block::entry(arena, self.block, usize::from(entry)) } else { 0 }
        };
        Content {
            kids: get(header.kids(), self.kid_entry),
            attrs: get(header.attrs(), self.attrs_entry),
        }
    }
}

/// The whole position that a key is, if it has its place in the dense blocks.
#[inline(always)]
pub(crate) fn dense_position(key: KeyRef<'_>) -> Option<u64> {
    match key {
        KeyRef::Position(index, []) => u64::try_from(index).ok(),
        _ => None,
    }
}

/// How many positions a dense block of this height spans.
#[inline(always)]
pub(crate) fn span(height: u8) -> u64 {
    1 << (4 * (u32::from(height) + 1))
}

/// The child with this key. What is most common, up to 16 children by position, comes first.
#[inline(always)]
pub(crate) fn child(arena: Memory<'_>, kids: u32, key: &Key) -> Option<Content> {
    let Some((run, header, slot)) = dense_slot(arena, kids, key) else {
        return child_elsewhere(arena.inner, kids, key);
    };
    let get = |bits: u32, entry: u32| {
        let has = bits >> slot & 1 == 1;
        if has { block::entry_of(run, entry as usize) } else { 0 }
    };
    (header.present() >> slot & 1 == 1).then(|| Content {
        kids: get(header.kids(), header.dense_kid_entry(slot)),
        attrs: get(header.attrs(), header.dense_attrs_entry(slot)),
    })
}

/// The children block of the child with this key, of which nothing else is wanted; 0 when it has
/// none or is not there. So a path can be followed without a look at where it ends.
#[inline(always)]
pub(crate) fn kids_of_child(arena: Memory<'_>, kids: u32, key: &Key) -> u32 {
    match dense_slot(arena, kids, key) {
        Some((run, header, slot)) if header.kids() >> slot & 1 == 1 => {
            block::entry_of(run, header.dense_kid_entry(slot) as usize)
        }
        Some(_) => 0,
        None => child_elsewhere(arena.inner, kids, key).map_or(0, |content| content.kids),
    }
}

/// The slot that a key would have in a dense leaf block, if `kids` is one. What stands for no
/// block is all zero: it is one without children.
#[inline(always)]
fn dense_slot<'a>(arena: Memory<'a>, kids: u32, key: &Key) -> Option<(Run<'a>, Header, u32)> {
    let slot = key.small_position()?;
    let run = block::run(arena, kids);
    let header = Header::shape(run);
    (header.kind() == 0).then_some((run, header, slot))
}

/// Takes the arena by one pointer: what is passed by value is copied in front of each step.
#[inline(never)]
fn child_elsewhere(arena: &ArenaInner, kids: u32, key: &Key) -> Option<Content> {
    locate(arena.memory(), kids, key.as_ref(), |_| ())
}

/// The child with this key; the steps to it are given to `step`.
#[inline(always)]
pub(crate) fn locate(
    arena: Memory<'_>,
    kids: u32,
    key: KeyRef<'_>,
    mut step: impl FnMut(Step),
) -> Option<Content> {
    if kids == 0 {
        return None;
    }
    let header = Header::load(arena, kids);
    // First what is most common: up to 16 children by position.
    if let KeyRef::Position(index, []) = key
        && header.kind() == 0
    {
        let slot = index as u32;
        if !(0..16).contains(&index) || header.present() >> slot & 1 == 0 {
            return None;
        }
        let (here, content) = Step::dense(arena, kids, header, slot);
        step(here);
        return Some(content);
    }
    locate_elsewhere(arena, kids, header, key, step)
}

#[inline(never)]
fn locate_elsewhere(
    arena: Memory<'_>,
    kids: u32,
    header: Header,
    key: KeyRef<'_>,
    mut step: impl FnMut(Step),
) -> Option<Content> {
    match (header.kind(), dense_position(key)) {
        (DIRECTORY, Some(position)) => {
            step(Step::directory(kids, 0));
            locate_dense(arena, Directory::load(arena, kids).dense, position, step)
        }
        (DIRECTORY, None) => {
            step(Step::directory(kids, 1));
            let named = Directory::load(arena, kids).named;
            locate_named(arena, named, &Name::new(key), step)
        }
        (BUCKET, None) => locate_named(arena, kids, &Name::new(key), step),
        _ => None,
    }
}

fn locate_dense(
    arena: Memory<'_>,
    root: u32,
    position: u64,
    mut step: impl FnMut(Step),
) -> Option<Content> {
    let mut handle = root;
    if handle == 0 || position >= span(Header::load(arena, handle).kind()) {
        return None;
    }
    loop {
        let header = Header::load(arena, handle);
        let height = u32::from(header.kind());
        let slot = (position >> (4 * height)) as u32 & 15;
        if header.present() >> slot & 1 == 0 {
            return None;
        }
        let here = Step::new(handle, header, slot);
        step(here);
        if height == 0 {
            return Some(here.content(arena, header));
        }
        handle = block::kid(arena, handle, header, slot);
    }
}

fn locate_named(
    arena: Memory<'_>,
    root: u32,
    name: &Name<'_>,
    mut step: impl FnMut(Step),
) -> Option<Content> {
    let mut handle = root;
    loop {
        if handle == 0 {
            return None;
        }
        let header = Header::load(arena, handle);
        if header.kind() != BRANCH {
            let slot = name::find(arena, handle, header, name).ok()?;
            step(Step::new(handle, header, slot));
            return Some(block::content(arena, handle, header, slot));
        }
        let slot = name.half_byte(header.attrs());
        step(Step::new(handle, header, slot));
        handle = block::kid(arena, handle, header, slot);
    }
}

/// The parts of a children block, seen as a directory whatever it is.
pub(crate) fn directory(arena: Memory<'_>, kids: u32) -> Directory {
    if kids == 0 {
        return Directory::default();
    }
    let header = Header::load(arena, kids);
    let children = u64::from(header.present().count_ones());
    match header.kind() {
        DIRECTORY => Directory::load(arena, kids),
        BUCKET => Directory { named: kids, children, ..Directory::default() },
        _ => {
            let next = 32 - i64::from(header.present().leading_zeros());
            Directory { dense: kids, next, children, ..Directory::default() }
        }
    }
}
