//! Changing one slot of one block: in place where the edit owns it, else in a copy.

use super::Edit;
use crate::arena::Words;
use crate::block::{self, BRANCH, BUCKET, Content, DIRECTORY, Directory, Header, WIDTH};
use crate::children::Step;
use crate::line::Dead;

/// The most entries a block has: a full bucket's names, kids and attributes.
const ENTRIES_MAX: usize = 3 * WIDTH;

/// Entries on their way into a block, two to a word.
struct Out<'a> {
    words: Words<'a>,
    at: usize,
    half: u64,
    is_half: bool,
}

impl<'a> Out<'a> {
    #[inline(always)]
    fn new(words: Words<'a>, handle: u32) -> Out<'a> {
        Out { words, at: ((handle as usize) << 1) + 2, half: 0, is_half: false }
    }

    #[inline(always)]
    fn put(&mut self, entry: u32) {
        if self.is_half {
            self.words.set(self.at, self.half | u64::from(entry) << 32);
            self.at += 1;
        } else {
            self.half = u64::from(entry);
        }
        self.is_half = !self.is_half;
    }

    #[inline(always)]
    fn put_all(&mut self, entries: &[u32]) {
        entries.iter().for_each(|&entry| self.put(entry));
    }

    #[inline(always)]
    fn end(self) {
        if self.is_half {
            self.words.set(self.at, self.half);
        }
    }
}

/// A change among the entries: at this place, this many go and this one (unless 0) comes.
#[derive(Clone, Copy)]
struct Cut {
    at: usize,
    gone: usize,
    new: u32,
}

impl Cut {
    fn none(at: usize) -> Cut {
        Cut { at, gone: 0, new: 0 }
    }
}

/// Bitmaps with a slot added in front of `slot`, or taken out.
fn widen(bits: u32, slot: u32, new: bool) -> u32 {
    let low = bits & ((1 << slot) - 1);
    low | u32::from(new) << slot | (bits ^ low) << 1
}

fn narrow(bits: u32, slot: u32) -> u32 {
    let low = bits & ((1 << slot) - 1);
    low | bits >> (slot + 1) << slot
}

/// A bitmap with one bit set or cleared.
#[inline(always)]
fn with_bit(bits: u32, slot: u32, on: bool) -> u32 {
    bits & !(1 << slot) | u32::from(on) << slot
}

impl Edit<'_> {
    /// The block to write to in place of `handle`: itself where this edit owns it, else a copy.
    /// `added` more nodes are counted in it.
    #[inline(always)]
    pub(super) fn own(&mut self, handle: u32, header: Header, added: i64) -> u32 {
        if header.is_born_in(self.version) {
            if added != 0 {
                header.with_added(added).store(self.arena, handle);
            }
            return handle;
        }
        let words = header.words();
        let copy = self.allocator.take_block(self.arena, words);
        let (from, to) = (block::loaded(self.arena, handle), block::loaded(self.arena, copy));
        header.with_birth(self.version).with_added(added).write(to);
        block::copy_entries(from, to, words);
        self.allocator.buffers.dead.push(Dead::block(handle, header));
        copy
    }

    /// Sets what the node at a step holds, `added` nodes more than before.
    #[inline(always)]
    pub(super) fn set_content(
        &mut self,
        step: Step,
        was: Content,
        now: Content,
        added: i64,
    ) -> u32 {
        let header = Header::load(self.arena, step.block);
        if (was.kids == 0) != (now.kids == 0) || (was.attrs == 0) != (now.attrs == 0) {
            return self.set_content_bits(step.block, header, u32::from(step.slot), now, added);
        }
        let own = self.own(step.block, header, added);
        if was.kids != now.kids {
            block::set_entry(self.arena, own, usize::from(step.kid_entry), now.kids);
        }
        if was.attrs != now.attrs {
            block::set_entry(self.arena, own, usize::from(step.attrs_entry), now.attrs);
        }
        own
    }

    /// Sets the block at a step; 0 takes the slot away, and gives 0 when it was the last.
    #[inline(always)]
    pub(super) fn set_block(&mut self, step: Step, kid: u32, added: i64) -> u32 {
        let header = Header::load(self.arena, step.block);
        let slot = u32::from(step.slot);
        if header.kind() != DIRECTORY && (header.kids() >> slot & 1 == 1) != (kid != 0) {
            return self.set_block_bit(step.block, slot, kid, added);
        }
        let own = self.own(step.block, header, added);
        block::set_entry(self.arena, own, usize::from(step.kid_entry), kid);
        own
    }

    /// As [`Edit::set_content`], where a pointer comes or goes.
    pub(super) fn set_content_bits(
        &mut self,
        handle: u32,
        old: Header,
        slot: u32,
        now: Content,
        added: i64,
    ) -> u32 {
        let kids = with_bit(old.kids(), slot, now.kids != 0);
        let attrs = with_bit(old.attrs(), slot, now.attrs != 0);
        let (had_kid, had_attrs) = (old.kids() >> slot & 1, old.attrs() >> slot & 1);
        if kids == old.kids() && now.kids == 0 && old.attrs() >> slot == 0 {
            let new = old.with_bits(old.present(), kids, attrs);
            return self.append(handle, old, new, now.attrs, added);
        }
        let cuts = [
            Cut { at: old.kid_entry(slot), gone: had_kid as usize, new: now.kids },
            Cut { at: old.attrs_entry(slot), gone: had_attrs as usize, new: now.attrs },
        ];
        self.rewrite(handle, old, old.with_bits(old.present(), kids, attrs), &cuts, added)
    }

    fn set_block_bit(&mut self, handle: u32, slot: u32, kid: u32, added: i64) -> u32 {
        let old = Header::load(self.arena, handle);
        let bits = with_bit(old.present(), slot, kid != 0);
        if bits == 0 {
            self.retire_block(handle);
            return 0;
        }
        let cut = Cut { at: old.kid_entry(slot), gone: usize::from(kid == 0), new: kid };
        self.rewrite(handle, old, old.with_bits(bits, bits, old.attrs()), &[cut], added)
    }

    /// As [`Edit::rewrite`], where the only change is one more entry behind all others: nothing
    /// moves. So it is when attributes are put while siblings are added in order.
    #[inline(always)]
    fn append(&mut self, handle: u32, old: Header, new: Header, entry: u32, added: i64) -> u32 {
        let entries = old.entries();
        // Room is made for four entries at a time.
        let has_room = !entries.is_multiple_of(4);
        let to = if has_room && old.is_born_in(self.version) {
            handle
        } else {
            let to = self.allocator.take_block(self.arena, new.words());
            let run = |handle| block::loaded(self.arena, handle);
            block::copy_entries(run(handle), run(to), old.words());
            self.retire(Dead::block(handle, old));
            to
        };
        new.with_birth(self.version).with_added(added).store(self.arena, to);
        block::set_entry(self.arena, to, entries, entry);
        to
    }

    /// Writes a block with other entries in place of `handle`: there where the edit owns it and
    /// the size stays, else elsewhere.
    #[inline]
    fn rewrite(&mut self, handle: u32, old: Header, new: Header, cuts: &[Cut], added: i64) -> u32 {
        let mut entries = [0; ENTRIES_MAX + 1];
        let from = ((handle as usize) << 1) + 2;
        let count = old.entries();
        for (i, pair) in entries[..count.next_multiple_of(2)].chunks_exact_mut(2).enumerate() {
            let word = self.arena.blocks.get(from + i);
            (pair[0], pair[1]) = (word as u32, (word >> 32) as u32);
        }
        let is_own = old.birth() == self.version;
        let in_place = is_own && old.words() == new.words();
        let to = if in_place { handle } else { self.allocator.take_block(self.arena, new.words()) };
        new.with_birth(self.version).with_added(added).store(self.arena, to);
        let mut out = Out::new(self.arena.blocks, to);
        let mut at = 0;
        for cut in cuts {
            out.put_all(&entries[at..cut.at]);
            if cut.new != 0 {
                out.put(cut.new);
            }
            at = cut.at + cut.gone;
        }
        out.put_all(&entries[at..count]);
        out.end();
        if !in_place {
            self.retire(Dead::block(handle, old));
        }
        to
    }

    /// A block of this kind with one slot: a node, or a block, with `count` nodes.
    pub(super) fn new_block(
        &mut self,
        kind: u8,
        slot: u32,
        name: u32,
        content: Content,
        count: u32,
    ) -> u32 {
        let bit = |on: bool| u32::from(on) << slot;
        let bits = (bit(true), bit(content.kids != 0), bit(content.attrs != 0));
        let header = Header::new(kind, self.version).with_bits(bits.0, bits.1, bits.2);
        let entries = [name, content.kids, content.attrs];
        self.new_from(header.with_count(count), entries.into_iter().filter(|&entry| entry != 0))
    }

    pub(super) fn new_from(&mut self, header: Header, entries: impl Iterator<Item = u32>) -> u32 {
        let new = self.allocator.take_block(self.arena, header.words());
        header.store(self.arena, new);
        let mut out = Out::new(self.arena.blocks, new);
        entries.for_each(|entry| out.put(entry));
        out.end();
        new
    }

    /// A branch at a half-byte, with blocks in these slots.
    pub(super) fn new_branch(&mut self, half_byte: u32, slots: &mut [(u32, u32)]) -> u32 {
        slots.sort_unstable();
        let bits = slots.iter().fold(0, |bits, &(slot, _)| bits | 1 << slot);
        let count = slots.iter().map(|&(_, kid)| block::count(self.arena, kid)).sum();
        let header = Header::new(BRANCH, self.version).with_bits(bits, bits, half_byte);
        self.new_from(header.with_count(count), slots.iter().map(|&(_, kid)| kid))
    }

    /// A bucket of up to 16 nodes in order.
    pub(super) fn new_bucket(&mut self, nodes: &[(u32, Content)]) -> u32 {
        let bits = |has: fn(&Content) -> bool| {
            let slots = nodes.iter().enumerate();
            slots.fold(0, |bits, (i, (_, content))| bits | u32::from(has(content)) << i)
        };
        let (kids, attrs) = (bits(|c| c.kids != 0), bits(|c| c.attrs != 0));
        let header = Header::new(BUCKET, self.version).with_bits(bits(|_| true), kids, attrs);
        let counts = nodes.iter().map(|(_, content)| 1 + block::count(self.arena, content.kids));
        let header = header.with_count(counts.sum());
        let names = nodes.iter().map(|&(name, _)| name);
        let kids = nodes.iter().map(|(_, content)| content.kids);
        let attrs = nodes.iter().map(|(_, content)| content.attrs);
        self.new_from(header, names.chain(kids.chain(attrs).filter(|&entry| entry != 0)))
    }

    /// The nodes of a bucket, names and contents.
    pub(super) fn bucket_nodes(&self, handle: u32) -> Vec<(u32, Content)> {
        let header = Header::load(self.arena, handle);
        let node = |slot| {
            let name = block::entry(self.arena, handle, slot as usize);
            (name, block::content(self.arena, handle, header, slot))
        };
        (0..header.names() as u32).map(node).collect()
    }

    /// A directory of these parts.
    pub(super) fn new_directory(&mut self, parts: Directory, count: u32) -> u32 {
        let header = Header::new(DIRECTORY, self.version).with_count(count);
        let new = self.allocator.take_block(self.arena, header.words());
        header.store(self.arena, new);
        parts.store(self.arena, new);
        new
    }

    /// Adds a node in a free slot of a dense leaf block.
    #[inline(always)]
    pub(super) fn add_slot(&mut self, handle: u32, slot: u32, content: Content, added: i64) -> u32 {
        let old = Header::load(self.arena, handle);
        let present = old.present() | 1 << slot;
        if content != Content::default() {
            let kids = with_bit(old.kids(), slot, content.kids != 0);
            let attrs = with_bit(old.attrs(), slot, content.attrs != 0);
            if content.kids == 0 && old.attrs() >> slot == 0 {
                let new = old.with_bits(present, kids, attrs);
                return self.append(handle, old, new, content.attrs, added);
            }
            let cuts = [
                Cut { at: old.kid_entry(slot), gone: 0, new: content.kids },
                Cut { at: old.attrs_entry(slot), gone: 0, new: content.attrs },
            ];
            return self.rewrite(handle, old, old.with_bits(present, kids, attrs), &cuts, added);
        }
        let own = self.own(handle, old, 1);
        let header = old.with_birth(self.version).with_added(1);
        header.with_bits(present, old.kids(), old.attrs()).store(self.arena, own);
        own
    }

    /// Adds a node to a bucket that has room, in front of the one in `slot`.
    pub(super) fn add_named(
        &mut self,
        handle: u32,
        slot: u32,
        name: u32,
        content: Content,
        added: i64,
    ) -> u32 {
        let old = Header::load(self.arena, handle);
        let new = old.with_bits(
            old.present() << 1 | 1,
            widen(old.kids(), slot, content.kids != 0),
            widen(old.attrs(), slot, content.attrs != 0),
        );
        let cuts = [
            Cut { at: slot as usize, gone: 0, new: name },
            Cut { at: old.kid_entry(slot), gone: 0, new: content.kids },
            Cut { at: old.attrs_entry(slot), gone: 0, new: content.attrs },
        ];
        self.rewrite(handle, old, new, &cuts, added)
    }

    /// Takes a node out of a leaf block; gives 0 when it was the last.
    pub(super) fn remove_slot(&mut self, handle: u32, slot: u32, added: i64) -> u32 {
        let old = Header::load(self.arena, handle);
        let (had_kid, had_attrs) = (old.kids() >> slot & 1, old.attrs() >> slot & 1);
        let is_bucket = old.kind() == BUCKET;
        let new = if is_bucket {
            let (kids, attrs) = (narrow(old.kids(), slot), narrow(old.attrs(), slot));
            old.with_bits(old.present() >> 1, kids, attrs)
        } else {
            let off = |bits| with_bit(bits, slot, false);
            old.with_bits(off(old.present()), off(old.kids()), off(old.attrs()))
        };
        if new.present() == 0 {
            self.retire_block(handle);
            return 0;
        }
        let cuts = [
            if is_bucket { Cut { at: slot as usize, gone: 1, new: 0 } } else { Cut::none(0) },
            Cut { at: old.kid_entry(slot), gone: had_kid as usize, new: 0 },
            Cut { at: old.attrs_entry(slot), gone: had_attrs as usize, new: 0 },
        ];
        self.rewrite(handle, old, new, &cuts, added)
    }
}
