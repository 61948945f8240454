//! One call on a straight path: every node on it has at most 16 children, all by position. Nearly
//! all paths of a tree that counts its children are so.
//!
//! The zipper copies a path on its way up. Here it is copied on the way down, while the processor
//! waits for the next block, and neither steps nor frames are kept. Where the path turns out not
//! to be straight, the zipper goes on with what is copied by then; what it refuses is undone.

use super::{Edit, EditError};
use crate::arena::Run;
use crate::block::{self, Content, Header, WIDTH};
use crate::key::Key;
use crate::line::Dead;
use crate::value::ValueRef;

/// The most blocks of a straight path; the zipper does the rest of a longer one.
const BLOCKS_MAX: usize = 16;

/// The way from the root down, as it is in the version being made.
struct Way {
    blocks: [u32; BLOCKS_MAX],
    len: usize,
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
    above: Option<(Run<'a>, u32)>,
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
        let mut way = Way { blocks: [0; BLOCKS_MAX], len: 0, was: self.root };
        let done = match self.straight_down(&mut way, path) {
            Some(end) => self.put_at_end(&mut way, end, key, value),
            None => self.at(path, |edit| edit.put_attribute(key, value)),
        };
        if done.is_err() {
            self.undo(&way);
        }
        done
    }

    /// Adds a bare child to the node at `path`, at the next position.
    #[inline(always)]
    pub(super) fn add_straight(&mut self, path: &[Key]) -> Result<Key, EditError> {
        let mut way = Way { blocks: [0; BLOCKS_MAX], len: 0, was: self.root };
        let end = self.straight_down(&mut way, path);
        let added = match end.and_then(|end| self.add_at_end(&mut way, end)) {
            Some(added) => added,
            None => self.at(path, Self::add_next),
        };
        if added.is_err() {
            self.undo(&way);
        }
        added
    }

    /// Goes down the path and copies all blocks on it but the last; `None` when it is not
    /// straight, or there is no such node.
    #[inline(always)]
    fn straight_down(&mut self, way: &mut Way, path: &[Key]) -> Option<End<'a>> {
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
            let entry = end.header.dense_kid_entry(end.slot);
            let block = block::entry_of(end.run, entry as usize);
            block::prefetch_rest(self.arena, block);
            let copy = self.own_end(way, &end);
            let run = block::run(self.arena, block);
            let header = Header::of(run);
            let slot = key.small_position()?;
            end = End { block, run, header, slot, above: Some((copy, entry)) };
            if header.kind() != 0 {
                return None;
            }
        }
        let is_there = end.header.present() >> end.slot & 1 == 1;
        is_there.then_some(end)
    }

    /// The last block to write to: itself where this edit owns it, else a copy in its place.
    #[inline(always)]
    fn own_end(&mut self, way: &mut Way, end: &End<'a>) -> Run<'a> {
        let own = self.own_dense(end.block, end.run, end.header);
        self.replace_end(way, end, own);
        block::loaded(self.arena, own)
    }

    /// Puts another block in the place of the last one.
    #[inline(always)]
    fn replace_end(&mut self, way: &mut Way, end: &End<'a>, own: u32) {
        match end.above {
            _ if own == end.block => (),
            Some((above, entry)) => block::set_entry_of(above, entry as usize, own),
            None => self.root = own,
        }
        way.blocks[way.len % BLOCKS_MAX] = own;
        way.len += 1;
    }

    /// As [`Edit::own`], for a dense leaf block.
    #[inline(always)]
    fn own_dense(&mut self, block: u32, run: Run<'a>, header: Header) -> u32 {
        if header.is_born_in(self.version) {
            return block;
        }
        let words = header.dense_words();
        let copy = self.allocator.take_block(self.arena, words);
        let to = block::loaded(self.arena, copy);
        header.with_birth(self.version).write(to);
        block::copy_entries(run, to, words);
        self.allocator.buffers.dead.push(Dead::new(block, words, false, header.birth()));
        copy
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
            self.replace_end(way, &end, own);
            return Ok(());
        }
        let entry = end.header.dense_attrs_entry(end.slot) as usize;
        let was = block::entry_of(end.run, entry);
        block::prefetch_replaced(self.arena, was);
        let own = self.own_end(way, &end);
        let attrs = self.with_attribute(was, key, value)?;
        if attrs != was {
            block::set_entry_of(own, entry, attrs);
        }
        Ok(())
    }

    /// Adds a child at the next position; `None` when it does not belong into one dense block.
    #[inline(always)]
    fn add_at_end(&mut self, way: &mut Way, end: End<'a>) -> Option<Result<Key, EditError>> {
        let kids = block::kid(self.arena, end.block, end.header, end.slot);
        let (mut next, mut header) = (0, Header::new(0, 0));
        if kids != 0 {
            header = Header::load(self.arena, kids);
            next = WIDTH as u32 * 2 - header.present().leading_zeros();
            if header.kind() != 0 || next == WIDTH as u32 {
                return None;
            }
        }
        self.allocator.buffers.nodes = u64::from(block::count(self.arena, self.root));
        if let Err(full) = self.check_room(1, 0) {
            return Some(Err(full));
        }
        if kids == 0 {
            let kids = self.new_block(0, next, 0, Content::default(), 1);
            let was = block::content(self.arena, end.block, end.header, end.slot);
            let now = Content { kids, attrs: was.attrs };
            let own = self.set_content_bits(end.block, end.header, end.slot, now, 0);
            self.replace_end(way, &end, own);
        } else {
            let above = self.own_end(way, &end);
            let own = self.own_dense(kids, block::loaded(self.arena, kids), header);
            let header = header.with_birth(self.version).with_added(1);
            let present = header.present() | 1 << next;
            header.with_bits(present, header.kids(), header.attrs()).store(self.arena, own);
            if own != kids {
                block::set_entry_of(above, end.header.dense_kid_entry(end.slot) as usize, own);
            }
        }
        for &block in &way.blocks[..way.len.min(BLOCKS_MAX)] {
            let run = block::loaded(self.arena, block);
            Header::of(run).with_added(1).write(run);
        }
        Some(Ok(Key::from(next)))
    }

    /// After a refusal: gives the copies back, and is where it was.
    #[cold]
    fn undo(&mut self, way: &Way) {
        let dead = std::mem::take(&mut self.allocator.buffers.dead);
        self.root = way.was;
        // What was copied is the lower part of the way.
        let copied = way.len - dead.len();
        if let (Some(above), Some(first)) = (copied.checked_sub(1), dead.first()) {
            let above = block::loaded(self.arena, way.blocks[above]);
            let mut entries = 0..Header::of(above).kids().count_ones() as usize;
            let entry = entries.find(|&i| block::entry_of(above, i) == way.blocks[copied]);
            let entry = entry.expect("a copy stands in the block above it");
            block::set_entry_of(above, entry, first.handle);
        }
        for &copy in &way.blocks[copied..way.len] {
            let header = Header::load(self.arena, copy);
            self.allocator.free(self.arena, Dead::block(copy, header));
        }
    }
}
