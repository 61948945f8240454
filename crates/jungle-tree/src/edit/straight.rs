//! One call on a straight path: every node on it has at most 16 children, all by position. Nearly
//! all paths of a tree that counts its children are so.
//!
//! The zipper copies a path on its way up. Here it is copied on the way down, while the processor
//! waits for the next block, and neither steps nor frames are kept. Where the path turns out not
//! to be straight, the zipper goes on with what is copied by then; what it refuses is undone.

use super::{Edit, EditError};
use crate::arena::Run;
use crate::block::{self, Content, Header, Place, WIDTH};
use crate::key::Key;
use crate::line::Dead;
use crate::value::ValueRef;

/// The most blocks of a straight path; the zipper does the rest of a longer one.
const BLOCKS_MAX: usize = 16;

/// The way from the root down, as it is in the version being made.
struct Way {
    blocks: [u32; BLOCKS_MAX],
    len: usize,
    /// So many at the beginning are the running version's already; the rest are copies.
    own: usize,
    /// The root before.
    was: u32,
}

/// Where a straight path ends: the last block, not copied yet, and the slot of the node in it.
#[derive(Clone, Copy)]
struct End<'a> {
    block: u32,
    run: Run<'a>,
    header: Header,
    slot: u32,
    /// Where the block stands in the one above it, if there is one.
    above: Option<(Run<'a>, Place)>,
}

/// A dense block of children, and the position of the next one.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    kids: u32,
    run: Run<'a>,
    header: Header,
    next: u32,
}

impl<'a> Edit<'a> {
    /// Puts an attribute of the node at `path`.
    #[inline(always)]
    pub(super) fn put_straight(
        &mut self,
        path: &[Key],
        key: &str,
        value: ValueRef<'_>,
    ) -> Result<(), EditError> {
        let mut way = Way::from(self.root);
        let done = match self.straight_down(&mut way, path, 0) {
            Some(end) => self.put_at_end(&mut way, end, key, value),
            None => self.at(path, |edit| edit.put_attribute(key, value)),
        };
        if done.is_err() {
            self.undo(&way);
        }
        done
    }

    /// Adds a bare child to the node at `path`, at the next position.
    #[inline(never)]
    pub(super) fn add_straight(&mut self, path: &[Key]) -> Result<Key, EditError> {
        self.allocator.buffers.nodes = u64::from(block::count(self.arena, self.root));
        self.check_room(1)?;
        let mut way = Way::from(self.root);
        let end = self.straight_down(&mut way, path, 1);
        if let Some(position) = end.and_then(|end| self.add_at_end(&mut way, end)) {
            self.count(&way.blocks[..way.own], 1);
            return Ok(Key::from(position));
        }
        self.count(&way.blocks[way.own..way.len], -1);
        let added = self.at(path, Self::add_next);
        if added.is_err() {
            self.undo(&way);
        }
        added
    }

    /// Goes down the path and copies all blocks on it but the last, with `added` nodes more; what
    /// need not be copied is left as it is, for a load further down may fail. `None` when the path
    /// is not straight, or there is no such node.
    #[inline(always)]
    fn straight_down(&mut self, way: &mut Way, path: &[Key], added: u32) -> Option<End<'a>> {
        if path.len() >= BLOCKS_MAX {
            return None;
        }
        let run = block::run(self.arena, self.root);
        let header = Header::of(run);
        let mut end = End { block: self.root, run, header, slot: 0, above: None };
        for key in path {
            if end.header.kids() >> end.slot & 1 == 0 {
                return None;
            }
            let place = Place::of(end.header.dense_kid_entry(end.slot) as usize);
            let block = place.get(end.run);
            block::prefetch_rest(self.arena, block);
            let copy = self.own_end(way, &end, added);
            let run = block::run(self.arena, block);
            let header = Header::of(run);
            let slot = key.small_position()?;
            end = End { block, run, header, slot, above: Some((copy, place)) };
            if header.kind() != 0 {
                return None;
            }
        }
        let is_there = end.header.present() >> end.slot & 1 == 1;
        is_there.then_some(end)
    }

    /// The last block to write to: itself where this edit owns it, else a copy in its place, with
    /// `added` nodes more.
    #[inline(always)]
    fn own_end(&mut self, way: &mut Way, end: &End<'a>, added: u32) -> Run<'a> {
        let mut own = (end.block, end.run);
        if end.header.is_born_in(self.version) {
            way.own += 1;
        } else {
            own = self.copy_dense(end.block, end.run, end.header, added);
            self.replace_end(end, own.0);
        }
        way.blocks[way.len % BLOCKS_MAX] = own.0;
        way.len += 1;
        own.1
    }

    /// Puts another block in the place of the last one.
    #[inline(always)]
    fn replace_end(&mut self, end: &End<'a>, own: u32) {
        match end.above {
            Some((above, place)) => place.replace(above, end.block, own),
            None => self.root = own,
        }
    }

    /// A copy of a dense block under this header, with `added` nodes more.
    #[inline(always)]
    fn copy_dense(
        &mut self,
        block: u32,
        run: Run<'a>,
        header: Header,
        added: u32,
    ) -> (u32, Run<'a>) {
        let words = header.dense_words();
        let copy = self.allocator.take_block(self.arena, words);
        let to = block::loaded(self.arena, copy);
        header.reborn(self.version, added).write(to);
        block::copy_entries(run, to, words);
        self.allocator.buffers.dead.push(Dead::new(block, words, false, header.birth()));
        (copy, to)
    }

    #[inline(always)]
    fn put_at_end(
        &mut self,
        way: &mut Way,
        end: End<'a>,
        key: &str,
        value: ValueRef<'_>,
    ) -> Result<(), EditError> {
        let has_attributes = end.header.attrs() >> end.slot & 1 == 1;
        if !has_attributes {
            let attrs = self.with_attribute(0, key, value)?;
            let kids = block::kid(self.arena, end.block, end.header, end.slot);
            let now = Content { kids, attrs };
            let own = self.set_content_bits(end.block, end.header, end.slot, now, 0);
            self.replace_end(&end, own);
            return Ok(());
        }
        let place = Place::of(end.header.dense_attrs_entry(end.slot) as usize);
        let was = place.get(end.run);
        block::prefetch_replaced(self.arena, was);
        let own = self.own_end(way, &end, 0);
        let attrs = self.with_attribute(was, key, value)?;
        place.replace(own, was, attrs);
        Ok(())
    }

    /// Adds a child at the next position; `None` when it does not belong into one dense block.
    #[inline(always)]
    fn add_at_end(&mut self, way: &mut Way, end: End<'a>) -> Option<u32> {
        let has_kids = end.header.kids() >> end.slot & 1 == 1;
        if !has_kids {
            let kids = self.new_block(0, 0, 0, Content::default(), 1);
            let was = block::content(self.arena, end.block, end.header, end.slot);
            let now = Content { kids, attrs: was.attrs };
            let own = self.set_content_bits(end.block, end.header, end.slot, now, 1);
            self.replace_end(&end, own);
            return Some(0);
        }
        let place = Place::of(end.header.dense_kid_entry(end.slot) as usize);
        let was = place.get(end.run);
        let leaf = self.leaf_with_room(was)?;
        let above = self.own_end(way, &end, 1);
        let (position, kids) = self.append_bare(leaf);
        place.replace(above, was, kids);
        Some(position)
    }

    /// These children, if they are there and the next one belongs into the same dense block.
    #[inline(always)]
    pub(super) fn leaf_with_room(&self, kids: u32) -> Option<Leaf<'a>> {
        if kids == 0 {
            return None;
        }
        let run = block::run(self.arena, kids);
        let header = Header::of(run);
        let next = WIDTH as u32 * 2 - header.present().leading_zeros();
        (header.kind() == 0 && next < WIDTH as u32).then_some(Leaf { kids, run, header, next })
    }

    /// Adds a bare child; gives its position, and the block that the children are in now.
    #[inline(always)]
    pub(super) fn append_bare(&mut self, leaf: Leaf<'a>) -> (u32, u32) {
        let Leaf { kids, run, header, next } = leaf;
        let header = header.with_present(next);
        if header.is_born_in(self.version) {
            header.with_added(1).write(run);
            return (next, kids);
        }
        (next, self.copy_dense(kids, run, header, 1).0)
    }

    /// These blocks have `added` nodes more.
    fn count(&self, blocks: &[u32], added: i64) {
        for &block in blocks {
            let run = block::loaded(self.arena, block);
            Header::of(run).with_added(added).write(run);
        }
    }

    /// After a refusal: gives the copies back, and is where it was.
    #[cold]
    fn undo(&mut self, way: &Way) {
        let dead = std::mem::take(&mut self.allocator.buffers.dead);
        self.root = way.was;
        if let (Some(above), Some(first)) = (way.own.checked_sub(1), dead.first()) {
            let above = block::loaded(self.arena, way.blocks[above]);
            let mut entries = 0..Header::of(above).kids().count_ones() as usize;
            let entry = entries.find(|&i| block::entry_of(above, i) == way.blocks[way.own]);
            let entry = entry.expect("a copy stands in the block above it");
            block::set_entry_of(above, entry, first.handle);
        }
        for &copy in &way.blocks[way.own..way.len] {
            let header = Header::load(self.arena, copy);
            self.allocator.free(self.arena, Dead::block(copy, header));
        }
    }
}

impl Way {
    fn from(root: u32) -> Way {
        Way { blocks: [0; BLOCKS_MAX], len: 0, own: 0, was: root }
    }
}
