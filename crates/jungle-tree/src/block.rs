//! The layout of structure: what the 16 bytes of a block's header and the words behind it mean.
//!
//! A block holds up to 16 *slots*. In a leaf block (`Dense` of height 0, or `Bucket`) a slot is a
//! child node; in an inner block it is another block. Three bitmaps say which slots are present,
//! which have children (or lead to a block), and which have attributes, so a node that has
//! neither is a single bit (the bitmaps are the idea of CHAMP: Steindorfer & Vinju, 2015).
//!
//! ```text
//! word 0   present u16 | kids u16 | attrs u16 | kind u8 | count, high 8 bits
//! word 1   birth, 40 bits                              | count, low 24 bits
//! word 2…  u32 each: [names of a bucket] [kids, by slot] [attrs, by slot]
//! ```
//!
//! `count` is the number of nodes below: those in the slots and all under them. A block of birth
//! 0 is free. Kinds:
//! - `0..=10` **dense**, of that height: slots by the digits of a position, base 16;
//! - **bucket**: at most 16 children by name (or fractional position), in order of the encoded
//!   key; `names` are handles of name records;
//! - **branch**: more of them, told apart by the half-byte whose index stands in `attrs`;
//! - **directory**: where children need more than one block: `[dense root, bucket or branch,
//!   next position (2), number of children (2), lowest position (2)]`.

use std::sync::atomic::Ordering;

use crate::arena::{FreeLists, Memory, RUN_WORDS, Run, SLAB_WORDS, is_large};
use crate::line::Dead;

pub(crate) const HEIGHT_MAX: u8 = 10;
pub(crate) const BUCKET: u8 = 16;
pub(crate) const BRANCH: u8 = 17;
pub(crate) const DIRECTORY: u8 = 18;
/// Slots of a block.
pub(crate) const WIDTH: usize = 16;
const HEADER_WORDS: usize = 2;
/// u32 entries of a directory.
const DIRECTORY_ENTRIES: usize = 8;

/// How wide a birth is; the low bits of the count stand above it.
const BIRTH_WIDTH: u32 = 40;
pub(crate) const BIRTH_BITS: u64 = (1 << BIRTH_WIDTH) - 1;
const COUNT_LOW_BITS: u32 = 64 - BIRTH_WIDTH;

/// The words of a block that may not be loaded yet; its header is always looked at first.
#[inline(always)]
pub(crate) fn run(arena: Memory<'_>, handle: u32) -> Run<'_> {
    arena.inner.blocks.ensure((handle as usize) << 1);
    loaded(arena, handle)
}

/// The words of a block whose header was looked at before, or that is being written.
#[inline(always)]
pub(crate) fn loaded(arena: Memory<'_>, handle: u32) -> Run<'_> {
    arena.blocks.run((handle as usize) << 1)
}

/// What a node holds: its children's block and its attributes' record, 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Content {
    pub(crate) kids: u32,
    pub(crate) attrs: u32,
}

/// A block's header.
#[derive(Clone, Copy)]
pub(crate) struct Header(u64, u64);

impl Header {
    pub(crate) fn new(kind: u8, birth: u64) -> Header {
        Header(u64::from(kind) << 48, birth)
    }

    #[inline(always)]
    pub(crate) fn load(arena: Memory<'_>, handle: u32) -> Header {
        Header::of(run(arena, handle))
    }

    #[inline(always)]
    pub(crate) fn of(block: Run<'_>) -> Header {
        Header(block[0].load(Ordering::Relaxed), block[1].load(Ordering::Relaxed))
    }

    /// Only the bitmaps and the kind, which are all that a reader wants.
    #[inline(always)]
    pub(crate) fn shape(block: Run<'_>) -> Header {
        Header(block[0].load(Ordering::Relaxed), 0)
    }

    #[inline(always)]
    pub(crate) fn store(self, arena: Memory<'_>, handle: u32) {
        self.write(loaded(arena, handle));
    }

    #[inline(always)]
    pub(crate) fn write(self, block: Run<'_>) {
        block[0].store(self.0, Ordering::Relaxed);
        block[1].store(self.1, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn present(self) -> u32 {
        self.0 as u32 & 0xffff
    }

    #[inline(always)]
    pub(crate) fn kids(self) -> u32 {
        (self.0 >> 16) as u32 & 0xffff
    }

    /// Which slots have attributes; in a branch, the index of its half-byte.
    #[inline(always)]
    pub(crate) fn attrs(self) -> u32 {
        (self.0 >> 32) as u32 & 0xffff
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> u8 {
        (self.0 >> 48) as u8
    }

    #[inline(always)]
    pub(crate) fn birth(self) -> u64 {
        self.1 & BIRTH_BITS
    }

    #[inline(always)]
    pub(crate) fn count(self) -> u32 {
        (self.0 >> 56 << COUNT_LOW_BITS | self.1 >> BIRTH_WIDTH) as u32
    }

    /// Are the slots child nodes?
    #[inline(always)]
    pub(crate) fn is_leaf(self) -> bool {
        self.kind() == 0 || self.kind() == BUCKET
    }

    /// Is this a dense block of leaves? (Kind and kids are next to each other.)
    #[inline(always)]
    pub(crate) fn is_bare_dense_leaf(self) -> bool {
        self.0 & 0x00ff_0000_ffff_0000 == 0
    }

    #[inline(always)]
    pub(crate) fn with_birth(self, birth: u64) -> Header {
        Header(self.0, self.1 & !BIRTH_BITS | birth)
    }

    #[inline(always)]
    pub(crate) fn with_count(self, count: u32) -> Header {
        let (high, low) = (u64::from(count >> COUNT_LOW_BITS) << 56, u64::from(count));
        Header(self.0 << 8 >> 8 | high, self.1 & BIRTH_BITS | low << BIRTH_WIDTH)
    }

    #[inline(always)]
    pub(crate) fn with_added(self, added: i64) -> Header {
        let added = added as u32;
        let (low, carry) = self.1.overflowing_add(u64::from(added) << BIRTH_WIDTH);
        let high = u64::from(added >> COUNT_LOW_BITS) + u64::from(carry);
        Header(self.0.wrapping_add(high << 56), low)
    }

    /// Of a copy, with `added` nodes more.
    #[inline(always)]
    pub(crate) fn reborn(self, birth: u64, added: u32) -> Header {
        let was = self.birth();
        if birth <= was {
            // From a line whose numbers were drawn later.
            return self.with_birth(birth).with_added(i64::from(added));
        }
        // Nearly always both in one addition, which carries only where the count does.
        let (low, carry) = self.1.overflowing_add((u64::from(added) << BIRTH_WIDTH) + birth - was);
        let high = u64::from(added >> COUNT_LOW_BITS) + u64::from(carry);
        Header(self.0.wrapping_add(high << 56), low)
    }

    #[inline(always)]
    pub(crate) fn with_bits(self, present: u32, kids: u32, attrs: u32) -> Header {
        let bits = u64::from(present) | u64::from(kids) << 16 | u64::from(attrs) << 32;
        Header(self.0 >> 48 << 48 | bits, self.1)
    }

    /// With one more slot present.
    #[inline(always)]
    pub(crate) fn with_present(self, slot: u32) -> Header {
        Header(self.0 | 1 << slot, self.1)
    }

    /// Entries before the first kid.
    #[inline(always)]
    pub(crate) fn names(self) -> usize {
        if self.kind() == BUCKET { self.present().count_ones() as usize } else { 0 }
    }

    /// How many u32 entries follow the header.
    #[inline(always)]
    pub(crate) fn entries(self) -> usize {
        match self.kind() {
            kind if kind < BUCKET => self.pointers(),
            DIRECTORY => DIRECTORY_ENTRIES,
            BRANCH => self.kids().count_ones() as usize,
            _ => self.names() + self.pointers(),
        }
    }

    /// The kids and attributes of a leaf block: they stand next to each other in the word.
    #[inline(always)]
    fn pointers(self) -> usize {
        (self.0 >> 16 & 0xffff_ffff).count_ones() as usize
    }

    /// Words of the whole block, which are allocated in pairs.
    #[inline(always)]
    pub(crate) fn words(self) -> usize {
        HEADER_WORDS + self.entries().div_ceil(4) * 2
    }

    /// Was the block born in this version?
    #[inline(always)]
    pub(crate) fn is_born_in(self, version: u64) -> bool {
        (self.1 ^ version) & BIRTH_BITS == 0
    }

    /// Where the kid of a slot stands among the entries.
    #[inline(always)]
    pub(crate) fn kid_entry(self, slot: u32) -> usize {
        self.names() + (self.kids() & ((1 << slot) - 1)).count_ones() as usize
    }

    /// As [`Header::kid_entry`], in a dense block.
    #[inline(always)]
    pub(crate) fn dense_kid_entry(self, slot: u32) -> u32 {
        (self.kids() & ((1 << slot) - 1)).count_ones()
    }

    /// As [`Header::attrs_entry`], in a dense block.
    #[inline(always)]
    pub(crate) fn dense_attrs_entry(self, slot: u32) -> u32 {
        self.kids().count_ones() + (self.attrs() & ((1 << slot) - 1)).count_ones()
    }

    /// As [`Header::words`], of a dense block.
    #[inline(always)]
    pub(crate) fn dense_words(self) -> usize {
        HEADER_WORDS + self.pointers().div_ceil(4) * 2
    }

    /// Where the attributes of a slot stand among the entries.
    #[inline(always)]
    pub(crate) fn attrs_entry(self, slot: u32) -> usize {
        let before = (self.attrs() & ((1 << slot) - 1)).count_ones();
        self.names() + (self.kids().count_ones() + before) as usize
    }
}

/// Reads a u32 entry of a block.
#[inline(always)]
pub(crate) fn entry(arena: Memory<'_>, handle: u32, entry: usize) -> u32 {
    entry_of(loaded(arena, handle), entry)
}

/// Reads a u32 entry of a block.
#[inline(always)]
pub(crate) fn entry_of(block: Run<'_>, entry: usize) -> u32 {
    Place::of(entry).get(block)
}

/// In which of their first so many entries two blocks differ: a bit for each.
#[inline(always)]
pub(crate) fn differing_entries(left: Run<'_>, right: Run<'_>, count: u32) -> u64 {
    let mut entries = 0;
    for first in (0..count).step_by(2) {
        let Place { word, .. } = Place::of(first as usize);
        let differ = left[word].load(Ordering::Relaxed) ^ right[word].load(Ordering::Relaxed);
        let [low, high] = [differ as u32, (differ >> 32) as u32].map(|half| u64::from(half != 0));
        entries |= (low | high << 1) << first;
    }
    // Of an odd number, the last word has half an entry more.
    entries & ((1 << count) - 1)
}

/// Where a u32 entry stands in its block.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    word: usize,
    shift: u32,
}

impl Place {
    #[inline(always)]
    pub(crate) fn of(entry: usize) -> Place {
        // Masked, as any entry of a block lies in its run.
        Place { word: (HEADER_WORDS + entry / 2) % RUN_WORDS, shift: entry as u32 % 2 * 32 }
    }

    #[inline(always)]
    pub(crate) fn get(self, block: Run<'_>) -> u32 {
        (block[self.word].load(Ordering::Relaxed) >> self.shift) as u32
    }

    /// Replaces the entry, which is `was`, in a block that is not yet published.
    #[inline(always)]
    pub(crate) fn replace(self, block: Run<'_>, was: u32, now: u32) {
        let word = &block[self.word];
        let differing = u64::from(was ^ now) << self.shift;
        word.store(word.load(Ordering::Relaxed) ^ differing, Ordering::Relaxed);
    }
}

/// Calls `seen` with the u32 entries of a block from one on to another, a word at a time.
#[inline(always)]
pub(crate) fn each_entry(
    arena: Memory<'_>,
    handle: u32,
    from: usize,
    to: usize,
    mut seen: impl FnMut(u32),
) {
    let mut at = from;
    if at % 2 == 1 && at < to {
        seen(entry(arena, handle, at));
        at += 1;
    }
    let words = ((handle as usize) << 1) + HEADER_WORDS;
    while at + 1 < to {
        let word = arena.blocks.get(words + at / 2);
        seen(word as u32);
        seen((word >> 32) as u32);
        at += 2;
    }
    if at < to {
        seen(arena.blocks.get(words + at / 2) as u32);
    }
}

/// Writes a u32 entry of a block that is not yet published.
#[inline(always)]
pub(crate) fn set_entry(arena: Memory<'_>, handle: u32, entry: usize, value: u32) {
    set_entry_of(loaded(arena, handle), entry, value);
}

/// Writes a u32 entry of a block that is not yet published.
#[inline(always)]
pub(crate) fn set_entry_of(block: Run<'_>, entry: usize, value: u32) {
    let place = Place::of(entry);
    place.replace(block, place.get(block), value);
}

/// Copies what stands behind the header of a block of so many words.
#[inline(always)]
pub(crate) fn copy_entries(from: Run<'_>, to: Run<'_>, words: usize) {
    // Blocks come in pairs of words.
    for at in (HEADER_WORDS..words.min(RUN_WORDS)).step_by(2) {
        let pair = [at % RUN_WORDS, (at + 1) % RUN_WORDS];
        let words = pair.map(|at| from[at].load(Ordering::Relaxed));
        pair.into_iter().zip(words).for_each(|(at, word)| to[at].store(word, Ordering::Relaxed));
    }
}

/// The node in a slot of a leaf block; the slot is present.
#[inline(always)]
pub(crate) fn content(arena: Memory<'_>, handle: u32, header: Header, slot: u32) -> Content {
    let has = |bits: u32| bits >> slot & 1 == 1;
    Content {
        kids: if has(header.kids()) { entry(arena, handle, header.kid_entry(slot)) } else { 0 },
        attrs: if has(header.attrs()) { entry(arena, handle, header.attrs_entry(slot)) } else { 0 },
    }
}

/// The block in a slot of an inner block; 0 when it is not present.
#[inline(always)]
pub(crate) fn kid(arena: Memory<'_>, handle: u32, header: Header, slot: u32) -> u32 {
    if header.kids() >> slot & 1 == 0 { 0 } else { entry(arena, handle, header.kid_entry(slot)) }
}

/// The number of nodes below a node with these children.
#[inline(always)]
pub(crate) fn count(arena: Memory<'_>, kids: u32) -> u32 {
    if kids == 0 { 0 } else { Header::load(arena, kids).count() }
}

/// Can a block be looked at without loading anything?
pub(crate) fn is_loaded(arena: Memory<'_>, handle: u32) -> bool {
    !arena.inner.blocks.is_absent(((handle as usize) << 1) / SLAB_WORDS)
}

/// The version a block was born in.
#[inline(always)]
pub(crate) fn birth(arena: Memory<'_>, handle: u32) -> u64 {
    Header::load(arena, handle).birth()
}

/// Brings a block near; blocks of up to two cache lines are common.
#[inline(always)]
pub(crate) fn prefetch(arena: Memory<'_>, handle: u32) {
    arena.blocks.prefetch((handle as usize) << 1);
    arena.blocks.prefetch(((handle as usize) << 1) + 7);
}

/// Asks for what of a block lies on a second line, while its header is waited for.
#[inline(always)]
pub(crate) fn prefetch_rest(arena: Memory<'_>, handle: u32) {
    arena.blocks.prefetch(((handle as usize) << 1) + 7);
}

/// Brings an attribute record near for reading: the first hundred bytes begin on one line and end
/// on another.
#[inline(always)]
pub(crate) fn prefetch_record(arena: Memory<'_>, record: u32) {
    arena.payload.prefetch(record as usize);
    arena.payload.prefetch(record as usize + 8);
}

/// Brings an attribute record near that is about to be replaced: the next one of its size is
/// written over it. A record of a hundred bytes mostly touches three lines, and waiting for the
/// third cost a fifth of an update.
#[inline(always)]
pub(crate) fn prefetch_replaced(arena: Memory<'_>, record: u32) {
    prefetch_record(arena, record);
    arena.payload.prefetch(record as usize + 14);
}

/// The four parts of a directory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Directory {
    /// Root of the dense blocks, of any height.
    pub(crate) dense: u32,
    /// A bucket or a branch.
    pub(crate) named: u32,
    /// The position that the next child added gets.
    pub(crate) next: i64,
    /// How many children there are.
    pub(crate) children: u64,
    /// More than the number in the signature of any fraction that was taken away, and at least how
    /// many were (the largest number stays).
    pub(crate) taken: u32,
    /// No position in front of this one was ever used.
    pub(crate) low: i64,
}

impl Directory {
    #[inline]
    pub(crate) fn load(arena: Memory<'_>, handle: u32) -> Directory {
        let at = ((handle as usize) << 1) + HEADER_WORDS;
        let (roots, counts) = (arena.blocks.get(at), arena.blocks.get(at + 2));
        Directory {
            dense: roots as u32,
            named: (roots >> 32) as u32,
            next: arena.blocks.get(at + 1) as i64,
            children: u64::from(counts as u32),
            taken: (counts >> 32) as u32,
            low: arena.blocks.get(at + 3) as i64,
        }
    }

    pub(crate) fn store(self, arena: Memory<'_>, handle: u32) {
        let at = ((handle as usize) << 1) + HEADER_WORDS;
        arena.blocks.set(at, u64::from(self.dense) | u64::from(self.named) << 32);
        arena.blocks.set(at + 1, self.next as u64);
        arena.blocks.set(at + 2, self.children | u64::from(self.taken) << 32);
        arena.blocks.set(at + 3, self.low as u64);
    }
}

/// The header word of a payload record: its birth, and its words including this one.
#[derive(Clone, Copy)]
pub(crate) struct Record(pub(crate) u64);

/// A payload record is at most this long (128 MiB).
pub(crate) const RECORD_WORDS_MAX: usize = (1 << 24) - 1;

impl Record {
    pub(crate) fn new(birth: u64, words: usize) -> Record {
        assert!(words <= RECORD_WORDS_MAX, "a payload record is limited by its checked inputs");
        Record(birth << 24 | words as u64)
    }

    /// The header of a record, which is loaded if need be.
    #[inline(always)]
    pub(crate) fn load(arena: Memory<'_>, handle: u32) -> Record {
        arena.inner.payload.ensure(handle as usize);
        Record(arena.payload.get(handle as usize))
    }

    #[inline(always)]
    pub(crate) fn birth(self) -> u64 {
        self.0 >> 24
    }

    #[inline(always)]
    pub(crate) fn words(self) -> usize {
        (self.0 & 0xff_ffff) as usize
    }
}

impl Dead {
    #[inline(always)]
    pub(crate) fn block(handle: u32, header: Header) -> Dead {
        Dead::new(handle, header.words(), false, header.birth())
    }

    #[inline(always)]
    pub(crate) fn record(handle: u32, record: Record) -> Dead {
        Dead::new(handle, record.words(), true, record.birth())
    }

    /// Writes a birth into the header: readers do not look at it, only writers do.
    pub(crate) fn set_birth(self, arena: Memory<'_>, birth: u64) {
        if self.is_payload() {
            let words = Record::load(arena, self.handle).words();
            arena.payload.set(self.handle as usize, Record::new(birth, words).0);
        } else {
            Header::load(arena, self.handle).with_birth(birth).store(arena, self.handle);
        }
    }
}

impl crate::arena::Allocator {
    /// A block for `header`, not yet written.
    #[inline(always)]
    pub(crate) fn take_block(&mut self, arena: Memory<'_>, words: usize) -> u32 {
        self.blocks.take(&arena.inner.blocks, words)
    }

    /// A payload record of `words` words, not a large one, with its header word written.
    #[inline(always)]
    pub(crate) fn take_record(&mut self, arena: Memory<'_>, words: usize, birth: u64) -> u32 {
        let handle = self.payload.take(&arena.inner.payload, words);
        arena.payload.set(handle as usize, Record::new(birth, words).0);
        handle
    }

    /// A payload record of any size, as [`Allocator::take_record`](Self::take_record); `None` where
    /// a large one has no room that leaves `spare` slabs.
    #[inline(always)]
    pub(crate) fn try_take_record(
        &mut self,
        arena: Memory<'_>,
        words: usize,
        birth: u64,
        spare: usize,
    ) -> Option<u32> {
        if !is_large(words) {
            return Some(self.take_record(arena, words, birth));
        }
        let handle = FreeLists::<0>::take_large(&arena.inner.payload, words, spare)?;
        arena.payload.set(handle as usize, Record::new(birth, words).0);
        Some(handle)
    }

    /// Marks something as free and takes it back.
    #[inline(always)]
    pub(crate) fn free(&mut self, arena: Memory<'_>, dead: Dead) {
        let (at, words) = (dead.handle as usize, dead.words());
        if dead.is_payload() {
            arena.payload.set(at, 0);
            if cfg!(debug_assertions) || cfg!(feature = "planted") {
                // So that a reader of a record reused too early sees it at once.
                (1..words).for_each(|i| arena.payload.set(at + i, 0xDDDD_DDDD_DDDD_DDDD));
            }
            self.payload.give(&arena.inner.payload, dead.handle, words);
        } else {
            arena.blocks.set((at << 1) + 1, 0);
            self.blocks.give(&arena.inner.blocks, dead.handle, words);
        }
    }
}
